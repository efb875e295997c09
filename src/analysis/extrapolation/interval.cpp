// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/extrapolation/student.h"
#include "analysis/extrapolation/width_effect.h"

namespace stemtap::analysis {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Prior variance, around 0, of the change of log variance per unit of log width. With a larger
// value, single large values dominate the intervals of plans with few samples.
constexpr double kSpreadTiltVariance = 0.03;

// Spread is the relative variance in one cluster, or between the single samples of neighboring
// clusters, of the values and of their logs.
struct Spread {
  double variance = 0.0;
  double log_variance = 0.0;
  double degrees = 0.0;
  double log_width = 0.0;  // width_effect.h
  std::size_t kernel = 0;
};

// Demand is a term of the variance of the total: sum of coefficient * relative variance over the
// clusters.
struct Demand {
  double coefficient = 0.0;
  double log_width = 0.0;
  std::size_t kernel = 0;
};

// Pool contains the spreads of a kernel and its demands, both scaled to clusters of mean log width.
struct Pool {
  double degrees = 0.0;
  double variance = 0.0;  // sum degrees * variance
  double log_variance = 0.0;
  double wanted = 0.0;  // coefficient of the pooled variance in the variance of the total
};

// Returns the sum of squared differences from the mean.
double Squares(std::span<const double> values) {
  double mean = 0.0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares;
}

Spread SpreadOf(const ObservedCluster& cluster, const Part& part, std::size_t kernel) {
  Spread spread;
  spread.kernel = kernel;
  spread.log_width = LogWidth(cluster);
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

// A cluster with one sample does not show its own spread. Neighbors are paired (the last three form
// one group). The differences of their values relative to the curve bound the spread from above.
void Collapse(std::span<const ObservedCluster> kernel, std::span<const Part> parts,
              std::size_t number, std::vector<Spread>& spreads) {
  std::vector<double> relative;
  std::vector<double> logs;
  std::vector<double> log_widths;
  for (std::size_t h = 0; h < kernel.size(); ++h) {
    if (kernel[h].seen.size() != 1 || !(parts[h].seen.front().fitted > 0.0)) continue;
    relative.push_back(kernel[h].seen.front().value / parts[h].seen.front().fitted);
    logs.push_back(parts[h].seen.front().log);
    log_widths.push_back(LogWidth(kernel[h]));
  }
  for (std::size_t begin = 0; begin + 1 < relative.size();) {
    const std::size_t size = relative.size() - begin == 3 ? 3 : 2;
    Spread& spread = spreads.emplace_back();
    spread.degrees = static_cast<double>(size) - 1.0;
    spread.variance = Squares(std::span(relative).subspan(begin, size)) / spread.degrees;
    spread.log_variance = Squares(std::span(logs).subspan(begin, size)) / spread.degrees;
    for (std::size_t i = begin; i < begin + size; ++i) {
      spread.log_width += log_widths[i] / static_cast<double>(size);
    }
    spread.kernel = number;
    begin += size;
  }
}

std::vector<Spread> SpreadsOf(std::span<const std::span<const ObservedCluster>> kernels,
                              std::span<const Part> parts) {
  std::vector<Spread> spreads;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const std::span<const Part> own = parts.first(kernels[k].size());
    parts = parts.subspan(kernels[k].size());
    const std::size_t begin = spreads.size();
    for (std::size_t h = 0; h < own.size(); ++h) {
      const bool fits = std::all_of(own[h].seen.begin(), own[h].seen.end(),
                                    [](const SeenPart& seen) { return seen.fitted > 0.0; });
      if (own[h].seen.size() > 1 && fits) spreads.push_back(SpreadOf(kernels[k][h], own[h], k));
    }
    if (spreads.size() == begin) Collapse(kernels[k], own, k, spreads);
  }
  return spreads;
}

// Returns the variance of the total per variance of one value of the cluster, drawn without
// replacement.
double DrawnFactor(const ObservedCluster& cluster) {
  return cluster.count * cluster.count / static_cast<double>(cluster.seen.size()) *
         UnseenShare(cluster);
}

std::vector<Demand> DemandsOf(std::span<const std::span<const ObservedCluster>> kernels,
                              std::span<const Part> parts) {
  std::vector<Demand> demands;
  std::size_t at = 0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    for (const ObservedCluster& cluster : kernels[k]) {
      const Part& part = parts[at++];
      if (cluster.seen.empty()) continue;
      demands.push_back(
          {DrawnFactor(cluster) * part.scale * part.scale * part.square, LogWidth(cluster), k});
    }
  }
  return demands;
}

// SpreadTilt is the change of relative variance with the width of clusters: the factor between two
// clusters of a kernel is e^(slope * difference of their log widths).
struct SpreadTilt {
  double slope = 0.0;
  double center = 0.0;  // mean log width

