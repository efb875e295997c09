// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "analysis/extrapolation/observed.h"
#include "analysis/extrapolation/spread.h"
#include "analysis/extrapolation/student.h"

namespace stemtap::analysis {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Demand is a term of the variance of the total: sum of coefficient * relative variance over the
// clusters.
struct Demand {
  double coefficient = 0.0;
  double log_width = 0.0;
  std::size_t kernel = 0;
};

// KernelSpread contains the spreads of a kernel and its demands, scaled to clusters of mean log
// width.
struct KernelSpread {
  double degrees = 0.0;
  double variance = 0.0;  // sum degrees * variance
  double log_variance = 0.0;
  double wanted = 0.0;     // coefficient of the variance in the variance of the total
  double log_width = 0.0;  // mean over the demands
  // Sum of LentDegrees over the spreads of all kernels, and the means weighted by it.
  double lent_degrees = 0.0;
  double lent_variance = 0.0;
  double lent_log_variance = 0.0;
  // A pool: it neither lends spreads to kernels nor borrows from them.
  bool apart = false;
};

// Returns the weight of the spread in what the kernel borrows: its degrees of freedom, reduced if
// its width differs from the width of the kernel's clusters. Real counters vary by 1 or 2 % in
// clusters whose durations vary by 1 %, and by 100 % in clusters with launches of several sizes.
double LentDegrees(const Spread& spread, const KernelSpread& kernel) {
  // Standard deviation of the log of the width. With 0.7 or 1.0, few spreads are similar, and
  // intervals of ratios of skewed metrics are 3 % wider. With a larger value, a wide kernel makes
  // the intervals of narrow ones wide.
  constexpr double kWidthScale = 1.4;
  if (spread.pooled) return 0.0;
  const double apart = (spread.log_width - kernel.log_width) / kWidthScale;
  return spread.degrees * std::exp(-0.5 * apart * apart);
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
      const double square = part.scale * part.scale * part.square;
      demands.push_back({DrawnFactor(cluster) * cluster.share * square, LogWidth(cluster), k});
    }
  }
  return demands;
}

