// SPDX-License-Identifier: Apache-2.0
//
// Events of a Chrome trace that ran on a device, and the device and stream that they ran on, for
// tools that do not write them into the event. GpuTracks finds the streams of XLA, Proton and
// nsys2json by the names of tracks; DeviceEvents recognizes the events of unitrace and of Ascend's
// profilers.
#pragma once

#include <simdjson.h>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "formats/importers/launch_fields.h"
#include "formats/importers/recorded_launches.h"
#include "shm/record.h"

namespace stemtap::formats {

// The device and the stream of a track; unknown if its names do not contain them.
struct GpuTrack {
  std::uint16_t device = shm::kUnknown16;
  std::uint32_t stream = shm::kUnknown32;
  bool only_kernels = false;  // an event on it needs no further evidence
};

// GpuTracks finds the tracks of a Chrome trace that are GPU streams. XLA (JAX, TensorFlow) names
// tracks in metadata events: process "/device:GPU:0", thread "Stream #7(Compute)". Converters such
// as nsys2json use names as ids: "pid": "Device 0", "tid": "Stream 7". Triton's Proton writes the
// stream as the thread id, or names the thread "GPU Stream 7".
//
// A stream may have any id ("Stream #94384723984016", "Stream #0x7f21"); see StreamNumbers.
class GpuTracks {
 public:
  // Reads a metadata event ("ph": "M").
  void Learn(const simdjson::dom::object& event);

  // Returns the stream that an event ran on, or nullopt if its track is not a GPU stream.
  std::optional<GpuTrack> Find(const simdjson::dom::object& event);

  // Returns the track of a kernel that Proton recorded.
  GpuTrack FindProton(const simdjson::dom::object& event);

  bool has_gpu() const { return !devices_.empty(); }
  // Whether a stream was named after events of its process, which Find may have missed.
  bool named_late() const { return named_late_; }

  // Makes the streams of `launches` final and warns about unusual ids. REQUIRES: `launches` is not
  // finished.
  void Finish(const std::string& source, RecordedLaunches& launches) const;

 private:
  // A process or thread id.
  struct Id {
    std::int64_t number = 0;
    std::string other;  // an id that is not a number of 64 bits

    auto operator<=>(const Id&) const = default;
  };

  static std::optional<Id> IdOf(const simdjson::dom::object& event, std::string_view key);
  std::uint16_t DeviceOf(std::string_view process, std::string_view prefix);

  StreamNumbers numbers_;
  std::map<Id, std::uint16_t> devices_;                 // by process
  std::map<std::pair<Id, Id>, std::uint32_t> streams_;  // by process, thread
  std::set<Id> passed_;                                 // processes of events not on a stream
  bool named_late_ = false;
  std::string odd_device_;  // the first process that has no device number from 0 to 65534
};

// The name of the process of XLA's GPU N is this and the number.
inline constexpr std::string_view kGpuProcess = "/device:GPU:";

// Returns the number after `prefix`, up to the first non-digit; nullopt if `text` does not start
// with `prefix` and a number.
std::optional<std::uint64_t> NumberAfter(std::string_view text, std::string_view prefix);

// Returns the id in the name of a stream if it is a number, which may be hexadecimal or negative:
// "7" for "Stream #7(Compute)".
std::optional<std::string_view> NumericStreamId(std::string_view thread);

// Returns whether an event on a stream is not a kernel, for example a copy or a CUDA API call.
bool NamesNoKernel(std::string_view name);

// Parses XLA's description of a launch, "regs:32 static_shared:0 dynamic_shared:0 grid:4,1,1
// block:256,1,1 occ_pct:100", into `record`. Returns false and leaves `record` unchanged if `text`
// is anything else.
bool ReadKernelDetails(std::string_view text, shm::KernelRecord& record);

// DeviceEvents recognizes what ran on a device in the Chrome traces of Intel's unitrace (category
// "gpu_op" and an id, docs/formats/unitrace.md) and of Ascend's profilers (trace_view.json,
// msprof_*.json; args "Task Type", docs/formats/ascend.md). Their tracks are named after their
// events or by host threads, so devices and streams without a number are numbered in order of
// appearance.
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
