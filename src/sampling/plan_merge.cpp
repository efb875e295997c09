// SPDX-License-Identifier: Apache-2.0
#include "sampling/plan_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "sampling/certificate.h"
#include "sampling/plan_builder.h"

namespace stemtap::sampling {
namespace {

// Returns all numbers of a cluster, so that only equal clusters tie.
auto ValueOf(const model::PlanCluster& c) {
  return std::make_tuple(c.mean_ns, c.lower_ns, c.upper_ns, c.count, c.stddev_ns, c.captured,
                         c.joined, c.joined_bias_ns, c.other_periods, c.other_periods_ns);
}

bool CellsLess(const model::PlanCluster& a, const model::PlanCluster& b) {
  return std::lexicographical_compare(a.cells.begin(), a.cells.end(), b.cells.begin(),
                                      b.cells.end(),
                                      [](const stats::Moments& x, const stats::Moments& y) {
                                        return std::make_tuple(x.count(), x.mean(), x.m2()) <
                                               std::make_tuple(y.count(), y.mean(), y.m2());
                                      });
}

bool ClusterLess(const model::PlanCluster* a, const model::PlanCluster* b) {
  const auto first = ValueOf(*a);
  const auto second = ValueOf(*b);
  return first != second ? first < second : CellsLess(*a, *b);
}

// Sums adds integers and records whether a sum overflowed.
class Sums {
 public:
  void Add(std::uint64_t more, std::uint64_t& sum) {
    overflown_ |= __builtin_add_overflow(sum, more, &sum);
  }
  bool overflown() const { return overflown_; }

 private:
  bool overflown_ = false;
};

void AddTotals(const model::PlanTotals& more, model::PlanTotals& totals, Sums& sums) {
  for (const auto member :
       {&model::PlanTotals::invocations, &model::PlanTotals::duration_ns,
        &model::PlanTotals::clusters, &model::PlanTotals::samples,
        &model::PlanTotals::sampled_duration_ns, &model::PlanTotals::spread_samples,
        &model::PlanTotals::dropped, &model::PlanTotals::gaps, &model::PlanTotals::zero_duration,
        &model::PlanTotals::graph_launches, &model::PlanTotals::excluded_invocations,
        &model::PlanTotals::excluded_duration_ns, &model::PlanTotals::imputed,
        &model::PlanTotals::imputed_duration_ns, &model::PlanTotals::native_unknown,
        &model::PlanTotals::unobserved_launches, &model::PlanTotals::unobserved_intervals}) {
    sums.Add(more.*member, totals.*member);
  }
}

// Sets the estimates and the bounds from the clusters of `plan`.
void SetEstimates(double confidence, model::Plan& plan) {
  std::vector<const model::PlanCluster*> clusters;
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) clusters.push_back(&cluster);
  }
  std::sort(clusters.begin(), clusters.end(), ClusterLess);
  model::PlanTotals& totals = plan.totals;
  ErrorSources errors;
  for (const model::PlanCluster* c : clusters) {
    errors.Add(*c);
    if (c->samples.empty()) continue;
    double sampled_ns = 0.0;
    for (const model::PlanSample& s : c->samples)
      sampled_ns += static_cast<double>(s.record.duration_ns);
    totals.plain_estimate_ns += PlainWeight(c->count, c->samples.size()) * sampled_ns;
    if (sampled_ns > 0.0) {
      totals.calibrated_estimate_ns += static_cast<double>(c->count) * c->mean_ns;
    }
  }
  errors.Describe(confidence, totals);
}

// Returns the time-weighted mean of the sessions' bounds, which holds even if all sessions err in
// the same direction. NaN if a session states no bound.
double JointBound(std::span<const model::PlanSession> sessions, double model::PlanSession::*bound) {
  std::vector<double> errors;
  double total = 0.0;
  for (const model::PlanSession& s : sessions) {
    if (std::isnan(s.*bound)) return s.*bound;
    const auto time = static_cast<double>(s.duration_ns);
    errors.push_back(s.*bound * time);
    total += time;
  }
  std::sort(errors.begin(), errors.end());  // makes the sum independent of the order of the plans
  double sum = 0.0;
  for (const double error : errors) sum += error;
  return total > 0.0 ? sum / total : 0.0;
}

// Sets the bounds of `plan`. REQUIRES: its totals contain the certificate over all clusters.
void SetBounds(bool error_known, model::Plan& plan) {
  model::PlanTotals& totals = plan.totals;
  if (!error_known) totals.observed_error = NAN;
  const double certified = JointBound(plan.sessions, &model::PlanSession::certified_bound);
  const double stated = JointBound(plan.sessions, &model::PlanSession::bound);
  if (plan.sessions.size() == 1 || std::isnan(certified)) {
    // A single session keeps its bounds.
    totals.certified_bound = certified;
    totals.bound = stated;
    return;
  }
  totals.certified_bound = std::max(totals.certified_bound, certified);
  model::StateBound(totals);
  // The observed errors of some sessions may exceed their certified bounds.
  if (!error_known) totals.bound = std::max(totals.bound, stated);
}

