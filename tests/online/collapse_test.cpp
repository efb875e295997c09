// SPDX-License-Identifier: Apache-2.0
#include "online/collapse.h"

#include <doctest/doctest.h>

#include <vector>

namespace stemtap {
namespace {

using Places = std::vector<std::vector<std::size_t>>;

TEST_CASE("a stratum without a capture joins the nearer of its neighbours with one") {
  const KernelCoverage kernel{{{100, 10.0, 5.0}, {5, 11.0, 0.1}, {5, 18.0, 0.1}, {100, 20.0, 5.0}},
                              {2, 0, 0, 2}};
  CHECK(NearestCovered(kernel) == std::vector<std::size_t>{0, 0, 3, 3});
  CHECK(CollapseStrata(std::vector<KernelCoverage>{kernel}, {1.96, 0.0, 1.0}) ==
        Places{{0, 0, 3, 3}});
}

TEST_CASE("a kernel without any capture stays as it is") {
  const KernelCoverage kernel{{{100, 10.0, 5.0}, {5, 11.0, 0.1}}, {0, 0}};
  CHECK(NearestCovered(kernel) == std::vector<std::size_t>{kNoHome, kNoHome});
  CHECK(CollapseStrata(std::vector<KernelCoverage>{kernel}, {1.96, 0.05, 1.25}) == Places{{0, 1}});
}

TEST_CASE("one giant among a million is left uncovered: its time harms less than its variance") {
  const KernelCoverage kernel{{{999'999, 1e3, 1e6}, {1, 1e12, 0.0}}, {3, 0}};
  CHECK(CollapseStrata(std::vector<KernelCoverage>{kernel}, {1.96, 0.05, 1.25}) == Places{{0, 1}});
}

TEST_CASE("what lies between a stratum and its new home comes along") {
  const KernelCoverage kernel{
      {{1000, 10.0, 5.0}, {4, 12.0, 0.1}, {50, 12.5, 0.1}, {1000, 40.0, 5.0}}, {5, 0, 0, 5}};
  CHECK(CollapseStrata(std::vector<KernelCoverage>{kernel}, {1.96, 0.05, 1.25}) ==
        Places{{0, 0, 0, 3}});
}

TEST_CASE("where the bound asked for allows it, all is covered, else what lowers the bound") {
  // 1 % of the time, ten times as long as the rest: alone 1 % of bound, joined
  // 1.96 * 100,100 * sqrt(0.001 * 900^2 / 4) / 1.01e7, which is 27.6 %.
  const KernelCoverage kernel{{{100'000, 100.0, 0.0}, {100, 1000.0, 0.0}}, {4, 0}};
  const std::vector<KernelCoverage> all = {kernel};
  CHECK(CollapseStrata(all, {1.96, 0.30, 1.0}) == Places{{0, 0}});
  CHECK(CollapseStrata(all, {1.96, 0.25, 1.0}) == Places{{0, 1}});
  CHECK(CollapseStrata(all, {1.96, 0.02, 30.0}) == Places{{0, 0}});
}

TEST_CASE("a stratum without time does not stand in the way of cheap joins") {
  // Joining 1,000 launches of 0 ns to as many of 1 ms would cost a bound of half the time, and
  // covers none; the other kernel's stratum is a third of the time and joins for nearly nothing.
  const KernelCoverage zeros{{{1000, 0.0, 0.0}, {1000, 1e6, 0.0}}, {0, 2}};
  const KernelCoverage near{{{1000, 1e6, 1e6}, {1000, 1.001e6, 1e6}}, {2, 0}};
  CHECK(CollapseStrata(std::vector<KernelCoverage>{zeros, near}, {1.96, 0.0, 1.0}) ==
        Places{{0, 1}, {0, 0}});
}

}  // namespace
}  // namespace stemtap
