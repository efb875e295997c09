// SPDX-License-Identifier: Apache-2.0
//
// EvaluatedRun is one recorded run prepared for evaluation: the launches that count, their total
// time and, optionally, a second run of the same launches to compare estimates with.
//
// UNITS: ns.  THREADS: immutable after construction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/kernel_groups.h"
#include "model/profile.h"
#include "sampling/sampling_options.h"

namespace stemtap::research {

struct EvaluatedRun {
  std::string name;
  model::Profile profile;
  std::vector<std::uint32_t> groups;  // by launch: its kernel group, or kExcludedKernel
  std::uint64_t kernels = 0;          // number of groups
  std::uint64_t launches = 0;         // launches that are not excluded
  std::uint64_t total_ns = 0;         // T*, > 0
  model::ExcludedTotals excluded;
  // T* over the sum of the kernels' mean durations: the speedup of one average sample per kernel.
  // No method that samples every kernel at random exceeds it on average.
  double speedup_limit = 0.0;

  // The second run, by launch; empty if none.
  std::string against_name;
  std::vector<std::uint64_t> against_ns;
  std::uint64_t against_total_ns = 0;
};

// Computes groups and totals of `profile` by the options group_by and exclude. A profile without
// counted kernel time is an error, because relative errors are undefined.
Result<EvaluatedRun> MakeEvaluatedRun(std::string name, model::Profile profile,
                                      const sampling::SamplingOptions& options);

// Checks that two runs launched the same kernels: the same number of launches and, in order, the
// same names, grids and blocks (where both runs recorded them). An error reports the first launch
// that differs, the difference, and how many kernels have different launch counts.
Status SameLaunches(const EvaluatedRun& one, const std::string& other_name,
                    const model::Profile& other);

// Makes `other` the run that the estimates of `workload` are compared with. Returns the error of
// SameLaunches if the launches differ.
Status CompareWith(EvaluatedRun& workload, const std::string& other_name,
                   const model::Profile& other);

}  // namespace stemtap::research
