// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/kineto_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace stemtap::formats {
namespace {

namespace ondemand = simdjson::ondemand;

// More ranks than a merged trace can contain. Text that differs in each event must not fill memory.
constexpr std::size_t kMaxProcesses = 65536;

constexpr std::uint64_t kMaxDuration = std::numeric_limits<std::int64_t>::max();

using Cell = KernelEvents::Cell;

struct CellInfo {
  std::string_view key;
  std::uint64_t min;
  std::uint64_t max;
};

// In the order of Cell. The maximum value of each type means "unknown".
constexpr std::array kCells = {
    CellInfo{"device", 0, shm::kUnknown16 - 1},
    CellInfo{"stream", 0, shm::kUnknown32 - 1},
    CellInfo{"correlation", 0, std::numeric_limits<std::uint64_t>::max()},
    CellInfo{"shared memory", 0, shm::kUnknown32 - 1},
    CellInfo{"graph id", 0, std::numeric_limits<std::uint32_t>::max()},
    CellInfo{"graph node id", 0, std::numeric_limits<std::uint64_t>::max()},
    CellInfo{"grid", 1, std::numeric_limits<std::uint32_t>::max()},
    CellInfo{"block", 1, std::numeric_limits<std::uint16_t>::max()},
};

// Returns the text of a number, or of a string that contains a number; nullopt for anything else.
std::optional<std::string_view> NumberText(ondemand::value value) {
  ondemand::json_type type;
  if (value.type().get(type) != simdjson::SUCCESS) return {};
  std::string_view text;
  if (type == ondemand::json_type::string) {
    if (value.get_string().get(text) != simdjson::SUCCESS) return {};
    return text;
  }
  if (type != ondemand::json_type::number) return {};
  text = value.raw_json_token();
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

std::optional<std::uint64_t> IntegerOf(std::string_view text, const CellInfo& cell) {
  const std::optional<JsonDecimal> number = ParseDecimal(text, 0);
  if (!number || !number->exact || number->negative || number->magnitude < cell.min ||
      number->magnitude > cell.max) {
    return {};
  }
  return number->magnitude;
}

std::optional<std::uint64_t> ReadInteger(ondemand::value value, const CellInfo& cell) {
  const std::optional<std::string_view> text = NumberText(value);
  return text ? IntegerOf(*text, cell) : std::nullopt;
}

// Reads [x, y, z]; returns false for anything else.
template <typename T>
bool ReadExtent(ondemand::value value, const CellInfo& cell, T (&extent)[3]) {
  ondemand::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return false;
  T read[3] = {};
  std::size_t count = 0;
  for (auto item : array) {
    ondemand::value element;
    if (item.get(element) != simdjson::SUCCESS || count == 3) return false;
    const std::optional<std::uint64_t> number = ReadInteger(element, cell);
    if (!number) return false;
    read[count++] = static_cast<T>(*number);
  }
  if (count != 3) return false;
  std::copy(read, read + 3, extent);
  return true;
}

// PaddlePaddle's name for the correlation id.
constexpr std::string_view kPaddleCorrelation = "correlation id";

// Names of other tools for the same fields: "sycl queue" is torch.profiler's on an Intel GPU, the
// others are XLA's.
struct Alias {
  std::string_view key;
  Cell cell;
};
constexpr std::array kOtherKeys = {
    Alias{kPaddleCorrelation, Cell::kCorrelation}, Alias{"correlation_id", Cell::kCorrelation},
    Alias{"cuda_graph_id", Cell::kGraph}, Alias{"cuda_graph_node_id", Cell::kGraphNode},
    Alias{"sycl queue", Cell::kStream}};

// Keys of ONNX Runtime, whose values are numbers as strings.
constexpr std::array<std::string_view, 6> kOnnxExtents = {"grid_x",  "grid_y",  "grid_z",
                                                          "block_x", "block_y", "block_z"};

// PaddlePaddle appends the duration to each name: "NAME[1.244 ms]".
std::string_view WithoutDuration(std::string_view name) {
  constexpr std::string_view kEnd = " ms]";
  if (!name.ends_with(kEnd)) return name;
  const std::size_t open = name.rfind('[');
  if (open == std::string_view::npos || open == 0) return name;
  const std::string_view number = name.substr(open + 1, name.size() - kEnd.size() - open - 1);
  const bool is_number = !number.empty() && number.find_first_not_of("0123456789.") == number.npos;
  return is_number ? name.substr(0, open) : name;
}

// Returns false if the field cannot contain the value; the field then stays unknown.
bool ReadCell(Cell cell, ondemand::value value, shm::KernelRecord& record) {
  ondemand::json_type type;
  if (value.type().get(type) != simdjson::SUCCESS) return false;
  if (type == ondemand::json_type::null) return true;
  const CellInfo& info = kCells[static_cast<std::size_t>(cell)];
  if (cell == Cell::kGrid) return ReadExtent(value, info, record.grid);
  if (cell == Cell::kBlock) return ReadExtent(value, info, record.block);
  const std::optional<std::uint64_t> number = ReadInteger(value, info);
  if (!number) return false;
  switch (cell) {
    case Cell::kDevice:
      record.device = static_cast<std::uint16_t>(*number);
      break;
    case Cell::kStream:
      record.stream = static_cast<std::uint32_t>(*number);
      break;
    case Cell::kCorrelation:
      record.correlation_id = static_cast<std::uint32_t>(*number);
      break;
    case Cell::kShared:
      record.shared_bytes = static_cast<std::uint32_t>(*number);
      break;
    case Cell::kGraph:
      record.graph_id = static_cast<std::uint32_t>(*number);
      break;
    case Cell::kGraphNode:
      record.graph_node = static_cast<std::uint32_t>(*number);
      break;
    case Cell::kGrid:
    case Cell::kBlock:
      break;
  }
  return true;
}

}  // namespace

void KernelEvents::Read(std::string_view text, std::uint64_t offset, const GpuTrack* track,
                        RecordedLaunches& launches) {
  Event event;
  event.record = RecordedLaunches::Unknown();
  if (track != nullptr) {
    event.record.device = track->device;
    event.record.stream = track->stream;
  }
  std::string_view problem = Parse(text, offset, event);
  if (problem.empty() && track != nullptr && !track->only_kernels) {
    const bool graph = event.name.starts_with("CudaGraphExec");
    graphs_ += graph ? 1 : 0;
    if (graph || event.details == Details::kOfOther) return;
    if (event.details == Details::kNone && NamesNoKernel(event.name)) return;
  }
  if (problem.empty() && track == nullptr && event.details == Details::kOfOther) {
    ++copies_;
    return;
  }
  if (problem.empty()) problem = SetTimes(offset, event);
  if (!problem.empty()) return rejected_.Add(offset, problem);
  const std::uint64_t process = track == nullptr ? ProcessOf(event) : 0;
  if (process != process_) launches.SetProcess(*(process_ = process));
  launches.Add(event.record, event.is_paddle ? WithoutDuration(event.name) : event.name);
}

void KernelEvents::ReadDevice(std::string_view text, std::uint64_t offset,
                              const DeviceEvent& device, RecordedLaunches& launches) {
  Event event;
  event.record = device.record;
  std::string_view problem = Parse(text, offset, event);
  event.name = device.name;
  if (problem.empty()) problem = SetTimes(offset, event);
  if (!problem.empty()) return rejected_.Add(offset, problem);
  launches.Add(event.record, event.name);
}

// The text is parsed again because only the text of a number is exact.
std::string_view KernelEvents::Parse(std::string_view text, std::uint64_t offset, Event& event) {
  ondemand::document document;
  ondemand::object object;
  if (parser_.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING)
              .get(document) != simdjson::SUCCESS ||
      document.get_object().get(object) != simdjson::SUCCESS) {
    return "is not an object";
  }
  for (auto field : object) {
    std::string_view key;
    ondemand::value value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS ||
        field.value().get(value) != simdjson::SUCCESS) {
      return "cannot be parsed";
    }
    if (key == "ph") {
      if (value.get_string().get(event.phase) != simdjson::SUCCESS) event.phase = {};
    } else if (key == "name") {
      if (value.get_string().get(event.name) != simdjson::SUCCESS) event.name = {};
    } else if (key == "pid") {
      event.process = NumberText(value).value_or(std::string_view());
    } else if (key == "ts") {
      event.start = NumberText(value);
    } else if (key == "dur") {
      event.duration = NumberText(value);
    } else if (key == "args") {
      ReadArgs(value, offset, event);
    }
  }
  return {};
}

