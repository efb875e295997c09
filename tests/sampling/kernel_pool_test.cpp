// SPDX-License-Identifier: Apache-2.0
#include "sampling/kernel_pool.h"

#include <doctest/doctest.h>

#include <vector>

namespace stemtap::sampling {
namespace {

using Kernels = std::vector<std::size_t>;

TEST_CASE("kernels are taken in descending order of their keys as long as they fit") {
  const std::vector<double> times_ns = {50, 10, 0, 30, 5};
  const std::vector<double> keys = {5, 4, 3, 2, 1};
  CHECK(KernelsWithin(times_ns, keys, 100) == Kernels{0, 1, 3, 4});
  CHECK(KernelsWithin(times_ns, keys, 45) == Kernels{1, 3, 4});
  CHECK(KernelsWithin(times_ns, keys, 40) == Kernels{1, 3});
  CHECK(KernelsWithin(times_ns, keys, 4) == Kernels{});
}

TEST_CASE("the smallest and the most expensive kernels may be a pool") {
  // The last kernel is launched once, so its sample costs its whole time.
  const std::vector<double> times_ns = {800, 60, 40, 90};
  const std::vector<double> costs = {8, 6, 1, 90};
  const std::vector<Kernels> candidates = PoolCandidates(times_ns, costs, 0.15);
  REQUIRE(candidates.size() == 2);
  CHECK(candidates[0] == Kernels{1, 2});
  CHECK(candidates[1] == Kernels{2, 3});
  CHECK(PoolCandidates(times_ns, costs, 0.2) == std::vector<Kernels>{{1, 2, 3}});
}

TEST_CASE("a pool has at least two kernels") {
  CHECK(PoolCandidates(std::vector<double>{80, 20}, std::vector<double>{1, 1}, 0.3).empty());
  CHECK(PoolCandidates(std::vector<double>{0, 0}, std::vector<double>{0, 0}, 1.0).empty());
  CHECK(PoolCandidates({}, {}, 1.0).empty());
}

}  // namespace
}  // namespace stemtap::sampling
