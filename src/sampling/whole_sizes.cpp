// SPDX-License-Identifier: Apache-2.0
#include "sampling/whole_sizes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace stemtap::sampling {
namespace {

double MinSize(const StratumTerm& t, double floor) {
  return std::min(floor, t.count);
}

double VarianceOf(std::span<const StratumTerm> terms, std::span<const double> sizes) {
  double variance = 0.0;
  for (std::size_t i = 0; i < terms.size(); ++i) variance += terms[i].VarianceAt(sizes[i]);
  return variance;
}

// Returns, from below, the s at which the sizes clamp(s sqrt(variance / cost)) meet the budget, or
// 0 if the minimum sizes meet it. Strata within their limits share the remaining budget in
// proportion to sqrt(variance / cost), and strata at a limit are fixed: the KKT conditions with
// limits (allocation.h). Variance decreases with s, so s is found by bisection on a log scale.
double ScaleOf(std::span<const StratumTerm> terms, double budget, double floor) {
  const auto spent = [&](double s) {
    double sum = 0.0;
    for (const StratumTerm& t : terms) {
      if (!(t.variance > 0.0)) continue;
      sum +=
          t.VarianceAt(std::clamp(s * std::sqrt(t.variance / t.cost), MinSize(t, floor), t.count));
    }
    return sum;
  };
  double used = 0.0;
  double high = 0.0;
  for (const StratumTerm& t : terms) {
    used += t.VarianceAt(MinSize(t, floor));
    if (t.variance > 0.0) high = std::max(high, t.count / std::sqrt(t.variance / t.cost));
  }
  if (!(used > budget)) return 0.0;
  double low = high * 1e-18;
  for (int i = 0; i < 60 && high > low * 1.0001; ++i) {
    const double middle = std::sqrt(low * high);
    (spent(middle) > budget ? low : high) = middle;
  }
  return low;
}

// Adds the samples that remove the most variance per ns until the budget is met.
void AddSamples(std::span<const StratumTerm> terms, double budget, std::vector<double>& sizes) {
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
  double variance = VarianceOf(terms, sizes);
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
}

// Removes samples as long as the budget allows, the most expensive first: the last sample that was
// added may remove more variance than needed. Returns the cost of the remaining samples.
double RemoveSamples(std::span<const StratumTerm> terms, double budget, double floor,
                     double variance, std::vector<double>& sizes) {
  std::vector<std::size_t> by_cost(terms.size());
  std::iota(by_cost.begin(), by_cost.end(), std::size_t{0});
  std::stable_sort(by_cost.begin(), by_cost.end(),
                   [&](std::size_t a, std::size_t b) { return terms[a].cost > terms[b].cost; });
  double cost = 0.0;
  for (const std::size_t i : by_cost) {
    const StratumTerm& t = terms[i];
    while (sizes[i] > MinSize(t, floor)) {
      const double more = t.VarianceAt(sizes[i] - 1.0) - t.VarianceAt(sizes[i]);
      if (variance + more > budget) break;
      variance += more;
      sizes[i] -= 1.0;
    }
    cost += sizes[i] * t.cost;
  }
  return cost;
}

}  // namespace

double SizeWhole(std::span<const StratumTerm> terms, double budget, double floor,
                 std::vector<double>& sizes) {
  const double scale = ScaleOf(terms, budget, floor);
  sizes.clear();
  for (const StratumTerm& t : terms) {
    const double real = t.variance > 0.0 ? scale * std::sqrt(t.variance / t.cost) : 0.0;
    sizes.push_back(std::clamp(std::floor(real), MinSize(t, floor), t.count));
  }
  AddSamples(terms, budget, sizes);
  // The sum that AddSamples updates may have lost its last digits.
  const double variance = VarianceOf(terms, sizes);
  if (variance > budget * (1.0 + 1e-12)) return INFINITY;
  return RemoveSamples(terms, budget, floor, variance, sizes);
}

}  // namespace stemtap::sampling
