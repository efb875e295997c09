// SPDX-License-Identifier: Apache-2.0
#include "sampling/selection.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace stemtap::sampling {
namespace {

// Floyd's algorithm: one draw per rank, O(size) memory.
std::vector<std::uint64_t> DrawAtRandom(std::uint64_t count, std::uint64_t size, Rng& rng) {
  std::vector<std::uint64_t> drawn;
  drawn.reserve(size);
  std::unordered_set<std::uint64_t> taken;
  for (std::uint64_t last = count - size; last < count; ++last) {
    const std::uint64_t candidate = rng.Below(last + 1);
    drawn.push_back(taken.insert(candidate).second ? candidate : last);
    taken.insert(drawn.back());
  }
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

// Draws one rank from each of `size` equal parts. The ranks that do not fill the parts are left out
// at random, and parts at equal distance from the two ends use mirrored offsets. Each rank has the
// probability size / count.
std::vector<std::uint64_t> DrawBalanced(std::uint64_t count, std::uint64_t size, Rng& rng) {
  const std::uint64_t length = count / size;
  std::vector<std::uint64_t> drawn(size);
  for (std::uint64_t k = 0; k < (size + 1) / 2; ++k) {
    const std::uint64_t offset = rng.Below(length);
    drawn[k] = k * length + offset;
    if (size - 1 - k != k) drawn[size - 1 - k] = (size - 1 - k) * length + (length - 1 - offset);
  }
  // Each rank that was left out moves the drawn ranks at or above it up by one.
  const std::vector<std::uint64_t> left_out = DrawAtRandom(count, count % size, rng);
  std::size_t passed = 0;
  for (std::uint64_t& rank : drawn) {
    while (passed < left_out.size() && left_out[passed] <= rank + passed) ++passed;
    rank += passed;
  }
  return drawn;
}

}  // namespace

std::vector<std::uint64_t> DrawRanks(Selection selection, std::uint64_t count, std::uint64_t size,
                                     Rng& rng) {
  if (size < count && selection == Selection::kRandom) return DrawAtRandom(count, size, rng);
  if (size < count && selection == Selection::kBalanced && size > 0) {
    return DrawBalanced(count, size, rng);
  }
  std::vector<std::uint64_t> first(std::min(count, size));
  std::iota(first.begin(), first.end(), std::uint64_t{0});
  return first;
}

}  // namespace stemtap::sampling
