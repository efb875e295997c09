// SPDX-License-Identifier: Apache-2.0
#include "report/json_part.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"

namespace stemtap {
namespace {

using nlohmann::json;

// "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while parsing value -
// unexpected end of input; last read: '...'" without what stands before and behind: the first says
// nothing, and the last may be all of the text. So may a number that is too large.
std::string Told(std::string_view what, std::size_t byte) {
  constexpr std::size_t kMost = 160;
  const std::size_t begin = what.find("] ");
  if (begin != std::string_view::npos) what.remove_prefix(begin + 2);
  what = what.substr(0, what.find("; last read"));
  const bool placed = what.find("at line") != std::string_view::npos;
  return EscapeForTerminal(what.substr(0, kMost)) + (what.size() > kMost ? "..." : "") +
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
    at_schema_ = depth_ == 1 && name == "schema";
    return true;
  }
  bool start_object(std::size_t) override { return Enter(true); }
  bool start_array(std::size_t) override { return Enter(false); }
  bool end_object() override { return Leave(); }
  bool end_array() override { return Leave(); }
  bool parse_error(std::size_t byte, const std::string&, const json::exception& error) override {
    error_ = Told(error.what(), byte);
    return false;
  }

  const std::string& error() const { return error_; }
  const std::string& schema() const { return schema_; }

 private:
  bool Value() {
    if (depth_ == 0) error_ = "is no object";
    at_schema_ = false;
    return depth_ != 0;
  }
  bool Enter(bool object) {
    if (depth_ == 0 && !object) return Value();
    at_schema_ = false;
    if (++depth_ <= kMostJsonDepth) return true;
    error_ = fmt::format("nests deeper than {}", kMostJsonDepth);
    return false;
  }
  bool Leave() {
    --depth_;
    return true;
  }

  int depth_ = 0;
  bool at_schema_ = false;
  std::string schema_;
  std::string error_;
};

}  // namespace

Status CheckJsonPart(std::string_view text, std::string_view name, std::string_view schema,
                     std::string_view expected) {
  // The parser takes it for the end of the text.
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) {
    return Error{fmt::format("{}: holds a NUL at byte {}, expected {}", name, nul + 1, expected)};
  }
  Look look;
  json::sax_parse(text, &look);
  if (!look.error().empty()) {
    return Error{fmt::format("{}: {}, expected {}", name, look.error(), expected)};
  }
  if (look.schema() != schema) {
    return Error{fmt::format("{}: schema: is '{}', expected \"{}\", {}", name,
                             ShownCell(look.schema()), schema, expected)};
  }
  return Success{};
}

}  // namespace stemtap
