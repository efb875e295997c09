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

double MeanOf(const std::vector<ObservedSample>& seen, double ObservedSample::*what) {
  double sum = 0.0;
  for (const ObservedSample& s : seen) sum += s.*what;
  return sum / static_cast<double>(seen.size());
}

double WeightOf(const ObservedCluster& cluster, Weights weights) {
  const double plain = cluster.count / static_cast<double>(cluster.seen.size());
  if (weights == Weights::kPlain) return plain;
  const double sampled = MeanOf(cluster.seen, &ObservedSample::duration_ns);
  return sampled > 0.0 ? plain * (cluster.mean_ns / sampled) : plain;
}

double TotalOf(std::span<const ObservedCluster> clusters, Weights weights) {
  double total = 0.0;
  for (const ObservedCluster& cluster : clusters) {
    if (cluster.seen.empty()) continue;
    const double weight = WeightOf(cluster, weights);
    for (const ObservedSample& s : cluster.seen) total += weight * s.value;
  }
  return total;
}

// The power b of  value ~ duration^b  over a kernel's samples.
struct Power {
  double power = 1.0;
  double doubt = 0.0;       // variance of the power itself, which few samples tell
  double log_factor = 0.0;  // mean of the logs of the values; -inf: they are all 0
  double log_duration = 0.0;
  double least = 0.0;  // what a value of 0 counts as where its log is asked for
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

double LogValue(double value, const Power& fit) {
  return std::log(std::max(std::abs(value), fit.least));
}

// Sums of squares and products of log duration (x) and log value (y) over a kernel's samples.
struct LogSums {
  double xx = 0.0;
  double xy = 0.0;
  double yy = 0.0;
  double count = 0.0;
  bool repeated = false;  // a cluster has several samples

  double Residual(double power) const {
    return std::max(0.0, yy - 2.0 * power * xy + power * power * xx);
  }
};

LogSums SumLogs(std::span<const ObservedCluster> kernel, Power& fit) {
  LogSums sums;
  double least = kInfinity;
  for (const ObservedCluster& cluster : kernel) {
    for (const ObservedSample& s : cluster.seen) {
      if (s.value != 0.0) least = std::min(least, std::abs(s.value));
    }
    sums.count += static_cast<double>(cluster.seen.size());
    sums.repeated = sums.repeated || cluster.seen.size() > 1;
  }
  if (!std::isfinite(least)) {
    fit.log_factor = -kInfinity;
    return sums;
  }
  fit.least = std::max(0.5 * least, std::numeric_limits<double>::min());
  for (const ObservedCluster& cluster : kernel) {
    for (const ObservedSample& s : cluster.seen) {
      fit.log_duration += LogDuration(s.duration_ns) / sums.count;
      fit.log_factor += LogValue(s.value, fit) / sums.count;
    }
  }
  for (const ObservedCluster& cluster : kernel) {
    for (const ObservedSample& s : cluster.seen) {
      const double x = LogDuration(s.duration_ns) - fit.log_duration;
      const double y = LogValue(s.value, fit) - fit.log_factor;
      sums.xx += x * x;
      sums.xy += x * y;
      sums.yy += y * y;
    }
  }
  return sums;
}

// Ridge regression of the logs towards b = 1, by kernel: what few or noisy samples cannot tell stays
// near proportion to duration, and is stated as doubt.
std::vector<Power> PowersOf(std::span<const std::span<const ObservedCluster>> kernels) {
  constexpr double kPriorVariance = 0.25;  // of the power around 1
  constexpr double kLeast = -2.0;
  constexpr double kMost = 3.0;
  std::vector<Power> fits;
  std::vector<LogSums> all;
  std::vector<double> residuals;  // around each kernel's own least squares
  double squares = 0.0;
  double degrees = 0.0;
  double squares_by_one = 0.0;  // around b = 1, for want of anything better
  double degrees_by_one = 0.0;
  for (const std::span<const ObservedCluster> kernel : kernels) {
    const LogSums& sums = all.emplace_back(SumLogs(kernel, fits.emplace_back()));
    const double slope = sums.xx > 1e-12 * sums.count ? sums.xy / sums.xx : 1.0;
    residuals.push_back(sums.Residual(slope));
    if (sums.count > 2.0) {
      squares += residuals.back();
      degrees += sums.count - 2.0;
    }
    if (sums.count > 1.0) {
      squares_by_one += sums.Residual(1.0);
      degrees_by_one += sums.count - 1.0;
    }
  }
  double pooled = 0.0;
  if (degrees > 0.0) {
    pooled = squares / degrees;
  } else if (degrees_by_one > 0.0) {
    pooled = squares_by_one / degrees_by_one;
  }
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const LogSums& sums = all[k];
    // Single samples alone leave nothing to tell the trend from the spread by.
    if (!sums.repeated) continue;
    const double variance = (residuals[k] + pooled) / (sums.count - 2.0 + 1.0);
    const double penalty = variance / kPriorVariance;
    if (!(sums.xx + penalty > 1e-12 * sums.count)) continue;
    fits[k].power = std::clamp((sums.xy + penalty) / (sums.xx + penalty), kLeast, kMost);
    fits[k].doubt = variance / (sums.xx + penalty);
  }
  return fits;
}

