// SPDX-License-Identifier: Apache-2.0
#include "cupti/timestamps.h"

#include <time.h>

#include <atomic>
#include <mutex>

#include "cupti/driver.h"
#include "cupti/records.h"
#include "cupti/settings.h"

namespace fake_cupti {
namespace {

// Minimum elapsed time to determine the rate of the client's clock.
constexpr std::uint64_t kShortestBase = 2'000'000;
// Maximum distance of two readings of one moment: 1 % of the above.
constexpr std::uint64_t kMaxApart = 20'000;

std::uint64_t Read(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Base is the first reading: three clocks at one moment.
struct Base {
  CUpti_TimestampCallbackFunc callback = nullptr;
  std::uint64_t client = 0;
  std::uint64_t monotonic_ns = 0;
  std::uint64_t host_ns = 0;  // simulated GPU's host clock, in which records are written
};

std::mutex g_mutex;
Base g_base;                            // guarded by g_mutex
std::atomic<bool> g_registered{false};  // whether g_base.callback is set; avoids the lock

Base BaseNow() {
  if (!g_registered.load(std::memory_order_relaxed)) return {};
  const std::lock_guard lock(g_mutex);
  return g_base;
}

// Reading contains both clocks at one moment; the read is repeated if the thread was preempted in
// between.
struct Reading {
  std::uint64_t client;
  std::uint64_t monotonic_ns;
};

Reading ReadBoth(CUpti_TimestampCallbackFunc callback) {
  for (;;) {
    const std::uint64_t before = Read(CLOCK_MONOTONIC);
    const std::uint64_t client = callback();
    if (Read(CLOCK_MONOTONIC) - before < kMaxApart) return {client, before};
  }
}

// Returns the ticks of the client's clock per nanosecond.
double RateOf(const Base& base) {
  for (;;) {
    const Reading now = ReadBoth(base.callback);
    const std::uint64_t elapsed = now.monotonic_ns - base.monotonic_ns;
    if (elapsed < kShortestBase) continue;
    return static_cast<double>(now.client - base.client) / static_cast<double>(elapsed);
  }
}

}  // namespace

void SetTimestampCallback(CUpti_TimestampCallbackFunc callback) {
  Base base;
  base.callback = callback;
  const Reading now = ReadBoth(callback);
  base.client = now.client;
  base.monotonic_ns = now.monotonic_ns;
  base.host_ns = ConnectedDriver() != nullptr ? ConnectedDriver()->now() : 0;
  const std::lock_guard lock(g_mutex);
  g_base = base;
  g_registered.store(true, std::memory_order_relaxed);
}

void ResetTimestampCallback() {
  const std::lock_guard lock(g_mutex);
  g_base = {};
  g_registered.store(false, std::memory_order_relaxed);
}

namespace {

// FAKE_CUPTI_TICKS: converts nanoseconds to ticks of CUPTI's own clock. A double has too few
// digits. The clock stands still if it exceeds 64 bits.
std::uint64_t ToTicks(std::uint64_t ns) {
  const long double ticks = static_cast<long double>(ns) * settings().ticks;
  return ticks < 0x1p64L ? static_cast<std::uint64_t>(ticks) : ~std::uint64_t{0};
}

void ConvertToTicks(const Buffer& buffer) {
  for (const Entry& entry : buffer.entries) {
    std::uint8_t* record = buffer.data + entry.offset;
    RecordTimes times = ReadTimes(record);
    times.start_ns = ToTicks(times.start_ns);
    times.end_ns = ToTicks(times.end_ns);
    WriteTimes(times, record);
  }
}

}  // namespace

std::uint64_t TimestampNow() {
  if (const Base base = BaseNow(); base.callback != nullptr) return base.callback();
  std::uint64_t now = Read(CLOCK_REALTIME);
  if (ConnectedDriver() != nullptr) {
    now += static_cast<std::uint64_t>(ConnectedDriver()->clock_step());
  }
  return settings().ticks == 1 ? now : ToTicks(now);
}

void ConvertTimes(const Buffer& buffer) {
  const Base base = BaseNow();
  if (base.callback == nullptr) {
    if (settings().ticks != 1) ConvertToTicks(buffer);
    return;
  }
  const double rate = RateOf(base);
  const auto convert = [&](std::uint64_t host_ns) {
    return base.client +
           static_cast<std::uint64_t>(static_cast<double>(host_ns - base.host_ns) * rate);
  };
  for (const Entry& entry : buffer.entries) {
    if (entry.start_ns <= base.host_ns) continue;
    std::uint8_t* record = buffer.data + entry.offset;
    RecordTimes times = ReadTimes(record);
    if (times.start_ns != 0) times.start_ns = convert(entry.start_ns);
    if (times.end_ns != 0) times.end_ns = convert(entry.end_ns);
    WriteTimes(times, record);
  }
}

}  // namespace fake_cupti
