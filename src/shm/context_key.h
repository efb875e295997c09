// SPDX-License-Identifier: Apache-2.0
//
// Context keys: what is known of a launch before it runs, from specific to general. The gate looks a
// launch up under each in turn (back-off), the sampler files what it learns under the same keys, so
// both sides compute them here. Source: docs/math/online.md, finding 1.
//
//   history key   name, grid, block, and the two kernels before it on its stream
//   config key    name, grid, block
//   name key      name
//
// Shared memory is no part of a key: a launch call states its dynamic share alone, an activity record
// the sum with the static one, so the two sides would not agree.
//
// Used by the injected library: needs libc alone.
#pragma once

#include <cstddef>
#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace stemtap::shm {

// Content hash of a kernel name, the same in every process. Never 0.
inline std::uint64_t NameHash(const char* name, std::size_t length) {
  const std::uint64_t hash = XXH3_64bits(name, length);
  return hash == 0 ? 1 : hash;
}

// Mixes two words: each is multiplied by an odd constant (so no value of one, the other fixed, collides
// with another), then the finaliser of SplitMix64. Never 0: 0 marks an empty entry of the gate table.
constexpr std::uint64_t MixKeys(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9E3779B97F4A7C15u + ((b << 32) | (b >> 32)) * 0xC2B2AE3D27D4EB4Fu;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  x ^= x >> 31;
  return x == 0 ? 1 : x;
}

// LaunchConfig is the part of the launch call that the caller chooses.
struct LaunchConfig {
  std::uint32_t grid[3];
  std::uint16_t block[3];
};

// The hash of a kernel name where each process's kernels are its own (kGateByProcess), in place of
// NameHash on both sides.
inline std::uint64_t ProcessNameHash(std::uint64_t name_hash, std::int32_t pid) {
  return MixKeys(name_hash, (std::uint64_t{1} << 32) | static_cast<std::uint32_t>(pid));
}

// One operation each for the keys of hashes, since the gate makes them at every launch. A hash is mixed
// already: to be a key of its own kind it need only be moved.
inline std::uint64_t NameKey(std::uint64_t name_hash) {
  const std::uint64_t key = name_hash ^ 0x9E3779B97F4A7C15u;
  return key == 0 ? 1 : key;
}

inline std::uint64_t ConfigKey(std::uint64_t name_hash, const LaunchConfig& config) {
  const std::uint64_t grid_xy =
      (std::uint64_t{config.grid[0]} << 32) | std::uint64_t{config.grid[1]};
  const std::uint64_t block = (std::uint64_t{config.block[0]} << 32) |
                              (std::uint64_t{config.block[1]} << 16) |
                              std::uint64_t{config.block[2]};
  // One chain of multiplications would cost its latency three times; two independent mixes overlap.
  return MixKeys(MixKeys(name_hash, grid_xy), MixKeys(config.grid[2], block));
}

// LaunchHistory holds the two kernels last launched on one stream, 32 bits of hash each.
// 0 before the first launch.
using LaunchHistory = std::uint64_t;

// The histories of one configuration have a key each, the factor being odd; + 2 keeps the first, 0,
// from the configuration's own key. Its upper bits depend on all of both words, the lower ones do not.
inline std::uint64_t HistoryKey(std::uint64_t config_key, LaunchHistory before) {
  const std::uint64_t key = config_key + (before + 2) * 0xD6E8FEB86659FD93u;
  return key == 0 ? 1 : key;
}

inline LaunchHistory Advance(LaunchHistory before, std::uint64_t name_hash) {
  return (before << 32) | (name_hash >> 32);
}

}  // namespace stemtap::shm
