// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "formats/importers/device_tracks.h"
#include "formats/importers/importers.h"
#include "formats/importers/launch_fields.h"
#include "formats/importers/proto_stream.h"
#include "formats/importers/recorded_launches.h"
#include "formats/tally.h"

namespace stemtap::formats {
namespace {

// Serialized messages have at most this many bytes.
constexpr std::uint64_t kMaxPlaneBytes = std::uint64_t{1} << 31;

// The name of a plane is in front of its timelines and within this many bytes.
constexpr std::size_t kNameWithin = 4096;

// Warnings of the profiler to pass on.
constexpr std::size_t kMaxNotes = 10;

// Field numbers of xplane.proto of TensorFlow and OpenXLA.
constexpr std::uint64_t kSpacePlanes = 1;
constexpr std::uint64_t kSpaceErrors = 2;
constexpr std::uint64_t kSpaceWarnings = 3;
constexpr std::uint64_t kPlaneName = 2;
constexpr std::uint64_t kPlaneLines = 3;
constexpr std::uint64_t kPlaneEventNames = 4;
constexpr std::uint64_t kPlaneStatNames = 5;
constexpr std::uint64_t kEntryKey = 1;  // of a map
constexpr std::uint64_t kEntryValue = 2;
constexpr std::uint64_t kMetadataName = 2;  // of events and stats
constexpr std::uint64_t kMetadataDisplayName = 4;
constexpr std::uint64_t kLineName = 2;
constexpr std::uint64_t kLineTimestampNs = 3;
constexpr std::uint64_t kLineEvents = 4;
constexpr std::uint64_t kLineDisplayName = 11;
constexpr std::uint64_t kEventMetadataId = 1;
constexpr std::uint64_t kEventOffsetPs = 2;
constexpr std::uint64_t kEventDurationPs = 3;
constexpr std::uint64_t kEventStats = 4;
constexpr std::uint64_t kStatMetadataId = 1;
constexpr std::uint64_t kStatUint64 = 3;
constexpr std::uint64_t kStatInt64 = 4;
constexpr std::uint64_t kStatString = 5;
constexpr std::uint64_t kStatReference = 7;

// What a stat of an event describes.
enum class StatKind : std::uint8_t {
  kCorrelation,
  kGraph,
  kGraphNode,
  kKernelDetails,
  kOtherDetails,  // of a copy, an allocation, ...
  kOther
};

StatKind KindOf(std::string_view name) {
  if (name == "correlation_id") return StatKind::kCorrelation;
  if (name == "cuda_graph_id") return StatKind::kGraph;
  if (name == "cuda_graph_node_id") return StatKind::kGraphNode;
  if (name == "kernel_details") return StatKind::kKernelDetails;
  return name.ends_with("_details") ? StatKind::kOtherDetails : StatKind::kOther;
}

// Returns the name of the plane that starts with `leading`, or nullopt if it is not in front of the
// timelines.
std::optional<std::string_view> PlaneName(std::string_view leading) {
  while (const std::optional<ProtoField> field = TakeField(leading)) {
    if (field->number == kPlaneName && field->is_bytes && !field->is_cut) return field->bytes;
  }
  return std::nullopt;
}

// Converts ps to ns, to the nearest; halves away from zero.
std::int64_t Nanoseconds(std::int64_t ps) {
  return ps / 1000 + (ps % 1000 >= 500 ? 1 : ps % 1000 <= -500 ? -1 : 0);
}

class XplaneReader {
 public:
  explicit XplaneReader(std::unique_ptr<ByteSource> source)
      : stream_(std::move(source), "XSpace"), launches_(std::make_unique<RecordedLaunches>()) {}

  Result<std::unique_ptr<model::ProfileReader>> ReadAll();

 private:
  struct EventName {
    std::string_view text;
    std::optional<std::uint32_t> id;  // once a kernel has the name
  };
  struct StatName {
    std::string_view text;
    StatKind kind = StatKind::kOther;
  };
  struct Line {
    std::string_view name;
    std::int64_t start_ns = 0;
    std::uint16_t device = shm::kUnknown16;
    std::uint32_t stream = shm::kUnknown32;
  };
  struct Event {
    std::int64_t name_id = 0;
    std::optional<std::int64_t> offset_ps;
    std::int64_t duration_ps = 0;  // a message does not contain zeros
    StatKind details = StatKind::kOther;
    shm::KernelRecord record = RecordedLaunches::Unknown();
  };

  Status ReadNote(const ProtoStream::Head& head);
  Status ReadPlane(const ProtoStream::Head& head);

