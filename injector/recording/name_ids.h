// SPDX-License-Identifier: Apache-2.0
//
// NameIds assigns dense ids to kernel names by content. CUPTI's name pointers do not identify a
// name: when a module is unloaded, its names are freed and the next module may reuse their
// addresses.
//
// Only hashes are stored. The probability that two of 65,536 names share a 64-bit hash is 1e-10.
//
// THREADS: none; used under the decoder's lock.
#pragma once

#include <cstdint>

#include "shm/record.h"

namespace stemtap::inject {

class NameIds {
 public:
  // Bounds the table (2 MiB, touched as it fills).
  static constexpr std::uint32_t kMaxNames = shm::kMaxNames;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Returns the id of the name with `hash` (never 0), or kNone if it has none.
  std::uint32_t Find(std::uint64_t hash) const noexcept {
    for (std::uint32_t at = Home(hash);; at = (at + 1) % kTable) {
      if (hashes_[at] == hash) return ids_[at];
      if (hashes_[at] == 0) return kNone;
    }
  }
  bool full() const noexcept { return size_ == kMaxNames; }
  // The id that Add will assign.
  std::uint32_t next() const noexcept { return size_; }
  // Assigns the next id. REQUIRES: Find(hash) == kNone, !full().
  std::uint32_t Add(std::uint64_t hash) noexcept {
    std::uint32_t at = Home(hash);
    while (hashes_[at] != 0) at = (at + 1) % kTable;
    hashes_[at] = hash;
    ids_[at] = size_;
    return size_++;
  }

 private:
  static constexpr std::uint32_t kTable = 2 * kMaxNames;
  static std::uint32_t Home(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash >> 32) % kTable;
  }
  std::uint64_t hashes_[kTable] = {};
  std::uint32_t ids_[kTable] = {};
  std::uint32_t size_ = 0;
};

}  // namespace stemtap::inject
