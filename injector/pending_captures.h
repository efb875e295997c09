// SPDX-License-Identifier: Apache-2.0
//
// PendingCaptures carries the news of a captured launch from the launch callback to the decoder, which
// meets the kernel's record some 0.1 s later and marks it.
//
// THREADS: Add from any application thread, Take from the decoder (one at a time, under its lock).
// Lock-free: an entry is one 64-bit word, and a correlation id is in flight once.
#pragma once

#include <atomic>
#include <cstdint>

namespace stemtap::inject {

class PendingCaptures {
 public:
  struct Capture {
    std::uint16_t slot;  // gate slot whose credit paid; 0: none
    std::uint8_t flags;  // wire::kFlag...
  };

  // Captures cost milliseconds each and their records come back within a second: 1,024 in flight are
  // already far more than any tracer stands.
  static constexpr std::uint32_t kEntries = 1024;
  static constexpr std::uint32_t kProbe = 32;

  // False if there is no room near its place: then the launch must not be captured.
  bool Add(std::uint32_t correlation_id, Capture capture) noexcept {
    const std::uint64_t word = kUsed | (std::uint64_t{capture.flags} << 48) |
                               (std::uint64_t{capture.slot} << 32) | correlation_id;
    for (std::uint32_t probe = 0; probe < kProbe; ++probe) {
      std::atomic<std::uint64_t>& entry = entries_[(correlation_id + probe) % kEntries];
      std::uint64_t free = 0;
      // Relaxed: the word carries all there is to know. CUPTI delivers the record of this launch after
      // the callback that adds it has returned, through its own locks, which order Add before Take.
      if (entry.compare_exchange_strong(free, word, std::memory_order_relaxed)) {
        in_flight_.fetch_add(1, std::memory_order_relaxed);
        return true;
      }
    }
    return false;
  }

  // Whether the launch was captured; forgets it.
  bool Take(std::uint32_t correlation_id, Capture& capture) noexcept {
    if (in_flight_.load(std::memory_order_relaxed) == 0) return false;  // the rule, not the exception
    for (std::uint32_t probe = 0; probe < kProbe; ++probe) {
      std::atomic<std::uint64_t>& entry = entries_[(correlation_id + probe) % kEntries];
      const std::uint64_t word = entry.load(std::memory_order_relaxed);
      if ((word & kUsed) == 0 || static_cast<std::uint32_t>(word) != correlation_id) continue;
      capture = {static_cast<std::uint16_t>(word >> 32), static_cast<std::uint8_t>(word >> 48)};
      entry.store(0, std::memory_order_relaxed);
      in_flight_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

 private:
  static constexpr std::uint64_t kUsed = std::uint64_t{1} << 63;
  std::atomic<std::uint64_t> entries_[kEntries] = {};
  std::atomic<std::uint32_t> in_flight_{0};  // never below the number of words that Take could find
};

}  // namespace stemtap::inject
