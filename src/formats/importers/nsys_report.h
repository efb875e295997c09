// SPDX-License-Identifier: Apache-2.0
//
// The reports of `nsys stats` that contain kernels: their columns, where a report starts in the
// output of nsys, and reports in JSON, which are read as if they were CSV.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/byte_source.h"

namespace stemtap::formats::nsys {

// The header must start within this many bytes.
inline constexpr std::size_t kHeaderWithin = std::size_t{64} * 1024;

enum Column : std::size_t {
  kStart,
  kDuration,
  kName,
  kCorrelation,
  kDevice,
  kStream,
  kGridX,  // both reports: the first or only grid column
  kGridY,
  kGridZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kStaticShared,
  kDynamicShared,
  kProcess,
  kLaunched,
  kColumns
};

struct ReportKind {
  std::string_view name;
  std::array<std::string_view, kColumns> columns;  // without units; empty: not in the report
  bool joined_extents;                             // "  16    1    1" in one cell
  bool by_launch;  // rows are in order of launch calls, not of kernel starts
};

inline constexpr ReportKind kGpuTrace = {
    "cuda_gpu_trace",
    {"Start", "Duration", "Name", "CorrId", "Device", "Strm", "GrdX", "GrdY", "GrdZ", "BlkX",
     "BlkY", "BlkZ", "StcSMem", "DymSMem", "", ""},
    false,
    false};
inline constexpr ReportKind kKernExecTrace = {
    "cuda_kern_exec_trace",
    {"Kernel Start", "Kernel Dur", "Kernel Name", "", "DevId", "", "GridXYZ", "", "", "BlockXYZ",
     "", "", "", "", "PID", "API Start"},
    true,
    true};

// Splits "Start (ns)", "Start(nsec)" and "Start:ts_ns" into "Start" and "ns", "nsec", "ns".
struct Heading {
  std::string_view name;
  std::string_view unit;
};
Heading HeadingOf(std::string_view cell);

// Returns the report whose header is `cells`, or null.
const ReportKind* ReportOf(const std::vector<std::string_view>& cells);

// Position of the header, after any preceding output of nsys.
struct HeaderPosition {
  std::size_t byte = 0;
  std::size_t lines = 0;
  char separator = ',';  // of cells; a tab with `nsys stats --format tsv`
};
// Returns nullopt if no header starts in `leading`.
std::optional<HeaderPosition> FindHeader(std::string_view leading);

// Returns the content of `source` from the header on, with one empty line for each line before it,
// so that line numbers are preserved.
std::unique_ptr<ByteSource> FromHeader(std::unique_ptr<ByteSource> source, HeaderPosition header);

// Reports of `nsys stats --format json` are an array with one object per row, whose keys are the
// columns.

// Returns whether such a report that lists kernels starts in `leading`, after any output of nsys.
bool LooksLikeJson(std::string_view leading);

// Returns such a report as CSV. Each row is in the line in which its object starts, so that
// errors contain the line of the JSON file, if no two objects start in one line, as nsys writes
// them.
std::unique_ptr<ByteSource> TableOfJson(std::unique_ptr<ByteSource> source);

}  // namespace stemtap::formats::nsys
