// SPDX-License-Identifier: Apache-2.0
//
// Runs streams of launches through the engine in this process and compares the bound of each plan
// with the error of its plain estimate. All durations are known, so the error is exact.
//
// THREADS: none.  UNITS: ns; bounds, errors and shares are ratios.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/plan.h"
#include "sampling/sampling_options.h"

namespace stemtap::test {

// Without optimization or under a sanitizer, a run takes 5 to 20 times as long.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
inline constexpr bool kSlowBuild = false;
#else
inline constexpr bool kSlowBuild = true;
#endif

struct StreamLaunch {
  std::uint32_t kernel = 0;
  std::uint32_t grid = 1;
  std::uint64_t duration_ns = 0;
  std::uint16_t process = 0;
  std::uint16_t range = 0;  // in LaunchStream::ranges
};

// LaunchStream holds the launches of a run in order. Processes do not share kernels: kernel 0 of
// process 0 and kernel 0 of process 1 are two kernels with the same name.
struct LaunchStream {
  std::uint32_t kernels = 0;  // per process
  std::uint16_t processes = 1;
  std::vector<StreamLaunch> launches;
  std::vector<std::string> ranges = {""};
};

std::string KernelName(std::uint32_t kernel);

// Returns the process id of a process of the stream, or 0 if there is only one process.
std::int32_t ProcessId(const LaunchStream& stream, std::uint16_t process);

// BoundOutcome holds the bound that a run states and the error of its plain estimate.
struct BoundOutcome {
  double bound = 0.0;  // PlanTotals::certified_bound; the stated bound covers every run
  double error = 0.0;  // (plain estimate - total) / total
  double uncovered = 0.0;
  double captured_share = 0.0;  // of time
  std::uint64_t captured = 0;

  // Returns whether the error is outside the bound or the bound is not a number.
  bool missed() const;
};

// Runs `stream` with the gate inside the engine and feedback after `lag` launches. Stores the plan
// in `*plan` unless it is null.
BoundOutcome RunStream(const LaunchStream& stream, const sampling::SamplingOptions& options,
                       std::uint64_t lag, model::Plan* plan = nullptr);

// Plans `stream` as a complete profile, in two passes. REQUIRES: one process.
BoundOutcome PlanStream(const LaunchStream& stream, const sampling::SamplingOptions& options,
                        model::Plan* plan = nullptr);

// Calls run(i) for each i below `count`, with one thread per core.
void RunInParallel(std::size_t count, const std::function<void(std::size_t)>& run);

// BoundTally counts outcomes of a group of runs.
class BoundTally {
 public:
  void Add(const BoundOutcome& outcome, double asked);

  std::uint64_t runs() const { return runs_; }
  std::uint64_t misses() const { return misses_; }
  double coverage() const;
  // Returns the share of underestimates among runs with an error, or NaN if there are none.
  double negative_share() const;
  // Returns the figures as one table row.
  std::string Row() const;
  static std::string Header();

 private:
  std::uint64_t runs_ = 0;
  std::uint64_t misses_ = 0;
  std::uint64_t negative_ = 0;
  std::uint64_t positive_ = 0;
  std::uint64_t over_ = 0;  // the bound exceeds the requested bound
  double uncovered_ = 0.0;
  std::vector<double> bounds_;
  std::vector<double> captured_;
};

}  // namespace stemtap::test
