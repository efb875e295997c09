// SPDX-License-Identifier: Apache-2.0
#include "importers/recorded_launches.h"

#include <doctest/doctest.h>

#include <string>

namespace stemtap {
namespace {

wire::KernelRecord At(std::uint64_t start, std::uint64_t duration) {
  wire::KernelRecord record = RecordedLaunches::Unknown();
  record.start_ns = start;
  record.duration_ns = duration;
  return record;
}

TEST_CASE("recorded launches come in order of start, those of one instant as they were added") {
  RecordedLaunches launches;
  launches.AddMetric("m");
  launches.Add(At(1700, 1), launches.Name("b"), {1.0});
  launches.Add(At(1000, 2), launches.Name("a"), {2.0});
  launches.Add(At(1700, 3), launches.Name("a"), {3.0});
  launches.Finish("file");
  ProfileBatch batch;
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
  for (std::uint64_t i = 0; i < 3; ++i) launches.Add(At(wire::kUnknownTime, 3 - i), "k");
  launches.Finish("file");
  ProfileBatch batch;
  REQUIRE(launches.Read(batch, 9).value() == 3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    CHECK(batch.records[i].duration_ns == 3 - i);
    CHECK(batch.records[i].start_ns == wire::kUnknownTime);
  }
}

TEST_CASE("a name longer than is carried is cut, and said") {
  RecordedLaunches launches;
  launches.Add(At(0, 1), std::string(wire::kMaxNameBytes + 1, 'x'));
  launches.Finish("file");
  CHECK(launches.names().name(0).size() == wire::kMaxNameBytes);
  REQUIRE(launches.warnings().size() == 1);
}

}  // namespace
}  // namespace stemtap
