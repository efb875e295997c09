// SPDX-License-Identifier: Apache-2.0
//
// AlignSequences pairs equal symbols of two sequences in order and leaves few symbols unpaired.
//
// METHOD: First, the common prefix and suffix are paired. Then the symbols that occur equally often
// on both sides are numbered by occurrence, and the longest sequence of such pairs in order is kept
// (as patience diff does with unique lines). This step is repeated once between the pairs. The
// remaining gaps are aligned with Myers' O(ND) algorithm with a bounded number of edits.
//
// COST: O(n log n) time and O(n) memory for any input; the constants define the bounds. The result
// is a short edit script, but not always the shortest. The same input gives the same result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stemtap::analysis {

struct SequencePair {
  std::uint32_t a = 0;  // position in sequence a
  std::uint32_t b = 0;  // position in sequence b
};

// Returns pairs that are ascending in both positions. REQUIRES: every symbol is < `symbols`.
std::vector<SequencePair> AlignSequences(std::span<const std::uint32_t> a,
                                         std::span<const std::uint32_t> b, std::size_t symbols);

}  // namespace stemtap::analysis
