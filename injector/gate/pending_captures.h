// SPDX-License-Identifier: Apache-2.0
//
// PendingCaptures carries the news of a captured launch from the launch callback to the decoder,
// which meets the kernel's record some 0.1 s later and marks it.
//
// THREADS: Add and Take from any thread: the launching ones add, and take back what did not come to
// a launch; the decoder takes the rest. Lock-free: an entry is one 64-bit word, and a correlation
// id is in flight once.
#pragma once

#include <atomic>
#include <cstdint>

namespace stemtap::inject {

class PendingCaptures {
 public:
  struct Capture {
    std::uint16_t slot;  // gate slot whose credit paid; 0: none
    std::uint8_t flags;  // shm::kFlag...
  };

  // Captures cost milliseconds each and their records come back within a second: 1,024 in flight
  // are already far more than any tracer stands.
  static constexpr std::uint32_t kEntries = 1024;
  static constexpr std::uint32_t kProbe = 32;
  // A record that CUPTI dropped never comes. A capture this many calls old gives up its place: at
  // the most that a driver takes, some 400,000 calls per second, its record is 2.5 s late.
  static constexpr std::uint32_t kStale = 1u << 20;

  // False if there is no room near its place: then the launch must not be captured.
  bool Add(std::uint32_t correlation_id, Capture capture) noexcept {
    const std::uint64_t word = kUsed | (std::uint64_t{capture.flags} << 48) |
                               (std::uint64_t{capture.slot} << 32) | correlation_id;
    for (std::uint32_t probe = 0; probe < kProbe; ++probe) {
      std::atomic<std::uint64_t>& entry = entries_[(correlation_id + probe) % kEntries];
      std::uint64_t free = 0;
      // Relaxed: the word carries all there is to know. CUPTI delivers the record of this launch
      // after the callback that adds it has returned, through its own locks, which order Add before
      // Take.
      if (entry.compare_exchange_strong(free, word, std::memory_order_relaxed)) {
        in_flight_.fetch_add(1, std::memory_order_relaxed);
        return true;
      }
      // `free` is now what stands there. The distance is taken in 32 bits, as the ids wrap; those
      // of threads that overtook each other come out as huge and are not old.
      const std::uint32_t age = correlation_id - static_cast<std::uint32_t>(free);
      if (age > kStale && age < kWrapped &&
          entry.compare_exchange_strong(free, word, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  // Whether records are waited for, or were lost.
  bool any() const noexcept { return in_flight_.load(std::memory_order_relaxed) != 0; }

  // Whether the launch was captured; forgets it.
  bool Take(std::uint32_t correlation_id, Capture& capture) noexcept {
    if (in_flight_.load(std::memory_order_relaxed) == 0)
      return false;  // the rule, not the exception
    for (std::uint32_t probe = 0; probe < kProbe; ++probe) {
      std::atomic<std::uint64_t>& entry = entries_[(correlation_id + probe) % kEntries];
      std::uint64_t word = entry.load(std::memory_order_relaxed);
      if ((word & kUsed) == 0 || static_cast<std::uint32_t>(word) != correlation_id) continue;
      capture = {static_cast<std::uint16_t>(word >> 32), static_cast<std::uint8_t>(word >> 48)};
      // Fails if a later launch has just taken the place of this one.
      if (!entry.compare_exchange_strong(word, 0, std::memory_order_relaxed)) return false;
      in_flight_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

 private:
  static constexpr std::uint64_t kUsed = std::uint64_t{1} << 63;
  static constexpr std::uint32_t kWrapped = 1u << 31;
  std::atomic<std::uint64_t> entries_[kEntries] = {};
  std::atomic<std::uint32_t> in_flight_{0};  // never below the number of words that Take could find
};

}  // namespace stemtap::inject
