// SPDX-License-Identifier: Apache-2.0
#include "session/mask_writer.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

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
                             const model::NameTable& names) {
  if (file_ == nullptr || events.empty() || !error_.empty()) return;
  line_.clear();
  for (const online::MaskEvent& e : events) {
    fmt::format_to(std::back_inserter(line_),
                   "{{\"event\":\"{}\",\"index\":{},\"kernel\":{},\"occurrence\":{},\"cluster\":{},"
                   "\"time_ns\":{}{}}}\n",
                   NameOf(e.kind), e.index,
                   nlohmann::json(names.name(e.kernel))
                       .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                   e.occurrence, e.cluster,
                   e.time_ns == shm::kUnknownTime ? std::string("null") : std::to_string(e.time_ns),
                   e.imputed ? ",\"imputed\":true" : "");
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
