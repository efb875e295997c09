// SPDX-License-Identifier: Apache-2.0
#include "results/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "results/student.h"

namespace stemtap {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Prior variances of the elasticity of values within clusters: of the mean over kernels around 1, and
// of a kernel around that mean. The latter is also a maximum. Larger values widen intervals of small
// plans; smaller values hold the elasticity at 1 against the samples.
constexpr double kCommonVariance = 0.0625;
constexpr double kKernelVariance = 0.25;

double MeanOf(const std::vector<ObservedSample>& seen, double ObservedSample::*what) {
  double sum = 0.0;
  for (const ObservedSample& s : seen) sum += s.*what;
  return sum / static_cast<double>(seen.size());
}

// What log value follows from log duration within the clusters of a kernel, and how the means of its
// clusters follow from their mean durations.
struct Curve {
  double within = 1.0;           // elasticity within clusters (LogShape)
  double own_variance = 0.0;     // of `within`, by this kernel alone
  double common_variance = 0.0;  // of `within`, by an error that all kernels share
  double leverage = 0.0;         // degrees of freedom that `within` takes from the kernel's samples
  double between = 1.0;          // power of the curve through the means of clusters
  double log_factor = 0.0;       // mean of the logs of the values; -inf: they are all 0
  double log_duration = 0.0;     // mean of the logs of the clusters' mean durations
  double least = 0.0;            // what a value of 0 counts as where its log is taken
};

// The clusters of each kernel, which stand together.
std::vector<std::span<const ObservedCluster>> ByKernel(std::span<const ObservedCluster> clusters) {
  std::vector<std::span<const ObservedCluster>> kernels;
  for (std::size_t begin = 0; begin < clusters.size();) {
    std::size_t end = begin + 1;
    while (end < clusters.size() && clusters[end].kernel == clusters[begin].kernel) ++end;
    kernels.push_back(clusters.subspan(begin, end - begin));
    begin = end;
  }
  return kernels;
}

double LogDuration(double duration_ns) {
  return std::log(std::max(duration_ns, 1.0));
}

double LogValue(double value, const Curve& curve) {
  return std::log(std::max(std::abs(value), curve.least));
}

// Log of the value at a duration relative to the value at the cluster's mean duration: linear for an
// elasticity in [0, 1], a power outside of it, where a line would become negative.
double LogShape(double duration_ns, const ObservedCluster& cluster, double elasticity) {
  const double log_ratio = LogDuration(duration_ns) - LogDuration(cluster.mean_ns);
  if (elasticity < 0.0 || elasticity > 1.0) return elasticity * log_ratio;
  return std::log(1.0 - elasticity + elasticity * std::exp(log_ratio));
}

struct LogPoint {
  double x = 0.0;  // log duration
  double y = 0.0;  // log value
};

// Sums of squares and products about the means of groups of points.
struct LogSums {
  double xx = 0.0;
  double xy = 0.0;
  double yy = 0.0;
  double degrees = 0.0;

