// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/extrapolation/observed.h"

namespace stemtap::analysis {
namespace {

// Prior variances of the elasticity within clusters: of the mean over kernels around 1, of a kernel
// around that mean (also a maximum), and of its change per unit of log width around 0. Larger
// values widen the intervals of small plans. Smaller values reduce the influence of the samples.
// With 0.25 for kernels, intervals of `phases` with two samples per cluster were 1.28 times as wide
// as necessary for a metric that follows duration, instead of 1.25 times.
constexpr double kCommonVariance = 0.0625;
constexpr double kKernelVariance = 0.16;
constexpr double kTiltVariance = 0.0016;

// Prior variance of the same change, per squared difference of the mean elasticity from 1.
// Durations of narrow clusters differ by noise, which a counter of work does not follow; durations
// of wide clusters differ by work, which it follows. The elasticity may therefore return to 1: the
// standard deviation is a full return over a factor of e^3.2 = 24 in width. With 0.0625, the
// intervals of a counter of a real run covered its total in 73 % of the plans by launch, with 0 in
// 33 %, with 0.1 in 98 %. Larger values widen the intervals of metrics that do not follow
// durations.
constexpr double kReturnVariance = 0.1;

constexpr double kMinPower = -1.0;
constexpr double kMaxPower = 2.0;

// Prior variance of the exponent of a curve through the means of clusters.
constexpr double kBetweenVariance = 0.25;

// Minimum noise, for samples that are exactly on a curve.
constexpr double kMinNoise = 1e-24;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct LogPoint {
  double x = 0.0;  // log duration
  double y = 0.0;  // log value
};

LogPoint MeanOf(std::span<const LogPoint> points) {
  LogPoint mean;
  for (const LogPoint& point : points) {
    mean.x += point.x / static_cast<double>(points.size());
    mean.y += point.y / static_cast<double>(points.size());
  }
  return mean;
}

// Sums of squares and products of points relative to the mean of their group.
struct LogSums {
  double xx = 0.0;
  double xy = 0.0;
  double yy = 0.0;
  double degrees = 0.0;

