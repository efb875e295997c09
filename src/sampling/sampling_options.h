// SPDX-License-Identifier: Apache-2.0
//
// SamplingOptions is what a user chooses about the sample: the options that run, replay and plan
// share. Names, defaults and ranges for the command line stand in cli/sampling_flags.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "model/kernel_groups.h"
#include "sampling/allocation.h"
#include "sampling/selection.h"
#include "sampling/stratify.h"
#include "sampling/weights.h"
#include "stats/normal.h"

namespace stemtap {

// What the error bound holds for (docs/math/allocation.md, "Scope of the bound").
enum class BoundScope {
  kWorkload,  // the total over all kernels: one allocation
  kKernel,    // each kernel's total: one allocation each, implies the former
};

struct SamplingOptions {
  double error_bound = 0.05;
  double confidence = 0.95;
  Method method = Method::kRoot;
  BoundScope bound = BoundScope::kWorkload;
  // m_floor per cluster. Two: a second run differs in what one sample cannot show
  // (docs/math/optimal.md).
  std::uint64_t min_samples = 2;
  Selection selection = Selection::kRandom;
  GroupBy group_by = GroupBy::kName;
  std::string exclude;  // regular expression, see KernelGroups; empty: nothing is excluded
  Weights weights = Weights::kCalibrated;
  std::uint64_t seed = 1;

  ErrorTarget target() const { return {error_bound, TwoSidedZ(confidence)}; }
};

}  // namespace stemtap
