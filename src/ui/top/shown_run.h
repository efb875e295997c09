// SPDX-License-Identifier: Apache-2.0
//
// ShownRun combines one or several sessions (the ranks of a run): totals, and a row for each
// kernel. Kernels of single processes (--share-captures off) are not combined, because equal pids
// of two sessions are unrelated.
//
// The bound of several sessions is the mean of their bounds, weighted by time. It holds for any
// dependence between their errors (triangle inequality) and is wider than the bound of one sample
// drawn from all sessions. Activity over time is shown for a single session only, because sessions
// of several machines do not share a clock.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ui/top/session_watch.h"

namespace stemtap::ui {

// WatchedSession is the current state of one session. Its pointers stay valid while derived data is
// in use.
struct WatchedSession {
  std::string directory;
  SessionState state = SessionState::kWaiting;
  const model::Overview* overview = nullptr;  // null before the first overview
  std::string problem;
  // See SessionWatch.
  bool plan = false;
  std::int64_t overdue_s = 0;
  double launches_per_s = 0.0;
};

struct KernelRow {
  const model::OverviewKernel* kernel =
      nullptr;  // first of the combined kernels; provides name and process
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
  const model::OverviewProcess* process = nullptr;
};

struct ShownRun {
  model::OverviewTotals totals;
  SessionState state = SessionState::kWaiting;
  double launches_per_s = 0.0;  // of the running sessions, or of all if none is running
  // Mean share of the devices' time in which a kernel ran: in the last two seconds of a running
  // session, else over the whole time. NaN if unknown.
  double busy = 0.0;
  std::vector<KernelRow> kernels;
  // The kernels that each row combines, and their sessions.
  std::vector<const model::OverviewKernel*> parts;
  std::vector<std::uint32_t> part_sessions;
  std::vector<ProcessRow> processes;

  std::span<const model::OverviewKernel* const> KernelsIn(const KernelRow& row) const {
    return std::span(parts).subspan(row.first_part, row.parts);
  }
};

// `only` is the index of the only displayed session; -1 for all.
ShownRun MakeShownRun(std::span<const WatchedSession> sessions, int only);

}  // namespace stemtap::ui
