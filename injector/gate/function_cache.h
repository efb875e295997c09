// SPDX-License-Identifier: Apache-2.0
//
// FunctionCache finds the name hash of a CUfunction by its pointer, and the configuration keys of
// its recent launches, because hashing a name and mixing a key cost more than the rest of the gate.
// StreamTable finds the launch history of a stream by its pointer.
//
// All functions are inline: launch_gate.cpp compiles the path of a launch as one function.
//
// THREADS: any, lock-free.
#pragma once

#include <string.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "recording/name_hash.h"
#include "shm/context_key.h"
#include "shm/deny_list.h"

namespace stemtap::inject {

// Hashes a pointer for a table index: the upper half of the product with an odd constant (2^64
// divided by the golden ratio) depends on all its bits.
inline std::uint32_t Spread(const void* pointer) noexcept {
  return static_cast<std::uint32_t>(
      (reinterpret_cast<std::uintptr_t>(pointer) * 0x9E3779B97F4A7C15u) >> 32);
}

class FunctionCache {
 public:
  // Any launching thread fills an entry; the release store of name_hash publishes the other
  // members.
  struct alignas(64) Entry {
    std::atomic<const void*> function{nullptr};
    std::atomic<const char*> symbol{nullptr};
    // Parts of the name, to detect that both pointers now denote another kernel: a module loaded in
    // the place of an unloaded one may reuse its addresses. length_denied is length * 2, plus 1 if
    // the kernel is never captured.
    std::atomic<std::uint64_t> length_denied{0};
    std::atomic<std::uint64_t> pieces{0};
    std::atomic<std::uint64_t> name_hash{0};  // 0: another thread is filling the entry

    // Returns the key of a launch with this configuration, cached if it is recent.
    std::uint64_t ConfigKey(std::uint64_t hash, const shm::LaunchConfig& config) noexcept;

   private:
    // Shape caches the configuration key of a recent launch shape. Any launching thread writes and
    // reads both words, relaxed. If two writers mix their words, the check fails and the key is
    // recomputed.
    struct Shape {
      std::atomic<std::uint64_t> key{0};
      std::atomic<std::uint64_t> check{0};  // key ^ fold of name and shape
    };
    // If a kernel alternates between more shapes than this, colliding shapes recompute their keys.
    static constexpr std::uint32_t kShapes = 4;
    Shape shapes[kShapes];
  };

  // Returns the entry of the function with this name, filling it if needed. Sets `denied` if the
  // kernel is never captured.
  Entry& Find(const void* function, const char* symbol, bool& denied) noexcept;

 private:
  // 16,384 functions of 128 bytes (two cache lines) take 2 MiB, touched as they are used. With more
  // functions, entries evict each other, and a launch hashes and looks up its name again.
  static constexpr std::uint32_t kFunctions = 1u << 14;
  static constexpr std::uint32_t kMaxProbe = 16;

  static std::uint64_t Pieces(const char* name, std::size_t length) noexcept;
  static bool StillNamed(const char* symbol, std::size_t length, std::uint64_t pieces) noexcept;
  // Fills the entry. Returns whether the kernel is never captured.
  static bool Learn(Entry& entry, const void* function, const char* symbol) noexcept;

  Entry functions_[kFunctions];
};

class StreamTable {
 public:
  // Appends a kernel to the history of its stream. Returns the history before it.
  shm::LaunchHistory Advance(const void* stream, std::uint64_t name_hash) noexcept {
    Entry& entry = entries_[Spread(stream) % kStreams];
    if (entry.stream.load(std::memory_order_relaxed) != stream) {
      entry.stream.store(stream, std::memory_order_relaxed);
      entry.history.store(0, std::memory_order_relaxed);
    }
    // Relaxed and not one exchange: concurrent launches into one stream have no defined order that
    // a history could record.
    const shm::LaunchHistory before = entry.history.load(std::memory_order_relaxed);
    entry.history.store(shm::Advance(before, name_hash), std::memory_order_relaxed);
    return before;
  }

 private:
  struct Entry {
    std::atomic<const void*> stream{nullptr};
    std::atomic<shm::LaunchHistory> history{0};
  };
  // Two streams that share an entry only disturb each other's history.
  static constexpr std::uint32_t kStreams = 256;
  Entry entries_[kStreams];
};

// Folds the first, middle and last eight bytes of a name into one word, which contains a shorter
// name whole. The rotations keep equal pieces from canceling.
inline std::uint64_t FunctionCache::Pieces(const char* name, std::size_t length) noexcept {
  if (length < 8) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < length; ++i) {
      word = word << 8 | static_cast<unsigned char>(name[i]);
    }
    return word;
  }
  const auto at = [name](std::size_t offset) {
    std::uint64_t word;
    ::memcpy(&word, name + offset, sizeof(word));
    return word;
  };
  return at(0) ^ std::rotl(at(length / 2 - 4), 21) ^ std::rotl(at(length - 8), 42);
}

