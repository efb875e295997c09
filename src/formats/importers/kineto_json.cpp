// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/kineto_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/decimal.h"
#include "formats/importers/gpu_tracks.h"
#include "formats/importers/json_stream.h"
#include "formats/importers/recorded_launches.h"

namespace stemtap::formats {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Starts may be negative because they are relative to a base that the file chooses. This offset
// makes them positive; RecordedLaunches subtracts the first start. 2^62 ns are 146 years.
constexpr std::uint64_t kZero = std::uint64_t{1} << 62;

constexpr std::uint64_t kMaxDuration = std::numeric_limits<std::int64_t>::max();

// XLA drops events from a trace beyond one of these limits; newer versions use the second.
constexpr std::array<std::uint64_t, 2> kXlaMostEvents = {1'000'000, 5'000'000};

// Event categories that only torch.profiler writes.
constexpr std::array<std::string_view, 6> kKinetoCategories = {
    "cpu_op", "Operator", "cuda_runtime", "Runtime", "cuda_driver", "user_annotation"};

// Count and first position of a problem that is reported once.
struct Tally {
  std::uint64_t count = 0;
  std::uint64_t first = 0;  // byte
  std::string what;

  void Add(std::uint64_t offset, std::string_view why = {}) {
    if (count++ != 0) return;
    first = offset;
    what = why;
  }
};

// Fields other than name and times, in the order of kCells.
enum class Cell : std::uint8_t {
  kDevice,
  kStream,
  kCorrelation,
  kShared,
  kGraph,
  kGraphNode,
  kGrid,
  kBlock
};

struct CellInfo {
  std::string_view key;
  std::uint64_t least;
  std::uint64_t most;
};

// The maximum value of each type means "unknown".
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

std::optional<std::uint64_t> ReadInteger(ondemand::value value, const CellInfo& cell) {
  const std::optional<std::string_view> text = NumberText(value);
  if (!text) return {};
  const std::optional<JsonDecimal> number = ParseDecimal(*text, 0);
  if (!number || !number->exact || number->negative || number->magnitude < cell.least ||
      number->magnitude > cell.most) {
    return {};
  }
  return number->magnitude;
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

// XLA's names for the same fields.
struct Alias {
  std::string_view key;
  Cell cell;
};
constexpr std::array kXlaKeys = {Alias{"correlation_id", Cell::kCorrelation},
                                 Alias{"cuda_graph_id", Cell::kGraph},
                                 Alias{"cuda_graph_node_id", Cell::kGraphNode}};

// State of kernels that can be recognized only by their track.
struct OtherKernels {
  // What the details of an event describe: a kernel, or a copy, an allocation, ...
  enum class Details : std::uint8_t { kNone, kOfKernel, kOfOther };

  GpuTracks tracks;
  Details details = Details::kNone;  // of the current event
  std::uint64_t no_category = 0;     // complete events without a category
  std::uint64_t graphs = 0;          // graphs recorded as a whole
  std::uint64_t no_stream = 0;       // kernels recognized only by the category "cuda"
  Tally bad_details;
};

class KinetoReader {
 public:
  explicit KinetoReader(std::unique_ptr<ByteSource> source)
      : stream_(std::move(source)), launches_(std::make_unique<RecordedLaunches>()) {}

  Result<std::unique_ptr<model::ProfileReader>> ReadAll();

 private:
  Status ReadObject();
  Status ReadArray(bool events);
  void ReadEvents(const JsonStream::Run& run);
  void ReadOther(const simdjson::dom::object& event, std::string_view category,
                 std::string_view text, std::uint64_t offset);
  // `track` is the track of an event whose category does not identify it as a kernel.
  void ReadKernel(std::string_view text, std::uint64_t offset, const GpuTrack* track);
  void ReadArgs(ondemand::value value, std::uint64_t offset, shm::KernelRecord& record);
  bool ReadCell(Cell cell, ondemand::value value, shm::KernelRecord& record);
  std::optional<JsonDecimal> ReadTime(std::string_view text, std::uint64_t offset);
  Status CheckKernels() const;
  void WarnAtEnd();

  JsonStream stream_;
  std::unique_ptr<RecordedLaunches> launches_;
  ondemand::parser parser_;
  bool any_array_ = false;  // an array of events was read
  std::uint64_t events_ = 0;
  bool is_kineto_ = false;  // a key or category is specific to torch.profiler
  bool any_phase_ = false;  // an event has "ph", as all trace events do
  OtherKernels others_;
  Tally no_object_;
  Tally not_understood_;
  Tally rounded_;
  std::array<Tally, kCells.size()> bad_cells_;
};

Result<std::unique_ptr<model::ProfileReader>> KinetoReader::ReadAll() {
  STEMTAP_TRY(stream_.TakeByteOrderMark());
  const int first = STEMTAP_TRY(stream_.Peek());
  if (first != '{' && first != '[') {
    return stream_.Here("no JSON object or array, expected a trace of torch.profiler");
  }
  stream_.Take();
  STEMTAP_TRY(first == '{' ? ReadObject() : ReadArray(true));
  const int rest = STEMTAP_TRY(stream_.Peek());
  if (rest != JsonStream::kEnd) {
    return stream_.Here("text behind the trace, expected the end of the file");
  }
  if (!any_array_) {
    return Error{fmt::format(
        "{}: a JSON object without traceEvents, expected traceEvents as torch.profiler writes it",
        stream_.name())};
  }
  if (events_ > 0 && !any_phase_) {
    return Error{fmt::format(
        "{}: {} array elements, none of them with 'ph', expected the traceEvents of torch.profiler",
        stream_.name(), events_)};
  }
  STEMTAP_TRY(CheckKernels());
  WarnAtEnd();
  launches_->Finish(stream_.name());
  return std::unique_ptr<model::ProfileReader>(std::move(launches_));
}

Status KinetoReader::ReadObject() {
  const int next = STEMTAP_TRY(stream_.Peek());
  if (next == '}') {
    stream_.Take();
    return Success{};
  }
  for (bool last = false; !last;) {
    const std::string key = STEMTAP_TRY(stream_.TakeKey());
    const Result<int> value = stream_.Peek();
    if (!value.ok()) return value.error();
    const bool events = key == "traceEvents";
    is_kineto_ = is_kineto_ || key == "schemaVersion";
    if (events && value.value() != '[') {
      return stream_.Here("traceEvents is no array, expected an array of events");
    }
    if (events && any_array_) return stream_.Here("a second traceEvents, expected one");
    if (value.value() == '[') {  // may be large, regardless of its content
      stream_.Take();
      STEMTAP_TRY(ReadArray(events));
      const int behind = STEMTAP_TRY(stream_.Peek());
      if (behind != ',' && behind != '}') {
        return stream_.Here("the object is not closed, expected ',' or '}'");
      }
      stream_.Take();
      last = behind == '}';
    } else {
      const JsonStream::Run* run = STEMTAP_TRY(stream_.TakeMember());
      last = run->last;
    }
  }
  return Success{};
}

// REQUIRES: the opening bracket was consumed.
Status KinetoReader::ReadArray(bool events) {
  if (events) any_array_ = true;
  const int next = STEMTAP_TRY(stream_.Peek());
  if (next == ']') {
    stream_.Take();
    return Success{};
  }
  for (bool last = false; !last;) {
    const JsonStream::Run* run = STEMTAP_TRY(stream_.TakeElements());
    if (events) ReadEvents(*run);
    last = run->last;
  }
  return Success{};
}

void KinetoReader::ReadEvents(const JsonStream::Run& run) {
  std::size_t i = 0;
  for (const simdjson::dom::element event : run.values) {
    const std::size_t index = i++;
    ++events_;
    simdjson::dom::object object;
    if (event.get_object().get(object) != simdjson::SUCCESS) {
      no_object_.Add(run.OffsetOf(index));
      continue;
    }
    if (!any_phase_) any_phase_ = object.at_key("ph").error() == simdjson::SUCCESS;
    std::string_view category;
    if (object.at_key("cat").get_string().get(category) != simdjson::SUCCESS) category = {};
    if (category == "kernel" || category == "Kernel") {
      ReadKernel(run.texts[index], run.OffsetOf(index), nullptr);
    } else if (category.empty() || category == "cuda") {
      ReadOther(object, category, run.texts[index], run.OffsetOf(index));
    } else if (!is_kineto_) {
      is_kineto_ = std::find(kKinetoCategories.begin(), kKinetoCategories.end(), category) !=
                   kKinetoCategories.end();
    }
  }
}

// Reads a kernel that is recognized only by its track: it has no category, as in XLA traces, or
// "cuda".
void KinetoReader::ReadOther(const simdjson::dom::object& event, std::string_view category,
                             std::string_view text, std::uint64_t offset) {
  std::string_view phase;
  if (event.at_key("ph").get_string().get(phase) != simdjson::SUCCESS) return;
  if (phase == "M") return others_.tracks.Learn(event);
  if (phase != "X") return;
  others_.no_category += category.empty() ? 1 : 0;
  const std::optional<GpuTrack> track = others_.tracks.Find(event);
  if (!track && category.empty()) return;
  const GpuTrack unknown;
  const std::size_t before = launches_->size();
  ReadKernel(text, offset, track ? &*track : &unknown);
  if (!track) others_.no_stream += launches_->size() - before;
}

// `text` is a valid JSON object. It is parsed again because only the text of a number is exact.
void KinetoReader::ReadKernel(std::string_view text, std::uint64_t offset, const GpuTrack* track) {
  others_.details = OtherKernels::Details::kNone;
  std::string_view phase;
  std::string_view name;
  std::optional<std::string_view> start_text;
  std::optional<std::string_view> duration_text;
  shm::KernelRecord record = RecordedLaunches::Unknown();
  if (track != nullptr) {
    record.device = track->device;
    record.stream = track->stream;
  }

  ondemand::document document;
  ondemand::object event;
  if (parser_.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING)
              .get(document) != simdjson::SUCCESS ||
      document.get_object().get(event) != simdjson::SUCCESS) {
    return not_understood_.Add(offset, "is no object");
  }
  for (auto field : event) {
    std::string_view key;
    ondemand::value value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS ||
        field.value().get(value) != simdjson::SUCCESS) {
      return not_understood_.Add(offset, "cannot be walked");
    }
    if (key == "ph") {
      if (value.get_string().get(phase) != simdjson::SUCCESS) phase = {};
    } else if (key == "name") {
      if (value.get_string().get(name) != simdjson::SUCCESS) name = {};
    } else if (key == "ts") {
      start_text = NumberText(value);
    } else if (key == "dur") {
      duration_text = NumberText(value);
    } else if (key == "args") {
      ReadArgs(value, offset, record);
    }
  }

