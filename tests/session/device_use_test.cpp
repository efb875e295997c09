// SPDX-License-Identifier: Apache-2.0
#include "session/device_use.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "model/name_table.h"

namespace stemtap::session {
namespace {

using Intervals = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// Computes the union by sorting all intervals.
std::uint64_t UnionOf(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::uint64_t sum = 0;
  std::uint64_t reached = 0;
  for (const auto& [start, end] : intervals) {
    if (end <= reached) continue;
    sum += end - std::max(start, reached);
    reached = end;
  }
  return sum;
}

std::uint64_t BusyOf(const Intervals& intervals) {
  BusyTime busy;
  for (const auto& [start, end] : intervals) busy.Add(start, end, 0);
  CHECK(busy.cut_ns() == 0);
  return busy.busy_ns();
}

shm::KernelRecord At(std::uint64_t start, std::uint64_t duration, std::uint16_t device,
                     std::uint32_t stream) {
  shm::KernelRecord record;
  record.start_ns = start;
  record.duration_ns = duration;
  record.device = device;
  record.stream = stream;
  return record;
}

TEST_CASE("busy time is the length of the union of intervals") {
  CHECK(BusyOf({}) == 0);
  CHECK(BusyOf({{10, 20}, {30, 35}}) == 15);
  CHECK(BusyOf({{10, 20}, {20, 25}}) == 15);             // adjacent
  CHECK(BusyOf({{10, 20}, {15, 25}}) == 15);             // overlapping
  CHECK(BusyOf({{10, 90}, {20, 30}, {40, 50}}) == 80);   // nested
  CHECK(BusyOf({{50, 60}, {10, 20}, {30, 35}}) == 25);   // out of order
  CHECK(BusyOf({{10, 20}, {30, 40}, {15, 35}}) == 30);   // joins two intervals
  CHECK(BusyOf({{30, 40}, {50, 60}, {10, 100}}) == 90);  // covers all intervals
  CHECK(BusyOf({{10, 10}, {10, 10}}) == 0);
}

TEST_CASE("busy time of concurrent streams equals the union of the sorted intervals") {
  Rng rng(7);
  for (const std::uint64_t longest : {30u, 300u, 3000u}) {
    Intervals intervals;
    std::uint64_t now = 1000;
    for (int i = 0; i < 20000; ++i) {
      now += rng.Below(120);
      const std::uint64_t start = now - rng.Below(900);  // launched late, or seen late
      intervals.emplace_back(start, start + rng.Below(longest));
    }
    CHECK(BusyOf(intervals) == UnionOf(intervals));
  }
}

TEST_CASE("intervals that arrive too late are discarded and counted") {
  BusyTime busy;
  for (std::uint64_t i = 0; i < 1000; ++i) busy.Add(100 * i, 100 * i + 10, 0);
  CHECK(busy.busy_ns() == 10000);
  busy.Add(0, 60, 0);  // 10 ns overlap known time; the rest is too late
  CHECK(busy.busy_ns() == 10000);
  CHECK(busy.cut_ns() == 60);
}

TEST_CASE("there are totals for each process, device and stream") {
  DeviceUse use;
  use.Add(At(100, 50, 0, 7), 0);
  use.Add(At(120, 50, 0, 13), 0);
  use.Add(At(300, 10, 0, 7), 0);
  use.Add(At(5, 1, 1, 7), 0);
  use.Add(At(100, 40, 0, 7), 1);
  use.Add(At(shm::kUnknownTime, 40, 0, 7), 1);
  const std::vector<DeviceTotals> totals = use.Totals();
  REQUIRE(totals.size() == 3);
  CHECK(totals[0].process == 0);
  CHECK(totals[0].device == 0);
  CHECK(totals[0].launches == 3);
  CHECK(totals[0].duration_ns == 110);
  CHECK(totals[0].busy_ns == 80);
  CHECK(totals[0].span_ns == 210);
  REQUIRE(totals[0].streams.size() == 2);
  CHECK(totals[0].streams[0].stream == 7);
  CHECK(totals[0].streams[0].launches == 2);
  CHECK(totals[0].streams[0].duration_ns == 60);
  CHECK(totals[0].streams[1].stream == 13);
  CHECK(totals[1].device == 1);
  CHECK(totals[2].process == 1);
  CHECK(totals[2].launches == 2);
  CHECK(totals[2].duration_ns == 80);
  CHECK(totals[2].busy_ns == 40);
}

TEST_CASE("launches of graphs have their own totals") {
  DeviceUse use;
  shm::KernelRecord of_graph = At(100, 50, 0, 7);
  of_graph.graph_id = 3;
  use.Add(of_graph, 0);
  use.Add(of_graph, 0);
  use.Add(At(200, 10, 0, 7), 0);
  const std::vector<DeviceTotals> totals = use.Totals();
  CHECK(totals[0].graph_kernels == 2);
  CHECK(totals[0].graph_duration_ns == 100);
  CHECK(totals[0].duration_ns == 110);
}

TEST_CASE("each bin of gaps begins at its edge") {
  for (std::size_t i = 1; i < model::kIdleBins; ++i) {
    for (const std::uint64_t gap : {model::kIdleEdges[i] - 1, model::kIdleEdges[i]}) {
      CAPTURE(gap);
      DeviceUse use;
      use.Add(At(1, 1, 0, 7), 0);
      use.Add(At(2 + gap, 1, 0, 7), 0);
      const std::vector<model::IdleBin> idle = use.Totals()[0].idle;
      REQUIRE(idle.size() == 1);
      CHECK(idle[0].lower_ns == model::kIdleEdges[gap < model::kIdleEdges[i] ? i - 1 : i]);
      CHECK(idle[0].idle_ns == gap);
    }
  }
}

TEST_CASE("the span of a device includes kernels that arrive too late") {
  DeviceUse use;
  for (std::uint64_t i = 10; i < 1000; ++i) use.Add(At(100 * i, 10, 0, 7), 0);
  use.Add(At(400, 10, 0, 7), 0);
  const DeviceTotals totals = use.Totals()[0];
  CHECK(totals.launches == 991);
  CHECK(totals.duration_ns == 9910);
  CHECK(totals.cut_ns == 10);
  CHECK(totals.start_ns == 400);
  CHECK(totals.span_ns == 99'910 - 400);
}

TEST_CASE("gaps between kernels are counted by length, with the longest in detail") {
  DeviceUse use;
  std::uint64_t now = 1'000'000;
  const auto run = [&](std::uint64_t gap, std::uint16_t device) {
    use.Add(At(now + gap, 100, device, 7), 0);
    now += gap + 100;
  };
  run(0, 0);
  for (int i = 0; i < 300; ++i) run(999, 0);  // many final intervals
  run(1'000, 0);
  run(50'000, 0);
  run(2'000'000'000, 0);
  use.Add(At(5, 10, 1, 7), 0);  // a device with one kernel has no gap
  use.Add(At(10, 30, 1, 8), 0);
  const std::vector<DeviceTotals> totals = use.Totals();
  REQUIRE(totals.size() == 2);
  const DeviceTotals& first = totals[0];
  CHECK(first.start_ns == 1'000'000);
  REQUIRE(first.idle.size() == 4);
  CHECK(first.idle[0].lower_ns == 0);
  CHECK(first.idle[0].gaps == 300);
  CHECK(first.idle[0].idle_ns == 300 * 999);
  CHECK(first.idle[1].lower_ns == 1'000);
  CHECK(first.idle[1].gaps == 1);
  CHECK(first.idle[2].lower_ns == 10'000);
  CHECK(first.idle[2].idle_ns == 50'000);
  CHECK(first.idle[3].lower_ns == 1'000'000'000);
  std::uint64_t idle_ns = 0;
  for (const model::IdleBin& bin : first.idle) idle_ns += bin.idle_ns;
  CHECK(idle_ns + first.busy_ns == first.span_ns);
  REQUIRE(first.longest_gaps.size() == model::kMaxIdleGaps);
  CHECK(first.longest_gaps[0].duration_ns == 2'000'000'000);
  CHECK(first.longest_gaps[0].start_ns == now - 100 - 2'000'000'000);
  CHECK(first.longest_gaps[1].duration_ns == 50'000);
  CHECK(first.longest_gaps[2].duration_ns == 1'000);
  CHECK(first.longest_gaps[7].duration_ns == 999);
  CHECK(totals[1].idle.empty());
  CHECK(totals[1].busy_ns == 35);
}

TEST_CASE("the longest gaps have the kernels before and after them") {
  model::NameTable names;
  const auto run = [&](DeviceUse& use, std::uint64_t start, std::uint64_t end, const char* name,
                       std::uint32_t stream = 7) {
    shm::KernelRecord record = At(start, end - start, 0, stream);
    record.name_id = names.Intern(name);
    use.Add(record, 0);
  };
  DeviceUse use;
  run(use, 100, 200, "first");
  run(use, 150, 900, "long", 8);  // ends last, although it begins in the middle
  run(use, 800, 850, "short");
  run(use, 2000, 2100, "late");
  run(use, 1900, 2050, "early", 8);  // begins first, although its record arrives last
  run(use, 5000, 5001, "end");
  const auto gaps = use.Totals(names)[0].longest_gaps;
  REQUIRE(gaps.size() == 2);
  CHECK(gaps[0].start_ns == 2100);
  CHECK(gaps[0].before == "late");
  CHECK(gaps[0].after == "end");
  CHECK(gaps[1].start_ns == 900);
  CHECK(gaps[1].before == "long");
  CHECK(gaps[1].after == "early");
  CHECK(use.Totals()[0].longest_gaps[0].before.empty());  // without names

  // The kernels of a gap are known after its stretches are final.
  for (std::uint64_t i = 0; i < 500; ++i) run(use, 10'000 + 10 * i, 10'005 + 10 * i, "many");
  CHECK(use.Totals(names)[0].longest_gaps[0].after == "many");
  CHECK(use.Totals(names)[0].longest_gaps[1].after == "end");
}

TEST_CASE("gaps have no names beyond the maximum of bytes") {
  model::NameTable names;
  DeviceUse use;
  constexpr std::size_t kLength = DeviceUse::kMaxGapNameBytes / 10;
  for (std::uint64_t i = 0; i < 9; ++i) {
    shm::KernelRecord record = At(1000 * (i + 1) * (i + 1), 10, 0, 7);
    record.name_id = names.Intern(std::string(kLength, static_cast<char>('a' + i)));
    use.Add(record, 0);
  }
  const auto gaps = use.Totals(names)[0].longest_gaps;
  REQUIRE(gaps.size() == model::kMaxIdleGaps);
  CHECK(gaps[0].before.size() == kLength);
  CHECK(gaps[4].after.size() == kLength);
  CHECK(gaps[5].before.empty());
}

TEST_CASE("activity contains the launches, kernel time and busy time of all devices") {
  CHECK(DeviceUse().Activity().empty());
  DeviceUse use;
  Rng rng(3);
  std::vector<Intervals> intervals(2);
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t start = 1'000'000 + i * 1000 + rng.Below(3000);
    const std::uint64_t duration = rng.Below(2500);
    const auto device = static_cast<std::uint16_t>(i % 2);
    use.Add(At(start, duration, device, 7), 0);
    intervals[device].emplace_back(start, start + duration);
  }
  use.Add(At(shm::kUnknownTime, 40, 0, 7), 0);
  const model::Activity activity = use.Activity();
  CHECK(activity.devices == 2);
  CHECK(activity.count <= model::Activity::kMaxSlices);
  CHECK(activity.count > model::Activity::kMaxSlices / 4);
  std::uint64_t launches = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t busy_ns = 0;
  std::uint64_t expected_ns = 0;
  for (const auto& [start, end] : intervals[0]) expected_ns += end - start;
  for (const auto& [start, end] : intervals[1]) expected_ns += end - start;
  for (const model::ActivitySlice& slice : activity.slices) {
    launches += slice.launches;
    duration_ns += slice.duration_ns;
    busy_ns += slice.busy_ns;
    CHECK(slice.busy_ns <= 2 * activity.width_ns);
  }
  CHECK(launches == 5000);
  CHECK(duration_ns == expected_ns);
  CHECK(busy_ns == UnionOf(intervals[0]) + UnionOf(intervals[1]));
  // One slice is checked interval by interval.
  const model::ActivitySlice& middle = activity.slices[activity.slices.size() / 2];
  const std::uint64_t from = activity.start_ns + middle.slice * activity.width_ns;
  Intervals within[2];
  for (int device = 0; device < 2; ++device) {
    for (const auto& [start, end] : intervals[device]) {
      const std::uint64_t low = std::max(start, from);
      const std::uint64_t high = std::min(end, from + activity.width_ns);
      if (low < high) within[device].emplace_back(low, high);
    }
  }
  CHECK(middle.busy_ns == UnionOf(within[0]) + UnionOf(within[1]));
  // The devices add up to the slices of all.
  REQUIRE(activity.by_device.size() == 2);
  std::vector<std::uint64_t> sums(activity.count);
  for (std::uint16_t device = 0; device < 2; ++device) {
    CHECK(activity.by_device[device].process == 0);
    CHECK(activity.by_device[device].device == device);
    std::uint64_t sum_ns = 0;
    for (const model::BusySlice& slice : activity.by_device[device].slices) {
      CHECK(slice.busy_ns <= activity.width_ns);
      sums[slice.slice] += slice.busy_ns;
      sum_ns += slice.busy_ns;
    }
    CHECK(sum_ns == UnionOf(intervals[device]));
  }
  for (const model::ActivitySlice& slice : activity.slices) {
    CHECK(sums[slice.slice] == slice.busy_ns);
  }
}

TEST_CASE("activity lists several devices one by one, at most 16") {
  DeviceUse one;
  one.Add(At(1000, 10, 3, 7), 0);
  CHECK(one.Activity().by_device.empty());
  DeviceUse many;
  for (std::uint16_t process = 0; process < 3; ++process) {
    for (std::uint16_t device = 0; device < 8; ++device) {
      many.Add(At(1000, std::uint64_t{10} + device, device, 7), process);
    }
  }
  const model::Activity activity = many.Activity();
  CHECK(activity.devices == 24);
  REQUIRE(activity.by_device.size() == model::Activity::kMaxDevices);
  CHECK(activity.by_device[9].process == 1);
  CHECK(activity.by_device[9].device == 1);
}

TEST_CASE("a device whose clock differs does not disturb the activity of the others") {
  DeviceUse use;
  const std::uint64_t far = std::uint64_t{1} << 60;
  for (std::uint64_t i = 0; i < 1000; ++i) use.Add(At(far + 1000 * i, 500, 0, 7), 0);
  for (std::uint64_t i = 0; i < 200; ++i) use.Add(At(5 + 1000 * i, 500, 1, 7), 0);
  const model::Activity activity = use.Activity();
  REQUIRE(activity.by_device.size() == 2);
  std::uint64_t busy_ns = 0;
  for (const model::BusySlice& slice : activity.by_device[0].slices) busy_ns += slice.busy_ns;
  CHECK(busy_ns == 500'000);
  CHECK(activity.by_device[1].slices.empty());
}

TEST_CASE("streams beyond the limit share one entry that counts all of their launches") {
  DeviceUse use;
  for (std::uint32_t i = 0; i < 5000; ++i) use.Add(At(i, 1, 0, i), 0);
  const std::vector<DeviceTotals> totals = use.Totals();
  REQUIRE(totals.size() == 1);
  CHECK(totals[0].streams.size() == DeviceUse::kMaxStreams + 1);
  CHECK(totals[0].streams.back().stream == shm::kUnknown32);
  std::uint64_t launches = 0;
  for (const StreamTotals& stream : totals[0].streams) launches += stream.launches;
  CHECK(launches == 5000);
}

// Returns the launches of each entry of a process whose device has this number.
std::uint64_t LaunchesOf(const std::vector<DeviceTotals>& totals, std::uint16_t process,
                         std::uint16_t device) {
  std::uint64_t launches = 0;
  for (const DeviceTotals& d : totals) {
    if (d.process == process && d.device == device) launches += d.launches;
  }
  return launches;
}

TEST_CASE("devices beyond the limit of a process share one entry that counts their launches") {
  DeviceUse use;
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t device = 0; device < shm::kUnknown16; ++device) {
      use.Add(At(device, 1, static_cast<std::uint16_t>(device), 7), 3);
    }
  }
  use.Add(At(0, 1, 9, 7), 4);
  const std::vector<DeviceTotals> totals = use.Totals();
  REQUIRE(totals.size() == DeviceUse::kMaxDevices + 2);
  for (std::uint16_t device = 0; device < DeviceUse::kMaxDevices; ++device) {
    CHECK(LaunchesOf(totals, 3, device) == 2);
  }
  CHECK(LaunchesOf(totals, 3, shm::kUnknown16) == 2 * (65535 - DeviceUse::kMaxDevices));
  CHECK(LaunchesOf(totals, 4, 9) == 1);
}

TEST_CASE("devices beyond the limit of the session share one entry per process") {
  DeviceUse use;
  constexpr std::uint16_t kProcesses = 300;
  for (std::uint16_t process = 0; process < kProcesses; ++process) {
    for (std::uint16_t device = 0; device < 100; ++device) use.Add(At(1, 1, device, 7), process);
  }
  const std::vector<DeviceTotals> totals = use.Totals();
  CHECK(totals.size() > DeviceUse::kMaxAllDevices);
  CHECK(totals.size() <= DeviceUse::kMaxAllDevices + kProcesses);
  CHECK(LaunchesOf(totals, 0, shm::kUnknown16) == 100 - DeviceUse::kMaxDevices);
  CHECK(LaunchesOf(totals, kProcesses - 1, shm::kUnknown16) == 100);
}

TEST_CASE("streams beyond the limit of the session share one entry per device") {
  DeviceUse use;
  constexpr std::uint16_t kDevices = 64;
  static_assert(DeviceUse::kMaxAllStreams == kDevices * DeviceUse::kMaxStreams);
  for (std::uint16_t process = 0; process < 2; ++process) {
    for (std::uint16_t device = 0; device < kDevices; ++device) {
      for (std::uint32_t i = 0; i < DeviceUse::kMaxStreams; ++i) {
        use.Add(At(1, 1, device, i), process);
      }
    }
  }
  const std::vector<DeviceTotals> totals = use.Totals();
  REQUIRE(totals.size() == 2 * kDevices);
  CHECK(totals[kDevices - 1].streams.size() == DeviceUse::kMaxStreams);
  for (std::size_t i = kDevices; i < totals.size(); ++i) {
    REQUIRE(totals[i].streams.size() == 1);
    CHECK(totals[i].streams[0].stream == shm::kUnknown32);
    CHECK(totals[i].launches == DeviceUse::kMaxStreams);
  }
}

}  // namespace
}  // namespace stemtap::session
