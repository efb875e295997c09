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
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "base/file.h"
#include "base/text.h"

namespace stemtap::model {
namespace {

using nlohmann::json;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
// Number of bytes checked before the whole file is read.
constexpr std::size_t kLookedAt = std::size_t{64} * 1024;

// Shortens a parser message such as "[json.exception.parse_error.101] parse error at line 3, column
// 5: syntax error while parsing value - unexpected end of input; last read: '...'". Removes the
// prefix, which users do not need, and the end, which may contain all of the text. Limits the
// length, because the message may also contain a number of any length.
std::string Shortened(std::string_view what, std::size_t byte) {
  constexpr std::size_t kMaxLength = 160;
  const std::size_t begin = what.find("] ");
  if (begin != std::string_view::npos) what.remove_prefix(begin + 2);
  what = what.substr(0, what.find("; last read"));
  const bool placed = what.find("at line") != std::string_view::npos;
  return EscapeForTerminal(what.substr(0, kMaxLength)) + (what.size() > kMaxLength ? "..." : "") +
         (placed ? "" : fmt::format(" at byte {}", byte));
}

class Look : public nlohmann::json_sax<json> {
 public:
  bool null() override { return Value(); }
  bool boolean(bool) override { return Value(); }
  bool number_integer(number_integer_t) override { return Value(); }
  bool number_unsigned(number_unsigned_t) override { return Value(); }
  bool number_float(number_float_t, const string_t&) override { return Value(); }
  bool binary(binary_t&) override { return Value(); }
  bool string(string_t& text) override {
    if (depth_ == 1 && at_schema_) schema_ = text;
    return Value();
  }
  bool key(string_t& name) override {
    Level& level = levels_[depth_ - 1];
    at_schema_ = depth_ == 1 && name == "schema";
    if (level.keys.insert(name).second) {
      level.key = std::move(name);
      return true;
    }
    error_ = fmt::format("{}{}{}: occurs twice", Path(depth_ - 1), depth_ == 1 ? "" : ".",
                         ShownCell(name));
    return false;
  }
  bool start_object(std::size_t) override { return Enter(true); }
  bool start_array(std::size_t) override { return Enter(false); }
  bool end_object() override { return Leave(); }
  bool end_array() override { return Leave(); }
  bool parse_error(std::size_t byte, const std::string&, const json::exception& error) override {
    error_ = Shortened(error.what(), byte);
    return false;
  }

  const std::string& error() const { return error_; }
  const std::string& schema() const { return schema_; }

 private:
  // Level is an array or object that is not yet closed. Its memory is reused.
  struct Level {
    bool is_object = false;
    std::size_t items = 0;  // items of the array so far, including the current one
    std::string key;        // key of the current value of the object
    std::unordered_set<std::string> keys;
  };

  // Returns the path of the current value in the first `depth` levels: kernels[3].clusters[0]
  std::string Path(std::size_t depth) const {
    std::string path;
    for (std::size_t i = 0; i < depth; ++i) {
      const Level& level = levels_[i];
      path += !level.is_object ? fmt::format("[{}]", level.items - 1)
                               : (path.empty() ? "" : ".") + ShownCell(level.key);
    }
    return path;
  }
  void BeginItem() {
    at_schema_ = false;
    if (depth_ != 0) ++levels_[depth_ - 1].items;
  }
  bool Value() {
    if (depth_ == 0) error_ = "is not an object";
    BeginItem();
    return depth_ != 0;
  }
  bool Enter(bool object) {
    if (depth_ == 0 && !object) return Value();
    BeginItem();
    if (depth_ == kMaxJsonDepth) {
      error_ = fmt::format("nests deeper than {}", kMaxJsonDepth);
      return false;
    }
    if (levels_.size() == depth_) levels_.emplace_back();
    Level& level = levels_[depth_++];
    level.is_object = object;
    level.items = 0;
    level.keys.clear();
    return true;
  }
  bool Leave() {
    --depth_;
    return true;
  }

  std::vector<Level> levels_;
  std::size_t depth_ = 0;
  bool at_schema_ = false;
  std::string schema_;
  std::string error_;
};

}  // namespace

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
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
  });
  if (is_plain) {
    text += '"';
    text += value;
    text += '"';
  } else {
    text += json(value).dump(-1, ' ', false, json::error_handler_t::replace);
  }
}

Status CheckJsonText(std::string_view text, std::string_view name, std::string_view schema,
                     std::string_view expected) {
  // The parser would interpret a NUL as the end of the text.
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) {
    return Error{
        fmt::format("{}: contains a NUL at byte {}; expected {}", name, nul + 1, expected)};
  }
  Look look;
  json::sax_parse(text, &look);
  if (!look.error().empty()) {
    return Error{fmt::format("{}: {}; expected {}", name, look.error(), expected)};
  }
  if (look.schema() != schema) {
    return Error{fmt::format("{}: schema: is '{}'; expected '{}', the schema of {}", name,
                             ShownCell(look.schema()), schema, expected)};
  }
  return Success{};
}

}  // namespace stemtap::model
