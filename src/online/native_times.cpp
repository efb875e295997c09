// SPDX-License-Identifier: Apache-2.0
#include "online/native_times.h"

#include <algorithm>
#include <cmath>

#include "stats/log_sketch.h"

namespace stemtap::online {
namespace {

// Returns the moments of `launches` launches with this mean and the variance of `spread`.
stats::Moments Imputed(double mean, const stats::Moments& spread, std::uint64_t launches) {
  return stats::Moments(launches, mean, spread.variance() * static_cast<double>(launches));
}

}  // namespace

std::uint32_t NativeTimes::FindOrAddChild(std::uint32_t parent, std::uint64_t key) {
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) return known->second;
  if (groups_.size() > kMaxGroups) return parent;
  const std::uint32_t made = AddGroup(parent);
  by_key_.emplace(key, made);
  return made;
}

std::uint32_t NativeTimes::AddGroup(std::uint32_t parent) {
  const auto made = static_cast<std::uint32_t>(groups_.size());
  groups_.emplace_back();
  groups_.back().parent = parent;
  groups_.back().regime = made;
  return made;
}

std::uint32_t NativeTimes::ContextOf(std::uint64_t history_key, std::uint64_t config_key) {
  return FindOrAddChild(FindOrAddChild(0, config_key), history_key);
}

bool NativeTimes::Fits(const stats::Moments& regime, double value) {
  if (regime.count() == 0) return true;
  const double mean = regime.mean();
  const double allowed = regime.count() < kMinNative
                             ? kFitFew * mean
                             : std::max(kFitDeviations * regime.stddev(), kMinFit * mean);
  return std::fabs(value - mean) <= allowed;
}

std::uint32_t NativeTimes::OtherRegime(std::uint32_t context, double value) {
  const std::uint32_t current = groups_[context].regime;
  std::uint32_t last = context;
  std::uint32_t found = context;
  while (found != 0 && (found == current || !Fits(groups_[found].own, value))) {
    last = found;
    found = groups_[found].next_regime;
  }
  if (found != 0) return found;
  if (groups_.size() > kMaxGroups) return current;
  found = AddGroup(context);
  groups_[last].next_regime = found;
  return found;
}

void NativeTimes::AssignUndecided(std::uint32_t context) {
  const std::uint32_t at = groups_[context].regime;
  Group& regime = groups_[at];
  Undecided& undecided = groups_[context].undecided;
  for (const double value : undecided.native) {
    regime.recent =
        regime.own.count() == 0 ? value : regime.recent + (value - regime.recent) / kRecent;
    regime.own.Add(value);
    if (at != context) regime.all.Add(value);
  }
  const double local = RecentMeanOf(regime);
  for (const std::uint32_t captured : undecided.captured) {
    captured_[captured].regime = at;
    captured_[captured].local_ns = local;
    if (captured_[captured].counted) regime.perturbed.Add(local);
  }
  regime.perturbed.Add(local, undecided.concurrent);
  undecided.concurrent = 0;
  undecided.native.clear();
  undecided.captured.clear();
}

void NativeTimes::AddNative(std::uint32_t context, std::uint64_t duration_ns) {
  const auto value = static_cast<double>(duration_ns);
  for (std::uint32_t level = context;; level = groups_[level].parent) {
    groups_[level].all.Add(value);
    if (level == 0) break;
  }
  Group& group = groups_[context];
  group.undecided.native.push_back(value);
  if (Fits(groups_[group.regime].own, value)) {
    group.votes = std::min(group.votes + 1, kMaxVotes);
    return AssignUndecided(context);
  }
  if (--group.votes > 0) return;
  const std::uint32_t found = OtherRegime(context, value);  // may invalidate `group`
  groups_[context].regime = found;
  groups_[context].votes = kFirstVotes;
  AssignUndecided(context);
}

void NativeTimes::AddConcurrent(std::uint32_t context, std::uint64_t recorded_ns) {
  perturbed_.Add(static_cast<double>(recorded_ns));
  ++groups_[context].undecided.concurrent;
}

std::uint32_t NativeTimes::AddCaptured(std::uint32_t context, std::uint64_t recorded_ns,
                                       bool counted) {
  if (counted) perturbed_.Add(static_cast<double>(recorded_ns));
  const auto captured = static_cast<std::uint32_t>(captured_.size());
  const std::uint32_t regime = groups_[context].regime;
  captured_.push_back({regime, RecentMeanOf(groups_[regime]), counted});
  groups_[context].undecided.captured.push_back(captured);
  return captured;
}

