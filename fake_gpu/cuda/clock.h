// SPDX-License-Identifier: Apache-2.0
//
// The host clock of the simulated GPU, in nanoseconds. The virtual clock starts at CLOCK_REALTIME
// and advances only with launches and synchronization, so a run takes only CPU time. The real clock
// is CLOCK_REALTIME, in which CUPTI reports.
//
// THREADS: any.
#pragma once

#include <cstdint>

namespace fake_gpu {

std::uint64_t RealTime();
bool ClockIsReal();

// Returns the host clock.
std::uint64_t Now();

// Returns the host clock at a launch. Advances the virtual clock by the cost of a launch.
std::uint64_t NowAtLaunch();

// Returns when the host clock has reached `time_ns`: sleeps, or advances the virtual clock.
void WaitUntil(std::uint64_t time_ns);

// Blocks the thread in wall time with either clock, and returns the nanoseconds it took.
std::uint64_t SleepReally(std::uint64_t duration_ns);

// ClockStep is the adjustment of CLOCK_REALTIME, as the program would read it, at the start and the
// end of the next kernel. Counts launches. Does not affect the simulated driver's own times.
struct ClockStep {
  std::int64_t at_start_ns = 0;
  std::int64_t at_end_ns = 0;
};
ClockStep StepOfNextLaunch();
std::int64_t StepNow();

// Uses time of the thread without sleeping: spins, or advances the virtual clock.
void Spend(std::uint64_t duration_ns);

}  // namespace fake_gpu