// torch.profiler writes the device as the process of a kernel. Tools that merge the traces of
// several ranks change it: 1002 or "[TP01] 2". Returns the number of a process without its device;
// 0 for an unchanged trace.
std::uint64_t KernelEvents::ProcessOf(const Event& event) {
  const std::uint16_t device = event.record.device;
  if (device == shm::kUnknown16) return 0;
  if (device != last_.device || event.process != last_.pid) {
    last_.device = device;
    last_.pid = event.process;
    last_.number = NumberOf(event.process, device);
  }
  return last_.number;
}

std::uint64_t KernelEvents::NumberOf(std::string_view process, std::uint16_t device) {
  const std::size_t number = process.find_last_not_of("0123456789") + 1;
  if (process.substr(number) == std::to_string(device)) process = process.substr(0, number);
  if (process.empty()) return 0;
  const auto known = processes_.find(process);
  if (known != processes_.end()) return known->second;
  if (processes_.size() == kMaxProcesses) return 0;
  return processes_.emplace(process, processes_.size() + 1).first->second;
}

// Checks the event and sets the times of its record. Returns what is wrong, or "".
std::string_view KernelEvents::SetTimes(std::uint64_t offset, Event& event) {
  if (event.phase != "X") return "has a 'ph' other than 'X'";
  if (event.name.empty()) return "has no name";
  if (!event.start) return "has no number as 'ts'";
  if (!event.duration) return "has no number as 'dur'";
  const std::optional<JsonDecimal> start = ReadTime(*event.start, offset);
  if (!start || start->magnitude >= static_cast<std::uint64_t>(kStartOffset)) {
    return "has a 'ts' that is not a time";
  }
  const std::optional<JsonDecimal> duration = ReadTime(*event.duration, offset);
  if (!duration || (duration->negative && duration->magnitude > 0) ||
      duration->magnitude > kMaxDuration) {
    return "has a 'dur' that is not a duration";
  }
  const auto magnitude = static_cast<std::int64_t>(start->magnitude);
  event.record.start_ns = WithOffset(start->negative ? -magnitude : magnitude);
  event.record.duration_ns = duration->magnitude;
  if (start->magnitude == 0 && duration->magnitude == 0) {
    no_time_.Add(offset);
    event.record.start_ns = shm::kUnknownTime;
  }
  return {};
}

