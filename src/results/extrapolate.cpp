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

// A variance estimated from squares, and what one unit of it adds to the variance of the total.
struct Spread {
  double variance = 0.0;
  double degrees = 0.0;
  double in_own = 0.0;  // coefficient in the total's variance
  double unit_ns2 =
      1.0;  // variance / unit_ns2 is per squared ns of duration: comparable in a kernel
};

// A cluster as the variance sees it.
struct ClusterTerms {
  double factor = 0.0;     // variance of the total's part by variance of one value
  double unit_ns2 = 1.0;   // squared scale of durations
  double from_pool = 0.0;  // share of its variance that is the kernel's pooled one
  double known = 0.0;      // addend that is not estimated from squares
};

// The pooled spread of one kernel: sum degrees * variance / unit / sum degrees.
struct Pool {
  std::vector<Spread> spreads;
  double degrees = 0.0;
  double scale = 0.0;   // size of the metric by duration, over the kernel
  double wanted = 0.0;  // coefficient of the pooled variance in the total's variance
};

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

// Value by duration in the cluster's sample; 0 where durations are 0.
double RatioOf(const ObservedCluster& cluster) {
  const double duration = MeanOf(cluster.seen, &Observation::duration_ns);
  return duration > 0.0 ? MeanOf(cluster.seen, &Observation::value) / duration : 0.0;
}

double UnitOf(const ObservedCluster& cluster) {
  return cluster.mean_ns > 0.0 ? cluster.mean_ns * cluster.mean_ns : 1.0;
}

// Sum of the squared residuals: from the mean, or from the line through the origin.
double Squares(const ObservedCluster& cluster, bool ratio) {
  const double slope = ratio ? RatioOf(cluster) : 0.0;
  const bool through_origin = ratio && MeanOf(cluster.seen, &Observation::duration_ns) > 0.0;
  const double mean = MeanOf(cluster.seen, &Observation::value);
  double sum = 0.0;
  for (const Observation& s : cluster.seen) {
    const double residual = s.value - (through_origin ? slope * s.duration_ns : mean);
    sum += residual * residual;
  }
  return sum;
}

ClusterTerms TermsOf(const ObservedCluster& cluster, Weights weights, double prior_degrees) {
  const auto n = static_cast<double>(cluster.seen.size());
  ClusterTerms terms;
  terms.unit_ns2 = UnitOf(cluster);
  const double weight = WeightOf(cluster, weights);
  // (N/n g)^2 n (1 - n/N): of a sum of n values drawn without replacement.
  terms.factor = weight * weight * n * std::max(0.0, 1.0 - n / cluster.count);
  terms.from_pool = prior_degrees / (prior_degrees + n - 1.0);
  if (n < 2.0) terms.from_pool = 1.0;
  if (weights == Weights::kPlain && terms.from_pool > 0.0) {
    // What is pooled is the spread around the line; what durations add to it is known.
    const double slope = RatioOf(cluster);
    const double count = cluster.count;
    const double duration_variance =
        count > 1.0 ? cluster.stddev_ns * cluster.stddev_ns * count / (count - 1.0) : 0.0;
    terms.known = terms.factor * terms.from_pool * slope * slope * duration_variance;
  }
  return terms;
}

// Clusters of one sample each say nothing about their own spread. Neighbours in twos (the last
// three) are taken for one: how their ratios to duration differ bounds it from above.
std::vector<Spread> Collapsed(const std::vector<const ObservedCluster*>& clusters) {
  std::vector<Spread> spreads;
  for (std::size_t begin = 0; begin + 1 < clusters.size();) {
    const std::size_t size = clusters.size() - begin == 3 ? 3 : 2;
    double mean = 0.0;
    for (std::size_t i = 0; i < size; ++i) mean += RatioOf(*clusters[begin + i]);
    mean /= static_cast<double>(size);
    double squares = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
      const double rest = RatioOf(*clusters[begin + i]) - mean;
      squares += rest * rest;
    }
    const double degrees = static_cast<double>(size) - 1.0;
    spreads.push_back({squares / degrees, degrees, 0.0, 1.0});
    begin += size;
  }
  return spreads;
}

}  // namespace

