// SPDX-License-Identifier: Apache-2.0
#include "sampling/strata.h"

#include <algorithm>
#include <array>

#include "sampling/sizes.h"

namespace stemtap::sampling {
namespace {

// A STEM-only cluster is split if it needs more samples than this. This is Allegro's rule: above
// 50, two clusters with the minimum of 30 samples can be cheaper.
constexpr std::uint64_t kStemSplitAbove = 50;

// Returns the size from Eq. 3 for a single cluster.
std::uint64_t OwnSize(Method method, const stats::Moments& m, const ErrorTarget& target) {
  const std::uint64_t floor = method == Method::kStem ? kFloorClt : kFloorGaussian;
  return std::min(SampleSize(m.mean(), m.stddev(), target.error_bound, target.z, floor), m.count());
}

// Sets the sizes of both halves. Returns whether to keep the split.
bool SplitPays(Method method, const StratumRange& whole, StratumRange& left, StratumRange& right,
               const ErrorTarget& target) {
  if (method == Method::kStem) {
    left.sample_size = OwnSize(method, left.moments, target);
    right.sample_size = OwnSize(method, right.moments, target);
    return whole.sample_size > kStemSplitAbove;
  }
  const std::array<Stratum, 2> halves = {Stratum(left.moments), Stratum(right.moments)};
  const auto sizes = Allocate(halves, target, Population::kInfinite);
  left.sample_size = sizes[0];
  right.sample_size = sizes[1];
  const double tau_old = static_cast<double>(whole.sample_size) * whole.moments.mean();
  const double tau_new = static_cast<double>(sizes[0]) * left.moments.mean() +
                         static_cast<double>(sizes[1]) * right.moments.mean();
  // If every launch must be sampled, both times are equal; rounding must not decide.
  constexpr double kRounding = 1e-9;  // far above rounding errors, far below a sample's share
  return tau_new <= tau_old * (1.0 + kRounding);
}

}  // namespace

stats::Moments MomentsOf(CellsView cells) {
  stats::Moments all;
  for (const stats::Moments& cell : cells) all.Merge(cell);
  return all;
}

KernelCells CellsOf(const stats::LogSketch& sketch, std::vector<std::uint32_t>* bins) {
  KernelCells cells;
  for (std::size_t i = 0; i < sketch.bins().size(); ++i) {
    if (sketch.bins()[i].count == 0) continue;
    const std::uint32_t bin = sketch.first_bin() + static_cast<std::uint32_t>(i);
    cells.push_back(sketch.BinMoments(bin));
    if (bins != nullptr) bins->push_back(bin);
  }
  return cells;
}

std::size_t BestCut(CellsView cells) {
  if (cells.size() < 2) return 0;
  // Sums are relative to the middle cell, so that a large common offset of the durations does not
  // cost the digits in which they differ.
  const double origin = cells[cells.size() / 2].mean();
  double count = 0.0;
  double sum = 0.0;
  for (const stats::Moments& cell : cells) {
    const auto n = static_cast<double>(cell.count());
    count += n;
    sum += n * (cell.mean() - origin);
  }
  std::size_t best = 1;
  double best_between = -1.0;
  double count_left = 0.0;
  double sum_left = 0.0;
  for (std::size_t cut = 1; cut < cells.size(); ++cut) {
    const stats::Moments& cell = cells[cut - 1];
    const auto n = static_cast<double>(cell.count());
    count_left += n;
    sum_left += n * (cell.mean() - origin);
    const double count_right = count - count_left;
    const double apart = sum_left / count_left - (sum - sum_left) / count_right;
    const double between = count_left * count_right * apart * apart;
    if (between > best_between) {
      best_between = between;
      best = cut;
    }
  }
  return best;
}

std::vector<StratumRange> Stratify(Method method, CellsView cells, const ErrorTarget& target) {
  std::vector<StratumRange> leaves;
  if (cells.empty()) return leaves;
  const stats::Moments all = MomentsOf(cells);
  // Depth first with the left part on top, so that leaves are produced in ascending order.
  std::vector<StratumRange> open = {{0, cells.size(), all, OwnSize(method, all, target)}};
  while (!open.empty()) {
    const StratumRange whole = open.back();
    open.pop_back();
    const CellsView row = cells.subspan(whole.first, whole.end - whole.first);
    const std::size_t cut = whole.moments.m2() > 0.0 ? BestCut(row) : 0;
    if (cut != 0) {
      StratumRange left{whole.first, whole.first + cut, MomentsOf(row.first(cut)), 1};
      StratumRange right{whole.first + cut, whole.end, MomentsOf(row.subspan(cut)), 1};
      if (SplitPays(method, whole, left, right, target)) {
        open.push_back(right);
        open.push_back(left);
        continue;
      }
    }
    leaves.push_back(whole);
  }
  return leaves;
}

}  // namespace stemtap::sampling
