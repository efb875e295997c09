// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "formats/importers/device_tracks.h"
#include "formats/importers/importers.h"
#include "formats/importers/json_stream.h"
#include "formats/importers/kineto_kernels.h"
#include "formats/importers/kineto_operators.h"
#include "formats/importers/kineto_ranges.h"
#include "formats/importers/nsys_report.h"
#include "formats/importers/recorded_launches.h"
#include "formats/tally.h"

namespace stemtap::formats {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// XLA drops events from a trace beyond one of these limits; newer versions use the second.
constexpr std::array<std::uint64_t, 2> kXlaMaxEvents = {1'000'000, 5'000'000};

// Event categories that only torch.profiler writes.
constexpr std::array<std::string_view, 6> kKinetoCategories = {
    "cpu_op", "Operator", "cuda_runtime", "Runtime", "cuda_driver", "user_annotation"};

// State of kernels whose stream is known only from their track.
struct OtherKernels {
  GpuTracks tracks;
  std::uint64_t no_category = 0;  // complete events without a category
  std::uint64_t no_stream = 0;    // kernels recognized only by the category "cuda"
  std::optional<bool> is_proton;  // whether the kernels are from Proton; unknown before the first
  Tally parts;                    // events of Proton inside a kernel
};

// Readers of events of the program, of which at most one is used.
struct ProgramEvents {
  KinetoRanges ranges;
  KinetoOperators operators;
};

class KinetoReader {
 public:
  KinetoReader(std::unique_ptr<ByteSource> source, Marks marks)
      : stream_(std::move(source)),
        marks_(marks),
        launches_(std::make_unique<RecordedLaunches>()) {}

  Result<std::unique_ptr<model::ProfileReader>> ReadAll();

 private:
  Status ReadObject();
  Status ReadArray(bool events);
  Status ReadMoreObjects();
  void ReadEvents(const JsonStream::Run& run);
  void ReadKernel(const simdjson::dom::object& event, std::string_view text, std::uint64_t offset);
  void ReadOther(const simdjson::dom::object& event, std::string_view category,
                 std::string_view text, std::uint64_t offset);
  Status CheckKernels() const;
  void WarnAtEnd();

