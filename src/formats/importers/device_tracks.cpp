// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/device_tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/decimal.h"
#include "base/text.h"
#include "formats/importers/recorded_launches.h"

namespace stemtap::formats {

std::optional<std::uint64_t> NumberAfter(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  return WholeNumber(text.substr(0, text.find_first_not_of("0123456789")));
}

namespace {

constexpr std::string_view kDevice = "Device ";

constexpr std::uint64_t kMaxNumber = std::numeric_limits<std::int64_t>::max();

constexpr std::array<std::string_view, 3> kStreamThreads = {"Stream #", "GPU Stream ", "Stream "};

// Returns the id in the name of a stream: "7" for "Stream #7(Compute)".
std::optional<std::string_view> StreamId(std::string_view thread) {
  for (const std::string_view prefix : kStreamThreads) {
    if (!thread.starts_with(prefix)) continue;
    thread.remove_prefix(prefix.size());
    return thread.substr(0, thread.find_first_of("(, "));
  }
  return std::nullopt;
}

// Returns whether an id is a number: 7, -1, 0x7f21.
bool IsNumber(std::string_view id) {
  if (id.starts_with('-')) id.remove_prefix(1);
  return !id.empty() && id[0] >= '0' && id[0] <= '9';
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

std::optional<std::string_view> NumericStreamId(std::string_view thread) {
  const std::optional<std::string_view> id = StreamId(thread);
  return id && IsNumber(*id) ? id : std::nullopt;
}

// Returns the id of a process ("pid") or thread ("tid"). A number may also be a string, as in all
// cells of an event.
std::optional<GpuTracks::Id> GpuTracks::IdOf(const simdjson::dom::object& event,
                                             std::string_view key) {
  simdjson::dom::element value;
  if (event.at_key(key).get(value) != simdjson::SUCCESS) return std::nullopt;
  std::int64_t number = 0;
  if (value.get_int64().get(number) == simdjson::SUCCESS) return Id{number, {}};
  std::string_view text;
  std::string printed;
  if (value.is_number()) {  // 2^63 or more, or 7.0
    printed = simdjson::minify(value);
    text = printed;
  } else if (value.get_string().get(text) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  if (const std::optional<JsonDecimal> decimal = ParseDecimal(text, 0);
      decimal && decimal->exact && decimal->magnitude <= kMaxNumber) {
    const auto magnitude = static_cast<std::int64_t>(decimal->magnitude);
    return Id{decimal->negative ? -magnitude : magnitude, {}};
  }
  return Id{0, std::string(text)};
}

// Returns the number after `prefix`; unknown if there is none that fits.
std::uint16_t GpuTracks::DeviceOf(std::string_view process, std::string_view prefix) {
  const std::optional<std::uint64_t> number = NumberAfter(process, prefix);
  if (number && *number < shm::kUnknown16) return static_cast<std::uint16_t>(*number);
  if (odd_device_.empty()) odd_device_ = process;
  return shm::kUnknown16;
}

void GpuTracks::Learn(const simdjson::dom::object& event) {
  std::string_view what;
  std::string_view name;
  const std::optional<Id> process = IdOf(event, "pid");
  if (!process || event.at_key("name").get_string().get(what) != simdjson::SUCCESS ||
      event.at_pointer("/args/name").get_string().get(name) != simdjson::SUCCESS) {
    return;
  }
  if (what == "process_name") {
    if (!name.starts_with(kGpuProcess)) return;
    devices_[*process] = DeviceOf(name, kGpuProcess);
  } else if (what == "thread_name") {
    const std::optional<Id> thread = IdOf(event, "tid");
    const std::optional<std::string_view> stream = StreamId(name);
    if (!thread || !stream) return;
    streams_[{*process, *thread}] = numbers_.Of(*stream);
  } else {
    return;
  }
  named_late_ = named_late_ || (devices_.contains(*process) && passed_.contains(*process));
}

std::optional<GpuTrack> GpuTracks::Find(const simdjson::dom::object& event) {
  std::string_view name;
  if (event.at_key("tid").get_string().get(name) == simdjson::SUCCESS) {
    if (const std::optional<std::string_view> stream = NumericStreamId(name)) {
      GpuTrack track;
      track.stream = numbers_.Of(*stream);
      if (event.at_key("pid").get_string().get(name) == simdjson::SUCCESS) {
        const std::size_t at = name.rfind(kDevice);  // a file name may precede it
        if (at != std::string_view::npos) track.device = DeviceOf(name.substr(at), kDevice);
      }
      return track;
    }
  }
  const std::optional<Id> process = IdOf(event, "pid");
  const std::optional<Id> thread = IdOf(event, "tid");
  if (!process || !thread) return std::nullopt;
  const auto device = devices_.find(*process);
  const auto stream = streams_.find({*process, *thread});
  if (device == devices_.end() || stream == streams_.end()) {
    passed_.insert(*process);
    return std::nullopt;
  }
  GpuTrack track;
  track.device = device->second;
  track.stream = stream->second;
  return track;
}

GpuTrack GpuTracks::FindProton(const simdjson::dom::object& event) {
  GpuTrack track;
  track.only_kernels = true;
  const std::optional<Id> process = IdOf(event, "pid");
  const std::optional<Id> thread = IdOf(event, "tid");
  if (!thread) return track;
  const auto named = process ? streams_.find({*process, *thread}) : streams_.end();
  if (named != streams_.end()) {
    track.stream = named->second;
  } else if (thread->other.empty()) {
    track.stream = numbers_.Of(thread->number);
  } else {
    track.stream = numbers_.Of(thread->other);
  }
  return track;
}

void GpuTracks::Finish(const std::string& source, RecordedLaunches& launches) const {
  numbers_.Finish(source, launches);
  if (odd_device_.empty()) return;
  launches.Warn(
      fmt::format("{}: '{}' has no device number from 0 to {}; the devices of such processes are "
                  "unknown",
                  source, ShownCell(odd_device_), shm::kUnknown16 - 1));
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

namespace {

// Returns the number of `id`, which is the next one if `id` is new. The last number is "unknown".
template <typename T>
T NumberOf(std::int64_t id, std::unordered_map<std::int64_t, T>& numbers) {
  const auto next =
      static_cast<T>(std::min<std::size_t>(numbers.size(), std::numeric_limits<T>::max()));
  return numbers.try_emplace(id, next).first->second;
}

// Removes "{x; y; z}" from the end of `text`.
std::optional<std::array<std::uint64_t, 3>> TakeExtent(std::string_view& text, std::uint64_t max) {
  const std::size_t open = text.rfind('{');
  if (open == std::string_view::npos || !text.ends_with('}')) return std::nullopt;
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  std::array<std::uint64_t, 3> extent = {};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::optional<std::uint64_t> value = WholeNumber(Trimmed(rest.substr(0, end)));
    if (!value || *value == 0 || *value > max || (end == rest.size()) != (axis == 2)) {
      return std::nullopt;
    }
    extent[axis] = *value;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  text = Trimmed(text.substr(0, open));
  return extent;
}

// Returns whether a task of this type runs code of the program: on a vector or a cube core, on
// both, or on the CPU of the NPU (AI_CORE, AI_VECTOR_CORE, MIX_AIC, KERNEL_AIVEC, AI_CPU, ...).
bool RunsCode(std::string_view task_type) {
  constexpr std::array<std::string_view, 3> kParts = {"AI_", "AIC", "AIV"};
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
    return task_type.find(part) != std::string_view::npos;
  });
}

}  // namespace

std::string_view TakeUnitraceExtents(std::string_view name, shm::KernelRecord& record) {
  if (!name.ends_with("}]")) return name;
  std::string_view rest = name.substr(0, name.size() - 1);
  const auto block = TakeExtent(rest, std::numeric_limits<std::uint16_t>::max());
  const auto grid = block ? TakeExtent(rest, std::numeric_limits<std::uint32_t>::max())
                          : std::optional<std::array<std::uint64_t, 3>>();
  if (!grid) return name;
  const std::size_t simd = rest.rfind("[SIMD");
  if (simd != std::string_view::npos) rest = rest.substr(0, simd);
  if (rest.empty()) return name;
  std::copy(grid->begin(), grid->end(), record.grid);
  std::copy(block->begin(), block->end(), record.block);
  return rest;
}

std::optional<DeviceEvent> DeviceEvents::Find(const simdjson::dom::object& event,
                                              std::string_view category) {
  std::string_view phase;
  if ((category != "gpu_op" && !category.empty()) ||
      event.at_key("ph").get_string().get(phase) != simdjson::SUCCESS || phase != "X") {
    return std::nullopt;
  }
  return category.empty() ? FindAscend(event) : FindUnitrace(event);
}

std::uint16_t DeviceEvents::DeviceOf(const simdjson::dom::object& event) {
  std::int64_t process = 0;
  if (event.at_key("pid").get_int64().get(process) != simdjson::SUCCESS) return shm::kUnknown16;
  return NumberOf(process, devices_);
}

std::optional<DeviceEvent> DeviceEvents::FindUnitrace(const simdjson::dom::object& event) {
  std::string_view id;  // other tools with this category do not write one
  if (event.at_pointer("/args/id").get_string().get(id) != simdjson::SUCCESS) return std::nullopt;
  DeviceEvent found;
  found.record = RecordedLaunches::Unknown();
  if (event.at_key("name").get_string().get(found.name) != simdjson::SUCCESS) found.name = {};
  if (found.name.starts_with("zeCommand") || found.name.starts_with("clEnqueue")) {
    ++not_kernels_;
    return found;
  }
  if (const std::optional<std::uint64_t> tile = NumberAfter(found.name, "Tile #")) {
    if (*tile != 0) {
      ++other_tiles_;
      return found;
    }
    const std::size_t colon = found.name.find(": ");
    if (colon != std::string_view::npos) found.name.remove_prefix(colon + 2);
  }
  found.is_kernel = true;
  found.name = TakeUnitraceExtents(found.name, found.record);
  found.record.device = DeviceOf(event);
  std::int64_t thread = 0;
  if (event.at_key("tid").get_int64().get(thread) == simdjson::SUCCESS) {
    found.record.stream = NumberOf(thread, streams_);
  }
  found.record.correlation_id = static_cast<std::uint32_t>(WholeNumber(id).value_or(0));
  return found;
}

std::optional<DeviceEvent> DeviceEvents::FindAscend(const simdjson::dom::object& event) {
  simdjson::dom::object args;
  std::string_view type;
  if (event.at_key("args").get_object().get(args) != simdjson::SUCCESS ||
      args.at_key("Task Type").get_string().get(type) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  DeviceEvent found;
  if (!RunsCode(type)) {
    ++not_kernels_;
    return found;
  }
  found.is_kernel = true;
  found.record = RecordedLaunches::Unknown();
  if (event.at_key("name").get_string().get(found.name) != simdjson::SUCCESS) found.name = {};
  found.record.device = DeviceOf(event);
  std::uint64_t stream = shm::kUnknown32;
  if (event.at_key("tid").get_uint64().get(stream) == simdjson::SUCCESS &&
      stream < shm::kUnknown32) {
    found.record.stream = static_cast<std::uint32_t>(stream);
  }
  // All bits are set if the host did not launch the task.
  std::uint64_t connection = 0;
  if (args.at_key("connection_id").get_uint64().get(connection) == simdjson::SUCCESS &&
      connection < shm::kUnknown32) {
    found.record.correlation_id = static_cast<std::uint32_t>(connection);
  }
  return found;
}

}  // namespace stemtap::formats