// What one sample says, by the curve value ~ duration^b.
struct SeenPart {
  double fitted = 0.0;    // the kernel's curve at this duration: what a residual is relative to
  double residual = 0.0;  // of the value from the curve through the cluster's mean
  double log = 0.0;       // log of value by curve
};

// What one cluster has to do with the error of the total.
struct Part {
  double swing = 0.0;  // standard deviation of its values that durations account for, signed
  double doubt = 0.0;  // variance of a value because the power is uncertain
  double scale = 0.0;  // the curve at the cluster's mean duration; >= 0
  double bias = 0.0;   // of the calibrated total
  std::vector<SeenPart> seen;
};

// Share of a cluster that was not seen.
double UnseenShare(const ObservedCluster& cluster) {
  return std::max(0.0, 1.0 - static_cast<double>(cluster.seen.size()) / cluster.count);
}

Part PartOf(const ObservedCluster& cluster, const Power& fit, Weights weights) {
  Part part;
  if (cluster.seen.empty()) return part;
  const double b = fit.power;
  const auto curve = [&](double duration_ns) {
    return std::exp(fit.log_factor + b * (LogDuration(duration_ns) - fit.log_duration));
  };
  double values = 0.0;
  double fitted = 0.0;
  for (const ObservedSample& s : cluster.seen) {
    part.seen.push_back({curve(s.duration_ns), 0.0, 0.0});
    values += s.value;
    fitted += part.seen.back().fitted;
  }
  part.scale = curve(cluster.mean_ns);
  if (!(fitted > 0.0)) return part;
  const double level = values / fitted;
  for (std::size_t i = 0; i < part.seen.size(); ++i) {
    SeenPart& seen = part.seen[i];
    seen.residual = cluster.seen[i].value - level * seen.fitted;
    seen.log = LogValue(cluster.seen[i].value, fit) - std::log(seen.fitted);
  }

  // Moments of d^b as if log duration were normal: durations of a wide cluster are skewed. Bounded,
  // for a few outliers make a variance too.
  constexpr double kMostCurvature = 4.0;  // by the first-order variance
  const bool calibrated = weights == Weights::kCalibrated;
  const double relative = cluster.stddev_ns / std::max(cluster.mean_ns, 1.0);
  const double square = relative * relative;
  // No launch takes next to no time: to a negative power the tail of long ones counts for little.
  constexpr double kMostShort = 0.5;
  const double curved = b < 0.0 ? std::min(relative, kMostShort) : relative;
  const double log_variance = std::log1p(curved * curved);
  double mean =
      level * part.scale * std::exp(std::clamp(b * (b - 1.0) * log_variance / 2, -1., 1.));
  double variance = std::expm1(b * b * log_variance);
  double first_order = b * b * square;
  double sign = b;
  if (calibrated) {
    const double weighted =
        cluster.count > 0.0 ? WeightOf(cluster, weights) * values / cluster.count : 0.0;
    if (std::abs(weighted) > std::abs(mean)) mean = weighted;
    variance += square - 2.0 * std::expm1(b * log_variance);
    first_order = (b - 1.0) * (b - 1.0) * square;
    sign = b - 1.0;
    const double theta = UnseenShare(cluster) / static_cast<double>(cluster.seen.size()) * square;
    part.bias = weighted * cluster.count * theta * (1.0 - b) / (1.0 + theta);
  }
  variance = std::clamp(variance, 0.0, kMostCurvature * first_order);
  part.swing = std::copysign(std::sqrt(variance), sign) * mean;
  part.doubt = fit.doubt * square * mean * mean;
  return part;
}