  void Add(std::span<const LogPoint> group) {
    if (group.empty()) return;
    const LogPoint mean = MeanOf(group);
    for (const LogPoint& point : group) {
      xx += (point.x - mean.x) * (point.x - mean.x);
      xy += (point.x - mean.x) * (point.y - mean.y);
      yy += (point.y - mean.y) * (point.y - mean.y);
    }
    degrees += static_cast<double>(group.size()) - 1.0;
  }
  bool HasSlope() const { return xx > 1e-12 * (degrees + 1.0); }
  double Slope() const { return HasSlope() ? xy / xx : 1.0; }
  double Residual(double slope) const {
    return std::max(0.0, yy - 2.0 * slope * xy + slope * slope * xx);
  }
};

// Minimum number of degrees of freedom of all kernels that determine a residual variance around a
// slope. With fewer, the variance is around a slope of 1, times a factor: two values that agree by
// chance would make the slope between them look certain. (1/250 is the lower 5 % quantile of a
// chi-square variable with one degree.)
constexpr double kMinDegrees = 3.0;
constexpr double kFewDegreesFactor = 250.0;

// Returns the residual variances around the slopes of kernels. The pool of all kernels adds one
// degree of freedom to each. If no kernel has two degrees, the pool is around a slope that all
// kernels share.
std::vector<double> NoiseOf(std::span<const LogSums> kernels) {
  double squares = 0.0;
  double degrees = 0.0;
  LogSums all;
  for (const LogSums& sums : kernels) {
    all.xx += sums.xx;
    all.xy += sums.xy;
    all.yy += sums.yy;
    all.degrees += sums.degrees;
    if (sums.degrees > 1.0) {
      squares += sums.Residual(sums.Slope());
      degrees += sums.degrees - 1.0;
    }
  }
  double pooled = 0.0;
  if (degrees > 0.0) {
    pooled = squares / degrees;
  } else if (all.degrees >= kMinDegrees) {
    pooled = all.Residual(all.Slope()) / (all.degrees - 1.0);
  } else if (all.degrees > 0.0) {
    pooled = kFewDegreesFactor * all.Residual(1.0) / all.degrees;
  }
  std::vector<double> noise;
  for (const LogSums& sums : kernels) {
    noise.push_back((sums.Residual(sums.Slope()) + pooled) / std::max(1.0, sums.degrees));
  }
  return noise;
}

std::vector<LogPoint> LogPoints(const ObservedCluster& cluster, const Curve& curve) {
  std::vector<LogPoint> points;
  for (const ObservedSample& s : cluster.seen) {
    points.push_back({LogDuration(s.duration_ns), curve.LogValue(s.value)});
  }
  return points;
}

// Sums of the logs of a kernel's samples: within its clusters, and between the means of its
// clusters. The latter are 0 if no cluster has a single sample.
struct KernelSums {
  LogSums within;
  LogSums levels;
  LogSums deviations;  // of the log value, on the log of duration / mean of the cluster
  LogSums cross;       // of that log, on the log duration
};

// Also sets the lower limit of the kernel's values.
KernelSums SumKernel(std::span<const ObservedCluster> kernel, Curve& curve) {
  KernelSums sums;
  double floor = kInfinity;
  for (const ObservedCluster& cluster : kernel) {
    for (const ObservedSample& s : cluster.seen) {
      if (s.value != 0.0) floor = std::min(floor, std::abs(s.value));
    }
  }
  if (!std::isfinite(floor)) {
    curve.log_factor = -kInfinity;
    return sums;
  }
  curve.floor = std::max(0.5 * floor, std::numeric_limits<double>::min());
  const bool has_single = std::any_of(kernel.begin(), kernel.end(), IsSingle);
  std::vector<LogPoint> levels;
  std::vector<LogPoint> deviations;
  std::vector<LogPoint> cross;
  for (const ObservedCluster& cluster : kernel) {
    const std::vector<LogPoint> points = LogPoints(cluster, curve);
    sums.within.Add(points);
    if (!has_single || !(IsSingle(cluster) || points.size() > 1)) continue;
    const LogPoint level = MeanOf(points);
    const double deviation = level.x - LogDuration(cluster.mean_ns);
    levels.push_back(level);
    deviations.push_back({deviation, level.y});
    cross.push_back({level.x, deviation});
  }
  sums.levels.Add(levels);
  sums.deviations.Add(deviations);
  sums.cross.Add(cross);
  return sums;
}

// Returns the variance of the elasticities between kernels (DerSimonian and Laird); the prior adds
// one degree of freedom. `weights` are the inverse variances of the kernels' own slopes.
double VarianceBetweenKernels(std::span<const LogSums> kernels, std::span<const double> weights) {
  double sum = 0.0;
  double squares = 0.0;
  double mean = 0.0;
  double degrees = -1.0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    sum += weights[k];
    squares += weights[k] * weights[k];
    mean += weights[k] * kernels[k].Slope();
    degrees += weights[k] > 0.0;
  }
  if (!(degrees > 0.0)) return kKernelVariance;
  mean /= sum;
  double scatter = 0.0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const double difference = kernels[k].Slope() - mean;
    scatter += weights[k] * difference * difference;
  }
  const double free = sum - squares / sum;
  const double found =
      free > 0.0 ? std::clamp((scatter - degrees) / free, 0.0, kKernelVariance) : kKernelVariance;
  return (found * degrees + kKernelVariance) / (degrees + 1.0);
}

// CommonSlopes are the slopes of log value on log duration between and within clusters that all
// kernels share.
struct CommonSlopes {
  double between = 1.0;
  double within = 1.0;
  double within_variance = kCommonVariance;
  // Maximum variance of the slopes within clusters between kernels. Larger differences would show
  // in the residuals.
  double kernel_variance = kKernelVariance;
  // Sums of squares with the sums that the priors are worth; 0 if nothing was fitted.
  double between_xx = 0.0;
  double within_xx = 0.0;

  // Returns the degrees of freedom that the slopes use of a kernel's single samples.
  double LeverageOf(const KernelSums& kernel) const {
    if (!(between_xx > 0.0)) return 0.0;
    const double of_within = within_xx > 0.0 ? kernel.deviations.xx / within_xx : 0.0;
    return kernel.levels.xx / between_xx + of_within;
  }
};

