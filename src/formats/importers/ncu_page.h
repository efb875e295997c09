// SPDX-License-Identifier: Apache-2.0
//
// A CSV page of Nsight Compute, raw (one row per launch) or details (one row per metric of a
// launch), and how ncu prints numbers. Every reader of ncu's CSV uses it. See
// docs/formats/ncu-csv.md.
//
// UNITS: base units (ns, byte, 1/s); a value that a launch does not have is NaN.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/name_table.h"
#include "shm/record.h"

namespace stemtap::formats {

struct NcuMetric {
  std::string name;            // unique in the page
  std::string label;           // as on the page; labels repeat in other sections
  std::string unit;            // base unit; empty if none
  bool is_scaled = false;      // a value was printed in a unit other than the base unit
  std::vector<double> values;  // one per launch
};

struct NcuLaunch {
  std::uint64_t id = 0;      // as on the page
  shm::KernelRecord record;  // correlation_id is the ID; duration_ns is 0; name_id indexes `names`
  std::uint64_t line = 0;    // 1-based
};

// NcuPage is a page as a table.
struct NcuPage {
  std::string source;  // name of the file in error messages
  model::NameTable names;
  std::vector<NcuLaunch> launches;  // in file order
  std::vector<NcuMetric> metrics;   // metrics with at least one number
  std::vector<std::string> warnings;
};

// Returns whether a file that starts with `leading` is an ncu page. `leading` may end inside the
// header.
bool LooksLikeNcuCsv(std::string_view leading);

Result<NcuPage> ReadNcuPage(std::unique_ptr<ByteSource> source);

// Numbers as ncu prints them: their format depends on the user's locale, so 1.024 may be about one
// or a thousand, and the unit may differ from row to row.

// NcuReading is the value of a text with the point and with the comma as the decimal mark; NaN if
// it is not a number.
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
