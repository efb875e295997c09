// SPDX-License-Identifier: Apache-2.0
//
// Tests modules that are unloaded, with the names of their kernels, before the last records arrive.
// This must not end the program.
#include <doctest/doctest.h>

#include "injector/injected.h"

namespace stemtap::test {
namespace {

TEST_CASE("names that were read before they were unmapped are kept") {
  const Injected injected;
  const std::vector<std::string> arguments = {"50000", "print"};
  const ProcessResult bare = RunProcess(Command("exit_return", arguments), BareOptions());
  // With small buffers, some are full before the module is unloaded.
  const ProcessResult result = injected.Run(
      "exit_return", arguments, {{"FAKE_GPU_STALE_NAMES", "1"}, {"STEMTAP_BUFFER_KB", "64"}});
  CHECK(result.signal == 0);
  CHECK(result.exit_code == bare.exit_code);
  CHECK(result.out == bare.out);
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.state() == shm::RingState::kClosed);
  CHECK(ring.seen() == 50'000);
  CHECK(ring.lost_records() == 0);
  CHECK(SumByName(ring) == injected.ReadTruth().by_name);
}

TEST_CASE("records whose names were unmapped before they were read are counted") {
  const Injected injected;
  // The records fill less than one buffer, and the flush period is longer than the run, so nothing
  // is fetched before the exit.
  const ProcessResult result = injected.Run(
      "exit_return", {"500"}, {{"FAKE_GPU_STALE_NAMES", "1"}, {"STEMTAP_FLUSH_MS", "10000"}});
  CHECK(result.signal == 0);
  CHECK(result.exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.state() == shm::RingState::kClosed);
  CHECK(ring.seen() == 500);
  CHECK(ring.kept() == 0);
  CHECK(ring.lost(shm::Loss::kNameGone) == 500);
  CHECK(ring.lost_records() == 500);
}

TEST_CASE("a program whose seccomp filter kills it for other system calls is recorded") {
  const Injected injected;
  const ProcessResult bare = RunProcess({STEMTAP_TEST_FILTER_CALLS, "5000"}, BareOptions());
  if (bare.exit_code == 77) {
    MESSAGE("SKIPPED: this machine does not allow seccomp filters");
    return;
  }
  REQUIRE(bare.exit_code == 0);
  const ProcessResult result = injected.Run(STEMTAP_TEST_FILTER_CALLS, {"5000"});
  CHECK(result.signal == 0);
  CHECK(result.exit_code == 0);
  CHECK(result.out == bare.out);
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.state() == shm::RingState::kClosed);
  CHECK(ring.kept() == 5000);
  CHECK(SumByName(ring) == injected.ReadTruth().by_name);
}

}  // namespace
}  // namespace stemtap::test
