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
    // One that is taken whole, or not at all, has nothing to be drawn from.
    if (captured == 0 || captured >= all.count()) cluster.cells = {};
    const double plain = PlainWeight(all.count(), captured);
    double weight = plain;
    if (captured == 0) {
      uncovered_ += all.sum();
    } else {
      const double captured_mean = static_cast<double>(sampled_ns) / static_cast<double>(captured);
      const double calibrated = CalibratedWeight(all.count(), all.mean(), captured, captured_mean);
      if (options_.weights == Weights::kCalibrated) weight = calibrated;
      totals.calibrated_estimate_ns += calibrated * static_cast<double>(sampled_ns);
      sampled_.push_back({cluster.cells, Stratum(all), captured});
    }
    for (PlanSample& s : cluster.samples) s.weight = weight;
    totals.plain_estimate_ns += plain * static_cast<double>(sampled_ns);
    totals.samples += captured;
    totals.sampled_duration_ns += sampled_ns;
    kernel.clusters.push_back({cluster.lower_ns, cluster.upper_ns, all.count(), all.mean(),
                               all.stddev(), cluster.target, captured, std::move(cluster.samples),
                               std::move(cluster.cells)});
  }
  totals.invocations += invocations;
  totals.duration_ns += duration_ns;
  totals.zero_duration += zero_duration;
  totals.clusters += kernel.clusters.size();
  ++totals.kernels;
  plan_.kernels.push_back(std::move(kernel));
}

void SetError(std::span<const SampledStratum> sampled, double uncovered_ns, double confidence,
              PlanTotals& totals) {
  const auto total = static_cast<double>(totals.duration_ns);
  if (totals.sampled_duration_ns > 0) {
    totals.speedup = total / static_cast<double>(totals.sampled_duration_ns);
  }
  if (total > 0.0) {
    totals.uncovered_fraction = uncovered_ns / total;
    totals.observed_error = std::fabs(totals.plain_estimate_ns - total) / total;
    const double covered = total - uncovered_ns;
    totals.bound =
        CertifiedBound(sampled, confidence) * (covered / total) + totals.uncovered_fraction;
  }
}

Plan PlanBuilder::Finish() {
  SetError(sampled_, uncovered_, options_.confidence, plan_.totals);
  if (options_.selection == Selection::kFirst) {
    plan_.totals.bound = NAN;  // no random sample: nothing can be said of its error beforehand
  }
  return std::move(plan_);
}

}  // namespace stemtap
