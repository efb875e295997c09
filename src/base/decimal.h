// SPDX-License-Identifier: Apache-2.0
//
// Numbers in the text of others' files: cells of tables, values of JSON. Whole ones are exact: a
// time of 1712195495505582.988 us has no double to its nanosecond.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stemtap {

// A whole number without sign, space or separator.
std::optional<std::uint64_t> WholeNumber(std::string_view text);

struct JsonDecimal {
  bool negative = false;
  std::uint64_t magnitude = 0;
  bool exact = true;  // false: rounded to the nearest, halves away from zero
};

// `text` times 10^shift. Takes the grammar of JSON numbers, exponents included; nothing for any other
// text and where the magnitude does not fit 64 bits.
std::optional<JsonDecimal> ParseDecimal(std::string_view text, int shift);

// `text`, a decimal number that is not negative, times 10^shift, rounded half up to whole. Takes
// what C prints and reads ("007", ".5", "4."); nothing for other text, and for 2^63 and more.
//   ScaledDecimal("0.148007", 6) == 148007
std::optional<std::uint64_t> ScaledDecimal(std::string_view text, int shift);

// The power of ten that turns a time of this unit into ns: s, ms, us, ns, also as Nsight Compute
// writes them (second, msecond, usecond, nsecond).
std::optional<int> TimeExponent(std::string_view unit);

// Takes the commas out of a number that stand before groups of three digits, as in 12,345,678.9, by
// way of `plain`; false where they stand otherwise.
bool DropThousands(std::string_view& number, std::string& plain);

// The number in a cell as tools print them: spaces around it and commas every three digits are
// passed over. NaN for an empty cell, "n/a", "nan" and the like; nothing for any other text, numbers
// that are not finite included.
std::optional<double> CellNumber(std::string_view cell);

}  // namespace stemtap
