// SPDX-License-Identifier: Apache-2.0
#include "results/extrapolate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.h"
#include "results/student.h"

namespace stemtap {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double MeanOf(const std::vector<Observation>& seen, double Observation::*what) {
  double sum = 0.0;
  for (const Observation& s : seen) sum += s.*what;
  return sum / static_cast<double>(seen.size());
}

double WeightOf(const ObservedCluster& cluster, Weights weights) {
  const double plain = cluster.count / static_cast<double>(cluster.seen.size());
  if (weights == Weights::kPlain) return plain;
  const double sampled = MeanOf(cluster.seen, &Observation::duration_ns);
  return sampled > 0.0 ? plain * (cluster.mean_ns / sampled) : plain;
}

double TotalOf(std::span<const ObservedCluster> clusters, Weights weights) {
  double total = 0.0;
  for (const ObservedCluster& cluster : clusters) {
    if (cluster.seen.empty()) continue;
    const double weight = WeightOf(cluster, weights);
    for (const Observation& s : cluster.seen) total += weight * s.value;
  }
  return total;
}

// How a metric goes with duration in one cluster: at the cluster's mean, and at that of its sample,
// which in a wide cluster lies elsewhere.
struct Trend {
  double ratio = 0.0;  // value by duration, at the cluster's mean
  double slope = 0.0;  // change of the value by that of the duration, there
  double scale = 0.0;  // size of a value, there; >= 0: what relative spread is relative to
  double seen_slope = 0.0;
  double seen_scale = 0.0;
};

// The power b of  value ~ duration^b  over a kernel's samples, by least squares of the logarithms;
// 1 where too little is known.
struct Power {
  double power = 1.0;
  double log_factor = 0.0;  // of the value at the mean of the logs
  double log_duration = 0.0;
};

Power PowerOf(std::span<const ObservedCluster> kernel) {
  // A power beyond these is the noise of few samples.
  constexpr double kLeast = -2.0;
  constexpr double kMost = 3.0;
  constexpr std::size_t kFewest = 4;
  // Values below this share of their mean, zeros among them, count as it.
  constexpr double kFloor = 0.01;
  double mean = 0.0;
  std::size_t n = 0;
  std::size_t degrees = 0;
  for (const ObservedCluster& cluster : kernel) {
    for (const Observation& s : cluster.seen) mean += std::abs(s.value);
    n += cluster.seen.size();
    if (!cluster.seen.empty()) degrees += cluster.seen.size() - 1;
  }
  Power fit;
  if (n == 0 || !(mean > 0.0)) {
    fit.log_factor = -kInfinity;
    return fit;
  }
  mean /= static_cast<double>(n);
  double sum_x = 0.0;
  double sum_y = 0.0;
  double sum_xx = 0.0;
  double sum_xy = 0.0;
  for (const ObservedCluster& cluster : kernel) {
    for (const Observation& s : cluster.seen) {
      const double x = std::log(std::max(s.duration_ns, 1.0));
      const double y = std::log(std::max(std::abs(s.value), kFloor * mean));
      sum_x += x;
      sum_y += y;
      sum_xx += x * x;
      sum_xy += x * y;
    }
  }
  const auto count = static_cast<double>(n);
  const double spread = sum_xx - sum_x * sum_x / count;
  fit.log_factor = sum_y / count;
  fit.log_duration = sum_x / count;
  // Single samples alone leave nothing to tell the trend from the spread by.
  if (n >= kFewest && degrees > 0 && spread > 1e-9 * count) {
    fit.power = std::clamp((sum_xy - sum_x * sum_y / count) / spread, kLeast, kMost);
  }
  return fit;
}

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

std::vector<Trend> TrendsOf(std::span<const ObservedCluster> clusters) {
  std::vector<Trend> trends;
  for (const std::span<const ObservedCluster> kernel : ByKernel(clusters)) {
    const Power fit = PowerOf(kernel);
    for (const ObservedCluster& cluster : kernel) {
      Trend& trend = trends.emplace_back();
      if (cluster.seen.empty()) continue;
      const double mean = std::max(cluster.mean_ns, 1.0);
      const double seen = std::max(MeanOf(cluster.seen, &Observation::duration_ns), 1.0);
      const double value = MeanOf(cluster.seen, &Observation::value);
      const auto scale = [&](double duration) {
        return std::exp(fit.log_factor + fit.power * (std::log(duration) - fit.log_duration));
      };
      trend.ratio = value * std::pow(mean / seen, fit.power) / mean;
      trend.slope = fit.power * trend.ratio;
      trend.scale = scale(mean);
      trend.seen_slope = fit.power * value / seen;
      trend.seen_scale = scale(seen);
    }
  }
  return trends;
}

// Relative variance found in one cluster, or between single samples of neighbouring ones.
struct Spread {
  double variance = 0.0;
  double degrees = 0.0;
  std::size_t kernel = 0;
};

// What is pooled over a kernel: sum degrees * variance / sum degrees.
struct Pool {
  double degrees = 0.0;
  double wanted = 0.0;  // coefficient of the pooled variance in the total's variance
};

// Sum of the squared residuals from the line of that slope through the cluster's means.
double Squares(const ObservedCluster& cluster, double slope) {
  const double value = MeanOf(cluster.seen, &Observation::value);
  const double duration = MeanOf(cluster.seen, &Observation::duration_ns);
  double sum = 0.0;
  for (const Observation& s : cluster.seen) {
    const double residual = s.value - value - slope * (s.duration_ns - duration);
    sum += residual * residual;
  }
  return sum;
}

// Clusters of one sample each say nothing about their own spread. Neighbours in twos (the last
// three) are taken for one: how their values differ by their scales bounds it from above.
void Collapse(std::span<const ObservedCluster> kernel, std::span<const Trend> trends,
              std::size_t number, std::vector<Spread>& spreads) {
  std::vector<double> relative;
  for (std::size_t h = 0; h < kernel.size(); ++h) {
    if (kernel[h].seen.size() != 1 || !(trends[h].seen_scale > 0.0)) continue;
    relative.push_back(kernel[h].seen.front().value / trends[h].seen_scale);
  }
  for (std::size_t begin = 0; begin + 1 < relative.size();) {
    const std::size_t size = relative.size() - begin == 3 ? 3 : 2;
    double mean = 0.0;
    for (std::size_t i = 0; i < size; ++i) mean += relative[begin + i];
    mean /= static_cast<double>(size);
    double squares = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
      squares += (relative[begin + i] - mean) * (relative[begin + i] - mean);
    }
    const double degrees = static_cast<double>(size) - 1.0;
    spreads.push_back({squares / degrees, degrees, number});
    begin += size;
  }
}

