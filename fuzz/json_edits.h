// SPDX-License-Identifier: Apache-2.0
//
// Edits JSON text so that it usually remains valid JSON: replaces a value, or duplicates or removes
// a field or item. The edits apply to text rather than to a parsed document because a document
// cannot contain a duplicate key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stemtap {

// JsonPlace is a field of an object or an item of an array: [begin, end) contains the key, if any,
// and the value.
struct JsonPlace {
  std::size_t begin = 0;
  std::size_t value = 0;
  std::size_t end = 0;
};

namespace json_edits {

// REQUIRES: `text` is valid JSON.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<JsonPlace> Places() {
    Value();
    return std::move(places_);
  }

 private:
  void Blank() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  void String() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) at_ += text_[at_] == '\\';
    ++at_;
  }
  void Container(char close) {
    for (++at_, Blank(); at_ < text_.size() && text_[at_] != close;) {
      const std::size_t index = places_.size();
      places_.push_back({at_, at_, at_});
      if (close == '}') {
        String();
        Blank();
        ++at_;  // the colon
        Blank();
        places_[index].value = at_;
      }
      Value();
      places_[index].end = at_;
      Blank();
      if (at_ < text_.size() && text_[at_] == ',') ++at_;
      Blank();
    }
    ++at_;
  }
  void Value() {
    Blank();
    if (at_ >= text_.size()) return;
    if (text_[at_] == '{') return Container('}');
    if (text_[at_] == '[') return Container(']');
    if (text_[at_] == '"') return String();
    while (at_ < text_.size() &&
           std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos)
      ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<JsonPlace> places_;
};

inline std::string Value(std::uint8_t number, std::string_view present) {
  // Integers near the current value.
  const bool whole = !present.empty() && present.size() < 18 &&
                     present.find_first_not_of("0123456789") == std::string_view::npos;
  if (whole && number < 5) {
    const std::uint64_t value = std::stoull(std::string(present));
    const std::uint64_t near[] = {value + 1, value - (value > 0), value * 2, value / 2,
                                  value + 1000};
    return std::to_string(near[number]);
  }
  if (!present.empty() && number >= 5 && number < 8 && present[0] != '"' && present[0] != '[' &&
      present[0] != '{') {
    const char* const more[] = {"-", "1", "0.5"};
    return number == 5 ? more[0] + std::string(present) : std::string(present) + more[number - 5];
  }
  constexpr const char* kValues[] = {"0",
                                     "1",
                                     "-1",
                                     "0.5",
                                     "-0.0",
                                     "1e-300",
                                     "1e308",
                                     "-1e308",
                                     "1e19",
                                     "null",
                                     "true",
                                     "\"\"",
                                     "\"x\"",
                                     "[]",
                                     "{}",
                                     "2",
                                     "1000",
                                     "9007199254740993",
                                     "4294967295",
                                     "65535",
                                     "9223372036854775807",
                                     "9223372036854775808",
                                     "18446744073709551615",
                                     "18446744073709551616",
                                     "\"gemm\""};
  return kValues[number % std::size(kValues)];
}

}  // namespace json_edits

// Returns the fields and items of `text`, outer before inner. REQUIRES: `text` is valid JSON.
inline std::vector<JsonPlace> JsonPlaces(std::string_view text) {
  return json_edits::Scanner(text).Places();
}

// Edits one place of `text` by four bytes: two select the place, one the operation, one the value.
// REQUIRES: `text` is valid JSON. It remains valid unless a number becomes invalid.
inline void EditJson(std::string& text, std::uint16_t place, std::uint8_t edit,
                     std::uint8_t value) {
  const std::vector<JsonPlace> places = JsonPlaces(text);
  if (places.empty()) return;
  const JsonPlace& at = places[place % places.size()];
  const std::string key = text.substr(at.begin, at.value - at.begin);
  const std::string present = text.substr(at.value, at.end - at.value);
  switch (edit % 8) {
    case 0:  // removed, with one comma
    {
      std::size_t begin = at.begin;
      std::size_t end = at.end;
      const std::size_t next = text.find_first_not_of(" \t\r\n", end);
      if (next != std::string::npos && text[next] == ',') {
        end = next + 1;
      } else {
        const std::size_t before = text.find_last_not_of(" \t\r\n", begin - 1);
        if (text[before] == ',') begin = before;
      }
      text.erase(begin, end - begin);
      return;
    }
    case 1:  // duplicated
      text.insert(at.begin, key + present + ", ");
      return;
    case 2:  // duplicated; the first or last has another value
      text.insert(value % 2 == 0 ? at.begin : at.end,
                  value % 2 == 0 ? key + json_edits::Value(value / 2, present) + ", "
                                 : ", " + key + json_edits::Value(value / 2, present));
      return;
    case 3:  // the value of another place
    {
      const JsonPlace& other = places[(place + std::size_t{value} + 1) % places.size()];
      text.replace(at.value, present.size(), text.substr(other.value, other.end - other.value));
      return;
    }
    default:
      text.replace(at.value, present.size(), json_edits::Value(value, present));
  }
}

}  // namespace stemtap
