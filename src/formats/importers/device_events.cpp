// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/device_events.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/decimal.h"
#include "base/text.h"
#include "formats/importers/gpu_tracks.h"
#include "formats/importers/recorded_launches.h"

namespace stemtap::formats {
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
