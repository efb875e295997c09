// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/recorded_launches.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace stemtap::formats {
namespace {

shm::KernelRecord At(std::uint64_t start, std::uint64_t duration) {
  shm::KernelRecord record = RecordedLaunches::Unknown();
  record.start_ns = start;
  record.duration_ns = duration;
  return record;
}

shm::KernelRecord At(std::uint64_t start, std::uint32_t id, std::uint32_t stream) {
  shm::KernelRecord record = At(start, 1);
  record.device = 0;
  record.correlation_id = id;
  record.stream = stream;
  return record;
}

// Returns the starts of all launches in the order in which the reader returns them.
std::vector<std::uint64_t> Starts(RecordedLaunches& launches) {
  launches.Finish("file");
  model::ProfileBatch batch;
  REQUIRE(launches.Read(batch, 1000).ok());
  std::vector<std::uint64_t> starts;
  for (const shm::KernelRecord& record : batch.records) starts.push_back(record.start_ns);
  return starts;
}

using Times = std::vector<std::uint64_t>;

TEST_CASE("launches are in order of correlation ids, and kernels of a graph in start order") {
  RecordedLaunches launches;
  launches.Add(At(0, 10, 1), "k");
  launches.Add(At(5, 13, 1), "k");  // launched last, but ran early because its stream was free
  launches.Add(At(7, 11, 2), "k");
  launches.Add(At(8, 0, 2), "k");  // unknown: stays after the previous launch
  launches.Add(At(30, 12, 3), "k");
  launches.Add(At(20, 12, 4), "k");
  CHECK(Starts(launches) == Times{0, 7, 8, 20, 30, 5});
  REQUIRE(launches.warnings().size() == 1);
  CHECK(launches.warnings()[0].starts_with("file: 1 launch shares a correlation id"));
}

TEST_CASE("launches that share a correlation id across streams without a graph are counted") {
  const auto warnings_of = [](std::uint32_t second, std::uint32_t graph_node,
                              std::uint32_t stream = 2) {
    RecordedLaunches launches;
    launches.SetProcess(1);
    launches.Add(At(0, 10, 1), "k");
    shm::KernelRecord record = At(5, second, stream);
    record.graph_node = graph_node;
    launches.Add(record, "k");
    launches.SetProcess(2);
    launches.Add(At(7, 10, 1), "k");  // ids are per process
    launches.Finish("file");
    return launches.warnings();
  };
  const auto counted = [](const std::vector<std::string>& warnings) {
    return std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
      return warning.starts_with(
          "file: 1 launch shares a correlation id with a launch on another stream");
    });
  };
  CHECK(counted(warnings_of(10, 0)));
  CHECK_FALSE(counted(warnings_of(10, 4)));
  CHECK_FALSE(counted(warnings_of(11, 0)));
  CHECK_FALSE(counted(warnings_of(0, 0)));
  CHECK_FALSE(counted(warnings_of(10, 0, 1)));  // on one stream, start order is launch order
}

TEST_CASE("launches that are recorded twice are counted") {
  const auto doubles = [](const shm::KernelRecord& first, const shm::KernelRecord& second) {
    RecordedLaunches launches;
    launches.Add(first, "k");
    launches.Add(At(0, 8, 1), "other");
    launches.Add(second, "k");
    launches.Finish("file");
    const std::vector<std::string>& warnings = launches.warnings();
    return std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
      return warning.starts_with("file: 1 launch equals another launch in every cell");
    });
  };
  CHECK(doubles(At(0, 10, 1), At(0, 10, 1)));
  CHECK(doubles(At(9, 5), At(9, 5)));
  CHECK_FALSE(doubles(At(0, 10, 1), At(1, 10, 1)));
  CHECK_FALSE(doubles(At(0, 10, 1), At(0, 11, 1)));
  CHECK_FALSE(doubles(At(0, 10, 1), At(0, 10, 2)));
  CHECK_FALSE(doubles(At(9, 5), At(9, 6)));
  CHECK_FALSE(doubles(At(9, std::uint64_t{0}), At(9, std::uint64_t{0})));  // whole microseconds
}

TEST_CASE("correlation ids wrap") {
  RecordedLaunches launches;
  launches.Add(At(0, 0xFFFFFFFE, 1), "k");
  launches.Add(At(10, 2, 2), "k");
  launches.Add(At(20, 0xFFFFFFFF, 1), "k");
  CHECK(Starts(launches) == Times{0, 20, 10});
}

