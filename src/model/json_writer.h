// SPDX-License-Identifier: Apache-2.0
//
// JsonWriter writes structs as JSON, as described by their field tables (json_fields.h). It must be
// fast: an overview can have tens of thousands of kernels and is written once per second.
//
// THREADS: none.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "model/json_fields.h"
#include "model/json_text.h"

namespace stemtap::model {

// JsonStyle is what differs between file formats.
struct JsonStyle {
  void (*append_real)(double value, std::string& text) = AppendJsonReal;
  std::string_view separator = ",";  // between the items of a row, a grid or a nested list
  // If not 0, each field and item is on its own line, indented by this many spaces per level, and
  // the layouts in field tables are not used.
  std::size_t indent = 0;
};

class JsonWriter {
 public:
  // Appends to `text`, which must outlive the writer.
  JsonWriter(const JsonStyle& style, std::string& text) : style_(style), text_(text) {}

  // Writes the fields of `table` without braces.
  template <typename Object, typename Table>
  void Fields(const Object& object, const Table& table) {
    bool first = true;
    std::apply([&](const auto&... fields) { (Write(object, fields, first), ...); }, table);
  }

 private:
  void NewLine() {
    text_ += '\n';
    text_.append(depth_ * style_.indent, ' ');
  }
  void Open(char bracket) {
    text_ += bracket;
    ++depth_;
  }
  void Close(char bracket, bool is_empty) {
    --depth_;
    if (style_.indent != 0 && !is_empty) NewLine();
    text_ += bracket;
  }
  // Separates an item from the one before.
  void Next(bool& first, std::string_view separator) {
    const bool is_first = std::exchange(first, false);
    if (style_.indent == 0) {
      if (!is_first) text_ += separator;
    } else {
      if (!is_first) text_ += ',';
      NewLine();
    }
  }
  void Name(std::string_view name, std::string_view lead, bool& first) {
    Next(first, lead);
    text_ += '"';
    text_ += name;
    text_ += "\": ";
  }

  template <typename Object, typename Table>
  void Write(const Object& object, const Group<Table>& group, bool& first) {
    Name(group.name, group.lead, first);
    Open('{');
    Fields(object, group.table);
    Close('}', false);
  }
  template <typename Object, auto... kPath>
  void Write(const Object& object, const Field<kPath...>& field, bool& first) {
    if (field.is_written != nullptr && !field.is_written(object)) return;
    const auto& value = field.In(object);
    const bool plain = field.absent_as == AbsentAs::kValue || !field.IsAbsent(value);
    if (!plain && field.absent_as == AbsentAs::kNoField) return;
    Name(field.name, field.lead, first);
    if (plain) {
      FieldValue(value, field);
    } else {
      text_ += "null";
    }
  }

  // Writes a value whose form may depend on the field.
  template <typename T, auto... kPath>
  void FieldValue(const T& value, const Field<kPath...>& field) {
    if constexpr (std::is_enum_v<T>) {
      Value(std::string_view(field.texts.texts[static_cast<std::size_t>(value)]));
    } else if constexpr (std::is_same_v<T, bool>) {
      if (field.texts.texts.empty()) {
        text_ += value ? "true" : "false";
      } else {
        Value(std::string_view(field.texts.texts[value ? 1 : 0]));
      }
    } else if constexpr (std::is_same_v<T, double>) {
      if (field.is_time) {
        fmt::format_to(std::back_inserter(text_), "{:.3f}", value);
      } else {
        Value(value);
      }
    } else if constexpr (requires { List(value, field.list); }) {
      List(value, field.list);
    } else if constexpr (requires { Counters(value, field.texts); }) {
      Counters(value, field.texts);
    } else {
      Value(value);
    }
  }

  void Value(double value) { style_.append_real(value, text_); }
  void Value(std::integral auto value) {
    const fmt::format_int digits(value);
    text_.append(digits.data(), digits.size());
  }
  void Value(std::string_view value) { AppendJsonString(value, text_); }
  void Value(const std::string& value) { AppendJsonString(value, text_); }
  template <std::integral Extent>
  void Value(const Extent (&extents)[3]) {
    text_ += '[';
    for (const Extent& extent : extents) {
      if (&extent != extents) text_ += style_.separator;
      Value(extent);
    }
    text_ += ']';
  }
  template <typename... Alternatives>
  void Value(const std::variant<Alternatives...>& value) {
    std::visit([this](const auto& inner) { Value(inner); }, value);
  }
  // A list of pairs is an object with any names.
  template <typename Any>
  void Value(const std::vector<std::pair<std::string, Any>>& pairs) {
    Open('{');
    bool first = true;
    for (const auto& [name, value] : pairs) {
      Next(first, ", ");
      Value(name);
      text_ += ": ";
      Value(value);
    }
    Close('}', pairs.empty());
  }
  template <typename T>
  requires HasTable<T>
  void Value(const T& object) {
    Open('{');
    Fields(object, kTable<T>);
    Close('}', false);
  }
  template <typename T>
  requires HasRow<T>
  void Value(const T& object) {
    text_ += '[';
    bool first = true;
    const auto element = [&](const auto& field) {
      if (!std::exchange(first, false)) text_ += style_.separator;
      const auto& value = field.In(object);
      if (field.absent_as == AbsentAs::kNull && field.IsAbsent(value)) {
        text_ += "null";
      } else {
        FieldValue(value, field);
      }
    };
    std::apply([&](const auto&... fields) { (element(fields), ...); }, kRow<T>.fields);
    text_ += ']';
  }
  template <typename Item>
  void Value(const std::vector<Item>& items) {
    List(items, {.between = style_.separator});
  }

  // Pairs and items are different overloads: a list of pairs is an object.
  template <typename Item>
  requires(!requires(const Item& item) { item.second; }) void List(const std::vector<Item>& items,
                                                                   const ListLayout& layout) {
    Open('[');
    bool first = true;
    for (const Item& item : items) {
      if (first && style_.indent == 0) text_ += layout.before;
      Next(first, layout.between);
      Value(item);
    }
    if (style_.indent == 0 && (!items.empty() || layout.after_empty)) text_ += layout.after;
    Close(']', items.empty());
  }
  // Counters with fixed names.
  template <std::size_t kCount>
  requires(kCount != 3) void Counters(const std::uint64_t (&counters)[kCount],
                                      const EnumTexts& names) {
    Open('{');
    bool first = true;
    for (std::size_t i = 0; i < kCount; ++i) {
      Name(names.texts[i], ", ", first);
      Value(counters[i]);
    }
    Close('}', false);
  }

  const JsonStyle& style_;
  std::string& text_;
  std::size_t depth_ = 1;  // of open objects and lists
};

}  // namespace stemtap::model
