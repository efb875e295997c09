// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/change_test.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "analysis/extrapolation/student.h"

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

// Returns the number of ways to choose k of n values; 0 if k exceeds n.
double Choose(std::size_t n, std::size_t k) {
  if (k > n) return 0.0;
  double ways = 1.0;
  for (std::size_t i = 1; i <= std::min(k, n - k); ++i) {
    ways *= static_cast<double>(n - std::min(k, n - k) + i) / static_cast<double>(i);
  }
  return ways;
}

// Returns the number of orders with exactly `runs` runs: `above` and `below` are cut into half of
// the runs each, and one side has a run more if their number is odd.
double OrdersOf(std::size_t above, std::size_t below, std::size_t runs) {
  const std::size_t fewer = runs / 2 - 1;       // cuts of the side with fewer runs
  const std::size_t more = (runs + 1) / 2 - 1;  // cuts of the other side
  return Choose(above - 1, fewer) * Choose(below - 1, more) +
         Choose(above - 1, more) * Choose(below - 1, fewer);
}

// Both directions of a change are tested.
constexpr double kSides = 2.0;

std::vector<RankStratum> Swapped(std::vector<RankStratum> strata) {
  for (RankStratum& stratum : strata) std::swap(stratum.low, stratum.high);
  return strata;
}

// Returns the p-value of the hypothesis that high is at most `shift` longer than low.
double ShiftedRankP(std::vector<RankStratum> strata, double shift) {
  for (RankStratum& stratum : strata) {
    for (double& duration : stratum.high) duration -= shift;
  }
  return std::min(1.0, kSides * RankSumP(strata));
}

// Returns the largest change from low to high that the rank test does not reject, or infinity if
// there are too few values to reject any.
double LargestByRank(const std::vector<RankStratum>& strata, double level) {
  if (kSides * MinRankSumP(strata) > level) return INFINITY;
  std::vector<double> changes;  // the ranks change only at these shifts
  for (const RankStratum& from : strata) {
    for (const RankStratum& to : strata) {
      for (const double low : from.low) {
        for (const double high : to.high) changes.push_back(high - low);
      }
    }
  }
  std::erase_if(changes, [](double change) { return !std::isfinite(change); });  // durations of 0
  if (changes.empty()) return INFINITY;
  std::sort(changes.begin(), changes.end());
  changes.erase(std::unique(changes.begin(), changes.end()), changes.end());
  const std::vector<RankStratum> swapped = Swapped(strata);
  // Returns whether a change between changes[at] and the next is rejected.
  const auto is_rejected = [&](std::size_t at) {
    const double change =
        at + 1 == changes.size() ? changes[at] + 1.0 : 0.5 * (changes[at] + changes[at + 1]);
    return ShiftedRankP(swapped, -change) <= level;
  };
  std::size_t first = 0;
  for (std::size_t end = changes.size() - 1; first < end;) {
    const std::size_t middle = first + (end - first) / 2;
    if (is_rejected(middle)) {
      end = middle;
    } else {
      first = middle + 1;
    }
  }
  return changes[first];
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

double FewRunsP(std::size_t above, std::size_t below, std::size_t runs) {
  if (above == 0 || below == 0) return 1.0;
  double orders = 0.0;
  for (std::size_t count = 2; count <= runs; ++count) orders += OrdersOf(above, below, count);
  return std::min(1.0, orders / Choose(above + below, above));
}

double FewRunsP(std::span<const double> values, double level) {
  std::size_t above = 0;
  std::size_t runs = values.empty() ? 0 : 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    above += values[i] > level ? 1 : 0;
    if (i != 0) runs += (values[i] > level) != (values[i - 1] > level) ? 1 : 0;
  }
  return FewRunsP(above, values.size() - above, runs);
}

double ChangeTest::P(double threshold) const {
  if (spreads.empty()) return NAN;
  const double shift = std::log1p(threshold) + systematic;
  const double beyond = std::fabs(change) - shift;
  if (beyond <= 0.0) return 1.0;
  double p = 0.0;
  for (const ErrorSpread& spread : spreads) {
    if (spread.variance == 0.0) continue;
    p = std::max(p, 1.0 - StudentWithin(beyond / std::sqrt(spread.variance), spread.degrees));
  }
  if (!few.empty()) p = std::max(p, ShiftedRankP(change > 0.0 ? few : Swapped(few), shift));
  return std::min(p, 1.0);
}

double ChangeTest::MinP() const {
  return few.empty() ? 0.0 : std::min(1.0, kSides * MinRankSumP(few));
}

std::pair<double, double> ChangeTest::Interval(double confidence) const {
  double half = NAN;
  for (const ErrorSpread& spread : spreads) {
    half =
        std::fmax(half, StudentQuantile(confidence, spread.degrees) * std::sqrt(spread.variance));
  }
  double lower = change - half;
  double upper = change + half;
  if (!few.empty() && !std::isnan(half)) {
    const double level = 1.0 - confidence;
    upper = std::max(upper, LargestByRank(few, level));
    lower = std::min(lower, -LargestByRank(Swapped(few), level));
  }
  return {lower - systematic, upper + systematic};
}

}  // namespace stemtap::analysis
