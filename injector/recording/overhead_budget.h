// SPDX-License-Identifier: Apache-2.0
//
// OverheadBudget says when recording has cost the program more than it was allowed to
// (--max-overhead): the cost of a window of time, in percent of the time that the program had in it.
//
// The time that it had is the longer of the clock's and of the processor's: a program of 64 busy
// threads has 64 seconds in each, one that waits for its GPU has one.
//
// Three windows in a row must be beyond the budget: modules are loaded, and code is instrumented, in
// bursts that are over when they are seen.
//
// THREADS: none. Pure arithmetic on the numbers it is given.
#pragma once

#include <cstdint>

namespace stemtap::inject {

class OverheadBudget {
 public:
  // Five flush periods at least: one flush more or less in a window must not decide.
  static constexpr std::uint64_t kWindowNs = 1'000'000'000;
  static constexpr std::uint32_t kWindows = 3;

  // 1 % is 1000. 0: no budget, never exceeded.
  void Init(std::uint32_t milli_percent, std::uint64_t now_ns, std::uint64_t cost_ns,
            std::uint64_t processor_ns) noexcept {
    most_ = milli_percent;
    since_ns_ = now_ns;
    cost_ns_ = cost_ns;
    processor_ns_ = processor_ns;
  }

  // To be asked now and then, with sums since any fixed time. True: the budget is exceeded.
  bool Exceeded(std::uint64_t now_ns, std::uint64_t cost_ns, std::uint64_t processor_ns) noexcept {
    if (most_ == 0 || now_ns < since_ns_ + kWindowNs) return false;
    const std::uint64_t clock = now_ns - since_ns_;
    const std::uint64_t processor = processor_ns - processor_ns_;
    const std::uint64_t had = clock > processor ? clock : processor;
    // 2^64 / 100,000 ns are two days of cost in one window.
    share_ = static_cast<std::uint32_t>((cost_ns - cost_ns_) * 100'000 / had);
    beyond_ = share_ > most_ ? beyond_ + 1 : 0;
    since_ns_ = now_ns;
    cost_ns_ = cost_ns;
    processor_ns_ = processor_ns;
    return beyond_ >= kWindows;
  }

  // What came so far is not held against the recording: the count of windows starts anew.
  void Pardon() noexcept { beyond_ = 0; }

  bool any() const noexcept { return most_ != 0; }
  std::uint32_t most() const noexcept { return most_; }
  // Of the last whole window.
  std::uint32_t share() const noexcept { return share_; }

 private:
  std::uint32_t most_ = 0;
  std::uint32_t share_ = 0;
  std::uint32_t beyond_ = 0;  // windows in a row
  std::uint64_t since_ns_ = 0;
  std::uint64_t cost_ns_ = 0;
  std::uint64_t processor_ns_ = 0;
};

}  // namespace stemtap::inject