  void Add(std::span<const LogPoint> group) {
    if (group.empty()) return;
    const auto size = static_cast<double>(group.size());
    LogPoint mean;
    for (const LogPoint& point : group) {
      mean.x += point.x / size;
      mean.y += point.y / size;
    }
    for (const LogPoint& point : group) {
      xx += (point.x - mean.x) * (point.x - mean.x);
      xy += (point.x - mean.x) * (point.y - mean.y);
      yy += (point.y - mean.y) * (point.y - mean.y);
    }
    degrees += size - 1.0;
  }
  bool HasSlope() const { return xx > 1e-12 * (degrees + 1.0); }
  double Slope() const { return HasSlope() ? xy / xx : 1.0; }
  double Residual(double slope) const {
    return std::max(0.0, yy - 2.0 * slope * xy + slope * slope * xx);
  }
};

// Residual variances around the slopes of kernels, each lent one degree by the pool of all.
std::vector<double> NoiseOf(std::span<const LogSums> kernels) {
  double squares = 0.0;
  double degrees = 0.0;
  double squares_by_one = 0.0;  // around a slope of 1, if no kernel has two degrees
  double degrees_by_one = 0.0;
  for (const LogSums& sums : kernels) {
    squares_by_one += sums.Residual(1.0);
    degrees_by_one += sums.degrees;
    if (sums.degrees > 1.0) {
      squares += sums.Residual(sums.Slope());
      degrees += sums.degrees - 1.0;
    }
  }
  double pooled = 0.0;
  if (degrees > 0.0) {
    pooled = squares / degrees;
  } else if (degrees_by_one > 0.0) {
    pooled = squares_by_one / degrees_by_one;
  }
  std::vector<double> noise;
  for (const LogSums& sums : kernels) {
    noise.push_back((sums.Residual(sums.Slope()) + pooled) / std::max(1.0, sums.degrees));
  }
  return noise;
}

constexpr double kLeastPower = -1.0;
constexpr double kMostPower = 2.0;

// Sets what a value of 0 counts as, and sums the logs of a kernel's samples by cluster.
LogSums SumWithin(std::span<const ObservedCluster> kernel, Curve& curve) {
  LogSums sums;
  double least = kInfinity;
  for (const ObservedCluster& cluster : kernel) {
    for (const ObservedSample& s : cluster.seen) {
      if (s.value != 0.0) least = std::min(least, std::abs(s.value));
    }
  }
  if (!std::isfinite(least)) {
    curve.log_factor = -kInfinity;
    return sums;
  }
  curve.least = std::max(0.5 * least, std::numeric_limits<double>::min());
  std::vector<LogPoint> points;
  for (const ObservedCluster& cluster : kernel) {
    points.clear();
    for (const ObservedSample& s : cluster.seen) {
      points.push_back({LogDuration(s.duration_ns), LogValue(s.value, curve)});
    }
    sums.Add(points);
  }
  return sums;
}

// Variance of the elasticities between kernels by DerSimonian and Laird, lent one degree by the
// prior. `weights` are inverse variances of the kernels' own slopes.
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

// Elasticities within clusters: the slope of each kernel's own samples, shrunk towards the mean over
// kernels, which is shrunk towards 1.
void FitWithin(std::span<const LogSums> kernels, std::vector<Curve>& curves) {
  // Samples that follow a curve exactly have no noise.
  constexpr double kLeastNoise = 1e-24;
  const std::vector<double> noise = NoiseOf(kernels);
  std::vector<double> weights;
  bool repeated = false;  // a cluster has several samples
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    weights.push_back(kernels[k].HasSlope() ? kernels[k].xx / std::max(noise[k], kLeastNoise)
                                            : 0.0);
    repeated = repeated || kernels[k].degrees > 0.0;
  }
  // Single samples alone cannot tell the elasticity from the spread.
  if (!repeated) return;
  const double between = VarianceBetweenKernels(kernels, weights);
  double information = 1.0 / kCommonVariance;
  double common = information;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const double weight = weights[k] / (1.0 + weights[k] * between);
    information += weight;
    common += weight * kernels[k].Slope();
  }
  common /= information;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const double borrowed = 1.0 / (1.0 + weights[k] * between);
    Curve& curve = curves[k];
    curve.within = std::clamp((1.0 - borrowed) * kernels[k].Slope() + borrowed * common,
                              kLeastPower, kMostPower);
    curve.own_variance = borrowed * between;
    curve.common_variance = borrowed * borrowed / information;
    curve.leverage = 1.0 - borrowed + borrowed * borrowed * weights[k] / information;
  }
}

