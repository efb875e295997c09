// SPDX-License-Identifier: Apache-2.0
//
// Numbers as ncu prints them: in the locale of whoever ran it, so that 1.024 may be about one or a
// thousand, and in a unit that may differ from row to row.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stemtap {

// What a number is when the point is the decimal mark, and when the comma is; NaN: none at all.
struct NcuReading {
  double point = std::numeric_limits<double>::quiet_NaN();
  double comma = std::numeric_limits<double>::quiet_NaN();

  bool IsText() const;  // a number neither way
};

NcuReading ReadNcuNumber(std::string_view text);

// Whether the cell says that there is no value.
bool IsNcuMissing(std::string_view text);

// A unit as a factor to the base unit that the values are kept in.
struct NcuUnit {
  double factor = 1.0;
  std::string base;
};

NcuUnit ParseNcuUnit(std::string_view text);

// Whether values of the metric are whole numbers by their nature: sums, maxima and minima of events
// in a plain unit.
bool IsNcuWhole(std::string_view metric, std::string_view unit);

// Tells the decimal mark of a file from all of its numbers.
class NcuDecimalMark {
 public:
  // `reading` of `text` in that line; `whole` says that it is a whole number by its nature.
  void Note(const NcuReading& reading, bool whole, std::string_view text, std::uint64_t line);

  // Whether it is the comma; an error where the numbers of the file `name` contradict each other, or
  // leave it open and it matters.
  Result<bool> IsComma(const std::string& name) const;

 private:
  struct Place {
    std::uint64_t line = 0;  // 0: none yet
    std::string text;
  };
  Place point_, comma_, either_;  // what speaks for which
};

}  // namespace stemtap
