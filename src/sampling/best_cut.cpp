// SPDX-License-Identifier: Apache-2.0
#include "sampling/best_cut.h"

namespace stemtap::sampling {

std::size_t BestCut(std::span<const stats::Moments> cells) {
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

}  // namespace stemtap::sampling
