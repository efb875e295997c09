// SPDX-License-Identifier: Apache-2.0
//
// The reports of `nsys stats` that hold kernels: which columns they have, and where in what nsys prints
// one of them begins.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/byte_source.h"

namespace stemtap::nsys {

// The header must begin within these first bytes.
inline constexpr std::size_t kHeaderWithin = std::size_t{64} * 1024;

enum Column : int {
  kStart,
  kDuration,
  kName,
  kCorrelation,
  kDevice,
  kStream,
  kGridX,  // both reports: the first or only column of the grid
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
  std::array<std::string_view, kColumns> columns;  // without units; empty where it has none
  bool joined_extents;                             // "  16    1    1" in one cell
  bool by_launch;  // rows are in order of the launch calls, not of the kernels' starts
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

// "Start (ns)", "Start(nsec)" and "Start:ts_ns" as "Start" and "ns", "nsec", "ns".
struct Heading {
  std::string_view name;
  std::string_view unit;
};
Heading HeadingOf(std::string_view cell);

// The report whose header `cells` are; null if of none.
const ReportKind* ReportOf(const std::vector<std::string_view>& cells);

// Where the header begins, behind what nsys says before it.
struct HeaderPosition {
  std::size_t byte = 0;
  std::size_t lines = 0;
};
// Nothing where no header begins in `leading`.
std::optional<HeaderPosition> FindHeader(std::string_view leading);

// The content of `source` from the header on, with an empty line for each that came before, so that lines
// keep their numbers.
std::unique_ptr<ByteSource> FromHeader(std::unique_ptr<ByteSource> source, HeaderPosition header);

}  // namespace stemtap::nsys
