// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/density_cuts.h"

#include <algorithm>
#include <cmath>

#include "sampling/strata.h"
#include "stats/moments.h"

namespace stemtap::research {
namespace {

// Number of points between minimum and maximum at which the density is evaluated. A finer grid
// finds no valley that the recursion does not find; a coarser one merges neighboring modes at
// first.
constexpr std::size_t kGridPoints = 1024;
// Cutoff of the normal kernel; 6e-5 of its mass is beyond 4 bandwidths.
constexpr double kKernelReach = 4.0;
// Changes of the density below this share of its peak count as flat, so rounding creates no
// valleys.
constexpr double kFlat = 1e-9;

struct Range {
  std::size_t first;
  std::size_t end;
};

// Scott's rule. It uses the full standard deviation, not the quartiles: with a bandwidth for the
// bulk, each stray value of a long tail would be a separate mode.
double Bandwidth(const CountedValues& v, Range r) {
  double n = 0.0, sum = 0.0;
  for (std::size_t i = r.first; i < r.end; ++i) {
    n += static_cast<double>(v.counts[i]);
    sum += static_cast<double>(v.counts[i]) * v.values[i];
  }
  double squares = 0.0;
  for (std::size_t i = r.first; i < r.end; ++i) {
    squares += static_cast<double>(v.counts[i]) * std::pow(v.values[i] - sum / n, 2);
  }
  return std::sqrt(squares / n) * std::pow(n, -0.2);
}

// Returns the density on the grid, up to a constant factor: counts are moved to the nearest grid
// point, and the kernel is summed from there.
std::vector<double> DensityOnGrid(const CountedValues& v, Range r, double step, double bandwidth) {
  const double least = v.values[r.first];
  std::vector<double> mass(kGridPoints, 0.0);
  for (std::size_t i = r.first; i < r.end; ++i) {
    const double at = std::round((v.values[i] - least) / step);
    mass[std::min(static_cast<std::size_t>(at), kGridPoints - 1)] +=
        static_cast<double>(v.counts[i]);
  }
  const auto reach = static_cast<std::size_t>(
      std::min(std::ceil(kKernelReach * bandwidth / step), static_cast<double>(kGridPoints - 1)));
  std::vector<double> kernel(reach + 1);
  for (std::size_t k = 0; k <= reach; ++k) {
    kernel[k] = std::exp(-0.5 * std::pow(static_cast<double>(k) * step / bandwidth, 2));
  }
  std::vector<double> density(kGridPoints, 0.0);
  for (std::size_t g = 0; g < kGridPoints; ++g) {
    if (mass[g] == 0.0) continue;
    const std::size_t from = g < reach ? 0 : g - reach;
    const std::size_t to = std::min(g + reach, kGridPoints - 1);
    for (std::size_t x = from; x <= to; ++x) {
      density[x] += mass[g] * kernel[x < g ? g - x : x - g];
    }
  }
  return density;
}

// Returns the indices of the values that follow a valley, without the first of the range. A valley
// is a point or a flat stretch with higher density on both sides. The cut is where the valley
// begins, because a flat stretch contains no values.
std::vector<std::size_t> ValleyCuts(const CountedValues& v, Range r) {
  const double least = v.values[r.first];
  const double step = (v.values[r.end - 1] - least) / static_cast<double>(kGridPoints - 1);
  // With a bandwidth below the grid step, the kernel covers single points and every gap is a
  // valley.
  const double bandwidth = std::max(Bandwidth(v, r), step);
  const std::vector<double> density = DensityOnGrid(v, r, step, bandwidth);

  const double flat = kFlat * *std::max_element(density.begin(), density.end());

  std::vector<std::size_t> cuts;
  std::size_t fell_at = 0;
  bool falling = false;
  for (std::size_t g = 1; g < kGridPoints; ++g) {
    if (density[g] < density[g - 1] - flat) {
      falling = true;
      fell_at = g;
    } else if (falling && density[g] > density[g - 1] + flat) {
      falling = false;
      const double at = least + step * static_cast<double>(fell_at);
      const auto begin = v.values.begin() + static_cast<std::ptrdiff_t>(r.first);
      const auto end = v.values.begin() + static_cast<std::ptrdiff_t>(r.end);
      const auto cut =
          static_cast<std::size_t>(std::upper_bound(begin, end, at) - v.values.begin());
      if (cut > r.first && cut < r.end && (cuts.empty() || cuts.back() != cut)) cuts.push_back(cut);
    }
  }
  return cuts;
}

std::size_t TwoMeansCut(const CountedValues& v, Range r) {
  std::vector<stats::Moments> cells;
  cells.reserve(r.end - r.first);
  for (std::size_t i = r.first; i < r.end; ++i) cells.emplace_back(v.counts[i], v.values[i], 0.0);
  return r.first + sampling::BestCut(cells);
}

}  // namespace

double CoefficientOfVariation(const CountedValues& v, std::size_t first, std::size_t end) {
  double n = 0.0, sum = 0.0;
  for (std::size_t i = first; i < end; ++i) {
    n += static_cast<double>(v.counts[i]);
    sum += static_cast<double>(v.counts[i]) * v.values[i];
  }
  if (sum <= 0.0 || end - first < 2) return 0.0;
  const double mean = sum / n;
  double squares = 0.0;
  for (std::size_t i = first; i < end; ++i) {
    squares += static_cast<double>(v.counts[i]) * (v.values[i] - mean) * (v.values[i] - mean);
  }
  return std::sqrt(squares / n) / mean;
}

std::vector<std::size_t> DensityCuts(const CountedValues& v, double threshold) {
  std::vector<std::size_t> starts;
  // A stack with the leftmost range on top. The loop ends because every division creates parts with
  // fewer values, and a part with one value does not vary.
  std::vector<Range> open = {{0, v.values.size()}};
  while (!open.empty()) {
    const Range r = open.back();
    open.pop_back();
    if (CoefficientOfVariation(v, r.first, r.end) < threshold) {
      starts.push_back(r.first);
      continue;
    }
    std::vector<std::size_t> cuts = ValleyCuts(v, r);
    if (cuts.empty()) cuts.push_back(TwoMeansCut(v, r));
    std::size_t end = r.end;
    for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {
      open.push_back({*cut, end});
      end = *cut;
    }
    open.push_back({r.first, end});
  }
  return starts;
}

}  // namespace stemtap::research
