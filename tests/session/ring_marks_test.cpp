// SPDX-License-Identifier: Apache-2.0
//
// Tests how RingReader reads ranges and marks.
#include <doctest/doctest.h>

#include "session/written_ring.h"
#include "support/temp_dir.h"

namespace stemtap::session {
namespace {

using test::TempDir;

TEST_CASE("each captured launch has its mark once") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  WrittenRing writer(path);
  auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  ReadKernels session;
  const std::string longest(shm::kMaxRangeBytes, 'r');
  writer.Define(0, "k");
  writer.DefineRange(1, "decode/attention");
  writer.DefineRange(2, longest);
  writer.Mark(10, 1, 12);
  writer.Captured(0, 10);
  writer.Mark(11, 2);
  writer.Captured(0, 11);
  writer.Mark(12, shm::kNoRange, 0);
  writer.Captured(0, 12);
  writer.Captured(0, 13);
  while (session.Drain(reader.value(), 1) != 0) {  // a mark and its kernel in different drains
  }
  REQUIRE(session.kernels.size() == 4);
  CHECK(reader.value().Report().malformed == 0);
  const NamedMark both = reader.value().TakeMark(10);
  CHECK(both.range == "decode/attention");
  CHECK(both.step == 12);
  const NamedMark range = reader.value().TakeMark(11);
  CHECK(range.range == longest);
  CHECK(range.step == shm::kNoStep);
  const NamedMark step = reader.value().TakeMark(12);
  CHECK(step.range.empty());
  CHECK(step.step == 0);
  CHECK(reader.value().TakeMark(13).empty());
  CHECK(reader.value().TakeMark(10).empty());
}

TEST_CASE("damaged ranges and marks are counted, and their kernels are kept") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  WrittenRing writer(path);
  auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  ReadKernels session;
  std::uint64_t malformed = 0;
  const auto drain = [&](std::uint64_t more, std::size_t kernels) {
    session.kernels.clear();
    session.Drain(reader.value());
    malformed += more;
    CHECK(reader.value().Report().malformed == malformed);
    CHECK(session.kernels.size() == kernels);
    CHECK(reader.value().TakeMark(10).empty());
  };
  writer.Define(0, "k");
  writer.DefineRange(1, "range");
  drain(0, 0);
  SUBCASE("a range that is not defined") {
    writer.Mark(10, 2, 5);
    writer.Captured(0, 10);
    drain(1, 1);
  }
  SUBCASE("a mark without content") {
    writer.Mark(10, shm::kNoRange);
    writer.Captured(0, 10);
    drain(1, 1);
  }
  SUBCASE("a mark of a different launch") {
    writer.Mark(9, 1);
    writer.Captured(0, 10);
    drain(1, 1);
    CHECK(reader.value().TakeMark(9).empty());
  }
  SUBCASE("a mark of a launch that was not captured") {
    writer.Mark(10, 1);
    writer.Captured(0, 10, 0);
    drain(1, 1);
  }
  SUBCASE("a mark of a damaged kernel") {
    writer.Mark(10, 1);
    writer.Captured(77, 10);
    writer.Captured(0, 10);
    drain(1, 1);
  }
  SUBCASE("a mark that is not followed by a kernel") {
    writer.Mark(10, 1);
    writer.Mark(10, 1);
    writer.ring->queue.push(shm::Record(shm::NameRecord{}));  // counted too
    writer.Captured(0, 10);
    drain(3, 1);
  }
  SUBCASE("a range that is defined twice, or has no id, no path or a path that is too long") {
    writer.Mark(11, 1);
    writer.Captured(0, 11);
    drain(0, 1);
    CHECK(reader.value().TakeMark(11).range == "range");
    writer.DefineRange(1, "again");
    writer.DefineRange(shm::kNoRange, "zero");
    writer.DefineRange(2 * shm::kMaxRanges + 1, "high");
    writer.DefineRange(2, "");
    shm::NameRecord head;
    head.kind = shm::RecordKind::kRange;
    head.name_id = 3;
    head.length = shm::kMaxRangeBytes + 1;
    writer.Append(shm::Record(head));
    writer.Mark(10, 3);  // reads the definitions
    writer.Captured(0, 10);
    drain(6, 1);
    writer.Mark(11, 1);
    writer.Captured(0, 11);
    drain(0, 1);
    CHECK(reader.value().TakeMark(11).range == "range");
  }
}

}  // namespace
}  // namespace stemtap::session
