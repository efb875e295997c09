// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "base/rng.h"
#include "sampling/certificate.h"
#include "sampling/cut_table.h"
#include "sampling/design.h"
#include "sampling/optimal_strata.h"
#include "stats/normal.h"

namespace stemtap::sampling {
namespace {

using Rows = std::vector<std::vector<stats::Moments>>;

struct Figures {
  double cost = 0.0;
  double bound = 0.0;  // relative
  std::size_t strata = 0;
};

Figures FiguresOf(const Design& solved, const ErrorTarget& target) {
  Figures figures;
  std::vector<Stratum> strata;
  std::vector<std::uint64_t> sizes;
  for (const auto& kernel : solved.kernels) {
    for (const StratumRange& s : kernel) {
      strata.emplace_back(s.moments);
      sizes.push_back(s.sample_size);
      figures.cost += static_cast<double>(s.sample_size) * s.moments.mean();
      ++figures.strata;
    }
  }
  figures.bound = ErrorBound(strata, sizes, target.z);
  return figures;
}

// Finds the true optimum of one kernel by enumerating all cuts and sizes.
double BruteForce(const std::vector<stats::Moments>& cells, const ErrorTarget& target,
                  std::uint64_t floor) {
  double total = 0.0;
  for (const stats::Moments& cell : cells) total += cell.sum();
  const double budget = std::pow(target.error_bound * total / target.z, 2);
  double best = INFINITY;
  for (std::uint32_t mask = 0; mask < (1u << (cells.size() - 1)); ++mask) {
    std::vector<Stratum> strata;
    stats::Moments open;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      open.Merge(cells[i]);
      if (i + 1 == cells.size() || (mask >> i & 1) != 0) {
        strata.emplace_back(open);
        open = stats::Moments();
      }
    }
    const std::function<void(std::size_t, double, double)> sizes = [&](std::size_t i, double cost,
                                                                       double variance) {
      if (variance > budget * (1 + 1e-9) || cost >= best) return;
      if (i == strata.size()) {
        best = cost;
        return;
      }
      for (std::uint64_t m = std::min(floor, strata[i].count); m <= strata[i].count; ++m) {
        sizes(i + 1, cost + static_cast<double>(m) * strata[i].mean,
              variance + EstimateVariance(strata[i], m));
      }
    };
    sizes(0, 0.0, 0.0);
  }
  return best;
}

TEST_CASE("optimal strata are close to the enumerated optimum on small kernels") {
  Rng rng(7);
  double sum = 0.0;
  int cases = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<stats::Moments> cells;
    double value = 50.0;
    const std::uint64_t distinct = 2 + rng.Below(4);
    for (std::uint64_t i = 0; i < distinct; ++i) {
      value += 1.0 + static_cast<double>(rng.Below(120));
      cells.emplace_back(1 + rng.Below(4), value, 0.0);
    }
    for (const std::uint64_t floor : {std::uint64_t{1}, std::uint64_t{2}}) {
      const ErrorTarget target{0.02 + 0.2 * rng.Uniform(), stats::TwoSidedZ(0.95)};
      CAPTURE(round);
      CAPTURE(floor);
      const double best = BruteForce(cells, target, floor);
      const Rows rows = {cells};
      const Design solved =
          SolveOptimalStrata(ViewsOf(rows), target, floor, 0.0, Effort::kThorough, Serially);
      const Figures got = FiguresOf(solved, target);
      CHECK(got.bound <= target.error_bound * (1 + 1e-9));
      CHECK(got.cost <= 1.25 * best);
      CHECK(got.cost >= best * (1 - 1e-9));
      CHECK(solved.lower_bound <= best * 1.01);  // the lower bound includes an overhead per sample

      sum += got.cost / best;
      ++cases;
    }
  }
  CHECK(sum / cases <= 1.02);
}

// Returns kernels with two modes and a tail each. Only some are hot.
Rows ManyKernels(std::size_t kernels, std::uint64_t seed) {
  Rng rng(seed);
  Rows rows;
  for (std::size_t k = 0; k < kernels; ++k) {
    std::vector<stats::Moments> cells;
    const double base = 1000.0 * std::exp(6.0 * rng.Uniform());
    const double heat = std::exp(10.0 * rng.Uniform());
    for (int i = 0; i < 60; ++i) {
      const double low = base * std::exp2(i / 64.0);
      const double shape = std::exp(-0.05 * (i - 10) * (i - 10)) +
                           0.3 * std::exp(-0.02 * (i - 40) * (i - 40)) + 0.001;
      const auto n = static_cast<std::uint64_t>(1.0 + heat * shape * (0.5 + rng.Uniform()));
      cells.emplace_back(n, low * (1.0 + 0.01 * rng.Uniform()), 0.0);
    }
    rows.push_back(std::move(cells));
  }
  return rows;
}

