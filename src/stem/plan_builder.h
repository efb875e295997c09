// SPDX-License-Identifier: Apache-2.0
//
// PlanBuilder turns clusters and the invocations sampled from them into a Plan: weights, totals,
// the bound and the error that is known. The last step of the two-pass plan and of the online
// sampler alike.
//
//   bound           the certified bound over the clusters that have samples, plus the uncovered
//                   time: nothing is known of it to the estimate, so it counts in full
//   observed error  |plain estimate - true total| / true total, which is known exactly because
//                   every duration was seen
//
// SOURCE: docs/maths/certificate.md, docs/maths/weights.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stem/certificate.h"
#include "stem/sampling_options.h"
#include "trace/plan.h"

namespace stemtap {

struct SampledCluster {
  std::uint64_t lower_ns = 0;
  std::uint64_t upper_ns = 0;
  Moments moments;  // of all its invocations
  std::uint64_t target = 0;
  std::vector<PlanSample> samples;  // in launch order; weights are filled in by the builder
  std::vector<Moments> cells;       // of its durations, for the certificate; none: taken as normal
};

// Fills in what follows from the rest of `totals` and the clusters: `sampled` are those that have
// samples, `uncovered_ns` is the time of the others.
void SetError(std::span<const SampledStratum> sampled, double uncovered_ns, double confidence,
              PlanTotals& totals);

class PlanBuilder {
 public:
  explicit PlanBuilder(const SamplingOptions& options) : options_(options) {}

  // Kernels in order of first launch; clusters ascending, but for one set aside, last. `config` and
  // `process` where they are part of the kernel.
  void AddKernel(std::string name, std::uint64_t invocations, std::uint64_t duration_ns,
                 std::uint64_t zero_duration, std::vector<SampledCluster> clusters,
                 const wire::LaunchConfig& config = {}, std::int32_t process = 0);

  // Source, options and drops of the plan are the caller's to fill in. Call once.
  Plan Finish();

 private:
  SamplingOptions options_;
  Plan plan_;
  // Those with samples. Their cells are the plan's: what holds them is moved, and stays in its place.
  std::vector<SampledStratum> sampled_;
  double uncovered_ = 0.0;
};

}  // namespace stemtap
