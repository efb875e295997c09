// SPDX-License-Identifier: Apache-2.0
//
// Tests known misbehavior of CUPTI: the injected library follows the rules that the simulated CUPTI
// checks, and no incorrect time is recorded.
#include <doctest/doctest.h>

#include <sstream>

#include "injector/injected.h"

namespace stemtap::test {
namespace {

// Returns the value of `key` on the first line of the ground truth.
std::uint64_t FirstLine(const Injected& injected, const std::string& key) {
  std::istringstream words(ReadFile(injected.scratch("truth")));
  std::string word;
  while (words >> word && word != key) {
  }
  std::uint64_t number = ~std::uint64_t{0};
  words >> number;
  return number;
}

struct Account {
  std::uint64_t kept, seen, lost;
};

Account CheckAccounts(Ring& ring) {
  ring.Drain();
  CHECK(ring.state() == shm::RingState::kClosed);
  CHECK(ring.seen() == ring.kept() + ring.lost_records());
  CHECK(ring.kernels().size() == ring.kept());
  return {ring.kept(), ring.seen(), ring.lost_records()};
}

TEST_CASE("buffers that CUPTI owns are not touched, start zeroed, and are all returned") {
  for (const char* program : {"exit_return", "threads", "graph", "reload_modules"}) {
    for (const char* clock : {"virtual", "real"}) {
      CAPTURE(program);
      CAPTURE(clock);
      const Injected injected;
      const ProcessResult result = injected.Run(
          program, {"5000"},
          {{"FAKE_CUPTI_GUARD", "1"}, {"FAKE_GPU_CLOCK", clock}, {"STEMTAP_FLUSH_MS", "10"}});
      INFO(result.err);
      REQUIRE(result.exit_code == 0);
      Ring ring(injected.RingFile());
      CheckAccounts(ring);
      CHECK(FirstLine(injected, "buffers_lent") > 0);
      CHECK(FirstLine(injected, "buffers_unreturned") == 0);
      CHECK(FirstLine(injected, "buffers_unzeroed") == 0);
    }
  }
}

// If a lock is held across the call, every second run meets a callback, so the probability that all
// eight runs miss it is 1/250.
TEST_CASE("the library holds no lock across a call that a callback waits for") {
  for (int run = 0; run < 8; ++run) {
    const Injected injected;
    // This is shorter than the library's wait at exit, which would release such a lock.
    const ProcessResult result = injected.Run("threads", {"300000"},
                                              {{"FAKE_CUPTI_DEADLOCK_MS", "400"},
                                               {"FAKE_CUPTI_CALLBACK_US", "5000"},
                                               {"STEMTAP_FLUSH_MS", "10"}});
    CHECK(result.exit_code == 0);
    CHECK(result.err == "");
  }
}

TEST_CASE("records of future sizes are decoded correctly") {
  for (const char* version : {"130000", "130100", "130200", "130300", "130400", "139900"}) {
    CAPTURE(version);
    const Injected injected;
    REQUIRE(injected.Run("exit_return", {"10000"}, {{"FAKE_CUPTI_VERSION", version}}).exit_code ==
            0);
    Ring ring(injected.RingFile());
    CHECK(CheckAccounts(ring).lost == 0);
    CHECK(SumByName(ring) == injected.ReadTruth().by_name);
  }
}

TEST_CASE("copies are recorded, so that kernels have times after a graph leaked device memory") {
  for (const char* version : {"130001", "130300"}) {
    CAPTURE(version);
    const Injected injected;
    REQUIRE(injected
                .Run("graph", {"10000"},
                     {{"FAKE_CUPTI_GRAPH_LEAK", "8000000"}, {"FAKE_CUPTI_VERSION", version}})
                .exit_code == 0);
    Ring ring(injected.RingFile());
    CHECK(CheckAccounts(ring).lost == 0);
    CHECK(ring.kept() == 10'000);
  }
}

TEST_CASE("a clock that is set during a kernel drops at most that record") {
  for (const char* step : {"-3600000000000", "3600000000000", "-5000"}) {
    for (const char* clock : {"virtual", "real"}) {
      CAPTURE(step);
      CAPTURE(clock);
      const Injected injected;
      REQUIRE(injected
                  .Run("exit_return", {"10000"},
                       {{"FAKE_GPU_CLOCK_STEP_AT", "5002"},  // inside a kernel of 12 us
                        {"FAKE_GPU_CLOCK_STEP_NS", step},
                        {"FAKE_GPU_CLOCK", clock}})
                  .exit_code == 0);
      Ring ring(injected.RingFile());
      const Account account = CheckAccounts(ring);
      CHECK(account.seen == 10'000);
      CHECK(account.lost <= 1);
      if (std::string(step) != "-5000") CHECK(ring.lost(shm::Loss::kBadTimestamps) == 1);
    }
  }
}

TEST_CASE("a name with control characters is counted and not kept") {
  const Injected injected;
  const ProcessResult result = injected.Run(
      STEMTAP_TEST_LAUNCH_LIST, {"_Z5k\xc3\xa4rnelv:30", "k\x01:5", "\x7f:7", "after:3"});
  REQUIRE(result.exit_code == 0);
  Ring ring(injected.RingFile());
  CHECK(CheckAccounts(ring).kept == 33);
  CHECK(ring.lost(shm::Loss::kNameGone) == 12);
  CHECK(SumByName(ring)["_Z5k\xc3\xa4rnelv"].count == 30);
  CHECK(SumByName(ring)["after"].count == 3);
}

TEST_CASE("a forked child does not call CUPTI, because the call would not return") {
  for (const char* mode : {"abort", "hang"}) {
    CAPTURE(mode);
    const Injected injected;
    const ProcessResult result =
        injected.Run("fork_child", {"2000", "check"}, {{"FAKE_CUPTI_FORK", mode}});
    CHECK(result.exit_code == 0);
    CHECK_FALSE(result.timed_out);
    Ring ring(injected.RingFile());
    CHECK(CheckAccounts(ring).kept == 2000);
  }
}

}  // namespace
}  // namespace stemtap::test
