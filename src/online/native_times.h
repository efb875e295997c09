// SPDX-License-Identifier: Apache-2.0
//
// NativeTimes estimates a kernel's native durations by context when captures perturb launches. The
// recorded duration of a captured launch contains the tracer's overhead, so the launch is imputed
// with the mean of its context's native launches.
//
//   kernel ─┬─ configuration ─┬─ history      120 native launches: a separate group
//           │                 ├─ history        3 native launches: fewer than 8, so pooled with
//           │                 └─ history        2   the configuration or the kernel
//           └─ configuration ...
//
// If the durations of a context shift (a new phase, a clock change), the context starts a new
// group, a regime, or returns to an earlier regime that fits. Within a regime, a captured launch is
// assigned the mean of the native launches shortly before it.
//
// A group becomes one cell of the kernel: all of its launches, with the mean and the variance of
// the native ones. If a context has too few native launches for a variance, its captured launches
// are imputed with its own mean and with the variance of its configuration or kernel. The duration
// of a launch within its context is unknown before the launch, and for a captured launch also
// afterward. Strata therefore consist of whole contexts, and no cut divides a context.
//
// Memory is bounded: at most kMaxGroups groups. Launches of further contexts belong to the
// configuration or to the kernel.
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/math/online.md, "Captures that cost time".
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sampling/design.h"
#include "stats/moments.h"

namespace stemtap::online {

class NativeTimes {
 public:
  // Equal to the predictor's number of contexts; 160 bytes each.
  static constexpr std::size_t kMaxGroups = 512;
  // Native launches from which a context is a separate group. The standard deviation of 8 launches
  // has an error of a quarter, and cuts between smaller groups would follow chance.
  static constexpr std::uint64_t kMinNative = 8;

  // Maximum and initial votes for the current regime of a context. A launch that fits adds a vote
  // and one that does not removes a vote; at 0 the context moves to another regime. With fewer
  // votes, moves would follow chance; with more, more launches would be counted in the old regime.
  static constexpr std::int32_t kMaxVotes = 7;
  static constexpr std::int32_t kFirstVotes = 3;
  // A launch fits a regime if it is within three standard deviations of the regime's mean, and at
  // least within 5 %. If the regime has fewer than kMinNative launches, within half of the mean.
  static constexpr double kFitDeviations = 3.0;
  static constexpr double kMinFit = 0.05;
  static constexpr double kFitFew = 0.5;

  // A captured launch is assigned the moving average of the preceding native launches of its
  // regime, in case durations drift. The last launch has a weight of 1/8. A smaller divisor is
  // noisier, a larger one lags more; only 8 was tried.
  static constexpr double kRecent = 8.0;

  NativeTimes() : groups_(1) {}

  // Returns the context of a launch, for the calls below. The id stays valid. If kernels are
  // grouped by configuration, `config_key` is the kernel's key.
  std::uint32_t ContextOf(std::uint64_t history_key, std::uint64_t config_key);

  // Adds a native launch. REQUIRES: the Add functions are called in launch order.
  void AddNative(std::uint32_t context, std::uint64_t duration_ns);
  // Add a launch with a perturbed duration: one that ran concurrently with a captured launch, or a
  // captured launch. AddCaptured returns an id for the functions below. `counted`: Cells contains
  // the launch.
  void AddConcurrent(std::uint32_t context, std::uint64_t recorded_ns);
  std::uint32_t AddCaptured(std::uint32_t context, std::uint64_t recorded_ns, bool counted);

  // Returns the current mean of the context: the mean of its regime or, if that has no native
  // launch, of the next more general level that has one. If the kernel has none, returns the mean
  // of the recorded durations, or 0 if there are none.
  std::uint64_t MeanOf(std::uint32_t context) const {
    return Whole(MomentsForMean(groups_[context].regime).mean());
  }

  // Returns the mean for the regime of a captured launch, as MeanOf does.
  std::uint64_t CapturedMeanOf(std::uint32_t captured) const {
    return Whole(MomentsForMean(captured_[captured].regime).mean());
  }
  // Returns the moving average of the captured launch's regime when it ran; 0 if there was none.
  std::uint64_t LocalMeanOf(std::uint32_t captured) const {
    return Whole(captured_[captured].local_ns);
  }
  // Returns the mean of the captured launch's group as of the last Cells(). REQUIRES: the launch
  // was added before that call.
  std::uint64_t GroupMeanOf(std::uint32_t captured) const {
    return cell_of_group_[captured_[captured].regime].mean_ns;
  }
  // Returns the bin of that group's cell. REQUIRES: as for GroupMeanOf.
  std::uint32_t GroupBinOf(std::uint32_t captured) const {
    return cell_of_group_[captured_[captured].regime].bin;
  }

