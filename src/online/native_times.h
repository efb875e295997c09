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
// regime, and comes back to an old one where that fits: launches count as those of their time did.
//
// A group becomes one cell of the kernel: all its launches, the mean and the variance of the native
// ones. A context that is not told lends its captured launches its mean, and those above it their
// variance: of one launch it would be none. What a launch costs within its context is not known before it runs, nor afterwards when it
// was captured, so strata are made of whole contexts and no cut runs through one.
//
// Memory is bounded: at most kMostGroups contexts; launches of those beyond belong to the
// configuration, or to the kernel.
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/maths/online.md, "Captures that cost time".
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "stats/moments.h"
#include "stem/workload_strata.h"

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

  NativeTimes() : groups_(1) {}

  // The context of a launch, in the regime it is in, for the calls below; stays valid. The
  // configuration's key is that of the kernel where launches of one configuration are a kernel. To be
  // asked in launch order.
  std::uint32_t ContextOf(std::uint64_t history_key, std::uint64_t config_key);

  void AddNative(std::uint32_t context, std::uint64_t duration_ns);
  // A launch whose recorded duration is not native.
  void AddPerturbed(std::uint32_t context, std::uint64_t recorded_ns);

  // What a launch of the context takes on average, by the most special level that has a native
  // launch; by what was recorded where the kernel has none. 0: nothing is known.
  std::uint64_t MeanOf(std::uint32_t context) const;

  std::uint64_t native() const { return groups_.front().all.count(); }
  std::uint64_t perturbed() const { return perturbed_.count(); }
  // Of the perturbed launches, as of the last Cells().
  std::uint64_t imputed_ns() const { return imputed_ns_; }

  // The groups as cells, means ascending, and the sketch bin of each mean, ascending strictly.
  KernelCells Cells(std::vector<std::uint32_t>& bins);
  // The mean of the context's group, as of the last Cells(). REQUIRES: a launch of the context was
  // there then.
  std::uint64_t GroupMeanOf(std::uint32_t context) const { return group_mean_[context]; }

 private:
  // Children come behind their parent; the kernel is the first.
  struct Group {
    std::uint32_t parent = 0;
    Moments own;        // native, of no child
    Moments all;        // native, those of children too
    Moments perturbed;  // of no child, as recorded
    // Of a context: the regime it is in, itself at first, and how sure that is. Regimes are its
    // children, in a chain.
    std::uint32_t regime = 0;
    std::int32_t votes = kFirstVotes;
    // Of a regime: its context; the next of the chain, 0 at its end.
    std::uint32_t context = 0;
    std::uint32_t next_regime = 0;
  };

  // Whose mean the context's slowed launches have: the most special level with a native launch.
  const Moments& LikeOf(std::uint32_t context) const;
  // Whose variance: the most special level that is told, else the kernel.
  const Moments& SpreadOf(std::uint32_t context) const;
  static bool Fits(const Moments& regime, double value);
  std::uint32_t RegimeFor(std::uint32_t regime, double value);
  std::uint32_t Add(std::uint32_t parent);
  std::uint32_t Child(std::uint32_t parent, std::uint64_t key);

  std::vector<Group> groups_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_key_;
  Moments perturbed_;
  std::uint64_t imputed_ns_ = 0;
  std::vector<std::uint64_t> group_mean_;
};

}  // namespace stemtap
