// SPDX-License-Identifier: Apache-2.0
//
// AlignSequences pairs the equal symbols of two sequences, in order, leaving few unpaired.
//
// METHOD: what begins and ends alike is paired first. Then the symbols that occur equally often on
// both sides are told apart by their occurrence number, and the longest run of such pairs that keeps
// the order is taken (as patience diff does with unique lines). Between two pairs the same is done once
// more, and what is left goes through Myers' O(ND) algorithm, its number of edits bounded.
//
// COST: O(n log n) time, O(n) memory, whatever the input; the bounds are at the constants. The pairing
// is a short edit script, not promised to be the shortest. The same input gives the same pairing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stemtap {

struct SequencePair {
  std::uint32_t a = 0;  // position in the one sequence
  std::uint32_t b = 0;  // ... in the other
};

// Ascending in both positions. REQUIRES: every symbol is below `symbols`.
std::vector<SequencePair> AlignSequences(std::span<const std::uint32_t> a,
                                         std::span<const std::uint32_t> b, std::size_t symbols);

}  // namespace stemtap
