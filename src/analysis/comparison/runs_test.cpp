// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/runs_test.h"

#include <algorithm>

namespace stemtap::analysis {
namespace {

// Returns the number of ways to choose k of n values; 0 if k exceeds n.
double Choose(std::size_t n, std::size_t k) {
  if (k > n) return 0.0;
  double ways = 1.0;
  for (std::size_t i = 1; i <= std::min(k, n - k); ++i) {
    ways *= static_cast<double>(n - std::min(k, n - k) + i) / static_cast<double>(i);
  }
  return ways;
}

// Returns the number of orders with exactly `runs` runs: `above` and `below` are cut into half of
// the runs each, and one side has a run more if their number is odd.
double OrdersOf(std::size_t above, std::size_t below, std::size_t runs) {
  const std::size_t fewer = runs / 2 - 1;      // cuts of the side with fewer runs
  const std::size_t more = (runs + 1) / 2 - 1;  // cuts of the other side
  return Choose(above - 1, fewer) * Choose(below - 1, more) +
         Choose(above - 1, more) * Choose(below - 1, fewer);
}

}  // namespace

double FewRunsP(std::size_t above, std::size_t below, std::size_t runs) {
  if (above == 0 || below == 0) return 1.0;
  double orders = 0.0;
  for (std::size_t count = 2; count <= runs; ++count) orders += OrdersOf(above, below, count);
  return std::min(1.0, orders / Choose(above + below, above));
}

double FewRunsP(std::span<const double> values, double level) {
  std::size_t above = 0;
  std::size_t runs = values.empty() ? 0 : 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    above += values[i] > level ? 1 : 0;
    if (i != 0) runs += (values[i] > level) != (values[i - 1] > level) ? 1 : 0;
  }
  return FewRunsP(above, values.size() - above, runs);
}

}  // namespace stemtap::analysis
