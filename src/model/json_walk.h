// SPDX-License-Identifier: Apache-2.0
//
// JsonWalk reads JSON into structs in one pass, as described by their field tables (json_fields.h).
//
// Unknown fields, which later versions may add, are ignored, but must be valid JSON. A field that
// occurs twice is an error, because JSON parsers disagree about which value counts.
//
// THREADS: none.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "model/json_fields.h"
#include "model/json_text.h"

namespace stemtap::model {

// Ensures that simdjson can parse `text` without a copy: it reads some bytes beyond the end.
inline void PadForJson(std::string& text) {
  if (text.capacity() < text.size() + simdjson::SIMDJSON_PADDING) {
    text.reserve(text.size() + text.size() / 8 + simdjson::SIMDJSON_PADDING);
  }
}

class JsonWalk {
 public:
  // `schema` is the required value of the field "schema". If `details` is false, ignores fields
  // that are details.
  explicit JsonWalk(std::string_view schema, bool details = true)
      : schema_(schema), details_(details) {}

  // Reads `text`, which is padded (PadForJson), into `object` and reuses the memory of its vectors.
  // `source` is the name of the text in error messages and `expected` describes the expected file.
  // After an error, the content of `object` is unspecified.
  template <typename T>
  Status Read(simdjson::ondemand::parser& parser, const std::string& text, std::string_view source,
              std::string_view expected, T& object) {
    simdjson::ondemand::document document;
    description_ = expected;
    code_ = parser.iterate(text.data(), text.size(), text.capacity()).get(document);
    const bool is_open = code_ == kSuccess;
    if (is_open && Object(document, kTable<T>, object) && AtEnd(document)) return Success{};
    if (!expected_.empty()) {
      return Error{fmt::format("{}: {}{}{}; expected {}", source, where_,
                               where_.empty() ? "" : ": ", wrong_, expected_)};
    }
    const char* at = nullptr;
    const bool has_place = is_open && document.current_location().get(at) == kSuccess &&
                           at >= text.data() && at <= text.data() + text.size();
    const std::string line =
        has_place ? fmt::format("line {}: ", 1 + std::count(text.data(), at, '\n')) : "";
    std::string_view reason = simdjson::error_message(code_);
    if (reason.ends_with('.')) reason.remove_suffix(1);
    return Error{fmt::format("{}: {}is not JSON: {}; expected {}", source, line,
                             EscapeForTerminal(reason), expected)};
  }

 private:
  using Input = simdjson::ondemand::value;
  using Code = simdjson::error_code;
  static constexpr auto kSuccess = simdjson::SUCCESS;

  // Every function below returns whether it succeeded. The first failure sets code_, wrong_ and
  // expected_, and each enclosing level adds its name to the front of where_.
  bool Fail(std::string_view wrong, std::string_view expected) {
    wrong_ = wrong;
    expected_ = expected;
    return false;
  }
  // `error` is the result of reading `value` as `expected`; kSuccess if only the value is wrong.
  bool FailAt(Input& value, Code error, std::string_view expected) {
    code_ = error;
    // Other codes are JSON syntax errors, which any access can report.
    const bool is_value = error == simdjson::INCORRECT_TYPE || error == kSuccess ||
                          error == simdjson::NUMBER_OUT_OF_RANGE || error == simdjson::NUMBER_ERROR;
    if (!is_value) return false;
    const std::string_view token = value.raw_json_token();
    if (token.starts_with('{')) return Fail("is an object", expected);
    if (token.starts_with('[')) return Fail("is an array", expected);
    const std::size_t end = token.find_last_not_of(" \t\r\n");
    return Fail("is " + ShownCell(token.substr(0, end + 1)), expected);
  }
  bool Enter() {
    return ++depth_ <= kMaxJsonDepth ||
           Fail(fmt::format("nests deeper than {}", kMaxJsonDepth), description_);
  }
  bool Syntax(Code error) {
    code_ = error;
    return false;
  }
  bool Inside(std::string_view name) {
    where_ = fmt::format("{}{}{}", name, where_.empty() || where_[0] == '[' ? "" : ".", where_);
    return false;
  }
  bool AtEnd(simdjson::ondemand::document& document) {
    // A current location exists only if tokens follow the document.
    const char* at = nullptr;
    return document.current_location().get(at) != kSuccess || Syntax(simdjson::TRAILING_CONTENT);
  }
  static bool IsNull(Input& value) {
    bool null = false;
    return value.is_null().get(null) == kSuccess && null;
  }

