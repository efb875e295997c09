// SPDX-License-Identifier: Apache-2.0
//
// ShownRun is what one or several sessions (the ranks of a run) come to together: sums, and a row for each
// kernel of any of them.
//
// The bound of several is the mean of theirs by their time. It holds whatever their errors have to do with
// each other (the triangle inequality), and is wider than that of a sample drawn for all at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ui/top/session_watch.h"

namespace stemtap::top {

// One session as it stands. What it points to lives as long as what is made of it is used.
struct Session {
  std::string folder;
  SessionState state = SessionState::kWaiting;
  const Overview* overview = nullptr;  // null: none yet
  std::string problem;
  // As SessionWatch has them.
  bool plan = false;
  std::int64_t overdue_s = 0;
  double launches_per_s = 0.0;
};

struct KernelRow {
  const OverviewKernel* kernel =
      nullptr;  // the first of those that it sums up: its name, its process
  std::uint64_t invocations = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t captured = 0;
  std::uint64_t imputed = 0;
  std::uint32_t open = 0;  // clusters that are not closed
  std::uint32_t closed = 0;
  std::uint32_t first_part = 0;
  std::uint32_t parts = 0;

  double mean_ns() const {
    return invocations == 0 ? 0.0
                            : static_cast<double>(duration_ns) / static_cast<double>(invocations);
  }
};

struct ProcessRow {
  std::size_t session = 0;  // index
  const OverviewProcess* process = nullptr;
};

struct ShownRun {
  OverviewTotals totals;
  SessionState state = SessionState::kWaiting;
  double launches_per_s = 0.0;  // of those that run; of all where none does
  std::vector<KernelRow> kernels;
  // The kernels that a row sums up, and the sessions that they are of.
  std::vector<const OverviewKernel*> parts;
  std::vector<std::uint32_t> part_sessions;
  std::vector<ProcessRow> processes;

  std::span<const OverviewKernel* const> PartsOf(const KernelRow& row) const {
    return std::span(parts).subspan(row.first_part, row.parts);
  }
};

// `only` is the index of one session that is shown alone; -1: all.
ShownRun MakeShownRun(std::span<const Session> sessions, int only);

}  // namespace stemtap::top
