// SPDX-License-Identifier: Apache-2.0
#include "session/mask_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "model/json_text.h"
#include "shm/session_env.h"

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
  if (fd < 0) return Error{fmt::format("{}: cannot be written: {}", path, std::strerror(errno))};
  MaskWriter writer;
  writer.file_ = FileDescriptor(fd);
  return writer;
}

void MaskWriter::OnDecisions(std::span<const online::MaskEvent> events,
                             const model::NameTable& names, const CaptureMarks& marks) {
  if (!file_.is_open() || events.empty()) return;
  lines_.clear();
  for (const online::MaskEvent& e : events) {
    fmt::format_to(std::back_inserter(lines_),
                   "{{\"event\":\"{}\",\"index\":{},\"kernel\":{},\"occurrence\":{},\"cluster\":{},"
                   "\"time_ns\":{}{}}}\n",
                   NameOf(e.kind), e.index, JsonText(names.name(e.kernel)), e.occurrence, e.cluster,
                   e.time_ns == shm::kUnknownTime ? std::string("null") : std::to_string(e.time_ns),
                   MoreFields(e, marks));
  }
  const std::size_t written = WriteLines(file_.get(), bytes_, lines_);
  bytes_ += static_cast<off_t>(written);
  if (written == lines_.size()) return;
  why_ = errno;
  missing_ += static_cast<std::uint64_t>(
      std::count(lines_.begin() + static_cast<std::ptrdiff_t>(written), lines_.end(), '\n'));
}

Result<MaskWriter> MaskWriter::CopyTo(const Directory& from, const Directory& to) const {
  MaskWriter copy =
      STEMTAP_TRY(Open(to.OpenForWriting(shm::kMaskFileName), to.PathOf(shm::kMaskFileName)));
  const FileDescriptor source(
      ::openat(from.descriptor(), shm::kMaskFileName, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  for (off_t at = 0; source.is_open() && at < bytes_;) {
    const ssize_t sent =
        ::sendfile(copy.file_.get(), source.get(), &at, static_cast<std::size_t>(bytes_ - at));
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) break;
    copy.bytes_ += sent;
  }
  if (copy.bytes_ == bytes_) return copy;
  return Error{fmt::format("{}: cannot be copied to {}: {}", from.PathOf(shm::kMaskFileName),
                           to.path(), std::strerror(errno))};
}

void MaskWriter::Clear() {
  // If it fails, the lines stay and the next ones follow.
  if (!file_.is_open() || ::ftruncate(file_.get(), 0) != 0) return;
  bytes_ = 0;
  missing_ = 0;
}

Status MaskWriter::Close() {
  const bool closed = file_.Close();
  if (closed && missing_ == 0) return Success{};
  if (missing_ == 0) {
    return Error{
        fmt::format("{}: cannot be written: {}", shm::kMaskFileName, std::strerror(errno))};
  }
  return Error{fmt::format(
      "{}: {} missing, {}", shm::kMaskFileName, Plural(missing_, "event is", "events are"),
      why_ == ENOSPC || why_ == EDQUOT ? "the disk was full" : std::strerror(why_))};
}

}  // namespace stemtap::session