  // Checks a value that is not used.
  bool Skip(Input& value) {
    simdjson::ondemand::json_type type = simdjson::ondemand::json_type::null;
    Code error = value.type().get(type);
    if (error != kSuccess) return Syntax(error);
    switch (type) {
      case simdjson::ondemand::json_type::object:
        return ForEachField(value, [this](std::string_view, Input& inner) { return Skip(inner); });
      case simdjson::ondemand::json_type::array:
        return ForEachItem(value, [this](std::size_t, Input& inner) { return Skip(inner); });
      case simdjson::ondemand::json_type::string:
        error = value.get_string().error();
        break;
      case simdjson::ondemand::json_type::number:
        error = value.get_double().error();
        break;
      case simdjson::ondemand::json_type::boolean:
        error = value.get_bool().error();
        break;
      case simdjson::ondemand::json_type::null:
        error = IsNull(value) ? kSuccess : simdjson::N_ATOM_ERROR;
        break;
    }
    return error == kSuccess || Syntax(error);
  }

  // Calls each(name, value) for every field.
  template <typename AnyInput, typename Each>
  bool ForEachField(AnyInput& value, Each each) {
    simdjson::ondemand::object object;
    Code error = value.get_object().get(object);
    if constexpr (std::is_same_v<AnyInput, Input>) {
      if (error != kSuccess) return FailAt(value, error, "an object");
    } else if (error == simdjson::INCORRECT_TYPE) {
      return Fail("is not an object", description_);
    }
    if (error != kSuccess) return Syntax(error);
    const std::size_t first = names_.size();
    if (!Enter()) return false;
    for (auto field : object) {
      std::string_view name;
      Input inner;
      error = field.unescaped_key().get(name);
      if (error == kSuccess) error = field.value().get(inner);
      if (error != kSuccess) return Syntax(error);
      if (std::find(names_.begin() + static_cast<std::ptrdiff_t>(first), names_.end(), name) !=
          names_.end()) {
        Fail("occurs twice", "it once");
        return Inside(ShownCell(name));
      }
      if (names_.size() - first == kMaxFields) {
        return Fail("has too many fields", fmt::format("at most {}", kMaxFields));
      }
      names_.push_back(name);
      if (!each(name, inner)) return Inside(ShownCell(name));
    }
    names_.resize(first);
    --depth_;
    return true;
  }
  // Calls each(index, value) for every item.
  template <typename Each>
  bool ForEachItem(Input& value, Each each) {
    simdjson::ondemand::array array;
    Code error = value.get_array().get(array);
    if (error != kSuccess) return FailAt(value, error, "an array");
    std::size_t index = 0;
    if (!Enter()) return false;
    for (auto item : array) {
      Input inner;
      error = item.get(inner);
      if (error != kSuccess) return Syntax(error);
      if (!each(index, inner)) return Inside(fmt::format("[{}]", index));
      ++index;
    }
    --depth_;
    return true;
  }
  template <typename AnyInput, typename Table, typename T>
  bool Object(AnyInput& value, const Table& table, T& object) {
    static_assert(std::tuple_size_v<Table> <= 64);
    constexpr bool kIsFile = std::is_same_v<AnyInput, simdjson::ondemand::document>;
    std::uint64_t seen = 0;
    const auto read = [&](std::string_view name, Input& inner) {
      if (kIsFile && name == "schema") return has_schema_ = Schema(inner);
      bool success = true;
      std::uint64_t bit = 1;
      const auto is_field = [&](const auto& field) {
        if (field.name == name) {
          seen |= bit;
          success = FieldOf(inner, field, object);
          return true;
        }
        bit <<= 1;
        return false;
      };
      const bool is_known =
          std::apply([&](const auto&... fields) { return (is_field(fields) || ...); }, table);
      return is_known ? success : Skip(inner);
    };
    if (!ForEachField(value, read)) return false;
    if (kIsFile && !has_schema_) {
      Fail("is missing", fmt::format("'{}'", schema_));
      return Inside("schema");
    }
    std::uint64_t bit = 1;
    const auto complete = [&](const auto& field) {
      const bool is_missing = (seen & bit) == 0;
      bit <<= 1;
      return !is_missing || Missing(field, object);
    };
    return std::apply([&](const auto&... fields) { return (complete(fields) && ...); }, table);
  }

