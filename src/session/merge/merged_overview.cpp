// SPDX-License-Identifier: Apache-2.0
#include "session/merge/merged_overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "base/saturating.h"
#include "session/session_report.h"
#include "stats/log_sketch.h"
#include "stemtap/version.h"

namespace stemtap::session {
namespace {

// Merges overlapping bins, then bins in the same part of an octave, with wider and wider parts
// until they fit. No launch is lost, and none is shown far from its duration. Bins of single
// sessions are also such parts, so they are nested or disjoint.
void JoinBins(std::vector<model::HistogramBin>& bins) {
  std::sort(
      bins.begin(), bins.end(), [](const model::HistogramBin& a, const model::HistogramBin& b) {
        return std::make_pair(a.lower_ns, a.upper_ns) < std::make_pair(b.lower_ns, b.upper_ns);
      });
  std::vector<model::HistogramBin> joined;
  for (const model::HistogramBin& bin : bins) {
    if (!joined.empty() && bin.lower_ns < joined.back().upper_ns) {
      joined.back().upper_ns = std::max(joined.back().upper_ns, bin.upper_ns);
      AddSaturated(bin.count, joined.back().count);
    } else {
      joined.push_back(bin);
    }
  }
  for (std::uint32_t by = 1;
       joined.size() > model::Overview::kMaxBins && by <= stats::LogSketch::kPartBits; ++by) {
    const auto part = [by](const model::HistogramBin& bin) {
      return stats::LogSketch::BinOf(bin.lower_ns) >> by;
    };
    std::vector<model::HistogramBin> wider;
    for (const model::HistogramBin& bin : joined) {
      if (wider.empty() || part(wider.back()) != part(bin)) {
        wider.push_back(bin);
      } else {
        wider.back().upper_ns = bin.upper_ns;
        AddSaturated(bin.count, wider.back().count);
      }
    }
    joined = std::move(wider);
  }
  bins = std::move(joined);
}

// Adds kernels as a merged plan has them: one per name, and one per process if kernels are not
// shared.
void AddKernels(std::span<const SessionPart> parts, const model::Plan& plan,
                model::Overview& merged) {
  using Key = std::tuple<std::string, std::array<std::uint32_t, 6>>;
  const auto key_of = [](const auto& kernel) {
    const auto& [grid, block] = kernel.config;
    return Key{kernel.name, {grid[0], grid[1], grid[2], block[0], block[1], block[2]}};
  };
  std::map<Key, std::size_t> place;
  std::vector<model::OverviewKernel>& kernels = merged.kernels;
  for (const SessionPart& part : parts) {
    for (const model::OverviewKernel& kernel : part.overview->kernels) {
      const auto found = kernel.process != 0 ? place.end() : place.find(key_of(kernel));
      if (found == place.end()) {
        if (kernel.process == 0) place.emplace(key_of(kernel), kernels.size());
        kernels.push_back(kernel);
        kernels.back().slices.clear();
        kernels.back().launched_config = {};  // other sessions may have other ones
        continue;
      }
      model::OverviewKernel& into = kernels[found->second];
      AddSaturated(kernel.invocations, into.invocations);
      AddSaturated(kernel.duration_ns, into.duration_ns);
      AddSaturated(kernel.captured, into.captured);
      AddSaturated(kernel.imputed, into.imputed);
      into.clusters.insert(into.clusters.end(), kernel.clusters.begin(), kernel.clusters.end());
      into.histogram.insert(into.histogram.end(), kernel.histogram.begin(), kernel.histogram.end());
    }
  }
  // An overview contains only the kernels with the most time, so a kernel may be missing in some
  // sessions. Its totals come from the plan.
  for (const model::PlanKernel& kernel : plan.kernels) {
    const auto found = kernel.process != 0 ? place.end() : place.find(key_of(kernel));
    if (found == place.end()) continue;
    kernels[found->second].invocations = kernel.invocations;
    kernels[found->second].duration_ns = kernel.duration_ns;
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.duration_ns > b.duration_ns; });
  if (kernels.size() > model::Overview::kMaxKernels) kernels.resize(model::Overview::kMaxKernels);
  for (model::OverviewKernel& kernel : kernels) {
    std::stable_sort(kernel.clusters.begin(), kernel.clusters.end(),
                     [](const auto& a, const auto& b) { return a.lower_ns < b.lower_ns; });
    JoinBins(kernel.histogram);
  }
}

// Returns the combined timeline: at each point of one session, the latest point of the others.
std::vector<model::TimelinePoint> MergedTimeline(std::span<const SessionPart> parts) {
  std::vector<std::pair<const model::TimelinePoint*, std::size_t>> order;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const model::TimelinePoint& point : parts[i].overview->timeline)
      order.emplace_back(&point, i);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first->elapsed_s < b.first->elapsed_s;
  });
  const std::size_t stride = order.size() / model::Overview::kMaxPoints + 1;
  std::vector<const model::TimelinePoint*> latest(parts.size(), nullptr);
  std::vector<model::TimelinePoint> timeline;
  for (std::size_t i = 0; i < order.size(); ++i) {
    latest[order[i].second] = order[i].first;
    if ((order.size() - 1 - i) % stride != 0) continue;
    model::TimelinePoint sum;
    sum.elapsed_s = order[i].first->elapsed_s;
    double error_ns = 0.0;
    for (const model::TimelinePoint* point : latest) {
      if (point == nullptr) continue;
      model::AddCounters(*point, sum);
      // A session without launches has no bound and contributes nothing to the combined bound.
      if (point->duration_ns == 0) continue;
      error_ns += point->bound * static_cast<double>(point->duration_ns);
    }
    sum.bound = sum.duration_ns == 0 ? std::numeric_limits<double>::quiet_NaN()
                                     : error_ns / static_cast<double>(sum.duration_ns);
    timeline.push_back(sum);
  }
  return timeline;
}

// Keeps the text that all parts share; empty if they differ.
void KeepCommon(const std::string& text, bool first, std::string& common) {
  if (first) common = text;
  if (text != common) common.clear();
}

}  // namespace

model::Overview MergedOverview(std::span<const SessionPart> parts, const model::Plan& plan) {
  model::Overview merged;
  merged.tool = fmt::format("stemtap {}", kVersion);
  merged.mode = NameOf(SessionMode::kMerged);
  merged.ended = true;
  merged.started_unix_ms = parts.front().overview->started_unix_ms;
  merged.command = parts.front().overview->command;
  merged.error_bound = parts.front().overview->error_bound;
  merged.confidence = parts.front().overview->confidence;
  std::map<std::string, std::uint64_t> losses;
  for (const SessionPart& part : parts) {
    const model::Overview& o = *part.overview;
    const bool first = &part == parts.data();
    merged.started_unix_ms = std::min(merged.started_unix_ms, o.started_unix_ms);
    merged.elapsed_s = std::max(merged.elapsed_s, o.elapsed_s);
    merged.period_ms = std::max(merged.period_ms, o.period_ms);
    if (o.command != merged.command) merged.command.clear();
    KeepCommon(o.level, first, merged.level);
    KeepCommon(o.actuator, first, merged.actuator);
    model::AddCounters(o, merged);
    for (const auto& [name, count] : o.losses) AddSaturated(count, losses[name]);
    merged.processes.insert(merged.processes.end(), o.processes.begin(), o.processes.end());
  }
  merged.losses.assign(losses.begin(), losses.end());
  merged.kernels_known = plan.totals.kernels;
  model::TakeBounds(plan.totals, merged);
  merged.timeline = MergedTimeline(parts);
  AddKernels(parts, plan, merged);
  return merged;
}

}  // namespace stemtap::session
