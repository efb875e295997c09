// SPDX-License-Identifier: Apache-2.0
#include "stem/two_pass.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "stem/plan_builder.h"
#include "stem/workload_allocation.h"

namespace stemtap {
namespace {

// One kernel's invocations, sorted by duration, and how they are cut.
struct KernelCut {
  // Launch indices by ascending duration; ties in launch order, so that the cut does not depend on the
  // sorting algorithm.
  std::vector<std::uint64_t> by_duration;
  std::vector<StratumRange> strata;       // ranges of cells
  std::vector<std::uint64_t> cell_starts;  // first position in by_duration of each cell, and the end
};

// Equal durations share a cell: the best cut never separates them, and rows get shorter.
std::vector<Moments> CellsOf(const Profile& profile, KernelCut& cut) {
  std::vector<Moments> cells;
  for (std::uint64_t i = 0; i < cut.by_duration.size();) {
    const std::uint64_t duration = profile.records[cut.by_duration[i]].duration_ns;
    std::uint64_t end = i + 1;
    while (end < cut.by_duration.size() &&
           profile.records[cut.by_duration[end]].duration_ns == duration) {
      ++end;
    }
    cut.cell_starts.push_back(i);
    cells.emplace_back(end - i, static_cast<double>(duration), 0.0);
    i = end;
  }
  cut.cell_starts.push_back(cut.by_duration.size());
  return cells;
}

// `size` different positions of [0, count), ascending (Floyd's algorithm).
std::vector<std::uint64_t> DrawWithoutReplacement(std::uint64_t count, std::uint64_t size, Rng& rng) {
  std::vector<std::uint64_t> drawn;
  if (size >= count) {
    for (std::uint64_t i = 0; i < count; ++i) drawn.push_back(i);
    return drawn;
  }
  std::unordered_set<std::uint64_t> taken;
  for (std::uint64_t last = count - size; last < count; ++last) {
    const std::uint64_t candidate = rng.Below(last + 1);
    drawn.push_back(taken.insert(candidate).second ? candidate : last);
    taken.insert(drawn.back());
  }
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

}  // namespace

Plan PlanTwoPass(const Profile& profile, const SamplingOptions& options) {
  const ErrorTarget target = options.target();
  std::vector<KernelCut> cuts(profile.names.size());
  std::vector<std::uint64_t> occurrence(profile.records.size());
  for (std::uint64_t i = 0; i < profile.records.size(); ++i) {
    KernelCut& cut = cuts[profile.records[i].name_id];
    occurrence[i] = cut.by_duration.size();
    cut.by_duration.push_back(i);
  }

  std::vector<Stratum> strata;
  std::vector<std::uint64_t> own_sizes;
  std::vector<KernelStrata> kernels;
  for (KernelCut& cut : cuts) {
    std::sort(cut.by_duration.begin(), cut.by_duration.end(), [&](std::uint64_t a, std::uint64_t b) {
      const std::uint64_t x = profile.records[a].duration_ns;
      const std::uint64_t y = profile.records[b].duration_ns;
      return x != y ? x < y : a < b;
    });
    const std::vector<Moments> cells = CellsOf(profile, cut);
    cut.strata = Stratify(options.method, cells, target);
    kernels.push_back({strata.size(), cut.strata.size()});
    for (const StratumRange& s : cut.strata) {
      strata.emplace_back(s.moments);
      own_sizes.push_back(s.sample_size);
    }
  }
  const std::vector<std::uint64_t> sizes = AllocateWorkload(strata, own_sizes, kernels, options);

  Rng rng(options.seed);
  PlanBuilder builder(options);
  std::size_t next = 0;
  for (std::uint32_t id = 0; id < cuts.size(); ++id) {
    const KernelCut& cut = cuts[id];
    std::uint64_t duration = 0;
    std::uint64_t zeros = 0;
    for (const std::uint64_t i : cut.by_duration) {
      duration += profile.records[i].duration_ns;
      zeros += profile.records[i].duration_ns == 0;
    }
    std::vector<SampledCluster> clusters;
    for (const StratumRange& s : cut.strata) {
      const std::uint64_t begin = cut.cell_starts[s.first];
      const std::uint64_t end = cut.cell_starts[s.end];
      SampledCluster cluster{profile.records[cut.by_duration[begin]].duration_ns,
                             profile.records[cut.by_duration[end - 1]].duration_ns,
                             s.moments, sizes[next++], {}};
      for (const std::uint64_t at : DrawWithoutReplacement(end - begin, cluster.target, rng)) {
        const std::uint64_t index = cut.by_duration[begin + at];
        cluster.samples.push_back({index, occurrence[index], profile.records[index], 0.0});
      }
      std::sort(cluster.samples.begin(), cluster.samples.end(),
                [](const PlanSample& a, const PlanSample& b) { return a.index < b.index; });
      clusters.push_back(std::move(cluster));
    }
    builder.AddKernel(profile.names.name(id), cut.by_duration.size(), duration, zeros,
                      std::move(clusters));
  }
  return builder.Finish();
}

}  // namespace stemtap
