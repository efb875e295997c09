// SPDX-License-Identifier: Apache-2.0
//
// Strata (clusters) of the durations of kernels, and how the papers' methods divide a kernel into
// them. Each stratum is an interval of the sorted durations.
//
//   kRoot  STEM+ROOT: splits by 2-means while sampling the halves costs no more than sampling the
//          whole: tau_new = sum m_i mu_i <= tau_old = m mu.
//   kStem  STEM-only: splits by 2-means while a cluster needs more than 50 samples; at least 30
//          samples per cluster.
//
// SOURCE: STEM+ROOT (MICRO 2025) section 4; Allegro (2024); docs/math/root.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stats/log_sketch.h"
#include "stats/moments.h"

namespace stemtap::sampling {

// Stratum is a cluster in the error model: its number of launches, their mean, and their variance.
// SOURCE: docs/math/symbols.md (N_i, mu_i, sigma_i).
struct Stratum {
  std::uint64_t count = 0;  // N_i
  double mean = 0.0;        // mu_i, ns
  double variance = 0.0;    // sigma_i^2, population variance, ns^2

  Stratum() = default;
  Stratum(std::uint64_t n, double mu, double sigma_squared)
      : count(n), mean(mu), variance(sigma_squared) {}
  explicit Stratum(const stats::Moments& m) : Stratum(m.count(), m.mean(), m.variance()) {}

  double sum() const { return static_cast<double>(count) * mean; }
  // S_i^2 = sigma_i^2 N/(N-1), the variance under sampling without replacement; 0 for N < 2.
  double sample_variance() const {
    return count < 2 ? 0.0
                     : variance * (static_cast<double>(count) / static_cast<double>(count - 1));
  }
};

struct ErrorTarget {
  double error_bound = 0.05;     // eps, relative error of the total; > 0
  double z = 1.959963984540054;  // TwoSidedZ(confidence)
};

enum class Method { kOptimal, kRoot, kStem };

struct MethodSpec {
  Method method;
  const char* name;
  const char* help;
};
inline constexpr MethodSpec kMethods[] = {
    {Method::kOptimal, "optimal",
     "the least time to sample: cuts and sizes of all kernels together"},
    {Method::kRoot, "root", "STEM+ROOT: split while sampling the parts is cheaper than the whole"},
    {Method::kStem, "stem", "STEM-only: split while a cluster wants more than 50 samples, 30 each"},
};

// StratumRange is an interval of cells and the moments of their durations.
struct StratumRange {
  std::size_t first = 0;  // cells [first, end)
  std::size_t end = 0;
  stats::Moments moments;
  // The sample size from the recursion. For kRoot, the allocation over all kernels replaces it; for
  // kStem, it is final except for the minimum size.
  std::uint64_t sample_size = 1;
  // The second of two samples shows the spread of other metrics (AddSpreadPairs).
  bool is_pair = false;
};

// KernelCells contains the cells of one kernel in ascending order of their means. A cell is
// non-empty: one duration, one sketch bin, or the launches of one context.
using KernelCells = std::vector<stats::Moments>;
using CellsView = std::span<const stats::Moments>;

// Returns the moments of all cells together.
stats::Moments MomentsOf(CellsView cells);

// Returns a view of each kernel's cells, which must outlive it.
inline std::vector<CellsView> ViewsOf(std::span<const KernelCells> kernels) {
  return {kernels.begin(), kernels.end()};
}

// Returns the non-empty bins of `sketch` as cells. If `bins` is not null, appends the bin of each
// cell to it.
KernelCells CellsOf(const stats::LogSketch& sketch, std::vector<std::uint32_t>* bins = nullptr);

// Solves 2-means in one dimension exactly: finds the cut that minimizes the sum of squares within
// the two parts. That is the same as maximizing nL nR / n (mean_L - mean_R)^2. This form needs only
// counts and sums, so it stays precise for long durations that are close together.
//
// Returns the number of cells in the left part, 1 .. cells.size() - 1, or 0 for fewer than two
// cells. Ties go to the leftmost cut. REQUIRES: cells are non-empty and in ascending order of their
// means.
std::size_t BestCut(CellsView cells);

// Returns the strata of `cells` in ascending order; none if there are no cells. Does not support
// kOptimal, which cuts all kernels together (design.h). Splitting costs O(cells) per level.
// REQUIRES: cells are non-empty and in ascending order of their means; method is kRoot or kStem.
std::vector<StratumRange> Stratify(Method method, CellsView cells, const ErrorTarget& target);

// Design is the strata of all kernels with their sample sizes. A solver sets the figures that it
// computes.
struct Design {
  // By kernel, ascending. Empty for a kernel without cells.
  std::vector<std::vector<StratumRange>> kernels;
  double cost = 0.0;  // of all samples: captured time plus FixedPerFactor of each, ns

  // SolveOptimalStrata, whose cost contains SampleOverhead too. StratifyWorkload passes its result
  // on for kOptimal and the total of the workload.
  double multiplier = 0.0;   // price at the end of the search; shortens the next search
  double lower_bound = 0.0;  // no sample within the budget costs less, ns

  // DesignSample. A kernel without samples has one stratum of size 0.
  double bound = 0.0;                // certified, relative, at options.confidence
  std::vector<double> costs;         // `cost` by kernel
  std::uint64_t spread_samples = 0;  // samples that AddSpreadPairs added
};

}  // namespace stemtap::sampling