  double FactorAt(double log_width) const { return std::exp(slope * (log_width - center)); }
};

// TiltScore is the score and the information of the slope from the spreads of one kernel, given the
// kernel's own level, for chi-square variances.
struct TiltScore {
  double score = 0.0;
  double information = 0.0;
};

TiltScore ScoreOf(std::span<const Spread> kernel, const SpreadTilt& tilt) {
  double degrees = 0.0;
  double log_width = 0.0;
  double level = 0.0;
  for (const Spread& spread : kernel) {
    degrees += spread.degrees;
    log_width += spread.degrees * spread.log_width;
    level += spread.degrees * spread.variance / tilt.FactorAt(spread.log_width);
  }
  if (!(level > 0.0)) return {};
  log_width /= degrees;
  level /= degrees;
  TiltScore sum;
  for (const Spread& spread : kernel) {
    const double wider = spread.log_width - log_width;
    const double relative = spread.variance / (level * tilt.FactorAt(spread.log_width));
    sum.score += 0.5 * spread.degrees * (relative - 1.0) * wider;
    sum.information += 0.5 * spread.degrees * wider * wider;
  }
  return sum;
}

TiltScore ScoreOfAll(std::span<const Spread> spreads, const SpreadTilt& tilt) {
  TiltScore sum{-tilt.slope / kSpreadTiltVariance, 1.0 / kSpreadTiltVariance};
  for (std::size_t begin = 0; begin < spreads.size();) {
    std::size_t end = begin + 1;
    while (end < spreads.size() && spreads[end].kernel == spreads[begin].kernel) ++end;
    const TiltScore own = ScoreOf(spreads.subspan(begin, end - begin), tilt);
    sum.score += own.score;
    sum.information += own.information;
    begin = end;
  }
  return sum;
}

// Fisher scoring of a gamma regression with a normal prior around 0.
SpreadTilt FitSpreadTilt(std::span<const Spread> spreads) {
  constexpr int kMaxSteps = 30;
  constexpr double kMaxStep = 0.5;
  constexpr double kPrecision = 1e-6;
  SpreadTilt tilt;
  double degrees = 0.0;
  for (const Spread& spread : spreads) {
    degrees += spread.degrees;
    tilt.center += spread.degrees * spread.log_width;
  }
  if (!(degrees > 0.0)) return {};
  tilt.center /= degrees;
  for (int step = 0; step < kMaxSteps; ++step) {
    const TiltScore sum = ScoreOfAll(spreads, tilt);
    const double move = std::clamp(sum.score / sum.information, -kMaxStep, kMaxStep);
    tilt.slope += move;
    if (std::abs(move) < kPrecision) break;
  }
  return tilt;
}

std::vector<Pool> PoolsOf(std::size_t kernels, std::span<const Spread> spreads,
                          std::span<const Demand> demands, const SpreadTilt& tilt) {
  std::vector<Pool> pools(kernels);
  for (const Spread& spread : spreads) {
    Pool& pool = pools[spread.kernel];
    pool.degrees += spread.degrees;
    pool.variance += spread.degrees * spread.variance;
    pool.log_variance += spread.degrees * spread.log_variance;
  }
  for (const Demand& demand : demands) {
    pools[demand.kernel].wanted += demand.coefficient * tilt.FactorAt(demand.log_width);
  }
  return pools;
}

// Returns Satterthwaite's degrees of freedom of a variance that is a sum of estimates. The 2
// accounts for the terms being estimates (Welch). `squared` is the sum of part^2 / (degrees of part
// + 2).
double DegreesOf(double variance, double squared, double floor) {
  if (!(squared > 0.0)) return kInfinity;
  return std::max(variance * variance / squared - 2.0, floor);
}

// Returns part^2 / (degrees + 2) for a variance `swing` that is proportional to the square of an
// elasticity with the variance `doubt`; it has swing / (2 doubt) degrees.
double SquaredOf(double swing, double doubt) {
  return doubt > 0.0 ? 2.0 * swing * swing * doubt / (swing + 4.0 * doubt) : 0.0;
}

// KnownVariance is the variance of the total that is due to durations, which are known.
struct KnownVariance {
  double variance = 0.0;
  double squared = 0.0;  // see DegreesOf
};

