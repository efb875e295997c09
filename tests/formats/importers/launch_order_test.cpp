// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/launch_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "formats/importers/recorded_launches.h"

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

constexpr std::uint64_t kMs = 1'000'000;

shm::KernelRecord Launch(std::uint64_t start, std::uint64_t duration, std::uint32_t id,
                         std::uint32_t stream = 7) {
  shm::KernelRecord record = RecordedLaunches::Unknown();
  record.device = 0;
  record.stream = stream;
  record.start_ns = start;
  record.duration_ns = duration;
  record.correlation_id = id;
  return record;
}

using Launches = std::vector<shm::KernelRecord>;
using Durations = std::vector<std::uint64_t>;

Durations Cut(Launches launches, Overruns* found = nullptr, bool are_streams = true,
              const std::vector<std::uint32_t>& processes = {}) {
  const LaunchIds ids(launches, processes);
  const Overruns overruns = CutOverruns(launches, processes, ids, are_streams);
  if (found != nullptr) *found = overruns;
  Durations durations;
  for (const shm::KernelRecord& record : launches) durations.push_back(record.duration_ns);
  return durations;
}

TEST_CASE("a launch that ends long after the next ones is cut to the start of the next one") {
  Overruns found;
  CHECK(Cut({Launch(0, kMs, 1), Launch(2 * kMs, 900 * kMs, 2), Launch(4 * kMs, kMs, 3),
             Launch(6 * kMs, kMs, 4)},
            &found) == Durations{kMs, 2 * kMs, kMs, kMs});
  CHECK(found.cut == 1);
  CHECK(found.cut_ns == 898 * kMs);
  CHECK(found.first_cut == 1);
  CHECK(found.kept == 0);
}

TEST_CASE("a duration of centuries is cut, also if only one launch follows") {
  const std::uint64_t ages = std::numeric_limits<std::int64_t>::max();
  CHECK(Cut({Launch(std::uint64_t{1} << 62, ages, 1),
             Launch((std::uint64_t{1} << 62) + kMs, kMs, 2)}) == Durations{kMs, kMs});
}

TEST_CASE("several overruns in a row are cut") {
  CHECK(Cut({Launch(0, 900 * kMs, 1), Launch(kMs, 900 * kMs, 2), Launch(2 * kMs, 100 * kMs, 3),
             Launch(3 * kMs, kMs, 4)}) == Durations{kMs, kMs, kMs, kMs});
}

TEST_CASE("launches that overlap the next one but end before it keep their durations") {
  const Durations durations = {5 * kMs, 5 * kMs, 5 * kMs};
  CHECK(Cut({Launch(0, 5 * kMs, 1), Launch(kMs, 5 * kMs, 2), Launch(2 * kMs, 5 * kMs, 3)}) ==
        durations);
}

TEST_CASE("a launch may end 100 us after the next one") {
  CHECK(Cut({Launch(0, 100'001, 1), Launch(0 + 1, 0, 2), Launch(2, 1, 3)})[0] == 100'001);
  CHECK(Cut({Launch(0, 100'002, 1), Launch(0 + 1, 0, 2), Launch(2, 1, 3)})[0] == 1);
}

TEST_CASE("one launch inside another one is not enough: its start may be wrong") {
  CHECK(Cut({Launch(0, 2 * kMs, 1), Launch(kMs, 10, 2), Launch(3 * kMs, 10, 3)})[0] == 2 * kMs);
}

TEST_CASE("launches of other streams, devices and processes are not compared") {
  const auto kept = [](const Launches& launches, const std::vector<std::uint32_t>& processes = {}) {
    return Cut(launches, nullptr, true, processes)[0] == 900 * kMs;
  };
  Launches launches = {Launch(0, 900 * kMs, 1), Launch(kMs, 10, 2), Launch(2 * kMs, 10, 3)};
  CHECK_FALSE(kept(launches));
  CHECK(kept(launches, {0, 1, 1}));
  for (std::size_t i : {1, 2}) launches[i].stream = 8;
  CHECK(kept(launches));
  for (shm::KernelRecord& record : launches) record.stream = shm::kUnknown32;
  CHECK(kept(launches));
  for (shm::KernelRecord& record : launches) record.stream = 7;
  for (std::size_t i : {1, 2}) launches[i].device = 1;
  CHECK(kept(launches));
}

TEST_CASE("kernels of one graph launch may run side by side") {
  // CUPTI: one id. rocpd: one graph, and ids of their own.
  CHECK(Cut({Launch(0, 9 * kMs, 5), Launch(kMs, 10, 5), Launch(2 * kMs, 10, 5),
             Launch(10 * kMs, 10, 6)})[0] == 9 * kMs);
  Launches launches = {Launch(0, 9 * kMs, 1), Launch(kMs, 10, 2), Launch(2 * kMs, 10, 3)};
  for (shm::KernelRecord& record : launches) record.graph_id = 4;
  CHECK(Cut(launches)[0] == 9 * kMs);
  // The launches after the graph wait for all of its kernels.
  CHECK(Cut({Launch(0, 9 * kMs, 5), Launch(kMs, 10, 5), Launch(2 * kMs, 10, 6),
             Launch(3 * kMs, 10, 7)})[0] == 2 * kMs);
}

TEST_CASE("nothing is cut if stream numbers are queues, or cover several streams") {
  Launches launches;
  for (std::uint32_t i = 0; i < 300; ++i) {
    launches.push_back(Launch(i * 10 * kMs, i % 10 == 0 ? 95 * kMs : kMs, i + 1));
  }
  Overruns found;
  CHECK(Cut(launches, &found)[0] == 95 * kMs);
  CHECK(found.cut == 0);
  CHECK(found.kept == 30);
  CHECK(found.kept_ns == 30 * 85 * kMs);

  launches = {Launch(0, 900 * kMs, 1), Launch(kMs, 10, 2), Launch(2 * kMs, 10, 3)};
  CHECK(Cut(launches, &found, false)[0] == 900 * kMs);
  CHECK(found.kept == 1);
}

TEST_CASE("launches whose ids show another program on the same stream number are not compared") {
  // Every fourth launch is of a program with ids of its own.
  Launches launches;
  for (std::uint32_t i = 0; i < 40; ++i) {
    const bool other = i % 10 == 5;
    launches.push_back(Launch(i * kMs, other ? 9 * kMs : 10, other ? i / 10 + 1 : i + 100));
  }
  Overruns found;
  Cut(launches, &found);
  CHECK(found.cut == 0);
}

}  // namespace
}  // namespace stemtap::formats
