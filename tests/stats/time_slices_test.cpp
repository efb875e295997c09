// SPDX-License-Identifier: Apache-2.0
#include "stats/time_slices.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace stemtap::stats {
namespace {

using Launches = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // start, duration
using Sums = std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>>;

// Computes the sums for this width launch by launch.
Sums ByHand(const Launches& launches, std::uint32_t shift) {
  Sums sums;
  for (const auto& [start, duration] : launches) {
    ++sums[start >> shift].first;
    sums[start >> shift].second += duration;
  }
  return sums;
}

Sums Held(const TimeSlices& slices, std::uint32_t shift) {
  const std::uint64_t first = slices.first() >> (shift - slices.shift());
  std::vector<TimeSlices::Slice> into(TimeSlices::kMaxSlices);
  slices.AddTo(shift, first, into);
  Sums sums;
  for (std::size_t i = 0; i < into.size(); ++i) {
    if (into[i].launches != 0) sums[first + i] = {into[i].launches, into[i].duration_ns};
  }
  return sums;
}

TimeSlices Sliced(const Launches& launches) {
  TimeSlices slices;
  for (const auto& [start, duration] : launches) slices.Add(start, duration);
  return slices;
}

void CheckExact(const Launches& launches) {
  const TimeSlices slices = Sliced(launches);
  REQUIRE_FALSE(slices.slices().empty());
  CHECK(slices.slices().size() <= TimeSlices::kMaxSlices);
  CHECK(slices.slices().front().launches != 0);
  CHECK(slices.slices().back().launches != 0);
  CHECK(slices.launches() == launches.size());
  for (std::uint32_t shift = slices.shift(); shift < 60; ++shift) {
    CAPTURE(shift);
    REQUIRE(Held(slices, shift) == ByHand(launches, shift));
  }
}

TEST_CASE("slices contain the sums of the launches for any order") {
  std::mt19937_64 random(3);
  for (const std::uint64_t base : {std::uint64_t{0}, std::uint64_t{1'795'310'000'000'000'000}}) {
    for (int spread = 0; spread < 50; spread += 7) {
      Launches launches;
      for (int i = 0; i < 3000; ++i) {
        launches.emplace_back(base + (random() >> (63 - spread)), random() % 1'000'000);
      }
      CheckExact(launches);  // random
      std::sort(launches.begin(), launches.end());
      CheckExact(launches);  // grows upward
      std::reverse(launches.begin(), launches.end());
      CheckExact(launches);  // grows downward
      CHECK(Sliced(launches).shift() <= static_cast<std::uint32_t>(spread));
    }
  }
}

TEST_CASE("the width is at most twice the width that 64 slices need") {
  TimeSlices slices;
  for (std::uint64_t i = 0; i < 1'000'000; ++i) slices.Add(5'000'000 + i * 1000, 1);
  // 10^9 ns are 60 slices of 2^24 ns.
  CHECK(slices.shift() == 24);
  CHECK(slices.slices().size() >= 59);
}

TEST_CASE("a spread launch counts once, with its time in each slice that it overlaps") {
  TimeSlices slices(8);
  slices.AddSpread(0, 4);
  slices.AddSpread(62, 2);  // 8 slices of 8 ns
  REQUIRE(slices.shift() == 3);
  slices.AddSpread(6, 20);  // 2 + 8 + 8 + 2
  std::vector<std::uint64_t> launches;
  std::vector<std::uint64_t> times;
  for (const TimeSlices::Slice& slice : slices.slices()) {
    launches.push_back(slice.launches);
    times.push_back(slice.duration_ns);
  }
  CHECK(launches == std::vector<std::uint64_t>{2, 0, 0, 0, 0, 0, 0, 1});
  CHECK(times == std::vector<std::uint64_t>{6, 8, 8, 2, 0, 0, 0, 2});
}

TEST_CASE("spread slices are exact at every width and in every order") {
  std::mt19937_64 random(5);
  Launches launches;
  for (int i = 0; i < 2000; ++i) launches.push_back({random() % 100000, random() % 3000});
  TimeSlices slices(256);
  for (const auto& [start, duration] : launches) slices.AddSpread(start, duration);
  std::vector<std::uint64_t> expected(slices.slices().size());
  for (const auto& [start, duration] : launches) {
    for (std::uint64_t ns = start; ns < start + duration; ++ns) {
      ++expected[(ns >> slices.shift()) - slices.first()];
    }
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(slices.slices()[i].duration_ns == expected[i]);
  }
  CHECK(slices.launches() == 2000);
}

TEST_CASE("a spread launch whose end is too far has all of its time in the slice of its start") {
  TimeSlices slices;
  slices.AddSpread(5, 1);
  slices.AddSpread(5, std::uint64_t{1} << 62);
  CHECK(slices.launches() == 2);
  REQUIRE(slices.slices().size() == 1);
  CHECK(slices.slices()[0].duration_ns == (std::uint64_t{1} << 62) + 1);
  slices.AddSpread(~std::uint64_t{0} - 1, 4);  // an unknown start
  CHECK(slices.launches() == 2);
}

TEST_CASE("launches are added in one step only if they are in one slice") {
  TimeSlices slices(8);
  CHECK_FALSE(slices.AddWithin(0, 1, {1, 1}));  // no slices yet
  slices.AddSpread(0, 4);
  slices.AddSpread(62, 2);  // 8 slices of 8 ns
  REQUIRE(slices.shift() == 3);
  CHECK(slices.AddWithin(8, 15, {3, 6}));
  CHECK_FALSE(slices.AddWithin(8, 16, {3, 6}));
  CHECK_FALSE(slices.AddWithin(15, 8 * 16, {3, 6}));
  CHECK_FALSE(slices.AddWithin(64, 65, {3, 6}));
  CHECK(slices.launches() == 5);
  CHECK(slices.slices()[1].launches == 3);
  CHECK(slices.slices()[1].duration_ns == 6);
}

TEST_CASE("unknown starts are in no slice, even without known starts") {
  TimeSlices slices;
  for (int i = 0; i < 10; ++i) slices.Add(~std::uint64_t{0}, 5);
  CHECK(slices.slices().empty());
  slices.Add((std::uint64_t{1} << 63) - 1, 5);
  for (int i = 0; i < 10; ++i) slices.Add(~std::uint64_t{0}, 5);
  CHECK(slices.launches() == 1);
}

TEST_CASE("a single launch gives one slice of one nanosecond") {
  TimeSlices slices;
  slices.Add(77, 5);
  REQUIRE(slices.slices().size() == 1);
  CHECK(slices.first() == 77);
  CHECK(slices.shift() == 0);
}

TEST_CASE("an outlier of years is skipped, and the other starts keep their slices") {
  for (const std::uint64_t wild : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    TimeSlices slices;
    Launches launches;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      launches.emplace_back((std::uint64_t{1} << 60) + i * 1'000'000, 10);
      slices.Add(launches.back().first, 10);
      if (i % 100 == 50) slices.Add(wild, 10);
    }
    CHECK(slices.launches() == 1000);
    CHECK(Held(slices, slices.shift()) == ByHand(launches, slices.shift()));
    CHECK(slices.shift() == 24);
  }
}

TEST_CASE("if the outlier is first, the slices restart with the other starts") {
  TimeSlices slices;
  slices.Add(5, 10);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    slices.Add((std::uint64_t{1} << 60) + i * 1'000'000, 10);
  }
  CHECK(slices.launches() == 999);  // the vote of the second launch outweighs the first
  CHECK(slices.shift() == 24);
}

}  // namespace
}  // namespace stemtap::stats
