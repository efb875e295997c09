// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "analysis/extrapolation/curve.h"
#include "analysis/extrapolation/interval.h"
#include "analysis/extrapolation/trend.h"

namespace stemtap::analysis {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double MeanOf(const std::vector<ObservedSample>& seen, double ObservedSample::*what) {
  double sum = 0.0;
  for (const ObservedSample& s : seen) sum += s.*what;
  return sum / static_cast<double>(seen.size());
}

// Returns the mean of the values, with 0 for samples outside the domain.
double DomainMean(const std::vector<ObservedSample>& seen) {
  double sum = 0.0;
  for (const ObservedSample& s : seen) sum += s.in_domain ? s.value : 0.0;
  return sum / static_cast<double>(seen.size());
}

struct SampledSum {
  double sum = 0.0;  // of the samples in the domain
  bool positive = false;
  bool negative = false;

  bool HasOneSign() const { return !(positive && negative); }
};

SampledSum SumSampled(std::span<const ObservedCluster> clusters) {
  SampledSum sampled;
  for (const ObservedCluster& cluster : clusters) {
    for (const ObservedSample& s : cluster.seen) {
      sampled.positive = sampled.positive || s.value > 0.0;
      sampled.negative = sampled.negative || s.value < 0.0;
      if (s.in_domain) sampled.sum += s.value;
    }
  }
  return sampled;
}

// Compares the samples with the curve. Returns the level of the cluster's values relative to the
// curve.
double Compare(const ObservedCluster& cluster, const Curve& curve, Part& part) {
  const double log_scale = curve.LogMean(cluster);
  part.scale = std::exp(log_scale);
  double values = 0.0;
  double fitted = 0.0;
  for (const ObservedSample& s : cluster.seen) {
    const double log_fitted = log_scale + curve.LogShape(cluster, s.duration_ns);
    part.seen.push_back({std::exp(log_fitted), 0.0, curve.LogValue(s.value) - log_fitted});
    values += s.value;
    fitted += part.seen.back().fitted;
  }
  if (!(fitted > 0.0)) return 0.0;
  for (std::size_t i = 0; i < part.seen.size(); ++i) {
    part.seen[i].residual = cluster.seen[i].value - values / fitted * part.seen[i].fitted;
  }
  return values / fitted;
}

// Returns the elasticity of the weights, for values with the elasticity `b`.
double AlphaOf(Calibration calibration, double b) {
  switch (calibration) {
    case Calibration::kPlain:
      return 0.0;
    case Calibration::kByDuration:
      return 1.0;
    case Calibration::kFitted:
      break;
  }
  return std::clamp(b, 0.0, 1.0);
}

Part PartOf(const ObservedCluster& cluster, const Curve& curve, Calibration calibration) {
  Part part;
  if (cluster.seen.empty()) return part;
  const double b = curve.WithinAt(cluster);
  const double alpha = AlphaOf(calibration, b);
  const double ratio = cluster.mean_ns > 0.0
                           ? MeanOf(cluster.seen, &ObservedSample::duration_ns) / cluster.mean_ns
                           : 1.0;
  const double factor = ratio > 0.0 ? 1.0 / (1.0 - alpha + alpha * ratio) : 1.0;
  part.mean = MeanOf(cluster.seen, &ObservedSample::value) * factor;
  part.total = cluster.count * DomainMean(cluster.seen) * factor;
  const double level = Compare(cluster, curve, part);
  if (level == 0.0) return part;

  const double relative = RelativeWidth(cluster);
  const double square = relative * relative;
  const double slope = b - alpha;
  double mean = level * part.scale;
  double variance = slope * slope * square;
  if (b < 0.0 || b > 1.0) {
    // Moments of d^b for lognormal durations, because durations of a wide cluster are skewed. They
    // are limited, because a few outliers also make a cluster wide.
    constexpr double kMaxCurvature = 4.0;  // relative to the first-order variance
    // For b < 0, short durations dominate. Real clusters are wide because of long launches, which
    // count little here, not because of very short ones.
    constexpr double kMaxShort = 0.5;
    const double curved = b < 0.0 ? std::min(relative, kMaxShort) : relative;
    const double v = std::log1p(curved * curved);
    mean *= std::exp(std::clamp(b * (b - 1.0) * v / 2, -1., 1.));
    variance = std::clamp(std::expm1(b * b * v) + alpha * (square - 2.0 * std::expm1(b * v)), 0.0,
                          kMaxCurvature * variance);
  }
  const double theta = UnseenShare(cluster) / static_cast<double>(cluster.seen.size()) * square;
  part.bias = part.total * theta * alpha * (alpha - b) / (1.0 + theta);
  part.swing = std::copysign(std::sqrt(variance), slope) * mean;
  part.own = curve.own_variance * square * mean * mean;
  part.common = curve.CommonVarianceAt(cluster) * square * mean * mean;
  part.square = 1.0 + b * b * square;
  return part;
}

// Sets the residuals of the kernel's single samples: from the curve through their mean.
void CompareSingles(std::span<const ObservedCluster> kernel, std::span<Part> parts) {
  double level = 0.0;
  double count = 0.0;
  for (std::size_t h = 0; h < kernel.size(); ++h) {
    if (!IsSingle(kernel[h]) || !(parts[h].seen.front().fitted > 0.0)) continue;
    level += kernel[h].seen.front().value / parts[h].seen.front().fitted;
    count += 1.0;
  }
  if (!(count > 0.0)) return;
  level /= count;
  for (std::size_t h = 0; h < kernel.size(); ++h) {
    if (!IsSingle(kernel[h])) continue;
    SeenPart& seen = parts[h].seen.front();
    seen.residual = kernel[h].seen.front().value - level * seen.fitted;
  }
}

std::vector<Part> PartsOf(std::span<const ObservedCluster> clusters, Calibration calibration) {
  // Maximum share of a kernel's degrees of freedom that the elasticity uses. Otherwise a kernel
  // with one or two degrees would have none left.
  constexpr double kMaxTaken = 0.3;
  const std::vector<std::span<const ObservedCluster>> kernels = ByKernel(clusters);
  const std::vector<Curve> curves = FitCurves(kernels);
  std::vector<Part> parts;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    double degrees = 0.0;
    for (const ObservedCluster& cluster : kernels[k]) {
      if (!cluster.seen.empty()) degrees += static_cast<double>(cluster.seen.size()) - 1.0;
    }
    for (const ObservedCluster& cluster : kernels[k]) {
      Part& part = parts.emplace_back(PartOf(cluster, curves[k], calibration));
      part.singles_leverage = curves[k].singles_leverage;
      if (degrees > 0.0) part.freedom = 1.0 - std::min(kMaxTaken, curves[k].leverage / degrees);
    }
    CompareSingles(kernels[k], std::span(parts).last(kernels[k].size()));
  }
  return parts;
}