// Fits the slopes to the means of each kernel's clusters, by ridge regression toward a slope of 1
// between clusters and toward the same slope within them. The slopes are common to all kernels: so
// few samples do not show differences between kernels.
CommonSlopes FitLevels(std::span<const KernelSums> kernels) {
  LogSums sum;
  double deviations_xx = 0.0;
  double deviations_xy = 0.0;
  double cross = 0.0;
  for (const KernelSums& kernel : kernels) {
    sum.xx += kernel.levels.xx;
    sum.xy += kernel.levels.xy;
    sum.yy += kernel.levels.yy;
    sum.degrees += kernel.levels.degrees;
    deviations_xx += kernel.deviations.xx;
    deviations_xy += kernel.deviations.xy;
    cross += kernel.cross.xy;
  }
  CommonSlopes common;
  if (!sum.HasSlope()) return common;
  const double noise = std::max(sum.degrees > 1.0 ? sum.Residual(sum.Slope()) / (sum.degrees - 1.0)
                                                  : sum.Residual(1.0) / sum.degrees,
                                kMinNoise);
  if (deviations_xx > 0.0) {
    const double squares = sum.degrees < kMinDegrees ? kFewDegreesFactor * sum.Residual(1.0)
                                                     : sum.Residual(sum.Slope());
    common.kernel_variance = std::min(kKernelVariance, squares / deviations_xx);
  }
  const double penalty = noise / kBetweenVariance;
  common.between_xx = sum.xx + penalty;
  common.within_xx = deviations_xx + noise / kCommonVariance;
  const double product = common.between_xx * common.within_xx;
  const double determinant = product - cross * cross;
  // Two samples without noise do not separate the slopes.
  constexpr double kMinDeterminant = 1e-9;  // relative to the product; limits rounding errors
  const double top = sum.xy + penalty;
  double slope = top / common.between_xx;
  double difference = 0.0;
  common.within_variance = noise / common.between_xx;
  if (determinant > kMinDeterminant * product) {
    slope = (common.within_xx * top - cross * deviations_xy) / determinant;
    difference = (common.between_xx * deviations_xy - cross * top) / determinant;
    common.within_variance =
        noise * (common.within_xx - 2.0 * cross + common.between_xx) / determinant;
  }
  common.between = std::clamp(slope, kMinPower, kMaxPower);
  common.within = std::clamp(slope + difference, kMinPower, kMaxPower);
  return common;
}

// Fits the elasticities within clusters: the slope of each kernel's samples, shrunk toward the mean
// over kernels, which is shrunk toward the slope `prior` of the single samples by its variance.
// Returns the mean over kernels.
double FitWithin(std::span<const LogSums> kernels, std::span<const double> noise,
                 const CommonSlopes& prior, std::vector<Curve>& curves) {
  std::vector<double> weights;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    weights.push_back(kernels[k].HasSlope() ? kernels[k].xx / std::max(noise[k], kMinNoise) : 0.0);
  }
  const double between = std::min(VarianceBetweenKernels(kernels, weights), prior.kernel_variance);
  double information = 1.0 / std::max(prior.within_variance, kMinNoise);
  double common = information * prior.within;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const double weight = weights[k] / (1.0 + weights[k] * between);
    information += weight;
    common += weight * kernels[k].Slope();
  }
  common /= information;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const double borrowed = 1.0 / (1.0 + weights[k] * between);
    Curve& curve = curves[k];
    curve.within =
        std::clamp((1.0 - borrowed) * kernels[k].Slope() + borrowed * common, kMinPower, kMaxPower);
    curve.borrowed = borrowed;
    curve.own_variance = borrowed * between;
    curve.common_variance = borrowed * borrowed / information;
    curve.leverage = 1.0 - borrowed + borrowed * borrowed * weights[k] / information;
  }
  return common;
}

// Fits the change of the elasticity with the width of clusters: the slopes of a kernel's clusters,
// regressed on their log widths within kernels and shrunk toward 0. `common` is the mean elasticity
// over kernels. What a kernel borrows of its elasticity is that at the mean width of the others.
void FitTilt(std::span<const std::span<const ObservedCluster>> kernels,
             std::span<const double> noise, double common, std::vector<Curve>& curves) {
  struct Slope {
    double log_width = 0.0;
    double slope = 0.0;
    double weight = 0.0;  // 1 / variance of the slope
  };
  double information = 1.0 / (kTiltVariance + kReturnVariance * (1.0 - common) * (1.0 - common));
  double products = 0.0;
  Slope all;
  std::vector<Slope> slopes;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (std::isinf(curves[k].log_factor)) continue;  // all values are 0
    slopes.clear();
    Slope mean;
    for (const ObservedCluster& cluster : kernels[k]) {
      LogSums sums;
      if (cluster.seen.size() > 1) sums.Add(LogPoints(cluster, curves[k]));
      if (!sums.HasSlope()) continue;
      const Slope own{LogWidth(cluster), sums.Slope(), sums.xx / std::max(noise[k], kMinNoise)};
      slopes.push_back(own);
      mean.weight += own.weight;
      mean.log_width += own.weight * own.log_width;
      mean.slope += own.weight * own.slope;
    }
    if (slopes.empty()) continue;
    all.weight += mean.weight;
    all.log_width += mean.log_width;
    mean.log_width /= mean.weight;
    mean.slope /= mean.weight;
    curves[k].log_width = mean.log_width;
    for (const Slope& own : slopes) {
      const double wider = own.log_width - mean.log_width;
      information += own.weight * wider * wider;
      products += own.weight * wider * (own.slope - mean.slope);
    }
  }
  // Without a slope in any cluster, the prior applies to clusters of any width.
  if (!(all.weight > 0.0)) return;
  for (std::size_t k = 0; k < curves.size(); ++k) {
    const double borrowed = curves[k].borrowed;  // 1 without a slope
    curves[k].log_width =
        (1.0 - borrowed) * curves[k].log_width + borrowed * all.log_width / all.weight;
    curves[k].tilt = products / information;
    curves[k].tilt_variance = 1.0 / information;
  }
}

