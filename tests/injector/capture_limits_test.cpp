// SPDX-License-Identifier: Apache-2.0
//
// Tests the limits that prevent captures from harming the program: captures per second, the
// watchdog, and graphs under stream capture.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <thread>

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

// Granted has a gate in which each kernel in `names` has a thousand credits.
struct Granted : Injected {
  explicit Granted(const std::vector<std::string>& names) {
    for (const std::string& name : names) REQUIRE(gate().Publish(NameKey(name), kSlot));
    gate().Grant(kSlot, 1000);
  }
};

Variables Acting(const std::string& actuator, const Variables& more) {
  Variables variables = {
      {"STEMTAP_LEVEL", "gate"}, {"STEMTAP_ACTUATOR", actuator}, {"FAKE_GPU_CAPTURE_FACTOR", "1"}};
  if (std::none_of(more.begin(), more.end(),
                   [](const auto& variable) { return variable.first == "STEMTAP_FLUSH_MS"; })) {
    variables.emplace_back("STEMTAP_FLUSH_MS", "20");
  }
  variables.insert(variables.end(), more.begin(), more.end());
  return variables;
}

struct Launches {
  Launches(const Injected& injected, const std::vector<std::string>& list,
           const Variables& variables)
      : result(injected.Run(STEMTAP_TEST_LAUNCH_LIST, list, variables)), ring(injected.RingFile()) {
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    ring.Drain();
    CHECK(ring.seen() == ring.kept() + ring.lost_records());
  }
  std::uint64_t marked() const {
    std::uint64_t sum = 0;
    for (const Ring::Kernel& kernel : ring.kernels()) sum += kernel.record.flags != 0;
    return sum;
  }
  std::string reason() const { return ring.header().reason; }

  ProcessResult result;
  Ring ring;
};

constexpr const char* kLibrary = "library:" STEMTAP_TEST_ACTUATOR;

TEST_CASE("a throttled launch is not captured, is counted, and keeps its credit") {
  Granted injected({"gemm"});
  const auto start = std::chrono::steady_clock::now();
  const Launches run(injected, {"gemm:500"},
                     Acting("profiler", {{"STEMTAP_MAX_CAPTURES_PER_SECOND", "20"}}));
  // The burst of one second, plus the tokens that accrued in the meantime.
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK(run.ring.captured() >= 20);
  CHECK(static_cast<double>(run.ring.captured()) <= 20 + 20 * took + 1);
  CHECK(run.ring.captured() + run.ring.lost(shm::Loss::kCapturesThrottled) == 500);
  CHECK(run.ring.lost(shm::Loss::kCapturesDenied) == 0);
  CHECK(injected.gate().spent(kSlot) == run.ring.captured());
  CHECK(run.marked() == run.ring.captured());
}

TEST_CASE("a throttled kernel is captured when new tokens have accrued") {
  Granted injected({"gemm"});
  const Launches run(injected, {"gemm:5", "pause/600", "gemm:5"},
                     Acting("profiler", {{"STEMTAP_MAX_CAPTURES_PER_SECOND", "2"}}));
  CHECK(run.ring.captured() >= 3);  // two at once, one after half a second
  CHECK(run.ring.kernels()[5].record.flags == shm::kFlagCaptured);
}

TEST_CASE("a throttled exploratory capture is made later") {
  Injected injected;
  injected.gate();
  const Launches run(injected, {"a:1", "b:1", "pause/1100", "b:2"},
                     Acting("log", {{"STEMTAP_MAX_CAPTURES_PER_SECOND", "1"}}));
  CHECK(run.ring.lost(shm::Loss::kCapturesThrottled) == 1);
  CHECK(run.ring.kernels()[1].record.flags == 0);
  CHECK(run.ring.kernels()[2].record.flags == (shm::kFlagCaptured | shm::kFlagExploratory));
  CHECK(run.ring.kernels()[3].record.flags == 0);
}

TEST_CASE("by default, only actuators that affect launches are limited") {
  Granted injected({"gemm"});
  const Launches log(injected, {"gemm:400"}, Acting("log", {}));
  CHECK(log.ring.captured() == 400);
  CHECK(log.ring.lost(shm::Loss::kCapturesThrottled) == 0);
  Granted another({"gemm"});
  const Launches profiler(another, {"gemm:400"}, Acting("profiler", {}));
  CHECK(profiler.ring.captured() >= 100);
  CHECK(profiler.ring.captured() < 400);
}

