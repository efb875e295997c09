// SPDX-License-Identifier: Apache-2.0
//
// Selection picks which invocations of a cluster are sampled, once their number is known.
//
//   kRandom    at random, without replacement: what the certificate assumes
//   kBalanced  one of each of m equal parts along duration, then time, in mirrored pairs: every
//              invocation has the same chance m/N, and long picks go with short ones; the variance
//              is smaller, the more so the more samples a cluster has
//   kFirst     the first m in launch order: what a profiler's window or a counter does; biased
//              where a kernel's durations drift, kept to show what that costs
//
// SOURCE: docs/math/selection.md (Cochran 1977, chapters 2, 5A and 8; Sethi 1965).
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"

namespace stemtap {

enum class Selection { kRandom, kBalanced, kFirst };

struct SelectionSpec {
  Selection selection;
  const char* name;
  const char* help;
};
inline constexpr SelectionSpec kSelections[] = {
    {Selection::kRandom, "random", "at random, without replacement"},
    {Selection::kBalanced, "balanced",
     "evenly along duration and time, long ones against short ones"},
    {Selection::kFirst, "first", "the first ones launched (biased; to show what it costs)"},
};

// `size` different ranks of [0, count), ascending; all of them when size >= count. Ranks are
// positions along (duration bin, launch order) for kRandom and kBalanced, along launch order for
// kFirst.
std::vector<std::uint64_t> DrawRanks(Selection selection, std::uint64_t count, std::uint64_t size,
                                     Rng& rng);

}  // namespace stemtap