TEST_CASE("metrics follow their launches") {
  RecordedLaunches launches;
  launches.AddMetric("m");
  launches.Add(At(0, 2, 1), launches.Name("a"), {2.0});
  launches.Add(At(10, 1, 2), launches.Name("b"), {1.0});
  launches.Finish("file");
  model::ProfileBatch batch;
  REQUIRE(launches.Read(batch, 9).value() == 2);
  CHECK(launches.names().name(batch.records[0].name_id) == "b");
  CHECK(batch.metrics[0] == std::vector<double>{1.0, 2.0});
}

TEST_CASE("launches are sorted only within their process") {
  RecordedLaunches launches;
  launches.SetProcess(77);
  launches.Add(At(0, 900, 1), "k");
  launches.Add(At(20, 800, 2), "k");
  launches.SetProcess(5);
  launches.Add(At(10, 3, 1), "k");
  launches.Add(At(30, 2, 2), "k");
  CHECK(Starts(launches) == Times{20, 30, 0, 10});
}

TEST_CASE("ids that contradict a stream are not used as the launch order") {
  for (const std::uint32_t streams : {1u, 2u}) {
    CAPTURE(streams);
    RecordedLaunches launches;
    for (std::uint32_t i = 0; i < 300; ++i) {
      const bool wrong = i % 50 == 1;  // 2 %
      launches.Add(At(i * 10, wrong ? i - 1 : i + 1, i % 50 < 2 ? 0 : i % streams), "k");
    }
    Times in_order;
    for (std::uint64_t i = 0; i < 300; ++i) in_order.push_back(i * 10);
    CHECK(Starts(launches) == in_order);
    // Launches on one stream run in launch order, regardless of their ids.
    REQUIRE(launches.warnings().size() == streams - 1);
    if (streams == 2) {
      CHECK(launches.warnings()[0] ==
            "file: launches are numbered in order of start, which may differ from the launch order "
            "on several streams: correlation ids contradict the streams");
    }
  }
}

TEST_CASE("a counter that restarts belongs to a new program and does not give the launch order") {
  RecordedLaunches launches;
  for (std::uint32_t i = 0; i < 1000; ++i) launches.Add(At(i * 10, i % 500 + 1, 1), "k");
  const Times starts = Starts(launches);
  CHECK(std::is_sorted(starts.begin(), starts.end()));
}

TEST_CASE("the launch order of each process is checked separately") {
  RecordedLaunches launches;
  launches.SetProcess(1);
  for (std::uint32_t i = 0; i < 5000; ++i) launches.Add(At(i * 10, i + 1, 1), "k");
  launches.SetProcess(2);
  for (std::uint32_t i = 0; i < 10; ++i) launches.Add(At(i * 10 + 1, 100 - i, 1), "k");
  const Times starts = Starts(launches);
  CHECK(std::is_sorted(starts.begin(), starts.end()));
}

// Launches of one process on two streams, in launch order: id i + 1, and grid_x i + 1. The second
// stream runs 60 us behind, so launch order is not order of start.
std::vector<shm::KernelRecord> TwoStreams(std::uint32_t count) {
  std::vector<shm::KernelRecord> records;
  for (std::uint32_t i = 0; i < count; ++i) {
    constexpr std::uint64_t kFirst = std::uint64_t{1} << 62;
    shm::KernelRecord record =
        At(kFirst + i * 20'000 + (i % 2 == 0 ? 0 : 60'000), i + 1, i % 2 == 0 ? 7 : 9);
    record.duration_ns = 5'000;
    record.grid[0] = i + 1;
    records.push_back(record);
  }
  return records;
}

// Returns how many launches are not in their place, and checks that a warning says `expected`.
std::size_t Displaced(const std::vector<shm::KernelRecord>& records, std::string_view expected) {
  RecordedLaunches launches;
  for (const shm::KernelRecord& record : records) launches.Add(record, "k");
  launches.Finish("file");
  if (expected.empty()) {
    CHECK(launches.warnings().empty());
  } else {
    REQUIRE(launches.warnings().size() == 1);
    CHECK(launches.warnings()[0] == expected);
  }
  model::ProfileBatch batch;
  REQUIRE(launches.Read(batch, records.size()).value() == records.size());
  std::size_t displaced = 0;
  for (std::size_t i = 0; i < batch.records.size(); ++i) {
    displaced += batch.records[i].grid[0] == i + 1 ? 0 : 1;
    const bool starts_near = batch.records[i].start_ns < std::uint64_t{1} << 50;
    CHECK((starts_near || batch.records[i].start_ns == shm::kUnknownTime));
  }
  return displaced;
}

