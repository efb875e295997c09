// SPDX-License-Identifier: Apache-2.0
#include "sampling/allocation.h"

#include <algorithm>
#include <cmath>

namespace stemtap::sampling {
namespace {

// A stratum in the notation of Problem 1.
struct Term {
  double cost;      // a_i
  double variance;  // b_i
  double low, high;
};

double SizeAt(const Term& t, double s) {
  return std::clamp(s * std::sqrt(t.variance / t.cost), t.low, t.high);
}

// Returns sum b_i / m_i for the sizes at s.
double BudgetUsed(std::span<const Term> terms, double s) {
  double used = 0.0;
  for (const Term& t : terms) used += t.variance / SizeAt(t, s);
  return used;
}

// Returns the s that uses the budget exactly: 0 if the lower limits meet it, +inf (every size at
// its upper limit) if no size does.
double SolveScale(std::span<const Term> terms, double budget) {
  if (BudgetUsed(terms, 0.0) <= budget) return 0.0;
  std::vector<double> breaks;
  breaks.reserve(2 * terms.size());
  for (const Term& t : terms) {
    const double per_sample = std::sqrt(t.cost / t.variance);
    breaks.push_back(t.low * per_sample);
    breaks.push_back(t.high * per_sample);
  }
  std::sort(breaks.begin(), breaks.end());
  if (BudgetUsed(terms, breaks.back()) > budget) return INFINITY;
  // BudgetUsed decreases with s, so the first breakpoint that meets the budget is the right end of
  // the piece that contains the solution.
  const auto end = std::partition_point(breaks.begin(), breaks.end(),
                                        [&](double s) { return BudgetUsed(terms, s) > budget; });
  const double right = *end;
  const double left = end == breaks.begin() ? 0.0 : *(end - 1);
  // Within the piece, each term is either clamped or free: used = clamped + free / s.
  const double inside = left + 0.5 * (right - left);
  double clamped = 0.0;
  double free = 0.0;
  for (const Term& t : terms) {
    const double size = inside * std::sqrt(t.variance / t.cost);
    if (size <= t.low) {
      clamped += t.variance / t.low;
    } else if (size >= t.high) {
      clamped += t.variance / t.high;
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

}  // namespace

std::vector<double> AllocateUnboxed(std::span<const Stratum> strata, const ErrorTarget& target) {
  const double budget = SquaredTolerance(strata, target);
  double roots = 0.0;
  std::vector<double> sizes;
  sizes.reserve(strata.size());
  for (const Stratum& s : strata) {
    const auto n = static_cast<double>(s.count);
    roots += std::sqrt(s.mean * n * n * s.variance);
    sizes.push_back(s.mean > 0.0 ? std::sqrt(n * n * s.variance / s.mean) : 0.0);
  }
  for (double& size : sizes) size *= roots / budget;
  return sizes;
}

std::vector<double> AllocateReal(std::span<const Stratum> strata, const ErrorTarget& target,
                                 Population population, std::uint64_t min_samples) {
  double budget = SquaredTolerance(strata, target);
  std::vector<Term> terms;
  terms.reserve(strata.size());
  for (const Stratum& s : strata) {
    if (!(s.variance > 0.0) || !(s.mean > 0.0)) continue;  // contributes no error
    const auto n = static_cast<double>(s.count);
    const double variance = population == Population::kFinite ? s.sample_variance() : s.variance;
    if (population == Population::kFinite) budget += n * variance;
    const double low =
        static_cast<double>(std::min(std::max<std::uint64_t>(min_samples, 1), s.count));
    terms.push_back({s.mean, n * n * variance, low, n});
  }
  const double scale = SolveScale(terms, budget);

  std::vector<double> sizes;
  sizes.reserve(strata.size());
  std::size_t next = 0;
  for (const Stratum& s : strata) {
    if (s.variance > 0.0 && s.mean > 0.0) {
      sizes.push_back(SizeAt(terms[next++], scale));
    } else {
      sizes.push_back(
          static_cast<double>(std::min(std::max<std::uint64_t>(min_samples, 1), s.count)));
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

}  // namespace stemtap::sampling
