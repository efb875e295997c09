// SPDX-License-Identifier: Apache-2.0
//
// Parsers for decimal numbers in table cells and JSON values. Integers are parsed exactly: no
// double represents 1712195495505582.988 us to the nanosecond.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stemtap {

// Parses an integer without sign, spaces or separators.
std::optional<std::uint64_t> WholeNumber(std::string_view text);

struct JsonDecimal {
  bool negative = false;
  std::uint64_t magnitude = 0;
  bool exact = true;  // false: rounded to nearest, halves away from zero
};

// Returns `text` times 10^shift. Accepts JSON numbers, including exponents. Returns nullopt for
// other text and if the magnitude does not fit in 64 bits.
std::optional<JsonDecimal> ParseDecimal(std::string_view text, int shift);

// Returns `text`, a non-negative decimal number, times 10^shift, rounded half up to an integer.
// Accepts the forms that C prints and reads ("007", ".5", "4."). Returns nullopt for other text and
// for results of 2^63 or more.
//   ScaledDecimal("0.148007", 6) == 148007
std::optional<std::uint64_t> ScaledDecimal(std::string_view text, int shift);

// Returns the power of ten that converts a time in `unit` to ns. Units are s, ms, us and ns, and
// the spellings of Nsight Compute (second, msecond, usecond, nsecond).
std::optional<int> TimeExponent(std::string_view unit);

// Removes thousands separators from `number`, as in 12,345,678.9. If there are any, `plain` stores
// the result and `number` refers to it. Returns false if a comma is not a thousands separator.
bool DropThousands(std::string_view& number, std::string& plain);

// Parses a number in a table cell; ignores surrounding spaces and thousands separators. Returns NaN
// for an empty cell, "n/a", "nan" and similar. Returns nullopt for other text and for numbers that
// are not finite.
std::optional<double> CellNumber(std::string_view cell);

// Share is a part of a whole, or a relative change, as a user writes it: 0.05, or 5%.
struct Share {
  double value = 0.0;       // 0.05 in both cases
  bool is_percent = false;  // with a percent sign
};

// Parses a share: a decimal number, optionally with a percent sign after it. Returns nullopt for
// other text. 5% is exactly the number that 0.05 is.
std::optional<Share> ParseShare(std::string_view text);

}  // namespace stemtap
