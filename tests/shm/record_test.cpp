// SPDX-License-Identifier: Apache-2.0
#include "shm/record.h"

#include <doctest/doctest.h>

#include "shm/loss.h"
#include "shm/ring.h"

namespace stemtap::shm {
namespace {

TEST_CASE("a name uses as many records as its bytes need") {
  CHECK(NameRecordCount(0) == 1);
  CHECK(NameRecordCount(40) == 1);
  CHECK(NameRecordCount(41) == 2);
  CHECK(NameRecordCount(40 + 62) == 2);
  CHECK(NameRecordCount(40 + 63) == 3);
  CHECK(NameRecordCount(kMaxNameBytes) == 1 + (kMaxNameBytes - 40 + 61) / 62);
}

TEST_CASE("every loss reason has a name, and record losses come first") {
  for (const char* name : kLossNames) CHECK(name != nullptr);
  CHECK(static_cast<std::uint32_t>(Loss::kCuptiDropped) < kRecordLossCount);
  CHECK(static_cast<std::uint32_t>(Loss::kPoolExhausted) == kRecordLossCount);
}

TEST_CASE("the first byte of every record type is its kind") {
  CHECK(Record(KernelRecord{}).kind == RecordKind::kKernel);
  CHECK(Record(NameRecord{}).kind == RecordKind::kName);
  CHECK(Record(NameBytes{}).kind == RecordKind::kNameBytes);
  CHECK(Record(MarkRecord{}).kind == RecordKind::kMark);
}

}  // namespace
}  // namespace stemtap::shm
