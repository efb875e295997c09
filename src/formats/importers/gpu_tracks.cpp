// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/gpu_tracks.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/decimal.h"

namespace stemtap::formats {
namespace {

constexpr std::string_view kGpuProcess = "/device:GPU:";

// Parses the number after `prefix`, up to the first non-digit.
std::optional<std::uint64_t> NumberAfter(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  return WholeNumber(text.substr(0, text.find_first_not_of("0123456789")));
}

std::optional<std::uint32_t> StreamOf(std::string_view thread) {
  std::optional<std::uint64_t> number = NumberAfter(thread, "Stream #");
  if (!number) number = NumberAfter(thread, "Stream ");
  if (!number || *number >= shm::kUnknown32) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

std::optional<std::uint16_t> DeviceOf(std::string_view process, std::string_view prefix) {
  const std::optional<std::uint64_t> number = NumberAfter(process, prefix);
  if (!number || *number >= shm::kUnknown16) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

// Parses "4,106,2", each at most `max`.
template <typename T>
bool ReadExtents(std::string_view text, std::uint64_t max, std::array<T, 3>& extents) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::optional<std::uint64_t> value = WholeNumber(text.substr(0, end));
    if (!value || *value == 0 || *value > max || (end == text.size()) != (axis == 2)) return false;
    extents[axis] = static_cast<T>(*value);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

}  // namespace

void GpuTracks::Learn(const simdjson::dom::object& event) {
  std::string_view what;
  std::string_view name;
  std::int64_t process = 0;
  if (event.at_key("name").get_string().get(what) != simdjson::SUCCESS ||
      event.at_key("pid").get_int64().get(process) != simdjson::SUCCESS ||
      event.at_pointer("/args/name").get_string().get(name) != simdjson::SUCCESS) {
    return;
  }
  std::int64_t thread = 0;
  if (what == "process_name") {
    const std::optional<std::uint16_t> device = DeviceOf(name, kGpuProcess);
    if (!device) return;
    devices_[process] = *device;
  } else if (what == "thread_name" &&
             event.at_key("tid").get_int64().get(thread) == simdjson::SUCCESS) {
    const std::optional<std::uint32_t> stream = StreamOf(name);
    if (!stream) return;
    streams_[{process, thread}] = *stream;
  } else {
    return;
  }
  named_late_ = named_late_ || (devices_.contains(process) && passed_.contains(process));
}

std::optional<GpuTrack> GpuTracks::Find(const simdjson::dom::object& event) {
  std::string_view name;
  if (event.at_key("tid").get_string().get(name) == simdjson::SUCCESS) {
    const std::optional<std::uint32_t> stream = StreamOf(name);
    if (!stream) return std::nullopt;
    GpuTrack track;
    track.stream = *stream;
    if (event.at_key("pid").get_string().get(name) == simdjson::SUCCESS) {
      const std::size_t at = name.rfind("Device ");  // a file name may precede it
      if (at != std::string_view::npos) {
        track.device = DeviceOf(name.substr(at), "Device ").value_or(shm::kUnknown16);
      }
    }
    return track;
  }
  std::int64_t process = 0;
  std::int64_t thread = 0;
  if (event.at_key("pid").get_int64().get(process) != simdjson::SUCCESS ||
      event.at_key("tid").get_int64().get(thread) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  const auto device = devices_.find(process);
  const auto stream = streams_.find({process, thread});
  if (device == devices_.end() || stream == streams_.end()) {
    passed_.insert(process);
    return std::nullopt;
  }
  return GpuTrack{device->second, stream->second};
}

bool NamesNoKernel(std::string_view name) {
  constexpr std::array<std::string_view, 5> kBeginnings = {"Memcpy", "Memset", "memcpy", "memset",
                                                           "[CUDA mem"};
  if (std::any_of(kBeginnings.begin(), kBeginnings.end(),
                  [&](std::string_view beginning) { return name.starts_with(beginning); })) {
    return true;
  }
  return name.size() > 4 && name.starts_with("cuda") && name[4] >= 'A' && name[4] <= 'Z';
}

bool ReadKernelDetails(std::string_view text, shm::KernelRecord& record) {
  std::array<std::uint32_t, 3> grid = {};
  std::array<std::uint16_t, 3> block = {};
  std::optional<std::uint64_t> fixed;
  std::optional<std::uint64_t> dynamic;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = std::min(part.find(':'), part.size());
    const std::string_view key = part.substr(0, colon);
    const std::string_view value = part.substr(std::min(colon + 1, part.size()));
    if (key == "grid" && !ReadExtents(value, std::numeric_limits<std::uint32_t>::max(), grid)) {
      return false;
    }
    if (key == "block" && !ReadExtents(value, std::numeric_limits<std::uint16_t>::max(), block)) {
      return false;
    }
    if (key == "static_shared") fixed = WholeNumber(value);
    if (key == "dynamic_shared") dynamic = WholeNumber(value);
  }
  if (grid[0] == 0 || block[0] == 0) return false;
  std::copy(grid.begin(), grid.end(), record.grid);
  std::copy(block.begin(), block.end(), record.block);
  if (fixed && dynamic && *fixed < shm::kUnknown32 / 2 && *dynamic < shm::kUnknown32 / 2) {
    record.shared_bytes = static_cast<std::uint32_t>(*fixed + *dynamic);
  }
  return true;
}

}  // namespace stemtap::formats
