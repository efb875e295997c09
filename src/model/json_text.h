// SPDX-License-Identifier: Apache-2.0
//
// Functions that the readers of JSON files share: they read the text of a file and check that it is
// one document that all JSON parsers interpret in the same way.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stemtap::model {

// Maximum nesting depth of arrays and objects. Current files have seven levels; the limit leaves
// room for later versions.
inline constexpr int kMaxJsonDepth = 64;

// Reads the file at `path`, which may be compressed with gzip or zstd, without its byte order mark.
// Rejects a file of more than `max_bytes` bytes, or one that does not begin like a JSON object,
// before it reads all of it. `expected` describes the expected file in error messages ("a
// plan.json").
Result<std::string> ReadJsonFile(const std::string& path, std::size_t max_bytes,
                                 std::string_view expected);

// Returns the name of the file at `path` for error messages: the escaped path, or "standard input".
std::string NameOfSource(const std::string& path);

// Returns a value as shown in error messages. NaN is "null", as in JSON.
template <typename Value>
const Value& JsonValue(const Value& value) {
  return value;
}
inline std::string JsonValue(double value) {
  return std::isnan(value) ? "null" : fmt::format("{}", value);
}

// Appends `value` in the shortest form that parses to the same double, with a decimal point or an
// exponent. NaN and infinity become null.
void AppendJsonReal(double value, std::string& text);

// Appends `value` in quotes. Names come from traced programs and may contain any bytes: invalid
// UTF-8 is replaced, and invisible characters are escaped.
void AppendJsonString(std::string_view value, std::string& text);

// Checks that `text` is one complete JSON object in UTF-8, that its "schema" is `schema` and that
// no object has duplicate keys. Error messages contain `name`, the position and `expected`.
Status CheckJsonText(std::string_view text, std::string_view name, std::string_view schema,
                     std::string_view expected);

}  // namespace stemtap::model
