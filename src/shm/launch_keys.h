// SPDX-License-Identifier: Apache-2.0
//
// LaunchKeys are the context keys of one launch (context_key.h). The gate, the sampler and the
// benchmarks compute them here, so they find the same contexts.
//
// Used by the injected library: needs libc only.
#pragma once

#include <cstdint>

#include "shm/context_key.h"
#include "shm/gate_table.h"
#include "shm/record.h"

namespace stemtap::shm {

// Returns the configuration of a launch: grid and block, or zeros if the grid is unknown. A plan
// contains both or neither, so kernels that differ only in the block would be equal when read back.
inline LaunchConfig ConfigOf(const KernelRecord& record) {
  if (record.grid[0] == kUnknownExtent) return {};
  return {{record.grid[0], record.grid[1], record.grid[2]},
          {record.block[0], record.block[1], record.block[2]}};
}

struct LaunchKeys {
  std::uint64_t name_hash = 0;
  std::uint64_t config = 0;
  std::uint64_t history = 0;
  // Key of a graph node, or 0 if it is not looked up: a gate at the launch call cannot use it,
  // because a graph launches all of its kernels at once.
  std::uint64_t node = 0;

  LaunchKeys() = default;
  // `before`: the history of the stream before this launch.
  LaunchKeys(std::uint64_t name, std::uint64_t config_key, LaunchHistory before)
      : name_hash(name), config(config_key), history(HistoryKey(config_key, before)) {}
  LaunchKeys(std::uint64_t name, const KernelRecord& record, LaunchHistory before)
      : LaunchKeys(name, ConfigKey(name, ConfigOf(record)), before) {}
};

// Returns the slot of the most specific known context of a launch, or kNoSlot if the kernel name is
// unknown too.
inline std::uint32_t FindLaunch(const GateTable& table, const LaunchKeys& keys) noexcept {
  std::uint32_t slot = keys.node == 0 ? kNoSlot : table.Find(keys.node);
  if (slot == kNoSlot) slot = table.Find(keys.history);
  if (slot == kNoSlot) slot = table.Find(keys.config);
  if (slot == kNoSlot) slot = table.Find(NameKey(keys.name_hash));
  return slot;
}

}  // namespace stemtap::shm
