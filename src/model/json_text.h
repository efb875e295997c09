// SPDX-License-Identifier: Apache-2.0
//
// What the readers of JSON files have in common: the text of a file, and the check that it is one
// document that every JSON parser reads alike.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stemtap {

// Maximum nesting of arrays and objects. Ours nest seven deep; later versions may go further.
inline constexpr int kMostJsonDepth = 64;

// The content of the file at `path`, plain, .gz or .zst, at most `max_bytes` long, without a byte
// order mark. A file that is too long, or does not begin as a JSON object, is refused before it is
// read. `expected` names the file that was expected in errors ("a plan.json").
Result<std::string> ReadJsonFile(const std::string& path, std::size_t max_bytes,
                                 std::string_view expected);

// What errors call the file at `path`: the path, fit to be shown, or "standard input".
std::string NameOfSource(const std::string& path);

// What a message shows of a value that was read: NaN was null.
template <typename Value>
const Value& JsonValue(const Value& value) {
  return value;
}
inline std::string JsonValue(double value) {
  return std::isnan(value) ? "null" : fmt::format("{}", value);
}

// Whether `text` is one whole JSON object in UTF-8 whose "schema" is `schema` and in which no object
// has a key twice. `name` is what errors call it, and they say line and column; `expected` is what
// it should have been.
Status CheckJsonText(std::string_view text, std::string_view name, std::string_view schema,
                     std::string_view expected);

}  // namespace stemtap
