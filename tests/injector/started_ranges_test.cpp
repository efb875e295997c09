// SPDX-License-Identifier: Apache-2.0
#include "control/started_ranges.h"

#include <doctest/doctest.h>

#include <set>
#include <thread>
#include <vector>

#include "control/range_paths.h"

namespace stemtap::inject {
namespace {

TEST_CASE("the latest open range is found, in any order of ends") {
  StartedRanges ranges;
  CHECK(ranges.Latest() == shm::kNoRange);
  const std::uint64_t a = ranges.Start(1);
  const std::uint64_t b = ranges.Start(2);
  const std::uint64_t c = ranges.Start(3);
  CHECK(ranges.Latest() == 3);
  ranges.End(b);
  CHECK(ranges.Latest() == 3);
  ranges.End(c);
  CHECK(ranges.Latest() == 1);
  ranges.End(c);
  CHECK(ranges.Latest() == 1);
  ranges.End(a);
  CHECK(ranges.Latest() == shm::kNoRange);
}

TEST_CASE("ids are unique and not 0, also of ranges that use the same place") {
  StartedRanges ranges;
  std::set<std::uint64_t> ids = {0};
  for (std::uint32_t i = 0; i < 10 * StartedRanges::kRanges; ++i) {
    const std::uint64_t id = ranges.Start(1);
    CHECK(ids.insert(id).second);
    ranges.End(id);
  }
  const std::uint64_t open = ranges.Start(2);
  for (const std::uint64_t id : ids) ranges.End(id);
  CHECK(ranges.Latest() == 2);
  ranges.End(open);
}

TEST_CASE("launches in a range beyond the maximum are in another range") {
  StartedRanges ranges;
  std::vector<std::uint64_t> ids;
  for (std::uint32_t i = 1; i <= StartedRanges::kRanges; ++i) ids.push_back(ranges.Start(i));
  CHECK(ranges.Latest() == StartedRanges::kRanges);
  const std::uint64_t further = ranges.Start(1000);
  const std::uint64_t second = ranges.Start(1001);
  CHECK(further != second);
  CHECK(ranges.Latest() == RangePaths::kOther);
  ranges.End(further);
  CHECK(ranges.Latest() == RangePaths::kOther);
  ranges.End(second);
  ranges.End(second);
  CHECK(ranges.Latest() == StartedRanges::kRanges);
  const std::uint64_t third = ranges.Start(1002);
  ranges.End(ids.front());
  const std::uint64_t fitting = ranges.Start(1003);
  CHECK(ranges.Latest() == 1003);
  ranges.End(fitting);
  CHECK(ranges.Latest() == RangePaths::kOther);
  ranges.End(third);
  CHECK(ranges.Latest() == StartedRanges::kRanges);
}

TEST_CASE("threads start and end ranges at once") {
  StartedRanges ranges;
  std::vector<std::thread> threads;
  for (std::uint32_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&ranges, t] {
      for (int i = 0; i < 2000; ++i) {
        const std::uint64_t outer = ranges.Start(t);
        const std::uint64_t inner = ranges.Start(t);
        ranges.End(outer);
        const std::uint32_t latest = ranges.Latest();
        CHECK((latest >= 1 && latest <= 4));
        ranges.End(inner);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(ranges.Latest() == shm::kNoRange);
}

}  // namespace
}  // namespace stemtap::inject
