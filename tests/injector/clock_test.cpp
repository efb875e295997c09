// SPDX-License-Identifier: Apache-2.0
//
// Tests a second profiler that replaces CUPTI's clock for the whole process.
#include <doctest/doctest.h>

#include "injector/injected.h"

namespace stemtap::test {
namespace {

// Enough for several flushes, with 12 us per kernel as on a real GPU and a flush every 50 ms.
const std::vector<std::string> kArguments = {"50000"};
const Variables kSlow = {{"FAKE_GPU_CLOCK", "real"}, {"STEMTAP_FLUSH_MS", "60"}};

TEST_CASE(
    "timestamps that are not nanoseconds are not recorded, and the header contains the reason") {
  const Injected injected;
  Variables variables = kSlow;
  variables.emplace_back("FAKE_CUPTI_TICKS", "2.1");
  REQUIRE(injected.Run("exit_return", kArguments, variables).exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.state() == shm::RingState::kClosed);
  CHECK(ring.seen() == 50'000);
  CHECK(ring.seen() == ring.kept() + ring.lost_records());
  // The clock check needs two intervals first.
  CHECK(ring.lost(shm::Loss::kBadTimestamps) > 20'000);
  CHECK(std::string(ring.header().reason).find("no longer counts nanoseconds") !=
        std::string::npos);
}

TEST_CASE("the usual clock and an unreadable clock are trusted") {
  for (const char* failing : {"", "cuptiGetTimestamp=999"}) {
    const Injected injected;
    Variables variables = kSlow;
    variables.emplace_back("FAKE_CUPTI_FAIL", failing);
    REQUIRE(injected.Run("exit_return", kArguments, variables).exit_code == 0);
    const Ring ring(injected.RingFile());
    CHECK(ring.kept() == 50'000);
    CHECK(std::string(ring.header().reason).empty());
  }
}

}  // namespace
}  // namespace stemtap::test