  // Reading the plane in stream_.held().
  // Calls `use` for each field of `message`.
  template <typename Use>
  Status ForEach(std::string_view message, Use use) const;
  Status ReadNames(std::string_view plane);
  Status ReadLine(std::string_view text, std::uint16_t device);
  Status ReadEvent(std::string_view text, const Line& line);
  Status ReadStat(std::string_view text, Event& event, const char* at);
  void AddKernel(Event& event, const Line& line, std::uint64_t offset);
  std::string_view SetTimes(Event& event, const Line& line, std::uint64_t offset);

  Status CheckKernels() const;
  void WarnAtEnd();

  ProtoStream stream_;
  std::unique_ptr<RecordedLaunches> launches_;
  std::unordered_map<std::int64_t, EventName> event_names_;  // of the plane
  std::unordered_map<std::int64_t, StatName> stat_names_;
  StreamNumbers streams_;
  // What the warnings report.
  struct Counts {
    std::uint64_t planes = 0;
    std::uint64_t gpus = 0;
    std::string other_plane;  // the first plane that is not a GPU
    std::uint64_t notes = 0;
    std::uint64_t graphs = 0;
    std::uint64_t copies = 0;
    Tally rejected;
    Tally rounded;
    Tally bad_details;
  };
  Counts counts_;
};

Result<std::unique_ptr<model::ProfileReader>> XplaneReader::ReadAll() {
  for (;;) {
    const std::optional<ProtoStream::Head> field = STEMTAP_TRY(stream_.Next());
    if (!field) break;
    if (field->number == kSpacePlanes && field->is_bytes) {
      STEMTAP_TRY(ReadPlane(*field));
    } else if ((field->number == kSpaceErrors || field->number == kSpaceWarnings) &&
               field->is_bytes) {
      STEMTAP_TRY(ReadNote(*field));
    } else {
      STEMTAP_TRY(stream_.Skip(*field));
    }
  }
  STEMTAP_TRY(CheckKernels());
  WarnAtEnd();
  launches_->Finish(stream_.name());
  return std::unique_ptr<model::ProfileReader>(std::move(launches_));
}

Status XplaneReader::ReadNote(const ProtoStream::Head& head) {
  STEMTAP_TRY(head.size <= kNameWithin ? stream_.Hold(head) : stream_.Skip(head));
  if (++counts_.notes <= kMaxNotes) {
    launches_->Warn(fmt::format("{}: the profiler reports '{}'", stream_.name(),
                                ShortText(stream_.held(), 200)));
  }
  return Success{};
}

Status XplaneReader::ReadPlane(const ProtoStream::Head& head) {
  ++counts_.planes;
  const std::string_view leading = STEMTAP_TRY(stream_.Peek(head, kNameWithin));
  const std::optional<std::string_view> front_name = PlaneName(leading);
  if (front_name && !NumberAfter(*front_name, kGpuProcess)) {
    if (counts_.other_plane.empty()) counts_.other_plane = *front_name;
    return stream_.Skip(head);
  }
  if (head.size > kMaxPlaneBytes) {
    return Error{fmt::format("{}: byte {}: a plane of {} bytes; expected at most 2^31",
                             stream_.name(), stream_.offset(), head.size)};
  }
  STEMTAP_TRY(stream_.Hold(head));

  std::string_view name;
  STEMTAP_TRY(ForEach(stream_.held(), [&](const ProtoField& field) -> Status {
    if (field.number == kPlaneName && field.is_bytes) name = field.bytes;
    return Success{};
  }));
  const std::optional<std::uint64_t> device = NumberAfter(name, kGpuProcess);
  if (!device) return Success{};
  ++counts_.gpus;
  STEMTAP_TRY(ReadNames(stream_.held()));
  const auto ordinal =
      *device < shm::kUnknown16 ? static_cast<std::uint16_t>(*device) : shm::kUnknown16;
  return ForEach(stream_.held(), [&](const ProtoField& field) -> Status {
    if (field.number != kPlaneLines || !field.is_bytes) return Success{};
    return ReadLine(field.bytes, ordinal);
  });
}

template <typename Use>
Status XplaneReader::ForEach(std::string_view message, Use use) const {
  while (!message.empty()) {
    const char* const at = message.data();
    const std::optional<ProtoField> field = TakeField(message);
    if (!field || field->is_cut) return stream_.Damaged(stream_.OffsetOf(at));
    STEMTAP_TRY(use(*field));
  }
  return Success{};
}

// Reads the names of events and stats, which the file has after the timelines that use them.
Status XplaneReader::ReadNames(std::string_view plane) {
  event_names_.clear();
  stat_names_.clear();
  return ForEach(plane, [&](const ProtoField& field) -> Status {
    const bool is_event = field.number == kPlaneEventNames;
    if (!field.is_bytes || (!is_event && field.number != kPlaneStatNames)) return Success{};
    std::int64_t id = 0;
    std::string_view name;
    std::string_view display_name;
    STEMTAP_TRY(ForEach(field.bytes, [&](const ProtoField& part) -> Status {
      if (part.number == kEntryKey && part.is_varint) id = static_cast<std::int64_t>(part.varint);
      if (part.number != kEntryValue || !part.is_bytes) return Success{};
      return ForEach(part.bytes, [&](const ProtoField& of_name) -> Status {
        if (!of_name.is_bytes) return Success{};
        if (of_name.number == kMetadataName) name = of_name.bytes;
        if (of_name.number == kMetadataDisplayName) display_name = of_name.bytes;
        return Success{};
      });
    }));
    if (is_event) {
      event_names_[id] = {name.empty() ? display_name : name, {}};
    } else {
      stat_names_[id] = {name, KindOf(name)};
    }
    return Success{};
  });
}

Status XplaneReader::ReadLine(std::string_view text, std::uint16_t device) {
  Line of;
  of.device = device;
  std::string_view display_name;
  STEMTAP_TRY(ForEach(text, [&](const ProtoField& field) -> Status {
    if (field.number == kLineName && field.is_bytes) of.name = field.bytes;
    if (field.number == kLineDisplayName && field.is_bytes) display_name = field.bytes;
    if (field.number == kLineTimestampNs && field.is_varint) {
      of.start_ns = static_cast<std::int64_t>(field.varint);
    }
    return Success{};
  }));
  const std::optional<std::string_view> stream =
      NumericStreamId(of.name.empty() ? display_name : of.name);
  if (!stream) return Success{};  // such lines repeat the kernels in groups
  of.stream = streams_.Of(*stream);
  return ForEach(text, [&](const ProtoField& field) -> Status {
    if (field.number != kLineEvents || !field.is_bytes) return Success{};
    return ReadEvent(field.bytes, of);
  });
}

Status XplaneReader::ReadEvent(std::string_view text, const Line& line) {
  Event event;
  const char* const at = text.data();
  STEMTAP_TRY(ForEach(text, [&](const ProtoField& field) -> Status {
    const auto number = static_cast<std::int64_t>(field.varint);
    if (field.number == kEventStats && field.is_bytes) return ReadStat(field.bytes, event, at);
    if (!field.is_varint) return Success{};
    if (field.number == kEventMetadataId) event.name_id = number;
    if (field.number == kEventOffsetPs) event.offset_ps = number;
    if (field.number == kEventDurationPs) event.duration_ps = number;
    return Success{};
  }));
  AddKernel(event, line, stream_.OffsetOf(at));
  return Success{};
}

Status XplaneReader::ReadStat(std::string_view text, Event& event, const char* at) {
  std::int64_t id = 0;
  std::uint64_t number = 0;
  std::string_view value;
  STEMTAP_TRY(ForEach(text, [&](const ProtoField& field) -> Status {
    if (field.number == kStatMetadataId) id = static_cast<std::int64_t>(field.varint);
    if (field.number == kStatUint64 || field.number == kStatInt64) number = field.varint;
    if (field.number == kStatString) value = field.bytes;
    if (field.number == kStatReference) {
      const auto name = stat_names_.find(static_cast<std::int64_t>(field.varint));
      if (name != stat_names_.end()) value = name->second.text;
    }
    return Success{};
  }));
  const auto name = stat_names_.find(id);
  if (name == stat_names_.end()) return Success{};
  switch (name->second.kind) {
    case StatKind::kCorrelation:
      event.record.correlation_id = static_cast<std::uint32_t>(number);
      break;
    case StatKind::kGraph:
      event.record.graph_id = static_cast<std::uint32_t>(number);
      break;
    case StatKind::kGraphNode:
      event.record.graph_node = static_cast<std::uint32_t>(number);
      break;
    case StatKind::kKernelDetails:
      event.details = StatKind::kKernelDetails;
      if (!ReadKernelDetails(value, event.record)) counts_.bad_details.Add(stream_.OffsetOf(at));
      break;
    case StatKind::kOtherDetails:
      event.details = StatKind::kOtherDetails;
      break;
    case StatKind::kOther:
      break;
  }
  return Success{};
}

void XplaneReader::AddKernel(Event& event, const Line& line, std::uint64_t offset) {
  const auto name = event_names_.find(event.name_id);
  if (name == event_names_.end() || name->second.text.empty()) {
    return counts_.rejected.Add(offset, "has no name");
  }
  EventName& kernel = name->second;
  if (kernel.text.starts_with("CudaGraphExec")) {
    ++counts_.graphs;
    return;
  }
  if (event.details == StatKind::kOtherDetails ||
      (event.details == StatKind::kOther && NamesNoKernel(kernel.text))) {
    ++counts_.copies;
    return;
  }
  const std::string_view problem = SetTimes(event, line, offset);
  if (!problem.empty()) return counts_.rejected.Add(offset, problem);
  event.record.device = line.device;
  event.record.stream = line.stream;
  if (!kernel.id) kernel.id = launches_->Name(kernel.text);
  launches_->Add(event.record, *kernel.id);
}

// Sets the times of the record. Returns what is wrong, or "".
std::string_view XplaneReader::SetTimes(Event& event, const Line& line, std::uint64_t offset) {
  if (!event.offset_ps) return "has no start";
  if (event.duration_ps < 0) return "has a negative duration";
  const std::int64_t from_line = Nanoseconds(*event.offset_ps);  // at most 2^54
  constexpr std::int64_t kMaxStart = kStartOffset - (std::int64_t{1} << 54) - 1;
  if (line.start_ns < -kMaxStart || line.start_ns > kMaxStart) return "has a start out of range";
  if (*event.offset_ps % 1000 != 0 || event.duration_ps % 1000 != 0) counts_.rounded.Add(offset);
  event.record.start_ns = WithOffset(line.start_ns + from_line);
  event.record.duration_ns = static_cast<std::uint64_t>(Nanoseconds(event.duration_ps));
  return {};
}

// A profile of another device must not be read as a run without kernels.
Status XplaneReader::CheckKernels() const {
  if (launches_->size() > 0) return Success{};
  const std::string& name = stream_.name();
  if (counts_.rejected.count > 0) {
    return Error{fmt::format(
        "{}: byte {}: a kernel event {}, and none of {} kernel events is complete; expected events "
        "with a name, a start and a duration",
        name, counts_.rejected.first, counts_.rejected.what, counts_.rejected.count)};
  }
  if (counts_.graphs > 0) {
    return Error{
        fmt::format("{}: {} of whole CUDA graphs and no kernels; expected kernels (record "
                    "with XLA_FLAGS=--xla_gpu_enable_command_buffer=)",
                    name, Plural(counts_.graphs, "launch", "launches"))};
  }
  if (counts_.gpus == 0) {
    return Error{fmt::format(
        "{}: {}{}, none of a GPU; expected a plane '/device:GPU:N', as JAX and TensorFlow write it "
        "if a GPU runs kernels",
        name, Plural(counts_.planes, "plane"),
        counts_.other_plane.empty() ? ""
                                    : fmt::format(" ('{}', ...)", ShownCell(counts_.other_plane)))};
  }
  return Error{
      fmt::format("{}: no kernel on a line 'Stream #N' of {}; expected a profile of a "
                  "program that runs kernels",
                  name, Plural(counts_.gpus, "GPU"))};
}

void XplaneReader::WarnAtEnd() {
  const std::string& name = stream_.name();
  if (counts_.notes > kMaxNotes) {
    launches_->Warn(fmt::format("{}: the profiler reports {} more", name,
                                Plural(counts_.notes - kMaxNotes, "problem")));
  }
  launches_->WarnOfByte(
      name, counts_.rejected,
      fmt::format("a kernel event {} and is skipped ({} such events, for any reason)",
                  counts_.rejected.what, counts_.rejected.count));
  launches_->WarnOfByte(
      name, counts_.rounded,
      fmt::format("a time is finer than 1 ns ({} such events; rounded)", counts_.rounded.count));
  launches_->WarnOfByte(name, counts_.bad_details,
                        fmt::format("'kernel_details' of a kernel have no grid and block ({} such "
                                    "values; treated as unknown)",
                                    counts_.bad_details.count));
  launches_->WarnOfCount(name, counts_.graphs, "launch of a CUDA graph was",
                         "launches of CUDA graphs were",
                         " recorded as a whole, without kernels; record with "
                         "XLA_FLAGS=--xla_gpu_enable_command_buffer= to include them");
  launches_->WarnOfCount(name, counts_.copies, "event is a copy, a set or memory",
                         "events are copies, sets and memory", "; skipped");
  streams_.Finish(name, *launches_);
}

}  // namespace

// XSpace { repeated XPlane planes = 1; }, XPlane { int64 id = 1; string name = 2; }
bool LooksLikeXplane(std::string_view leading) {
  const std::optional<ProtoField> plane = TakeField(leading);
  if (!plane || plane->number != kSpacePlanes || !plane->is_bytes) return false;
  std::string_view fields = plane->bytes;
  std::optional<ProtoField> name = TakeField(fields);
  if (name && name->number == 1 && name->is_varint) name = TakeField(fields);
  if (!name || name->number != kPlaneName || !name->is_bytes) return false;
  return name->bytes.starts_with("/host:") || name->bytes.starts_with("/device:") ||
         name->bytes == "Task Environment";
}

Result<std::unique_ptr<model::ProfileReader>> OpenXplane(std::unique_ptr<ByteSource> source) {
  return XplaneReader(std::move(source)).ReadAll();
}

}  // namespace stemtap::formats