Estimate EstimateTotal(std::span<const ObservedCluster> clusters, Weights weights,
                       double confidence, double prior_degrees) {
  Estimate estimate;
  std::vector<Pool> pools;
  std::vector<std::vector<const ObservedCluster*>> single;  // by kernel: clusters of one sample
  std::vector<double> time;
  double known = 0.0;
  for (const ObservedCluster& cluster : clusters) {
    if (cluster.seen.empty()) continue;
    if (pools.size() <= cluster.kernel) {
      pools.resize(cluster.kernel + 1);
      single.resize(cluster.kernel + 1);
      time.resize(cluster.kernel + 1);
    }
    Pool& pool = pools[cluster.kernel];
    double sum = 0.0;
    for (const Observation& s : cluster.seen) sum += s.value;
    estimate.value += WeightOf(cluster, weights) * sum;
    pool.scale += cluster.count * MeanOf(cluster.seen, &Observation::scale);
    time[cluster.kernel] += cluster.count * cluster.mean_ns;

    const ClusterTerms terms = TermsOf(cluster, weights, prior_degrees);
    pool.wanted += terms.factor * terms.from_pool * terms.unit_ns2;
    known += terms.known;
    if (cluster.seen.size() < 2) {
      if (cluster.mean_ns > 0.0) single[cluster.kernel].push_back(&cluster);
      continue;
    }
    const double degrees = static_cast<double>(cluster.seen.size()) - 1.0;
    pool.degrees += degrees;
    pool.spreads.push_back({Squares(cluster, weights == Weights::kCalibrated) / degrees, degrees,
                            terms.factor * (1.0 - terms.from_pool), terms.unit_ns2});
    // The plain estimate's own spread holds that of durations; what is pooled must not.
    if (weights == Weights::kPlain) {
      pool.spreads.push_back({Squares(cluster, true) / degrees, degrees, 0.0, terms.unit_ns2});
    }
  }

  // Which spreads a kernel's pool is made of: in plain estimates, every second.
  const auto pooled = [&](std::size_t i) { return weights == Weights::kCalibrated || i % 2 == 1; };
  double all_degrees = 0.0;
  double all_wanted = 0.0;
  for (std::size_t k = 0; k < pools.size(); ++k) {
    Pool& pool = pools[k];
    pool.scale = time[k] > 0.0 ? pool.scale / time[k] : 0.0;
    if (pool.degrees == 0.0) {
      // In plain estimates the pool looks at odd places.
      for (const Spread& spread : Collapsed(single[k])) {
        if (weights == Weights::kPlain) pool.spreads.push_back({});
        pool.spreads.push_back(spread);
        pool.degrees += spread.degrees;
      }
    }
    if (pool.scale > 0.0) all_degrees += pool.degrees;
    if (pool.degrees == 0.0) all_wanted += pool.wanted * pool.scale * pool.scale;
  }
  if (all_wanted > 0.0 && all_degrees == 0.0) {
    estimate.half_width = kNaN;
    estimate.degrees = 0.0;
    return estimate;
  }

  double variance = known;
  double squared = 0.0;  // sum (c v)^2 / (degrees + 2)
  double most_degrees = 0.0;
  for (const Pool& pool : pools) {
    for (std::size_t i = 0; i < pool.spreads.size(); ++i) {
      const Spread& spread = pool.spreads[i];
      double coefficient = spread.in_own;
      if (pooled(i)) {
        coefficient += pool.wanted / pool.degrees * spread.degrees / spread.unit_ns2;
        if (pool.scale > 0.0 && all_wanted > 0.0) {
          coefficient += all_wanted / all_degrees * spread.degrees /
                         (spread.unit_ns2 * pool.scale * pool.scale);
        }
      }
      const double part = coefficient * spread.variance;
      if (!(part > 0.0)) continue;
      variance += part;
      squared += part * part / (spread.degrees + 2.0);
      most_degrees += spread.degrees;
    }
  }
  if (!(squared > 0.0)) {
    estimate.degrees = kInfinity;
    estimate.half_width = StudentQuantile(confidence, kInfinity) * std::sqrt(variance);
    return estimate;
  }
  // Satterthwaite's degrees of freedom; the 2 makes up for the variances being estimated (Welch).
  estimate.degrees =
      std::clamp(variance * variance / squared - 2.0, 1.0, known > 0.0 ? kInfinity : most_degrees);
  estimate.half_width = StudentQuantile(confidence, estimate.degrees) * std::sqrt(variance);
  return estimate;
}

Estimate EstimateRatio(std::span<const ObservedCluster> numerator,
                       std::span<const ObservedCluster> denominator, Weights weights,
                       double confidence, double prior_degrees) {
  const double top = EstimateTotal(numerator, weights, confidence).value;
  const double bottom = EstimateTotal(denominator, weights, confidence).value;
  if (!(std::abs(bottom) > 0.0)) return {kNaN, kNaN, 0.0};
  const double ratio = top / bottom;
  // Linearised: the ratio's error is that of the total of  numerator - ratio * denominator, by the
  // denominator.
  std::vector<ObservedCluster> rests(numerator.begin(), numerator.end());
  for (std::size_t h = 0; h < rests.size(); ++h) {
    for (std::size_t i = 0; i < rests[h].seen.size(); ++i) {
      Observation& rest = rests[h].seen[i];
      const double expected = ratio * denominator[h].seen[i].value;
      rest.scale = std::max(std::abs(rest.value), std::abs(expected));
      rest.value -= expected;
    }
  }
  Estimate estimate = EstimateTotal(rests, weights, confidence, prior_degrees);
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
        cluster.seen.push_back(
            {static_cast<double>(planned.samples[s].record.duration_ns), value, std::abs(value)});
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
