// SPDX-License-Identifier: Apache-2.0
#include "sampling/cut_table.h"

#include <algorithm>
#include <cmath>

namespace stemtap::sampling {
namespace {

// Returns the increase of the squares within cells when two neighbors are merged.
double JoinLoss(const stats::Moments& a, const stats::Moments& b) {
  const auto n = static_cast<double>(a.count());
  const auto k = static_cast<double>(b.count());
  const double apart = b.mean() - a.mean();
  return apart * apart * (n * k / (n + k));
}

// Merges neighbors, those with the smallest loss first, until at most `max_cells` cells are left.
// Each round merges the better half of the pairs, except pairs that overlap.
void Shorten(std::vector<stats::Moments>& cells, std::vector<std::uint32_t>& starts,
             std::size_t max_cells) {
  std::vector<double> losses;
  while (cells.size() > max_cells) {
    losses.clear();
    for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
      losses.push_back(JoinLoss(cells[i], cells[i + 1]));
    }
    std::size_t left = cells.size() - max_cells;  // merges still needed
    std::vector<double> sorted = losses;
    const auto middle =
        sorted.begin() + static_cast<std::ptrdiff_t>(std::min(sorted.size() / 2, left - 1));
    std::nth_element(sorted.begin(), middle, sorted.end());
    const double threshold = *middle;
    std::size_t to = 0;
    for (std::size_t i = 0; i < cells.size(); ++i, ++to) {
      cells[to] = cells[i];
      starts[to] = starts[i];
      if (left != 0 && i + 1 < cells.size() && losses[i] <= threshold) {
        cells[to].Merge(cells[++i]);
        --left;
      }
    }
    starts[to] = starts[cells.size()];
    cells.resize(to);
    starts.resize(to + 1);
  }
}

// Returns the smallest integer m with m (m + 1) >= x. Below it, another sample pays.
double SizeFor(double x) {
  return std::ceil(std::sqrt(x + 0.25) - 0.5);
}

// PriceRow takes four fifths of the time of a solution. The compiler generates a second version of
// it for processors with AVX2, and the loader chooses; both give identical bits. This requires a C
// library whose loader supports it, and sanitizers do not support it.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STEMTAP_CLONE_FOR_AVX2 __attribute__((target_clones("avx2", "default")))
#else
#define STEMTAP_CLONE_FOR_AVX2
#endif

// The prefix sums of a CutTable.
struct Prefixes {
  const double* count;
  const double* offset;
  const double* square;
  double origin;
};

// Sets row[i] = best[i] + the price of the stratum with cells [i, end). Equivalent to Term,
// BestSize, and VarianceAt, but written so that the compiler can vectorize it. CMakeLists.txt
// therefore sets -fno-math-errno and -fno-trapping-math for sqrt and ceil.
STEMTAP_CLONE_FOR_AVX2 void PriceRow(const Prefixes& cells, double lambda, double floor,
                                     const double* best, std::size_t end, double* row) {
  const double count_end = cells.count[end];
  const double offset_end = cells.offset[end];
  const double square_end = cells.square[end];
  for (std::size_t i = 0; i < end; ++i) {
    const double n = count_end - cells.count[i];
    const double sum = offset_end - cells.offset[i];
    const double inverse = 1.0 / n;
    const double offset = sum * inverse;
    const double m2 = std::max(0.0, square_end - cells.square[i] - sum * offset);
    const double sample = std::max(cells.origin + offset, 1e-300);
    const double priced = lambda * m2 * (n * n / std::max(n - 1.0, 1.0));
    const double wanted = std::ceil(std::sqrt(priced / sample + 0.25) - 0.5);
    const double size = std::min(std::max(wanted, floor), n);
    row[i] = best[i] + size * sample + priced * (1.0 / size - inverse);
  }
}

}  // namespace

double BestSize(const SizingTerm& term, double lambda, double floor) {
  const double wanted = term.variance > 0.0 ? SizeFor(lambda * term.variance / term.cost) : 0.0;
  return std::min(std::max(wanted, floor), term.count);
}

