// SPDX-License-Identifier: Apache-2.0
//
// PlanBuilder turns clusters and the invocations sampled from them into a Plan: weights, totals,
// the bounds and the error that is known. The last step of the two-pass plan and of the online
// sampler alike.
//
//   certified bound  the quantile of the error over all samples that the design could have drawn
//                    (CertifiedError; the bias of joined launches shifts it), plus the uncovered
//                    time, which counts in full
//   observed error   |plain estimate - true total| / true total, known exactly because every
//                    duration was seen
//   bound            the larger of the two: what the plan states
//
// SOURCE: docs/math/certificate.md, docs/math/weights.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/plan.h"
#include "sampling/certificate.h"
#include "sampling/sampling_options.h"
#include "sampling/stratum.h"

namespace stemtap {

struct SampledCluster {
  std::uint64_t lower_ns = 0;
  std::uint64_t upper_ns = 0;
  Moments moments;  // of all its invocations
  std::uint64_t target = 0;
  std::vector<PlanSample> samples;  // in launch order; weights are filled in by the builder
  std::vector<Moments> cells;       // of its durations, for the certificate; none: taken as normal
  // Launches that were joined to those that the samples were drawn from. `cells` are those of the
  // other launches alone; REQUIRES: they are given where launches are joined.
  std::uint64_t joined_launches = 0;
};

// ErrorSources collects what the error of a plan's estimate comes from: the strata that samples were
// drawn from, the bias of joined launches, and the time without a sample.
class ErrorSources {
 public:
  // Keeps a view of the cells of `cluster`, which must outlive this object.
  void Add(const PlanCluster& cluster);

  // As above; `drawn` are the launches that the samples were drawn from, exactly.
  void Add(const PlanCluster& cluster, const Stratum& drawn);

  // Fills in speedup, errors, shares and bounds, which follow from the clusters added and the rest
  // of `totals`.
  void Describe(double confidence, PlanTotals& totals) const;

 private:
  std::vector<SampledStratum> sampled_;
  double bias_ns_ = 0.0;
  double joined_ns_ = 0.0;
  double uncovered_ns_ = 0.0;
};

class PlanBuilder {
 public:
  explicit PlanBuilder(const SamplingOptions& options) : options_(options) {}

  // Kernels in order of first launch; clusters ascending, but for one set aside, last. `config` and
  // `process` where they are part of the kernel.
  void AddKernel(std::string name, std::uint64_t invocations, std::uint64_t duration_ns,
                 std::uint64_t zero_duration, std::vector<SampledCluster> clusters,
                 const shm::LaunchConfig& config = {}, std::int32_t process = 0);

  // Source, options and drops of the plan are the caller's to fill in. Call once.
  Plan Finish();

 private:
  SamplingOptions options_;
  Plan plan_;
  // Views the cells of plan_, whose storage stays in place when the clusters are moved.
  ErrorSources errors_;
};

}  // namespace stemtap
