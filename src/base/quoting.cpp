// SPDX-License-Identifier: Apache-2.0
#include "base/quoting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace stemtap {
namespace {

// JSON has UTF-16 code units: a character above U+FFFF is a pair of them.
std::string JsonEscape(const TextUnit& unit) {
  const auto code = static_cast<std::uint32_t>(unit.code);
  if (code <= 0xFFFF) return fmt::format("\\u{:04x}", code);
  const std::uint32_t rest = code - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
}

}  // namespace

std::string EscapeJson(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size());
  while (!json.empty()) {
    const TextUnit unit = FirstUnit(json);
    if (unit.is_visible || unit.code == '\n') {
      escaped.append(json.substr(0, unit.bytes));
    } else {
      escaped += JsonEscape(unit);
    }
    json.remove_prefix(unit.bytes);
  }
  return escaped;
}

std::string ShellWord(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_./:@%+,-").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string quoted;   // in '...'
  std::string escaped;  // in $'...'
  bool needs_escapes = false;
  while (!text.empty()) {
    const TextUnit unit = FirstUnit(text);
    const std::string_view bytes = text.substr(0, unit.bytes);
    // An interactive bash replaces !word by an earlier command, in some versions also in $'...'.
    if (unit.is_visible && unit.code != '!') {
      quoted += unit.code == '\'' ? "'\\''" : bytes;
      if (unit.code == '\'' || unit.code == '\\') escaped += '\\';
      escaped += bytes;
    } else {
      needs_escapes = true;
      for (const char c : bytes) escaped += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
    text.remove_prefix(unit.bytes);
  }
  return needs_escapes ? "$'" + escaped + "'" : "'" + quoted + "'";
}

std::string ShellPath(const std::string& path) {
  return ShellWord(path.starts_with('-') ? "./" + path : path);
}

}  // namespace stemtap