CutTable::CutTable(std::span<const stats::Moments> cells, double overhead) : overhead_(overhead) {
  std::vector<stats::Moments> row(cells.begin(), cells.end());
  starts_.resize(row.size() + 1);
  for (std::size_t i = 0; i < starts_.size(); ++i) starts_[i] = static_cast<std::uint32_t>(i);
  Shorten(row, starts_, kMaxCells);

  origin_ = MomentsOf(row).mean();
  cheapest_ = row.empty() ? 0.0 : row.front().mean() + overhead;
  count_.assign(1, 0.0);
  offset_.assign(1, 0.0);
  square_.assign(1, 0.0);
  for (const stats::Moments& cell : row) {
    const auto n = static_cast<double>(cell.count());
    const double offset = cell.mean() - origin_;
    count_.push_back(count_.back() + n);
    offset_.push_back(offset_.back() + n * offset);
    square_.push_back(square_.back() + n * offset * offset + cell.m2());
  }
}

CutTable CutTable::Slice(std::size_t first, std::size_t end) const {
  const auto part = [&](const auto& from) {
    return std::vector(from.begin() + static_cast<std::ptrdiff_t>(first),
                       from.begin() + static_cast<std::ptrdiff_t>(end) + 1);
  };
  CutTable slice;
  slice.origin_ = origin_;
  slice.overhead_ = overhead_;
  slice.cheapest_ = Term(first, first + 1).cost;
  slice.starts_ = part(starts_);
  slice.count_ = part(count_);
  slice.offset_ = part(offset_);
  slice.square_ = part(square_);
  return slice;
}

SizingTerm CutTable::Term(std::size_t first, std::size_t end) const {
  const double n = count_[end] - count_[first];
  const double sum = offset_[end] - offset_[first];
  const double offset = sum / n;
  const double m2 = std::max(0.0, square_[end] - square_[first] - sum * offset);
  return {n, std::max(origin_ + offset, 0.0) + overhead_, m2 * (n * n / std::max(n - 1.0, 1.0))};
}

void CutTable::Solve(double lambda, double floor, Cut& cut, Scratch& scratch) const {
  const std::size_t cells = size();
  cut.ends.clear();
  cut.sizes.clear();
  cut.cost = 0.0;
  cut.variance = 0.0;
  if (cells == 0) return;

  const auto finish = [&](std::size_t first, std::size_t end) {
    const SizingTerm term = Term(first, end);
    const double size = BestSize(term, lambda, floor);
    cut.ends.push_back(static_cast<std::uint32_t>(end));
    cut.sizes.push_back(size);
    cut.cost += size * term.cost;
    cut.variance += term.VarianceAt(size);
  };

  // A cut adds at least one sample of the shortest duration and saves at most the price of the
  // whole variance. Most kernels of a program are too small for any cut to pay.
  const SizingTerm whole = Term(0, cells);
  const double at_floor = std::min(floor, whole.count);
  const bool floored = BestSize(whole, lambda, floor) <= at_floor;
  if (cells == 1 || (floored && lambda * whole.VarianceAt(at_floor) <= cheapest_)) {
    finish(0, cells);
    return;
  }

  scratch.best.resize(cells + 1);
  scratch.row.resize(cells + 1);
  scratch.from.resize(cells + 1);
  double* best = scratch.best.data();
  double* row = scratch.row.data();
  best[0] = 0.0;
  for (std::size_t end = 1; end <= cells; ++end) {
    PriceRow({count_.data(), offset_.data(), square_.data(), origin_ + overhead_}, lambda, floor,
             best, end, row);
    std::size_t from = 0;
    for (std::size_t i = 1; i < end; ++i) from = row[i] < row[from] ? i : from;
    best[end] = row[from];
    scratch.from[end] = static_cast<std::uint32_t>(from);
  }
  // Collect the ends backward, then compute the sizes forward.
  std::vector<std::uint32_t>& ends = cut.ends;
  for (std::size_t end = cells; end != 0; end = scratch.from[end]) {
    ends.push_back(static_cast<std::uint32_t>(end));
  }
  std::reverse(ends.begin(), ends.end());
  const std::vector<std::uint32_t> found = ends;
  ends.clear();
  std::size_t first = 0;
  for (const std::uint32_t end : found) {
    finish(first, end);
    first = end;
  }
}

}  // namespace stemtap::sampling
