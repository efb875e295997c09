// SPDX-License-Identifier: Apache-2.0
//
// Tests the cost of the library for the launching thread in instructions, which is exact and the
// same on every machine. At the `kernels` level, a launch costs nothing unless CUPTI requests a
// buffer. At the `gate` level, it costs a limited number of instructions. The cost of CUPTI itself
// is not measured, because the simulated CUPTI does not have it.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "injector/injected.h"
#include "injector/stepper.h"
#include "shm/context_key.h"
#include "shm/session_env.h"

namespace stemtap::test {
namespace {

constexpr long kWarm = 48;
constexpr long kCounted = 48;  // configurations and names repeat every twelve launches
constexpr std::uint32_t kSlot = 7;
// The kernel names in programs/victim.h.
constexpr std::string_view kNames[] = {"gemm_tile_128", "_Z9softmax_fPKfPfi",
                                       "void reduce<float, 256>(float const*, float*, int)"};

// Prevents flushes between the start of the program and the end of the count.
const Variables kNoFlush = {{"STEMTAP_FLUSH_MS", "10000"}, {"FAKE_CUPTI_MAX_PENDING", "1000000"}};

// Counts the instructions of `counted` launches after kWarm launches. If programs cannot be traced,
// prints a message and returns nothing.
std::optional<Steps> Count(const Injected& injected, long counted, Variables variables,
                           bool recorded = true) {
  variables.insert(variables.end(), kNoFlush.begin(), kNoFlush.end());
  const std::string go_on = injected.scratch("go_on").string();
  Process program(
      Command(STEMTAP_TEST_STEP_LAUNCHES, {std::to_string(kWarm), std::to_string(counted), go_on}),
      injected.Options(variables));
  REQUIRE(program.WaitForOutput("ready\n"));
  Steps steps;
  try {
    Stepper stepper(program.pid(), "/libstemtap_inject.so");
    std::ofstream(go_on).put('\n');
    steps = stepper.CountBetweenSignals(SIGUSR1);
  } catch (const Stepper::Forbidden& forbidden) {
    MESSAGE("SKIPPED: this machine does not allow tracing (" << forbidden.what() << ")");
    return std::nullopt;
  }
  const ProcessResult& result = program.Wait();
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.err == "");
  // All launches were recorded, so the count covers the cost of recording.
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.kernels().size() == (recorded ? static_cast<std::size_t>(kWarm + counted) : 0));
  CHECK(ring.lost_records() == 0);
  CHECK(steps.total > static_cast<std::uint64_t>(counted) * 50);
  return steps;
}

std::set<std::uint64_t> Entries(const Steps& steps) {
  std::set<std::uint64_t> entries;
  for (const Visit& visit : steps.visits) entries.insert(visit.entry);
  return entries;
}

TEST_CASE("the kernels level executes no library instruction between two buffers") {
  const Injected injected;
  const auto steps = Count(injected, kCounted, {});
  if (!steps) return;
  CHECK(steps->visits.size() == 0);
  CHECK(steps->own() == 0);
}

TEST_CASE("while recording is off, a launch executes no library instruction at any level") {
  for (const char* level : {"graph", "kernels", "gate"}) {
    CAPTURE(level);
    Injected injected;
    std::filesystem::create_directories(injected.session());
    std::ofstream(injected.session() / shm::kRecordingFileName) << "off";
    injected.gate();
    const auto steps = Count(injected, kCounted, {{"STEMTAP_LEVEL", level}}, false);
    if (!steps) return;
    CHECK(steps->visits.size() == 0);
    CHECK(steps->own() == 0);
    const Ring ring(injected.RingFile());
    CHECK(ring.seen() == 0);
    CHECK(ring.gated() == 0);
    CHECK(ring.header().switches.load() == 1);
  }
}

TEST_CASE("the kernels level provides and receives a buffer in few instructions") {
  const Injected injected;
  const auto steps = Count(injected, 300, {{"STEMTAP_BUFFER_KB", "16"}});
  if (!steps) return;
  // A buffer has room for 64 to 78 records of 208 to 256 bytes.
  CHECK(steps->visits.size() >= 3);
  CHECK(steps->visits.size() <= 5);
  CHECK(Entries(*steps).size() == 1);
  std::uint64_t most = 0;
  std::uint64_t system_calls = 0;  // each new buffer needs one mmap
  for (const Visit& visit : steps->visits) {
    most = std::max(most, visit.own);
    system_calls += visit.libc != 0;
  }
  MESSAGE(steps->visits.size() << " buffers in 300 launches: " << steps->own()
                               << " instructions, at most " << most << " for one; " << system_calls
                               << " buffers were created on demand");
  // GCC 12 needs 72 for a new buffer.
  CHECK(most <= 80);
}