std::vector<KernelSpread> SpreadsByKernel(std::size_t kernels, std::span<const Spread> spreads,
                                          std::span<const Demand> demands, const SpreadTilt& tilt) {
  std::vector<KernelSpread> by_kernel(kernels);
  for (const Spread& spread : spreads) {
    KernelSpread& kernel = by_kernel[spread.kernel];
    kernel.degrees += spread.degrees;
    kernel.variance += spread.degrees * spread.variance;
    kernel.log_variance += spread.degrees * spread.log_variance;
    kernel.apart = spread.pooled;
  }
  for (const Demand& demand : demands) {
    KernelSpread& kernel = by_kernel[demand.kernel];
    const double wanted = demand.coefficient * tilt.FactorAt(demand.log_width);
    kernel.wanted += wanted;
    kernel.log_width += wanted * demand.log_width;
  }
  for (KernelSpread& kernel : by_kernel) {
    if (kernel.wanted > 0.0) kernel.log_width /= kernel.wanted;
    for (const Spread& spread : spreads) {
      const double lent = LentDegrees(spread, kernel);
      kernel.lent_degrees += lent;
      kernel.lent_variance += lent * spread.variance;
      kernel.lent_log_variance += lent * spread.log_variance;
    }
    if (!(kernel.lent_degrees > 0.0)) continue;
    kernel.lent_variance /= kernel.lent_degrees;
    kernel.lent_log_variance /= kernel.lent_degrees;
  }
  return by_kernel;
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

// Estimated is a variance that is estimated with some degrees of freedom.
struct Estimated {
  double variance = 0.0;
  double degrees = kInfinity;

  // Returns the square of the half-width of an interval for this part of the error alone.
  double SquaredReach(double confidence) const {
    const double quantile = variance > 0.0 ? StudentQuantile(confidence, degrees) : 0.0;
    return quantile * quantile * variance;
  }
};

// Returns the part of the variance of the total that follows from the durations, which are known,
// and from the errors of the elasticities. The common error of the elasticities adds up over
// kernels before it is squared.
Estimated KnownOf(std::span<const std::span<const ObservedCluster>> kernels,
                  std::span<const Part> parts) {
  double variance = 0.0;
  double squared = 0.0;  // see DegreesOf
  double common_root = 0.0;
  std::size_t at = 0;
  for (const std::span<const ObservedCluster> kernel : kernels) {
    double swing = 0.0;
    double own = 0.0;
    double common = 0.0;
    for (const ObservedCluster& cluster : kernel) {
      const Part& part = parts[at++];
      if (cluster.seen.empty() || !(cluster.count > 1.0)) continue;
      const double drawn =
          DrawnFactor(cluster) * cluster.share * cluster.count / (cluster.count - 1.0);
      swing += drawn * part.swing * part.swing;
      own += drawn * part.own;
      common += drawn * part.common;
    }
    variance += swing + own + common;
    squared += SquaredOf(swing, own);
    common_root += std::sqrt(SquaredOf(swing, common));
  }
  return {variance, DegreesOf(variance, squared + common_root * common_root, 1.0)};
}

// Returns the variance due to the number of launches in the domain. It was estimated from the
// memberships of the samples of each kernel.
Estimated MembershipOf(std::span<const std::span<const ObservedCluster>> kernels,
                       std::span<const Part> parts) {
  Estimated membership;
  double degrees = 0.0;
  std::size_t at = 0;
  for (const std::span<const ObservedCluster> kernel : kernels) {
    double samples = 0.0;
    for (const ObservedCluster& cluster : kernel) {
      const Part& part = parts[at++];
      if (cluster.seen.empty()) continue;
      membership.variance += DrawnFactor(cluster) * cluster.mixing * part.mean * part.mean;
      samples += static_cast<double>(cluster.seen.size());
    }
    degrees += std::max(0.0, samples - 1.0);
  }
  membership.degrees = std::max(1.0, degrees);
  return membership;
}

// Growth returns how much faster e^s - 1, the relative variance of a lognormal value, grows than
// its log variance s: the derivative of the log of the former by the log of the latter.
double Growth(double log_variance) {
  return log_variance > 0.0 ? log_variance / -std::expm1(-log_variance) : 1.0;
}

// LogSpread is the relative variance of the total according to the logs; 0 if logs do not describe
// the values better. If values differ by factors rather than by amounts (lognormal), the interval
// of their sum extends further away from 0 than toward 0.
struct LogSpread {
  double variance = 0.0;
  double squared = 0.0;  // see DegreesOf
};

// SummedLogs contains the sums over all kernels, and the log variance of each kernel after it
// borrows from the others.
struct SummedLogs {
  double degrees = 0.0;
  double variance = 0.0;
  double log_variance = 0.0;
  double gain = 0.0;  // increase of the log likelihood from taking logs
  std::vector<double> logs;
};

SummedLogs SumLogs(std::span<const KernelSpread> by_kernel, double prior_degrees) {
  // Maximum log variance: one standard deviation is a factor of e^4, beyond which estimates are
  // useless.
  constexpr double kMax = 16.0;
  SummedLogs all;
  for (const KernelSpread& kernel : by_kernel) {
    if (kernel.apart) continue;
    all.degrees += kernel.degrees;
    all.variance += kernel.variance;
    all.log_variance += kernel.log_variance;
  }
  const auto moderated = [&](double own, double own_degrees, double lent) {
    const double weight = own_degrees + prior_degrees;
    return weight > 0.0 ? (own + prior_degrees * lent) / weight : lent;
  };
  for (const KernelSpread& kernel : by_kernel) {
    if (kernel.apart) {
      all.logs.push_back(std::min(kMax, kernel.log_variance / kernel.degrees));
      continue;
    }
    const double variance = moderated(kernel.variance, kernel.degrees, kernel.lent_variance);
    all.logs.push_back(
        std::min(kMax, moderated(kernel.log_variance, kernel.degrees, kernel.lent_log_variance)));
    if (variance > 0.0 && all.logs.back() > 0.0) {
      all.gain += kernel.degrees * std::log(variance / all.logs.back());
    }
  }
  return all;
}

// Returns the sum of part^2 / (degrees of part + 2) for the variance of the total, `variances` by
// kernel. Treats the variance of each kernel as its own estimate, which is close enough if most
// kernels have degrees of freedom.
double SquaredSeparately(std::span<const KernelSpread> by_kernel, const SummedLogs& all,
                         std::span<const double> variances, double prior_degrees) {
  double squared = 0.0;
  for (std::size_t i = 0; i < by_kernel.size(); ++i) {
    double own = all.degrees;
    if (by_kernel[i].apart) {
      own = by_kernel[i].degrees;
    } else if (by_kernel[i].degrees > 0.0) {
      own = std::min(all.degrees, by_kernel[i].degrees + prior_degrees);
    }
    squared += variances[i] * variances[i] / (own + 2.0);
  }
  return squared;
}

// Like SquaredSeparately, for kernels of which many borrow from a few: a kernel contributes to its
// own variance and to the variances that borrow from it.
double SquaredTogether(std::span<const KernelSpread> by_kernel, const SummedLogs& all,
                       std::span<const double> variances, double prior_degrees) {
  if (!(all.log_variance > 0.0)) return 0.0;
  std::vector<double> own;
  double borrowed = 0.0;
  double growth = 0.0;
  double sum = 0.0;
  for (std::size_t i = 0; i < by_kernel.size(); ++i) {
    const double lent = prior_degrees * all.log_variance / all.degrees;
    double share = 1.0;
    if (by_kernel[i].apart) {
      share = 0.0;
    } else if (by_kernel[i].degrees > 0.0) {
      share = lent / (by_kernel[i].log_variance + lent);
    }
    own.push_back(variances[i] * (1.0 - share));
    borrowed += variances[i] * share;
    growth += variances[i] * Growth(all.logs[i]);
    sum += variances[i];
  }
  if (!(sum > 0.0)) return 0.0;
  growth /= sum;
  double squared = 0.0;
  for (std::size_t i = 0; i < by_kernel.size(); ++i) {
    const double lends = by_kernel[i].apart ? 0.0 : by_kernel[i].log_variance / all.log_variance;
    const double part = own[i] + borrowed * lends;
    squared += part * part / (by_kernel[i].degrees / (growth * growth) + 2.0);
  }
  return squared;
}

// `collapsed` is the share of the degrees of freedom that come from clusters with one sample each.
// These are too few to show that values do not differ by factors.
LogSpread LogSpreadOf(std::span<const ObservedCluster> clusters, std::span<const Part> parts,
                      std::span<const KernelSpread> by_kernel, double prior_degrees,
                      double collapsed, bool one_sign) {
  const SummedLogs all = SumLogs(by_kernel, prior_degrees);
  const bool prefer_logs = collapsed > 0.5 && one_sign;
  if (!(all.degrees > 0.0) || !(all.gain > 0.0 || prefer_logs)) return {};
  double total = 0.0;
  std::size_t k = 0;
  for (std::size_t h = 0; h < clusters.size(); ++h) {
    if (h > 0 && clusters[h].kernel != clusters[h - 1].kernel) ++k;
    if (clusters[h].seen.empty()) continue;
    total += clusters[h].count * clusters[h].share * parts[h].scale * std::exp(all.logs[k] / 2.0);
  }
  LogSpread spread;
  std::vector<double> variances;
  for (std::size_t i = 0; i < by_kernel.size(); ++i) {
    variances.push_back(by_kernel[i].wanted * std::exp(all.logs[i]) * std::expm1(all.logs[i]) /
                        (total * total));
    spread.variance += variances.back();
  }
  spread.squared = collapsed > 0.0 ? SquaredTogether(by_kernel, all, variances, prior_degrees)
                                   : SquaredSeparately(by_kernel, all, variances, prior_degrees);
  return spread;
}

// Returns the share of the degrees of freedom that come from clusters with one sample each.
double CollapsedShare(std::span<const Spread> spreads) {
  double collapsed = 0.0;
  double degrees = 0.0;
  for (const Spread& spread : spreads) {
    degrees += spread.degrees;
    if (spread.collapsed) collapsed += spread.degrees;
  }
  return degrees > 0.0 ? collapsed / degrees : 0.0;
}

// Returns the distance from 0 of the interval's end on the side of the tail, for lognormal values.
// `known`: variance of the total from other sources. `max_skew` limits the skew, which few samples
// do not determine.
double FarEnd(double size, double half_width, double known, const LogSpread& spread,
              double confidence, double max_skew) {
  const double relative = spread.variance + known / (size * size);
  const double log_variance = std::log1p(relative);
  const double degrees = DegreesOf(relative, spread.squared, 1.0);
  const double reach = StudentQuantile(confidence, degrees) * std::sqrt(log_variance);
  return std::min(size * std::exp(log_variance / 2.0 + reach), size + max_skew * half_width);
}

// Returns the variance of the total due to the spread of values; NaN if a spread is needed and no
// samples show one.
Estimated SpreadOfTotal(std::span<const Spread> spreads, std::span<const KernelSpread> by_kernel,
                        double prior_degrees) {
  double all_degrees = 0.0;
  double all_borrowed = 0.0;
  std::vector<double> borrowed(spreads.size(), 0.0);  // coefficients of what other kernels borrow
  for (const KernelSpread& kernel : by_kernel) {
    if (kernel.apart) continue;
    all_degrees += kernel.degrees;
    const double share =
        kernel.degrees > 0.0 ? prior_degrees / (prior_degrees + kernel.degrees) : 1.0;
    all_borrowed += kernel.wanted * share;
    if (!(kernel.lent_degrees > 0.0)) continue;
    const double wanted = kernel.wanted * share / kernel.lent_degrees;
    for (std::size_t i = 0; i < spreads.size(); ++i) {
      borrowed[i] += wanted * LentDegrees(spreads[i], kernel);
    }
  }
  if (all_borrowed > 0.0 && all_degrees == 0.0) return {kNaN, 0.0};
  double variance = 0.0;
  double squared = 0.0;
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    const Spread& spread = spreads[i];
    const KernelSpread& kernel = by_kernel[spread.kernel];
    if (kernel.apart) continue;
    const double coefficient =
        kernel.wanted * spread.degrees / (kernel.degrees + prior_degrees) + borrowed[i];
    const double part = coefficient * spread.variance;
    variance += part;
    squared += part * part / (spread.degrees + 2.0);
  }
  if (!(variance > 0.0)) return {};
  // Satterthwaite's degrees exceed the sum of all degrees if the spreads agree by chance.
  return {variance,
          std::min(DegreesOf(variance, squared, std::min(1.0, all_degrees)), all_degrees)};
}