// The power curve through the means of a kernel's clusters: ridge regression towards a power of 1.
void FitBetween(std::span<const std::span<const ObservedCluster>> kernels,
                std::span<const LogSums> within, std::vector<Curve>& curves) {
  constexpr double kPriorVariance = 0.25;  // of the power around 1
  std::vector<LogSums> all;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    Curve& curve = curves[k];
    LogSums& sums = all.emplace_back();
    if (std::isinf(curve.log_factor)) continue;
    std::vector<LogPoint> points;
    for (const ObservedCluster& cluster : kernels[k]) {
      for (const ObservedSample& s : cluster.seen) {
        points.push_back(
            {LogDuration(cluster.mean_ns),
             LogValue(s.value, curve) - LogShape(s.duration_ns, cluster, curve.within)});
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
    // Single samples alone cannot tell the power from the spread.
    if (!(within[k].degrees > 0.0)) continue;
    const double penalty = noise[k] / kPriorVariance;
    if (!(all[k].xx + penalty > 1e-12 * (all[k].degrees + 1.0))) continue;
    curves[k].between =
        std::clamp((all[k].xy + penalty) / (all[k].xx + penalty), kLeastPower, kMostPower);
  }
}

std::vector<Curve> CurvesOf(std::span<const std::span<const ObservedCluster>> kernels) {
  std::vector<Curve> curves(kernels.size());
  std::vector<LogSums> within;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    within.push_back(SumWithin(kernels[k], curves[k]));
  }
  FitWithin(within, curves);
  FitBetween(kernels, within, curves);
  return curves;
}

// What one sample says, by the kernel's curve.
struct SeenPart {
  double fitted = 0.0;    // the kernel's curve at this duration: what a residual is relative to
  double residual = 0.0;  // of the value from the curve through the cluster's mean
  double log = 0.0;       // log of value by curve
};

// What one cluster has to do with the total and its error.
struct Part {
  double total = 0.0;    // the estimate of the cluster's total
  double swing = 0.0;    // standard deviation of its values that durations account for, signed
  double own = 0.0;      // variance of a value because the kernel's elasticity is uncertain
  double common = 0.0;   // the same for the error that the elasticities of all kernels share
  double scale = 0.0;    // the curve at the cluster's mean duration; >= 0
  double square = 1.0;   // mean square of the curve over the cluster, by scale^2
  double bias = 0.0;     // of the calibrated total
  double freedom = 1.0;  // share of the degrees of freedom that the elasticity leaves
  std::vector<SeenPart> seen;
};

// Share of a cluster that was not seen.
double UnseenShare(const ObservedCluster& cluster) {
  return std::max(0.0, 1.0 - static_cast<double>(cluster.seen.size()) / cluster.count);
}

// The samples against the curve; returns the level of the cluster's values by the curve.
double Compare(const ObservedCluster& cluster, const Curve& curve, Part& part) {
  const double log_scale =
      curve.log_factor + curve.between * (LogDuration(cluster.mean_ns) - curve.log_duration);
  part.scale = std::exp(log_scale);
  double values = 0.0;
  double fitted = 0.0;
  for (const ObservedSample& s : cluster.seen) {
    const double log_fitted = log_scale + LogShape(s.duration_ns, cluster, curve.within);
    part.seen.push_back({std::exp(log_fitted), 0.0, LogValue(s.value, curve) - log_fitted});
    values += s.value;
    fitted += part.seen.back().fitted;
  }
  if (!(fitted > 0.0)) return 0.0;
  for (std::size_t i = 0; i < part.seen.size(); ++i) {
    part.seen[i].residual = cluster.seen[i].value - values / fitted * part.seen[i].fitted;
  }
  return values / fitted;
}

