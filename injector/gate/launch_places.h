// SPDX-License-Identifier: Apache-2.0
//
// LaunchPlaces passes the ranges of launches from the launch callback to the decoder, which
// receives the records of their kernels about 0.1 s later. An entry is one word, and a later launch
// replaces it.
//
// THREADS: Put from any thread, Find by the decoder. Relaxed: CUPTI hands the record of a launch
// from thread to thread under its locks.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

#include "shm/record.h"

namespace stemtap::inject {

class LaunchPlaces {
 public:
  // Reserves the memory, 4 MiB that are touched as they are used. Returns false if there is none.
  // Call before the others.
  bool Init() noexcept {
    void* const memory = ::mmap(nullptr, kEntries * sizeof(Word), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    words_ = static_cast<Word*>(memory);  // zeros, as a Word begins
    return true;
  }

  // `range`: an id of LaunchRanges. `is_outside`: the launch is not selected.
  void Put(std::uint32_t correlation_id, std::uint16_t range, bool is_outside) noexcept {
    words_[correlation_id % kEntries].store(
        std::uint64_t{correlation_id} << 32 | kUsed | (is_outside ? kOutside : 0) | range,
        std::memory_order_relaxed);
  }

  // Returns false if the launch is not known.
  bool Find(std::uint32_t correlation_id, std::uint16_t& range, bool& is_outside) const noexcept {
    const std::uint64_t word = words_[correlation_id % kEntries].load(std::memory_order_relaxed);
    if ((word & kUsed) == 0 || word >> 32 != correlation_id) return false;
    range = static_cast<std::uint16_t>(word);
    is_outside = (word & kOutside) != 0;
    return true;
  }

 private:
  using Word = std::atomic<std::uint64_t>;
  // Every call of the program takes a correlation id, and a record arrives within two flush periods
  // (400 ms): enough for 1.3 million calls per second, three times what a driver makes.
  static constexpr std::uint32_t kEntries = 1u << 19;
  static constexpr std::uint64_t kUsed = 1u << 31;
  static constexpr std::uint64_t kOutside = 1u << 30;

  Word* words_ = nullptr;
};

}  // namespace stemtap::inject