void KernelEvents::ReadArgs(ondemand::value value, std::uint64_t offset, Event& event) {
  ondemand::object args;
  if (value.get_object().get(args) != simdjson::SUCCESS) return;
  for (auto field : args) {
    std::string_view key;
    ondemand::value cell;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS ||
        field.value().get(cell) != simdjson::SUCCESS) {
      return;  // unreachable: the text is valid
    }
    if (key.ends_with("_details")) {
      std::string_view details;
      event.details = key == "kernel_details" ? Details::kOfKernel : Details::kOfOther;
      if (event.details == Details::kOfKernel &&
          (cell.get_string().get(details) != simdjson::SUCCESS ||
           !ReadKernelDetails(details, event.record))) {
        bad_details_.Add(offset);
      }
      continue;
    }
    std::size_t i = 0;
    while (i < kCells.size() && key != kCells[i].key) ++i;
    if (i == kCells.size()) {
      const auto* const other = std::find_if(kOtherKeys.begin(), kOtherKeys.end(),
                                             [&](const Alias& alias) { return key == alias.key; });
      if (other == kOtherKeys.end()) {
        ReadOnnxArg(key, cell, offset, event);
        continue;
      }
      event.is_paddle = event.is_paddle || key == kPaddleCorrelation;
      i = static_cast<std::size_t>(other->cell);
    }
    if (!ReadCell(static_cast<Cell>(i), cell, event.record)) bad_cells_[i].Add(offset);
  }
}

// ONNX Runtime gives copies the category of kernels: on CUDA with extents of -1, on ROCm with the
// arguments of the call.
void KernelEvents::ReadOnnxArg(std::string_view key, ondemand::value value, std::uint64_t offset,
                               Event& event) {
  if (key == "dst") event.details = Details::kOfOther;
  if (key.size() < 6 || key[key.size() - 2] != '_') return;
  const auto* const at = std::find(kOnnxExtents.begin(), kOnnxExtents.end(), key);
  if (at == kOnnxExtents.end()) return;
  const auto axis = static_cast<std::size_t>(at - kOnnxExtents.begin());
  const Cell cell = axis < 3 ? Cell::kGrid : Cell::kBlock;
  const CellInfo& info = kCells[static_cast<std::size_t>(cell)];
  const std::optional<std::string_view> text = NumberText(value);
  if (text == "-1") {
    event.details = Details::kOfOther;
    return;
  }
  const std::optional<std::uint64_t> extent = text ? IntegerOf(*text, info) : std::nullopt;
  if (!extent) {
    bad_cells_[static_cast<std::size_t>(cell)].Add(offset);
  } else if (cell == Cell::kGrid) {
    event.record.grid[axis] = static_cast<std::uint32_t>(*extent);
  } else {
    event.record.block[axis - 3] = static_cast<std::uint16_t>(*extent);
  }
}

// Converts microseconds to nanoseconds.
std::optional<JsonDecimal> KernelEvents::ReadTime(std::string_view text, std::uint64_t offset) {
  const std::optional<JsonDecimal> time = ParseDecimal(text, 3);
  if (time && !time->exact) rounded_.Add(offset);
  return time;
}

void KernelEvents::WarnOfFields(const std::string& source, RecordedLaunches& launches) const {
  launches.WarnOfByte(
      source, rounded_,
      fmt::format("a time is finer than 1 ns ({} such times; rounded)", rounded_.count));
  launches.WarnOfByte(source, no_time_,
                      fmt::format("a kernel has no time: 'ts' and 'dur' are 0 ({} such events); "
                                  "counted with 0 ns",
                                  no_time_.count));
  for (std::size_t i = 0; i < kCells.size(); ++i) {
    launches.WarnOfByte(
        source, bad_cells_[i],
        fmt::format("'{}' of a kernel is not from {} to {} ({} such values; treated as unknown)",
                    kCells[i].key, kCells[i].min, kCells[i].max, bad_cells_[i].count));
  }
  launches.WarnOfByte(source, bad_details_,
                      fmt::format("'kernel_details' of a kernel have no grid and block ({} such "
                                  "values; treated as unknown)",
                                  bad_details_.count));
}

}  // namespace stemtap::formats