Part PartOf(const ObservedCluster& cluster, const Curve& curve, Weights weights) {
  Part part;
  if (cluster.seen.empty()) return part;
  const double b = curve.within;
  const double alpha = weights == Weights::kPlain ? 0.0 : std::clamp(b, 0.0, 1.0);
  const double ratio = cluster.mean_ns > 0.0
                           ? MeanOf(cluster.seen, &ObservedSample::duration_ns) / cluster.mean_ns
                           : 1.0;
  part.total = cluster.count * MeanOf(cluster.seen, &ObservedSample::value);
  if (ratio > 0.0) part.total /= 1.0 - alpha + alpha * ratio;
  const double level = Compare(cluster, curve, part);
  if (level == 0.0) return part;

  const double relative = cluster.stddev_ns / std::max(cluster.mean_ns, 1.0);
  const double square = relative * relative;
  const double slope = b - alpha;
  double mean = level * part.scale;
  double variance = slope * slope * square;
  if (b < 0.0 || b > 1.0) {
    // Moments of d^b as if log duration were normal: durations of a wide cluster are skewed.
    // Bounded, for a few outliers make a variance too.
    constexpr double kMostCurvature = 4.0;  // by the first-order variance
    // No launch takes next to no time: to a negative power the tail of long ones counts for little.
    constexpr double kMostShort = 0.5;
    const double curved = b < 0.0 ? std::min(relative, kMostShort) : relative;
    const double v = std::log1p(curved * curved);
    mean *= std::exp(std::clamp(b * (b - 1.0) * v / 2, -1., 1.));
    variance = std::clamp(std::expm1(b * b * v) + alpha * (square - 2.0 * std::expm1(b * v)), 0.0,
                          kMostCurvature * variance);
  }
  const double theta = UnseenShare(cluster) / static_cast<double>(cluster.seen.size()) * square;
  part.bias = part.total * theta * alpha * (alpha - b) / (1.0 + theta);
  part.swing = std::copysign(std::sqrt(variance), slope) * mean;
  part.own = curve.own_variance * square * mean * mean;
  part.common = curve.common_variance * square * mean * mean;
  part.square = 1.0 + b * b * square;
  return part;
}

std::vector<Part> PartsOf(std::span<const ObservedCluster> clusters, Weights weights) {
  // The elasticity takes at most this share of a kernel's degrees of freedom: with one or two
  // degrees nothing would be left.
  constexpr double kMostTaken = 0.3;
  const std::vector<std::span<const ObservedCluster>> kernels = ByKernel(clusters);
  const std::vector<Curve> curves = CurvesOf(kernels);
  std::vector<Part> parts;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    double degrees = 0.0;
    for (const ObservedCluster& cluster : kernels[k]) {
      if (!cluster.seen.empty()) degrees += static_cast<double>(cluster.seen.size()) - 1.0;
    }
    for (const ObservedCluster& cluster : kernels[k]) {
      Part& part = parts.emplace_back(PartOf(cluster, curves[k], weights));
      if (degrees > 0.0) part.freedom = 1.0 - std::min(kMostTaken, curves[k].leverage / degrees);
    }
  }
  return parts;
}

double TotalOf(std::span<const Part> parts) {
  double total = 0.0;
  for (const Part& part : parts) total += part.total;
  return total;
}

// Relative variance found in one cluster, or between single samples of neighbouring ones: of the
// values, and of their logs.
struct Spread {
  double variance = 0.0;
  double log_variance = 0.0;
  double degrees = 0.0;
  std::size_t kernel = 0;
};

// What is pooled over a kernel: sum degrees * variance / sum degrees.
struct Pool {
  double degrees = 0.0;
  double variance = 0.0;  // sum degrees * variance
  double log_variance = 0.0;
  double wanted = 0.0;  // coefficient of the pooled variance in the total's variance
};

// Sum of squared differences from their mean.
double Squares(std::span<const double> values) {
  double mean = 0.0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares;
}

Spread SpreadOf(const Part& part, std::size_t kernel) {
  Spread spread;
  spread.kernel = kernel;
  spread.degrees = (static_cast<double>(part.seen.size()) - 1.0) * part.freedom;
  std::vector<double> logs;
  for (const SeenPart& seen : part.seen) {
    const double relative = seen.residual / seen.fitted;
    spread.variance += relative * relative / spread.degrees;
    logs.push_back(seen.log);
  }
  spread.log_variance = Squares(logs) / spread.degrees;
  return spread;
}