// Half-width and degrees of the interval around the total.
Estimate IntervalOf(std::span<const ObservedCluster> clusters, std::span<const Trend> trends,
                    Weights weights, double confidence, double prior_degrees) {
  std::vector<Pool> pools;
  std::vector<Spread> spreads;
  double variance = 0.0;  // first the part that durations leave, which is known
  std::size_t first = 0;
  for (const std::span<const ObservedCluster> kernel : ByKernel(clusters)) {
    const std::span<const Trend> kernel_trends = trends.subspan(first, kernel.size());
    first += kernel.size();
    Pool& pool = pools.emplace_back();
    const std::size_t begin = spreads.size();
    for (std::size_t h = 0; h < kernel.size(); ++h) {
      const ObservedCluster& cluster = kernel[h];
      const Trend& trend = kernel_trends[h];
      if (cluster.seen.empty()) continue;
      const auto n = static_cast<double>(cluster.seen.size());
      // Variance of the part of the total by that of one value, drawn without replacement.
      const double factor =
          cluster.count * cluster.count / n * std::max(0.0, 1.0 - n / cluster.count);
      const double slope = trend.slope - (weights == Weights::kCalibrated ? trend.ratio : 0.0);
      if (cluster.count > 1.0) {
        variance += factor * slope * slope * cluster.stddev_ns * cluster.stddev_ns * cluster.count /
                    (cluster.count - 1.0);
      }
      pool.wanted += factor * trend.scale * trend.scale;
      if (n < 2.0 || !(trend.seen_scale > 0.0)) continue;
      spreads.push_back(
          {Squares(cluster, trend.seen_slope) / (n - 1.0) / (trend.seen_scale * trend.seen_scale),
           n - 1.0, pools.size() - 1});
    }
    if (spreads.size() == begin) Collapse(kernel, kernel_trends, pools.size() - 1, spreads);
    for (std::size_t i = begin; i < spreads.size(); ++i) pool.degrees += spreads[i].degrees;
  }

  double all_degrees = 0.0;
  double all_wanted = 0.0;
  for (const Pool& pool : pools) {
    all_degrees += pool.degrees;
    const double borrowed =
        pool.degrees > 0.0 ? prior_degrees / (prior_degrees + pool.degrees) : 1.0;
    all_wanted += pool.wanted * borrowed;
  }
  if (all_wanted > 0.0 && all_degrees == 0.0) return {0.0, kNaN, 0.0};
  double squared = 0.0;  // sum (c v)^2 / (degrees + 2)
  double degrees = 0.0;
  for (const Spread& spread : spreads) {
    const Pool& pool = pools[spread.kernel];
    const double coefficient = pool.wanted * spread.degrees / (pool.degrees + prior_degrees) +
                               all_wanted * spread.degrees / all_degrees;
    const double part = coefficient * spread.variance;
    if (!(part > 0.0)) continue;
    variance += part;
    squared += part * part / (spread.degrees + 2.0);
    degrees += spread.degrees;
  }
  Estimate estimate;
  estimate.degrees = kInfinity;
  if (squared > 0.0) {
    // Satterthwaite's degrees of freedom; 2 make up for the variances being estimated (Welch).
    estimate.degrees = std::max(variance * variance / squared - 2.0, std::min(1.0, degrees));
  }
  estimate.half_width = StudentQuantile(confidence, estimate.degrees) * std::sqrt(variance);
  return estimate;
}

}  // namespace

