// SPDX-License-Identifier: Apache-2.0
//
// Tests a user-supplied actuator library: its call arguments, the effect of its refusals, and
// programs whose actuator cannot be loaded.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "injector/injected.h"
#include "injector/wait_until.h"
#include "shm/context_key.h"
#include "support/paths.h"

namespace stemtap::test {
namespace {

constexpr std::uint32_t kSlot = 7;

std::uint64_t NameKey(std::string_view name) {
  return shm::NameKey(shm::NameHash(name.data(), name.size()));
}

Variables With(const Injected& injected, const Variables& more = {},
               const std::string& library = STEMTAP_TEST_ACTUATOR) {
  Variables variables = {{"STEMTAP_LEVEL", "gate"},
                         {"STEMTAP_ACTUATOR", "library:" + library},
                         {"ACTUATOR_LOG", injected.scratch("calls").string()}};
  variables.insert(variables.end(), more.begin(), more.end());
  return variables;
}

std::vector<std::string> Calls(const Injected& injected) {
  std::vector<std::string> lines;
  std::istringstream in(ReadFile(injected.scratch("calls")));
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Ring Drained(const Injected& injected) {
  return Ring(injected.RingFile());
}

TEST_CASE("start and stop bracket each captured launch and receive its description") {
  Injected injected;
  REQUIRE(injected.gate().Publish(NameKey("gemm"), kSlot));
  REQUIRE(injected.gate().Publish(NameKey("copy"), shm::kClosedSlot));
  injected.gate().Grant(kSlot, 2);
  const ProcessResult result = injected.Run(
      STEMTAP_TEST_LAUNCH_LIST, {"copy:3", "gemm:5", "copy:2", "long/new:1"}, With(injected));
  CHECK(result.exit_code == 0);
  CHECK(result.err.empty());
  const std::vector<std::string> calls = Calls(injected);
  REQUIRE(calls.size() == 8);
  CHECK(calls[0] == "init");
  const auto line = [&](std::size_t at, const std::string& what, const std::string& number,
                        const std::string& rest) {
    CAPTURE(calls[at]);
    CHECK(calls[at].starts_with(what + " number " + number + " id "));
    CHECK(calls[at].ends_with(rest));
  };
  const std::string plain =
      "grid 1,1,1 block 32,1,1 shared 0 device 0 flags 0 result 0 size 1 handles 1 overlap 0";
  line(1, "start gemm", "3", plain);
  line(2, "stop gemm", "3", plain);
  line(3, "start gemm", "4", plain);
  line(4, "stop gemm", "4", plain);
  const std::string large =
      "grid 2,3,4 block 64,2,1 shared 48 device 0 flags 1 result 0 size 1 handles 1 overlap 0";
  line(5, "start new", "10", large);
  line(6, "stop new", "10", large);
  CHECK(calls[7] == "exit");

  Ring ring = Drained(injected);
  ring.Drain();
  CHECK(ring.captured() == 3);
  // The id matches the record's id.
  for (const auto& [call, at] : {std::pair{1, 3}, {3, 4}, {5, 10}}) {
    const Ring::Kernel& kernel = ring.kernels()[static_cast<std::size_t>(at)];
    CHECK((kernel.record.flags & shm::kFlagCaptured) != 0);
    CHECK(calls[static_cast<std::size_t>(call)].find(
              " id " + std::to_string(kernel.record.correlation_id) + " ") != std::string::npos);
  }
}

TEST_CASE(
    "a launch that the library refuses keeps its credit, and the library is asked at the next") {
  Injected injected;
  REQUIRE(injected.gate().Publish(NameKey("gemm"), kSlot));
  injected.gate().Grant(kSlot, 1);
  REQUIRE(injected
              .Run(STEMTAP_TEST_LAUNCH_LIST, {"gemm:10", "new:2"},
                   With(injected, {{"ACTUATOR_REFUSE", "4"}}))
              .exit_code == 0);
  Ring ring = Drained(injected);
  ring.Drain();
  CHECK(ring.captured() == 2);
  CHECK(ring.lost(shm::Loss::kCapturesDenied) == 4);
  CHECK(injected.gate().spent(kSlot) == 1);
  CHECK((ring.kernels()[4].record.flags & shm::kFlagCaptured) != 0);
  CHECK((ring.kernels()[10].record.flags & shm::kFlagCaptured) != 0);  // first of `new`
  CHECK(std::count_if(ring.kernels().begin(), ring.kernels().end(),
                      [](const Ring::Kernel& kernel) { return kernel.record.flags != 0; }) == 2);
  CHECK(Calls(injected).size() == 6);  // init, two pairs, exit
}

TEST_CASE("a refused exploratory capture is made later") {
  Injected injected;
  injected.gate();
  REQUIRE(
      injected.Run(STEMTAP_TEST_LAUNCH_LIST, {"new:10"}, With(injected, {{"ACTUATOR_REFUSE", "3"}}))
          .exit_code == 0);
  Ring ring = Drained(injected);
  ring.Drain();
  CHECK(ring.captured() == 1);
  CHECK(ring.kernels()[3].record.flags == (shm::kFlagCaptured | shm::kFlagExploratory));
}

TEST_CASE(
    "a library that refuses all captures is called at most as often as captures are allowed") {
  Injected injected;
  REQUIRE(injected.gate().Publish(NameKey("gemm"), kSlot));
  injected.gate().Grant(kSlot, 1000);
  REQUIRE(injected
              .Run(STEMTAP_TEST_LAUNCH_LIST, {"gemm:500"},
                   With(injected,
                        {{"ACTUATOR_REFUSE", "1000"}, {"STEMTAP_MAX_CAPTURES_PER_SECOND", "10"}}))
              .exit_code == 0);
  Ring ring = Drained(injected);
  ring.Drain();
  CHECK(ring.captured() == 0);
  CHECK(ring.lost(shm::Loss::kCapturesDenied) >= 10);
  CHECK(ring.lost(shm::Loss::kCapturesDenied) < 250);
  CHECK(ring.lost(shm::Loss::kCapturesDenied) + ring.lost(shm::Loss::kCapturesThrottled) == 500);
}

TEST_CASE("stop is called for a launch that the driver refused") {
  Injected injected;
  REQUIRE(injected.gate().Publish(NameKey("gemm"), kSlot));
  injected.gate().Grant(kSlot, 1);
  REQUIRE(
      injected.Run(STEMTAP_TEST_LAUNCH_LIST, {"bad/gemm:1", "gemm:2"}, With(injected)).exit_code ==
      0);
  const std::vector<std::string> calls = Calls(injected);
  REQUIRE(calls.size() == 6);
  CHECK(calls[1].find(" result 0 ") != std::string::npos);
  CHECK(calls[2].starts_with("stop gemm number 0 "));
  CHECK(calls[2].find(" result 1 ") != std::string::npos);  // CUDA_ERROR_INVALID_VALUE
  CHECK(calls[4].find(" result 0 ") != std::string::npos);
  CHECK(injected.gate().spent(kSlot) == 1);
}

TEST_CASE("a launch inside start runs and is not captured") {
  Injected injected;
  REQUIRE(injected.gate().Publish(NameKey("gemm"), kSlot));
  injected.gate().Grant(kSlot, 3);
  REQUIRE(
      injected.Run(STEMTAP_TEST_LAUNCH_LIST, {"gemm:3"}, With(injected, {{"ACTUATOR_LAUNCH", "1"}}))
          .exit_code == 0);
  Ring ring = Drained(injected);
  ring.Drain();
  CHECK(ring.kept() == 6);
  CHECK(ring.gated() == 6);
  CHECK(ring.captured() == 3);
  CHECK(ring.lost(shm::Loss::kCapturesDenied) == 2);  // no credit was left for a third one
  CHECK(injected.gate().spent(kSlot) == 3);
}

TEST_CASE("captures of several threads never overlap in the library") {
  Injected injected;
  REQUIRE(injected.gate().Publish(NameKey("gemm_tile_128"), kSlot));
  injected.gate().Grant(kSlot, 2000);
  REQUIRE(
      injected.Run("threads", {"40000"}, With(injected, {{"STEMTAP_MAX_CAPTURES_PER_SECOND", "0"}}))
          .exit_code == 0);
  const std::vector<std::string> calls = Calls(injected);
  CHECK(calls.size() > 100);
  std::size_t odd = 0;
  for (std::size_t i = 1; i + 1 < calls.size(); ++i) {
    odd += !calls[i].starts_with(i % 2 == 1 ? "start" : "stop");
    odd += !calls[i].ends_with("overlap 0");
  }
  CHECK(odd == 0);
  CHECK(calls.back() == "exit");
}

TEST_CASE("a forked child does not call the library") {
  Injected injected;
  injected.gate();
  REQUIRE(injected.Run("fork_child", {"100"}, With(injected)).exit_code == 0);
  const std::vector<std::string> calls = Calls(injected);
  CHECK(calls.front() == "init");
  CHECK(std::count(calls.begin(), calls.end(), "exit") == 1);
  CHECK(calls.back() == "exit");
}

TEST_CASE("without the library, nothing is captured, and the program continues") {
  struct Case {
    std::string library;
    std::string said;
    Variables more;
  };
  for (const Case& c :
       std::vector<Case>{{"/nowhere/lib.so", "/nowhere/lib.so: cannot open shared object file", {}},
                         {STEMTAP_TEST_SOURCE_DIR "/README.md", "README.md: ", {}},
                         {STEMTAP_TEST_EMPTY_LIBRARY, " lacks stemtap_capture_start", {}},
                         {STEMTAP_TEST_ACTUATOR_NO_STOP, " lacks stemtap_capture_stop", {}},
                         {"", "the actuator has no path; expected library:PATH", {}},
                         {STEMTAP_TEST_ACTUATOR,
                          ": stemtap_actuator_init returned 5",
                          {{"ACTUATOR_INIT", "5"}}}}) {
    CAPTURE(c.library);
    Injected injected;
    REQUIRE(injected.gate().Publish(NameKey("gemm"), kSlot));
    injected.gate().Grant(kSlot, 5);
    const ProcessResult result =
        injected.Run(STEMTAP_TEST_LAUNCH_LIST, {"gemm:10"}, With(injected, c.more, c.library));
    CHECK(result.exit_code == 0);
    CHECK(result.out == "launches 10 captured 0\n");
    CHECK(result.err.starts_with("stemtap: nothing will be captured: "));
    CHECK(result.err.find(c.said) != std::string::npos);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    Ring ring = Drained(injected);
    ring.Drain();
    CHECK(ring.state() == shm::RingState::kClosed);
    CHECK(ring.kept() == 10);
    CHECK(ring.captured() == 0);
    CHECK(injected.gate().spent(kSlot) == 0);
    CHECK(std::string(ring.header().reason).starts_with("nothing will be captured: "));
    CHECK(std::string(ring.header().reason).find(c.said) != std::string::npos);
  }
}

}  // namespace
}  // namespace stemtap::test