// Place is the first launch index and device number of the next session.
struct Place {
  std::uint64_t index = 0;
  std::uint64_t device = 0;
};

// Appends the sessions of `plan` to the sessions of `merged`.
Status AppendSessions(model::Plan& plan, Place& next, Sums& sums, model::Plan& merged) {
  for (model::PlanSession& session : plan.sessions) {
    session.first_index = next.index;
    session.first_device = static_cast<std::uint16_t>(next.device);
    sums.Add(session.launches, next.index);
    next.device += session.devices.size();
    if (next.device > shm::kUnknown16) {
      return Error{
          fmt::format("{} devices in all, expected at most {}", next.device, shm::kUnknown16)};
    }
    merged.sessions.push_back(std::move(session));
  }
  return Success{};
}

// Renumbers the samples of `kernel` for the merged plan. `before` is the number of launches of the
// kernel's name in earlier plans.
void MoveSamples(const Place& first, std::uint64_t before, model::PlanKernel& kernel) {
  for (model::PlanCluster& cluster : kernel.clusters) {
    cluster.mean_index += static_cast<double>(first.index);  // may be NaN
    for (model::PlanSample& sample : cluster.samples) {
      std::uint16_t& device = sample.record.device;
      sample.index += first.index;
      sample.occurrence += before;
      if (device != shm::kUnknown16) device = static_cast<std::uint16_t>(device + first.device);
    }
  }
}

// Kernels collects the kernels of the merged plan in order of arrival.
class Kernels {
 public:
  explicit Kernels(std::vector<model::PlanKernel>& kernels) : kernels_(kernels) {}

  void Add(model::PlanKernel kernel) {
    const auto found = kernel.spans_sessions() ? place_.find(kernel) : place_.end();
    if (found == place_.end()) {
      if (kernel.spans_sessions()) place_.emplace(kernel, kernels_.size());
      kernels_.push_back(std::move(kernel));
      joined_.push_back(false);
      return;
    }
    model::PlanKernel& into = kernels_[found->second];
    into.invocations += kernel.invocations;  // no overflow if the totals fit
    into.duration_ns += kernel.duration_ns;
    std::move(kernel.clusters.begin(), kernel.clusters.end(), std::back_inserter(into.clusters));
    joined_[found->second] = true;
  }

  // Sorts the clusters of kernels that come from several sessions.
  void SortClusters() {
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      if (!joined_[k]) continue;
      std::sort(kernels_[k].clusters.begin(), kernels_[k].clusters.end(),
                [](const model::PlanCluster& a, const model::PlanCluster& b) {
                  return ClusterLess(&a, &b);
                });
    }
  }

 private:
  std::vector<model::PlanKernel>& kernels_;
  std::vector<bool> joined_;
  std::unordered_map<model::KernelId, std::size_t, model::KernelIdHash> place_;
};

}  // namespace

Result<model::Plan> MergePlans(std::vector<model::Plan> plans, double confidence) {
  model::Plan merged;
  Sums sums;
  Kernels kernels(merged.kernels);
  Place next;
  std::map<std::string, std::uint64_t> launches;  // by kernel name, in earlier plans
  bool error_known = true;
  std::map<std::string, double> certified_ns;  // sum of the certified errors, by range
  for (model::Plan& plan : plans) {
    const Place first = next;
    for (const model::PlanRange& range : plan.ranges) {
      certified_ns[range.range] += range.certified_bound * static_cast<double>(range.duration_ns);
    }
    AddTotals(plan.totals, merged.totals, sums);
    error_known = error_known && !std::isnan(plan.totals.observed_error);
    STEMTAP_TRY(AppendSessions(plan, next, sums, merged));
    std::map<std::string, std::uint64_t> here;
    for (model::PlanKernel& kernel : plan.kernels) {
      const bool of_process = !kernel.spans_sessions();  // occurrences are counted per process
      MoveSamples(first, of_process ? 0 : launches[kernel.name], kernel);
      if (!of_process) here[kernel.name] += kernel.invocations;
      kernels.Add(std::move(kernel));
    }
    for (const auto& [name, count] : here) launches[name] += count;
  }
  if (sums.overflown()) {
    return Error{"the sums over all sessions do not fit 64 bits, expected real sessions"};
  }
  kernels.SortClusters();
  merged.totals.kernels = merged.kernels.size();
  SetEstimates(confidence, merged);
  SetBounds(error_known, merged);
  merged.ranges = DescribeRanges(merged, confidence);
  for (model::PlanRange& range : merged.ranges) {
    // As for the total (JointBound): holds even if all sessions err in the same direction.
    if (range.duration_ns == 0) continue;
    const double joint = certified_ns[range.range] / static_cast<double>(range.duration_ns);
    if (!(range.certified_bound >= joint)) range.certified_bound = joint;
    if (!(range.bound >= range.certified_bound)) range.bound = range.certified_bound;
  }
  return merged;
}

}  // namespace stemtap::sampling
