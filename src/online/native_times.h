// SPDX-License-Identifier: Apache-2.0
//
// NativeTimes is what is known of a kernel's native durations, by context, where launches are
// captured for real: the recorded duration of a captured launch is the tracer's doing, so it counts
// as a launch of its context with the mean that the context's other launches have.
//
//   kernel ─┬─ configuration ─┬─ history      120 native launches: a group of its own
//           │                 ├─ history        3: told apart from 8 on, until then with the others
//           │                 └─ history        2     of its configuration, or of the kernel
//           └─ configuration ...
//
// A context whose durations have moved (a phase, a clock that steps) begins a group of its own, a
// regime, and comes back to an old one where that fits; within a regime, a captured launch counts as
// those about it did: launches count as those of their time did.
//
// A group becomes one cell of the kernel: all its launches, the mean and the variance of the native
// ones. A context that is not told lends its captured launches its mean, and those above it their
// variance: of one launch it would be none. What a launch costs within its context is not known before it runs, nor afterwards when it
// was captured, so strata are made of whole contexts and no cut runs through one.
//
// Memory is bounded: at most kMostGroups contexts; launches of those beyond belong to the
// configuration, or to the kernel.
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/math/online.md, "Captures that cost time".
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sampling/workload_strata.h"
#include "stats/moments.h"

namespace stemtap {

class NativeTimes {
 public:
  // As many contexts as the predictor learns; 160 bytes each.
  static constexpr std::size_t kMostGroups = 512;
  // Native launches that make a context a group: the standard deviation of 8 is off by a quarter,
  // that of one is not known at all, and cuts between such would follow chance.
  static constexpr std::uint64_t kTold = 8;

  // Launches in a row, at most, that do not fit until a context has moved: fewer would follow chance,
  // more would leave more of them in the regime that has ended.
  static constexpr std::int32_t kMostVotes = 7;
  static constexpr std::int32_t kFirstVotes = 3;
  // A launch fits where it is no farther from the regime's mean than three standard deviations, 5 %
  // at least; half of the mean while the regime is not told.
  static constexpr double kFitDeviations = 3.0;
  static constexpr double kFitLeast = 0.05;
  static constexpr double kFitUntold = 0.5;

  // A launch that is captured counts as those of its context just before it did, where durations drift
  // with the time: their average, by which the last one counts an eighth. Of fewer the average would be noise, of more
  // it would be old; 8 was tried, no other value.
  static constexpr double kRecent = 8.0;

  NativeTimes() : groups_(1) {}

  // The context of a launch, for the calls below; stays valid. The configuration's key is that of the
  // kernel where launches of one configuration are a kernel.
  std::uint32_t ContextOf(std::uint64_t history_key, std::uint64_t config_key);

  // Launches, in launch order.
  void AddNative(std::uint32_t context, std::uint64_t duration_ns);
  // Two whose recorded durations are not native: one that ran beside a captured one, and a captured
  // one, which is known by the number returned. `counted`: it is one of the launches of the kernel
  // that Cells holds.
  void AddBeside(std::uint32_t context, std::uint64_t recorded_ns);
  std::uint32_t AddCaptured(std::uint32_t context, std::uint64_t recorded_ns, bool counted);

  // What a launch of the context takes on average just now, by the most special level that has a
  // native launch; by what was recorded where the kernel has none. 0: nothing is known.
  std::uint64_t MeanOf(std::uint32_t context) const {
    return Whole(LikeOf(groups_[context].regime).mean());
  }

  // The same of a captured launch, of its regime.
  std::uint64_t CapturedMeanOf(std::uint32_t captured) const {
    return Whole(LikeOf(captured_[captured].regime).mean());
  }
  // What its like took about when it ran; 0: there was none in its regime.
  std::uint64_t LocalMeanOf(std::uint32_t captured) const {
    return Whole(captured_[captured].local_ns);
  }
  // The mean of its group, as of the last Cells(). REQUIRES: it was there then.
  std::uint64_t GroupMeanOf(std::uint32_t captured) const {
    return group_mean_[captured_[captured].regime];
  }

  std::uint64_t native() const { return groups_.front().all.count(); }
  std::uint64_t perturbed() const { return perturbed_.count(); }
  // Of the perturbed launches, as of the last Cells().
  std::uint64_t imputed_ns() const { return imputed_ns_; }

  // The groups as cells, means ascending, and the sketch bin of each mean, ascending strictly.
  KernelCells Cells(std::vector<std::uint32_t>& bins);

 private:
  // Perturbed launches: how many, and of those that have like ones, how many and what these took.
  struct Slowed {
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
  // Launches of a context since the last native one that fitted its regime. Whether a new one has
  // begun with them is told by those that follow.
  struct Undecided {
    std::vector<double> native;           // kMostVotes at most
    std::vector<std::uint32_t> captured;  // counted or not
    std::uint64_t beside = 0;
  };
  // Children come behind their parent; the kernel is the first.
  struct Group {
    std::uint32_t parent = 0;
    Moments own;          // native, of no child
    Moments all;          // native, those of children too
    double recent = 0.0;  // of own, the average of the last kRecent or so
    Slowed slowed;        // of no child
    // Of a context: the regime it is in, itself at first, and how sure that is. Regimes are its
    // children, in a chain.
    std::uint32_t regime = 0;
    std::int32_t votes = kFirstVotes;
    Undecided undecided;
    std::uint32_t next_regime = 0;  // of a regime: the next of the chain, 0 at its end
  };
  struct Captured {
    std::uint32_t regime = 0;
    double local_ns = 0.0;
    bool counted = false;
  };

  // A mean or a sum, which RunTime limits to 2^63; one that rounds to that is still converted.
  static std::uint64_t Whole(double ns) {
    return static_cast<std::uint64_t>(std::llround(std::clamp(ns, 0.0, 0x1p62)));
  }
  // Whose mean the group's slowed launches have: the most special level with a native launch.
  const Moments& LikeOf(std::uint32_t group) const;
  // Whose variance: the most special level that is told, else the kernel.
  const Moments& SpreadOf(std::uint32_t group) const;
  static bool Fits(const Moments& regime, double value);
  // Counts the launches that are undecided to the regime that the context is in.
  void Decide(std::uint32_t context);
  // The regime of the context, but the one it is in, that launches of `value` fit; a new one where none
  // does. The one it is in where there is no room.
  std::uint32_t OtherRegime(std::uint32_t context, double value);
  double LocalOf(const Group& regime) const {
    return regime.own.count() == 0 ? 0.0 : regime.recent;
  }
  std::uint32_t Add(std::uint32_t parent);
  std::uint32_t Child(std::uint32_t parent, std::uint64_t key);

  std::vector<Group> groups_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_key_;
  std::vector<Captured> captured_;
  Moments perturbed_;  // as recorded
  std::uint64_t imputed_ns_ = 0;
  std::vector<std::uint64_t> group_mean_;
};

}  // namespace stemtap