// Clusters of one sample each say nothing about their own spread. Neighbours in twos (the last
// three) are taken for one: how their values differ by their scales bounds it from above.
void Collapse(std::span<const ObservedCluster> kernel, std::span<const Part> parts,
              std::size_t number, std::vector<Spread>& spreads) {
  std::vector<double> relative;
  std::vector<double> logs;
  for (std::size_t h = 0; h < kernel.size(); ++h) {
    if (kernel[h].seen.size() != 1 || !(parts[h].seen.front().fitted > 0.0)) continue;
    relative.push_back(kernel[h].seen.front().value / parts[h].seen.front().fitted);
    logs.push_back(parts[h].seen.front().log);
  }
  for (std::size_t begin = 0; begin + 1 < relative.size();) {
    const std::size_t size = relative.size() - begin == 3 ? 3 : 2;
    const double degrees = static_cast<double>(size) - 1.0;
    spreads.push_back({Squares(std::span(relative).subspan(begin, size)) / degrees,
                       Squares(std::span(logs).subspan(begin, size)) / degrees, degrees, number});
    begin += size;
  }
}

// Satterthwaite's degrees of freedom of a variance that is a sum of estimates; 2 make up for these
// being estimates themselves (Welch). `squared` is the sum of part^2 / (degrees of the part + 2).
double DegreesOf(double variance, double squared, double least) {
  if (!(squared > 0.0)) return kInfinity;
  return std::max(variance * variance / squared - 2.0, least);
}

// Part^2 / (degrees + 2) of a variance  swing  that goes with the square of an elasticity, of which
// `doubt` is the variance: it has  swing / (2 doubt)  degrees.
double SquaredOf(double swing, double doubt) {
  return doubt > 0.0 ? 2.0 * swing * swing * doubt / (swing + 4.0 * doubt) : 0.0;
}

struct Interval {
  double lower = 0.0;
  double upper = 0.0;
  double degrees = 0.0;
};

// Where values spread by factors rather than by amounts (lognormal), their sum does so too, and its
// interval reaches further away from 0 than towards it. Relative variance of the total by the logs;
// 0 where logs do not describe the values better.
struct LogSpread {
  double variance = 0.0;
  double squared = 0.0;  // as DegreesOf wants it
};

LogSpread LogSpreadOf(std::span<const ObservedCluster> clusters, std::span<const Part> parts,
                      std::span<const Pool> pools, double prior_degrees) {
  // A factor of e^4 is a standard deviation; beyond it nothing can be said anyway.
  constexpr double kMost = 16.0;
  double degrees = 0.0;
  double pooled = 0.0;
  double pooled_logs = 0.0;
  for (const Pool& pool : pools) {
    degrees += pool.degrees;
    pooled += pool.variance;
    pooled_logs += pool.log_variance;
  }
  if (!(degrees > 0.0)) return {};
  const auto moderated = [&](double own, double own_degrees, double sum) {
    const double weight = own_degrees + prior_degrees;
    return weight > 0.0 ? (own + prior_degrees * sum / degrees) / weight : sum / degrees;
  };
  std::vector<double> logs;
  double gain = 0.0;  // of log likelihood by taking logs
  for (const Pool& pool : pools) {
    const double variance = moderated(pool.variance, pool.degrees, pooled);
    logs.push_back(std::min(kMost, moderated(pool.log_variance, pool.degrees, pooled_logs)));
    if (variance > 0.0 && logs.back() > 0.0) {
      gain += pool.degrees * std::log(variance / logs.back());
    }
  }
  if (!(gain > 0.0)) return {};
  double total = 0.0;
  std::size_t k = 0;
  for (std::size_t h = 0; h < clusters.size(); ++h) {
    if (h > 0 && clusters[h].kernel != clusters[h - 1].kernel) ++k;
    if (!clusters[h].seen.empty()) {
      total += clusters[h].count * parts[h].scale * std::exp(logs[k] / 2.0);
    }
  }
  LogSpread spread;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const double part = pools[i].wanted * std::exp(logs[i]) * std::expm1(logs[i]) / (total * total);
    const double own =
        pools[i].degrees > 0.0 ? std::min(degrees, pools[i].degrees + prior_degrees) : degrees;
    spread.variance += part;
    spread.squared += part * part / (own + 2.0);
  }
  return spread;
}

