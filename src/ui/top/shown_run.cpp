// SPDX-License-Identifier: Apache-2.0
#include "ui/top/shown_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/saturating.h"
#include "ui/top/figures.h"

namespace stemtap::ui {
namespace {

void Add(const model::OverviewKernel& kernel, KernelRow& row) {
  AddSaturated(kernel.invocations, row.invocations);
  AddSaturated(kernel.duration_ns, row.duration_ns);
  AddSaturated(kernel.captured, row.captured);
  AddSaturated(kernel.imputed, row.imputed);
  for (const model::OverviewCluster& cluster : kernel.clusters) {
    ++(cluster.state == model::ClusterState::kClosed ? row.closed : row.open);
  }
}

// Adds one row for each kernel of one session.
void RowsOfOne(const model::Overview& overview, std::uint32_t session, ShownRun& run) {
  for (const model::OverviewKernel& kernel : overview.kernels) {
    KernelRow& row = run.kernels.emplace_back();
    row.kernel = &kernel;
    row.first_part = static_cast<std::uint32_t>(run.parts.size());
    row.parts = 1;
    Add(kernel, row);
    run.parts.push_back(&kernel);
    run.part_sessions.push_back(session);
  }
}

void RowsOfAll(std::span<const WatchedSession> sessions, ShownRun& run) {
  struct Part {
    std::uint32_t row;
    std::uint32_t session;
    const model::OverviewKernel* kernel;
  };
  std::vector<Part> parts;
  std::unordered_map<std::size_t, std::uint32_t> rows;  // by hash, to copy no names
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    if (sessions[i].overview == nullptr) continue;
    for (const model::OverviewKernel& kernel : sessions[i].overview->kernels) {
      auto at = static_cast<std::uint32_t>(run.kernels.size());
      if (kernel.spans_sessions()) {
        at = rows.try_emplace(model::KernelIdHash{}(kernel), at).first->second;
      }
      if (at == run.kernels.size()) run.kernels.emplace_back().kernel = &kernel;
      KernelRow& row = run.kernels[at];
      Add(kernel, row);
      ++row.parts;
      parts.push_back({at, static_cast<std::uint32_t>(i), &kernel});
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.row < b.row; });
  std::uint32_t first = 0;
  for (KernelRow& row : run.kernels) {
    row.first_part = first;
    first += row.parts;
  }
  for (const Part& part : parts) {
    run.parts.push_back(part.kernel);
    run.part_sessions.push_back(part.session);
  }
}

void AddLosses(const model::OverviewTotals& from, model::OverviewTotals& to) {
  for (const auto& [name, count] : from.losses) {
    const auto known =
        std::find_if(to.losses.begin(), to.losses.end(),
                     [&, key = name](const auto& loss) { return loss.first == key; });
    if (known == to.losses.end()) {
      to.losses.emplace_back(name, count);
    } else {
      AddSaturated(count, known->second);
    }
  }
}

// WeightedMean is a mean by weight that skips unknown values.
struct WeightedMean {
  double sum = 0.0;
  double weight = 0.0;
  void Add(double value, double by) {
    if (std::isnan(value)) return;
    sum += value * by;
    weight += by;
  }
  double Mean() const {
    return weight > 0.0 ? sum / weight : std::numeric_limits<double>::quiet_NaN();
  }
};

// Sums the timelines at the times of the session with the most points.
std::vector<model::TimelinePoint> AddTimelines(std::span<const model::Overview* const> overviews) {
  const auto longest = std::max_element(overviews.begin(), overviews.end(), [](auto* a, auto* b) {
    return a->timeline.size() < b->timeline.size();
  });
  std::vector<model::TimelinePoint> sum;
  std::vector<std::size_t> next(overviews.size(), 0);
  for (const model::TimelinePoint& at : (*longest)->timeline) {
    model::TimelinePoint& point = sum.emplace_back();
    point.elapsed_s = at.elapsed_s;
    WeightedMean bound;
    for (std::size_t i = 0; i < overviews.size(); ++i) {
      const std::vector<model::TimelinePoint>& timeline = overviews[i]->timeline;
      while (next[i] < timeline.size() && timeline[next[i]].elapsed_s <= at.elapsed_s) ++next[i];
      if (next[i] == 0) continue;
      const model::TimelinePoint& last = timeline[next[i] - 1];
      AddCounters(last, point);
      bound.Add(last.bound, static_cast<double>(last.duration_ns));
    }
    point.bound = bound.Mean();
  }
  return sum;
}

model::OverviewTotals Sum(std::span<const model::Overview* const> overviews) {
  // Non-numeric fields are copied from the first session.
  model::OverviewTotals sum = *overviews.front();
  for (const model::Overview* o : overviews.subspan(1)) {
    sum.ended = sum.ended && o->ended;
    sum.elapsed_s = std::max(sum.elapsed_s, o->elapsed_s);
    AddCounters(*o, sum);
    AddLosses(*o, sum);
  }
  if (overviews.size() == 1) return sum;
  WeightedMean bound;
  WeightedMean asked;
  for (const model::Overview* o : overviews) {
    bound.Add(o->bound, static_cast<double>(o->duration_ns));
    asked.Add(o->error_bound, static_cast<double>(o->duration_ns));
  }
  sum.bound = bound.Mean();
  // Each session certifies its own bound; no single bound covers the combined error.
  sum.certified_bound = std::numeric_limits<double>::quiet_NaN();
  if (asked.weight > 0.0) sum.error_bound = asked.Mean();
  sum.timeline = AddTimelines(overviews);
  sum.activity = {};
  return sum;
}

SessionState StateOf(std::span<const WatchedSession> sessions, int only) {
  if (only >= 0) return sessions[static_cast<std::size_t>(only)].state;
  // Running states take precedence, then failures.
  for (const SessionState state :
       {SessionState::kRunning, SessionState::kWaiting, SessionState::kKilled}) {
    if (std::any_of(sessions.begin(), sessions.end(),
                    [state](const WatchedSession& s) { return s.state == state; })) {
      return state;
    }
  }
  return sessions.empty() ? SessionState::kWaiting : SessionState::kEnded;
}

// Returns the mean busy share of the devices of all sessions.
double BusyOf(std::span<const model::Overview* const> overviews, const ShownRun& run) {
  constexpr std::uint64_t kRecentNs = 2'000'000'000;  // as the rate of launches
  const bool runs = run.state == SessionState::kRunning;
  WeightedMean busy;
  for (const model::Overview* o : overviews) {
    if (o->activity.empty()) continue;
    // The slices end with the last kernel. Without launches, the devices have become idle.
    const bool is_idle = runs && run.launches_per_s == 0.0;
    busy.Add(is_idle ? 0.0 : BusyShare(o->activity, runs ? kRecentNs : ~std::uint64_t{0}),
             o->activity.devices);
  }
  return busy.Mean();
}

}  // namespace

