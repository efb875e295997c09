// SPDX-License-Identifier: Apache-2.0
//
// EvaluatedRun is one recorded run made ready for evaluation: which launches count, what the truth is,
// and, when there is one, a second run of the same launches to be wrong about.
//
// UNITS: ns.  THREADS: read-only once made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/kernel_groups.h"
#include "model/profile.h"
#include "sampling/sampling_options.h"

namespace stemtap {

struct EvaluatedRun {
  std::string name;
  Profile profile;
  std::vector<std::uint32_t> groups;  // by launch: its kernel group, or kExcludedKernel
  std::uint64_t kernels = 0;          // groups
  std::uint64_t launches = 0;         // of these: what is excluded is no part of it
  std::uint64_t total_ns = 0;         // T*, > 0
  ExcludedTotals excluded;
  // T* over the sum of the kernels' mean durations: the speedup of one average sample of each
  // kernel, beyond which no method gets, in the mean, that samples every kernel at random.
  double speedup_limit = 0.0;

  // The second run, by launch; empty: none.
  std::string against_name;
  std::vector<std::uint64_t> against_ns;
  std::uint64_t against_total_ns = 0;
};

// Groups and totals of `profile` by the options' group_by and exclude. A profile without kernel
// time that counts is an error: no error relative to it can be stated.
Result<EvaluatedRun> MakeEvaluatedRun(std::string name, Profile profile,
                                      const SamplingOptions& options);

// Whether two runs launched the same kernels: equally many launches and, in order, the same names,
// grids and blocks (those that both recorded). An error names the first launch that differs, what
// differs, and how many kernels were not launched equally often.
// SOURCE: docs/evaluation.md, "Another run".
Status SameLaunches(const EvaluatedRun& one, const std::string& other_name, const Profile& other);

// Makes `other` the run that the estimates of `workload` are held against. REQUIRES the same
// launches, else the error of SameLaunches.
Status HoldAgainst(EvaluatedRun& workload, const std::string& other_name, const Profile& other);

}  // namespace stemtap
