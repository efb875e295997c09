// SPDX-License-Identifier: Apache-2.0
#include "stem/plan_builder.h"

#include <cmath>
#include <utility>

#include "stem/certificate.h"

namespace stemtap {

void PlanBuilder::AddKernel(std::string name, std::uint64_t invocations, std::uint64_t duration_ns,
                            std::uint64_t zero_duration, std::vector<SampledCluster> clusters,
                            const wire::LaunchConfig& config, std::int32_t process) {
  PlanTotals& totals = plan_.totals;
  PlanKernel kernel{std::move(name), invocations, duration_ns, {}, config, process};
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
      const double calibrated = CalibratedWeight(all.count(), all.mean(), captured, captured_mean);
      if (options_.weights == Weights::kCalibrated) weight = calibrated;
      totals.calibrated_estimate_ns += calibrated * static_cast<double>(sampled_ns);
      cells_.push_back(std::move(cluster.cells));
      sampled_.push_back({cells_.back(), Stratum(all), captured});
    }
    for (PlanSample& s : cluster.samples) s.weight = weight;
    totals.plain_estimate_ns += plain * static_cast<double>(sampled_ns);
    totals.samples += captured;
    totals.sampled_duration_ns += sampled_ns;
    kernel.clusters.push_back({cluster.lower_ns, cluster.upper_ns, all.count(), all.mean(),
                               all.stddev(), cluster.target, captured, std::move(cluster.samples)});
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
    totals.observed_error = std::fabs(totals.plain_estimate_ns - total) / total;
    const double covered = total - uncovered_;
    totals.bound = CertifiedBound(sampled_, options_.confidence) * (covered / total) +
                   totals.uncovered_fraction;
  }
  if (options_.selection == Selection::kFirst) {
    totals.bound = NAN;  // no random sample: nothing can be said of its error beforehand
  }
  return std::move(plan_);
}

}  // namespace stemtap