const stats::Moments& NativeTimes::MomentsForMean(std::uint32_t group) const {
  // The regime's own launches; other regimes differ.
  if (groups_[group].own.count() != 0) return groups_[group].own;
  while (group != 0 && groups_[group].all.count() == 0) group = groups_[group].parent;
  return groups_[group].all.count() == 0 ? perturbed_ : groups_[group].all;
}

const stats::Moments& NativeTimes::MomentsForVariance(std::uint32_t group) const {
  if (groups_[group].own.count() >= kMinNative) return groups_[group].own;
  while (group != 0 && groups_[group].all.count() < kMinNative) group = groups_[group].parent;
  return groups_[group].all.count() == 0 ? perturbed_ : groups_[group].all;
}

void NativeTimes::AddOwn(std::uint32_t at, std::span<const Group* const> undecided, Pool& pool) {
  const Group& group = groups_[at];
  pool.native.Merge(group.own);
  PerturbedSum perturbed = group.perturbed;
  for (const Group* context : undecided) {
    for (const double value : context->undecided.native) pool.native.Add(value);
    const double local = RecentMeanOf(group);
    for (const std::uint32_t captured : context->undecided.captured) {
      if (captured_[captured].counted) perturbed.Add(local);
    }
    perturbed.Add(local, context->undecided.concurrent);
  }
  if (perturbed.launches == 0) return;
  const double others =
      MomentsForMean(at).mean() * static_cast<double>(perturbed.launches - perturbed.located);
  const stats::Moments imputed =
      Imputed((perturbed.local_ns + others) / static_cast<double>(perturbed.launches),
              MomentsForVariance(at), perturbed.launches);
  imputed_ns_ += Whole(imputed.sum());
  pool.imputed.Merge(imputed);
}

std::vector<std::uint32_t> NativeTimes::PoolGroups(std::vector<Pool>& pools,
                                                   std::vector<std::uint32_t>& homes) {
  std::vector<std::uint32_t> formed;
  // Undecided launches belong to the current regime of their context for now.
  std::vector<std::vector<const Group*>> undecided(groups_.size());
  for (const Group& group : groups_) undecided[group.regime].push_back(&group);
  imputed_ns_ = 0;
  for (std::size_t i = groups_.size(); i-- > 0;) {
    const Group& group = groups_[i];
    Pool& pool = pools[i];
    homes[i] = static_cast<std::uint32_t>(i);
    AddOwn(homes[i], undecided[i], pool);
    // A configuration with captured launches also forms a cell if it has kMinNative native launches
    // in all, even if most of them are in separate groups. In a cell of the whole kernel, its
    // captures would be imputed with the mean of other configurations.
    const bool separate = pool.native.count() >= kMinNative ||
                          (pool.imputed.count() != 0 && group.all.count() >= kMinNative);
    if (i == 0 || separate) {
      if (pool.native.count() + pool.imputed.count() != 0) formed.push_back(homes[i]);
      continue;
    }
    homes[i] = group.parent;
    pools[group.parent].native.Merge(pool.native);
    pools[group.parent].imputed.Merge(pool.imputed);
  }
  return formed;
}

sampling::KernelCells NativeTimes::Cells(std::vector<std::uint32_t>& bins) {
  std::vector<Pool> pools(groups_.size());
  std::vector<std::uint32_t> homes(groups_.size());
  std::vector<std::uint32_t> formed = PoolGroups(pools, homes);
  std::vector<stats::Moments> cell_of(groups_.size());
  for (const std::uint32_t i : formed) {
    cell_of[i] = pools[i].native;
    cell_of[i].Merge(pools[i].imputed);
  }
  cell_of_group_.resize(groups_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    homes[i] = homes[homes[i]];  // the parent's home is final because parents come first
    const double mean_ns = cell_of[homes[i]].mean();
    // Not rounded: the bin contains the mean.
    const auto begin_ns = static_cast<std::uint64_t>(std::clamp(mean_ns, 0.0, 0x1p62));
    cell_of_group_[i] = {Whole(mean_ns), stats::LogSketch::BinOf(begin_ns)};
  }
  std::stable_sort(formed.begin(), formed.end(), [&](std::uint32_t a, std::uint32_t b) {
    return cell_of[a].mean() < cell_of[b].mean();
  });
  sampling::KernelCells cells;
  bins.clear();
  for (const std::uint32_t i : formed) {
    const std::uint32_t bin = cell_of_group_[i].bin;
    if (!bins.empty() && bins.back() == bin) {
      cells.back().Merge(cell_of[i]);
    } else {
      bins.push_back(bin);
      cells.push_back(cell_of[i]);
    }
  }
  return cells;
}

}  // namespace stemtap::online
