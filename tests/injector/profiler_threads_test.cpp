// SPDX-License-Identifier: Apache-2.0
//
// Tests that captures of several threads do not end each other, because the profiler switch is per
// process.
#include <doctest/doctest.h>

#include "injector/injected.h"
#include "shm/context_key.h"

namespace stemtap::test {
namespace {

TEST_CASE("a capture is profiled to its end while other threads capture") {
  Injected injected;
  const std::string name = "gemm_tile_128";
  REQUIRE(injected.gate().Publish(shm::NameKey(shm::NameHash(name.data(), name.size())), 1));
  injected.gate().Grant(1, 1000);
  // A captured launch blocks its thread for 20 times the kernel's duration, so other threads launch
  // in the meantime. Its record contains this time, which identifies captured launches.
  const ProcessResult result = injected.Run("threads", {"9000"},
                                            {{"STEMTAP_LEVEL", "gate"},
                                             {"STEMTAP_ACTUATOR", "profiler"},
                                             {"STEMTAP_MAX_CAPTURES_PER_SECOND", "0"},
                                             {"FAKE_GPU_CAPTURE_FACTOR", "20"},
                                             {"FAKE_GPU_CAPTURE_SLOWS_RECORDS", "1"}});
  REQUIRE(result.exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.kept() == 9000);
  std::uint64_t marked = 0;
  std::uint64_t not_profiled = 0;
  for (const Ring::Kernel& kernel : ring.kernels()) {
    if (kernel.record.flags == 0) continue;
    ++marked;
    // Without a capture, no kernel of the program takes more than 22.5 us.
    not_profiled += kernel.record.duration_ns < 30'000;
  }
  CHECK(not_profiled == 0);
  CHECK(marked == ring.captured());
  CHECK(marked > 100);
  // Launches during the capture of a different thread were not captured and returned their credits.
  std::uint64_t paid = 0;
  for (const Ring::Kernel& kernel : ring.kernels()) paid += kernel.record.credit_slot == 1;
  CHECK(injected.gate().spent(1) == paid);
}

}  // namespace
}  // namespace stemtap::test