TEST_CASE("a wrong start does not move its launch or any other") {
  constexpr std::uint64_t kDay = 100'000'000'000'000;
  using Change = void (*)(shm::KernelRecord&);
  const std::array<Change, 6> changes = {
      [](shm::KernelRecord& r) { r.start_ns = 0; },
      [](shm::KernelRecord& r) { r.start_ns = std::uint64_t{1} << 62; },
      [](shm::KernelRecord& r) { r.start_ns -= kDay; },
      [](shm::KernelRecord& r) { r.start_ns -= 1'000'000; },
      [](shm::KernelRecord& r) { r.start_ns += 1'000'000; },
      [](shm::KernelRecord& r) { r.start_ns += kDay; },
  };
  for (std::size_t change = 0; change < changes.size(); ++change) {
    CAPTURE(change);
    std::vector<shm::KernelRecord> records = TwoStreams(1000);
    CHECK(Displaced(records, "") == 0);
    changes[change](records[500]);
    CHECK(Displaced(records,
                    "file: 1 launch has a start that contradicts the correlation ids, the first is "
                    "'k' with correlation id 501; ordered by id") == 0);
  }
}

TEST_CASE("several hundred wrong starts do not move any launch") {
  for (const std::uint64_t early : {std::uint64_t{1} << 62, std::uint64_t{100'000'000'000'000}}) {
    CAPTURE(early);
    std::vector<shm::KernelRecord> records = TwoStreams(1000);
    for (std::size_t i = 100; i < 700; i += 2) records[i].start_ns -= early;
    CHECK(Displaced(records,
                    "file: 300 launches have a start that contradicts the correlation ids, the "
                    "first is 'k' with correlation id 101; ordered by id") == 0);
  }
  std::vector<shm::KernelRecord> records = TwoStreams(6000);
  for (std::size_t i = 100; i < 4100; i += 10) records[i].start_ns -= 1'000'000;
  CHECK(Displaced(records,
                  "file: 400 launches have a start that contradicts the correlation ids, the first "
                  "is 'k' with correlation id 101; ordered by id") == 0);
}

TEST_CASE("launches without a time are in the place of their id, however many there are") {
  for (const std::size_t every : {2, 3, 1000}) {
    std::vector<shm::KernelRecord> records = TwoStreams(1000);
    for (std::size_t i = 1; i < records.size(); i += every) {
      records[i].start_ns = shm::kUnknownTime;
      records[i].duration_ns = 0;
    }
    CHECK(Displaced(records, "") == 0);
  }
}

TEST_CASE(
    "a launch without a time and without an id stays after the launch before it in the file") {
  RecordedLaunches launches;
  launches.Add(At(20, 2), "k");
  launches.Add(At(shm::kUnknownTime, std::uint64_t{0}), "k");
  launches.Add(At(10, 1), "k");
  CHECK(Starts(launches) == Times{0, 10, shm::kUnknownTime});
}

TEST_CASE("a wrong start does not move launches of other processes") {
  RecordedLaunches launches;
  for (std::uint32_t i = 0; i < 200; ++i) {
    launches.SetProcess(i % 2);
    shm::KernelRecord record = At(1'000'000 + i * 1000, i / 2 + 1, 1);
    record.device = static_cast<std::uint16_t>(i % 2);
    record.grid[0] = i + 1;
    if (i == 100) record.start_ns = 0;
    if (i == 120) record.start_ns = shm::kUnknownTime;
    launches.Add(record, "k");
  }
  launches.Finish("file");
  model::ProfileBatch batch;
  REQUIRE(launches.Read(batch, 200).value() == 200);
  std::size_t displaced = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    displaced += batch.records[i].grid[0] == i + 1 ? 0 : 1;
  }
  CHECK(displaced == 0);
}

TEST_CASE("ids of two programs, one after the other, are not the launch order") {
  std::vector<shm::KernelRecord> records = TwoStreams(1000);
  for (std::size_t i = 800; i < 1000; ++i) records[i].correlation_id -= 800;
  RecordedLaunches launches;
  for (const shm::KernelRecord& record : records) launches.Add(record, "k");
  const Times starts = Starts(launches);
  CHECK(std::is_sorted(starts.begin(), starts.end()));
  REQUIRE(launches.warnings().size() == 1);
  CHECK(launches.warnings()[0].ends_with("correlation ids contradict the streams"));
}

