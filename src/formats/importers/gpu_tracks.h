// SPDX-License-Identifier: Apache-2.0
//
// GpuTracks finds the tracks of a Chrome trace that are GPU streams. XLA (JAX, TensorFlow) names
// tracks in metadata events: process "/device:GPU:0", thread "Stream #7(Compute)". Converters such
// as nsys2json use names as ids: "pid": "Device 0", "tid": "Stream 7".
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "shm/record.h"

namespace stemtap::formats {

struct GpuTrack {
  std::uint16_t device = shm::kUnknown16;
  std::uint32_t stream = shm::kUnknown32;
};

class GpuTracks {
 public:
  // Reads a metadata event ("ph": "M").
  void Learn(const simdjson::dom::object& event);

  // Returns the stream that an event ran on, or nullopt if its track is not a GPU stream.
  std::optional<GpuTrack> Find(const simdjson::dom::object& event);

  bool has_gpu() const { return !devices_.empty(); }
  // Whether a stream was named after events of its process, which Find may have missed.
  bool named_late() const { return named_late_; }

 private:
  std::unordered_map<std::int64_t, std::uint16_t> devices_;                 // by pid
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> streams_;  // by pid, tid
  std::unordered_set<std::int64_t> passed_;  // pids of events that were not on a stream
  bool named_late_ = false;
};

// Returns whether an event on a stream is not a kernel, for example a copy or a CUDA API call.
bool NamesNoKernel(std::string_view name);

// Parses XLA's description of a launch, "regs:32 static_shared:0 dynamic_shared:0 grid:4,1,1
// block:256,1,1 occ_pct:100", into `record`. Returns false and leaves `record` unchanged if `text`
// is anything else.
bool ReadKernelDetails(std::string_view text, shm::KernelRecord& record);

}  // namespace stemtap::formats
