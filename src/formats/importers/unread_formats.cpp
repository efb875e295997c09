// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "base/file.h"
#include "base/quoting.h"
#include "formats/importers/importers.h"
#include "formats/importers/proto_stream.h"

namespace stemtap::formats {
namespace {

// The name in a Nsight Systems report follows a tag of a few bytes and is within this many bytes.
constexpr std::size_t kNameWithin = 256;

// The first name of a process in a trace of rocprof is within this many bytes.
constexpr std::size_t kTraceNameWithin = 4096;

constexpr const char* kRecordWithRocprofv3 =
    "record with 'rocprofv3 --kernel-trace --output-format csv -- PROGRAM'";

// Two headings of a summary are within this many bytes, in every format of the tools.
constexpr std::size_t kHeadingWithin = 100;

// Number of Perfetto trace packets to inspect. More only makes detection slower.
constexpr int kPackets = 8;

// Trace { repeated TracePacket packet = 1; }, TracePacket { uint64 timestamp = 8; uint32
// trusted_packet_sequence_id = 10; }
bool LooksLikePerfetto(std::string_view leading) {
  bool is_packet = false;
  for (int i = 0; i < kPackets && !leading.empty(); ++i) {
    const std::optional<ProtoField> packet = TakeField(leading);
    if (!packet || packet->number != 1 || !packet->is_bytes) return false;
    std::string_view fields = packet->bytes;
    while (!fields.empty()) {
      const std::optional<ProtoField> field = TakeField(fields);
      if (!field) return false;
      is_packet = is_packet || (field->is_varint && (field->number == 8 || field->number == 10));
    }
  }
  return is_packet;
}

// Messages, each preceded by its length: GlobalMetadata { string version = 1; repeated
// AttributeProto attr = 2; }, then Node { uint64 id = 1; string name = 2; NodeType type = 3; }
bool LooksLikeChakra(std::string_view leading) {
  const auto take_message = [&]() -> std::optional<std::string_view> {
    const std::optional<std::uint64_t> size = TakeVarint(leading);
    if (!size || *size == 0 || *size > leading.size()) return std::nullopt;
    const std::string_view message = leading.substr(0, *size);
    leading.remove_prefix(*size);
    return message;
  };
  std::optional<std::string_view> metadata = take_message();
  std::optional<std::string_view> node = metadata ? take_message() : std::nullopt;
  if (!node) return false;
  while (!metadata->empty()) {
    const std::optional<ProtoField> field = TakeField(*metadata);
    if (!field || field->number > 2 || !field->is_bytes) return false;
  }
  bool has_name = false;
  bool has_type = false;
  while (!node->empty()) {
    const std::optional<ProtoField> field = TakeField(*node);
    if (!field || field->number > 11) return false;
    has_name = has_name || (field->number == 2 && field->is_bytes && !field->bytes.empty());
    has_type = has_type || (field->number == 3 && field->is_varint);
  }
  return has_name && has_type;
}

std::string_view SkipSpace(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text;
}

// Returns the first key of the JSON object at the start of `text`, or an empty string.
std::string_view FirstKey(std::string_view text) {
  text = SkipSpace(text);
  if (!text.starts_with('{')) return {};
  text = SkipSpace(text.substr(1));
  if (!text.starts_with('"')) return {};
  return text.substr(1, text.find('"', 1) - 1);
}

bool LooksLikeRocprofJson(std::string_view leading) {
  return FirstKey(leading) == "rocprofiler-sdk-tool";
}

// A Chrome trace of the older rocprof: process names are events with a key "sort_index". Other
// tools write the index as an event of its own.
bool LooksLikeRocprofTrace(std::string_view leading) {
  if (FirstKey(leading) != "traceEvents") return false;
  leading = leading.substr(0, kTraceNameWithin);
  const std::size_t name = leading.find("\"process_name\"");
  if (name == std::string_view::npos) return false;
  leading.remove_prefix(name);
  return leading.substr(0, leading.find('}')).find("\"sort_index\"") != std::string_view::npos;
}

template <RocprofRow kRow>
bool HasRocprofRows(std::string_view leading) {
  return RocprofRowOf(leading) == kRow;
}

bool LooksLikeChakraJson(std::string_view leading) {
  if (FirstKey(leading) != "schema") return false;
  return leading.substr(0, kNameWithin).find("chakra") != std::string_view::npos ||
         leading.find("\"nodes\"") != std::string_view::npos;
}

// A call tree: [{"children": [...], "frame": {...}, "metrics": {...}}, ...]
bool LooksLikeHatchet(std::string_view leading) {
  leading = SkipSpace(leading);
  if (!leading.starts_with('[')) return false;
  const std::string_view key = FirstKey(leading.substr(1));
  if (key != "children" && key != "frame" && key != "metrics") return false;
  return leading.find("\"frame\"") != std::string_view::npos &&
         leading.find("\"metrics\"") != std::string_view::npos;
}

bool NamesItself(std::string_view leading, std::string_view name) {
  return leading.substr(0, kNameWithin).find(name) != std::string_view::npos;
}

// Returns the first key of the first object of the JSON array at the start of `text`, or "".
std::string_view FirstKeyOfArray(std::string_view text) {
  text = SkipSpace(text);
  return text.starts_with('[') ? FirstKey(text.substr(1)) : std::string_view();
}

// `trtexec --exportProfile`: number of runs, then times of layers. --exportTimes: times of runs.
bool LooksLikeTrtexec(std::string_view leading) {
  const std::string_view key = FirstKeyOfArray(leading);
  return (key == "count" && leading.find("\"averageMs\"") != std::string_view::npos) ||
         (key.starts_with("start") && key.ends_with("Ms"));
}

// `nsys export --type json`: an object per line. Newer versions write the strings first.
bool LooksLikeNsysEvents(std::string_view leading) {
  const std::string_view key = FirstKey(leading);
  if (key == "data") return NamesItself(leading, "[\"[Unknown]\"");
  return (key == "Type" || key.ends_with("Event")) &&
         leading.find("Event\":{") != std::string_view::npos;
}

// Parquet, Arrow (a file, or a stream that starts with the size of its schema) and HDF5.
bool LooksLikeColumns(std::string_view leading) {
  const bool arrow_stream = leading.starts_with("\xFF\xFF\xFF\xFF") && leading.size() > 8 &&
                            leading[4] % 8 == 0 && leading[6] < 0x10 && leading[7] == 0;
  return leading.starts_with("PAR1") || leading.starts_with("ARROW1") || arrow_stream ||
         leading.starts_with("\x89HDF\r\n");
}

// Returns whether one of the headings `second` follows the heading `first`.
bool HasHeadings(std::string_view text, std::string_view first,
                 std::initializer_list<std::string_view> second) {
  const std::size_t at = text.find(first);
  if (at == std::string_view::npos) return false;
  const std::string_view rest = text.substr(at, kHeadingWithin);
  return std::any_of(second.begin(), second.end(), [&](std::string_view heading) {
    return rest.find(heading) != std::string_view::npos;
  });
}

// Summaries of `nsys stats` in every format, unless a report with single launches follows.
bool LooksLikeNsysSums(std::string_view leading) {
  return HasHeadings(leading, "Total Time (", {"Instances", "Num Calls"}) &&
         !LooksLikeNsysCsv(leading);
}

bool LooksLikeNvprofSums(std::string_view leading) {
  return HasHeadings(leading, "Time(%)", {"Calls"}) && !LooksLikeNvprofCsv(leading);
}

constexpr std::array kUnreadFormats = {
    UnreadFormat{"a report of Nsight Systems (.nsys-rep)",
                 "export it with 'nsys export --type sqlite FILE'",
                 [](std::string_view leading) {
                   return NamesItself(leading, "NVIDIA Tegra Profiler Report") ||
                          NamesItself(leading, "NVIDIA Nsight Systems Report");
                 }},
    UnreadFormat{"an event stream of Nsight Systems (.qdstrm)",
                 "convert it with 'QdstrmImporter -i FILE' and export the report with 'nsys export "
                 "--type sqlite report.nsys-rep'",
                 [](std::string_view leading) {
                   return NamesItself(leading, "NVIDIA Nsight Systems Stream");
                 }},
    UnreadFormat{
        "a report of Nsight Compute (.ncu-rep)",
        "convert it with 'ncu --import FILE --page raw --csv > profile.csv'",
        [](std::string_view leading) { return leading.starts_with(std::string_view("NVR\0", 4)); }},
    UnreadFormat{"an export of Nsight Systems as JSON",
                 "export the report with 'nsys export --type sqlite report.nsys-rep'",
                 LooksLikeNsysEvents},
    UnreadFormat{"a Parquet, Arrow or HDF5 file, as 'nsys export' writes it",
                 "export the report with 'nsys export --type sqlite report.nsys-rep'",
                 LooksLikeColumns},
    UnreadFormat{"a summary of 'nsys stats' (no individual launches)",
                 "use 'nsys stats --report cuda_gpu_trace --format csv --output . report.nsys-rep'",
                 LooksLikeNsysSums},
    UnreadFormat{"a summary of nvprof (no individual launches)",
                 "record with 'nvprof --csv --print-gpu-trace --log-file trace.csv PROGRAM'",
                 LooksLikeNvprofSums},
    UnreadFormat{
        "a profile of TensorRT's trtexec (layers instead of launches)",
        "record with 'nsys profile --trace=cuda -o report trtexec ARGUMENTS' and export it "
        "with 'nsys export --type sqlite report.nsys-rep'",
        LooksLikeTrtexec},
    UnreadFormat{"JSON output of rocprofv3", kRecordWithRocprofv3, LooksLikeRocprofJson},
    UnreadFormat{
        "a JSON trace of rocprof or rocprofv2",
        "record a table with 'rocprof --timestamp on -o results.csv PROGRAM' or 'rocprofv2 "
        "--kernel-trace -d DIRECTORY PROGRAM'",
        LooksLikeRocprofTrace},
    UnreadFormat{"a table of rocprof without times",
                 "record with 'rocprof --timestamp on -o results.csv PROGRAM'",
                 HasRocprofRows<RocprofRow::kLaunchWithoutTimes>},
    UnreadFormat{"a table of rocprofv3's counters", kRecordWithRocprofv3,
                 HasRocprofRows<RocprofRow::kCounter>},
    UnreadFormat{"a table of API calls of rocprof", kRecordWithRocprofv3,
                 HasRocprofRows<RocprofRow::kApiCall>},
    UnreadFormat{"a summary of rocprof, which has no individual launches", kRecordWithRocprofv3,
                 HasRocprofRows<RocprofRow::kSummary>},
    UnreadFormat{
        "a Perfetto trace (.pftrace), as rocprofv3 writes it",
        "record with 'rocprofv3 --kernel-trace --output-format csv -- PROGRAM', or convert "
        "it: trace_processor -Q \"select ts start_ns, dur duration_ns, name from slice "
        "where category = 'kernel_dispatch'\" FILE > profile.csv",
        LooksLikePerfetto},
    UnreadFormat{"a Chakra execution trace (.et)",
                 "use the torch.profiler trace that it was made with: "
                 "'prof.export_chrome_trace(\"trace.json.gz\")'",
                 LooksLikeChakra},
    UnreadFormat{"an execution trace of PyTorch (Chakra, JSON)",
                 "record with torch.profiler and 'prof.export_chrome_trace(\"trace.json.gz\")'",
                 LooksLikeChakraJson},
    UnreadFormat{"a call tree of Triton's Proton (.hatchet), which has no individual launches",
                 "record with 'proton.start(NAME, data=\"trace\")'", LooksLikeHatchet},
};

}  // namespace

std::span<const UnreadFormat> UnreadFormats() {
  return kUnreadFormats;
}

std::string AdviceFor(const std::string& name, std::string_view advice) {
  constexpr std::string_view kFile = "FILE";
  std::string text(advice);
  const std::size_t at = text.find(kFile);
  if (at != std::string::npos && Exists(name)) text.replace(at, kFile.size(), ShellPath(name));
  return text;
}

std::optional<Error> RefuseUnread(const std::string& name, std::string_view leading) {
  for (const UnreadFormat& format : kUnreadFormats) {
    if (!format.detect(leading)) continue;
    return Error{fmt::format("{}: is {}, which stemtap cannot read; {}", name, format.name,
                             AdviceFor(name, format.advice))};
  }
  return std::nullopt;
}

}  // namespace stemtap::formats
