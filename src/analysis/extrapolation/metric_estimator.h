// SPDX-License-Identifier: Apache-2.0
//
// MetricEstimator estimates the metrics of the run, or of one of its kernels or ranges (domain.h),
// from the results of a plan's samples.
//
// UNITS: durations in ns, values in the metric's own unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/extrapolation/estimate.h"
#include "analysis/extrapolation/match.h"
#include "analysis/extrapolation/observed_cluster.h"
#include "formats/results/kernel_results.h"
#include "model/plan.h"

namespace stemtap::analysis {

// MetricEstimate is the estimate of one metric.
struct MetricEstimate {
  std::string name;
  std::string unit;
  std::string how;  // "sum", "gpu_sim_insn / gpu_sim_cycle", "mean over native time"
  bool additive = true;
  Estimate plain;
  Estimate calibrated;
  // Calibrated total per launch and per second of native time, in covered clusters. Additive
  // metrics only.
  Estimate per_launch;
  Estimate per_second;
  double planned = 0.0;       // with the plan's own weights; NaN unless all samples have the metric
  std::uint64_t samples = 0;  // samples that have the metric
  double uncovered_fraction = 0.0;  // share of native time in clusters without a value
  // Share of native time in joined launches of clusters that have a value. The values of joined
  // launches are estimated from other launches, and the interval does not cover the difference.
  double joined_fraction = 0.0;
};

// DomainChoice selects a kernel or a range. If neither is set, the domain is the whole run.
struct DomainChoice {
  std::optional<std::size_t> kernel;  // index in the plan
  std::optional<std::string> range;   // as in PlanSample
};

class MetricEstimator {
 public:
  // The arguments must outlive the estimator.
  MetricEstimator(const model::Plan& plan, const formats::KernelResults& results,
                  const Match& match, double confidence, DomainChoice domain = {})
      : plan_(plan),
        results_(results),
        match_(match),
        confidence_(confidence),
        domain_(std::move(domain)) {}

  // Return the estimate of a column of the results, according to its kind, or of a ratio of two
  // totals. REQUIRES: the columns exist.
  MetricEstimate Column(std::size_t column) const;
  MetricEstimate Ratio(const formats::ResultRatio& ratio) const;

  // Return the number of launches and the native time of the domain: exact, or estimated for a
  // range.
  double Launches() const;
  double NativeTime() const;

  // Returns the clusters of the plan; a sample has the value 1 if it has a result.
  std::vector<ObservedCluster> Matched() const;
  // Return the share of the domain's native time in clusters without a value, and in joined
  // launches of clusters with a value. NaN for a range.
  double Uncovered(std::span<const ObservedCluster> clusters) const;
  double Joined(std::span<const ObservedCluster> clusters) const;

 private:
  double Value(std::size_t row, std::size_t column) const;
  double Time() const;
  // Returns the clusters of the plan with the values of `value_of(row, sample)`; NaN: no value.
  template <typename ValueOf>
  std::vector<ObservedCluster> Observe(const ValueOf& value_of) const;
  MetricEstimate Sum(std::size_t column) const;
  MetricEstimate Mean(std::size_t column) const;
  // Estimates the quotient of two totals. `calibration`: of the calibrated estimate.
  MetricEstimate Quotient(std::span<const ObservedCluster> numerator,
                          std::span<const ObservedCluster> denominator,
                          Calibration calibration) const;
  // Sets the fields that do not depend on the kind of metric.
  void SetShares(std::span<const ObservedCluster> clusters, MetricEstimate& estimate) const;
  void SetRates(std::span<const ObservedCluster> clusters, MetricEstimate& estimate) const;
  double Planned(std::size_t column) const;

  const model::Plan& plan_;
  const formats::KernelResults& results_;
  const Match& match_;
  double confidence_;
  DomainChoice domain_;
};

}  // namespace stemtap::analysis