  JsonStream stream_;
  Marks marks_;
  std::unique_ptr<RecordedLaunches> launches_;
  KernelEvents kernels_;
  bool any_array_ = false;  // an array of events was read
  std::uint64_t events_ = 0;
  bool is_kineto_ = false;  // a key or category is specific to torch.profiler
  bool any_phase_ = false;  // an event has "ph", as all trace events do
  OtherKernels others_;
  DeviceEvents devices_;  // of unitrace and Ascend
  ProgramEvents program_;
  Tally no_object_;
};

Result<std::unique_ptr<model::ProfileReader>> KinetoReader::ReadAll() {
  STEMTAP_TRY(stream_.TakeByteOrderMark());
  const int first = STEMTAP_TRY(stream_.Peek());
  if (first != '{' && first != '[') {
    return stream_.Here("no JSON object or array; expected a trace of torch.profiler");
  }
  stream_.Take();
  STEMTAP_TRY(first == '{' ? ReadObject() : ReadArray(true));
  if (first == '{') STEMTAP_TRY(ReadMoreObjects());
  if (STEMTAP_TRY(stream_.Peek()) != JsonStream::kEnd) {
    return stream_.Here("text after the trace; expected the end of the file");
  }
  if (!any_array_) {
    return Error{fmt::format(
        "{}: a JSON object without traceEvents; expected traceEvents as torch.profiler writes it",
        stream_.name())};
  }
  if (events_ > 0 && !any_phase_) {
    return Error{fmt::format(
        "{}: {} array elements, none of them with 'ph'; expected the traceEvents of torch.profiler",
        stream_.name(), events_)};
  }
  STEMTAP_TRY(CheckKernels());
  others_.tracks.Finish(stream_.name(), *launches_);
  if (marks_ == Marks::kRead) STEMTAP_TRY(program_.ranges.Finish(*launches_));
  if (marks_ == Marks::kOperators) program_.operators.Finish(*launches_);
  WarnAtEnd();
  launches_->Finish(stream_.name());
  return std::unique_ptr<model::ProfileReader>(std::move(launches_));
}

// Reads the objects after the first one: Proton writes one per stream.
Status KinetoReader::ReadMoreObjects() {
  while (others_.is_proton == true && any_array_) {
    if (STEMTAP_TRY(stream_.Peek()) != '{') return Success{};
    stream_.Take();
    any_array_ = false;
    STEMTAP_TRY(ReadObject());
  }
  return Success{};
}

Status KinetoReader::ReadObject() {
  if (STEMTAP_TRY(stream_.Peek()) == '}') {
    stream_.Take();
    return Success{};
  }
  for (bool last = false; !last;) {
    const std::string key = STEMTAP_TRY(stream_.TakeKey());
    const int value = STEMTAP_TRY(stream_.Peek());
    const bool events = key == "traceEvents";
    is_kineto_ = is_kineto_ || key == "schemaVersion";
    if (events && value != '[') {
      return stream_.Here("traceEvents is not an array; expected an array of events");
    }
    if (events && any_array_) return stream_.Here("a second traceEvents; expected one");
    if (value == '[') {  // may be large, regardless of its content
      stream_.Take();
      STEMTAP_TRY(ReadArray(events));
      const int separator = STEMTAP_TRY(stream_.Peek());
      if (separator != ',' && separator != '}') {
        return stream_.Here("the object is not closed; expected ',' or '}'");
      }
      stream_.Take();
      last = separator == '}';
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
  if (STEMTAP_TRY(stream_.Peek()) == ']') {
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
      ReadKernel(object, run.texts[index], run.OffsetOf(index));
      if (marks_ == Marks::kOperators) program_.operators.ReadLaunches(object, *launches_);
    } else if (const std::optional<DeviceEvent> device = devices_.Find(object, category)) {
      if (!device->is_kernel) continue;
      kernels_.ReadDevice(run.texts[index], run.OffsetOf(index), *device, *launches_);
    } else if (category.empty() || category == "cuda") {
      ReadOther(object, category, run.texts[index], run.OffsetOf(index));
    } else {
      is_kineto_ = is_kineto_ || std::find(kKinetoCategories.begin(), kKinetoCategories.end(),
                                           category) != kKinetoCategories.end();
      if (marks_ == Marks::kRead) program_.ranges.Read(object, category);
      if (marks_ == Marks::kOperators) program_.operators.Read(object, category);
    }
  }
}

// Reads an event of the category "kernel".
void KinetoReader::ReadKernel(const simdjson::dom::object& event, std::string_view text,
                              std::uint64_t offset) {
  if (!others_.is_proton) {
    others_.is_proton = event.at_pointer("/args/call_stack").error() == simdjson::SUCCESS;
  }
  if (!*others_.is_proton) return kernels_.Read(text, offset, nullptr, *launches_);
  // Proton's instrumentation uses the name of the kernel as the category of what its warps do.
  std::string_view thread;
  if (event.at_key("tid").get_string().get(thread) == simdjson::SUCCESS &&
      thread.starts_with("warp ")) {
    return others_.parts.Add(offset);
  }
  const GpuTrack track = others_.tracks.FindProton(event);
  kernels_.Read(text, offset, &track, *launches_);
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
  kernels_.Read(text, offset, track ? &*track : &unknown, *launches_);
  if (!track) others_.no_stream += launches_->size() - before;
}

// A trace of another tool must not be read as a run without kernels.
Status KinetoReader::CheckKernels() const {
  if (others_.tracks.named_late()) {
    return Error{
        fmt::format("{}: the name of a GPU stream is after events of its process; expected the "
                    "names of processes and threads (ph 'M') first",
                    stream_.name())};
  }
  if (launches_->size() > 0 || events_ == 0) return Success{};
  if (kernels_.rejected().count > 0) {
    return Error{fmt::format(
        "{}: byte {}: a kernel event {}, and none of {} kernel events is complete; expected events "
        "with a name, 'ts' and 'dur'",
        stream_.name(), kernels_.rejected().first, kernels_.rejected().what,
        kernels_.rejected().count)};
  }
  if (kernels_.graphs() > 0) {
    return Error{
        fmt::format("{}: {} of whole CUDA graphs and no kernels; expected kernels (record "
                    "with XLA_FLAGS=--xla_gpu_enable_command_buffer=)",
                    stream_.name(), Plural(kernels_.graphs(), "launch", "launches"))};
  }
  if (others_.parts.count > 0) {
    return Error{
        fmt::format("{}: {} inside kernels and no launches; expected a trace that Proton recorded "
                    "without instrumentation: 'proton.start(NAME, data=\"trace\")'",
                    stream_.name(), Plural(others_.parts.count, "event"))};
  }
  if (is_kineto_) return Success{};
  return Error{fmt::format(
      "{}: {} events, none of them a kernel; expected events with cat 'kernel' (torch.profiler), "
      "or threads 'Stream #N' of a process '/device:GPU:N' (JAX, XLA)",
      stream_.name(), events_)};
}

void KinetoReader::WarnAtEnd() {
  const std::string& source = stream_.name();
  const Tally& rejected = kernels_.rejected();
  launches_->WarnOfByte(
      source, rejected,
      fmt::format("a kernel event {} and is skipped ({} such events, for any reason)",
                  rejected.what, rejected.count));
  launches_->WarnOfByte(
      source, no_object_,
      fmt::format("an event is not an object ({} such events; skipped)", no_object_.count));
  launches_->WarnOfByte(
      source, others_.parts,
      fmt::format("an event is inside a kernel ({} such events; skipped)", others_.parts.count));
  kernels_.WarnOfFields(source, *launches_);
  launches_->WarnOfCount(source, kernels_.graphs(), "launch of a CUDA graph was",
                         "launches of CUDA graphs were",
                         " recorded as a whole, without kernels; record with "
                         "XLA_FLAGS=--xla_gpu_enable_command_buffer= to include them");
  launches_->WarnOfCount(source, kernels_.copies(), "event is a copy", "events are copies",
                         " with the category of kernels; skipped");
  launches_->WarnOfCount(source, others_.no_stream, "event of category 'cuda' is",
                         "events of category 'cuda' are",
                         " on no known stream; treated as kernels");
  launches_->WarnOfCount(source, devices_.not_kernels(),
                         "event of a device is a copy, a wait or another command",
                         "events of devices are copies, waits and other commands", "; skipped");
  launches_->WarnOfCount(source, devices_.other_tiles(), "event is of", "events are of",
                         " another tile of a GPU; skipped, as the event of tile 0 is the launch");
  if (others_.tracks.has_gpu() && std::find(kXlaMaxEvents.begin(), kXlaMaxEvents.end(),
                                            others_.no_category) != kXlaMaxEvents.end()) {
    launches_->Warn(fmt::format(
        "{}: exactly {} events, the maximum of XLA: later kernels are missing; record fewer steps",
        source, others_.no_category));
  }
  if (launches_->size() == 0) {
    launches_->Warn(
        fmt::format("{}: {} events, none of them a kernel (cat 'kernel'); expected a trace that "
                    "was recorded with ProfilerActivity.CUDA while kernels ran and CUPTI worked",
                    source, events_));
  }
}

}  // namespace

bool LooksLikeKinetoJson(std::string_view leading) {
  if (nsys::LooksLikeJson(leading)) return false;
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

Result<std::unique_ptr<model::ProfileReader>> OpenKinetoJson(std::unique_ptr<ByteSource> source,
                                                             Marks marks) {
  return KinetoReader(std::move(source), marks).ReadAll();
}

}  // namespace stemtap::formats
