// SPDX-License-Identifier: Apache-2.0
#include "base/quoting.h"

#include <fmt/format.h>

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

}  // namespace stemtap
