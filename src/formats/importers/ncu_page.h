// SPDX-License-Identifier: Apache-2.0
//
// NcuPage is a CSV page of Nsight Compute as a table: raw (a row for each launch) or details (a row
// for each metric of a launch). Every reader of ncu's CSV uses it. See docs/formats/ncu-csv.md.
//
// UNITS: base units (ns, byte, 1/s); a value that a launch does not have is NaN.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/name_table.h"
#include "shm/record.h"

namespace stemtap {

struct NcuMetric {
  std::string name;            // unique in the page
  std::string label;           // as the page has it: labels repeat in other sections
  std::string unit;            // base unit; empty: none
  bool is_scaled = false;      // a value was printed in another unit than the base unit
  std::vector<double> values;  // of the launches
};

struct NcuLaunch {
  std::uint64_t id = 0;      // as the page has it
  shm::KernelRecord record;  // correlation_id is the ID; duration_ns is 0; name_id is of `names`
  std::uint64_t line = 0;    // 1-based
};

struct NcuPage {
  std::string source;  // what error messages call the file
  NameTable names;
  std::vector<NcuLaunch> launches;  // in the order of the file
  std::vector<NcuMetric> metrics;   // those with at least one number
  std::vector<std::string> warnings;
};

// Whether a file that begins with `leading` is a page of ncu. `leading` may end within the header.
bool LooksLikeNcuCsv(std::string_view leading);

Result<NcuPage> ReadNcuPage(std::unique_ptr<ByteSource> source);

}  // namespace stemtap
