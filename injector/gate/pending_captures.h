// SPDX-License-Identifier: Apache-2.0
//
// PendingCaptures passes captured launches from the launch callback to the decoder, which receives
// the kernel's record about 0.1 s later and marks it.
//
// THREADS: Add and Take from any thread. Launching threads add captures, and remove those that
// did not lead to a launch; the decoder takes the rest. Lock-free: an entry is one 64-bit word, and
// a correlation id is in flight only once.
#pragma once

#include <atomic>
#include <cstdint>

#include "shm/gate_client.h"

namespace stemtap::inject {

class PendingCaptures {
 public:
  // A capture costs milliseconds and its record arrives within a second, so 1,024 in flight exceed
  // what any tracer produces.
  static constexpr std::uint32_t kEntries = 1024;
  static constexpr std::uint32_t kProbe = 32;
  // The record of a capture never arrives if CUPTI dropped it, so Add may replace an entry that is
  // older than this many calls. At 400,000 calls per second, the maximum of a driver, its record is
  // then 2.6 s late.
  static constexpr std::uint32_t kStale = 1u << 20;

  // Returns false if there is no free entry within kProbe; the launch must then not be captured.
  bool Add(std::uint32_t correlation_id, shm::GateAnswer capture) noexcept {
    const std::uint64_t word = kUsed | (std::uint64_t{capture.flags} << 48) |
                               (std::uint64_t{capture.credit_slot} << 32) | correlation_id;
    for (std::uint32_t probe = 0; probe < kProbe; ++probe) {
      std::atomic<std::uint64_t>& entry = entries_[(correlation_id + probe) % kEntries];
      std::uint64_t free = 0;
      // Relaxed: the word contains all the data. CUPTI delivers the record of this launch after the
      // callback that adds it has returned; CUPTI's locks order Add before Take.
      if (entry.compare_exchange_strong(free, word, std::memory_order_relaxed)) {
        in_flight_.fetch_add(1, std::memory_order_relaxed);
        return true;
      }
      // `free` now contains the existing word. The age is computed in 32 bits because ids wrap. If
      // threads overtook each other, the age is huge and does not count as old.
      const std::uint32_t age = correlation_id - static_cast<std::uint32_t>(free);
      if (age > kStale && age < kWrapped &&
          entry.compare_exchange_strong(free, word, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  // Returns whether captures are pending. Their records may have been lost.
  bool any() const noexcept { return in_flight_.load(std::memory_order_relaxed) != 0; }

  // Removes the entry of a captured launch and returns it in `capture`. Returns false if the launch
  // was not captured.
  bool Take(std::uint32_t correlation_id, shm::GateAnswer& capture) noexcept {
    if (in_flight_.load(std::memory_order_relaxed) == 0) return false;  // the common case
    for (std::uint32_t probe = 0; probe < kProbe; ++probe) {
      std::atomic<std::uint64_t>& entry = entries_[(correlation_id + probe) % kEntries];
      std::uint64_t word = entry.load(std::memory_order_relaxed);
      if ((word & kUsed) == 0 || static_cast<std::uint32_t>(word) != correlation_id) continue;
      capture = {static_cast<std::uint16_t>(word >> 32), static_cast<std::uint8_t>(word >> 48)};
      // Fails if a later launch has just replaced this entry.
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
  std::atomic<std::uint32_t> in_flight_{0};  // never below the number of words that Take can find
};

}  // namespace stemtap::inject
