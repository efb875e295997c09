// SPDX-License-Identifier: Apache-2.0
#include "online/native_times.h"

#include <algorithm>
#include <cmath>

#include "stats/log_sketch.h"

namespace stemtap {
namespace {

std::uint64_t Whole(double ns) {
  return static_cast<std::uint64_t>(std::llround(std::max(ns, 0.0)));
}

// `launches` launches with the mean of `like` and the variance of `spread`.
Moments Imputed(const Moments& like, const Moments& spread, std::uint64_t launches) {
  return Moments(launches, like.mean(), spread.variance() * static_cast<double>(launches));
}

}  // namespace

std::uint32_t NativeTimes::Child(std::uint32_t parent, std::uint64_t key) {
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) return known->second;
  if (groups_.size() > kMostGroups) return parent;
  const std::uint32_t made = Add(parent);
  by_key_.emplace(key, made);
  return made;
}

std::uint32_t NativeTimes::Add(std::uint32_t parent) {
  const auto made = static_cast<std::uint32_t>(groups_.size());
  groups_.emplace_back();
  groups_.back().parent = parent;
  groups_.back().regime = groups_.back().context = made;
  return made;
}

bool NativeTimes::Fits(const Moments& regime, double value) {
  if (regime.count() == 0) return true;
  const double mean = regime.mean();
  const double allowed = regime.count() < kTold
                             ? kFitUntold * mean
                             : std::max(kFitDeviations * regime.stddev(), kFitLeast * mean);
  return std::fabs(value - mean) <= allowed;
}

// The regime of the launch's context that a native launch belongs to.
std::uint32_t NativeTimes::RegimeFor(std::uint32_t regime, double value) {
  const std::uint32_t context = groups_[regime].context;
  std::int32_t& votes = groups_[context].votes;
  if (Fits(groups_[regime].own, value)) {
    votes = std::min(votes + 1, kMostVotes);
    return regime;
  }
  if (--votes > 0) return regime;
  std::uint32_t last = context;
  std::uint32_t found = context;
  while (found != 0 && (found == regime || !Fits(groups_[found].own, value))) {
    last = found;
    found = groups_[found].next_regime;
  }
  if (found == 0) {
    if (groups_.size() > kMostGroups) {
      groups_[context].votes = kFirstVotes;
      return regime;
    }
    found = Add(context);
    groups_[found].context = context;
    groups_[last].next_regime = found;
  }
  groups_[context].votes = kFirstVotes;
  groups_[context].regime = found;
  return found;
}

std::uint32_t NativeTimes::ContextOf(std::uint64_t history_key, std::uint64_t config_key) {
  return groups_[Child(Child(0, config_key), history_key)].regime;
}

void NativeTimes::AddNative(std::uint32_t context, std::uint64_t duration_ns) {
  const auto value = static_cast<double>(duration_ns);
  context = RegimeFor(context, value);
  groups_[context].own.Add(value);
  for (;; context = groups_[context].parent) {
    groups_[context].all.Add(value);
    if (context == 0) return;
  }
}

void NativeTimes::AddPerturbed(std::uint32_t context, std::uint64_t recorded_ns) {
  groups_[context].perturbed.Add(static_cast<double>(recorded_ns));
  perturbed_.Add(static_cast<double>(recorded_ns));
}

const Moments& NativeTimes::LikeOf(std::uint32_t context) const {
  // Its own: those of other regimes are not its like while it has any.
  if (groups_[context].own.count() != 0) return groups_[context].own;
  while (context != 0 && groups_[context].all.count() == 0) context = groups_[context].parent;
  return groups_[context].all.count() == 0 ? perturbed_ : groups_[context].all;
}

const Moments& NativeTimes::SpreadOf(std::uint32_t context) const {
  if (groups_[context].own.count() >= kTold) return groups_[context].own;
  while (context != 0 && groups_[context].all.count() < kTold) context = groups_[context].parent;
  return groups_[context].all.count() == 0 ? perturbed_ : groups_[context].all;
}

std::uint64_t NativeTimes::MeanOf(std::uint32_t context) const {
  return Whole(LikeOf(context).mean());
}

KernelCells NativeTimes::Cells(std::vector<std::uint32_t>& bins) {
  // Small groups are pooled into their parents, which come before them.
  struct Pool {
    Moments native;
    Moments imputed;
  };
  std::vector<Pool> pools(groups_.size());
  std::vector<std::uint32_t> home(groups_.size());
  std::vector<std::uint32_t> formed;
  imputed_ns_ = 0;
  for (std::size_t i = groups_.size(); i-- > 0;) {
    const Group& group = groups_[i];
    Pool& pool = pools[i];
    home[i] = static_cast<std::uint32_t>(i);
    pool.native.Merge(group.own);
    if (group.perturbed.count() != 0) {
      const Moments imputed = Imputed(LikeOf(home[i]), SpreadOf(home[i]), group.perturbed.count());
      imputed_ns_ += Whole(imputed.sum());
      pool.imputed.Merge(imputed);
    }
    // A context that was captured and hardly seen otherwise is told by its configuration: in a cell
    // of the whole kernel its captures would count with a mean of other configurations.
    const bool told =
        pool.native.count() >= kTold || (pool.imputed.count() != 0 && group.all.count() >= kTold);
    if (i == 0 || told) {
      if (pool.native.count() + pool.imputed.count() != 0) formed.push_back(home[i]);
      continue;
    }
    home[i] = group.parent;
    pools[group.parent].native.Merge(pool.native);
    pools[group.parent].imputed.Merge(pool.imputed);
  }

  std::vector<Moments> cell_of(groups_.size());
  for (const std::uint32_t i : formed) {
    cell_of[i] = pools[i].native;
    cell_of[i].Merge(pools[i].imputed);
  }
  group_mean_.resize(groups_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    home[i] = home[home[i]];  // a parent's is final, since it comes before
    group_mean_[i] = Whole(cell_of[home[i]].mean());
  }
  std::stable_sort(formed.begin(), formed.end(), [&](std::uint32_t a, std::uint32_t b) {
    return cell_of[a].mean() < cell_of[b].mean();
  });
  KernelCells cells;
  bins.clear();
  for (const std::uint32_t i : formed) {
    const std::uint32_t bin = LogSketch::BinOf(group_mean_[i]);
    if (!bins.empty() && bins.back() == bin) {
      cells.back().Merge(cell_of[i]);
    } else {
      bins.push_back(bin);
      cells.push_back(cell_of[i]);
    }
  }
  return cells;
}

}  // namespace stemtap
