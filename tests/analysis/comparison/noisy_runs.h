// SPDX-License-Identifier: Apache-2.0
//
// Generates pairs of runs of one program whose durations differ by noise only, as GPUs, clocks,
// caches and profilers cause it.
//
// UNITS: ns.
#pragma once

#include <cstdint>

#include "analysis/comparison/compared_run.h"

namespace stemtap::test {

// Without optimization or under a sanitizer, a table takes 5 to 20 times as long.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
inline constexpr bool kSlowBuild = false;
#else
inline constexpr bool kSlowBuild = true;
#endif

// Noise is how a duration differs from the base duration of its kernel.
enum class Noise {
  kNormal,      // sigma 2 %
  kTwoModes,    // each launch takes exactly the base or 10 % more
  kSkewed,      // log-normal, sigma 100 %
  kHeavyTail,   // Pareto of shape 1.5: no variance
  kCold,        // the first launch takes 5 to 50 times as long, 30 % more or less in each run
  kColdest,     // the first launch takes 20 to 200 times as long, another factor in each run
  kWarmUp,      // 20 to 60 % longer at the start, decays in 3 % of the run
  kLateStep,    // 30 % longer after 88 to 92 % of the run
  kClockStep,   // all kernels change by 10 % at one random time, up or down
  kClockSteps,  // all kernels change between two clocks at three random times
  kRareMode,    // 1 % of the launches take 30 times as long
  kTimer,       // sigma 0.5 %, kernels of 1 to 3 us, a timer of 32 ns
  kCorrelated,  // each kernel wanders by 5 %, over 50 launches
  kWander,      // all kernels wander together by 3 %, over 2 % of the run
  kStretches,   // each kernel changes between two modes, about 20 times per run
  kDrift        // all kernels drift by 0 to 10 % in the course of the run
};

struct NoisyProgram {
  Noise noise = Noise::kNormal;
  std::uint32_t kernels = 20;
  std::uint32_t launches = 500;  // of each kernel
  bool mixed = false;            // kernel k has 2 to `launches` launches instead
};

// Returns a run of the program. The base durations depend on `program_seed`, the noise on
// `run_seed`. `slowdown` multiplies the durations of kernel 0.
analysis::ComparedRun NoisyRun(const NoisyProgram& program, std::uint64_t program_seed,
                               std::uint64_t run_seed, double slowdown = 1.0);

}  // namespace stemtap::test
