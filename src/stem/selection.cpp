// SPDX-License-Identifier: Apache-2.0
#include "stem/selection.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace stemtap {
namespace {

// Floyd's algorithm: one draw per rank, memory for the ranks alone.
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

// Ranks floor((u + k count) / size) for one u in [0, count): each rank has the chance size / count.
std::vector<std::uint64_t> DrawSystematically(std::uint64_t count, std::uint64_t size, Rng& rng) {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t start = rng.Below(count);
  std::vector<std::uint64_t> drawn(size);
  for (std::uint64_t k = 0; k < size; ++k) {
    drawn[k] = static_cast<std::uint64_t>((Wide{k} * count + start) / size);
  }
  return drawn;
}

}  // namespace

std::vector<std::uint64_t> DrawRanks(Selection selection, std::uint64_t count, std::uint64_t size,
                                     Rng& rng) {
  if (size < count && selection == Selection::kRandom) return DrawAtRandom(count, size, rng);
  if (size < count && selection == Selection::kBalanced && size > 0) {
    return DrawSystematically(count, size, rng);
  }
  std::vector<std::uint64_t> first(std::min(count, size));
  std::iota(first.begin(), first.end(), std::uint64_t{0});
  return first;
}

}  // namespace stemtap
