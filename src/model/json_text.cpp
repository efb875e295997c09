// SPDX-License-Identifier: Apache-2.0
#include "model/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <tuple>

#include "base/byte_source.h"
#include "base/file.h"
#include "base/quoting.h"
#include "base/text.h"
#include "model/json_walk.h"

namespace stemtap::model {
namespace {

using nlohmann::json;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
// Number of bytes checked before the whole file is read.
constexpr std::size_t kLookedAt = std::size_t{64} * 1024;

// Whole is a document of which only the schema is known.
struct Whole {};

}  // namespace

template <>
inline constexpr auto kTable<Whole> = std::tuple<>();

Result<std::string> ReadJsonFile(const std::string& path, std::size_t max_bytes,
                                 std::string_view expected) {
  std::unique_ptr<ByteSource> opened = STEMTAP_TRY(OpenByteSource(path));
  const std::unique_ptr<ByteSource> source = LimitUnpacking(std::move(opened));
  std::error_code error;
  const std::string plain = source->PlainPath();
  const std::uintmax_t size = plain.empty() ? 0 : std::filesystem::file_size(plain, error);
  if (!error && size > max_bytes) {
    return Error{fmt::format("{}: has more than {} bytes; expected {}", source->name(), max_bytes,
                             expected)};
  }
  const std::string_view begin = STEMTAP_TRY(source->Peek(kLookedAt));
  std::string_view look = begin;
  const bool marked = look.starts_with(kByteOrderMark);
  if (marked) look.remove_prefix(kByteOrderMark.size());
  const std::size_t first = look.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && look[first] != '{') {
    return Error{fmt::format("{}: is not an object; expected {}", source->name(), expected)};
  }
  if (const std::size_t nul = begin.find('\0'); nul != std::string_view::npos) {
    return Error{fmt::format("{}: contains a NUL at byte {}; expected {}", source->name(), nul + 1,
                             expected)};
  }
  Result<std::string> text = ReadWhole(*source, max_bytes, expected);
  if (text.ok() && marked) text.value().erase(0, kByteOrderMark.size());
  return text;
}

std::string NameOfSource(const std::string& path) {
  return path == "-" ? "standard input" : EscapeForTerminal(path);
}

void AppendJsonReal(double value, std::string& text) {
  if (!std::isfinite(value)) {
    text += "null";
    return;
  }
  char digits[64];
  text.append(digits, nlohmann::detail::to_chars(digits, std::end(digits), value));
}

void AppendJsonString(std::string_view value, std::string& text) {
  const bool is_plain = std::all_of(value.begin(), value.end(), [](unsigned char c) {
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
  });
  if (is_plain) {
    text += '"';
    text += value;
    text += '"';
  } else {
    text += EscapeJson(json(value).dump(-1, ' ', false, json::error_handler_t::replace));
  }
}

Status CheckJsonText(std::string_view text, std::string_view name, std::string_view schema,
                     std::string_view expected) {
  Whole whole;
  return ReadJson(text, name, schema, expected, whole);
}

}  // namespace stemtap::model