// Fit is the values without their trend, compared with the curves.
struct Fit {
  std::vector<ObservedCluster> clusters;
  std::vector<Part> parts;
  TrendError trend;
};

// Only the calibrated estimate depends on a model of the values, so only its trend is removed.
Fit FitOf(std::span<const ObservedCluster> clusters, Calibration calibration) {
  // The curves and the trend are fitted in turn. This converges slowly if durations change during
  // the run as well: 3 steps found half of a slope of 0.18, 30 steps all of it.
  constexpr int kMaxSteps = 30;
  constexpr double kPrecision = 1e-4;  // of the slope
  Trend trend;
  if (calibration != Calibration::kFitted || !DependsOnTrend(clusters) ||
      !SumSampled(clusters).HasOneSign()) {
    return {{clusters.begin(), clusters.end()}, PartsOf(clusters, calibration), {}};
  }
  double last_change = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kMaxSteps; ++step) {
    const double before = trend.slope;
    const std::vector<ObservedCluster> centered = AtCenter(clusters, trend);
    ImproveTrend(centered, PartsOf(centered, calibration), trend);
    trend = Moderated(trend);
    const double change = std::abs(trend.slope - before);
    if (change < kPrecision) break;
    // Steps that grow lead away from the truth: the samples do not tell the trend from the curves.
    if (change > last_change) {
      trend.variance = std::numeric_limits<double>::infinity();
      trend = Moderated(trend);
      break;
    }
    last_change = change;
  }
  Fit fit;
  fit.clusters = AtMeanPositions(clusters, trend);
  fit.parts = PartsOf(fit.clusters, calibration);
  const double lever = SlopeLever(fit.clusters, fit.parts);
  fit.trend = {lever * lever * trend.variance, trend.degrees};
  return fit;
}

double TotalOf(std::span<const Part> parts) {
  double total = 0.0;
  for (const Part& part : parts) total += part.total;
  return total;
}

