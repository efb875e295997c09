// SPDX-License-Identifier: Apache-2.0
#include "session/merge/merged_mask.h"

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "base/line_reader.h"
#include "base/quoting.h"
#include "base/text.h"

namespace stemtap::session {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxDepth = 8;
constexpr const char* kExpected = "; expected an event of a mask.ndjson";

// Offsets are the numbers of the first launches of a part in the merged run.
struct Offsets {
  std::uint64_t index = 0;
  std::map<std::string, std::uint64_t> occurrence;  // by kernel name
};

// Returns the event of `line` with its numbers shifted, or why the event is invalid.
Result<std::string> Moved(std::string_view line, const Offsets& offsets) {
  if (NestsDeeper(line, kMaxDepth)) return Error{"nests too deep"};
  Json event = Json::parse(line, nullptr, false);
  if (!event.is_object()) return Error{"is not JSON"};
  for (const char* field : {"index", "occurrence"}) {
    if (!event.contains(field) || !event[field].is_number_unsigned()) {
      return Error{std::string(field) + ": expected a whole number"};
    }
  }
  if (!event.contains("kernel") || !event["kernel"].is_string()) {
    return Error{"kernel: expected a string"};
  }
  const auto move = [&](const char* field, std::uint64_t by) {
    std::uint64_t moved = 0;
    if (__builtin_add_overflow(event[field].get<std::uint64_t>(), by, &moved)) return false;
    event[field] = moved;
    return true;
  };
  if (!move("index", offsets.index)) return Error{"index: exceeds 64 bits"};
  const auto before = offsets.occurrence.find(event["kernel"].get<std::string>());
  if (before != offsets.occurrence.end() && !move("occurrence", before->second)) {
    return Error{"occurrence: exceeds 64 bits"};
  }
  return EscapeJson(event.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

// Returns whether the last line of the mask is incomplete. It is left out.
Result<bool> WriteEvents(const std::string& path, const Offsets& offsets, ByteSink& sink) {
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path);
  if (!source.ok()) return source.error();
  LineReader lines(LimitUnpacking(std::move(source).value()));
  for (;;) {
    const Result<bool> next = lines.Next();
    if (!next.ok()) return next.error();
    if (!next.value()) return false;
    if (!lines.ended() && !Json::accept(lines.text())) return true;
    const Result<std::string> moved = Moved(lines.text(), offsets);
    if (!moved.ok()) return lines.At(moved.error().message + kExpected);
    STEMTAP_TRY(sink.Write(moved.value()));
  }
}

}  // namespace

Status WriteMergedMask(std::span<const SessionPart> parts, ByteSink& sink,
                       std::vector<std::string>& warnings) {
  Offsets offsets;
  for (const SessionPart& part : parts) {
    if (!part.mask.empty()) {
      const bool is_cut = STEMTAP_TRY(WriteEvents(part.mask, offsets, sink));
      if (is_cut) {
        warnings.push_back(part.path +
                           "/mask.ndjson: the last line is incomplete; the merged mask lacks 1 event");
      }
    }
    for (const model::PlanSession& session : part.plan.sessions) offsets.index += session.launches;
    for (const model::PlanKernel& kernel : part.plan.kernels) {
      // Kernels of one process are counted within that process.
      if (kernel.process == 0) offsets.occurrence[kernel.name] += kernel.invocations;
    }
  }
  return Success{};
}

}  // namespace stemtap::session
