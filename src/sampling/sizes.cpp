// SPDX-License-Identifier: Apache-2.0
#include "sampling/sizes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace stemtap::sampling {
namespace {

double MinSize(const SizingTerm& t, double floor) {
  return std::min(floor, t.count);
}

// Returns the size at s, within its limits.
double SizeAt(const SizingTerm& t, double floor, double s) {
  return std::clamp(s * std::sqrt(t.variance / t.cost), MinSize(t, floor), t.count);
}

// Returns sum b_i / m_i for the sizes at s.
double BudgetUsed(std::span<const SizingTerm> terms, double floor, double s) {
  double used = 0.0;
  for (const SizingTerm& t : terms) used += t.variance / SizeAt(t, floor, s);
  return used;
}

// Returns the s that uses the budget exactly: 0 if the lower limits meet it, +inf (every size at
// its upper limit) if no size does.
double SolveScale(std::span<const SizingTerm> terms, double floor, double budget) {
  if (BudgetUsed(terms, floor, 0.0) <= budget) return 0.0;
  std::vector<double> breaks;
  breaks.reserve(2 * terms.size());
  for (const SizingTerm& t : terms) {
    const double per_sample = std::sqrt(t.cost / t.variance);
    breaks.push_back(MinSize(t, floor) * per_sample);
    breaks.push_back(t.count * per_sample);
  }
  std::sort(breaks.begin(), breaks.end());
  if (BudgetUsed(terms, floor, breaks.back()) > budget) return INFINITY;
  // BudgetUsed decreases with s, so the first breakpoint that meets the budget is the right end of
  // the piece that contains the solution.
  const auto end = std::partition_point(
      breaks.begin(), breaks.end(), [&](double s) { return BudgetUsed(terms, floor, s) > budget; });
  const double right = *end;
  const double left = end == breaks.begin() ? 0.0 : *(end - 1);
  // Within the piece, each term is either clamped or free: used = clamped + free / s.
  const double inside = left + 0.5 * (right - left);
  double clamped = 0.0;
  double free = 0.0;
  for (const SizingTerm& t : terms) {
    const double size = inside * std::sqrt(t.variance / t.cost);
    if (size <= MinSize(t, floor)) {
      clamped += t.variance / MinSize(t, floor);
    } else if (size >= t.count) {
      clamped += t.variance / t.count;
    } else {
      free += std::sqrt(t.cost * t.variance);
    }
  }
  if (!(free > 0.0) || !(budget > clamped)) return right;
  return std::clamp(free / (budget - clamped), left, right);
}

double SquaredTolerance(std::span<const Stratum> strata, const ErrorTarget& target) {
  double total = 0.0;
  for (const Stratum& s : strata) total += s.sum();
  const double tolerance = target.error_bound * total / target.z;
  return tolerance * tolerance;
}

double VarianceOf(std::span<const SizingTerm> terms, std::span<const double> sizes) {
  double variance = 0.0;
  for (std::size_t i = 0; i < terms.size(); ++i) variance += terms[i].VarianceAt(sizes[i]);
  return variance;
}

// Returns, from below, the s at which the sizes clamp(s sqrt(variance / cost)) meet the budget, or
// 0 if the minimum sizes meet it. Strata within their limits share the remaining budget in
// proportion to sqrt(variance / cost), and strata at a limit are fixed: the KKT conditions with
// limits (Allocate). Variance decreases with s, so s is found by bisection on a log scale.
double ScaleOf(std::span<const SizingTerm> terms, double budget, double floor) {
  const auto spent = [&](double s) {
    double sum = 0.0;
    for (const SizingTerm& t : terms) {
      if (!(t.variance > 0.0)) continue;
      sum += t.VarianceAt(SizeAt(t, floor, s));
    }
    return sum;
  };
  double used = 0.0;
  double high = 0.0;
  for (const SizingTerm& t : terms) {
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
void AddSamples(std::span<const SizingTerm> terms, double budget, std::vector<double>& sizes) {
  const auto gain = [&](std::size_t i) {  // variance removed by one more sample, per ns
    const SizingTerm& t = terms[i];
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
double RemoveSamples(std::span<const SizingTerm> terms, double budget, double floor,
                     double variance, std::vector<double>& sizes) {
  std::vector<std::size_t> by_cost(terms.size());
  std::iota(by_cost.begin(), by_cost.end(), std::size_t{0});
  std::stable_sort(by_cost.begin(), by_cost.end(),
                   [&](std::size_t a, std::size_t b) { return terms[a].cost > terms[b].cost; });
  double cost = 0.0;
  for (const std::size_t i : by_cost) {
    const SizingTerm& t = terms[i];
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

std::uint64_t SampleSize(double mean, double stddev, double error_bound, double z,
                         std::uint64_t floor) {
  const std::uint64_t minimum = std::max<std::uint64_t>(floor, 1);
  if (!(stddev > 0.0) || !(z > 0.0)) return minimum;
  constexpr double kMaxSize = 4611686018427387904.0;  // 2^62
  const double ratio = z * stddev / (error_bound * mean);
  const double size = std::ceil(ratio * ratio);
  if (!(size < kMaxSize)) return std::max(minimum, static_cast<std::uint64_t>(kMaxSize));
  return std::max(minimum, static_cast<std::uint64_t>(size));
}

std::vector<double> AllocateReal(std::span<const Stratum> strata, const ErrorTarget& target,
                                 Population population, std::uint64_t min_samples) {
  double budget = SquaredTolerance(strata, target);
  const auto floor = static_cast<double>(std::max<std::uint64_t>(min_samples, 1));
  std::vector<SizingTerm> terms;
  terms.reserve(strata.size());
  for (const Stratum& s : strata) {
    if (!(s.variance > 0.0) || !(s.mean > 0.0)) continue;  // contributes no error
    const auto n = static_cast<double>(s.count);
    const double variance = population == Population::kFinite ? s.sample_variance() : s.variance;
    if (population == Population::kFinite) budget += n * variance;
    terms.push_back({n, s.mean, n * n * variance});
  }
  const double scale = SolveScale(terms, floor, budget);

  std::vector<double> sizes;
  sizes.reserve(strata.size());
  std::size_t next = 0;
  for (const Stratum& s : strata) {
    if (s.variance > 0.0 && s.mean > 0.0) {
      sizes.push_back(SizeAt(terms[next++], floor, scale));
    } else {
      sizes.push_back(std::min(floor, static_cast<double>(s.count)));
    }
  }
  return sizes;
}

std::vector<std::uint64_t> Allocate(std::span<const Stratum> strata, const ErrorTarget& target,
                                    Population population, std::uint64_t min_samples) {
  const std::vector<double> real = AllocateReal(strata, target, population, min_samples);
  std::vector<std::uint64_t> sizes;
  sizes.reserve(real.size());
  for (std::size_t i = 0; i < real.size(); ++i) {
    // Keeps sizes that are integers except for rounding (3.0000000001). 1e-9 is far above the error
    // of the solver and far below the value of a sample.
    const double rounded = std::ceil(real[i] * (1.0 - 1e-9));
    sizes.push_back(std::min(static_cast<std::uint64_t>(rounded), strata[i].count));
  }
  return sizes;
}

double SizeWhole(std::span<const SizingTerm> terms, double budget, double floor,
                 std::vector<double>& sizes) {
  const double scale = ScaleOf(terms, budget, floor);
  sizes.clear();
  for (const SizingTerm& t : terms) {
    const double real = t.variance > 0.0 ? scale * std::sqrt(t.variance / t.cost) : 0.0;
    sizes.push_back(std::clamp(std::floor(real), MinSize(t, floor), t.count));
  }
  AddSamples(terms, budget, sizes);
  // The sum that AddSamples updates may have lost its last digits.
  const double variance = VarianceOf(terms, sizes);
  if (variance > budget * (1.0 + 1e-12)) return INFINITY;
  return RemoveSamples(terms, budget, floor, variance, sizes);
}

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
