// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/metric_estimator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/extrapolation/domain.h"

namespace stemtap::analysis {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double DurationOf(const model::PlanSample& sample) {
  return static_cast<double>(sample.record.duration_ns);
}

bool IsObserved(const ObservedCluster& cluster) {
  return cluster.share > 0.0 && !cluster.seen.empty();
}

std::uint64_t CountSeen(std::span<const ObservedCluster> clusters) {
  std::uint64_t count = 0;
  for (const ObservedCluster& cluster : clusters) {
    for (const ObservedSample& sample : cluster.seen) count += sample.in_domain;
  }
  return count;
}

Estimate Without() {
  return {kNaN, kNaN, kNaN, kNaN, 0.0};
}

// Returns the estimate divided by a known positive amount.
Estimate DividedBy(const Estimate& estimate, double amount) {
  if (!(amount > 0.0)) return Without();
  return {estimate.value / amount, estimate.half_width / amount, estimate.lower / amount,
          estimate.upper / amount, estimate.degrees};
}

}  // namespace

double MetricEstimator::Value(std::size_t row, std::size_t column) const {
  const std::vector<double>& values = results_.rows[row].values;
  return column < values.size() ? values[column] : kNaN;
}

template <typename ValueOf>
std::vector<ObservedCluster> MetricEstimator::Observe(const ValueOf& value_of) const {
  const auto launches = static_cast<double>(plan_.totals.invocations);
  std::vector<ObservedCluster> clusters;
  for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
    for (std::size_t c = 0; c < plan_.kernels[k].clusters.size(); ++c) {
      const model::PlanCluster& planned = plan_.kernels[k].clusters[c];
      ObservedCluster& cluster = clusters.emplace_back();
      cluster.kernel = k;
      cluster.pooled = !plan_.kernels[k].pooled.empty();
      cluster.count = static_cast<double>(planned.count);
      cluster.mean_ns = planned.mean_ns;
      cluster.stddev_ns = planned.stddev_ns;
      cluster.mean_position = planned.mean_index / launches;
      for (std::size_t s = 0; s < planned.samples.size(); ++s) {
        const std::size_t row = match_.rows[k][c][s];
        if (row == kNoResult) continue;
        const model::PlanSample& sample = planned.samples[s];
        const double value = value_of(row, sample);
        if (!std::isfinite(value)) continue;
        const bool in_domain = !domain_.range || sample.range == *domain_.range;
        const double position = static_cast<double>(sample.index) / launches;
        cluster.seen.push_back({DurationOf(sample), value, in_domain, position});
      }
    }
  }
  if (domain_.kernel) SelectKernel(clusters, *domain_.kernel);
  if (domain_.range) EstimateShares(clusters);
  return clusters;
}

std::vector<ObservedCluster> MetricEstimator::Matched() const {
  return Observe([](std::size_t, const model::PlanSample&) { return 1.0; });
}

double MetricEstimator::Time() const {
  return static_cast<double>(domain_.kernel ? plan_.kernels[*domain_.kernel].duration_ns
                                            : plan_.totals.duration_ns);
}

double MetricEstimator::Launches() const {
  if (domain_.kernel) return static_cast<double>(plan_.kernels[*domain_.kernel].invocations);
  if (!domain_.range) return static_cast<double>(plan_.totals.invocations);
  return EstimateTotal(Matched(), Calibration::kPlain, confidence_).value;
}

double MetricEstimator::NativeTime() const {
  if (!domain_.range) return Time();
  const auto durations =
      Observe([](std::size_t, const model::PlanSample& sample) { return DurationOf(sample); });
  return EstimateTotal(durations, Calibration::kByDuration, confidence_).value;
}

double MetricEstimator::Uncovered(std::span<const ObservedCluster> clusters) const {
  if (domain_.range) return kNaN;
  const double total = Time();
  if (!(total > 0.0)) return 0.0;
  double uncovered = 0.0;
  double in_clusters = 0.0;
  for (const ObservedCluster& cluster : clusters) {
    if (!(cluster.share > 0.0)) continue;
    in_clusters += cluster.count * cluster.mean_ns;
    if (cluster.seen.empty()) uncovered += cluster.count * cluster.mean_ns;
  }
  // Time outside all clusters, except for rounding.
  const double outside = total - in_clusters;
  if (outside > 1e-9 * total) uncovered += outside;
  return std::min(1.0, uncovered / total);
}

double MetricEstimator::Joined(std::span<const ObservedCluster> clusters) const {
  if (domain_.range) return kNaN;
  const double total = Time();
  if (!(total > 0.0)) return 0.0;
  double joined = 0.0;
  auto observed = clusters.begin();  // in the order of the plan's clusters
  for (const model::PlanKernel& kernel : plan_.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      if (IsObserved(*observed)) joined += model::JoinedTime(cluster);
      ++observed;
    }
  }
  return std::clamp(joined / total, 0.0, 1.0);
}

void MetricEstimator::SetShares(std::span<const ObservedCluster> clusters,
                                MetricEstimate& estimate) const {
  estimate.samples = CountSeen(clusters);
  estimate.uncovered_fraction = Uncovered(clusters);
  estimate.joined_fraction = Joined(clusters);
  if (estimate.samples > 0 || (!domain_.kernel && !domain_.range)) return;
  // Nothing is known about the domain: a total of 0 would be misleading.
  estimate.plain = estimate.calibrated = estimate.per_launch = estimate.per_second = Without();
}

