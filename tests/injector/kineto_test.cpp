// SPDX-License-Identifier: Apache-2.0
//
// Tests the library with Kineto in the same process (tests/programs/fake_kineto.c): Kineto gets its
// own records, and the injected library gets the rest and reports what it could not record.
#include <doctest/doctest.h>

#include <random>
#include <sstream>

#include "injector/injected.h"

namespace stemtap::test {
namespace {

struct Kineto {
  std::uint64_t sessions = 0, records = 0, unknown_buffers = 0, unknown_records = 0, lent = 0;
  int subscribe = 0;
};

Kineto ReadReport(const std::filesystem::path& file) {
  Kineto kineto;
  std::istringstream words(ReadFile(file));
  std::string word;
  words >> word >> kineto.sessions >> word >> kineto.subscribe >> word >> kineto.records >> word >>
      kineto.unknown_buffers >> word >> kineto.unknown_records >> word >> kineto.lent;
  REQUIRE(words);
  return kineto;
}

struct Result {
  ProcessResult process;
  Kineto kineto;
};

Result Run(const Injected& injected, const std::string& program, const Variables& more,
           const std::vector<std::string>& arguments = {"9000"}, int exit_code = 0) {
  Variables variables = {{"LD_PRELOAD", STEMTAP_TEST_FAKE_KINETO},
                         {"FAKE_KINETO_REPORT", injected.scratch("kineto").string()},
                         {"FAKE_KINETO_WAIT_MS", "300"},
                         {"STEMTAP_FLUSH_MS", "10"}};
  for (const auto& later : more) {
    std::erase_if(variables, [&](const auto& earlier) { return earlier.first == later.first; });
    variables.push_back(later);
  }
  Result result;
  result.process = injected.Run(program, arguments, variables);
  INFO(result.process.err);
  CHECK(result.process.exit_code == exit_code);
  CHECK(result.process.err.empty());
  result.kineto = ReadReport(injected.scratch("kineto"));
  return result;
}

// Launches of victim.h take 2,000, 12,000 or 22,000 ns, plus up to 499 ns. `rounded_ns`: error of
// converted times.
void CheckNoDurationIsWrong(const Ring& ring, std::uint64_t rounded_ns) {
  for (const Ring::Kernel& kernel : ring.kernels()) {
    const std::uint64_t rest = kernel.record.duration_ns % 10'000;
    REQUIRE(kernel.record.duration_ns < 22'500 + rounded_ns);
    REQUIRE(rest >= 2000 - rounded_ns);
    REQUIRE(rest < 2500 + rounded_ns);
  }
}

void CheckAccounts(Ring& ring, std::uint64_t rounded_ns = 0) {
  ring.Drain();
  CHECK(ring.state() == shm::RingState::kClosed);
  CHECK(ring.seen() == ring.kept() + ring.lost_records());
  CHECK(ring.kernels().size() == ring.kept());
  CheckNoDurationIsWrong(ring, rounded_ns);
}

const Variables kThird = {{"FAKE_KINETO_START", "3000"}, {"FAKE_KINETO_STOP", "6000"}};

Variables With(Variables variables, const Variables& more) {
  variables.insert(variables.end(), more.begin(), more.end());
  return variables;
}

TEST_CASE(
    "a Kineto session receives its records, the library receives the rest, and the gap is "
    "counted") {
  for (const char* subscribes : {"0", "1"}) {
    for (const char* teardown : {"0", "1"}) {
      CAPTURE(subscribes);
      CAPTURE(teardown);
      const Injected injected;
      const Result result = Run(injected, "exit_return",
                                With(kThird, {{"FAKE_KINETO_SUBSCRIBE", subscribes},
                                              {"FAKE_KINETO_TEARDOWN", teardown}}));
      CHECK(result.kineto.sessions == 1);
      // CUPTI first fills the buffers that it holds at that time. They are delivered to Kineto,
      // which did not create them and ignores them.
      const std::uint64_t theirs = result.kineto.records + result.kineto.unknown_records;
      CHECK(result.kineto.records > 0);
      CHECK(theirs >= 3000);
      CHECK(result.kineto.lent == 0);
      Ring ring(injected.RingFile());
      CheckAccounts(ring);
      CHECK(ring.lost(shm::Loss::kGaps) == 1);
      // cuptiFinalize is called at the end of one launch, whose record neither client receives.
      const std::uint64_t nobodys = teardown[0] == '1' ? 1 : 0;
      CHECK(ring.kept() + theirs == 9000 - nobodys);
      CHECK(ring.lost(shm::Loss::kForeignBuffers) == result.kineto.unknown_buffers);
    }
  }
}

TEST_CASE("the gap of each of several Kineto sessions is counted") {
  const Injected injected;
  const Result result = Run(
      injected, "exit_return",
      {{"FAKE_KINETO_START", "1000"}, {"FAKE_KINETO_STOP", "2000"}, {"FAKE_KINETO_ROUNDS", "4"}});
  CHECK(result.kineto.sessions == 4);
  CHECK(result.kineto.records + result.kineto.unknown_records >= 4000);
  Ring ring(injected.RingFile());
  CheckAccounts(ring);
  CHECK(ring.lost(shm::Loss::kGaps) == 4);
  CHECK(ring.kept() + result.kineto.records + result.kineto.unknown_records == 9000);
}

TEST_CASE("a Kineto session can start and stop while threads launch") {
  const Injected injected;
  const Result result =
      Run(injected, "threads", {{"FAKE_KINETO_START", "5000"}, {"FAKE_KINETO_STOP", "12000"}},
          {"20000"});
  CHECK(result.kineto.sessions == 1);
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.seen() == ring.kept() + ring.lost_records());
  CHECK(ring.kept() + result.kineto.records <= 20'000);
}

TEST_CASE("a Kineto session can start and stop while graphs are launched") {
  const Injected injected;
  // The stream capture has 10 launches. After that, each graph has 10 kernels.
  const Result result =
      Run(injected, "graph", {{"FAKE_KINETO_START", "310"}, {"FAKE_KINETO_STOP", "610"}});
  Ring ring(injected.RingFile());
  CheckAccounts(ring);
  const std::uint64_t theirs = result.kineto.records + result.kineto.unknown_records;
  CHECK(theirs >= 3000);
  CHECK(ring.kept() + theirs == 9000);
  CHECK(ring.lost(shm::Loss::kGaps) == 1);
}

// The cycle counter stays CUPTI's clock when the session has ended.
void RunWithCycleCounter(const char* pause_ms) {
  const Injected injected;
  const Result result =
      Run(injected, "exit_return",
          With(kThird, {{"FAKE_KINETO_TSC", "1"}, {"FAKE_KINETO_WARMUP_MS", pause_ms}}));
  Ring ring(injected.RingFile());
  CheckAccounts(ring, 50);
  CHECK(ring.lost(shm::Loss::kGaps) == 1);
  CHECK(ring.lost(shm::Loss::kBadTimestamps) == 0);
  CHECK(ring.kept() + result.kineto.records + result.kineto.unknown_records == 9000);
  CHECK(std::string(ring.header().reason).find("its times are converted") != std::string::npos);
}

TEST_CASE("durations are correct if CUPTI's clock is the cycle counter") {
  RunWithCycleCounter("0");
}

// After a pause, CUPTI holds no buffer when the session begins.
TEST_CASE("the cycle counter can be set as the clock while nothing is recorded") {
  RunWithCycleCounter("100");
}

// Launches between the end of a session and its detection are recorded by neither client.
TEST_CASE("Kineto sessions at random times leave consistent counts in random programs") {
  std::mt19937 random(20261);  // NOLINT: the same draws every time
  const auto draw = [&random](std::uint32_t below) { return random() % below; };
  for (int round = 0; round < 20; ++round) {
    static const char* const kPrograms[] = {"exit_return", "threads", "graph", "reload_modules",
                                            "exit_call"};
    const std::string program = kPrograms[draw(5)];
    const std::uint32_t launches = 1000 + draw(20'000);
    // Each graph launch has ten kernels.
    const std::uint32_t calls = program == "graph" ? launches / 10 : launches;
    const std::uint32_t start = draw(calls);
    const Variables variables = {{"FAKE_KINETO_START", std::to_string(start)},
                                 {"FAKE_KINETO_STOP", std::to_string(start + 1 + draw(calls))},
                                 {"FAKE_KINETO_ROUNDS", std::to_string(1 + draw(4))},
                                 {"FAKE_KINETO_SUBSCRIBE", std::to_string(draw(2))},
                                 {"FAKE_KINETO_TEARDOWN", std::to_string(draw(2))},
                                 {"FAKE_KINETO_WARMUP_MS", std::to_string(draw(2) * 20)},
                                 {"FAKE_KINETO_WAIT_MS", std::to_string(draw(2) * 40)},
                                 {"STEMTAP_FLUSH_MS", draw(2) == 0 ? "10" : "200"},
                                 {"STEMTAP_BUFFER_KB", draw(2) == 0 ? "16" : "512"},
                                 {"FAKE_CUPTI_LATE", std::to_string(draw(2))},
                                 {"FAKE_CUPTI_GUARD", std::to_string(draw(2))},
                                 {"FAKE_CUPTI_DEADLOCK_MS", "10000"},
                                 {"FAKE_GPU_CLOCK", draw(2) == 0 ? "virtual" : "real"}};
    std::string drawn = program + " " + std::to_string(launches);
    for (const auto& [name, value] : variables) drawn += " " + name + "=" + value;
    CAPTURE(drawn);
    const Injected injected;
    const Result result = Run(injected, program, variables, {std::to_string(launches)},
                              program == "exit_call" ? 7 : 0);
    Ring ring(injected.RingFile());
    CheckAccounts(ring);
    const Kineto& kineto = result.kineto;
    CHECK(ring.kept() + kineto.records + kineto.unknown_records <= injected.ReadTruth().launches);
  }
}

TEST_CASE("Kineto records nothing if the gate is subscribed, and no record is dropped") {
  const Injected injected;
  const Result result = Run(injected, "exit_return", With(kThird, {{"STEMTAP_LEVEL", "gate"}}));
  CHECK(result.kineto.subscribe == 39);
  CHECK(result.kineto.records == 0);
  Ring ring(injected.RingFile());
  CheckAccounts(ring);
  CHECK(ring.kept() == 9000);
}

TEST_CASE("the overhead of another profiler's flushes does not end either recording") {
  const Injected injected;
  // Kineto records for 5 of about 7 s. Its flushes would exceed the budget after 3 s.
  const Result result = Run(injected, "exit_return",
                            {{"FAKE_GPU_CLOCK", "real"},
                             {"FAKE_KINETO_SUBSCRIBE", "0"},
                             {"FAKE_KINETO_START", "50000"},
                             {"FAKE_KINETO_STOP", "450000"},
                             {"STEMTAP_MAX_OVERHEAD", "0.001"}},
                            {"550000"});
  CHECK(result.kineto.records + result.kineto.unknown_records >= 400'000);
  Ring ring(injected.RingFile());
  CheckAccounts(ring);
  CHECK(std::string(ring.header().reason).find("recording stopped") == std::string::npos);
  CHECK(ring.lost(shm::Loss::kGaps) == 1);
  CHECK(ring.kept() > 100'000);
}

TEST_CASE("timed Kineto sessions work in a program that loads CUDA with dlsym") {
  const Injected injected;
  Run(injected, "exit_return",
      {{"FAKE_GPU_CLOCK", "real"},
       {"FAKE_KINETO_START_MS", "150"},
       {"FAKE_KINETO_STOP_MS", "200"},
       {"FAKE_KINETO_ROUNDS", "2"}},
      {"40000"});
  Ring ring(injected.RingFile());
  if (ring.state() == shm::RingState::kDisabled) {  // on a slow start, the session is first
    CHECK(std::string(ring.header().reason).find("in use by another tool") != std::string::npos);
    return;
  }
  CheckAccounts(ring);
}

}  // namespace
}  // namespace stemtap::test
