// SPDX-License-Identifier: Apache-2.0
//
// Parses numbers as ncu prints them. The format depends on the user's locale, so 1.024 may be about
// one or a thousand, and the unit may differ from row to row.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stemtap::formats {

// The value of a text with the point and with the comma as the decimal mark; NaN if it is not a
// number.
struct NcuReading {
  double point = std::numeric_limits<double>::quiet_NaN();
  double comma = std::numeric_limits<double>::quiet_NaN();

  bool IsText() const;  // not a number with either mark
};

NcuReading ReadNcuNumber(std::string_view text);

// Returns whether the cell marks a missing value.
bool IsNcuMissing(std::string_view text);

// A unit as a factor to the base unit in which values are stored.
struct NcuUnit {
  double factor = 1.0;
  std::string base;
};

NcuUnit ParseNcuUnit(std::string_view text);

// What is known about all values of a metric.
enum class NcuValues : std::uint8_t {
  kAny,
  kWhole,   // whole numbers: sums, maxima and minima of bytes and ns, which ncu may print as 1.000
  kCounts,  // the same of events, which ncu prints without decimals
};
NcuValues NcuValuesOf(std::string_view metric, std::string_view unit);

// NcuDecimalMark determines the decimal mark of a file from all of its numbers.
class NcuDecimalMark {
 public:
  // Adds `reading`, the parsed `text` of line `line`.
  void Note(const NcuReading& reading, NcuValues values, std::string_view text, std::uint64_t line);

  // Returns whether the mark is the comma. Returns an error if the numbers of the file `name`
  // contradict each other, or if they leave the mark open and it matters.
  Result<bool> IsComma(const std::string& name) const;

 private:
  struct Place {
    std::uint64_t line = 0;  // 0: none yet
    std::string text;
  };
  // The first number that requires a point, the first that requires a comma, and the first whose
  // value depends on the mark but is valid with both.
  Place point_, comma_, either_;
};

}  // namespace stemtap::formats