TEST_CASE("for any floor, optimal strata meet the bound near the lower bound of the cost") {
  const Rows rows = ManyKernels(200, 3);
  for (const double error_bound : {0.05, 0.01, 0.002}) {
    for (const std::uint64_t floor : {1u, 2u, 5u}) {
      CAPTURE(error_bound);
      CAPTURE(floor);
      const ErrorTarget target{error_bound, stats::TwoSidedZ(0.95)};
      const Design solved =
          SolveOptimalStrata(ViewsOf(rows), target, floor, 0.0, Effort::kThorough, Serially);
      const Figures got = FiguresOf(solved, target);
      CHECK(got.bound <= error_bound * (1 + 1e-9));
      CHECK(solved.cost >= solved.lower_bound * (1 - 1e-9));
      CHECK(solved.cost <= 1.01 * solved.lower_bound);
      CHECK(solved.cost >= got.cost);
      for (const auto& kernel : solved.kernels) {
        std::size_t next = 0;
        for (const StratumRange& s : kernel) {
          CHECK(s.first == next);
          next = s.end;
          CHECK(s.sample_size >= std::min<std::uint64_t>(floor, s.moments.count()));
          CHECK(s.sample_size <= s.moments.count());
        }
        CHECK(next == rows.front().size());
      }
    }
  }
}

TEST_CASE(
    "optimal strata do not depend on the order of parts, and on a warm start only within the gap") {
  const Rows rows = ManyKernels(150, 5);
  const ErrorTarget target{0.01, stats::TwoSidedZ(0.95)};
  const ParallelFor backwards = [](std::size_t count, const auto& part) {
    for (std::size_t i = count; i-- > 0;) part(i);
  };
  const Design one = SolveOptimalStrata(ViewsOf(rows), target, 2, 0.0, Effort::kThorough, Serially);
  const Design other =
      SolveOptimalStrata(ViewsOf(rows), target, 2, 0.0, Effort::kThorough, backwards);
  CHECK(one.multiplier == other.multiplier);
  CHECK(FiguresOf(one, target).cost == FiguresOf(other, target).cost);
  const double cold = FiguresOf(one, target).cost;
  for (const double factor : {0.2, 0.9, 1.1, 5.0}) {
    CAPTURE(factor);
    const Design warm = SolveOptimalStrata(ViewsOf(rows), target, 2, one.multiplier * factor,
                                           Effort::kThorough, Serially);
    CHECK(FiguresOf(warm, target).bound <= target.error_bound * (1 + 1e-9));
    CHECK(std::fabs(FiguresOf(warm, target).cost / cold - 1.0) < 0.01);
  }
}

TEST_CASE("optimal strata of degenerate rows are valid") {
  const ErrorTarget target{0.05, stats::TwoSidedZ(0.95)};
  const auto solve = [&](const Rows& rows, std::uint64_t floor = 1) {
    return SolveOptimalStrata(ViewsOf(rows), target, floor, 0.0, Effort::kThorough, Serially);
  };
  CHECK(solve({}).kernels.empty());
  CHECK(solve({{}}).kernels.front().empty());
  // With only zero durations, there is no time, no variance and one sample.
  const Design zeros = solve({{stats::Moments(1000, 0.0, 0.0)}});
  REQUIRE(zeros.kernels.front().size() == 1);
  CHECK(zeros.kernels.front().front().sample_size == 1);
  // Zeros are combined with a kernel that has spread.
  const Design mixed = solve({{stats::Moments(1000, 0.0, 0.0), stats::Moments(1000, 500.0, 0.0)},
                              {},
                              {stats::Moments(5, 10.0, 0.0)}});
  CHECK(FiguresOf(mixed, target).bound <= 0.05);
  // One giant among a million launches gets its own stratum.
  const Design giant =
      solve({{stats::Moments(1'000'000, 1e3, 1e8), stats::Moments(1, 1e12, 0.0)}}, 2);
  REQUIRE(giant.kernels.front().size() == 2);
  CHECK(giant.kernels.front()[1].sample_size == 1);
  CHECK(FiguresOf(giant, target).bound <= 0.05);
}

TEST_CASE("a row longer than the cut table is joined to the table size and meets the bound") {
  std::vector<stats::Moments> cells;
  for (int i = 0; i < 3000; ++i) cells.emplace_back(10 + i % 7, 1000.0 + 3.0 * i, 20.0);
  const CutTable table(cells);
  CHECK(table.size() == CutTable::kMaxCells);
  CHECK(table.Start(0) == 0);
  CHECK(table.Start(table.size()) == cells.size());
  const Rows rows = {cells};
  const ErrorTarget target{0.01, stats::TwoSidedZ(0.95)};
  const Design solved =
      SolveOptimalStrata(ViewsOf(rows), target, 1, 0.0, Effort::kThorough, Serially);
  CHECK(solved.kernels.front().back().end == cells.size());
  CHECK(FiguresOf(solved, target).bound <= 0.01 * (1 + 1e-9));
}

}  // namespace
}  // namespace stemtap::sampling
