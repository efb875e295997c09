// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/launch_ids.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace stemtap::formats {
namespace {

using Numbers = std::vector<std::uint64_t>;
using Positions = std::vector<std::size_t>;

// The length of a longest subsequence that never decreases, in n^2 steps.
std::size_t LongestRise(const Numbers& numbers) {
  std::vector<std::size_t> lengths;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::size_t length = 1;
    for (std::size_t k = 0; k < i; ++k) {
      if (numbers[k] <= numbers[i]) length = std::max(length, lengths[k] + 1);
    }
    lengths.push_back(length);
    longest = std::max(longest, length);
  }
  return longest;
}

TEST_CASE("numbers that never decrease have nothing outside") {
  CHECK(OutsideLongestRise(Numbers{}).empty());
  CHECK(OutsideLongestRise(Numbers{5}).empty());
  CHECK(OutsideLongestRise(Numbers{1, 1, 2, 2, 2, 9}).empty());
}

TEST_CASE("one wrong number is outside, wherever it is") {
  CHECK(OutsideLongestRise(Numbers{9, 1, 2, 3}) == Positions{0});
  CHECK(OutsideLongestRise(Numbers{1, 2, 9, 3, 4}) == Positions{2});
  CHECK(OutsideLongestRise(Numbers{1, 2, 3, 0}) == Positions{3});
}

TEST_CASE("the numbers inside never decrease, and no longer sequence exists") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Numbers numbers(random() % 60);
    for (std::uint64_t& number : numbers) number = random() % 40;
    const Positions outside = OutsideLongestRise(numbers);
    Numbers inside;
    for (std::size_t i = 0, next = 0; i < numbers.size(); ++i) {
      if (next < outside.size() && outside[next] == i) {
        ++next;
      } else {
        inside.push_back(numbers[i]);
      }
    }
    CHECK(inside.size() + outside.size() == numbers.size());
    CHECK(std::is_sorted(inside.begin(), inside.end()));
    CHECK(inside.size() == LongestRise(numbers));
  }
}

}  // namespace
}  // namespace stemtap::formats
