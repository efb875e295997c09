// SPDX-License-Identifier: Apache-2.0
#include "sampling/whole_sizes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace stemtap::sampling {

double SizeWhole(std::span<const StratumTerm> terms, double budget, double floor,
                 std::vector<double>& sizes) {
  sizes.assign(terms.size(), 0.0);
  // Strata within their limits share the remaining budget in proportion to sqrt(variance / cost).
  // Strata at a limit are fixed. These are the KKT conditions with limits (allocation.h).
  double lean = 0.0;
  double used = 0.0;
  for (const StratumTerm& t : terms) used += t.VarianceAt(std::min(floor, t.count));
  if (used > budget) {
    // sizes = clamp(s sqrt(variance / cost)). Variance decreases with s, so s is found by bisection
    // on a log scale.
    const auto spent = [&](double s) {
      double sum = 0.0;
      for (const StratumTerm& t : terms) {
        if (!(t.variance > 0.0)) continue;
        const double size =
            std::clamp(s * std::sqrt(t.variance / t.cost), std::min(floor, t.count), t.count);
        sum += t.VarianceAt(size);
      }
      return sum;
    };
    double low = 0.0;
    double high = 0.0;
    for (const StratumTerm& t : terms) {
      if (t.variance > 0.0) high = std::max(high, t.count / std::sqrt(t.variance / t.cost));
    }
    low = high * 1e-18;
    for (int i = 0; i < 60 && high > low * 1.0001; ++i) {
      const double middle = std::sqrt(low * high);
      (spent(middle) > budget ? low : high) = middle;
    }
    lean = low;
  }
  double variance = 0.0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const StratumTerm& t = terms[i];
    const double real = t.variance > 0.0 ? lean * std::sqrt(t.variance / t.cost) : 0.0;
    sizes[i] = std::clamp(std::floor(real), std::min(floor, t.count), t.count);
    variance += t.VarianceAt(sizes[i]);
  }

  const auto gain = [&](std::size_t i) {  // variance removed by one more sample, per ns
    const StratumTerm& t = terms[i];
    if (sizes[i] >= t.count || t.variance <= 0.0) return 0.0;
    return t.variance / (sizes[i] * (sizes[i] + 1.0)) / std::max(t.cost, 1e-300);
  };
  std::vector<std::pair<double, std::size_t>> heap;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (gain(i) > 0.0) heap.emplace_back(gain(i), i);
  }
  std::make_heap(heap.begin(), heap.end());
  while (variance > budget && !heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const std::size_t i = heap.back().second;
    heap.pop_back();
    variance -= terms[i].variance / (sizes[i] * (sizes[i] + 1.0));
    sizes[i] += 1.0;
    if (gain(i) > 0.0) {
      heap.emplace_back(gain(i), i);
      std::push_heap(heap.begin(), heap.end());
    }
  }
  // Recompute the variance: the running sum may have lost its last digits.
  variance = 0.0;
  for (std::size_t i = 0; i < terms.size(); ++i) variance += terms[i].VarianceAt(sizes[i]);
  if (variance > budget * (1.0 + 1e-12)) return INFINITY;

  // The last sample may remove more variance than needed, so remove samples again, the most
  // expensive first, as long as the budget allows.
  std::vector<std::size_t> by_cost(terms.size());
  std::iota(by_cost.begin(), by_cost.end(), std::size_t{0});
  std::stable_sort(by_cost.begin(), by_cost.end(),
                   [&](std::size_t a, std::size_t b) { return terms[a].cost > terms[b].cost; });
  double cost = 0.0;
  for (const std::size_t i : by_cost) {
    const StratumTerm& t = terms[i];
    const double least = std::min(floor, t.count);
    while (sizes[i] > least) {
      const double more = t.VarianceAt(sizes[i] - 1.0) - t.VarianceAt(sizes[i]);
      if (variance + more > budget) break;
      variance += more;
      sizes[i] -= 1.0;
    }
    cost += sizes[i] * t.cost;
  }
  return cost;
}

}  // namespace stemtap::sampling
