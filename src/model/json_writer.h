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
  std::string_view extent_separator = ",";  // between the extents of a grid or block
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
  void Name(std::string_view name, std::string_view lead, bool& first) {
    if (!std::exchange(first, false)) text_ += lead;
    text_ += '"';
    text_ += name;
    text_ += "\": ";
  }

  template <typename Object, typename Table>
  void Write(const Object& object, const Group<Table>& group, bool& first) {
    Name(group.name, group.lead, first);
    text_ += '{';
    Fields(object, group.table);
    text_ += '}';
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
    } else if constexpr (requires { Value(value); }) {
      Value(value);
    } else {
      List(value, field.list);
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
      if (&extent != extents) text_ += style_.extent_separator;
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
    text_ += '{';
    for (const auto& [name, value] : pairs) {
      if (&name != &pairs.front().first) text_ += ", ";
      Value(name);
      text_ += ": ";
      Value(value);
    }
    text_ += '}';
  }
  template <typename T>
  requires HasTable<T>
  void Value(const T& object) {
    text_ += '{';
    Fields(object, kTable<T>);
    text_ += '}';
  }
  template <typename T>
  requires HasRow<T>
  void Value(const T& object) {
    text_ += '[';
    bool first = true;
    const auto element = [&](const auto& field) {
      if (!std::exchange(first, false)) text_ += ", ";
      FieldValue(field.In(object), field);
    };
    std::apply([&](const auto&... fields) { (element(fields), ...); }, kRow<T>.fields);
    text_ += ']';
  }

  template <typename Item>
  void List(const std::vector<Item>& items, const ListLayout& layout) {
    text_ += '[';
    for (const Item& item : items) {
      text_ += &item == items.data() ? layout.before : layout.between;
      Value(item);
    }
    if (!items.empty() || layout.after_empty) text_ += layout.after;
    text_ += ']';
  }

  const JsonStyle& style_;
  std::string& text_;
};

}  // namespace stemtap::model
