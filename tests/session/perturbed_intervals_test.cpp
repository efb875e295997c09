// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "session/engine.h"

namespace stemtap::session {
namespace {

TEST_CASE("intervals of more devices than the limit are forgotten") {
  PerturbedIntervals intervals;
  const auto add = [&](std::uint16_t device, std::uint16_t process, bool captured) {
    shm::KernelRecord record;
    record.start_ns = 1000;
    record.duration_ns = 10;
    record.device = device;
    record.flags = captured ? shm::kFlagCaptured : 0;
    return intervals.Add(record, process);
  };
  // Launches that are not captured need no memory.
  for (std::uint32_t device = 1; device <= PerturbedIntervals::kMaxDevices; ++device) {
    CHECK_FALSE(add(static_cast<std::uint16_t>(device), 1, false));
  }
  for (std::uint32_t device = 0; device < PerturbedIntervals::kMaxDevices; ++device) {
    CHECK(add(static_cast<std::uint16_t>(device), 0, true));
  }
  CHECK(add(0, 0, false));
  CHECK(add(0, 1, true));
  CHECK_FALSE(add(0, 0, false));
  CHECK(add(0, 1, false));
}

}  // namespace
}  // namespace stemtap::session
