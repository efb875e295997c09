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

// The durations of victim.h.
double TrueDuration(std::uint64_t launches) {
  double sum = 0;
  for (std::uint64_t i = 0; i < launches; ++i) {
    sum += static_cast<double>(2000 + i % 3 * 10'000 + i * 37 % 500);
  }
  return sum;
}

TEST_CASE("times of a clock that does not count nanoseconds are converted") {
  for (const char* ticks : {"0.001", "1.02", "2.1"}) {
    CAPTURE(ticks);
    const Injected injected;
    Variables variables = kSlow;
    variables.emplace_back("FAKE_CUPTI_TICKS", ticks);
    REQUIRE(injected.Run("exit_return", kArguments, variables).exit_code == 0);
    Ring ring(injected.RingFile());
    ring.Drain();
    CHECK(ring.state() == shm::RingState::kClosed);
    CHECK(ring.kept() == 50'000);
    double sum = 0;
    for (const Ring::Kernel& kernel : ring.kernels()) {
      sum += static_cast<double>(kernel.record.duration_ns);
    }
    CHECK(sum == doctest::Approx(TrueDuration(50'000)).epsilon(0.002));
    CHECK(std::string(ring.header().reason).find("its times are converted") != std::string::npos);
  }
}

// 1000 ticks per nanosecond exceed 64 bits, so the clock stands still.
TEST_CASE("records of a clock that cannot be used are lost, and the header contains the reason") {
  const Injected injected;
  Variables variables = kSlow;
  variables.emplace_back("FAKE_CUPTI_TICKS", "1000");
  REQUIRE(injected.Run("exit_return", kArguments, variables).exit_code == 0);
  const Ring ring(injected.RingFile());
  CHECK(ring.seen() == 50'000);
  CHECK(ring.lost(shm::Loss::kBadTimestamps) == 50'000);
  CHECK(std::string(ring.header().reason).find("records in its unit are lost") !=
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
