// SPDX-License-Identifier: Apache-2.0
//
// DeviceEvents recognizes what ran on a device in the Chrome traces of Intel's unitrace (category
// "gpu_op" and an id, docs/formats/unitrace.md) and of Ascend's profilers (trace_view.json,
// msprof_*.json; args "Task Type", docs/formats/ascend.md). Their tracks are named after their
// events or by host threads, so devices and streams without a number are numbered in order of
// appearance.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "shm/record.h"

namespace stemtap::formats {

struct DeviceEvent {
  bool is_kernel = false;
  std::string_view name;  // valid as long as the parsed event
  shm::KernelRecord record;
};

class DeviceEvents {
 public:
  // Returns nullopt if the event does not belong to one of these tools or did not run on a device.
  // Counts the events that are not kernels.
  std::optional<DeviceEvent> Find(const simdjson::dom::object& event, std::string_view category);

  std::uint64_t not_kernels() const { return not_kernels_; }  // copies, waits, ...
  // Events of unitrace for the tiles of a GPU, beyond the first, on which a launch also ran.
  std::uint64_t other_tiles() const { return other_tiles_; }

 private:
  std::optional<DeviceEvent> FindUnitrace(const simdjson::dom::object& event);
  std::optional<DeviceEvent> FindAscend(const simdjson::dom::object& event);
  std::uint16_t DeviceOf(const simdjson::dom::object& event);

  std::unordered_map<std::int64_t, std::uint16_t> devices_;  // by pid
  std::unordered_map<std::int64_t, std::uint32_t> streams_;  // by tid
  std::uint64_t not_kernels_ = 0;
  std::uint64_t other_tiles_ = 0;
};

// Parses a name of unitrace, "gemm[SIMD32 {8; 4; 1} {128; 1; 1}]": returns "gemm" and sets grid and
// block of `record`. Returns any other name unchanged.
std::string_view TakeUnitraceExtents(std::string_view name, shm::KernelRecord& record);

}  // namespace stemtap::formats
