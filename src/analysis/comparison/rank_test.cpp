// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/rank_test.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace stemtap::analysis {
namespace {

// Counts[s] is the number of assignments for which the doubled ranks of `high` have the sum s. As
// floating-point numbers, because there are more than 2^64.
using Counts = std::vector<double>;

// Returns twice the rank of each value: an integer, because equal values share their mean rank.
std::vector<std::size_t> DoubledRanks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t x, std::size_t y) { return values[x] < values[y]; });
  std::vector<std::size_t> ranks(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = begin + 1 + end;
  }
  return ranks;
}

// Returns the counts of a stratum with these doubled ranks, of which `high` values are in `high`.
Counts CountsOf(std::span<const std::size_t> ranks, std::size_t high) {
  const std::size_t total = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<Counts> by_size(high + 1, Counts(total + 1, 0.0));
  by_size[0][0] = 1.0;
  std::size_t largest = 0;  // sum of the ranks so far
  for (const std::size_t rank : ranks) {
    largest += rank;
    for (std::size_t size = high; size > 0; --size) {
      for (std::size_t sum = largest; sum >= rank; --sum) {
        by_size[size][sum] += by_size[size - 1][sum - rank];
      }
    }
  }
  return by_size[high];
}

// Returns the counts of two sets of strata together.
Counts Convolved(const Counts& x, const Counts& y) {
  Counts counts(x.size() + y.size() - 1, 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == 0.0) continue;
    for (std::size_t j = 0; j < y.size(); ++j) counts[i + j] += x[i] * y[j];
  }
  return counts;
}

}  // namespace

double RankSumP(std::span<const RankStratum> strata) {
  std::vector<double> values;
  for (const RankStratum& stratum : strata) {
    values.insert(values.end(), stratum.low.begin(), stratum.low.end());
    values.insert(values.end(), stratum.high.begin(), stratum.high.end());
  }
  const std::vector<std::size_t> all = DoubledRanks(values);
  std::span<const std::size_t> ranks = all;
  Counts counts = {1.0};
  std::size_t observed = 0;
  for (const RankStratum& stratum : strata) {
    const auto own = ranks.first(stratum.low.size() + stratum.high.size());
    const auto high = own.last(stratum.high.size());
    observed = std::accumulate(high.begin(), high.end(), observed);
    counts = Convolved(counts, CountsOf(own, high.size()));
    ranks = ranks.subspan(own.size());
  }
  const auto from = counts.begin() + static_cast<std::ptrdiff_t>(observed);
  return std::accumulate(from, counts.end(), 0.0) /
         std::accumulate(counts.begin(), counts.end(), 0.0);
}

double MinRankSumP(std::span<const RankStratum> strata) {
  double p = 1.0;
  for (const RankStratum& stratum : strata) {
    for (std::size_t i = 1; i <= stratum.high.size(); ++i) {
      p *= static_cast<double>(i) / static_cast<double>(stratum.low.size() + i);
    }
  }
  return p;
}

}  // namespace stemtap::analysis
