// SPDX-License-Identifier: Apache-2.0
//
// Completeness compares what the programs of a live session launched with what was recorded. At
// level gate, the launch callback counts launches independently of CUPTI's records, so records that
// CUPTI lost without reporting it show as missing:
//
//   launches = launch calls - failed calls; calls that only add a node to a graph do not count
//   records  = kernel records in CUPTI's buffers - records of kernels that graphs launched
//
// A graph launches any number of kernels with one call, so kernels of graphs cannot be compared.
//
// THREADS: none.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "model/session.h"

namespace stemtap::model {

struct Completeness {
  bool is_counted = false;          // the launch callback ran
  std::uint64_t launches = 0;       // counted by the launch callback
  std::uint64_t records = 0;        // of these launches, also those dropped or made in a pause
  std::uint64_t missing = 0;        // launches without a record, over all processes
  std::uint64_t surplus = 0;        // records without a launch, over all processes
  std::uint64_t graph_records = 0;  // kernels that graphs launched
  std::uint64_t dropped = 0;        // records that were lost and counted
  std::uint64_t paused = 0;         // records of kernels that started in a pause
  bool is_unclean = false;          // a process with missing records did not shut down cleanly
  bool has_gaps = false;            // a process with missing records has gaps
};

Completeness CompareLaunches(std::span<const ProcessReport> processes);

// Returns one line without a line end, or an empty string if no process was recorded:
// "all 400,000 launches were recorded".
std::string CompletenessLine(std::span<const ProcessReport> processes);

}  // namespace stemtap::model
