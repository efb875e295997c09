// SPDX-License-Identifier: Apache-2.0
//
// The host clock of the simulated GPU, in nanoseconds. Virtual: it begins at CLOCK_REALTIME and moves
// only with launches and synchronization, so that a run takes no longer than the CPU needs. Real:
// it is CLOCK_REALTIME, the clock in which CUPTI reports.
//
// THREADS: any.
#pragma once

#include <cstdint>

namespace fake_gpu {

std::uint64_t RealTime();
bool ClockIsReal();

// The host clock now.
std::uint64_t Now();

// The host clock at a launch; the virtual one moves on by the cost of launching.
std::uint64_t NowAtLaunch();

// Returns when the host clock has reached `time_ns`: sleeps, or moves the virtual clock forward.
void WaitUntil(std::uint64_t time_ns);

// Blocks the thread for wall time, whatever the clock, and returns the nanoseconds it took.
std::uint64_t SleepReally(std::uint64_t duration_ns);

// How far CLOCK_REALTIME, as the program would read it, has been set when the next kernel begins and
// when it ends; counts launches. The fake's own times are not affected.
struct ClockStep {
  std::int64_t at_start_ns = 0;
  std::int64_t at_end_ns = 0;
};
ClockStep StepOfNextLaunch();
std::int64_t StepNow();

// Takes time of the thread without sleeping: spins, or moves the virtual clock forward.
void Spend(std::uint64_t duration_ns);

}  // namespace fake_gpu