TEST_CASE("captures end after a launch that does not return from its capture") {
  Granted injected({"stuck_kernel", "gemm"});
  const std::string go = injected.scratch("go").string();
  Process child(
      Command(STEMTAP_TEST_LAUNCH_LIST, {"stuck_kernel:1", "gemm:50"}),
      injected.Options(Acting(kLibrary, {{"STEMTAP_WATCHDOG_MS", "200"}, {"ACTUATOR_BLOCK", go}})));
  Ring ring = [&] {
    REQUIRE(WaitUntil([&] { return !injected.RingFiles().empty(); }));
    return Ring(injected.RingFile());
  }();
  const std::string said = "no more captures: stuck_kernel is still being captured after 0.2 s";
  CHECK(WaitUntil([&] { return std::string(ring.header().reason) == said; }));
  std::ofstream(go) << "go";
  const ProcessResult result = child.Wait();
  CHECK(result.exit_code == 0);
  CHECK(result.err == "stemtap: " + said + "\n");  // reported once, when it happened
  ring.Drain();
  CHECK(ring.kept() == 51);
  CHECK(ring.captured() == 1);
  CHECK(injected.gate().spent(kSlot) == 1);  // the others kept their credits
  CHECK(ring.lost(shm::Loss::kCapturesDenied) == 0);
}

TEST_CASE("captures end after a captured kernel that is not followed by kernel records") {
  Granted injected({"endless", "gemm"});
  const Launches run(
      injected, {"gemm:1", "pause/150", "long/endless:1800", "pause/1500", "gemm:20"},
      Acting(kLibrary, {{"STEMTAP_WATCHDOG_MS", "300"}, {"FAKE_GPU_CLOCK", "real"}}));
  const std::string said =
      "no more captures: endless was captured, and no kernel record has arrived for 0.3 s";
  CHECK(run.reason().starts_with(said));  // records may have arrived again just before the end
  CHECK(run.result.err == "stemtap: " + said + "\n");
  CHECK(run.ring.kept() == 22);
  CHECK(run.ring.captured() == 2);
}

TEST_CASE("captures resume when records arrive again") {
  Granted injected({"endless", "gemm"});
  const Launches run(
      injected, {"gemm:1", "pause/150", "long/endless:900", "pause/1800", "gemm:20", "pause/200"},
      Acting(kLibrary, {{"STEMTAP_WATCHDOG_MS", "300"},
                        {"STEMTAP_FLUSH_MS", "50"},
                        {"FAKE_GPU_CLOCK", "real"}}));
  CHECK(run.reason() ==
        "no more captures: endless was captured, and no kernel record has arrived for 0.3 s; "
        "captures resume: records arrive again");
  CHECK(run.ring.kept() == 22);
  CHECK(run.ring.captured() == 22);
}