  bool Schema(Input& value) {
    std::string_view text;
    const Code error = value.get_string().get(text);
    return (error == kSuccess && text == schema_) ||
           FailAt(value, error, fmt::format("'{}'", schema_));
  }
  template <typename Table, typename T>
  bool FieldOf(Input& value, const Group<Table>& group, T& object) {
    return Object(value, group.table, object);
  }
  template <auto... kPath, typename T>
  bool FieldOf(Input& value, const Field<kPath...>& field, T& object) {
    auto& member = field.In(object);
    if (field.is_detail && !details_) return SetAbsent(field, member);
    if (field.presence == Presence::kNullable && IsNull(value)) return SetAbsent(field, member);
    using Member = std::remove_reference_t<decltype(member)>;
    if constexpr (std::is_enum_v<Member>) {
      return Enum(value, field.texts, member);
    } else if constexpr (std::is_same_v<Member, bool>) {
      return field.texts.texts.empty() ? Value(value, member) : Enum(value, field.texts, member);
    } else if constexpr (std::is_same_v<Member, double>) {
      return Value(value, member) &&
             (!field.is_time || !std::isnan(member) || FailAt(value, kSuccess, Expected(member)));
    } else if constexpr (requires { Counters(value, field.texts, member); }) {
      return Counters(value, field.texts, member);
    } else {
      if (!Value(value, member)) return false;
      if constexpr (std::is_integral_v<Member>) {
        // A number that means null in memory is not a value.
        if (field.presence == Presence::kNullable && field.absent != 0 && member == field.absent) {
          return FailAt(value, kSuccess, fmt::format("a whole number below {}", member));
        }
      }
      return true;
    }
  }

  template <typename Table, typename T>
  bool Missing(const Group<Table>& group, T& object) {
    const auto complete = [&](const auto& field) { return Missing(field, object); };
    return std::apply([&](const auto&... fields) { return (complete(fields) && ...); },
                      group.table);
  }
  template <auto... kPath, typename T>
  bool Missing(const Field<kPath...>& field, T& object) {
    auto& member = field.In(object);
    if (field.presence != Presence::kRequired) return SetAbsent(field, member);
    Fail("is missing", *field.texts.expected != '\0' ? field.texts.expected : Expected(member));
    return Inside(field.name);
  }
  template <auto... kPath, typename T>
  static bool SetAbsent(const Field<kPath...>& field, T& member) {
    if constexpr (std::is_arithmetic_v<T>) {
      member = field.absent;
    } else if constexpr (std::is_array_v<T>) {
      std::fill(std::begin(member), std::end(member), 0);
    } else if constexpr (requires { member.clear(); }) {
      member.clear();
    } else {
      member = {};
    }
    return true;
  }

  template <typename T>
  static constexpr const char* Expected(const T&) {
    if constexpr (std::is_same_v<T, bool>) {
      return "true or false";
    } else if constexpr (std::is_integral_v<T>) {
      return "a whole number";
    } else if constexpr (std::is_floating_point_v<T>) {
      return "a number";
    } else if constexpr (std::is_same_v<T, std::string>) {
      return "a text";
    } else if constexpr (HasTable<T> || requires(T t) { t.front().second; }) {
      return "an object";
    } else {
      return "an array";
    }
  }