  if (track != nullptr) {
    const bool graph = name.starts_with("CudaGraphExec");
    others_.graphs += graph ? 1 : 0;
    if (graph || others_.details == OtherKernels::Details::kOfOther) return;
    if (others_.details == OtherKernels::Details::kNone && NamesNoKernel(name)) return;
  }
  if (phase != "X") return not_understood_.Add(offset, "has a 'ph' other than 'X'");
  if (name.empty()) return not_understood_.Add(offset, "has no name");
  if (!start_text) return not_understood_.Add(offset, "has no number as 'ts'");
  if (!duration_text) return not_understood_.Add(offset, "has no number as 'dur'");
  const std::optional<JsonDecimal> start = ReadTime(*start_text, offset);
  if (!start || start->magnitude >= kZero) {
    return not_understood_.Add(offset, "has a 'ts' that is no time");
  }
  const std::optional<JsonDecimal> duration = ReadTime(*duration_text, offset);
  if (!duration || (duration->negative && duration->magnitude > 0) ||
      duration->magnitude > kMaxDuration) {
    return not_understood_.Add(offset, "has a 'dur' that is no duration");
  }
  record.start_ns = start->negative ? kZero - start->magnitude : kZero + start->magnitude;
  record.duration_ns = duration->magnitude;
  launches_->Add(record, name);
}

