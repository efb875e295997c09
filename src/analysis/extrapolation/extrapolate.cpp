// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/extrapolate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.h"

namespace stemtap::analysis {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Returns the clusters of the plan with the values of `value_of(row, sample)`; NaN means no value.
template <typename ValueOf>
std::vector<ObservedCluster> Observe(const model::Plan& plan, const Match& match,
                                     const ValueOf& value_of) {
  std::vector<ObservedCluster> clusters;
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    for (std::size_t c = 0; c < plan.kernels[k].clusters.size(); ++c) {
      const model::PlanCluster& planned = plan.kernels[k].clusters[c];
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

// Returns the share of native time that no sample with a value represents.
double Uncovered(const model::Plan& plan, std::span<const ObservedCluster> clusters) {
  const auto total = static_cast<double>(plan.totals.duration_ns);
  if (!(total > 0.0)) return 0.0;
  double uncovered = 0.0;
  double in_clusters = 0.0;
  for (const ObservedCluster& cluster : clusters) {
    in_clusters += cluster.count * cluster.mean_ns;
    if (cluster.seen.empty()) uncovered += cluster.count * cluster.mean_ns;
  }
  // Time outside all clusters, except for rounding.
  const double outside = total - in_clusters;
  if (outside > 1e-9 * total) uncovered += outside;
  return std::min(1.0, uncovered / total);
}

// Returns the share of native time in joined launches of clusters that have a value.
double Joined(const model::Plan& plan, std::span<const ObservedCluster> clusters) {
  const auto total = static_cast<double>(plan.totals.duration_ns);
  if (!(total > 0.0)) return 0.0;
  double joined = 0.0;
  auto observed = clusters.begin();  // in the order of the plan's clusters
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      if (!observed->seen.empty()) joined += model::JoinedTime(cluster);
      ++observed;
    }
  }
  return std::clamp(joined / total, 0.0, 1.0);
}

bool Near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

// Returns whether the plan's weights are from another method than the sampler's.
bool OwnWeights(const model::Plan& plan) {
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      double sampled = 0.0;
      for (const model::PlanSample& s : cluster.samples) {
        sampled += static_cast<double>(s.record.duration_ns);
      }
      const std::uint64_t n = cluster.samples.size();
      const double plain = sampling::PlainWeight(cluster.count, n);
      const double calibrated = sampling::CalibratedWeight(
          cluster.count, cluster.mean_ns, n, n == 0 ? 0.0 : sampled / static_cast<double>(n));
      for (const model::PlanSample& s : cluster.samples) {
        if (!Near(s.weight, plain) && !Near(s.weight, calibrated)) return true;
      }
    }
  }
  return false;
}

class Extrapolator {
 public:
  Extrapolator(const model::Plan& plan, const formats::KernelResults& results, const Match& match,
               const ExtrapolateOptions& options)
      : plan_(plan), results_(results), match_(match), options_(options) {}

  Result<Extrapolation> Run();

 private:
  std::size_t ColumnOf(const std::string& name) const {
    const auto at =
        std::find_if(results_.metrics.begin(), results_.metrics.end(),
                     [&](const formats::ResultMetric& metric) { return metric.name == name; });
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
  MetricEstimate Ratio(const formats::ResultRatio& ratio) const;
  // Estimates the quotient of two totals.
  MetricEstimate Quotient(std::span<const ObservedCluster> numerator,
                          std::span<const ObservedCluster> denominator) const;

  const model::Plan& plan_;
  const formats::KernelResults& results_;
  const Match& match_;
  const ExtrapolateOptions& options_;
};

Error Extrapolator::Lacks(const std::string& name) const {
  std::vector<std::string> known;
  for (const formats::ResultMetric& metric : results_.metrics) known.push_back(metric.name);
  const std::string near(NearestName(name, known));
  return {fmt::format("the results have no metric '{}'{}", EscapeForTerminal(name),
                      near.empty() ? "" : ", did you mean '" + EscapeForTerminal(near) + "'?"),
          2};
}

MetricEstimate Extrapolator::Sum(std::size_t column) const {
  const auto clusters = Observe(
      plan_, match_, [&](std::size_t row, const model::PlanSample&) { return Value(row, column); });
  MetricEstimate estimate;
  estimate.how = "sum";
  estimate.plain = EstimateTotal(clusters, sampling::Weights::kPlain, options_.confidence);
  estimate.calibrated =
      EstimateTotal(clusters, sampling::Weights::kCalibrated, options_.confidence);
  estimate.samples = CountSeen(clusters);
  estimate.uncovered_fraction = Uncovered(plan_, clusters);
  estimate.joined_fraction = Joined(plan_, clusters);
  for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
    for (std::size_t c = 0; c < plan_.kernels[k].clusters.size(); ++c) {
      const std::vector<model::PlanSample>& samples = plan_.kernels[k].clusters[c].samples;
      for (std::size_t s = 0; s < samples.size(); ++s) {
        const std::size_t row = match_.rows[k][c][s];
        estimate.planned += samples[s].weight * (row == kNoResult ? kNaN : Value(row, column));
      }
    }
  }
  return estimate;
}

