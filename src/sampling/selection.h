// SPDX-License-Identifier: Apache-2.0
//
// Selection chooses which launches of a cluster are sampled, once the sample size is known.
//
//   kRandom    at random, without replacement; the certificate assumes this
//   kBalanced  one launch from each of m equal parts by duration, then time, in mirrored pairs.
//              Every launch has the same probability m/N, and long samples are paired with short
//              ones. The variance is smaller, and decreases further with more samples per cluster.
//   kFirst     the first m in launch order, as a profiler's window or a counter would. Biased if a
//              kernel's durations drift; kept to show the cost of that choice.
//
// SOURCE: docs/math/selection.md (Cochran 1977, chapters 2, 5A and 8; Sethi 1965).
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"

namespace stemtap::sampling {

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

// Returns `size` distinct ranks in [0, count), ascending; all ranks if size >= count. For kRandom
// and kBalanced, ranks are positions in order of duration bin, then launch. For kFirst, ranks are
// positions in launch order.
std::vector<std::uint64_t> DrawRanks(Selection selection, std::uint64_t count, std::uint64_t size,
                                     Rng& rng);

}  // namespace stemtap::sampling
