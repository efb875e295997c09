// SPDX-License-Identifier: Apache-2.0
//
// Pauses is the log of the times at which the program stopped and resumed recording. Records arrive
// up to seconds later, and the decoder asks whether their kernels started during a pause.
//
// THREADS: any, lock-free.  UNITS: ns of the clock of the kernel records.
#pragma once

#include <atomic>
#include <cstdint>

namespace stemtap::inject {

class Pauses {
 public:
  // Begins a pause, or ends it. No effect if recording is already paused, or not paused.
  void Begin(std::uint64_t now_ns) noexcept { Switch(true, now_ns); }
  void End(std::uint64_t now_ns) noexcept { Switch(false, now_ns); }

  // Relaxed: a concurrent launch may still count as before the pause.
  bool paused() const noexcept { return count_.load(std::memory_order_relaxed) % 2 != 0; }

  // Returns whether `start_ns` is in a pause.
  bool Covers(std::uint64_t start_ns) const noexcept {
    // Acquire: pairs with the release in Switch, so that the times are visible.
    const std::uint64_t count = count_.load(std::memory_order_acquire);
    return count != 0 && Search(count, start_ns);
  }

  // The log keeps the latest times. Records arrive within two flush periods (400 ms), so a program
  // may switch 10,000 times a second before older times are lost.
  static constexpr std::uint64_t kTimes = 4096;

 private:
  void Switch(bool pause, std::uint64_t now_ns) noexcept;
  bool Search(std::uint64_t count, std::uint64_t start_ns) const noexcept;

  // Switches so far. The switches with even numbers, from 0, begin pauses.
  std::atomic<std::uint64_t> count_{0};
  // times_[i % kTimes] is the time of switch i. Published by the store of count_; relaxed.
  std::atomic<std::uint64_t> times_[kTimes] = {};
};

}  // namespace stemtap::inject
