// SPDX-License-Identifier: Apache-2.0
#include "stem/plan_builder.h"

#include <cmath>
#include <utility>

#include "stem/certificate.h"

namespace stemtap {

void PlanBuilder::AddKernel(std::string name, std::uint64_t invocations, std::uint64_t duration_ns,
                            std::uint64_t zero_duration, std::vector<SampledCluster> clusters) {
  PlanTotals& totals = plan_.totals;
  PlanKernel kernel{std::move(name), invocations, duration_ns, {}};
  for (SampledCluster& cluster : clusters) {
    const Moments& all = cluster.moments;
    std::uint64_t sampled_ns = 0;
    for (const PlanSample& s : cluster.samples) sampled_ns += s.record.duration_ns;
    const std::uint64_t captured = cluster.samples.size();
    const double plain = PlainWeight(all.count(), captured);
    double weight = plain;
    if (captured == 0) {
      uncovered_ += all.sum();
    } else {
      const double captured_mean = static_cast<double>(sampled_ns) / static_cast<double>(captured);
      if (options_.weights == Weights::kCalibrated) {
        weight = CalibratedWeight(all.count(), all.mean(), captured, captured_mean);
      }
      strata_.emplace_back(all);
      sampled_.push_back(captured);
    }
    for (PlanSample& s : cluster.samples) s.weight = weight;
    plain_estimate_ += plain * static_cast<double>(sampled_ns);
    totals.samples += captured;
    totals.sampled_duration_ns += sampled_ns;
    kernel.clusters.push_back({cluster.lower_ns, cluster.upper_ns, all.count(), all.mean(),
                               all.stddev(), cluster.target, captured,
                               std::move(cluster.samples)});
  }
  totals.invocations += invocations;
  totals.duration_ns += duration_ns;
  totals.zero_duration += zero_duration;
  totals.clusters += kernel.clusters.size();
  ++totals.kernels;
  plan_.kernels.push_back(std::move(kernel));
}

Plan PlanBuilder::Finish() {
  PlanTotals& totals = plan_.totals;
  const auto total = static_cast<double>(totals.duration_ns);
  if (totals.sampled_duration_ns > 0) {
    totals.speedup = total / static_cast<double>(totals.sampled_duration_ns);
  }
  if (total > 0.0) {
    totals.uncovered_fraction = uncovered_ / total;
    totals.observed_error = std::fabs(plain_estimate_ - total) / total;
    const double covered = total - uncovered_;
    totals.bound = ErrorBound(strata_, sampled_, options_.target().z) * (covered / total) +
                   totals.uncovered_fraction;
  }
  return std::move(plan_);
}

}  // namespace stemtap
