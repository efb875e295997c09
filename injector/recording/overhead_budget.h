// SPDX-License-Identifier: Apache-2.0
//
// OverheadBudget detects when recording costs the program more than allowed (--max-overhead). It
// compares the cost in a time window to the time that the program had in the window, in percent.
//
// That time is the longer of wall-clock time and CPU time. In one second, a program with 64 busy
// threads has 64 seconds; a program that waits for its GPU has one.
//
// Three consecutive windows must exceed the budget, because module loading and code instrumentation
// cause short bursts that are over before recording could stop.
//
// THREADS: none. Pure arithmetic on its arguments.
#pragma once

#include <cstdint>

namespace stemtap::inject {

class OverheadBudget {
 public:
  // At least five flush periods, so that one flush more or less in a window does not matter.
  static constexpr std::uint64_t kWindowNs = 1'000'000'000;
  static constexpr std::uint32_t kWindows = 3;

  // Starts the first window. 1 % is 1000; 0 means no budget.
  void Init(std::uint32_t milli_percent, std::uint64_t now_ns, std::uint64_t cost_ns,
            std::uint64_t processor_ns) noexcept {
    max_share_ = milli_percent;
    since_ns_ = now_ns;
    cost_ns_ = cost_ns;
    processor_ns_ = processor_ns;
  }

  // Call periodically, with totals since any fixed time. Returns whether the budget is exceeded.
  bool Exceeded(std::uint64_t now_ns, std::uint64_t cost_ns, std::uint64_t processor_ns) noexcept {
    if (max_share_ == 0 || now_ns < since_ns_ + kWindowNs) return false;
    const std::uint64_t clock = now_ns - since_ns_;
    const std::uint64_t processor = processor_ns - processor_ns_;
    const std::uint64_t had = clock > processor ? clock : processor;
    // Overflows at 2^64 / 100,000 ns, two days of cost in one window.
    share_ = static_cast<std::uint32_t>((cost_ns - cost_ns_) * 100'000 / had);
    beyond_ = share_ > max_share_ ? beyond_ + 1 : 0;
    since_ns_ = now_ns;
    cost_ns_ = cost_ns;
    processor_ns_ = processor_ns;
    return beyond_ >= kWindows;
  }

  // Restarts the count of consecutive windows.
  void Reset() noexcept { beyond_ = 0; }

  bool any() const noexcept { return max_share_ != 0; }
  std::uint32_t max_share() const noexcept { return max_share_; }
  // Cost share of the last whole window.
  std::uint32_t share() const noexcept { return share_; }

 private:
  std::uint32_t max_share_ = 0;
  std::uint32_t share_ = 0;
  std::uint32_t beyond_ = 0;  // consecutive windows
  std::uint64_t since_ns_ = 0;
  std::uint64_t cost_ns_ = 0;
  std::uint64_t processor_ns_ = 0;
};

}  // namespace stemtap::inject
