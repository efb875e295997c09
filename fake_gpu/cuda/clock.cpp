// SPDX-License-Identifier: Apache-2.0
#include "cuda/clock.h"

#include <errno.h>
#include <time.h>

#include <atomic>

#include "cuda/settings.h"

namespace fake_gpu {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

std::uint64_t Read(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond +
         static_cast<std::uint64_t>(time.tv_nsec);
}

void SleepUntil(clockid_t clock, std::uint64_t time_ns) {
  timespec until;
  until.tv_sec = static_cast<time_t>(time_ns / kSecond);
  until.tv_nsec = static_cast<long>(time_ns % kSecond);
  while (clock_nanosleep(clock, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

std::atomic<std::uint64_t>& VirtualNow() {
  static std::atomic<std::uint64_t> now{RealTime()};
  return now;
}

std::atomic<std::uint64_t> g_launches{0};  // counted only for FAKE_GPU_CLOCK_STEP_AT

}  // namespace

std::uint64_t RealTime() {
  return Read(CLOCK_REALTIME);
}

bool ClockIsReal() {
  return settings().real_clock;
}

std::uint64_t Now() {
  // Relaxed throughout: the clock value publishes no other data.
  return ClockIsReal() ? RealTime() : VirtualNow().load(std::memory_order_relaxed);
}

std::uint64_t NowAtLaunch() {
  if (ClockIsReal()) return RealTime();
  const std::uint64_t cost = settings().launch_ns;
  return VirtualNow().fetch_add(cost, std::memory_order_relaxed) + cost;
}

void WaitUntil(std::uint64_t time_ns) {
  if (ClockIsReal()) {
    if (RealTime() < time_ns) SleepUntil(CLOCK_REALTIME, time_ns);
    return;
  }
  std::atomic<std::uint64_t>& clock = VirtualNow();
  std::uint64_t now = clock.load(std::memory_order_relaxed);
  while (now < time_ns && !clock.compare_exchange_weak(now, time_ns, std::memory_order_relaxed)) {
  }
}

ClockStep StepOfNextLaunch() {
  const std::uint64_t at = settings().clock_step_at;
  if (at == 0) return {};
  const std::uint64_t launch = g_launches.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::int64_t step = settings().clock_step_ns;
  return {launch > at ? step : 0, launch >= at ? step : 0};
}

std::int64_t StepNow() {
  const std::uint64_t at = settings().clock_step_at;
  const bool stepped = at != 0 && g_launches.load(std::memory_order_relaxed) >= at;
  return stepped ? settings().clock_step_ns : 0;
}

void Spend(std::uint64_t duration_ns) {
  if (!ClockIsReal()) {
    VirtualNow().fetch_add(duration_ns, std::memory_order_relaxed);
    return;
  }
  const std::uint64_t end = Read(CLOCK_MONOTONIC) + duration_ns;
  while (Read(CLOCK_MONOTONIC) < end) {
  }
}

std::uint64_t SleepReally(std::uint64_t duration_ns) {
  const std::uint64_t begin = Read(CLOCK_MONOTONIC);
  SleepUntil(CLOCK_MONOTONIC, begin + duration_ns);
  return Read(CLOCK_MONOTONIC) - begin;
}

}  // namespace fake_gpu
