// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/principal_components.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/rng.h"

namespace stemtap::research {
namespace {

DistinctRows Rows(std::size_t columns, std::vector<double> values,
                  std::vector<std::uint64_t> counts) {
  DistinctRows rows;
  rows.columns = columns;
  rows.values = std::move(values);
  rows.counts = std::move(counts);
  rows.first.resize(rows.counts.size());
  return rows;
}

TEST_CASE(
    "different rows are distinguished and equal rows are counted, in order of first occurrence") {
  const std::vector<double> a = {1, 2, 1, 9, 2, 1};
  const std::vector<double> b = {0, 5, -0.0, 9, 5, 7};
  const std::vector<std::span<const double>> columns = {a, b};
  const std::vector<std::uint64_t> invocations = {0, 1, 2, 4, 5};  // without 3
  const DistinctRows rows = FindDistinctRows(invocations, columns);
  CHECK(rows.values == std::vector<double>{1, 0, 2, 5, 1, 7});
  CHECK(rows.counts == std::vector<std::uint64_t>{2, 2, 1});
  CHECK(rows.first == std::vector<std::uint64_t>{0, 1, 5});
  CHECK(rows.row_of == std::vector<std::uint32_t>{0, 1, 0, 1, 2});
  CHECK(FindDistinctRows({}, columns).size() == 0);
}

TEST_CASE("two correlated columns give one component, and a constant column gives none") {
  // The rows are (1, 2, 5) three times and (3, 6, 5) once. The first column has mean 1.5 and sd
  // sqrt(0.75), so the standardized values are -1/sqrt(3) and sqrt(3), and the component is sqrt(2)
  // times as long.
  const Scores scores = PrincipalComponents(Rows(3, {1, 2, 5, 3, 6, 5}, {3, 1}), 0.9995);
  REQUIRE(scores.columns == 1);
  CHECK(std::abs(scores.values[0]) == doctest::Approx(std::sqrt(2.0 / 3.0)).epsilon(1e-12));
  CHECK(std::abs(scores.values[1]) == doctest::Approx(std::sqrt(6.0)).epsilon(1e-12));
  CHECK(scores.values[0] * scores.values[1] < 0.0);
}

TEST_CASE("components of five weighted rows match the golden values") {
  // The values were computed independently by Jacobi rotations in Python. The variances are 2.6369,
  // 0.3424 and 0.0207; the cumulative shares are 0.87897, 0.99310 and 1. The sign of a component is
  // arbitrary.
  const DistinctRows rows =
      Rows(3, {1, 10, 3, 2, 8, 3.5, 3, 9, 1, 4, 4, 2, 5, 1, 7}, {1, 2, 1, 1, 3});
  const double first[] = {2.0072975697501203, 1.1684359641377362, 1.5478833482160916,
                          0.0907630097413008, 1.9942719519943284};
  const double second[] = {0.6897409840203976, 0.3900020760570576, 0.8310732385108247,
                           1.0950326355710183, 0.15212024598244345};
  CHECK(PrincipalComponents(rows, 0.878).columns == 1);
  CHECK(PrincipalComponents(rows, 0.880).columns == 2);
  CHECK(PrincipalComponents(rows, 0.9930).columns == 2);
  CHECK(PrincipalComponents(rows, 0.9932).columns == 3);
  const Scores scores = PrincipalComponents(rows, 0.99);
  REQUIRE(scores.columns == 2);
  for (std::size_t r = 0; r < 5; ++r) {
    CHECK(std::abs(scores.values[2 * r]) == doctest::Approx(first[r]).epsilon(1e-9));
    CHECK(std::abs(scores.values[2 * r + 1]) == doctest::Approx(second[r]).epsilon(1e-9));
  }
}

TEST_CASE("a repeated row has the weight of its copies") {
  Rng rng(3);
  std::vector<double> once;
  std::vector<double> apart;
  for (int r = 0; r < 20; ++r) {
    double row[4];
    for (double& v : row) v = rng.Uniform() * 100.0;
    once.insert(once.end(), row, row + 4);
    for (int copy = 0; copy < 1 + r % 3; ++copy) apart.insert(apart.end(), row, row + 4);
  }
  std::vector<std::uint64_t> counts;
  for (std::uint64_t r = 0; r < 20; ++r) counts.push_back(1 + r % 3);
  const Scores weighted = PrincipalComponents(Rows(4, once, counts), 1.0);
  const Scores copied =
      PrincipalComponents(Rows(4, apart, std::vector<std::uint64_t>(apart.size() / 4, 1)), 1.0);
  REQUIRE(weighted.columns == 4);
  REQUIRE(copied.columns == 4);
  std::size_t at = 0;
  for (std::size_t r = 0; r < 20; ++r) {
    for (std::size_t c = 0; c < 4; ++c) {
      CHECK(std::abs(weighted.values[4 * r + c]) ==
            doctest::Approx(std::abs(copied.values[4 * at + c])).epsilon(1e-9));
    }
    at += counts[r];
  }
}

TEST_CASE("without variance, there is no component") {
  CHECK(PrincipalComponents(Rows(2, {}, {}), 0.9995).columns == 0);
  CHECK(PrincipalComponents(Rows(2, {7, 7}, {1}), 0.9995).columns == 0);
  // 0.1 + 0.2 and 0.3 differ only by rounding.
  CHECK(PrincipalComponents(Rows(1, {0.1 + 0.2, 0.3}, {1, 1}), 0.9995).columns == 0);
}

}  // namespace
}  // namespace stemtap::research
