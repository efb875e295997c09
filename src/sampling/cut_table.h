// SPDX-License-Identifier: Apache-2.0
//
// CutTable finds the best strata of one kernel for a given price of variance:
//
//   minimize over cuts and sizes   sum m a + lambda sum N^2 S^2 / m (1 - m / N),   floor <= m <= N
//
// A sample costs the mean of its stratum plus a small overhead, a = mu + overhead. CutTable solves
// a dynamic program over the kernel's cells: best[j] = min over i < j of best[i] + cost(i, j). The
// size of a stratum has a closed form: the smallest integer m with m (m + 1) >= lambda N^2 S^2 / a.
//
// The table contains prefix sums of the cells, so the cost of any stratum takes constant time and a
// solution takes O(cells^2). If there are more than kMaxCells cells, the most similar neighbors
// are merged first.
//
// THREADS: Solve is const; each thread passes its own scratch.
// SOURCE: docs/math/optimal.md (Dalenius 1950; the program after Khan et al. 2008).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/sizes.h"
#include "stats/moments.h"

namespace stemtap::sampling {

// Returns the integer m in [min(floor, N), N] that minimizes m a + lambda VarianceAt(m).
double BestSize(const SizingTerm& term, double lambda, double floor);

// Cut is the strata of one kernel: stratum k is cells [ends[k - 1], ends[k]) with the integer size
// sizes[k].
struct Cut {
  std::vector<std::uint32_t> ends;
  std::vector<double> sizes;
  double cost = 0.0;      // sum m a
  double variance = 0.0;  // sum VarianceAt(m)
};

class CutTable {
 public:
  // Maximum number of cells. The dynamic program takes 0.1 ms for 256 cells and would take 20 ms
  // per price for the widest sketch (3,776 bins).
  static constexpr std::size_t kMaxCells = 256;

  struct Scratch {
    std::vector<double> best;
    std::vector<double> row;
    std::vector<std::uint32_t> from;
  };

  CutTable() = default;
  // `overhead` is the cost of a sample in addition to its duration, ns. Without it, a stratum that
  // contains one very long launch would be sampled almost completely instead of being split at that
  // launch: nearly all launches sampled, to save a thousandth of the time. REQUIRES: cells are
  // non-empty and in ascending order of their means.
  explicit CutTable(std::span<const stats::Moments> cells, double overhead = 0.0);

  // Returns a table of the cells [first, end).
  CutTable Slice(std::size_t first, std::size_t end) const;

  // Number of cells of the table, at most kMaxCells; 0 for a kernel without cells.
  std::size_t size() const { return count_.empty() ? 0 : count_.size() - 1; }
  // Returns the index of the first input cell that table cell i contains. Start(size()) is the
  // number of input cells.
  std::uint32_t Start(std::size_t i) const { return starts_[i]; }

  SizingTerm Term(std::size_t first, std::size_t end) const;

  // Computes the best strata at the price lambda. Skips the search and returns one stratum if no
  // cut can pay.
  void Solve(double lambda, double floor, Cut& cut, Scratch& scratch) const;

 private:
  double origin_ = 0.0;  // mean of the kernel; the sums below are relative to it, for precision
  double overhead_ = 0.0;
  double cheapest_ = 0.0;  // cost of a sample of the first cell
  std::vector<std::uint32_t> starts_;
  // Prefix sums over cells: element i is the sum over cells [0, i).
  std::vector<double> count_;
  std::vector<double> offset_;
  std::vector<double> square_;
};

}  // namespace stemtap::sampling
