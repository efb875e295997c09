// SPDX-License-Identifier: Apache-2.0
//
// Field tables describe how structs are stored as JSON. One table per struct drives both the writer
// (json_writer.h) and the reader (json_walk.h):
//
//   template <>
//   inline constexpr auto kTable<Point> =
//       std::tuple(Required<&Point::x>("x"), Optional<&Point::y>("y"));
//
// The C++ type of a member determines its JSON type: a struct with a kTable is an object, a struct
// with a kRow is an array of fixed length, and a vector is a list.
//
// THREADS: none; tables are constants.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace stemtap::model {

// kTable<T> is the tuple of the fields of T, in the order in which they are written.
template <typename T>
inline constexpr auto kTable = nullptr;

// kRow<T> is the JsonRow of T, if T is stored as an array.
template <typename T>
inline constexpr auto kRow = nullptr;

template <typename T>
concept HasTable = !std::is_null_pointer_v<std::remove_cv_t<decltype(kTable<T>)>>;
template <typename T>
concept HasRow = !std::is_null_pointer_v<std::remove_cv_t<decltype(kRow<T>)>>;

// Whether a file may lack a field. A field that is missing, or null where null is allowed, gets the
// absent value. A real number may be null in any case and is then NaN.
enum class Presence : std::uint8_t { kRequired, kOptional, kNullable };

// What is written instead of the absent value.
enum class AbsentAs : std::uint8_t { kValue, kNull, kNoField };

// What is written before, between and after the items of a list.
struct ListLayout {
  std::string_view before = "";
  std::string_view between = ", ";
  std::string_view after = "";
  bool after_empty = false;  // whether an empty list contains `after`
};

// The texts of an enumeration by value, and their description in error messages; or the names of an
// array of counters, which is an object.
struct EnumTexts {
  std::span<const char* const> texts;
  const char* expected = "";
  std::span<const char* const> former = {};  // accepted too: texts of earlier versions, by value
};

struct NoAbsentValue {};

template <auto kFirst, auto... kRest>
constexpr auto& MemberAt(auto& object) {
  if constexpr (sizeof...(kRest) == 0) {
    return object.*kFirst;
  } else {
    return MemberAt<kRest...>(object.*kFirst);
  }
}

template <typename Class, typename Member>
Class ClassOf(Member Class::*);

// Field stores the member that the path of member pointers leads to.
template <auto kFirst, auto... kRest>
struct Field {
  using Object = decltype(ClassOf(kFirst));
  using Value =
      std::remove_reference_t<decltype(MemberAt<kFirst, kRest...>(std::declval<Object&>()))>;
  using Absent = std::conditional_t<std::is_arithmetic_v<Value>, Value, NoAbsentValue>;

  std::string_view name;
  Presence presence = Presence::kOptional;
  Absent absent = {};
  AbsentAs absent_as = AbsentAs::kValue;
  bool is_time = false;          // seconds, written with three decimals; null is an error
  bool is_detail = false;        // not read if the reader skips details
  std::string_view lead = ", ";  // written before the field, unless it is the first one
  ListLayout list = {};
  EnumTexts texts = {};
  bool (*is_written)(const Object&) = nullptr;  // null: always

  static constexpr auto& In(auto& object) { return MemberAt<kFirst, kRest...>(object); }

  constexpr bool IsAbsent(const Value& value) const {
    if constexpr (std::is_floating_point_v<Value>) {
      return std::isnan(absent) ? std::isnan(value) : value == absent;
    } else if constexpr (std::is_arithmetic_v<Value>) {
      return value == absent;
    } else if constexpr (std::is_array_v<Value>) {
      return value[0] == 0;  // an unknown grid or block
    } else if constexpr (requires { value.empty(); }) {
      return value.empty();
    } else {
      return false;
    }
  }

  // Each function returns a copy of the field with one property set.
  constexpr Field NullIfAbsent() const { return Set(&Field::absent_as, AbsentAs::kNull); }
  constexpr Field OmitIfAbsent() const { return Set(&Field::absent_as, AbsentAs::kNoField); }
  constexpr Field OnlyIf(bool (*when)(const Object&)) const {
    return Set(&Field::is_written, when);
  }
  constexpr Field Seconds() const { return Set(&Field::is_time, true); }
  constexpr Field Detail() const { return Set(&Field::is_detail, true); }
  constexpr Field Lead(std::string_view text) const { return Set(&Field::lead, text); }
  constexpr Field Items(ListLayout layout) const { return Set(&Field::list, layout); }
  constexpr Field OneOf(EnumTexts names) const { return Set(&Field::texts, names); }

 private:
  template <typename Property>
  constexpr Field Set(Property Field::*property, std::type_identity_t<Property> value) const {
    Field changed = *this;
    changed.*property = value;
    return changed;
  }
};

template <auto... kPath>
constexpr Field<kPath...> Required(std::string_view name) {
  return {.name = name, .presence = Presence::kRequired};
}
template <auto... kPath>
constexpr Field<kPath...> Optional(std::string_view name = "",
                                   typename Field<kPath...>::Absent absent = {}) {
  return {.name = name, .presence = Presence::kOptional, .absent = absent};
}
template <auto... kPath>
constexpr Field<kPath...> Nullable(std::string_view name,
                                   typename Field<kPath...>::Absent absent = {}) {
  return {.name = name, .presence = Presence::kNullable, .absent = absent};
}

// Group is an object whose fields are members of the enclosing struct.
template <typename Table>
struct Group {
  std::string_view name;
  std::string_view lead;
  Table table;
};
// Clang before 17 does not deduce the argument of an aggregate.
template <typename Table>
Group(const char*, const char*, Table) -> Group<Table>;

// JsonRow stores a struct as an array; its fields have no names. Unless the row is exact, elements
// that later versions append are ignored. Files of earlier versions may lack the elements after the
// first `least`.
template <typename... Fields>
struct JsonRow {
  const char* expected;
  std::tuple<Fields...> fields;
  bool is_exact = false;
  std::size_t least = sizeof...(Fields);

  constexpr JsonRow Exact() const { return {expected, fields, true, least}; }
  constexpr JsonRow Least(std::size_t elements) const {
    return {expected, fields, is_exact, elements};
  }
};
template <typename... Fields>
constexpr JsonRow<Fields...> MakeRow(const char* expected, Fields... fields) {
  return {expected, std::tuple(fields...)};
}

}  // namespace stemtap::model