  std::uint64_t native() const { return groups_.front().all.count(); }
  std::uint64_t perturbed() const { return perturbed_.count(); }
  // Sum of the imputed durations as of the last Cells().
  std::uint64_t imputed_ns() const { return imputed_ns_; }

  // Returns the groups as cells with ascending means. Sets `bins` to the sketch bin that contains
  // each mean, strictly ascending.
  sampling::KernelCells Cells(std::vector<std::uint32_t>& bins);

 private:
  // PerturbedSum counts perturbed launches. Those with a moving average are also counted in
  // `located`, and the averages are summed in `local_ns`.
  struct PerturbedSum {
    std::uint64_t launches = 0;
    std::uint64_t located = 0;
    double local_ns = 0.0;

    void Add(double local, std::uint64_t count = 1) {
      launches += count;
      if (local <= 0.0) return;
      located += count;
      local_ns += local * static_cast<double>(count);
    }
  };
  // Undecided contains the launches of a context since the last native launch that fitted its
  // regime. The launches that follow decide whether a new regime began with them.
  struct Undecided {
    std::vector<double> native;           // at most kMaxVotes
    std::vector<std::uint32_t> captured;  // ids, counted or not
    std::uint64_t concurrent = 0;
  };
  // Group is the kernel, a configuration, a context, or a regime. The kernel is the first group,
  // and a parent precedes its children.
  struct Group {
    std::uint32_t parent = 0;
    stats::Moments own;      // native launches, without children
    stats::Moments all;      // native launches, including children
    double recent = 0.0;     // moving average of `own`
    PerturbedSum perturbed;  // without children
    // For a context: the current regime (initially the context itself) and the votes for it.
    // Regimes are children of the context and form a linked list.
    std::uint32_t regime = 0;
    std::int32_t votes = kFirstVotes;
    Undecided undecided;
    std::uint32_t next_regime = 0;  // next regime of the list, 0 at its end
  };
  // The cell that a group is part of, as of the last Cells().
  struct GroupCell {
    std::uint64_t mean_ns = 0;
    std::uint32_t bin = 0;
  };
  struct Captured {
    std::uint32_t regime = 0;
    double local_ns = 0.0;
    bool counted = false;
  };
  // Pool contains the launches of a group and of children that are too small for a cell.
  struct Pool {
    stats::Moments native;
    stats::Moments imputed;
  };

  // Rounds a mean or a sum. RunTime limits both to 2^63; a value that rounds to 2^63 must still be
  // convertible.
  static std::uint64_t Whole(double ns) {
    return static_cast<std::uint64_t>(std::llround(std::clamp(ns, 0.0, 0x1p62)));
  }
  // Returns the moments whose mean imputes the group's perturbed launches: the most specific level
  // with a native launch.
  const stats::Moments& MomentsForMean(std::uint32_t group) const;
  // Returns the moments whose variance is used: the most specific level with kMinNative launches,
  // else the kernel.
  const stats::Moments& MomentsForVariance(std::uint32_t group) const;
  static bool Fits(const stats::Moments& regime, double value);
  // Assigns the undecided launches to the current regime of the context.
  void AssignUndecided(std::uint32_t context);
  // Returns another regime of the context that fits `value`, or a new regime. Returns the current
  // regime if there is no room.
  std::uint32_t OtherRegime(std::uint32_t context, double value);
  double RecentMeanOf(const Group& regime) const {
    return regime.own.count() == 0 ? 0.0 : regime.recent;
  }
  std::uint32_t AddGroup(std::uint32_t parent);
  std::uint32_t FindOrAddChild(std::uint32_t parent, std::uint64_t key);

  // Adds the launches of group `at` without children to `pool`, including the undecided launches of
  // the contexts `undecided`.
  void AddOwn(std::uint32_t at, std::span<const Group* const> undecided, Pool& pool);
  // Pools small groups into their parents. Returns the groups that form a cell, and sets the group
  // that each group was pooled into.
  std::vector<std::uint32_t> PoolGroups(std::vector<Pool>& pools,
                                        std::vector<std::uint32_t>& homes);

  std::vector<Group> groups_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_key_;
  std::vector<Captured> captured_;
  stats::Moments perturbed_;  // recorded durations
  std::uint64_t imputed_ns_ = 0;
  std::vector<GroupCell> cell_of_group_;  // by group
};

}  // namespace stemtap::online
