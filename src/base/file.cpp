// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

namespace stemtap {

bool Exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
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
