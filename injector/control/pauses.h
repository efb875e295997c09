// SPDX-License-Identifier: Apache-2.0
//
// Pauses is the log of the times at which the program stopped and resumed recording. Records arrive
// up to seconds later, and the decoder asks whether their kernels started during a pause.
//
// The times ascend. A thread may be interrupted after it has read the clock, so that other threads
// switch before it: its switch then gets the time of the last switch.
//
// THREADS: any, lock-free.  UNITS: ns of the clock of the kernel records, below 2^63.
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
    const std::uint64_t count = this->count();
    return count != 0 && Search(count, start_ns);
  }

  // Returns the number of switches so far, and the time of switch `number`. The switches with even
  // numbers, from 0, begin pauses. REQUIRES: `number` is one of the last kTimes.
  // Acquire: pairs with the release in Switch, so that the times are visible.
  std::uint64_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  std::uint64_t TimeOf(std::uint64_t number) const noexcept {
    return Entry(number).load(std::memory_order_relaxed) >> 1;
  }

  // The log keeps the latest times. Records arrive within two flush periods (400 ms), so a program
  // may switch 10,000 times a second before older times are lost.
  static constexpr std::uint64_t kTimes = 4096;

 private:
  void Switch(bool pause, std::uint64_t now_ns) noexcept;
  bool Search(std::uint64_t count, std::uint64_t start_ns) const noexcept;
  const std::atomic<std::uint64_t>& Entry(std::uint64_t number) const noexcept {
    return times_[number % kTimes];
  }
  // The lowest bit of an entry distinguishes switch `number` from the switch kTimes before it.
  static std::uint64_t LapBit(std::uint64_t number) noexcept { return ~(number / kTimes) & 1; }

  std::atomic<std::uint64_t> count_{0};  // switches so far
  // times_[i % kTimes] is twice the time of switch i, plus LapBit(i). A thread that switches fills
  // the entry of the next switch, unless another thread has filled it, and then increments count_,
  // which publishes the entry. Relaxed.
  std::atomic<std::uint64_t> times_[kTimes] = {};
};

}  // namespace stemtap::inject