Estimate EstimateTotal(std::span<const ObservedCluster> clusters, Weights weights,
                       double confidence, double prior_degrees) {
  Estimate estimate = IntervalOf(clusters, TrendsOf(clusters), weights, confidence, prior_degrees);
  estimate.value = TotalOf(clusters, weights);
  return estimate;
}

Estimate EstimateRatio(std::span<const ObservedCluster> numerator,
                       std::span<const ObservedCluster> denominator, Weights weights,
                       double confidence, double prior_degrees) {
  const double bottom = TotalOf(denominator, weights);
  if (!(std::abs(bottom) > 0.0)) return {kNaN, kNaN, 0.0};
  const double ratio = TotalOf(numerator, weights) / bottom;
  // Linearised: the ratio's error is that of the total of  numerator - ratio * denominator, by the
  // denominator.
  std::vector<ObservedCluster> rests(numerator.begin(), numerator.end());
  std::vector<Trend> trends = TrendsOf(numerator);
  const std::vector<Trend> below = TrendsOf(denominator);
  for (std::size_t h = 0; h < rests.size(); ++h) {
    for (std::size_t i = 0; i < rests[h].seen.size(); ++i) {
      rests[h].seen[i].value -= ratio * denominator[h].seen[i].value;
    }
    trends[h].ratio -= ratio * below[h].ratio;
    trends[h].slope -= ratio * below[h].slope;
    trends[h].seen_slope -= ratio * below[h].seen_slope;
    trends[h].scale = std::max(trends[h].scale, std::abs(ratio) * below[h].scale);
    trends[h].seen_scale = std::max(trends[h].seen_scale, std::abs(ratio) * below[h].seen_scale);
  }
  Estimate estimate = IntervalOf(rests, trends, weights, confidence, prior_degrees);
  estimate.value = ratio;
  estimate.half_width /= std::abs(bottom);
  return estimate;
}

namespace {

// The clusters of the plan with the values that `value_of(row, sample)` gives; NaN: none.
template <typename ValueOf>
std::vector<ObservedCluster> Observe(const Plan& plan, const Match& match,
                                     const ValueOf& value_of) {
  std::vector<ObservedCluster> clusters;
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    for (std::size_t c = 0; c < plan.kernels[k].clusters.size(); ++c) {
      const PlanCluster& planned = plan.kernels[k].clusters[c];
      ObservedCluster cluster{
          k, static_cast<double>(planned.count), planned.mean_ns, planned.stddev_ns, {}};
      for (std::size_t s = 0; s < planned.samples.size(); ++s) {
        const std::size_t row = match.rows[k][c][s];
        if (row == kNoResult) continue;
        const double value = value_of(row, planned.samples[s]);
        if (!std::isfinite(value)) continue;
        cluster.seen.push_back({static_cast<double>(planned.samples[s].record.duration_ns), value});
      }
      clusters.push_back(std::move(cluster));
    }
  }
  return clusters;
}

std::uint64_t CountSeen(std::span<const ObservedCluster> clusters) {
  std::uint64_t count = 0;
  for (const ObservedCluster& cluster : clusters) count += cluster.seen.size();
  return count;
}