// Fits the power curve through the means of a kernel's clusters by ridge regression toward the
// exponent `prior`.
void FitBetween(std::span<const std::span<const ObservedCluster>> kernels,
                std::span<const LogSums> within, double prior, std::vector<Curve>& curves) {
  std::vector<LogSums> all;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    Curve& curve = curves[k];
    LogSums& sums = all.emplace_back();
    if (std::isinf(curve.log_factor)) continue;
    std::vector<LogPoint> points;
    for (const ObservedCluster& cluster : kernels[k]) {
      for (const ObservedSample& s : cluster.seen) {
        points.push_back({LogDuration(cluster.mean_ns),
                          curve.LogValue(s.value) - curve.LogShape(cluster, s.duration_ns)});
      }
    }
    sums.Add(points);
    for (const LogPoint& point : points) {
      curve.log_duration += point.x / static_cast<double>(points.size());
      curve.log_factor += point.y / static_cast<double>(points.size());
    }
  }
  const std::vector<double> noise = NoiseOf(all);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    // Single samples cannot separate the exponent from the spread.
    if (!(within[k].degrees > 0.0)) continue;
    const double penalty = noise[k] / kBetweenVariance;
    if (!(all[k].xx + penalty > 1e-12 * (all[k].degrees + 1.0))) continue;
    curves[k].between =
        std::clamp((all[k].xy + penalty * prior) / (all[k].xx + penalty), kMinPower, kMaxPower);
  }
}

}  // namespace

double Curve::WithinAt(const ObservedCluster& cluster) const {
  return std::clamp(within + tilt * (LogWidth(cluster) - log_width), kMinPower, kMaxPower);
}

double Curve::CommonVarianceAt(const ObservedCluster& cluster) const {
  const double wider = LogWidth(cluster) - log_width;
  return common_variance + tilt_variance * wider * wider;
}

double Curve::LogMean(const ObservedCluster& cluster) const {
  return log_factor + between * (LogDuration(cluster.mean_ns) - log_duration);
}

double Curve::LogShape(const ObservedCluster& cluster, double duration_ns) const {
  const double elasticity = WithinAt(cluster);
  const double log_ratio = LogDuration(duration_ns) - LogDuration(cluster.mean_ns);
  if (elasticity < 0.0 || elasticity > 1.0) return elasticity * log_ratio;
  return std::log(1.0 - elasticity + elasticity * std::exp(log_ratio));
}

double Curve::LogValue(double value) const {
  return std::log(std::max(std::abs(value), floor));
}

std::vector<Curve> FitCurves(std::span<const std::span<const ObservedCluster>> kernels) {
  std::vector<Curve> curves(kernels.size());
  std::vector<KernelSums> sums;
  std::vector<LogSums> within;
  bool repeated = false;  // a cluster has several samples
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    sums.push_back(SumKernel(kernels[k], curves[k]));
    within.push_back(sums.back().within);
    repeated = repeated || within.back().degrees > 0.0;
  }
  const CommonSlopes common = FitLevels(sums);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    curves[k].within = common.within;
    curves[k].common_variance = common.within_variance;
    curves[k].between = common.between;
    curves[k].singles_leverage = common.LeverageOf(sums[k]);
  }
  if (repeated) {
    const std::vector<double> noise = NoiseOf(within);
    const double mean = FitWithin(within, noise, common, curves);
    FitTilt(kernels, noise, mean, curves);
  }
  FitBetween(kernels, within, common.between, curves);
  return curves;
}

}  // namespace stemtap::analysis
