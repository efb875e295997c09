// SPDX-License-Identifier: Apache-2.0
//
// CompareRanks finds the runs of a job that are slower than the others, kernel by kernel. The ranks
// of a job do the same work, so the mean durations of a kernel should agree:
//
//   d(r, k) = log( mean of kernel k in run r ) - median of it over the runs
//   s(k)    = 1.4826 x median of |d| over the runs, at least the standard error of a mean
//
// A kernel of a run is slow if d > kMinSlower and d > kMinDeviations x s, and if the same holds for
// the 10 % and 50 % quantiles of its durations in place of the mean: a rank with longer requests
// has a longer mean, and as short launches as the others. s contains what differs between ranks for
// other reasons, so kernels with such differences are judged less strictly. Communication kernels
// are not compared: their launches wait for the slowest rank, which hides it.
//
// THREADS: none.  SOURCE: docs/design/fleet.md, "Which rank is slow".
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "fleet/job.h"
#include "model/kernel_id.h"

namespace stemtap::fleet {

struct RankRow {
  RunInfo run;
  std::uint64_t captures = 0;
  std::uint64_t captured_ns = 0;
  bool is_silent = false;                 // for Job::kSilence, and has not ended
  std::vector<std::string> slow_kernels;  // names, by time, descending
  double slow_share = 0.0;                // of the time that is compared
  // How much slower these kernels are, as a fraction, and the ends of its 95 % interval; NaN: none.
  double slower = NAN;
  double low = NAN;
  double high = NAN;

  bool is_slow() const { return !slow_kernels.empty(); }
};

struct RankComparison {
  // Fewer runs have no reliable median of deviations.
  static constexpr std::size_t kMinRuns = 5;
  // Of six deviations, chance reaches one in some hundred million comparisons.
  static constexpr double kMinDeviations = 6.0;
  static constexpr double kMinSlower = 0.02;
  // A run is slow only if its slow kernels have this share of the time.
  static constexpr double kMinShare = 0.03;

  // Kernels that are not the same on all ranks, which may do different work.
  struct Differing {
    std::vector<std::string> kernels;  // names, by time, descending
    double share = 0.0;
  };
  // 90 % of the launches on one rank take at least this much longer than 90 % of them on another
  // one. Chosen, not measured: more than GPUs of one kind differ, which is some percent.
  static constexpr double kApart = 1.25;

  std::vector<RankRow> ranks;        // in the order of `runs`
  std::size_t kernels = 0;           // compared
  double communication_share = 0.0;  // of the time of all kernels
  Differing apart;                   // kernels whose durations are kApart, except communication
  Differing of_some;                 // kernels that some ranks do not launch
};

// Kernels with few launches, or that few runs launch, are not compared.
RankComparison CompareRanks(std::span<const RunState> runs,
                            const std::map<std::uint64_t, model::KernelId>& kernels);

}  // namespace stemtap::fleet
