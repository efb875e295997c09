// SPDX-License-Identifier: Apache-2.0
#include "session/mask_writer.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "model/json_text.h"

namespace stemtap::session {
namespace {

const char* NameOf(online::MaskEventKind kind) {
  switch (kind) {
    case online::MaskEventKind::kCapture:
      return "capture";
    case online::MaskEventKind::kClose:
      return "close";
    case online::MaskEventKind::kReopen:
      return "reopen";
    case online::MaskEventKind::kTopUp:
      return "top_up";
  }
  return "";
}

std::string JsonText(std::string_view text) {
  std::string json;
  model::AppendJsonString(text, json);
  return json;
}

// Returns the fields that only some captures have.
std::string MoreFields(const online::MaskEvent& event, const CaptureMarks& marks) {
  if (event.kind != online::MaskEventKind::kCapture) return {};
  std::string fields = event.imputed ? ",\"imputed\":true" : "";
  const NamedMark mark = marks.Of(event.index);
  if (!mark.range.empty()) fields += fmt::format(",\"range\":{}", JsonText(mark.range));
  if (mark.step != shm::kNoStep) fields += fmt::format(",\"step\":{}", mark.step);
  return fields;
}

}  // namespace

Result<MaskWriter> MaskWriter::Open(int fd, const std::string& path) {
  MaskWriter writer;
  writer.path_ = path;
  if (fd >= 0) writer.file_.reset(::fdopen(fd, "w"));
  if (writer.file_ == nullptr) {
    return Error{fmt::format("{}: cannot be written: {}", path, std::strerror(errno))};
  }
  return writer;
}

void MaskWriter::OnDecisions(std::span<const online::MaskEvent> events,
                             const model::NameTable& names, const CaptureMarks& marks) {
  if (file_ == nullptr || events.empty() || !error_.empty()) return;
  line_.clear();
  for (const online::MaskEvent& e : events) {
    fmt::format_to(std::back_inserter(line_),
                   "{{\"event\":\"{}\",\"index\":{},\"kernel\":{},\"occurrence\":{},\"cluster\":{},"
                   "\"time_ns\":{}{}}}\n",
                   NameOf(e.kind), e.index, JsonText(names.name(e.kernel)), e.occurrence, e.cluster,
                   e.time_ns == shm::kUnknownTime ? std::string("null") : std::to_string(e.time_ns),
                   MoreFields(e, marks));
  }
  if (std::fwrite(line_.data(), 1, line_.size(), file_.get()) != line_.size() ||
      std::fflush(file_.get()) != 0) {
    error_ = fmt::format("{}: cannot be written: {}", path_, std::strerror(errno));
  }
}

Status MaskWriter::Close() {
  if (file_ != nullptr && std::fclose(file_.release()) != 0 && error_.empty()) {
    error_ = fmt::format("{}: cannot be written: {}", path_, std::strerror(errno));
  }
  if (!error_.empty()) return Error{error_};
  return Success{};
}

}  // namespace stemtap::session
