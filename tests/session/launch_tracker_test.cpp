// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "session/launch_tracker.h"

namespace stemtap::session {
namespace {

TEST_CASE("histories of more streams than the limit are forgotten") {
  StreamHistories histories;
  const auto advance = [&](std::uint32_t stream) {
    shm::KernelRecord record;
    record.stream = stream;
    return histories.Advance(record, 0x9E3779B97F4A7C15);
  };
  for (std::uint32_t s = 1; s < StreamHistories::kMaxStreams; ++s) CHECK(advance(s - 1) == 0);
  CHECK(histories.Of(shm::KernelRecord()) != 0);
  CHECK(advance(StreamHistories::kMaxStreams) == 0);
  CHECK(histories.Of(shm::KernelRecord()) == 0);
}

}  // namespace
}  // namespace stemtap::session
