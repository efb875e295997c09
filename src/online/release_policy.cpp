// SPDX-License-Identifier: Apache-2.0
#include "online/release_policy.h"

#include <algorithm>
#include <cmath>

#include "online/collapse.h"
#include "shm/gate_table.h"

namespace stemtap::online {
namespace {

// The captures of a cluster are released in this many parts: the first at once, and another each
// time the observations have doubled. With 4, long runs of llm-serve at 1 % captured 5 % more, for
// cuts that later changed. With 6, 58 % of generated runs over 40 delays ended above the requested
// bound; with 5, 52 %.
constexpr double kReleases = 5.0;
// Minimum number of observations before the first release; fewer do not form a distribution.
constexpr std::uint64_t kMinObserved = 64;

// Of the captures that a cluster still needs, one in this many has an open credit at a time, but at
// least one. The next credit is granted when a capture has returned, because an allocation may have
// lowered the target by then.
constexpr std::uint64_t kAtOnce = 2;

// The launches that the captures of a predicted cluster take are rounded up if they exceed a whole
// number by more than this. A cluster whose launches often fall beside it then gets its capture
// sooner: without rounding, a kernel whose durations grow ended with a bound of 7 % instead of
// 5.7 %. At 0, a yield of 0.99 would halve the time over which a capture is spread.
constexpr double kMaxMissed = 0.1;

// An unpredicted cluster without a capture gets credits for this many expected captures if no
// neighbor can represent it. With 3, 5 % of such clusters get no capture in one feedback delay;
// with 2, 14 %. With 2, runs of four feedback delays left 2 % of the time uncovered; with 3, 0.3 %.
// Other clusters get credits for the captures that they need: with 3 for all clusters, llm-serve
// at 1 % cost up to 1.5 times as much.
constexpr std::uint64_t kFirstHits = 3;

// The capture of a predicted cluster is made at a random launch of a window, which begins when the
// cluster begins to wait and ends when its launches have grown by this share. Captures that are
// made as soon as credits open share the state of that moment (clocks, caches, request lengths),
// and many are for cuts that soon change: with 1, llm-serve at 1 % captured 1.1 times as much.
// With 1.5, a kernel whose durations keep growing ended with a bound of 15 % instead of less
// than 7 %.
constexpr double kWindow = 1.25;
// The window while the captures so far do not meet the error bound: the run may end at any time.
// With kWindow, two of three runs of the demo ended while a new cluster waited for its capture;
// with 0.25, 8 of 20 at the longest feedback delay.
constexpr double kWindowUrgent = 0.125;
// The window until the launches have doubled since captures were first released. The first captures
// represent all launches until then. With kWindowUrgent, a run of four feedback delays had 75 to 95
// % of the weight in one tenth of its launches; with 0.5, 41 to 65 %.
constexpr double kWindowFirst = 0.5;
// The window of a further capture of a cluster.
constexpr double kWindowFurther = 0.25;
// The captures of an unpredicted cluster are by-products of its line, so they have a constant
// probability instead of a window: as many as the cluster needs are expected over this share of its
// launches so far. With 1.25, runs of four feedback delays left 2.7 % of the time of unpredictable
// kernels uncovered instead of 0.4 %, and stated 6.7 % instead of 3.1 %.
constexpr double kUnpredictedWindow = 0.5;
// The minimum share of a window that is assumed to remain, so that the probability stays finite.
// Predictions that are wrong may leave a cluster without a capture at the end of its window.
constexpr double kMinRemaining = 0.1;

// While launches that follow each other have similar durations, captures of a line are on average
// this share of a burst apart, or more: if nothing predicts a cluster, all launches of a burst
// would be captured until the first of them has returned, with the information of one. With 1/4,
// generated servers whose prefills last as long as their prompts ended with a bound of 6.4 to
// 6.7 % instead of 4.7 %; without a limit, with 7.2 % and 2.6 times the captured time
// (docs/math/bursts.md).
constexpr double kBurstShare = 1.0 / 8.0;
// The captures of a line are at most this share of its launches apart. Longer bursts would delay
// the captures of a run too much.
constexpr double kMaxApart = 1.0 / 64.0;

// Maximum credits of one line at a time. More would mean that hardly any launch of the line falls
// into the cluster.
constexpr double kMaxCredits = 1 << 20;

// Returns whether the captures of a neighbor of cluster `at` may represent it.
bool HasCloseNeighbor(std::span<const Cluster> clusters, std::size_t at) {
  const stats::Moments& own = clusters[at].moments;
  return (at > 0 && MayRepresent(own, clusters[at - 1].moments)) ||
         (at + 1 < clusters.size() && MayRepresent(own, clusters[at + 1].moments));
}

// Need is what a cluster needs of its line.
struct Need {
  std::uint64_t credits = 0;  // open or in flight at a time
  double draws = 0.0;         // expected launches of the line that these captures take
};

Need NeedOf(std::span<const Cluster> clusters, std::size_t at) {
  const Cluster& cluster = clusters[at];
  if (cluster.decision.unreachable || cluster.captured >= cluster.decision.target) return {};
  const std::uint64_t missing = cluster.decision.target - cluster.captured;
  if (cluster.source.predicted()) {
    const std::uint64_t credits = missing > 1 ? missing / kAtOnce : missing;
    const double draws = static_cast<double>(credits) / cluster.source.yield;
    return {credits, std::max(1.0, std::ceil(draws - kMaxMissed))};
  }
  const bool urgent =
      cluster.captured == 0 && !cluster.decision.is_shared && !HasCloseNeighbor(clusters, at);
  const std::uint64_t expected = urgent ? std::max(missing, kFirstHits) : missing;
  const double draws =
      std::ceil(std::min(static_cast<double>(expected) / cluster.source.yield, kMaxCredits));
  return {static_cast<std::uint64_t>(draws), draws};
}

// Returns the part of the cluster's window that is left, as a share of its launches so far. The
// window of an unpredicted cluster does not close, which would only raise the number of captures.
double RemainingWindow(const Cluster& cluster, Pace pace) {
  double window = pace == Pace::kSpread  ? kWindow
                  : pace == Pace::kFirst ? kWindowFirst
                                         : kWindowUrgent;
  if (cluster.captured > 0) window = std::min(window, kWindowFurther);
  if (!cluster.source.predicted()) return std::min(kUnpredictedWindow, window);
  const double growth = std::max(1.0, static_cast<double>(cluster.moments.count()) /
                                          static_cast<double>(cluster.request.waiting_since));
  return std::max(1.0 + window - growth, kMinRemaining * window) / growth;
}

}  // namespace

ReleaseSchedule::ReleaseSchedule(std::uint64_t observe_first)
    : first_release_(std::max(observe_first, kMinObserved)) {}

double ReleaseSchedule::ShareAt(std::uint64_t observed) const {
  const double doublings =
      std::log2(static_cast<double>(observed) / static_cast<double>(first_release_));
  return std::clamp((1.0 + doublings) / kReleases, 1.0 / kReleases, 1.0);
}

void UpdateWaits(std::span<Cluster> clusters) {
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    Cluster& cluster = clusters[i];
    if (NeedOf(clusters, i).credits == 0) {
      cluster.request.waiting_since = 0;
    } else if (cluster.request.waiting_since == 0) {
      cluster.request.waiting_since = std::max<std::uint64_t>(cluster.moments.count(), 1);
    }
  }
}

std::vector<LineCredits> CreditsOfLines(std::span<const Cluster> clusters,
                                        std::span<const double> offered, Pace pace, double burst) {
  struct Line {
    std::uint64_t credits = 0;
    double draws = 0.0;  // divided by the share of the launches over which they are made
  };
  std::vector<Line> lines(offered.size());
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    const Need need = NeedOf(clusters, i);
    if (need.credits == 0) continue;
    Line& line = lines[clusters[i].source.line];
    line.credits = std::max(line.credits, need.credits);
    line.draws = std::max(line.draws, need.draws / RemainingWindow(clusters[i], pace));
  }
  std::vector<LineCredits> credits;
  credits.reserve(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double apart =
        std::clamp(burst * kBurstShare, 1.0, std::max(1.0, offered[i] * kMaxApart));
    credits.push_back({static_cast<std::uint32_t>(lines[i].credits),
                       shm::AcceptOf(std::min(lines[i].draws / offered[i], 1.0 / apart))});
  }
  return credits;
}

}  // namespace stemtap::online
