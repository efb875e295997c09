// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fmt/format.h>

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

}  // namespace stemtap
