// SPDX-License-Identifier: Apache-2.0
#include "sampling/kernel_pool.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stemtap::sampling {

std::vector<std::size_t> KernelsWithin(std::span<const double> times_ns,
                                       std::span<const double> keys, double max_ns) {
  std::vector<std::size_t> by_key(times_ns.size());
  std::iota(by_key.begin(), by_key.end(), std::size_t{0});
  std::stable_sort(by_key.begin(), by_key.end(),
                   [&](std::size_t a, std::size_t b) { return keys[a] > keys[b]; });
  std::vector<std::size_t> within;
  for (const std::size_t k : by_key) {
    if (!(times_ns[k] > 0.0) || times_ns[k] > max_ns) continue;
    max_ns -= times_ns[k];
    within.push_back(k);
  }
  std::sort(within.begin(), within.end());
  return within;
}

std::vector<std::vector<std::size_t>> PoolCandidates(std::span<const double> times_ns,
                                                     std::span<const double> costs, double share) {
  std::vector<double> smallness;
  std::vector<double> prices;
  double total_ns = 0.0;
  for (std::size_t k = 0; k < times_ns.size(); ++k) {
    smallness.push_back(-times_ns[k]);
    prices.push_back(times_ns[k] > 0.0 ? costs[k] / times_ns[k] : 0.0);
    total_ns += times_ns[k];
  }
  std::vector<std::vector<std::size_t>> candidates;
  for (const std::vector<double>* keys : {&smallness, &prices}) {
    std::vector<std::size_t> pool = KernelsWithin(times_ns, *keys, share * total_ns);
    if (pool.size() < 2) continue;
    if (candidates.empty() || candidates.front() != pool) candidates.push_back(std::move(pool));
  }
  return candidates;
}

}  // namespace stemtap::sampling