void MetricEstimator::SetRates(std::span<const ObservedCluster> clusters,
                               MetricEstimate& estimate) const {
  if (domain_.range) {
    std::vector<ObservedCluster> launches(clusters.begin(), clusters.end());
    std::vector<ObservedCluster> seconds = launches;
    for (std::size_t h = 0; h < clusters.size(); ++h) {
      for (ObservedSample& sample : launches[h].seen) sample.value = 1.0;
      for (ObservedSample& sample : seconds[h].seen) sample.value = sample.duration_ns * 1e-9;
    }
    estimate.per_launch =
        EstimateRatio(clusters, launches, {Calibration::kFitted, Calibration::kPlain}, confidence_);
    estimate.per_second = EstimateRatio(
        clusters, seconds, {Calibration::kFitted, Calibration::kByDuration}, confidence_);
    return;
  }
  double launches = 0.0;
  double seconds = 0.0;
  for (const ObservedCluster& cluster : clusters) {
    if (!IsObserved(cluster)) continue;
    launches += cluster.count;
    seconds += cluster.count * cluster.mean_ns * 1e-9;
  }
  estimate.per_launch = DividedBy(estimate.calibrated, launches);
  estimate.per_second = DividedBy(estimate.calibrated, seconds);
}

double MetricEstimator::Planned(std::size_t column) const {
  double planned = 0.0;
  for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
    if (domain_.kernel && k != *domain_.kernel) continue;
    for (std::size_t c = 0; c < plan_.kernels[k].clusters.size(); ++c) {
      const std::vector<model::PlanSample>& samples = plan_.kernels[k].clusters[c].samples;
      for (std::size_t s = 0; s < samples.size(); ++s) {
        if (domain_.range && samples[s].range != *domain_.range) continue;
        const std::size_t row = match_.rows[k][c][s];
        planned += samples[s].weight * (row == kNoResult ? kNaN : Value(row, column));
      }
    }
  }
  return planned;
}

MetricEstimate MetricEstimator::Sum(std::size_t column) const {
  const auto clusters =
      Observe([&](std::size_t row, const model::PlanSample&) { return Value(row, column); });
  MetricEstimate estimate;
  estimate.how = "sum";
  estimate.plain = EstimateTotal(clusters, Calibration::kPlain, confidence_);
  estimate.calibrated = EstimateTotal(clusters, Calibration::kFitted, confidence_);
  estimate.planned = Planned(column);
  SetRates(clusters, estimate);
  SetShares(clusters, estimate);
  return estimate;
}

MetricEstimate MetricEstimator::Quotient(std::span<const ObservedCluster> numerator,
                                         std::span<const ObservedCluster> denominator,
                                         Calibration calibration) const {
  MetricEstimate estimate;
  estimate.additive = false;
  estimate.plain = EstimateRatio(numerator, denominator, {Calibration::kPlain, Calibration::kPlain},
                                 confidence_);
  estimate.calibrated =
      EstimateRatio(numerator, denominator, {calibration, calibration}, confidence_);
  estimate.planned = kNaN;
  estimate.per_launch = estimate.per_second = Without();
  SetShares(numerator, estimate);
  return estimate;
}

MetricEstimate MetricEstimator::Ratio(const formats::ResultRatio& ratio) const {
  const auto column_of = [&](const std::string& name) {
    const auto at =
        std::find_if(results_.metrics.begin(), results_.metrics.end(),
                     [&](const formats::ResultMetric& metric) { return metric.name == name; });
    return static_cast<std::size_t>(at - results_.metrics.begin());
  };
  const std::size_t top = column_of(ratio.numerator);
  const std::size_t bottom = column_of(ratio.denominator);
  // Uses samples that have both metrics.
  const auto numerator = Observe([&](std::size_t row, const model::PlanSample&) {
    return Value(row, top) + 0.0 * Value(row, bottom);
  });
  const auto denominator = Observe([&](std::size_t row, const model::PlanSample&) {
    return Value(row, bottom) + 0.0 * Value(row, top);
  });
  MetricEstimate estimate = Quotient(numerator, denominator, Calibration::kFitted);
  estimate.name = ratio.name;
  estimate.how = ratio.numerator + " / " + ratio.denominator;
  return estimate;
}

MetricEstimate MetricEstimator::Mean(std::size_t column) const {
  const auto numerator = Observe([&](std::size_t row, const model::PlanSample& sample) {
    return Value(row, column) * DurationOf(sample);
  });
  const auto denominator = Observe([&](std::size_t row, const model::PlanSample& sample) {
    return std::isfinite(Value(row, column)) ? DurationOf(sample) : kNaN;
  });
  // A mean of the sampled values, so it is between the smallest and the largest of them.
  MetricEstimate estimate = Quotient(numerator, denominator, Calibration::kByDuration);
  estimate.how = "mean over native time";
  return estimate;
}

MetricEstimate MetricEstimator::Column(std::size_t column) const {
  const formats::ResultMetric& metric = results_.metrics[column];
  MetricEstimate estimate = metric.kind == formats::MetricKind::kSum ? Sum(column) : Mean(column);
  estimate.name = metric.name;
  estimate.unit = metric.unit;
  return estimate;
}

}  // namespace stemtap::analysis