KnownVariance KnownVarianceOf(std::span<const std::span<const ObservedCluster>> kernels,
                              std::span<const Part> parts) {
  KnownVariance known;
  double common_root = 0.0;  // shared errors are added before they are squared
  std::size_t at = 0;
  for (const std::span<const ObservedCluster> kernel : kernels) {
    double swing = 0.0;
    double own = 0.0;
    double common = 0.0;
    for (const ObservedCluster& cluster : kernel) {
      const Part& part = parts[at++];
      if (cluster.seen.empty() || !(cluster.count > 1.0)) continue;
      const double drawn = DrawnFactor(cluster) * cluster.count / (cluster.count - 1.0);
      swing += drawn * part.swing * part.swing;
      own += drawn * part.own;
      common += drawn * part.common;
    }
    known.variance += swing + own + common;
    known.squared += SquaredOf(swing, own);
    common_root += std::sqrt(SquaredOf(swing, common));
  }
  known.squared += common_root * common_root;
  return known;
}

// LogSpread is the relative variance of the total according to the logs; 0 if logs do not describe
// the values better. If values differ by factors rather than by amounts (lognormal), the interval
// of their sum extends further away from 0 than toward 0.
struct LogSpread {
  double variance = 0.0;
  double squared = 0.0;  // see DegreesOf
};

LogSpread LogSpreadOf(std::span<const ObservedCluster> clusters, std::span<const Part> parts,
                      std::span<const Pool> pools, double prior_degrees) {
  // Maximum log variance: one standard deviation is a factor of e^4, beyond which estimates are
  // useless.
  constexpr double kMax = 16.0;
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
  double gain = 0.0;  // increase of the log likelihood from taking logs
  for (const Pool& pool : pools) {
    const double variance = moderated(pool.variance, pool.degrees, pooled);
    logs.push_back(std::min(kMax, moderated(pool.log_variance, pool.degrees, pooled_logs)));
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

// Returns the distance from 0 of the interval's end on the side of the tail, for lognormal values.
double FarEnd(double size, double half_width, double known, const LogSpread& spread,
              double confidence) {
  // Limits the skew, which few samples do not determine.
  constexpr double kMaxSkew = 1.5;
  const double relative = spread.variance + known / (size * size);
  const double log_variance = std::log1p(relative);
  const double reach = StudentQuantile(confidence, DegreesOf(relative, spread.squared, 1.0)) *
                       std::sqrt(log_variance);
  return std::min(size * std::exp(log_variance / 2.0 + reach), size + kMaxSkew * half_width);
}

}  // namespace

Interval IntervalOf(std::span<const ObservedCluster> clusters, std::span<const Part> parts,
                    double total, double confidence, double prior_degrees) {
  const std::vector<std::span<const ObservedCluster>> kernels = ByKernel(clusters);
  std::vector<Spread> spreads = SpreadsOf(kernels, parts);
  const SpreadTilt tilt = FitSpreadTilt(spreads);
  for (Spread& spread : spreads) {
    const double factor = tilt.FactorAt(spread.log_width);
    spread.variance /= factor;
    spread.log_variance /= factor;
  }
  const std::vector<Pool> pools = PoolsOf(kernels.size(), spreads, DemandsOf(kernels, parts), tilt);

  double all_degrees = 0.0;
  double all_wanted = 0.0;
  for (const Pool& pool : pools) {
    all_degrees += pool.degrees;
    const double borrowed =
        pool.degrees > 0.0 ? prior_degrees / (prior_degrees + pool.degrees) : 1.0;
    all_wanted += pool.wanted * borrowed;
  }
  if (all_wanted > 0.0 && all_degrees == 0.0) return {kNaN, kNaN, 0.0};
  const KnownVariance known = KnownVarianceOf(kernels, parts);
  double variance = known.variance;
  double squared = known.squared;
  for (const Spread& spread : spreads) {
    const Pool& pool = pools[spread.kernel];
    const double coefficient = pool.wanted * spread.degrees / (pool.degrees + prior_degrees) +
                               all_wanted * spread.degrees / all_degrees;
    const double part = coefficient * spread.variance;
    variance += part;
    squared += part * part / (spread.degrees + 2.0);
  }
  double center = total;
  for (const Part& part : parts) center -= part.bias;
  Interval interval;
  interval.degrees = DegreesOf(variance, squared, std::min(1.0, all_degrees));
  const double half_width = StudentQuantile(confidence, interval.degrees) * std::sqrt(variance);
  interval.lower = center - half_width;
  interval.upper = center + half_width;
  const LogSpread spread = LogSpreadOf(clusters, parts, pools, prior_degrees);
  if (spread.variance > 0.0 && std::isfinite(spread.variance) && center != 0.0) {
    const double far = FarEnd(std::abs(center), half_width, known.variance, spread, confidence);
    if (center > 0.0) {
      interval.upper = std::max(interval.upper, far);
    } else {
      interval.lower = std::min(interval.lower, -far);
    }
  }
  return interval;
}

}  // namespace stemtap::analysis