// Returns the geometric mean of the ratio of two metrics' curves; 0 if there is nothing to compare.
double TypicalRatio(std::span<const Part> above, std::span<const Part> below) {
  double sum = 0.0;
  double count = 0.0;
  for (std::size_t h = 0; h < above.size(); ++h) {
    for (std::size_t i = 0; i < above[h].seen.size(); ++i) {
      const double top = above[h].seen[i].fitted;
      const double bottom = below[h].seen[i].fitted;
      if (!(top > 0.0) || !(bottom > 0.0)) continue;
      sum += std::log(top) - std::log(bottom);
      count += 1.0;
    }
  }
  return count > 0.0 ? std::exp(sum / count) : 0.0;
}

Estimate EstimateWithin(double value, const Interval& interval) {
  Estimate estimate;
  estimate.value = value;
  estimate.degrees = interval.degrees;
  // The bias may be larger than the interval.
  estimate.lower = std::min(value, interval.lower);
  estimate.upper = std::max(value, interval.upper);
  if (std::isnan(interval.lower) || std::isnan(interval.upper)) {
    estimate.lower = estimate.upper = kNaN;
  }
  estimate.half_width = std::max(estimate.upper - value, value - estimate.lower);
  return estimate;
}

}  // namespace

Estimate EstimateTotal(std::span<const ObservedCluster> clusters, Calibration calibration,
                       double confidence, double prior_degrees) {
  const Fit fit = FitOf(clusters, calibration);
  const double total = TotalOf(fit.parts);
  const SampledSum sampled = SumSampled(clusters);
  Interval interval = IntervalOf(fit.clusters, fit.parts, total, confidence, prior_degrees,
                                 sampled.HasOneSign(), fit.trend);
  // Values of one sign add up to at least the part that was sampled.
  if (!sampled.negative) interval.lower = std::max(interval.lower, sampled.sum);
  if (!sampled.positive) interval.upper = std::min(interval.upper, sampled.sum);
  return EstimateWithin(total, interval);
}

Estimate EstimateRatio(std::span<const ObservedCluster> numerator,
                       std::span<const ObservedCluster> denominator, RatioCalibration calibration,
                       double confidence, double prior_degrees) {
  const Fit fit = FitOf(numerator, calibration.numerator);
  const Fit fit_below = FitOf(denominator, calibration.denominator);
  std::vector<Part> parts = fit.parts;
  const std::vector<Part>& below = fit_below.parts;
  const double bottom = TotalOf(below);
  if (!(std::abs(bottom) > 0.0)) return {kNaN, kNaN, kNaN, kNaN, 0.0};
  const double top = TotalOf(parts);
  const double ratio = top / bottom;
  // Linearized: the error of the ratio is the error of the total of  numerator - ratio *
  // denominator, divided by the denominator.
  std::vector<ObservedCluster> rests = fit.clusters;
  // If a kernel's numerator is close to 0, residuals are scaled by a share of the denominator's
  // curve. The share is below 1, because small samples of skewed values underestimate the numerator
  // as often as not.
  const double share = 0.4 * TypicalRatio(parts, below);
  for (std::size_t h = 0; h < rests.size(); ++h) {
    parts[h].mean -= ratio * below[h].mean;
    parts[h].swing -= ratio * below[h].swing;
    // The squared difference of the elasticities already contains the errors of both.
    parts[h].own = 0.0;
    parts[h].common = 0.0;
    parts[h].freedom = (parts[h].freedom + below[h].freedom) / 2.0;
    parts[h].bias -= ratio * below[h].bias;
    parts[h].scale = std::max(parts[h].scale, share * below[h].scale);
    for (std::size_t i = 0; i < rests[h].seen.size(); ++i) {
      rests[h].seen[i].value -= ratio * fit_below.clusters[h].seen[i].value;
      SeenPart& seen = parts[h].seen[i];
      seen.residual -= ratio * below[h].seen[i].residual;
      seen.fitted = std::max(seen.fitted, share * below[h].seen[i].fitted);
      seen.log -= below[h].seen[i].log;
    }
  }
  const SampledSum above = SumSampled(numerator);
  const SampledSum under = SumSampled(denominator);
  const TrendError trend = {fit.trend.variance + ratio * ratio * fit_below.trend.variance,
                            std::min(fit.trend.degrees, fit_below.trend.degrees)};
  Interval interval = IntervalOf(rests, parts, top, confidence, prior_degrees,
                                 above.HasOneSign() && under.HasOneSign(), trend);
  // Without negative values, the numerator's total is not negative.
  if (!above.negative && !under.negative) interval.lower = std::max(interval.lower, 0.0);
  interval.lower /= bottom;
  interval.upper /= bottom;
  if (bottom < 0.0) std::swap(interval.lower, interval.upper);
  return EstimateWithin(ratio, interval);
}

}  // namespace stemtap::analysis
