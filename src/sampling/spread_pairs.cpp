// SPDX-License-Identifier: Apache-2.0
#include "sampling/spread_pairs.h"

#include <algorithm>
#include <cstddef>

namespace stemtap::sampling {
namespace {

// Maximum cost of the added samples, relative to the plan without them.
constexpr double kMaxCost = 0.13;
// The same if captures have a fixed price, where no pair is cheap: with 0.13, two of 34 recorded
// runs had more samples than a plan by time without pairs.
constexpr double kMaxCostByLaunch = 0.04;
// The same for the first pair of a plan: without it, a plan with one cluster per kernel has no
// interval for any other metric.
constexpr double kMaxFirstCost = 0.2;
// Maximum coefficient of variation of a narrow cluster.
constexpr double kMaxVariation = 0.15;

}  // namespace

bool IsNarrow(double mean_ns, double stddev_ns) {
  return stddev_ns <= kMaxVariation * mean_ns;
}

std::size_t AddSpreadPairs(std::span<std::vector<StratumRange>> kernels, double fixed_ns) {
  std::vector<StratumRange*> singles;
  std::size_t pairs = 0;
  double plan_ns = 0.0;
  for (std::vector<StratumRange>& kernel : kernels) {
    for (StratumRange& stratum : kernel) {
      plan_ns += static_cast<double>(stratum.sample_size) * (stratum.moments.mean() + fixed_ns);
      if (!IsNarrow(stratum.moments.mean(), stratum.moments.stddev())) continue;
      if (stratum.sample_size > 1) ++pairs;
      if (stratum.sample_size == 1 && stratum.moments.count() > 1) singles.push_back(&stratum);
    }
  }
  std::stable_sort(singles.begin(), singles.end(), [](const auto* a, const auto* b) {
    return a->moments.mean() < b->moments.mean();
  });
  std::size_t added = 0;
  double added_ns = 0.0;
  for (StratumRange* const stratum : singles) {
    added_ns += stratum->moments.mean() + fixed_ns;
    const double max_share = fixed_ns > 0.0 ? kMaxCostByLaunch : kMaxCost;
    const double max_cost = pairs + added > 0 ? max_share : kMaxFirstCost;
    if (pairs + added >= kSpreadPairs || added_ns > max_cost * plan_ns) break;
    stratum->sample_size = 2;
    stratum->is_pair = true;
    ++added;
  }
  return added;
}

}  // namespace stemtap::sampling
