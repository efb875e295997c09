// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace stemtap {
namespace {

Error SystemError(const std::string& path, const char* deed) {
  return Error{fmt::format("{}: {}: {}", path, deed, std::strerror(errno))};
}

}  // namespace

Result<std::string> ReadWhole(ByteSource& source, std::size_t max_bytes,
                              std::string_view expected) {
  std::string text;
  std::vector<char> piece(kReadBytes);
  for (;;) {
    const Result<std::size_t> read = source.Read(piece.data(), piece.size());
    if (!read.ok()) return read.error();
    if (read.value() == 0) return text;
    text.append(piece.data(), read.value());
    if (text.size() > max_bytes) {
      return Error{fmt::format("{}: is longer than {} bytes, expected {}", source.name(), max_bytes,
                               expected)};
    }
  }
}

Status WriteFileAtomically(const std::string& path, std::string_view content) {
  const std::string temporary = fmt::format("{}.tmp.{}", path, ::getpid());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return SystemError(path, "cannot be written");
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const Error error = SystemError(path, "cannot be written");
      ::close(fd);
      ::unlink(temporary.c_str());
      return error;
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::close(fd) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const Error error = SystemError(path, "cannot be written");
    ::unlink(temporary.c_str());
    return error;
  }
  return Success{};
}

Status MakeFreshFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return Success{};
  if (errno != EEXIST) return SystemError(path, "cannot be made a session folder");
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return Error{fmt::format("{}: exists and is no folder", path)};
  }
  const bool empty = std::filesystem::is_empty(path, error);
  if (error) return Error{fmt::format("{}: cannot be read: {}", path, error.message())};
  if (!empty) return Error{fmt::format("{}: is not empty, expected a new or empty folder", path)};
  if (::access(path.c_str(), W_OK) != 0) return SystemError(path, "cannot be written");
  return Success{};
}

}  // namespace stemtap