void KinetoReader::ReadArgs(ondemand::value value, std::uint64_t offset,
                            shm::KernelRecord& record) {
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
      others_.details = key == "kernel_details" ? OtherKernels::Details::kOfKernel
                                                : OtherKernels::Details::kOfOther;
      if (others_.details == OtherKernels::Details::kOfKernel &&
          (cell.get_string().get(details) != simdjson::SUCCESS ||
           !ReadKernelDetails(details, record))) {
        others_.bad_details.Add(offset);
      }
      continue;
    }
    std::size_t i = 0;
    while (i < kCells.size() && key != kCells[i].key) ++i;
    for (const Alias& alias : kXlaKeys) {
      if (key == alias.key) i = static_cast<std::size_t>(alias.cell);
    }
    if (i == kCells.size()) continue;
    if (!ReadCell(static_cast<Cell>(i), cell, record)) bad_cells_[i].Add(offset);
  }
}

// Returns false if the field cannot contain the value; the field then stays unknown.
bool KinetoReader::ReadCell(Cell cell, ondemand::value value, shm::KernelRecord& record) {
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

// Converts microseconds to nanoseconds.
std::optional<JsonDecimal> KinetoReader::ReadTime(std::string_view text, std::uint64_t offset) {
  const std::optional<JsonDecimal> time = ParseDecimal(text, 3);
  if (time && !time->exact) rounded_.Add(offset);
  return time;
}

// A trace of another tool must not be read as a run without kernels.
Status KinetoReader::CheckKernels() const {
  if (others_.tracks.named_late()) {
    return Error{fmt::format(
        "{}: a stream of a GPU is named behind events of its process, expected the names of "
        "processes and threads (ph 'M') first",
        stream_.name())};
  }
  if (launches_->size() > 0 || events_ == 0) return Success{};
  if (not_understood_.count > 0) {
    return Error{fmt::format(
        "{}: byte {}: a kernel event {}, and none of {} is complete, expected events "
        "with a name, 'ts' and 'dur'",
        stream_.name(), not_understood_.first, not_understood_.what, not_understood_.count)};
  }
  if (others_.graphs > 0) {
    return Error{fmt::format(
        "{}: {} launches of CUDA graphs as a whole and no kernels, expected kernels; record with "
        "XLA_FLAGS=--xla_gpu_enable_command_buffer=",
        stream_.name(), others_.graphs)};
  }
  if (is_kineto_) return Success{};
  return Error{
      fmt::format("{}: {} events, none of them a kernel, expected events with cat 'kernel' "
                  "(torch.profiler), or "
                  "threads 'Stream #N' of a process '/device:GPU:N' (JAX, XLA)",
                  stream_.name(), events_)};
}

void KinetoReader::WarnAtEnd() {
  const auto warn = [&](const Tally& tally, const std::string& what) {
    if (tally.count == 0) return;
    launches_->Warn(fmt::format("{}: byte {}: {}", stream_.name(), tally.first, what));
  };
  warn(not_understood_,
       fmt::format(
           "a kernel event {}, and is left out (such events, for this or another reason: {})",
           not_understood_.what, not_understood_.count));
  warn(no_object_, fmt::format("an event is no object ({} such, left out)", no_object_.count));
  warn(rounded_, fmt::format("a time is finer than 1 ns ({} such, rounded)", rounded_.count));
  for (std::size_t i = 0; i < kCells.size(); ++i) {
    warn(bad_cells_[i],
         fmt::format("'{}' of a kernel is not from {} to {} ({} such, taken as unknown)",
                     kCells[i].key, kCells[i].least, kCells[i].most, bad_cells_[i].count));
  }
  warn(
      others_.bad_details,
      fmt::format("'kernel_details' of a kernel have no grid and block ({} such, taken as unknown)",
                  others_.bad_details.count));
  if (others_.graphs > 0) {
    launches_->Warn(fmt::format(
        "{}: {} launches of CUDA graphs were recorded as a whole and the kernels in them are "
        "missing; record with XLA_FLAGS=--xla_gpu_enable_command_buffer= to have them",
        stream_.name(), others_.graphs));
  }
  if (others_.no_stream > 0) {
    launches_->Warn(
        fmt::format("{}: {} events of category 'cuda' are on no known stream, taken as kernels",
                    stream_.name(), others_.no_stream));
  }
  if (others_.tracks.has_gpu() && std::find(kXlaMostEvents.begin(), kXlaMostEvents.end(),
                                            others_.no_category) != kXlaMostEvents.end()) {
    launches_->Warn(fmt::format(
        "{}: exactly {} events, the number at which XLA cuts a trace: later kernels are missing; "
        "record fewer steps",
        stream_.name(), others_.no_category));
  }
  if (launches_->size() == 0) {
    launches_->Warn(
        fmt::format("{}: {} events, none of them a kernel (cat 'kernel'): was it profiled with "
                    "ProfilerActivity.CUDA, on a machine where CUPTI works, while kernels ran?",
                    stream_.name(), events_));
  }
}

}  // namespace

bool LooksLikeKinetoJson(std::string_view leading) {
  if (leading.starts_with(kByteOrderMark)) leading.remove_prefix(kByteOrderMark.size());
  const auto skip_space = [&] {
    leading.remove_prefix(std::min(leading.find_first_not_of(" \t\r\n"), leading.size()));
  };
  skip_space();
  if (leading.empty()) return false;
  const char open = leading.front();
  if (open != '{' && open != '[') return false;
  leading.remove_prefix(1);
  skip_space();
  if (leading.empty()) return true;  // truncated here; OpenKinetoJson reports it
  return open == '{' ? leading.front() == '"' || leading.front() == '}'
                     : leading.front() == '{' || leading.front() == ']';
}

Result<std::unique_ptr<model::ProfileReader>> OpenKinetoJson(std::unique_ptr<ByteSource> source) {
  return KinetoReader(std::move(source)).ReadAll();
}

}  // namespace stemtap::formats