// The interval around the total.
Interval IntervalOf(std::span<const ObservedCluster> clusters, std::span<const Part> parts,
                    double total, double confidence, double prior_degrees) {
  std::vector<Pool> pools;
  std::vector<Spread> spreads;
  double known = 0.0;           // variance that durations leave
  double squared = 0.0;         // as DegreesOf takes it
  double squared_common = 0.0;  // its root, of the error that kernels share
  double centre = total;
  std::size_t first = 0;
  for (const std::span<const ObservedCluster> kernel : ByKernel(clusters)) {
    const std::span<const Part> kernel_parts = parts.subspan(first, kernel.size());
    first += kernel.size();
    Pool& pool = pools.emplace_back();
    const std::size_t begin = spreads.size();
    double swing = 0.0;
    double own = 0.0;
    double common = 0.0;
    for (std::size_t h = 0; h < kernel.size(); ++h) {
      const ObservedCluster& cluster = kernel[h];
      const Part& part = kernel_parts[h];
      if (cluster.seen.empty()) continue;
      // Variance of the part of the total by that of one value, drawn without replacement.
      const double factor = cluster.count * cluster.count /
                            static_cast<double>(cluster.seen.size()) * UnseenShare(cluster);
      if (cluster.count > 1.0) {
        const double drawn = factor * cluster.count / (cluster.count - 1.0);
        swing += drawn * part.swing * part.swing;
        own += drawn * part.own;
        common += drawn * part.common;
      }
      centre -= part.bias;
      pool.wanted += factor * part.scale * part.scale * part.square;
      const bool fits = std::all_of(part.seen.begin(), part.seen.end(),
                                    [](const SeenPart& seen) { return seen.fitted > 0.0; });
      if (part.seen.size() > 1 && fits) spreads.push_back(SpreadOf(part, pools.size() - 1));
    }
    known += swing + own + common;
    squared += SquaredOf(swing, own);
    squared_common += std::sqrt(SquaredOf(swing, common));
    if (spreads.size() == begin) Collapse(kernel, kernel_parts, pools.size() - 1, spreads);
    for (std::size_t i = begin; i < spreads.size(); ++i) {
      pool.degrees += spreads[i].degrees;
      pool.variance += spreads[i].degrees * spreads[i].variance;
      pool.log_variance += spreads[i].degrees * spreads[i].log_variance;
    }
  }

  double all_degrees = 0.0;
  double all_wanted = 0.0;
  for (const Pool& pool : pools) {
    all_degrees += pool.degrees;
    const double borrowed =
        pool.degrees > 0.0 ? prior_degrees / (prior_degrees + pool.degrees) : 1.0;
    all_wanted += pool.wanted * borrowed;
  }
  if (all_wanted > 0.0 && all_degrees == 0.0) return {kNaN, kNaN, 0.0};
  double variance = known;
  squared += squared_common * squared_common;
  for (const Spread& spread : spreads) {
    const Pool& pool = pools[spread.kernel];
    const double coefficient = pool.wanted * spread.degrees / (pool.degrees + prior_degrees) +
                               all_wanted * spread.degrees / all_degrees;
    const double part = coefficient * spread.variance;
    variance += part;
    squared += part * part / (spread.degrees + 2.0);
  }
  Interval interval;
  interval.degrees = DegreesOf(variance, squared, std::min(1.0, all_degrees));
  const double half_width = StudentQuantile(confidence, interval.degrees) * std::sqrt(variance);
  interval.lower = centre - half_width;
  interval.upper = centre + half_width;
  const LogSpread spread = LogSpreadOf(clusters, parts, pools, prior_degrees);
  if (spread.variance > 0.0 && std::isfinite(spread.variance) && centre != 0.0) {
    // Bounds the side that few samples leave open.
    constexpr double kMostSkew = 1.5;
    const double relative = spread.variance + known / (centre * centre);
    const double log_variance = std::log1p(relative);
    const double reach = StudentQuantile(confidence, DegreesOf(relative, spread.squared, 1.0)) *
                         std::sqrt(log_variance);
    const double size = std::abs(centre);
    const double far =
        std::min(size * std::exp(log_variance / 2.0 + reach), size + kMostSkew * half_width);
    if (centre > 0.0) {
      interval.upper = std::max(interval.upper, far);
    } else {
      interval.lower = std::min(interval.lower, -far);
    }
  }
  return interval;
}