// Returns the variance of the total due to the values of pools.
Estimated PooledOfTotal(std::span<const Spread> spreads, std::span<const KernelSpread> by_kernel) {
  double variance = 0.0;
  double squared = 0.0;
  double degrees = 0.0;
  for (const Spread& spread : spreads) {
    const KernelSpread& kernel = by_kernel[spread.kernel];
    if (!kernel.apart) continue;
    const double part = kernel.wanted * spread.degrees / kernel.degrees * spread.variance;
    variance += part;
    squared += part * part / (spread.degrees + 2.0);
    degrees += spread.degrees;
  }
  if (!(variance > 0.0)) return {};
  return {variance, std::min(DegreesOf(variance, squared, std::min(1.0, degrees)), degrees)};
}

}  // namespace

// The parts of the error are independent, and each has its own quantile (Banerjee 1960). A quantile
// for the degrees of their sum is too small if a spread with few degrees is small by chance.
Interval IntervalOf(std::span<const ObservedCluster> clusters, std::span<const Part> parts,
                    double total, double confidence, double prior_degrees, bool one_sign,
                    const TrendError& trend) {
  const std::vector<std::span<const ObservedCluster>> kernels = ByKernel(clusters);
  std::vector<Spread> spreads = SpreadsOf(kernels, parts);
  const SpreadTilt tilt = FitSpreadTilt(spreads);
  for (Spread& spread : spreads) {
    const double factor = tilt.FactorAt(spread.log_width);
    spread.variance /= factor;
    spread.log_variance /= factor;
  }
  const std::vector<KernelSpread> by_kernel =
      SpreadsByKernel(kernels.size(), spreads, DemandsOf(kernels, parts), tilt);

  const Estimated known = KnownOf(kernels, parts);
  const Estimated membership = MembershipOf(kernels, parts);
  const Estimated drift = {trend.variance, trend.degrees};
  const Estimated values = SpreadOfTotal(spreads, by_kernel, prior_degrees);
  if (std::isnan(values.variance)) return {kNaN, kNaN, 0.0};
  const Estimated pooled = PooledOfTotal(spreads, by_kernel);
  double center = total;
  for (const Part& part : parts) center -= part.bias;
  Interval interval;
  interval.degrees = values.degrees;
  const double half_width =
      std::sqrt(known.SquaredReach(confidence) + membership.SquaredReach(confidence) +
                drift.SquaredReach(confidence) + values.SquaredReach(confidence) +
                pooled.SquaredReach(confidence));
  interval.lower = center - half_width;
  interval.upper = center + half_width;
  // Maximum skew, and its increase for clusters with one sample each, whose spread is less certain.
  constexpr double kMaxSkew = 1.6;
  constexpr double kSinglesSkew = 0.5;
  const double collapsed = CollapsedShare(spreads);
  const LogSpread spread =
      LogSpreadOf(clusters, parts, by_kernel, prior_degrees, collapsed, one_sign);
  if (spread.variance > 0.0 && std::isfinite(spread.variance) && center != 0.0) {
    const double far =
        FarEnd(std::abs(center), half_width, known.variance + membership.variance + drift.variance,
               spread, confidence, kMaxSkew + kSinglesSkew * collapsed);
    if (center > 0.0) {
      interval.upper = std::max(interval.upper, far);
    } else {
      interval.lower = std::min(interval.lower, -far);
    }
  }
  return interval;
}

}  // namespace stemtap::analysis
