// SPDX-License-Identifier: Apache-2.0
#include "online/allocator.h"

#include <cmath>
#include <utility>

namespace stemtap::online {

bool Allocator::IsSizedByRule(const Facts& facts) const {
  return options_.method == sampling::Method::kStem &&
         (releases_.HasStarted(facts.observed) || captures_ended_);
}

bool Allocator::MustCompareCuts(const Facts& facts) const {
  if (IsSizedByRule(facts)) return true;
  // New clusters could not be captured any more.
  if (captures_ended_) return false;
  if (!releases_.HasStarted(facts.observed)) return releases_.IsTimeToCut(facts.observed);
  return schedule_.AreCutsOld(facts.observed) || !is_met_;
}

Cuts Allocator::Cut(const Facts& facts, const ParallelFor& parallel) {
  is_met_ = MeetsBound(facts.kernels, options_);
  const bool is_first = facts.observed < 2 * releases_.first_release();
  pace_ = is_met_ ? Pace::kSpread : is_first ? Pace::kFirst : Pace::kUrgent;
  if (!MustCompareCuts(facts)) return {};
  Cuts cuts = CompareCuts(facts, parallel);
  if (!IsSizedByRule(facts)) {
    planned_ns_ = 0.0;
    planned_of_.clear();
    for (const std::vector<sampling::StratumRange>& kernel : cuts.best.kernels) {
      planned_of_.push_back(CostOf(kernel, options_.price.FixedPerFactor()));
      planned_ns_ += planned_of_.back();
    }
  }
  if (releases_.HasStarted(facts.observed)) schedule_.SetCutsCompared(facts.observed);
  return cuts;
}

Cuts Allocator::CompareCuts(const Facts& facts, const ParallelFor& parallel) {
  std::vector<sampling::CellsView> cells;
  for (const KernelFacts& kernel : facts.kernels) cells.emplace_back(kernel.cells->moments);
  // While few captures may be made, more clusters than they can be divided among are of no use.
  sampling::SamplingOptions options = options_;
  if (options.method != sampling::Method::kStem) {
    options.error_bound /= std::sqrt(releases_.ShareAt(facts.observed));
  }
  Cuts cuts;
  cuts.best =
      sampling::StratifyWorkload(cells, options, multiplier_, parallel, RangesOf(facts.kernels));
  multiplier_ = cuts.best.multiplier;

  std::vector<std::vector<std::size_t>> worthwhile(cells.size());
  parallel(cells.size(), [&](std::size_t id) {
    const std::vector<sampling::StratumRange>& best = cuts.best.kernels[id];
    if (best.empty()) return;
    std::vector<std::size_t> first_cells;
    for (const sampling::StratumRange& s : best) first_cells.push_back(s.first);
    const KernelFacts& kernel = facts.kernels[id];
    const std::vector<std::size_t> current = FirstCells(kernel.clusters, *kernel.cells);
    if (first_cells == current) return;
    if (options_.method == sampling::Method::kStem ||
        IsWorthCutting(cells[id], current, best, options_)) {
      worthwhile[id] = std::move(first_cells);
    }
  });
  for (std::size_t id = 0; id < worthwhile.size(); ++id) {
    if (!worthwhile[id].empty()) cuts.recuts.push_back({id, std::move(worthwhile[id])});
  }
  return cuts;
}

std::vector<Decision> Allocator::Decide(const Facts& facts, const Cuts& cuts) const {
  std::vector<Decision> decisions;
  if (IsSizedByRule(facts)) {
    // The clusters are the strata of the best cut.
    for (std::size_t id = 0; id < facts.kernels.size(); ++id) {
      for (std::size_t i = 0; i < facts.kernels[id].clusters.size(); ++i) {
        decisions.push_back({.target = cuts.best.kernels[id][i].sample_size,
                             .enough = facts.kernels[id].clusters[i].decision.enough});
      }
    }
    return decisions;
  }
  if (releases_.HasStarted(facts.observed) && !captures_ended_) {
    return AllocateTargets(facts.kernels,
                           {.duration_ns = static_cast<double>(facts.duration_ns),
                            .planned_ns = planned_ns_,
                            .bound_met = is_met_,
                            .share = releases_.ShareAt(facts.observed),
                            .planned_of = planned_of_},
                           options_);
  }
  for (const KernelFacts& kernel : facts.kernels) {
    for (const Cluster& cluster : kernel.clusters) {
      decisions.push_back(cluster.decision);
      if (!captures_ended_) decisions.back().target = 0;  // nothing is captured yet
    }
  }
  return decisions;
}

}  // namespace stemtap::online
