// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/stratified.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "model/kernel_groups.h"
#include "research/baselines/invocation_groups.h"
#include "sampling/design.h"
#include "sampling/selection.h"
#include "shm/launch_keys.h"
#include "stats/log_sketch.h"

namespace stemtap::research {
namespace {

class StratifiedMethod : public PreparedMethod {
 public:
  StratifiedMethod(sampling::Selection selection, std::vector<std::uint64_t> order,
                   std::vector<SizedCluster> clusters, std::vector<std::uint32_t> cluster_of,
                   double bound)
      : selection_(selection),
        order_(std::move(order)),
        clusters_(std::move(clusters)),
        cluster_of_(std::move(cluster_of)),
        bound_(bound) {}

  MethodSample Draw(std::uint64_t seed) const override {
    Rng rng(seed);
    MethodSample sample;
    for (const SizedCluster& c : clusters_) {
      const std::uint64_t count = c.end - c.begin;
      const std::vector<std::uint64_t> ranks = sampling::DrawRanks(selection_, count, c.size, rng);
      const double weight = sampling::PlainWeight(count, ranks.size());
      for (const std::uint64_t rank : ranks) {
        sample.invocations.push_back({order_[c.begin + rank], weight});
      }
    }
    std::sort(sample.invocations.begin(), sample.invocations.end(),
              [](const auto& a, const auto& b) { return a.index < b.index; });
    return sample;
  }

  std::span<const std::uint32_t> clusters() const override { return cluster_of_; }
  std::uint64_t cluster_count() const override { return clusters_.size(); }
  double bound() const override { return bound_; }
  bool deterministic() const override {
    return selection_ == sampling::Selection::kFirst ||
           std::all_of(clusters_.begin(), clusters_.end(), [](const SizedCluster& c) {
             return c.size == 0 || c.size >= c.end - c.begin;
           });
  }

 private:
  sampling::Selection selection_;
  // The launches sorted by (group, stratum) and then as DrawRanks requires: by (sketch bin, launch
  // order), or by launch order for Selection::kFirst.
  std::vector<std::uint64_t> order_;
  std::vector<SizedCluster> clusters_;
  std::vector<std::uint32_t> cluster_of_;
  double bound_;
};

// Sorts one group's launches, which are in launch order, by (bin, launch order). Returns the start
// of each non-empty bin, and the end.
std::vector<std::size_t> SortByBin(const model::Profile& profile,
                                   std::span<std::uint64_t> invocations,
                                   const stats::LogSketch& sketch,
                                   std::vector<std::uint64_t>& scratch) {
  std::vector<std::size_t> starts(sketch.bins().size() + 1, 0);
  for (std::size_t b = 0; b < sketch.bins().size(); ++b) {
    starts[b + 1] = starts[b] + sketch.bins()[b].count;
  }
  std::vector<std::size_t> next = starts;
  scratch.resize(invocations.size());
  for (const std::uint64_t i : invocations) {
    const std::uint32_t bin = stats::LogSketch::BinOf(profile.records[i].duration_ns);
    scratch[next[bin - sketch.first_bin()]++] = i;
  }
  std::copy(scratch.begin(), scratch.end(), invocations.begin());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  return starts;
}

Result<std::unique_ptr<PreparedMethod>> Prepare(const MethodInput& input, sampling::Method method,
                                                std::span<const std::uint32_t> groups) {
  sampling::SamplingOptions options = input.options;
  options.method = method;
  InvocationGroups grouped = GroupInvocations(groups);
  const std::size_t group_count = grouped.size();

  std::vector<sampling::KernelCells> cells(group_count);
  std::vector<std::vector<std::size_t>> cell_starts(group_count);
  std::vector<std::uint64_t> scratch;
  for (std::size_t g = 0; g < group_count; ++g) {
    const std::span<std::uint64_t> invocations = grouped.group(g);
    stats::LogSketch sketch;
    for (const std::uint64_t i : invocations) sketch.Add(input.profile.records[i].duration_ns);
    cells[g] = sampling::CellsOf(sketch);
    cell_starts[g] = SortByBin(input.profile, invocations, sketch, scratch);
  }
  const sampling::Design design = sampling::DesignSample(cells, options);

  std::vector<SizedCluster> clusters;
  for (std::size_t g = 0; g < group_count; ++g) {
    for (const sampling::StratumRange& s : design.kernels[g]) {
      const SizedCluster cluster{grouped.starts[g] + cell_starts[g][s.first],
                                 grouped.starts[g] + cell_starts[g][s.end], s.sample_size};
      const auto begin = grouped.order.begin() + static_cast<std::ptrdiff_t>(cluster.begin);
      const auto end = grouped.order.begin() + static_cast<std::ptrdiff_t>(cluster.end);
      if (options.selection == sampling::Selection::kFirst) std::sort(begin, end);
      clusters.push_back(cluster);
    }
  }
  // The first launches are not a random sample, so their error cannot be bounded beforehand.
  const double bound = options.selection == sampling::Selection::kFirst ? NAN : design.bound;
  return MakeStratified(options.selection, groups.size(), std::move(grouped.order),
                        std::move(clusters), bound);
}

// Groups launches of the same (name, grid, block), numbered in order of first launch; excluded
// launches stay excluded.
std::vector<std::uint32_t> GroupsByLaunch(const MethodInput& input) {
  std::vector<std::uint32_t> groups(input.groups.size(), model::kExcludedKernel);
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (input.groups[i] == model::kExcludedKernel) continue;
    const shm::KernelRecord& r = input.profile.records[i];
    const std::uint64_t key =
        shm::ConfigKey(input.profile.names.hash(r.name_id), shm::ConfigOf(r));
    groups[i] = known.emplace(key, static_cast<std::uint32_t>(known.size())).first->second;
  }
  return groups;
}

}  // namespace

std::unique_ptr<PreparedMethod> MakeStratified(sampling::Selection selection, std::size_t launches,
                                               std::vector<std::uint64_t> order,
                                               std::vector<SizedCluster> clusters, double bound) {
  std::vector<std::uint32_t> cluster_of(launches, model::kExcludedKernel);
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    for (std::size_t at = clusters[c].begin; at < clusters[c].end; ++at) {
      cluster_of[order[at]] = static_cast<std::uint32_t>(c);
    }
  }
  return std::make_unique<StratifiedMethod>(selection, std::move(order), std::move(clusters),
                                            std::move(cluster_of), bound);
}

Result<std::unique_ptr<PreparedMethod>> PrepareOptimal(const MethodInput& input) {
  return Prepare(input, sampling::Method::kOptimal, input.groups);
}

Result<std::unique_ptr<PreparedMethod>> PrepareRoot(const MethodInput& input) {
  return Prepare(input, sampling::Method::kRoot, input.groups);
}

Result<std::unique_ptr<PreparedMethod>> PrepareStem(const MethodInput& input) {
  return Prepare(input, sampling::Method::kStem, input.groups);
}

Result<std::unique_ptr<PreparedMethod>> PrepareAllegro(const MethodInput& input) {
  return Prepare(input, sampling::Method::kStem, GroupsByLaunch(input));
}

}  // namespace stemtap::research
