// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/method_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sampling/weights.h"

namespace stemtap::research {
namespace {

// Totals of a method's cluster over all kernels.
struct WholeCluster {
  double duration_ns = 0.0;
  double estimate_ns = 0.0;  // estimate of duration_ns by the method's own weights
  bool sampled = false;
};

// The part of a method's cluster that belongs to one kernel.
struct Part {
  stats::Moments moments;
  std::uint64_t lower_ns = ~std::uint64_t{0};
  std::uint64_t upper_ns = 0;
  std::vector<model::PlanSample> samples;
};

}  // namespace

Result<model::Plan> PlanByMethod(const model::Profile& profile, const MethodEntry& method,
                                 const sampling::SamplingOptions& options,
                                 const BasicBlockVectors* vectors) {
  model::KernelGroups made =
      STEMTAP_TRY(model::KernelGroups::Create(options.group_by, options.exclude));
  model::KernelGroups& kernels = made;
  std::vector<std::uint32_t> groups;
  groups.reserve(profile.records.size());
  for (const shm::KernelRecord& record : profile.records) {
    groups.push_back(kernels.Of(record, profile.names));
  }
  if (kernels.size() == 0) {
    return Error{"contains no kernel launch that is not excluded; expected at least one"};
  }
  std::unique_ptr<PreparedMethod> prepared =
      STEMTAP_TRY(method.prepare({profile, groups, options, vectors}));
  const MethodSample sample = prepared->Draw(options.seed);
  const std::span<const std::uint32_t> cluster_of = prepared->clusters();

  model::Plan plan;
  model::PlanTotals& totals = plan.totals;
  for (std::uint32_t g = 0; g < kernels.size(); ++g) {
    plan.kernels.push_back({kernels.group(g)});
  }
  std::vector<WholeCluster> clusters(prepared->cluster_count());
  std::vector<std::map<std::uint32_t, Part>> parts(kernels.size());  // by kernel, then cluster
  auto next = sample.invocations.begin();
  model::OccurrenceCounter occurrences(options.group_by);
  for (std::uint64_t i = 0; i < profile.records.size(); ++i) {
    const shm::KernelRecord& record = profile.records[i];
    if (kernels.Excludes(record.name_id, profile.names)) continue;
    const std::uint64_t occurrence = occurrences.Next(record.name_id, profile.names);
    if (groups[i] == model::kExcludedKernel) continue;
    const auto duration = static_cast<double>(record.duration_ns);
    model::PlanKernel& kernel = plan.kernels[groups[i]];
    ++kernel.invocations;
    kernel.duration_ns += record.duration_ns;
    ++totals.invocations;
    totals.duration_ns += record.duration_ns;
    totals.zero_duration += record.duration_ns == 0;
    WholeCluster& whole = clusters[cluster_of[i]];
    whole.duration_ns += duration;
    Part& part = parts[groups[i]][cluster_of[i]];
    part.moments.Add(duration);
    part.lower_ns = std::min(part.lower_ns, record.duration_ns);
    part.upper_ns = std::max(part.upper_ns, record.duration_ns);
    if (next == sample.invocations.end() || next->index != i) continue;
    whole.estimate_ns += next->weight * duration;
    whole.sampled = true;
    part.samples.push_back({i, occurrence, record, next->weight});
    ++totals.samples;
    totals.sampled_duration_ns += record.duration_ns;
    ++next;
  }

  double uncovered = 0.0;
  for (const WholeCluster& whole : clusters) {
    totals.plain_estimate_ns += whole.estimate_ns;
    if (!whole.sampled) {
      uncovered += whole.duration_ns;
    } else {
      // If the samples took no time, nothing can be calibrated.
      totals.calibrated_estimate_ns +=
          whole.estimate_ns > 0.0 ? whole.duration_ns : whole.estimate_ns;
    }
  }
  totals.kernels = plan.kernels.size();
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    for (auto& [cluster, part] : parts[k]) {
      const WholeCluster& whole = clusters[cluster];
      if (options.weights == sampling::Weights::kCalibrated && whole.estimate_ns > 0.0) {
        for (model::PlanSample& s : part.samples) s.weight *= whole.duration_ns / whole.estimate_ns;
      }
      model::PlanCluster& planned = plan.kernels[k].clusters.emplace_back();
      planned.lower_ns = part.lower_ns;
      planned.upper_ns = part.upper_ns;
      planned.count = part.moments.count();
      planned.mean_ns = part.moments.mean();
      planned.stddev_ns = part.moments.stddev();
      planned.target = planned.captured = part.samples.size();
      planned.samples = std::move(part.samples);
    }
    totals.clusters += plan.kernels[k].clusters.size();
  }
  const auto total = static_cast<double>(totals.duration_ns);
  if (totals.sampled_duration_ns > 0) {
    totals.speedup = total / static_cast<double>(totals.sampled_duration_ns);
  }
  if (total > 0.0) {
    totals.observed_error = std::fabs(totals.plain_estimate_ns - total) / total;
    totals.uncovered_fraction = uncovered / total;
  }
  // A method's own bound does not count the time of clusters that it does not sample.
  totals.certified_bound = prepared->bound() + totals.uncovered_fraction;
  model::StateBound(totals);
  totals.excluded_invocations = kernels.excluded().invocations;
  totals.excluded_duration_ns = kernels.excluded().duration_ns;
  return plan;
}

}  // namespace stemtap::research
