// SPDX-License-Identifier: Apache-2.0
//
// How the flusher hears from other threads: StopRequest ends it, and CallCounter shows that CUPTI
// still delivers data.
#pragma once

#include <atomic>
#include <cstdint>

#include "startup/runtime.h"

namespace stemtap::inject {

// StopRequest asks one thread to stop and waits until it has. The thread also sleeps here.
//
// THREADS: Request, Await and Wake on any thread; Sleep, requested and Confirm on the thread that
// stops.
class StopRequest {
 public:
  // Returns false if a stop was requested before.
  bool Request() noexcept {
    std::uint32_t running = kRunning;
    if (!state_.compare_exchange_strong(running, kRequested, std::memory_order_release)) {
      return false;
    }
    FutexWakeAll(state_);
    return true;
  }

  // Waits at most `max_ms` for Confirm.
  void Await(std::uint32_t max_ms) noexcept {
    const std::uint64_t deadline = MonotonicNs() + std::uint64_t{max_ms} * 1000000u;
    while (state_.load(std::memory_order_acquire) != kStopped) {
      const std::uint64_t now = MonotonicNs();
      if (now >= deadline) return;
      FutexWait(state_, kRequested, static_cast<std::uint32_t>((deadline - now) / 1000000u) + 1);
    }
  }

  bool requested() const noexcept { return state_.load(std::memory_order_acquire) != kRunning; }
  // Sleeps until a stop is requested or Wake is called, at most `ms`.
  void Sleep(std::uint32_t ms) noexcept { FutexWait(state_, kRunning, ms); }
  // Ends a Sleep that has begun.
  void Wake() noexcept { FutexWakeAll(state_); }

  void Confirm() noexcept {
    state_.store(kStopped, std::memory_order_release);
    FutexWakeAll(state_);
  }

 private:
  static constexpr std::uint32_t kRunning = 0;
  static constexpr std::uint32_t kRequested = 1;
  static constexpr std::uint32_t kStopped = 2;

  // Written by Request and Confirm (release); each side reads the other's value (acquire).
  std::atomic<std::uint32_t> state_{kRunning};
};

// CallCounter counts calls from CUPTI.
//
// THREADS: Count on any thread; the rest on the flusher, or before it runs.
class CallCounter {
 public:
  void Count() noexcept { calls_.fetch_add(1, std::memory_order_relaxed); }

  // Returns whether there were calls since the last Update.
  bool Update() noexcept {
    const std::uint64_t calls = calls_.load(std::memory_order_relaxed);
    if (calls == seen_) return false;
    seen_ = calls;
    Restart();
    return true;
  }
  // Restarts the time of silence.
  void Restart() noexcept { heard_ns_ = MonotonicNs(); }
  // Time since the last Restart, or since the last Update that saw calls.
  std::uint64_t SilentNs() const noexcept { return MonotonicNs() - heard_ns_; }

 private:
  std::atomic<std::uint64_t> calls_{0};  // relaxed: publishes no other data
  std::uint64_t seen_ = 0;
  std::uint64_t heard_ns_ = 0;
};

}  // namespace stemtap::inject
