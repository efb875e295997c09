// SPDX-License-Identifier: Apache-2.0
#include "sampling/plan_builder.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "sampling/certificate.h"

namespace stemtap::sampling {
namespace {

// Returns the stratum that the samples of `cluster` were drawn from.
Stratum DrawnStratum(const model::PlanCluster& cluster) {
  if (model::DrawnCount(cluster) == cluster.count) {
    return Stratum(cluster.count, cluster.mean_ns, cluster.stddev_ns * cluster.stddev_ns);
  }
  if (!cluster.cells.empty()) return Stratum(MomentsOf(cluster.cells));
  // The cluster is sampled completely and has no cells, so its spread does not matter.
  return Stratum(model::DrawnCount(cluster), model::DrawnMean(cluster), 0.0);
}

}  // namespace

void ErrorSources::Add(const model::PlanCluster& cluster) {
  Add(cluster, DrawnStratum(cluster));
}

void ErrorSources::Add(const model::PlanCluster& cluster, const Stratum& drawn) {
  if (cluster.samples.empty()) {
    uncovered_ns_ += static_cast<double>(cluster.count) * cluster.mean_ns;
    return;
  }
  // A stratum that is sampled completely has no sampling error.
  const std::uint64_t samples = cluster.samples.size();
  const bool repeats = cluster.independent != 0 && samples < drawn.count;
  sampled_.push_back({cluster.cells, drawn, repeats ? cluster.independent : samples,
                      cluster.count - model::DrawnCount(cluster)});
  bias_ns_ += cluster.joined_bias_ns;
  joined_ns_ += std::max(model::JoinedTime(cluster), 0.0);
}

void ErrorSources::Describe(double confidence, model::PlanTotals& totals) const {
  const auto total = static_cast<double>(totals.duration_ns);
  if (totals.sampled_duration_ns > 0) {
    totals.speedup = total / static_cast<double>(totals.sampled_duration_ns);
  }
  if (total > 0.0) {
    totals.uncovered_fraction = uncovered_ns_ / total;
    totals.joined_fraction = joined_ns_ / total;
    totals.observed_error = std::fabs(totals.plain_estimate_ns - total) / total;
    totals.certified_bound =
        (CertifiedError(sampled_, bias_ns_, confidence) + uncovered_ns_) / total;
    model::StateBound(totals);
  }
}

std::vector<model::PlanRange> DescribeRanges(const model::Plan& plan, double confidence) {
  struct Range {
    ErrorSources errors;
    model::PlanTotals totals;
  };
  std::map<std::string_view, Range> ranges;
  for (const model::PlanKernel& kernel : plan.kernels) {
    Range& range = ranges[kernel.range];
    range.totals.invocations += kernel.invocations;
    range.totals.duration_ns += kernel.duration_ns;
    for (const model::PlanCluster& cluster : kernel.clusters) {
      range.errors.Add(cluster);
      std::uint64_t sampled_ns = 0;
      for (const model::PlanSample& s : cluster.samples) sampled_ns += s.record.duration_ns;
      range.totals.samples += cluster.samples.size();
      range.totals.sampled_duration_ns += sampled_ns;
      range.totals.plain_estimate_ns +=
          PlainWeight(cluster.count, cluster.samples.size()) * static_cast<double>(sampled_ns);
    }
  }
  if (ranges.empty() || (ranges.size() == 1 && ranges.begin()->first.empty())) return {};
  std::vector<model::PlanRange> described;
  for (auto& [name, range] : ranges) {
    model::PlanTotals& t = range.totals;
    range.errors.Describe(confidence, t);
    if (std::isnan(plan.totals.observed_error)) {
      t.observed_error = NAN;
      model::StateBound(t);
    }
    if (std::isnan(plan.totals.bound)) t.bound = t.certified_bound = NAN;
    described.push_back({std::string(name), t.invocations, t.duration_ns, t.samples,
                         t.sampled_duration_ns, t.plain_estimate_ns, t.bound, t.certified_bound,
                         t.observed_error});
  }
  std::stable_sort(described.begin(), described.end(),
                   [](const model::PlanRange& a, const model::PlanRange& b) {
                     return a.duration_ns > b.duration_ns;
                   });
  return described;
}

void PlanBuilder::AddKernel(model::KernelId id, std::uint64_t invocations,
                            std::uint64_t duration_ns, std::uint64_t zero_duration,
                            std::vector<SampledCluster> clusters) {
  Add({std::move(id), invocations, duration_ns}, zero_duration, std::move(clusters));
}

void PlanBuilder::AddPool(std::vector<model::PooledKernel> pooled, std::uint64_t zero_duration,
                          std::vector<SampledCluster> clusters) {
  model::PlanKernel pool;
  pool.name = model::kPoolName;
  for (const model::PooledKernel& kernel : pooled) {
    pool.invocations += kernel.invocations;
    pool.duration_ns += kernel.duration_ns;
  }
  pool.pooled = std::move(pooled);
  Add(std::move(pool), zero_duration, std::move(clusters));
}

void PlanBuilder::Add(model::PlanKernel kernel, std::uint64_t zero_duration,
                      std::vector<SampledCluster> clusters) {
  model::PlanTotals& totals = plan_.totals;
  for (SampledCluster& cluster : clusters) {
    const stats::Moments& all = cluster.moments;
    std::uint64_t sampled_ns = 0;
    for (const model::PlanSample& s : cluster.samples) sampled_ns += s.record.duration_ns;
    const std::uint64_t captured = cluster.samples.size();
    const double plain = PlainWeight(all.count(), captured);
    double weight = plain;
    if (captured != 0) {
      const double captured_mean = static_cast<double>(sampled_ns) / static_cast<double>(captured);
      const double calibrated = CalibratedWeight(all.count(), all.mean(), captured, captured_mean);
      if (options_.weights == Weights::kCalibrated) weight = calibrated;
      totals.calibrated_estimate_ns += calibrated * static_cast<double>(sampled_ns);
    }
    for (model::PlanSample& s : cluster.samples) {
      s.weight = weight;
      if (s.range.empty()) s.range = kernel.range;
    }
    totals.plain_estimate_ns += plain * static_cast<double>(sampled_ns);
    totals.samples += captured;
    totals.sampled_duration_ns += sampled_ns;
    model::PlanCluster& planned = kernel.clusters.emplace_back();
    planned.lower_ns = cluster.lower_ns;
    planned.upper_ns = cluster.upper_ns;
    planned.count = all.count();
    planned.mean_ns = all.mean();
    planned.stddev_ns = all.stddev();
    planned.target = cluster.target;
    planned.captured = captured;
    Stratum drawn(all);
    planned.mean_index = cluster.mean_index;
    if (cluster.independent < captured) planned.independent = cluster.independent;
    // Without a sample, no launch represents others.
    if (captured != 0 && cluster.joined_launches + cluster.other_periods.count() != 0) {
      drawn = Stratum(MomentsOf(cluster.cells));
      planned.joined = cluster.joined_launches;
      planned.other_periods = cluster.other_periods.count();
      planned.other_periods_ns = cluster.other_periods.sum();
      planned.joined_bias_ns = static_cast<double>(all.count()) * (drawn.mean - all.mean());
    }
    planned.samples = std::move(cluster.samples);
    // A cluster needs cells only if it is sampled partially.
    if (captured != 0 && captured < model::DrawnCount(planned)) {
      planned.cells = std::move(cluster.cells);
    }
    errors_.Add(planned, drawn);
  }
  kernel.uncovered_by_choice =
      options_.max_uncovered > 0.0 &&
      std::all_of(kernel.clusters.begin(), kernel.clusters.end(),
                  [](const model::PlanCluster& c) { return c.target == 0; });
  totals.invocations += kernel.invocations;
  totals.duration_ns += kernel.duration_ns;
  totals.zero_duration += zero_duration;
  totals.clusters += kernel.clusters.size();
  totals.kernels += std::max<std::size_t>(kernel.pooled.size(), 1);
  plan_.kernels.push_back(std::move(kernel));
}

model::Plan PlanBuilder::Finish() {
  errors_.Describe(options_.confidence, plan_.totals);
  if (options_.selection == Selection::kFirst) {
    // The first launches are not a random sample: no bound can be stated.
    plan_.totals.bound = plan_.totals.certified_bound = NAN;
  }
  plan_.ranges = DescribeRanges(plan_, options_.confidence);
  return std::move(plan_);
}

}  // namespace stemtap::sampling