// Returns whether `symbol` still is the name with this length and these pieces. Never reads a page
// that the name does not reach: if the name with the old length ends on its first page, all bytes
// read are on that page; otherwise the name is measured first.
inline bool FunctionCache::StillNamed(const char* symbol, std::size_t length,
                                      std::uint64_t pieces) noexcept {
  constexpr std::uintptr_t kPage = 4096;  // the smallest page size of any system
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(symbol) % kPage;
  const bool ends =
      offset + length < kPage ? symbol[length] == 0 : ::strnlen(symbol, length + 1) == length;
  return ends && Pieces(symbol, length) == pieces;
}

// Not inlined: runs once per function.
[[gnu::noinline]] inline bool FunctionCache::Learn(Entry& entry, const void* function,
                                                   const char* symbol) noexcept {
  const std::size_t length = ::strlen(symbol);
  const bool denied = shm::WhyDenied(symbol) != nullptr;
  // Two threads may fill the entry at once. They write the same words, unless a module was replaced
  // or the entry was evicted in between; then one prediction is wrong.
  entry.name_hash.store(0, std::memory_order_relaxed);
  entry.function.store(function, std::memory_order_relaxed);
  entry.symbol.store(symbol, std::memory_order_relaxed);
  entry.length_denied.store(length * 2 + (denied ? 1 : 0), std::memory_order_relaxed);
  entry.pieces.store(Pieces(symbol, length), std::memory_order_relaxed);
  // Release: pairs with the acquire in Find.
  entry.name_hash.store(HashName(symbol, length), std::memory_order_release);
  return denied;
}

inline FunctionCache::Entry& FunctionCache::Find(const void* function, const char* symbol,
                                                 bool& denied) noexcept {
  const std::uint32_t home = Spread(function) % kFunctions;
  Entry* entry = nullptr;
  for (std::uint32_t probe = 0; probe < kMaxProbe; ++probe) {
    Entry& here = functions_[(home + probe) % kFunctions];
    const void* found = here.function.load(std::memory_order_relaxed);
    if (found == nullptr &&
        here.function.compare_exchange_strong(found, function, std::memory_order_relaxed)) {
      found = function;
    }
    if (found != function) continue;
    entry = &here;
    // Acquire: pairs with the release in Learn, so that the stored members belong to the hash.
    if (here.name_hash.load(std::memory_order_acquire) == 0 ||
        here.symbol.load(std::memory_order_relaxed) != symbol) {
      break;
    }
    // One word contains length and denial, and the length is compared to the name's. The denial
    // therefore belongs to a name of this length and these pieces, even if another thread writes
    // here.
    const std::uint64_t word = here.length_denied.load(std::memory_order_relaxed);
    if (!StillNamed(symbol, word >> 1, here.pieces.load(std::memory_order_relaxed))) break;
    denied = (word & 1) != 0;
    return here;
  }
  // All entries are taken: evict the first one.
  if (entry == nullptr) entry = &functions_[home];
  denied = Learn(*entry, function, symbol);
  return *entry;
}

inline std::uint64_t FunctionCache::Entry::ConfigKey(std::uint64_t hash,
                                                     const shm::LaunchConfig& config) noexcept {
  const std::uint64_t grid_xy = (std::uint64_t{config.grid[0]} << 32) | config.grid[1];
  const std::uint64_t block = (std::uint64_t{config.block[0]} << 32) |
                              (std::uint64_t{config.block[1]} << 16) | config.block[2];
  // Three independent products are faster than the key's chain of nine. The odd factors map
  // distinct values of a word to distinct products.
  const std::uint64_t fold = (grid_xy * 0x9E3779B97F4A7C15u) ^ (block * 0xC2B2AE3D27D4EB4Fu) ^
                             (config.grid[2] * 0xD6E8FEB86659FD93u);
  Shape& shape = shapes[(fold >> 32) % kShapes];
  // Relaxed: each word validates the other.
  const std::uint64_t key = shape.key.load(std::memory_order_relaxed);
  const std::uint64_t check = shape.check.load(std::memory_order_relaxed);
  if (key != 0 && (key ^ check) == (fold ^ hash)) return key;
  const std::uint64_t made = shm::ConfigKey(hash, config);
  shape.key.store(made, std::memory_order_relaxed);
  shape.check.store(made ^ fold ^ hash, std::memory_order_relaxed);
  return made;
}

}  // namespace stemtap::inject
