// SPDX-License-Identifier: Apache-2.0
//
// PlanBuilder turns clusters and their samples into a Plan: it computes weights, totals, bounds,
// and the observed error. Both the two-pass plan and the online sampler end with it.
//
//   certified bound  quantile of the error over all samples that the design could have drawn
//                    (CertifiedError, shifted by the bias of joined launches), plus the uncovered
//                    time, which counts in full
//   observed error   |plain estimate - true total| / true total; exact, because every duration is
//                    known
//   bound            the larger of the two; the plan states it
//
// SOURCE: docs/math/certificate.md, docs/math/weights.md.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "model/plan.h"
#include "sampling/certificate.h"
#include "sampling/sampling_options.h"
#include "sampling/strata.h"

namespace stemtap::sampling {

struct SampledCluster {
  std::uint64_t lower_ns = 0;
  std::uint64_t upper_ns = 0;
  stats::Moments moments;  // of all launches of the cluster
  std::uint64_t target = 0;
  std::vector<model::PlanSample> samples;  // in launch order; the builder sets the weights
  std::vector<stats::Moments> cells;  // of its durations, for the certificate; if empty, normal
  // Launches that are represented by the samples but were not drawn from: with other durations, and
  // in other periods of the run. `cells` does not contain them. REQUIRES: if these are not 0,
  // `cells` is not empty.
  std::uint64_t joined_launches = 0;
  stats::Moments other_periods;
  double mean_index = std::numeric_limits<double>::quiet_NaN();  // as in PlanCluster
  std::uint64_t independent = 0;                                 // likewise
};

// ErrorSources collects the sources of a plan's estimation error: the strata that samples were
// drawn from, the bias of joined launches, and the uncovered time.
class ErrorSources {
 public:
  // Adds a cluster. Keeps a view of `cluster.cells`, which must outlive this object.
  void Add(const model::PlanCluster& cluster);

  // As above. `drawn` is the exact stratum that the samples were drawn from.
  void Add(const model::PlanCluster& cluster, const Stratum& drawn);

  // Sets the speedup, errors, fractions, and bounds of `totals` from the added clusters and the
  // other fields of `totals`.
  void Describe(double confidence, model::PlanTotals& totals) const;

 private:
  std::vector<SampledStratum> sampled_;
  double bias_ns_ = 0.0;
  double joined_ns_ = 0.0;
  double uncovered_ns_ = 0.0;
};

// Returns the totals and bounds of each range of `plan`, by time, descending; none if no kernel has
// a range. The bounds are NaN if the plan has none.
std::vector<model::PlanRange> DescribeRanges(const model::Plan& plan, double confidence);

class PlanBuilder {
 public:
  explicit PlanBuilder(const SamplingOptions& options) : options_(options) {}

  // Adds a kernel. REQUIRES: kernels are added in order of first launch; clusters are ascending,
  // except that the cluster of exploratory captures is last.
  void AddKernel(model::KernelId id, std::uint64_t invocations, std::uint64_t duration_ns,
                 std::uint64_t zero_duration, std::vector<SampledCluster> clusters);

  // Adds the pool of kernels that share `clusters`, whose samples refer to `pooled`.
  void AddPool(std::vector<model::PooledKernel> pooled, std::uint64_t zero_duration,
               std::vector<SampledCluster> clusters);

  // Returns the plan. The caller sets its source, options, and drop counts. Call once.
  model::Plan Finish();

 private:
  // Adds `kernel`, which has all fields but the clusters.
  void Add(model::PlanKernel kernel, std::uint64_t zero_duration,
           std::vector<SampledCluster> clusters);

  SamplingOptions options_;
  model::Plan plan_;
  // Refers to the cells of plan_; moving the clusters does not move their cells.
  ErrorSources errors_;
};

}  // namespace stemtap::sampling
