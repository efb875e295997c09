// SPDX-License-Identifier: Apache-2.0
//
// Tests ways to end (tests/programs/exit_how.c) that ends_test.cpp does not cover: the program ends
// as without the library, and the records counted as kept are in the ring.
#include <doctest/doctest.h>
#include <signal.h>

#include "injector/injected.h"

namespace stemtap::test {
namespace {

struct Ended {
  std::uint64_t launches = 0;  // as counted by the simulated driver; 0 if it could not count
  std::uint64_t kept = 0, lost = 0;
  shm::RingState state{};
};

Ended Run(const char* how, int exit_code, int signal, const char* clock,
          const char* launches = "5000") {
  CAPTURE(how);
  CAPTURE(clock);
  const Injected injected;
  const Variables variables = {{"FAKE_GPU_CLOCK", clock}, {"STEMTAP_FLUSH_MS", "10"}};
  const ProcessResult result = injected.Run("exit_how", {launches, how}, variables);
  INFO(result.err);
  CHECK(result.exit_code == exit_code);
  CHECK(result.signal == signal);
  CHECK_FALSE(result.timed_out);
  CHECK(result.err.empty());
  Ring ring(injected.RingFile());
  ring.Drain();
  Ended ended;
  ended.kept = ring.kept();
  ended.lost = ring.lost_records();
  ended.state = ring.state();
  CHECK(ring.seen() == ended.kept + ended.lost);
  CHECK(ring.kernels().size() == ended.kept);
  if (std::filesystem::exists(injected.scratch("truth"))) {
    ended.launches = injected.ReadTruth().launches;
    CHECK(ended.kept + ended.lost <= ended.launches);
  }
  return ended;
}

TEST_CASE("the ring is consistent after quick_exit, SIGTERM and execve, which run no handler") {
  for (const char* clock : {"virtual", "real"}) {
    CHECK(Run("quick", 11, 0, clock).state == shm::RingState::kRecording);
    CHECK(Run("sigterm", -1, SIGTERM, clock).state == shm::RingState::kRecording);
    CHECK(Run("exec", 0, 0, clock).state == shm::RingState::kRecording);
  }
}

TEST_CASE("exit from another thread while kernels run leaves a consistent ring") {
  for (const char* clock : {"virtual", "real"}) {
    const Ended ended = Run("thread", 12, 0, clock);
    CHECK(ended.state == shm::RingState::kClosed);
    CHECK(ended.kept + ended.lost >= 5000);
  }
}

TEST_CASE("exit while other threads launch leaves a consistent ring") {
  for (const char* clock : {"virtual", "real"}) {
    const Ended ended = Run("storm", 13, 0, clock);
    CHECK(ended.state == shm::RingState::kClosed);
    CHECK(ended.kept > 0);
  }
}

TEST_CASE("launches in destructors after the ring is closed change no count") {
  for (const char* clock : {"virtual", "real"}) {
    const Ended ended = Run("destructor", 0, 0, clock);
    CHECK(ended.state == shm::RingState::kClosed);
    CHECK(ended.launches == 10'000);
    CHECK(ended.kept + ended.lost == 5000);
    if (clock[0] == 'v') CHECK(ended.lost == 0);
  }
}

TEST_CASE("all launches are accounted for without synchronization or cleanup") {
  for (const char* clock : {"virtual", "real"}) {
    const Ended ended = Run("reset", 0, 0, clock);
    CHECK(ended.state == shm::RingState::kClosed);
    CHECK(ended.kept + ended.lost == 5000);
    if (clock[0] == 'v') CHECK(ended.lost == 0);
  }
}

}  // namespace
}  // namespace stemtap::test
