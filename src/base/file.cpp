// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

#include "base/text.h"

namespace stemtap {
namespace {

namespace fs = std::filesystem;

bool IsExecutable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

bool Exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

Status CheckReadable(const fs::path& directory) {
  const bool may_read =
      ::faccessat(AT_FDCWD, directory.c_str(), R_OK | X_OK, AT_EACCESS) == 0 || errno != EACCES;
  if (may_read) return Success{};
  return Error{fmt::format("{}: cannot be opened: {}", EscapeForTerminal(directory.string()),
                           std::strerror(errno))};
}

fs::path FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return IsExecutable(name) ? fs::path(name) : fs::path();
  const char* variable = std::getenv("PATH");
  std::string_view directories = variable == nullptr ? "/bin:/usr/bin" : variable;
  for (;;) {
    const std::size_t colon = directories.find(':');
    fs::path candidate = fs::path(directories.substr(0, colon)) / name;
    if (IsExecutable(candidate)) return candidate;
    if (colon == std::string_view::npos) return {};
    directories.remove_prefix(colon + 1);
  }
}

Result<std::string> ReadWhole(ByteSource& source, std::size_t max_bytes,
                              std::string_view expected) {
  std::string text;
  std::vector<char> piece(kReadBytes);
  for (;;) {
    const std::size_t read = STEMTAP_TRY(source.Read(piece.data(), piece.size()));
    if (read == 0) return text;
    text.append(piece.data(), read);
    if (text.size() > max_bytes) {
      return Error{fmt::format("{}: is longer than {} bytes; expected {}", source.name(), max_bytes,
                               expected)};
    }
  }
}

std::size_t WriteLines(int fd, off_t offset, std::string_view lines) {
  std::size_t written = 0;
  while (written < lines.size()) {
    const std::string_view rest = lines.substr(written);
    const ssize_t count =
        ::pwrite(fd, rest.data(), rest.size(), offset + static_cast<off_t>(written));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  if (written == lines.size()) return written;
  const int why = errno;
  const std::size_t whole = lines.substr(0, written).rfind('\n') + 1;  // 0 if there is no line end
  // If this fails, the next write replaces the incomplete line.
  static_cast<void>(::ftruncate(fd, offset + static_cast<off_t>(whole)));
  errno = why;
  return whole;
}

}  // namespace stemtap