// Share of native time that no sample with a value stands for.
double Uncovered(const Plan& plan, std::span<const ObservedCluster> clusters) {
  const auto total = static_cast<double>(plan.totals.duration_ns);
  if (!(total > 0.0)) return 0.0;
  double lost = 0.0;
  double held = 0.0;
  for (const ObservedCluster& cluster : clusters) {
    held += cluster.count * cluster.mean_ns;
    if (cluster.seen.empty()) lost += cluster.count * cluster.mean_ns;
  }
  // Time in no cluster at all, but for rounding.
  const double outside = total - held;
  if (outside > 1e-9 * total) lost += outside;
  return std::min(1.0, lost / total);
}

bool Near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

// Whether the plan's weights are those of another method than the sampler's.
bool OwnWeights(const Plan& plan) {
  for (const PlanKernel& kernel : plan.kernels) {
    for (const PlanCluster& cluster : kernel.clusters) {
      double sampled = 0.0;
      for (const PlanSample& s : cluster.samples) {
        sampled += static_cast<double>(s.record.duration_ns);
      }
      const std::uint64_t n = cluster.samples.size();
      const double plain = PlainWeight(cluster.count, n);
      const double calibrated = CalibratedWeight(cluster.count, cluster.mean_ns, n,
                                                 n == 0 ? 0.0 : sampled / static_cast<double>(n));
      for (const PlanSample& s : cluster.samples) {
        if (!Near(s.weight, plain) && !Near(s.weight, calibrated)) return true;
      }
    }
  }
  return false;
}

class Extrapolator {
 public:
  Extrapolator(const Plan& plan, const KernelResults& results, const Match& match,
               const ExtrapolateOptions& options)
      : plan_(plan), results_(results), match_(match), options_(options) {}

  Result<Extrapolation> Run();

 private:
  std::size_t ColumnOf(const std::string& name) const {
    const auto at = std::find_if(results_.metrics.begin(), results_.metrics.end(),
                                 [&](const ResultMetric& metric) { return metric.name == name; });
    return static_cast<std::size_t>(at - results_.metrics.begin());
  }
  bool Has(const std::string& name) const { return ColumnOf(name) < results_.metrics.size(); }
  double Value(std::size_t row, std::size_t column) const {
    const std::vector<double>& values = results_.rows[row].values;
    return column < values.size() ? values[column] : kNaN;
  }
  bool Wanted(const std::string& name) const {
    return options_.metrics.empty() || std::find(options_.metrics.begin(), options_.metrics.end(),
                                                 name) != options_.metrics.end();
  }
  Error Lacks(const std::string& name) const;
  MetricEstimate Sum(std::size_t column) const;
  MetricEstimate Mean(std::size_t column) const;
  MetricEstimate Ratio(const ResultRatio& ratio) const;

  const Plan& plan_;
  const KernelResults& results_;
  const Match& match_;
  const ExtrapolateOptions& options_;
};

Error Extrapolator::Lacks(const std::string& name) const {
  std::vector<std::string> known;
  for (const ResultMetric& metric : results_.metrics) known.push_back(metric.name);
  const std::string near(NearestName(name, known));
  return {fmt::format("the results have no metric '{}'{}", EscapeForTerminal(name),
                      near.empty() ? "" : ", did you mean '" + EscapeForTerminal(near) + "'?"),
          2};
}

MetricEstimate Extrapolator::Sum(std::size_t column) const {
  const auto clusters = Observe(
      plan_, match_, [&](std::size_t row, const PlanSample&) { return Value(row, column); });
  MetricEstimate estimate;
  estimate.how = "sum";
  estimate.plain = EstimateTotal(clusters, Weights::kPlain, options_.confidence);
  estimate.calibrated = EstimateTotal(clusters, Weights::kCalibrated, options_.confidence);
  estimate.samples = CountSeen(clusters);
  estimate.uncovered_fraction = Uncovered(plan_, clusters);
  for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
    for (std::size_t c = 0; c < plan_.kernels[k].clusters.size(); ++c) {
      const std::vector<PlanSample>& samples = plan_.kernels[k].clusters[c].samples;
      for (std::size_t s = 0; s < samples.size(); ++s) {
        const std::size_t row = match_.rows[k][c][s];
        estimate.planned += samples[s].weight * (row == kNoResult ? kNaN : Value(row, column));
      }
    }
  }
  return estimate;
}

