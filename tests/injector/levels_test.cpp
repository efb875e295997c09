// SPDX-License-Identifier: Apache-2.0
//
// Tests what each level records and when recording stops because it costs too much.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "injector/injected.h"

namespace stemtap::test {
namespace {

// tests/programs/graph.c launches graphs of ten kernels each.
constexpr std::uint64_t kKernels = 10'000;
constexpr std::uint64_t kGraphs = kKernels / 10;

TEST_CASE("the graph level has one record per graph launch, with the duration of its kernels") {
  for (const char* version : {"26", "28", "130000", "130300"}) {
    CAPTURE(version);
    const Injected injected;
    REQUIRE(injected
                .Run("graph", {std::to_string(kKernels)},
                     {{"STEMTAP_LEVEL", "graph"}, {"FAKE_CUPTI_VERSION", version}})
                .exit_code == 0);
    Ring ring(injected.RingFile());
    ring.Drain();
    CHECK(ring.state() == shm::RingState::kClosed);
    CHECK(ring.lost_records() == 0);
    REQUIRE(ring.kernels().size() == kGraphs);
    std::uint64_t sum = 0;
    std::set<std::uint32_t> correlations;
    for (const Ring::Kernel& graph : ring.kernels()) {
      CHECK(graph.record.flags == shm::kFlagGraph);
      CHECK(graph.record.graph_id != 0);
      CHECK(graph.name == ring.kernels()[0].name);
      CHECK(graph.name.starts_with("graph of 10 kernels, 4 x gemm_tile_128 #"));
      CHECK(graph.record.shared_bytes == shm::kUnknown32);
      CHECK(graph.record.grid[0] == shm::kUnknownExtent);
      CHECK(graph.record.device == 0);
      correlations.insert(graph.record.correlation_id);
      sum += graph.record.duration_ns;
    }
    CHECK(correlations.size() == kGraphs);
    std::uint64_t truth = 0;
    for (const auto& [name, launched] : injected.ReadTruth().by_name) truth += launched.duration_ns;
    // The kernels of the stream run back to back, except in the first graph: its first kernel takes
    // 2 us and ends before the second kernel is launched 2.5 us later.
    CHECK(sum >= truth);
    CHECK(sum - truth <= 2'500);
  }
}

TEST_CASE("the graph level records each kernel outside graphs") {
  const Injected injected;
  REQUIRE(injected.Run("exit_return", {"3000"}, {{"STEMTAP_LEVEL", "graph"}}).exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.kernels().size() == 3000);
  CHECK(SumByName(ring) == injected.ReadTruth().by_name);
}

TEST_CASE(
    "if CUPTI does not support graph records, the graph level records kernels and reports this") {
  const Injected injected;
  REQUIRE(injected
              .Run("graph", {std::to_string(kKernels)},
                   {{"STEMTAP_LEVEL", "graph"}, {"FAKE_CUPTI_FAIL", "cuptiActivityEnable@2=27"}})
              .exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.kernels().size() == kKernels);
  CHECK(std::string(ring.header().reason).find("cannot time a graph launch as one") !=
        std::string::npos);
}

TEST_CASE("the kernels level has no graph records and no kernel with a graph's name") {
  const Injected injected;
  REQUIRE(injected.Run("graph", {std::to_string(kKernels)}).exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  REQUIRE(ring.kernels().size() == kKernels);
  CHECK(std::none_of(ring.kernels().begin(), ring.kernels().end(), [](const Ring::Kernel& k) {
    return (k.record.flags & shm::kFlagGraph) != 0;
  }));
}

// In real time, kernels take at least 10 us and are launched for several seconds.
const Variables kRealTime = {{"FAKE_GPU_CLOCK", "real"}, {"STEMTAP_FLUSH_MS", "50"}};

Variables With(Variables variables, const Variables& more) {
  variables.insert(variables.end(), more.begin(), more.end());
  return variables;
}

TEST_CASE("CUPTI overhead beyond the budget ends the recording, and the program continues") {
  const Injected injected;
  constexpr std::uint64_t kLaunches = 500'000;  // about 6 s
  REQUIRE(
      injected
          .Run("exit_return", {std::to_string(kLaunches)},
               With(kRealTime, {{"STEMTAP_MAX_OVERHEAD", "5"}, {"FAKE_CUPTI_OVERHEAD_NS", "2000"}}))
          .exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.state() == shm::RingState::kClosed);
  CHECK(ring.lost(shm::Loss::kGaps) == 1);
  // The test does not drain the ring, which may fill up within three seconds on a slow machine.
  CHECK(ring.lost_records() == ring.lost(shm::Loss::kRingFull));
  CHECK(ring.seen() == ring.kept() + ring.lost_records());
  CHECK(std::string(ring.header().reason).find("recording stopped") != std::string::npos);
  CHECK(ring.kept() > 1000);
  CHECK(ring.seen() < kLaunches * 9 / 10);
  CHECK(ring.header().cost_cupti_ns.load() >= 2000 * ring.kept() * 9 / 10);
  CHECK(injected.ReadTruth().launches == kLaunches);
}

TEST_CASE("the gate's overhead is counted, and the gate is disabled when the recording ends") {
  const Injected injected;
  constexpr std::uint64_t kLaunches = 500'000;
  REQUIRE(injected
              .Run("exit_return", {std::to_string(kLaunches)},
                   With(kRealTime, {{"STEMTAP_LEVEL", "gate"}, {"STEMTAP_MAX_OVERHEAD", "0.001"}}))
              .exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.lost(shm::Loss::kGaps) == 1);
  // Each launch spends at least some nanoseconds in the gate, until the gate is disabled.
  CHECK(ring.header().cost_program_ns.load() >= ring.gated());
  CHECK(ring.gated() >= ring.kept());
  CHECK(ring.gated() < kLaunches * 9 / 10);
  CHECK(injected.ReadTruth().launches == kLaunches);
}

TEST_CASE("a budget that is not exceeded has no effect") {
  const Injected injected;
  constexpr std::uint64_t kLaunches = 200'000;  // the ring holds 262,144
  REQUIRE(injected
              .Run("exit_return", {std::to_string(kLaunches)},
                   With(kRealTime, {{"STEMTAP_MAX_OVERHEAD", "100"}}))
              .exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.kept() == kLaunches);
  CHECK(ring.lost(shm::Loss::kGaps) == 0);
  CHECK(std::string(ring.header().reason).empty());
  // The cost is reported with or without a budget.
  CHECK(ring.header().cost_program_ns.load() > 0);
  CHECK(ring.header().cost_background_ns.load() > 0);
}

}  // namespace
}  // namespace stemtap::test