TEST_CASE("the actuator's stop is called if recording stops during a capture") {
  Granted injected({"gemm_tile_128"});
  injected.gate().Grant(kSlot, 1);
  const std::string go = injected.scratch("go").string();
  const std::string log = injected.scratch("calls").string();
  // Eight threads; one thread is blocked in its capture.
  Process child(Command("threads", {"4000000"}),
                injected.Options(Acting(kLibrary, {{"FAKE_GPU_CLOCK", "real"},
                                                   {"STEMTAP_MAX_OVERHEAD", "0.001"},
                                                   {"STEMTAP_FLUSH_MS", "50"},
                                                   {"ACTUATOR_LOG", log},
                                                   {"ACTUATOR_BLOCK", go}})));
  Ring ring = [&] {
    REQUIRE(WaitUntil([&] { return !injected.RingFiles().empty(); }));
    return Ring(injected.RingFile());
  }();
  CHECK(WaitUntil([&] {
    return std::string(ring.header().reason).find("recording stopped") != std::string::npos;
  }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // several watchdog checks
  std::ofstream(go) << "go";
  CHECK(child.Wait().exit_code == 0);
  const std::string calls = ReadFile(log);
  CAPTURE(calls);
  const std::size_t start = calls.find("start ");
  const std::size_t stop = calls.find("stop ");
  REQUIRE(start != std::string::npos);
  REQUIRE(stop != std::string::npos);
  CHECK(start < stop);
  CHECK(calls.find("exit", stop) != std::string::npos);
  CHECK(calls.find("start ", start + 1) == std::string::npos);
}

TEST_CASE("the watchdog ignores a program that is idle or pauses between captures") {
  Granted injected({"gemm"});
  // Every second record is lost, so its capture stays pending forever.
  const Launches run(injected, {"gemm:4", "pause/700", "gemm:4", "pause/700", "gemm:4"},
                     Acting("profiler", {{"STEMTAP_WATCHDOG_MS", "400"},
                                         {"STEMTAP_FLUSH_MS", "100"},
                                         {"FAKE_CUPTI_DROP", "2"}}));
  CHECK(run.reason().empty());
  CHECK(run.result.err.empty());
  CHECK(run.ring.captured() == 12);
}

TEST_CASE("the value 0 disables the watchdog, and log captures are not watched") {
  for (const auto& [actuator, limit] :
       std::vector<std::pair<std::string, std::string>>{{kLibrary, "0"}, {"log", "100"}}) {
    CAPTURE(actuator);
    Granted injected({"endless", "gemm"});
    const Launches run(
        injected, {"long/endless:500", "pause/400", "gemm:5"},
        Acting(actuator, {{"STEMTAP_WATCHDOG_MS", limit}, {"FAKE_GPU_CLOCK", "real"}}));
    CHECK(run.reason().empty());
    CHECK(run.result.err.empty());
    CHECK(run.ring.captured() == 6);
  }
}

TEST_CASE("captures stop when recording stops") {
  // Exceeds the overhead budget (see levels_test) after about 3 s of 6 s.
  Granted injected({"gemm_tile_128"});
  injected.gate().Grant(kSlot, 1'000'000);
  REQUIRE(injected
              .Run("exit_return", {"500000"},
                   Acting(kLibrary, {{"FAKE_GPU_CLOCK", "real"},
                                     {"STEMTAP_FLUSH_MS", "200"},
                                     {"STEMTAP_MAX_OVERHEAD", "5"},
                                     {"FAKE_CUPTI_OVERHEAD_NS", "2000"},
                                     {"STEMTAP_MAX_CAPTURES_PER_SECOND", "50"},
                                     {"STEMTAP_WATCHDOG_MS", "1000"}}))
              .exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  const std::string reason = ring.header().reason;
  CHECK(reason.find("recording stopped") != std::string::npos);
  CHECK(reason.find("no more captures") == std::string::npos);
  std::uint64_t marked = 0;
  for (const Ring::Kernel& kernel : ring.kernels()) marked += kernel.record.flags != 0;
  CHECK(marked >= 50);
  // Records of the last flush period and records that did not fit into the ring may be missing.
  CHECK(ring.captured() >= marked);
  if (ring.lost(shm::Loss::kRingFull) == 0) CHECK(ring.captured() <= marked + 50 / 2);
}

TEST_CASE("actuators do not act while another stream is captured into a graph") {
  for (const std::string actuator : {"profiler", kLibrary}) {
    CAPTURE(actuator);
    Granted injected({"gemm"});
    // own/ launches into the captured stream. These launches do not run or count as denied.
    const Launches run(injected, {"gemm:2", "begin/", "gemm:3", "own/gemm:4", "end/", "gemm:5"},
                       Acting(actuator, {}));
    CHECK(run.ring.kept() == 10);
    CHECK(run.ring.gated() == 10);
    CHECK(run.ring.captured() == 7);
    CHECK(run.ring.lost(shm::Loss::kCapturesDenied) == 3);
    CHECK(injected.gate().spent(kSlot) == 7);
    for (std::size_t i = 0; i < 10; ++i) {
      CAPTURE(i);
      CHECK(run.ring.kernels()[i].record.flags == (i >= 2 && i < 5 ? 0 : shm::kFlagCaptured));
    }
  }
}

TEST_CASE("the log actuator continues while another stream is captured into a graph") {
  Granted injected({"gemm"});
  const Launches run(injected, {"begin/", "gemm:3", "own/gemm:4", "end/"}, Acting("log", {}));
  CHECK(run.ring.captured() == 3);
  CHECK(run.ring.lost(shm::Loss::kCapturesDenied) == 0);
}

TEST_CASE("repeated stream captures all end") {
  Granted injected({"gemm"});
  std::vector<std::string> list;
  for (int i = 0; i < 20; ++i) list.insert(list.end(), {"begin/", "own/gemm:1", "end/", "gemm:1"});
  CHECK(Launches(injected, list, Acting("profiler", {})).ring.captured() == 20);
}

TEST_CASE("failed calls neither begin nor end a stream capture") {
  Granted injected({"gemm"});
  const Launches run(injected,
                     {"badend/", "begin/", "badbegin/", "badbegin/", "gemm:3", "end/", "badend/",
                      "gemm:4", "begin/", "gemm:2", "end/"},
                     Acting("profiler", {}));
  CHECK(run.ring.captured() == 4);
  CHECK(run.ring.lost(shm::Loss::kCapturesDenied) == 5);
}

TEST_CASE("launches that become graph nodes or cannot be captured take no token") {
  Granted injected({"gemm"});
  const Launches run(injected, {"begin/", "own/gemm:50", "gemm:50", "end/", "gemm:5"},
                     Acting("profiler", {{"STEMTAP_MAX_CAPTURES_PER_SECOND", "5"}}));
  CHECK(run.ring.captured() == 5);
  CHECK(run.ring.lost(shm::Loss::kCapturesThrottled) == 0);
}

TEST_CASE("the legacy default stream is not queried while CUDA cannot report its capture state") {
  // The driver would return an error even for the log actuator.
  Granted injected({"gemm"});
  const Launches run(injected, {"null/gemm:2", "begin/", "null/gemm:3", "end/", "null/gemm:4"},
                     Acting("log", {}));
  CHECK(run.ring.kept() == 9);
  CHECK(run.ring.captured() == 6);
  CHECK(injected.gate().spent(kSlot) == 6);
  for (std::size_t i = 0; i < 9; ++i) {
    CAPTURE(i);
    CHECK(run.ring.kernels()[i].record.flags == (i >= 2 && i < 5 ? 0 : shm::kFlagCaptured));
  }
}

}  // namespace
}  // namespace stemtap::test