ShownRun MakeShownRun(std::span<const WatchedSession> sessions, int only) {
  ShownRun run;
  run.state = StateOf(sessions, only);
  run.totals.bound = std::numeric_limits<double>::quiet_NaN();
  run.busy = std::numeric_limits<double>::quiet_NaN();
  std::vector<const model::Overview*> shown;
  std::size_t last = 0;
  const bool runs = run.state == SessionState::kRunning;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    const model::Overview* overview = sessions[i].overview;
    if (overview == nullptr || (only >= 0 && i != static_cast<std::size_t>(only))) continue;
    shown.push_back(overview);
    last = i;
    if (!runs || sessions[i].state == SessionState::kRunning) {
      run.launches_per_s += sessions[i].launches_per_s;
    }
    for (const model::OverviewProcess& process : overview->processes) {
      run.processes.push_back({i, &process});
    }
  }
  if (shown.empty()) return run;
  if (shown.size() == 1) {
    RowsOfOne(*shown[0], static_cast<std::uint32_t>(last), run);
  } else {
    RowsOfAll(sessions, run);
  }
  run.totals = Sum(shown);
  run.busy = BusyOf(shown, run);
  if (shown.size() > 1) run.totals.kernels_known = run.kernels.size();
  return run;
}

}  // namespace stemtap::ui
