// SPDX-License-Identifier: Apache-2.0
#include "sampling/stratify.h"

#include <algorithm>
#include <array>

#include "sampling/best_cut.h"
#include "sampling/sample_size.h"

namespace stemtap::sampling {
namespace {

// A STEM-only cluster is split if it needs more samples than this. This is Allegro's rule: above
// 50, two clusters with the minimum of 30 samples can be cheaper.
constexpr std::uint64_t kStemSplitAbove = 50;

stats::Moments Sum(std::span<const stats::Moments> cells) {
  stats::Moments all;
  for (const stats::Moments& cell : cells) all.Merge(cell);
  return all;
}

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

std::vector<StratumRange> Stratify(Method method, std::span<const stats::Moments> cells,
                                   const ErrorTarget& target) {
  std::vector<StratumRange> leaves;
  if (cells.empty()) return leaves;
  const stats::Moments all = Sum(cells);
  // Depth first with the left part on top, so that leaves are produced in ascending order.
  std::vector<StratumRange> open = {{0, cells.size(), all, OwnSize(method, all, target)}};
  while (!open.empty()) {
    const StratumRange whole = open.back();
    open.pop_back();
    const std::span<const stats::Moments> row = cells.subspan(whole.first, whole.end - whole.first);
    const std::size_t cut = whole.moments.m2() > 0.0 ? BestCut(row) : 0;
    if (cut != 0) {
      StratumRange left{whole.first, whole.first + cut, Sum(row.first(cut)), 1};
      StratumRange right{whole.first + cut, whole.end, Sum(row.subspan(cut)), 1};
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
