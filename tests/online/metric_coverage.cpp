// SPDX-License-Identifier: Apache-2.0
#include "online/metric_coverage.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/extrapolation/extrapolate.h"
#include "analysis/extrapolation/match.h"
#include "base/result.h"
#include "formats/results/kernel_results.h"
#include "support/random_draws.h"

namespace stemtap::test {
namespace {

// Identifies a kernel of a plan by name, process and, with --group-by launch, grid.
using KernelKey = std::tuple<std::string, std::int32_t, std::uint32_t>;

class ClusterFinder {
 public:
  ClusterFinder(const LaunchStream& stream, const model::Plan& plan) : stream_(stream) {
    for (const model::PlanKernel& kernel : plan.kernels) {
      by_launch_ = by_launch_ || kernel.config.grid[0] != 0;
      kernels_[{kernel.name, kernel.process, kernel.config.grid[0]}] = &kernel;
      for (const model::PlanCluster& cluster : kernel.clusters) {
        for (const model::PlanSample& sample : cluster.samples) of_sample_[sample.index] = &cluster;
      }
    }
  }

  // Returns the cluster of a launch. For a launch that is not a sample, this is the narrowest
  // cluster whose range contains its duration, because clusters of exploratory captures overlap
  // other clusters.
  const model::PlanCluster& Find(std::size_t index) const {
    if (const auto at = of_sample_.find(index); at != of_sample_.end()) return *at->second;
    const StreamLaunch& launch = stream_.launches[index];
    const model::PlanKernel& kernel =
        *kernels_.at({KernelName(launch.kernel), ProcessId(stream_, launch.process),
                      by_launch_ ? launch.grid : 0});
    const model::PlanCluster* found = nullptr;
    for (const model::PlanCluster& cluster : kernel.clusters) {
      const bool holds =
          launch.duration_ns >= cluster.lower_ns && launch.duration_ns <= cluster.upper_ns;
      if (!holds || cluster.count == cluster.samples.size()) continue;
      if (found == nullptr || cluster.count > found->count) found = &cluster;
    }
    if (found == nullptr) throw std::logic_error("a launch is in no cluster of the plan");
    return *found;
  }

 private:
  const LaunchStream& stream_;
  std::map<KernelKey, const model::PlanKernel*> kernels_;
  std::map<std::size_t, const model::PlanCluster*> of_sample_;
  bool by_launch_ = false;
};

// The value is d e, where e is lognormal with mean 1 and variance s^2. The correlation with d is cv
// / sqrt(cv^2 + s^2 (1 + cv^2)), which gives s.
double DrawProportional(const model::PlanCluster& cluster, double duration_ns, Rng& rng) {
  constexpr double kRatio = 1.0 / (kMetricCorrelation * kMetricCorrelation) - 1.0;
  const double normal = Normal(rng);
  const double cv = cluster.stddev_ns / cluster.mean_ns;
  const double log_variance = std::log1p(kRatio * cv * cv / (1.0 + cv * cv));
  return duration_ns * std::exp(std::sqrt(log_variance) * normal - 0.5 * log_variance);
}

// The relative spread is the spread of the duration, up to kMaxSpread so that values stay positive.
double DrawLinear(const model::PlanCluster& cluster, double duration_ns, Rng& rng) {
  constexpr double kMaxSpread = 0.4;
  constexpr double kMin = 0.01;
  const double noise = std::sqrt(12.0) * (rng.Uniform() - 0.5);  // variance 1
  if (!(cluster.stddev_ns > 0.0)) return cluster.mean_ns;
  const double spread = std::min(kMaxSpread, cluster.stddev_ns / cluster.mean_ns);
  const double scaled = (duration_ns - cluster.mean_ns) / cluster.stddev_ns;
  const double unit = kMetricCorrelation * scaled +
                      std::sqrt(1.0 - kMetricCorrelation * kMetricCorrelation) * noise;
  return cluster.mean_ns * std::max(kMin, 1.0 + spread * unit);
}

IntervalOutcome Compare(const analysis::Estimate& estimate, double truth,
                        const analysis::MetricEstimate& of) {
  const double rounding = 1e-9 * truth;
  const double known = (1.0 - of.uncovered_fraction) * truth;
  const double share_outside = of.uncovered_fraction + of.joined_fraction;
  const double more = share_outside * estimate.value / (1.0 - std::min(share_outside, 0.5));
  return {
      .error = (estimate.value - truth) / truth,
      .scaled_error = (estimate.value / (1.0 - of.uncovered_fraction) - truth) / truth,
      .relative_width = 0.5 * (estimate.upper - estimate.lower) / truth,
      .covered =
          estimate.lower - more <= truth + rounding && truth <= estimate.upper + more + rounding,
      .covered_as_is = estimate.lower <= truth + rounding && truth <= estimate.upper + rounding,
      .covered_scaled = estimate.lower <= known + rounding && known <= estimate.upper + rounding};
}

formats::KernelResults ResultsOf(const model::Plan& plan, const std::vector<double>& values) {
  formats::KernelResults results;
  results.metrics.push_back({"metric", "", formats::MetricKind::kSum});
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      for (const model::PlanSample& sample : cluster.samples) {
        formats::KernelResult row;
        row.id = sample.index;
        row.values = {values[sample.index]};
        results.rows.push_back(std::move(row));
      }
    }
  }
  return results;
}

}  // namespace

std::vector<double> DrawMetric(const LaunchStream& stream, const model::Plan& plan,
                               MetricShape shape, Rng& rng) {
  const ClusterFinder clusters(stream, plan);
  std::vector<double> factors;
  const std::size_t kernels = std::size_t{stream.kernels} * stream.processes;
  for (std::size_t k = 0; k < kernels; ++k) {
    factors.push_back(0.1 * std::pow(100.0, rng.Uniform()));
  }
  std::vector<double> values;
  values.reserve(stream.launches.size());
  for (std::size_t i = 0; i < stream.launches.size(); ++i) {
    const StreamLaunch& launch = stream.launches[i];
    const double factor = factors[std::size_t{launch.process} * stream.kernels + launch.kernel];
    const auto duration_ns = static_cast<double>(launch.duration_ns);
    const auto draw = shape == MetricShape::kLinear ? DrawLinear : DrawProportional;
    values.push_back(factor * draw(clusters.Find(i), duration_ns, rng));
  }
  return values;
}

MetricOutcome ExtrapolateMetric(const model::Plan& plan, const std::vector<double>& values) {
  const formats::KernelResults results = ResultsOf(plan, values);
  Result<analysis::Match> match = analysis::MatchResults(plan, results, {});
  if (!match.ok()) throw std::runtime_error(match.error().message);
  Result<analysis::Extrapolation> made = analysis::Extrapolate(plan, results, match.value(), {});
  if (!made.ok()) throw std::runtime_error(made.error().message);
  const analysis::MetricEstimate& estimate = made.value().metrics.at(0);
  const double truth = std::accumulate(values.begin(), values.end(), 0.0);
  return {.plain = Compare(estimate.plain, truth, estimate),
          .calibrated = Compare(estimate.calibrated, truth, estimate),
          .share_outside = estimate.uncovered_fraction + estimate.joined_fraction};
}

}  // namespace stemtap::test
