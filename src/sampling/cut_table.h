// SPDX-License-Identifier: Apache-2.0
//
// CutTable finds the best strata of one kernel for a given price of variance:
//
//   minimise over cuts and sizes   sum m a + lambda sum N^2 S^2 / m (1 - m / N),   floor <= m <= N
//
// where a sample costs its stratum's mean and a small overhead, a = mu + overhead. It does so by a
// dynamic programme over the kernel's cells: best[j] = min over i < j of best[i] + cost(i, j),
// and the size of a stratum in closed form: the smallest whole m with m (m + 1) >= lambda N^2 S^2 /
// a.
//
// The table holds prefix sums of the cells, so the cost of any stratum takes constant time, and a
// solution O(cells^2). Rows of more than kMostCells cells are made shorter first, by joining
// neighbours that differ least.
//
// THREADS: Solve is const; each thread brings its own scratch.
// SOURCE: docs/math/optimal.md (Dalenius 1950; the programme after Khan et al. 2008).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stats/moments.h"

namespace stemtap {

// What Problem 1 knows of a stratum.
struct StratumTerm {
  double count = 0.0;     // N
  double cost = 0.0;      // of one sample: mu and the overhead
  double variance = 0.0;  // N^2 S^2, with S^2 = sigma^2 N / (N - 1)

  // Variance of the estimate of the stratum's sum with `size` sampled; 0 when all are.
  double VarianceAt(double size) const { return variance * (1.0 / size - 1.0 / count); }
};

// The size that minimises m a + lambda VarianceAt(m) among whole m in [min(floor, N), N].
double BestSize(const StratumTerm& term, double lambda, double floor);

// A kernel's strata: stratum k is cells [ends[k - 1], ends[k]), with the whole size sizes[k].
struct Cut {
  std::vector<std::uint32_t> ends;
  std::vector<double> sizes;
  double cost = 0.0;      // sum m a
  double variance = 0.0;  // sum VarianceAt(m)
};

class CutTable {
 public:
  // A dynamic programme over 256 cells takes 0.1 ms; of the widest sketch (3,776 bins) it would
  // take 20 ms at each price. Joined cells are those that differ least.
  static constexpr std::size_t kMostCells = 256;

  struct Scratch {
    std::vector<double> best;
    std::vector<double> row;
    std::vector<std::uint32_t> from;
  };

  CutTable() = default;
  // `overhead`: what a sample costs besides its duration, ns. Without any, one giant among many
  // would rather be sampled with near certainty, and all others with it, than taken for what it is:
  // nearly all samples, for a saving of a thousandth. REQUIRES: cells are non-empty and their means
  // ascend.
  explicit CutTable(std::span<const Moments> cells, double overhead = 0.0);

  // The cells [first, end) as a table of their own.
  CutTable Slice(std::size_t first, std::size_t end) const;

  // Cells of the table, at most kMostCells; 0 for a kernel without any.
  std::size_t size() const { return count_.empty() ? 0 : count_.size() - 1; }
  // Where the table's cell i begins among the cells it was made from; Start(size()) is their
  // number.
  std::uint32_t Start(std::size_t i) const { return starts_[i]; }

  StratumTerm Term(std::size_t first, std::size_t end) const;

  // The best strata at the price lambda. One stratum, without a search, where no cut can pay.
  void Solve(double lambda, double floor, Cut& cut, Scratch& scratch) const;

 private:
  double origin_ = 0.0;  // mean of the kernel: sums below are of distances from it, for precision
  double overhead_ = 0.0;
  double cheapest_ = 0.0;  // cost of a sample of the first cell
  std::vector<std::uint32_t> starts_;
  // Prefix sums over cells: element i is over cells [0, i).
  std::vector<double> count_;
  std::vector<double> offset_;
  std::vector<double> square_;
};

}  // namespace stemtap