TEST_CASE("random ids are not the launch order") {
  std::vector<shm::KernelRecord> records = TwoStreams(1000);
  std::mt19937 random(1);
  for (shm::KernelRecord& record : records) {
    record.correlation_id = static_cast<std::uint32_t>(random());
  }
  RecordedLaunches launches;
  for (const shm::KernelRecord& record : records) launches.Add(record, "k");
  const Times starts = Starts(launches);
  CHECK(std::is_sorted(starts.begin(), starts.end()));
}

TEST_CASE("a wrong start with a right end gives no duration") {
  std::vector<shm::KernelRecord> records = TwoStreams(1000);
  records[500].duration_ns += records[500].start_ns;
  records[500].start_ns = 0;
  RecordedLaunches launches;
  for (const shm::KernelRecord& record : records) launches.Add(record, "k");
  launches.Finish("file");
  model::ProfileBatch batch;
  REQUIRE(launches.Read(batch, 1000).value() == 1000);
  CHECK(batch.records[500].grid[0] == 501);
  CHECK(batch.records[500].duration_ns == 0);
  REQUIRE(launches.warnings().size() == 2);
  CHECK(launches.warnings()[1] ==
        "file: 1 of these launches is longer than the recording; counted with 0 ns");
}

TEST_CASE("kernels of a graph are in node order") {
  RecordedLaunches launches;
  for (const std::uint32_t node : {2u, 1u, 3u}) {
    shm::KernelRecord record = At(node == 2 ? 0 : node * 10, 5, node);
    record.graph_id = 1;
    record.graph_node = node;
    launches.Add(record, "k");
  }
  CHECK(Starts(launches) == Times{10, 0, 30});
}

TEST_CASE("without ids, launches on several streams are numbered in start order, with a warning") {
  RecordedLaunches launches;
  launches.Add(At(10, 0, 1), "k");
  launches.Add(At(0, 0, 2), "k");
  CHECK(Starts(launches) == Times{0, 10});
  CHECK(launches.warnings() ==
        std::vector<std::string>{"file: launches are numbered in order of start, which may differ "
                                 "from the launch order on several streams: no correlation ids"});
}

TEST_CASE("launches without ids are in start order, and ties are in insertion order") {
  RecordedLaunches launches;
  launches.AddMetric("m");
  launches.Add(At(1700, 1), launches.Name("b"), {1.0});
  launches.Add(At(1000, 2), launches.Name("a"), {2.0});
  launches.Add(At(1700, 3), launches.Name("a"), {3.0});
  launches.Finish("file");
  model::ProfileBatch batch;
  REQUIRE(launches.Read(batch, 2).value() == 2);
  CHECK(batch.records[0].start_ns == 0);
  CHECK(batch.records[0].duration_ns == 2);
  CHECK(batch.records[1].start_ns == 700);
  CHECK(batch.records[1].duration_ns == 1);
  CHECK(batch.metrics[0] == std::vector<double>{2.0, 1.0});
  REQUIRE(launches.Read(batch, 2).value() == 1);
  CHECK(batch.records[0].duration_ns == 3);
  CHECK(batch.metrics[0] == std::vector<double>{3.0});
  REQUIRE(launches.Read(batch, 2).value() == 0);
  CHECK(batch.metrics.size() == 1);
  REQUIRE(launches.Rewind());
  REQUIRE(launches.Read(batch, 9).value() == 3);
  CHECK(batch.records[0].duration_ns == 2);
}

TEST_CASE("recorded launches without a start keep their order") {
  RecordedLaunches launches;
  for (std::uint64_t i = 0; i < 3; ++i) launches.Add(At(shm::kUnknownTime, 3 - i), "k");
  launches.Finish("file");
  model::ProfileBatch batch;
  REQUIRE(launches.Read(batch, 9).value() == 3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    CHECK(batch.records[i].duration_ns == 3 - i);
    CHECK(batch.records[i].start_ns == shm::kUnknownTime);
  }
}

TEST_CASE("a name beyond the limit is truncated with a warning") {
  RecordedLaunches launches;
  launches.Add(At(0, 1), std::string(shm::kMaxNameBytes + 1, 'x'));
  launches.Finish("file");
  CHECK(launches.names().name(0).size() == shm::kMaxNameBytes);
  REQUIRE(launches.warnings().size() == 1);
}

}  // namespace
}  // namespace stemtap::formats
