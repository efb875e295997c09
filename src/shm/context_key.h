// SPDX-License-Identifier: Apache-2.0
//
// Context keys are hashes of what is known about a launch before it runs, from specific to general.
// The gate looks up the keys of a launch in this order until it finds one. The sampler stores what
// it learns under the same keys, so both sides compute them here.
//
//   node key      kernel name, grid, block, and the node of the graph that is being launched
//   history key   kernel name, grid, block, and the two previous kernels on the stream
//   config key    kernel name, grid, block
//   name key      kernel name
//
// Keys do not include shared memory: a launch call contains the dynamic size only, an activity
// record the sum of dynamic and static size, so the two sides would compute different keys.
//
// Used by the injected library: needs libc only.
// SOURCE: docs/math/online.md, finding 1.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace stemtap::shm {

// Returns the content hash of a kernel name, which is the same in every process. Never 0.
inline std::uint64_t NameHash(const char* name, std::size_t length) {
  const std::uint64_t hash = XXH3_64bits(name, length);
  return hash == 0 ? 1 : hash;
}

// Mixes two words: multiplies each by an odd constant (if one word is fixed, different values of
// the other do not collide), adds them and applies the finalizer of SplitMix64. Never 0, which
// marks an empty entry of the gate table.
constexpr std::uint64_t MixKeys(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9E3779B97F4A7C15u + ((b << 32) | (b >> 32)) * 0xC2B2AE3D27D4EB4Fu;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  x ^= x >> 31;
  return x == 0 ? 1 : x;
}

// LaunchConfig is the grid and block of a launch.
struct LaunchConfig {
  std::uint32_t grid[3];
  std::uint16_t block[3];

  auto operator<=>(const LaunchConfig&) const = default;
};

// Returns the hash of the launches of a kernel name in a range, whose NameHash is `range_hash`; 0:
// the name's own hash. Both sides use it instead of NameHash if launches are grouped by range.
inline std::uint64_t RangeNameHash(std::uint64_t name_hash, std::uint64_t range_hash) {
  return range_hash == 0 ? name_hash : MixKeys(name_hash, range_hash);
}

// Returns the hash of a kernel name in one process. Both sides use it instead of NameHash if
// kernels are kept separate by process (kGateByProcess). `name_hash`: of RangeNameHash.
inline std::uint64_t ProcessNameHash(std::uint64_t name_hash, std::int32_t pid) {
  return MixKeys(name_hash, (std::uint64_t{1} << 32) | static_cast<std::uint32_t>(pid));
}

// The gate computes keys at every launch, so NameKey takes only one operation. A name hash is
// already well mixed; XOR with a constant is enough to separate name keys from other keys.
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
  // Two independent mixes overlap; a chain of three has three times the latency of one.
  return MixKeys(MixKeys(name_hash, grid_xy), MixKeys(config.grid[2], block));
}

// LaunchHistory is the last two kernels launched on one stream: 32 bits of each name hash. 0 before
// the first launch.
using LaunchHistory = std::uint64_t;

// Different histories of one configuration have different keys because the factor is odd. `+ 2`
// separates the key of the empty history, 0, from the config key. Bit k of the key depends on bits
// 0 to k of both words, so the upper bits are mixed best.
inline std::uint64_t HistoryKey(std::uint64_t config_key, LaunchHistory before) {
  const std::uint64_t key = config_key + (before + 2) * 0xD6E8FEB86659FD93u;
  return key == 0 ? 1 : key;
}

// Returns the key of a graph node, or 0 for a launch outside a graph (graph_id 0).
inline std::uint64_t NodeKey(std::uint64_t config_key, std::uint32_t graph_id,
                             std::uint32_t graph_node) {
  if (graph_id == 0) return 0;
  return MixKeys(MixKeys(config_key, 3), (std::uint64_t{graph_id} << 32) | graph_node);
}

inline LaunchHistory Advance(LaunchHistory before, std::uint64_t name_hash) {
  return (before << 32) | (name_hash >> 32);
}

}  // namespace stemtap::shm
