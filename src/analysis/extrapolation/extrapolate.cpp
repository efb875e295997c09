// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/extrapolate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/text.h"
#include "sampling/weights.h"

namespace stemtap::analysis {
namespace {

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

// Returns the name of a kernel, with what distinguishes kernels of the same name.
std::string LabelOf(const model::PlanKernel& kernel) {
  std::string label = kernel.name;
  const auto& [grid, block] = std::pair(kernel.config.grid, kernel.config.block);
  if (grid[0] != shm::kUnknownExtent) {
    label += fmt::format(" grid {}x{}x{} block {}x{}x{}", grid[0], grid[1], grid[2], block[0],
                         block[1], block[2]);
  }
  if (kernel.process != 0) label += fmt::format(" process {}", kernel.process);
  return label;
}

class Extrapolator {
 public:
  Extrapolator(const model::Plan& plan, const formats::KernelResults& results, const Match& match,
               const ExtrapolateOptions& options)
      : plan_(plan), results_(results), match_(match), options_(options) {}

  Result<Extrapolation> Run();

 private:
  bool Has(const std::string& name) const {
    return std::any_of(results_.metrics.begin(), results_.metrics.end(),
                       [&](const formats::ResultMetric& metric) { return metric.name == name; });
  }
  bool IsRatio(const std::string& name) const {
    return std::any_of(ratios_.begin(), ratios_.end(),
                       [&](const formats::ResultRatio& ratio) { return ratio.name == name; });
  }
  bool Wanted(const std::string& name) const {
    return options_.metrics.empty() || std::find(options_.metrics.begin(), options_.metrics.end(),
                                                 name) != options_.metrics.end();
  }
  Error Lacks(const std::string& name) const;
  Status ChooseRatios();
  std::vector<MetricEstimate> Metrics(const MetricEstimator& estimator) const;
  MetricGroup Group(std::string name, DomainChoice domain) const;
  std::vector<MetricGroup> Groups() const;
  void CountClusters(const MetricEstimator& estimator, Extrapolation& extrapolation) const;

  const model::Plan& plan_;
  const formats::KernelResults& results_;
  const Match& match_;
  const ExtrapolateOptions& options_;
  std::vector<formats::ResultRatio> ratios_;
};

Error Extrapolator::Lacks(const std::string& name) const {
  std::vector<std::string> known;
  for (const formats::ResultMetric& metric : results_.metrics) known.push_back(metric.name);
  const std::string near(NearestName(name, known));
  return {fmt::format("the results have no metric '{}'{}", EscapeForTerminal(name),
                      near.empty() ? "" : ", did you mean '" + EscapeForTerminal(near) + "'?"),
          2};
}

// Collects the ratios of the source and of the options, and checks that all metrics exist.
Status Extrapolator::ChooseRatios() {
  for (const formats::ResultRatio& ratio : results_.ratios) {
    const bool renamed =
        std::any_of(options_.ratios.begin(), options_.ratios.end(),
                    [&](const formats::ResultRatio& own) { return own.name == ratio.name; });
    if (!renamed && Has(ratio.numerator) && Has(ratio.denominator)) ratios_.push_back(ratio);
  }
  for (const formats::ResultRatio& ratio : options_.ratios) {
    if (!Has(ratio.numerator)) return Lacks(ratio.numerator);
    if (!Has(ratio.denominator)) return Lacks(ratio.denominator);
    ratios_.push_back(ratio);
  }
  for (const std::string& name : options_.metrics) {
    if (!Has(name) && !IsRatio(name)) return Lacks(name);
  }
  return Success{};
}

std::vector<MetricEstimate> Extrapolator::Metrics(const MetricEstimator& estimator) const {
  std::vector<MetricEstimate> metrics;
  for (std::size_t i = 0; i < results_.metrics.size(); ++i) {
    const std::string& name = results_.metrics[i].name;
    // A ratio of totals replaces the metric of the same name.
    if (Wanted(name) && !IsRatio(name)) metrics.push_back(estimator.Column(i));
  }
  for (const formats::ResultRatio& ratio : ratios_) {
    if (Wanted(ratio.name)) metrics.push_back(estimator.Ratio(ratio));
  }
  return metrics;
}

MetricGroup Extrapolator::Group(std::string name, DomainChoice domain) const {
  const MetricEstimator estimator(plan_, results_, match_, options_.confidence, std::move(domain));
  MetricGroup group;
  group.name = std::move(name);
  group.launches = estimator.Launches();
  group.native_ns = estimator.NativeTime();
  const std::vector<ObservedCluster> matched = estimator.Matched();
  for (const ObservedCluster& cluster : matched) {
    for (const ObservedSample& sample : cluster.seen) group.samples += sample.in_domain;
  }
  group.uncovered_fraction = estimator.Uncovered(matched);
  group.metrics = Metrics(estimator);
  return group;
}

std::vector<MetricGroup> Extrapolator::Groups() const {
  std::vector<MetricGroup> groups;
  if (options_.by == GroupBy::kKernel) {
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
      groups.push_back(Group(LabelOf(plan_.kernels[k]), {.kernel = k, .range = {}}));
      groups.back().uncovered_by_choice = plan_.kernels[k].uncovered_by_choice;
    }
  }
  if (options_.by == GroupBy::kRange) {
    std::set<std::string> ranges;
    for (const model::PlanKernel& kernel : plan_.kernels) {
      for (const model::PlanCluster& cluster : kernel.clusters) {
        for (const model::PlanSample& sample : cluster.samples) ranges.insert(sample.range);
      }
    }
    for (const std::string& range : ranges) {
      groups.push_back(Group(range.empty() ? "(none)" : range, {.kernel = {}, .range = range}));
    }
  }
  return groups;
}

void Extrapolator::CountClusters(const MetricEstimator& estimator,
                                 Extrapolation& extrapolation) const {
  const std::vector<ObservedCluster> matched = estimator.Matched();
  extrapolation.uncovered_fraction = estimator.Uncovered(matched);
  extrapolation.joined_fraction = estimator.Joined(matched);
  extrapolation.clusters = matched.size();
  for (const ObservedCluster& cluster : matched) {
    extrapolation.uncovered_clusters += cluster.seen.empty() && cluster.count > 0.0;
    extrapolation.single_clusters += IsSingle(cluster);
  }
}

Result<Extrapolation> Extrapolator::Run() {
  STEMTAP_TRY(ChooseRatios());
  const MetricEstimator estimator(plan_, results_, match_, options_.confidence);
  Extrapolation extrapolation;
  extrapolation.metrics = Metrics(estimator);
  CountClusters(estimator, extrapolation);
  extrapolation.groups = Groups();
  extrapolation.own_weights = OwnWeights(plan_);
  return extrapolation;
}

}  // namespace

Result<Extrapolation> Extrapolate(const model::Plan& plan, const formats::KernelResults& results,
                                  const Match& match, const ExtrapolateOptions& options) {
  return Extrapolator(plan, results, match, options).Run();
}

}  // namespace stemtap::analysis