MetricEstimate Extrapolator::Quotient(std::span<const ObservedCluster> numerator,
                                      std::span<const ObservedCluster> denominator) const {
  MetricEstimate estimate;
  estimate.additive = false;
  estimate.plain =
      EstimateRatio(numerator, denominator, sampling::Weights::kPlain, options_.confidence);
  estimate.calibrated =
      EstimateRatio(numerator, denominator, sampling::Weights::kCalibrated, options_.confidence);
  estimate.planned = kNaN;
  estimate.samples = CountSeen(numerator);
  estimate.uncovered_fraction = Uncovered(plan_, numerator);
  estimate.joined_fraction = Joined(plan_, numerator);
  return estimate;
}

MetricEstimate Extrapolator::Ratio(const formats::ResultRatio& ratio) const {
  const std::size_t top = ColumnOf(ratio.numerator);
  const std::size_t bottom = ColumnOf(ratio.denominator);
  // Uses samples that have both metrics.
  const auto numerator = Observe(plan_, match_, [&](std::size_t row, const model::PlanSample&) {
    return Value(row, top) + 0.0 * Value(row, bottom);
  });
  const auto denominator = Observe(plan_, match_, [&](std::size_t row, const model::PlanSample&) {
    return Value(row, bottom) + 0.0 * Value(row, top);
  });
  MetricEstimate estimate = Quotient(numerator, denominator);
  estimate.name = ratio.name;
  estimate.how = ratio.numerator + " / " + ratio.denominator;
  return estimate;
}

MetricEstimate Extrapolator::Mean(std::size_t column) const {
  const auto duration = [](const model::PlanSample& s) {
    return static_cast<double>(s.record.duration_ns);
  };
  const auto numerator = Observe(plan_, match_, [&](std::size_t row, const model::PlanSample& s) {
    return Value(row, column) * duration(s);
  });
  const auto denominator = Observe(plan_, match_, [&](std::size_t row, const model::PlanSample& s) {
    return std::isfinite(Value(row, column)) ? duration(s) : kNaN;
  });
  MetricEstimate estimate = Quotient(numerator, denominator);
  estimate.how = "mean over native time";
  return estimate;
}

Result<Extrapolation> Extrapolator::Run() {
  std::vector<formats::ResultRatio> ratios;
  for (const formats::ResultRatio& ratio : results_.ratios) {
    const bool renamed =
        std::any_of(options_.ratios.begin(), options_.ratios.end(),
                    [&](const formats::ResultRatio& own) { return own.name == ratio.name; });
    if (!renamed && Has(ratio.numerator) && Has(ratio.denominator)) ratios.push_back(ratio);
  }
  for (const formats::ResultRatio& ratio : options_.ratios) {
    if (!Has(ratio.numerator)) return Lacks(ratio.numerator);
    if (!Has(ratio.denominator)) return Lacks(ratio.denominator);
    ratios.push_back(ratio);
  }
  const auto is_ratio = [&](const std::string& name) {
    return std::any_of(ratios.begin(), ratios.end(),
                       [&](const formats::ResultRatio& ratio) { return ratio.name == name; });
  };
  for (const std::string& name : options_.metrics) {
    if (!Has(name) && !is_ratio(name)) return Lacks(name);
  }
  Extrapolation extrapolation;
  for (std::size_t i = 0; i < results_.metrics.size(); ++i) {
    const formats::ResultMetric& metric = results_.metrics[i];
    // A ratio of totals replaces the metric of the same name.
    if (!Wanted(metric.name) || is_ratio(metric.name)) continue;
    MetricEstimate estimate = metric.kind == formats::MetricKind::kSum ? Sum(i) : Mean(i);
    estimate.name = metric.name;
    estimate.unit = metric.unit;
    extrapolation.metrics.push_back(std::move(estimate));
  }
  for (const formats::ResultRatio& ratio : ratios) {
    if (Wanted(ratio.name)) extrapolation.metrics.push_back(Ratio(ratio));
  }
  const auto any =
      Observe(plan_, match_, [](std::size_t, const model::PlanSample&) { return 0.0; });
  extrapolation.uncovered_fraction = Uncovered(plan_, any);
  extrapolation.joined_fraction = Joined(plan_, any);
  extrapolation.clusters = any.size();
  for (const ObservedCluster& cluster : any) {
    extrapolation.uncovered_clusters += cluster.seen.empty() && cluster.count > 0.0;
    extrapolation.single_clusters += cluster.seen.size() == 1 && cluster.count > 1.0;
  }
  extrapolation.own_weights = OwnWeights(plan_);
  return extrapolation;
}

}  // namespace

Result<Extrapolation> Extrapolate(const model::Plan& plan, const formats::KernelResults& results,
                                  const Match& match, const ExtrapolateOptions& options) {
  return Extrapolator(plan, results, match, options).Run();
}

}  // namespace stemtap::analysis
