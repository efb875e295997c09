// SPDX-License-Identifier: Apache-2.0
//
// SamplingOptions contains the sampling options that run, replay, and plan share, with their
// defaults. Their command-line names and ranges are in session/flags/sampling_flags.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "model/kernel_groups.h"
#include "model/launch_selection.h"
#include "sampling/selection.h"
#include "sampling/strata.h"
#include "sampling/weights.h"
#include "stats/normal.h"

namespace stemtap::sampling {

// CapturePrice is what a captured launch costs: a fixed time, plus a multiple of its duration. A
// profiler that replays a kernel pays mostly the former, a simulator mostly the latter. Plans
// minimize the sum over their samples.
//
// UNITS: ns. SOURCE: docs/math/optimal.md, "Prices".
struct CapturePrice {
  double fixed_ns = 0.0;
  double factor = 1.0;  // > 0

  // Only ratios of costs matter, so all costs are in units of `factor`: the cost of a sample is its
  // duration plus this.
  double FixedPerFactor() const { return fixed_ns / factor; }
  double CostOf(double samples, double duration_ns) const {
    return samples * fixed_ns + factor * duration_ns;
  }
};

// BoundScope is the total that the error bound applies to (docs/math/allocation.md, "Scope of the
// bound").
enum class BoundScope {
  kWorkload,  // the total over all kernels; one allocation
  kKernel,    // the total of each kernel; one allocation per kernel, implies kWorkload
  kRange,     // the total of each range; one allocation per range, implies kWorkload
};

struct SamplingOptions {
  double error_bound = 0.05;
  double confidence = 0.95;
  Method method = Method::kOptimal;
  BoundScope bound = BoundScope::kWorkload;
  // m_floor per cluster. The bound is valid with a single sample, because the spread of durations
  // is known (docs/math/certificate.md); 2 costs almost twice the time (docs/math/optimal.md, "The
  // floor").
  std::uint64_t min_samples = 1;
  CapturePrice price;
  // Maximum share of the time that a two-pass plan may leave without samples where sampling it
  // costs more than it is worth (docs/math/optimal.md, "Uncovered by choice").
  double max_uncovered = 0.0;
  // Maximum share of the time of the kernels that a two-pass plan may pool (kernel_pool.h).
  double pool_small = 0.0;
  Selection selection = Selection::kRandom;
  model::GroupBy group_by = model::GroupBy::kName;
  std::string exclude;  // regular expression, see KernelGroups; empty excludes nothing
  model::LaunchSelection launches;
  Weights weights = Weights::kCalibrated;
  std::uint64_t seed = 1;

  ErrorTarget target() const { return {error_bound, stats::TwoSidedZ(confidence)}; }
};

}  // namespace stemtap::sampling
