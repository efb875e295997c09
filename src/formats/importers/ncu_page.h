// SPDX-License-Identifier: Apache-2.0
//
// NcuPage is a CSV page of Nsight Compute as a table: raw (one row per launch) or details (one row
// per metric of a launch). Every reader of ncu's CSV uses it. See docs/formats/ncu-csv.md.
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

}  // namespace stemtap::formats
