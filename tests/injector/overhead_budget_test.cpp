// SPDX-License-Identifier: Apache-2.0
#include "recording/overhead_budget.h"

#include <doctest/doctest.h>

#include <vector>

namespace stemtap::inject {
namespace {

constexpr std::uint64_t kSecond = OverheadBudget::kWindowNs;

// Runs ten windows. In each, recording costs `cost_ns` and the program uses `processor_ns`. Returns
// the window after which the budget is exceeded, or 0.
int Windows(std::uint32_t milli_percent, std::uint64_t cost_ns, std::uint64_t processor_ns) {
  OverheadBudget budget;
  budget.Init(milli_percent, 7 * kSecond, 3, 5);
  for (int i = 1; i <= 10; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    if (budget.Exceeded((7 + n) * kSecond, 3 + n * cost_ns, 5 + n * processor_ns)) return i;
  }
  return 0;
}

TEST_CASE("the budget is exceeded after three windows above the limit") {
  CHECK(Windows(1000, kSecond / 100 + 100'000, 0) == 3);
  CHECK(Windows(1000, kSecond / 100, 0) == 0);
  CHECK(Windows(1, kSecond / 50'000, 0) == 3);
  CHECK(Windows(100'000, 2 * kSecond, 0) == 3);
}

TEST_CASE("no overhead exceeds an unlimited budget") {
  OverheadBudget budget;
  CHECK_FALSE(budget.any());
  CHECK(Windows(0, 50 * kSecond, 0) == 0);
}

TEST_CASE("the budget is relative to the CPU time of busy threads") {
  CHECK(Windows(1000, kSecond / 50, 0) == 3);
  CHECK(Windows(1000, kSecond / 50, 64 * kSecond) == 0);
}

TEST_CASE("a burst does not exceed the budget, and one quiet window resets the count") {
  OverheadBudget budget;
  budget.Init(1000, 0, 0, 0);
  std::uint64_t cost = 0;
  std::uint64_t now = 0;
  int exceeded = 0;
  for (const std::uint64_t percent : std::vector<std::uint64_t>{50, 50, 0, 50, 50, 1, 2, 2, 2}) {
    now += kSecond;
    cost += percent * kSecond / 100;
    ++exceeded;
    if (budget.Exceeded(now, cost, 0)) break;
    REQUIRE(exceeded < 9);
  }
  CHECK(exceeded == 9);
  CHECK(budget.share() == 2000);
}

TEST_CASE("checks within a window wait for the window's end") {
  OverheadBudget budget;
  budget.Init(1000, 0, 0, 0);
  for (std::uint64_t tenth = 1; tenth < 30; ++tenth) {
    CHECK_FALSE(budget.Exceeded(tenth * kSecond / 10, tenth * kSecond / 10, 0));
  }
  CHECK(budget.Exceeded(3 * kSecond, 3 * kSecond, 0));
}

}  // namespace
}  // namespace stemtap::inject
