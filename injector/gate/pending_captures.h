// SPDX-License-Identifier: Apache-2.0
//
// PendingCaptures passes captured launches from the launch callback to the decoder, which receives
// the kernel's record about 0.1 s later and marks it.
//
// THREADS: Add and Take from any thread. Launching threads add captures, and remove those that
// did not lead to a launch; the decoder takes the rest. Lock-free: one 64-bit word decides who owns
// an entry, and a correlation id is in flight only once.
#pragma once

#include <atomic>
#include <cstdint>

#include "shm/gate_client.h"
#include "shm/record.h"

namespace stemtap::inject {

struct PendingCapture {
  shm::GateAnswer answer;
  shm::LaunchMark mark;         // its range is an id of RangePaths
  std::uint64_t name_hash = 0;  // by which the gate knows the kernel
};

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
  bool Add(std::uint32_t correlation_id, const PendingCapture& capture) noexcept {
    const std::uint64_t word = kUsed | (std::uint64_t{capture.answer.flags} << 48) |
                               (std::uint64_t{capture.answer.credit_slot} << 32) | correlation_id;
    for (std::uint32_t probe = 0; probe < kProbe; ++probe) {
      Entry& entry = entries_[(correlation_id + probe) % kEntries];
      std::uint64_t free = 0;
      // Acquire: pairs with the release in Take, which has read the data of the last owner.
      if (entry.word.compare_exchange_strong(free, kClaimed, std::memory_order_acquire)) {
        in_flight_.fetch_add(1, std::memory_order_relaxed);
        entry.Fill(word, capture);
        return true;
      }
      // `free` now contains the existing word. The age is computed in 32 bits because ids wrap. If
      // threads overtook each other, the age is huge and does not count as old.
      const std::uint32_t age = correlation_id - static_cast<std::uint32_t>(free);
      if (free != kClaimed && age > kStale && age < kWrapped &&
          entry.word.compare_exchange_strong(free, kClaimed, std::memory_order_acquire)) {
        entry.Fill(word, capture);
        return true;
      }
    }
    return false;
  }

  // Returns whether captures are pending. Their records may have been lost.
  bool any() const noexcept { return in_flight_.load(std::memory_order_relaxed) != 0; }

  // Removes the entry of a captured launch and returns it in `capture`. Returns false if the launch
  // was not captured; `capture` is then unchanged.
  bool Take(std::uint32_t correlation_id, PendingCapture& capture) noexcept {
    if (in_flight_.load(std::memory_order_relaxed) == 0) return false;  // the common case
    for (std::uint32_t probe = 0; probe < kProbe; ++probe) {
      Entry& entry = entries_[(correlation_id + probe) % kEntries];
      // Acquire: pairs with the release in Fill, so that the mark and the hash belong to the word.
      std::uint64_t word = entry.word.load(std::memory_order_acquire);
      if ((word & kUsed) == 0 || static_cast<std::uint32_t>(word) != correlation_id) continue;
      const PendingCapture found = {
          {static_cast<std::uint16_t>(word >> 32), static_cast<std::uint8_t>(word >> 48)},
          {entry.range_id.load(std::memory_order_relaxed),
           entry.step.load(std::memory_order_relaxed)},
          entry.name_hash.load(std::memory_order_relaxed)};
      // Fails if a later launch has just replaced this entry. Release: the next owner of the entry
      // writes its data after these were read here.
      if (!entry.word.compare_exchange_strong(word, 0, std::memory_order_release,
                                              std::memory_order_relaxed)) {
        return false;
      }
      capture = found;
      in_flight_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

 private:
  static constexpr std::uint64_t kUsed = std::uint64_t{1} << 63;
  // A launching thread is writing the entry. Not kUsed, so that Take ignores it.
  static constexpr std::uint64_t kClaimed = 1;
  static constexpr std::uint32_t kWrapped = 1u << 31;

  struct Entry {
    std::atomic<std::uint64_t> word{0};  // 0: free
    // Written by the thread that claimed the entry; relaxed.
    std::atomic<std::uint32_t> range_id{0};
    std::atomic<std::uint64_t> step{0};
    std::atomic<std::uint64_t> name_hash{0};

    void Fill(std::uint64_t used, const PendingCapture& capture) noexcept {
      range_id.store(capture.mark.range_id, std::memory_order_relaxed);
      step.store(capture.mark.step, std::memory_order_relaxed);
      name_hash.store(capture.name_hash, std::memory_order_relaxed);
      // Release: publishes the other members; pairs with the acquire in Take.
      word.store(used, std::memory_order_release);
    }
  };
  Entry entries_[kEntries];
  std::atomic<std::uint32_t> in_flight_{0};  // never below the number of words that Take can find
};

}  // namespace stemtap::inject