// Geometric mean of what the curves of two metrics say, one by the other; 0 for nothing to compare.
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
  // A bias may be larger than what is uncertain.
  estimate.lower = std::min(value, interval.lower);
  estimate.upper = std::max(value, interval.upper);
  if (std::isnan(interval.lower) || std::isnan(interval.upper)) {
    estimate.lower = estimate.upper = kNaN;
  }
  estimate.half_width = std::max(estimate.upper - value, value - estimate.lower);
  return estimate;
}

}  // namespace

Estimate EstimateTotal(std::span<const ObservedCluster> clusters, Weights weights,
                       double confidence, double prior_degrees) {
  const std::vector<Part> parts = PartsOf(clusters, weights);
  const double total = TotalOf(parts);
  return EstimateWithin(total, IntervalOf(clusters, parts, total, confidence, prior_degrees));
}

Estimate EstimateRatio(std::span<const ObservedCluster> numerator,
                       std::span<const ObservedCluster> denominator, Weights weights,
                       double confidence, double prior_degrees) {
  std::vector<Part> parts = PartsOf(numerator, weights);
  const std::vector<Part> below = PartsOf(denominator, weights);
  const double bottom = TotalOf(below);
  if (!(std::abs(bottom) > 0.0)) return {kNaN, kNaN, kNaN, kNaN, 0.0};
  const double top = TotalOf(parts);
  const double ratio = top / bottom;
  // Linearised: the ratio's error is that of the total of  numerator - ratio * denominator, by the
  // denominator.
  std::vector<ObservedCluster> rests(numerator.begin(), numerator.end());
  // Where a kernel's numerator is next to nothing, its residuals are small by the denominator's share.
  // Less than all of it: small samples of skewed values put the numerator too low as often as not.
  const double share = 0.4 * TypicalRatio(parts, below);
  for (std::size_t h = 0; h < rests.size(); ++h) {
    parts[h].swing -= ratio * below[h].swing;
    // The elasticities' difference, squared, has the error of both in it.
    parts[h].own = 0.0;
    parts[h].common = 0.0;
    parts[h].freedom = (parts[h].freedom + below[h].freedom) / 2.0;
    parts[h].bias -= ratio * below[h].bias;
    parts[h].scale = std::max(parts[h].scale, share * below[h].scale);
    for (std::size_t i = 0; i < rests[h].seen.size(); ++i) {
      rests[h].seen[i].value -= ratio * denominator[h].seen[i].value;
      SeenPart& seen = parts[h].seen[i];
      seen.residual -= ratio * below[h].seen[i].residual;
      seen.fitted = std::max(seen.fitted, share * below[h].seen[i].fitted);
      seen.log -= below[h].seen[i].log;
    }
  }
  Interval interval = IntervalOf(rests, parts, top, confidence, prior_degrees);
  interval.lower /= bottom;
  interval.upper /= bottom;
  if (bottom < 0.0) std::swap(interval.lower, interval.upper);
  return EstimateWithin(ratio, interval);
}

}  // namespace stemtap
