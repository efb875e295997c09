// SPDX-License-Identifier: Apache-2.0
//
// ExploredKernels is the set of kernels that had their exploratory capture, by name hash.
//
// THREADS: any, lock-free; all accesses are relaxed because an entry is one word.
#pragma once

#include <atomic>
#include <cstdint>

#include "shm/gate_client.h"

namespace stemtap::inject {

class ExploredKernels {
 public:
  // In a crowded region no kernel is explored: no exploratory capture is better than one at every
  // launch.
  bool MayExplore(std::uint64_t name_hash) const noexcept {
    std::uint32_t at = Home(name_hash);
    for (std::uint32_t probe = 0; probe < kMaxProbe; ++probe, at = (at + 1) % kEntries) {
      const std::uint64_t found = entries_[at].load(std::memory_order_relaxed);
      if (found == 0) return true;
      if (IsOf(found, name_hash)) return found == Returned(name_hash);
    }
    return false;
  }

  // Adds the kernel of an exploratory capture. Returns false if it was added before.
  bool Captured(std::uint64_t name_hash, shm::GateAnswer answer) noexcept {
    if (!answer.exploratory()) return true;
    std::uint32_t at = Home(name_hash);
    for (std::uint32_t probe = 0; probe < kMaxProbe; ++probe, at = (at + 1) % kEntries) {
      std::uint64_t found = entries_[at].load(std::memory_order_relaxed);
      if ((found == 0 || found == Returned(name_hash)) &&
          entries_[at].compare_exchange_strong(found, Explored(name_hash),
                                               std::memory_order_relaxed)) {
        return true;
      }
      if (IsOf(found, name_hash)) return false;
    }
    return false;
  }

  // Removes the kernel if it was added: its capture did not lead to a launch.
  void Return(std::uint64_t name_hash) noexcept {
    std::uint32_t at = Home(name_hash);
    for (std::uint32_t probe = 0; probe < kMaxProbe; ++probe, at = (at + 1) % kEntries) {
      const std::uint64_t found = entries_[at].load(std::memory_order_relaxed);
      if (found == 0) return;
      if (!IsOf(found, name_hash)) continue;
      entries_[at].store(Returned(name_hash), std::memory_order_relaxed);
      return;
    }
  }

 private:
  // 512 KiB, touched as they are used; the largest programs have a few thousand kernels.
  static constexpr std::uint32_t kEntries = 1u << 16;
  static constexpr std::uint32_t kMaxProbe = 16;

  // The lowest bit of an entry states whether the kernel is explored. A kernel that was removed
  // keeps its entry, because an empty entry would end the probe sequences of other kernels.
  static std::uint64_t Explored(std::uint64_t name_hash) noexcept { return name_hash | 1; }
  static std::uint64_t Returned(std::uint64_t name_hash) noexcept {
    return name_hash & ~std::uint64_t{1};
  }
  static bool IsOf(std::uint64_t entry, std::uint64_t name_hash) noexcept {
    return Explored(entry) == Explored(name_hash);
  }

  static std::uint32_t Home(std::uint64_t name_hash) noexcept {
    return static_cast<std::uint32_t>(name_hash >> 32) % kEntries;
  }

  std::atomic<std::uint64_t> entries_[kEntries] = {};
};

}  // namespace stemtap::inject