  template <typename Number>
  requires std::integral<Number>
  bool Value(Input& value, Number& to) {
    std::uint64_t number = 0;
    const Code error = value.get_uint64().get(number);
    if (error != kSuccess || number > std::uint64_t{std::numeric_limits<Number>::max()}) {
      return FailAt(value, error, Expected(to));
    }
    to = static_cast<Number>(number);
    return true;
  }
  bool Value(Input& value, bool& to) {
    const Code error = value.get_bool().get(to);
    return error == kSuccess || FailAt(value, error, Expected(to));
  }
  bool Value(Input& value, double& to) {
    to = std::numeric_limits<double>::quiet_NaN();
    if (IsNull(value)) return true;
    const Code error = value.get_double().get(to);
    return error == kSuccess || FailAt(value, error, Expected(to));
  }
  bool Value(Input& value, std::string& to) {
    std::string_view text;
    const Code error = value.get_string().get(text);
    if (error != kSuccess) return FailAt(value, error, Expected(to));
    to.assign(text);
    return true;
  }
  template <typename T>
  bool Enum(Input& value, const EnumTexts& texts, T& to) {
    std::string_view text;
    const Code error = value.get_string().get(text);
    const auto is_text = [&](std::size_t i) {
      return text == texts.texts[i] || (!texts.former.empty() && text == texts.former[i]);
    };
    std::size_t at = 0;
    while (error == kSuccess && at < texts.texts.size() && !is_text(at)) ++at;
    if (error != kSuccess || at == texts.texts.size()) return FailAt(value, error, texts.expected);
    to = static_cast<T>(at);
    return true;
  }
  template <std::integral Extent>
  bool Value(Input& value, Extent (&extents)[3]) {
    return Row(value, "three whole numbers", std::tie(extents[0], extents[1], extents[2]),
               [this](Input& inner, Extent& extent) { return Value(inner, extent); });
  }
  template <HasTable T>
  bool Value(Input& value, T& object) {
    return Object(value, kTable<T>, object);
  }
  template <HasRow T>
  bool Value(Input& value, T& object) {
    if constexpr (kRow<T>.least < std::tuple_size_v<decltype(kRow<T>.fields)>) object = T();
    return Row(
        value, kRow<T>.expected, kRow<T>.fields,
        [&](Input& inner, const auto& field) { return FieldOf(inner, field, object); },
        kRow<T>.is_exact, kRow<T>.least);
  }
  // Calls read(value, element) for each of `elements`, of which at least `least` must be there.
  // Unless `is_exact`, ignores further items.
  template <typename Elements, typename Read>
  bool Row(Input& value, const char* expected, const Elements& elements, const Read& read,
           bool is_exact = false, std::size_t least = std::tuple_size_v<Elements>) {
    constexpr std::size_t kSize = std::tuple_size_v<Elements>;
    std::size_t count = 0;
    const auto each = [&](std::size_t index, Input& inner) {
      count = index + 1;
      bool success = true;
      std::size_t i = 0;
      const auto is_element = [&](auto& element) {
        if (i++ != index) return false;
        success = read(inner, element);
        return true;
      };
      const bool is_known =
          std::apply([&](auto&... all) { return (is_element(all) || ...); }, elements);
      return is_known ? success : Skip(inner);
    };
    if (!ForEachItem(value, each)) return false;
    return (count >= least && count <= kSize) || (count > kSize && !is_exact) ||
           Fail(fmt::format("has {} items", count), expected);
  }
  // Reuses the memory of the items.
  template <typename Item>
  bool Value(Input& value, std::vector<Item>& items) {
    std::size_t count = 0;
    const auto read = [&](std::size_t i, Input& inner) {
      if (i == items.size()) items.emplace_back();
      count = i + 1;
      return Value(inner, items[i]);
    };
    if (!ForEachItem(value, read)) return false;
    items.resize(count);
    return true;
  }
  // Texts and numbers by name. Ignores other values.
  bool Value(Input& value,
             std::vector<std::pair<std::string, std::variant<std::string, double, std::uint64_t>>>&
                 options) {
    options.clear();
    return ForEachField(value, [&](std::string_view name, Input& inner) {
      std::string_view text;
      double real = 0.0;
      std::uint64_t whole = 0;
      if (inner.get_string().get(text) == kSuccess) {
        options.emplace_back(name, std::string(text));
      } else if (inner.get_uint64().get(whole) == kSuccess) {
        options.emplace_back(name, whole);
      } else if (inner.get_double().get(real) == kSuccess) {
        options.emplace_back(name, real);
      } else {
        return Skip(inner);
      }
      return true;
    });
  }
  // Counters by name, without zeros.
  bool Value(Input& value, std::vector<std::pair<std::string, std::uint64_t>>& counters) {
    counters.clear();
    return ForEachField(value, [&](std::string_view name, Input& inner) {
      std::uint64_t count = 0;
      if (!Value(inner, count)) return false;
      if (count != 0) counters.emplace_back(name, count);
      return true;
    });
  }
  // Counters with fixed names. Missing counters are 0; counters with other names are ignored.
  template <std::size_t kCount>
  requires(kCount != 3) bool Counters(Input& value, const EnumTexts& names,
                                      std::uint64_t (&counters)[kCount]) {
    std::fill(std::begin(counters), std::end(counters), 0);
    return ForEachField(value, [&](std::string_view name, Input& inner) {
      std::uint64_t count = 0;
      if (!Value(inner, count)) return false;
      const auto found = std::find(names.texts.begin(), names.texts.end(), name);
      if (found != names.texts.end()) counters[found - names.texts.begin()] = count;
      return true;
    });
  }

  // Maximum fields per object. Our objects have up to 40. The check for fields that occur twice
  // compares each name with all previous ones, so its time is quadratic.
  static constexpr std::size_t kMaxFields = 256;

  const std::string_view schema_;
  const bool details_;
  std::string_view description_;
  bool has_schema_ = false;
  std::vector<std::string_view> names_;  // field names of all open objects, in the parser's memory
  int depth_ = 0;                        // of open objects and arrays
  std::string where_;
  std::string wrong_;
  std::string expected_;  // empty if the text is not valid JSON
  Code code_ = kSuccess;
};

// Reads the whole of `text` into `object`.
template <typename T>
Status ReadJson(std::string_view text, std::string_view source, std::string_view schema,
                std::string_view expected, T& object) {
  std::string padded(text);
  PadForJson(padded);
  simdjson::ondemand::parser parser;
  return JsonWalk(schema).Read(parser, padded, source, expected, object);
}

}  // namespace stemtap::model