TEST_CASE("the kernels level enables no callback") {
  // If CUPTI refuses to enable a callback, only the `gate` level is affected.
  const Variables refusing = {{"FAKE_CUPTI_FAIL",
                               "cuptiEnableCallback=999,cuptiEnableDomain=999,"
                               "cuptiEnableAllDomains=999"}};
  const Injected kernels;
  CHECK(kernels.Run("exit_return", {"100"}, refusing).exit_code == 0);
  CHECK(std::string(Ring(kernels.RingFile()).header().reason) == "");

  Variables gate_level = refusing;
  gate_level.emplace_back("STEMTAP_LEVEL", "gate");
  const Injected gate;
  CHECK(gate.Run("exit_return", {"100"}, gate_level).exit_code == 0);
  CHECK(std::string(Ring(gate.RingFile()).header().reason).find("refused") != std::string::npos);
}

enum class Key { kName, kConfig, kHistory };

std::uint64_t NameOf(long step) {
  const std::string_view name = kNames[(step + 3) % 3];
  return shm::NameHash(name.data(), name.size());
}

// Publishes the collector's entry for every launch of the program (victim.h, LaunchOne).
void Publish(shm::GateTable& table, Key key, std::uint32_t slot) {
  for (long step = 0; step < 12; ++step) {
    const std::uint64_t name = NameOf(step);
    const std::uint64_t config =
        shm::ConfigKey(name, {{1 + static_cast<std::uint32_t>(step % 4), 2, 1}, {128, 1, 1}});
    const shm::LaunchHistory before =
        shm::Advance(shm::Advance(0, NameOf(step - 2)), NameOf(step - 1));
    REQUIRE(table.Publish(key == Key::kName     ? shm::NameKey(name)
                          : key == Key::kConfig ? config
                                                : shm::HistoryKey(config, before),
                          slot));
  }
}

// Checks the instructions of both visits per launch at the gate level.
void CheckPerLaunch(const std::string& what, const Steps& steps, double most_own,
                    double most_libc) {
  double own = 0;
  double libc = 0;
  double elsewhere = 0;
  for (const Visit& visit : steps.visits) {
    own += static_cast<double>(visit.own) / kCounted;
    libc += static_cast<double>(visit.libc) / kCounted;
    elsewhere += static_cast<double>(visit.elsewhere) / kCounted;
  }
  MESSAGE(what << ": " << own << " instructions per launch, and " << libc << " in libc, "
               << elsewhere << " elsewhere");
  CHECK(steps.visits.size() == 2 * kCounted);  // at entry and at exit of each launch
  CHECK(Entries(steps).size() == 1);
  CHECK(own > 0);
  CHECK(own <= most_own);
  CHECK(libc <= most_libc);
}

TEST_CASE("the gate level executes a bounded number of instructions per launch") {
  const Variables gate = {{"STEMTAP_LEVEL", "gate"}, {"FAKE_GPU_CAPTURE_FACTOR", "0"}};
  struct Case {
    std::string what;
    std::optional<Key> key;
    std::uint32_t slot;
    std::uint32_t credits;
    std::uint64_t captured;
    double most_own, most_libc;
    std::uint32_t accept = shm::kAcceptAll;
  };
  // The limits are the counts of GCC 12 (248, 259, 278, 258, 287, 283, 428) plus a quarter for
  // other compilers. libc measures a name whose end could be on a different page.
  const Case cases[] = {
      {"closed, known by its history", Key::kHistory, shm::kClosedSlot, 0, 0, 310, 60},
      {"closed, known by its shape", Key::kConfig, shm::kClosedSlot, 0, 0, 325, 60},
      {"closed, known by its name", Key::kName, shm::kClosedSlot, 0, 0, 350, 60},
      {"open, its credits spent", Key::kHistory, kSlot, 2, 2, 322, 60},
      {"open, its draw not accepted", Key::kHistory, kSlot, 1u << 30, 0, 359, 60, 0},
      {"not known, captured before", std::nullopt, 0, 0, 3, 355, 60},
      {"captured", Key::kHistory, kSlot, 1u << 30, kWarm - 2 + kCounted, 535, 60},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    Injected injected;
    shm::GateTable& table = injected.gate();
    if (c.key) Publish(table, *c.key, c.slot);
    // The first launches have a different history. If a name is unknown, one launch is captured.
    if (c.key == Key::kHistory) Publish(table, Key::kName, shm::kClosedSlot);
    table.Grant(c.slot, c.credits, c.accept);
    const auto steps = Count(injected, kCounted, gate);
    if (!steps) return;
    CheckPerLaunch(c.what, *steps, c.most_own, c.most_libc);
    CHECK(Ring(injected.RingFile()).captured() == c.captured);
  }
}

}  // namespace
}  // namespace stemtap::test