MetricEstimate Extrapolator::Ratio(const ResultRatio& ratio) const {
  const std::size_t top = ColumnOf(ratio.numerator);
  const std::size_t bottom = ColumnOf(ratio.denominator);
  // A sample counts where it has both.
  const auto numerator = Observe(plan_, match_, [&](std::size_t row, const PlanSample&) {
    return Value(row, top) + 0.0 * Value(row, bottom);
  });
  const auto denominator = Observe(plan_, match_, [&](std::size_t row, const PlanSample&) {
    return Value(row, bottom) + 0.0 * Value(row, top);
  });
  MetricEstimate estimate;
  estimate.name = ratio.name;
  estimate.how = ratio.numerator + " / " + ratio.denominator;
  estimate.additive = false;
  estimate.plain = EstimateRatio(numerator, denominator, Weights::kPlain, options_.confidence);
  estimate.calibrated =
      EstimateRatio(numerator, denominator, Weights::kCalibrated, options_.confidence);
  estimate.planned = kNaN;
  estimate.samples = CountSeen(numerator);
  estimate.uncovered_fraction = Uncovered(plan_, numerator);
  return estimate;
}

MetricEstimate Extrapolator::Mean(std::size_t column) const {
  const auto duration = [](const PlanSample& s) {
    return static_cast<double>(s.record.duration_ns);
  };
  const auto numerator = Observe(plan_, match_, [&](std::size_t row, const PlanSample& s) {
    return Value(row, column) * duration(s);
  });
  const auto denominator = Observe(plan_, match_, [&](std::size_t row, const PlanSample& s) {
    return std::isfinite(Value(row, column)) ? duration(s) : kNaN;
  });
  MetricEstimate estimate;
  estimate.how = "mean over native time";
  estimate.additive = false;
  estimate.plain = EstimateRatio(numerator, denominator, Weights::kPlain, options_.confidence);
  estimate.calibrated =
      EstimateRatio(numerator, denominator, Weights::kCalibrated, options_.confidence);
  estimate.planned = kNaN;
  estimate.samples = CountSeen(numerator);
  estimate.uncovered_fraction = Uncovered(plan_, numerator);
  return estimate;
}

Result<Extrapolation> Extrapolator::Run() {
  std::vector<ResultRatio> ratios;
  for (const ResultRatio& ratio : results_.ratios) {
    const bool renamed =
        std::any_of(options_.ratios.begin(), options_.ratios.end(),
                    [&](const ResultRatio& own) { return own.name == ratio.name; });
    if (!renamed && Has(ratio.numerator) && Has(ratio.denominator)) ratios.push_back(ratio);
  }
  for (const ResultRatio& ratio : options_.ratios) {
    if (!Has(ratio.numerator)) return Lacks(ratio.numerator);
    if (!Has(ratio.denominator)) return Lacks(ratio.denominator);
    ratios.push_back(ratio);
  }
  const auto is_ratio = [&](const std::string& name) {
    return std::any_of(ratios.begin(), ratios.end(),
                       [&](const ResultRatio& ratio) { return ratio.name == name; });
  };
  for (const std::string& name : options_.metrics) {
    if (!Has(name) && !is_ratio(name)) return Lacks(name);
  }
  Extrapolation extrapolation;
  for (std::size_t i = 0; i < results_.metrics.size(); ++i) {
    const ResultMetric& metric = results_.metrics[i];
    // A ratio of totals stands in for the metric of that name.
    if (!Wanted(metric.name) || is_ratio(metric.name)) continue;
    MetricEstimate estimate = metric.kind == MetricKind::kSum ? Sum(i) : Mean(i);
    estimate.name = metric.name;
    estimate.unit = metric.unit;
    extrapolation.metrics.push_back(std::move(estimate));
  }
  for (const ResultRatio& ratio : ratios) {
    if (Wanted(ratio.name)) extrapolation.metrics.push_back(Ratio(ratio));
  }
  const auto any = Observe(plan_, match_, [](std::size_t, const PlanSample&) { return 0.0; });
  extrapolation.uncovered_fraction = Uncovered(plan_, any);
  extrapolation.clusters = any.size();
  for (const ObservedCluster& cluster : any) {
    extrapolation.uncovered_clusters += cluster.seen.empty() && cluster.count > 0.0;
    extrapolation.single_clusters += cluster.seen.size() == 1 && cluster.count > 1.0;
  }
  extrapolation.own_weights = OwnWeights(plan_);
  return extrapolation;
}

}  // namespace

Result<Extrapolation> Extrapolate(const Plan& plan, const KernelResults& results,
                                  const Match& match, const ExtrapolateOptions& options) {
  return Extrapolator(plan, results, match, options).Run();
}

}  // namespace stemtap