std::vector<Part> PartsOf(std::span<const ObservedCluster> clusters, Weights weights) {
  const std::vector<std::span<const ObservedCluster>> kernels = ByKernel(clusters);
  const std::vector<Power> powers = PowersOf(kernels);
  std::vector<Part> parts;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    for (const ObservedCluster& cluster : kernels[k]) {
      parts.push_back(PartOf(cluster, powers[k], weights));
    }
  }
  return parts;
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
  spread.degrees = static_cast<double>(part.seen.size()) - 1.0;
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
  double known = 0.0;  // variance that durations leave
  double centre = total;
  std::size_t first = 0;
  for (const std::span<const ObservedCluster> kernel : ByKernel(clusters)) {
    const std::span<const Part> kernel_parts = parts.subspan(first, kernel.size());
    first += kernel.size();
    Pool& pool = pools.emplace_back();
    const std::size_t begin = spreads.size();
    for (std::size_t h = 0; h < kernel.size(); ++h) {
      const ObservedCluster& cluster = kernel[h];
      const Part& part = kernel_parts[h];
      if (cluster.seen.empty()) continue;
      // Variance of the part of the total by that of one value, drawn without replacement.
      const double factor = cluster.count * cluster.count /
                            static_cast<double>(cluster.seen.size()) * UnseenShare(cluster);
      if (cluster.count > 1.0) {
        known +=
            factor * (part.swing * part.swing + part.doubt) * cluster.count / (cluster.count - 1.0);
      }
      centre -= part.bias;
      pool.wanted += factor * part.scale * part.scale;
      const bool fits = std::all_of(part.seen.begin(), part.seen.end(),
                                    [](const SeenPart& seen) { return seen.fitted > 0.0; });
      if (part.seen.size() > 1 && fits) spreads.push_back(SpreadOf(part, pools.size() - 1));
    }
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
  double squared = 0.0;
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
  const double total = TotalOf(clusters, weights);
  return EstimateWithin(
      total, IntervalOf(clusters, PartsOf(clusters, weights), total, confidence, prior_degrees));
}

Estimate EstimateRatio(std::span<const ObservedCluster> numerator,
                       std::span<const ObservedCluster> denominator, Weights weights,
                       double confidence, double prior_degrees) {
  const double bottom = TotalOf(denominator, weights);
  if (!(std::abs(bottom) > 0.0)) return {kNaN, kNaN, kNaN, kNaN, 0.0};
  const double top = TotalOf(numerator, weights);
  const double ratio = top / bottom;
  // Linearised: the ratio's error is that of the total of  numerator - ratio * denominator, by the
  // denominator.
  std::vector<ObservedCluster> rests(numerator.begin(), numerator.end());
  std::vector<Part> parts = PartsOf(numerator, weights);
  const std::vector<Part> below = PartsOf(denominator, weights);
  // Where a kernel's numerator is next to nothing, its residuals are small by the denominator's share.
  // Half of it, for small samples of skewed values put the numerator too low as often as not.
  const double share = 0.5 * TypicalRatio(parts, below);
  for (std::size_t h = 0; h < rests.size(); ++h) {
    parts[h].swing -= ratio * below[h].swing;
    parts[h].doubt = 0.0;  // the slopes' difference, squared, has the error of both in it
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
