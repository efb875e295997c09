// SPDX-License-Identifier: Apache-2.0
//
// Exact integers from the text of JSON numbers: a time of 1712195495505582.988 us has no double to
// its nanosecond.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stemtap {

struct JsonDecimal {
  bool negative = false;
  std::uint64_t magnitude = 0;
  bool exact = true;  // false: rounded to the nearest, halves away from zero
};

// `text` times 10^shift. Takes the grammar of JSON numbers, exponents included; nothing for any other
// text and where the magnitude does not fit 64 bits.
std::optional<JsonDecimal> ParseDecimal(std::string_view text, int shift);

}  // namespace stemtap
