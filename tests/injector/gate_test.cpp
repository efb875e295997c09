// SPDX-License-Identifier: Apache-2.0
//
// Tests the gate in a program: exactly the granted credits are spent, exactly these records are
// marked, and excluded launches are not captured. The test writes the gate table like the
// collector.
#include <doctest/doctest.h>
#include <sys/utsname.h>

#include <cstddef>
#include <filesystem>

#include "injector/injected.h"
#include "injector/wait_until.h"
#include "shm/context_key.h"
#include "shm/launch_draw.h"
#include "shm/session_env.h"
#include "support/paths.h"

namespace stemtap::test {
namespace {

constexpr std::uint32_t kSlot = 7;
const shm::LaunchConfig kShape = {{1, 1, 1}, {32, 1, 1}};  // of launch_list

std::uint64_t HashOf(std::string_view name) {
  return shm::NameHash(name.data(), name.size());
}
std::uint64_t NameKey(std::string_view name) {
  return shm::NameKey(HashOf(name));
}

Variables GateLevel(const Variables& more = {}) {
  Variables variables = {{"STEMTAP_LEVEL", "gate"}, {"FAKE_GPU_CAPTURE_FACTOR", "1"}};
  variables.insert(variables.end(), more.begin(), more.end());
  return variables;
}

// Launches is a run of launch_list at the gate level.
struct Launches {
  explicit Launches(const Injected& injected, const std::vector<std::string>& list,
                    const Variables& more = {})
      : result(injected.Run(STEMTAP_TEST_LAUNCH_LIST, list, GateLevel(more))),
        ring(injected.RingFile()) {
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    ring.Drain();
    CHECK(ring.state() == shm::RingState::kClosed);
    CHECK(ring.seen() == ring.kept() + ring.lost_records());
  }

  // Returns the positions, in launch order, of the records marked as captured.
  std::vector<std::size_t> marked() const {
    std::vector<std::size_t> at;
    for (std::size_t i = 0; i < ring.kernels().size(); ++i) {
      if ((ring.kernels()[i].record.flags & shm::kFlagCaptured) != 0) at.push_back(i);
    }
    return at;
  }
  // Returns the number of captures that launch_list printed.
  std::uint64_t captured_by_gpu() const {
    return std::stoull(result.out.substr(result.out.rfind(' ') + 1));
  }

  ProcessResult result;
  Ring ring;
};

using Positions = std::vector<std::size_t>;

TEST_CASE("exactly the granted credits are spent, and captured records have their slot") {
  Injected injected;
  REQUIRE(injected.gate().Publish(NameKey("gemm"), kSlot));
  REQUIRE(injected.gate().Publish(NameKey("copy"), shm::kClosedSlot));
  injected.gate().Grant(kSlot, 5);
  const Launches run(injected, {"copy:3", "gemm:1000", "copy:10"});
  CHECK(injected.gate().spent(kSlot) == 5);
  CHECK(run.ring.captured() == 5);
  CHECK(run.ring.gated() == 1013);
  CHECK(run.ring.kept() == 1013);
  CHECK(run.marked() == Positions{3, 4, 5, 6, 7});
  for (const Ring::Kernel& kernel : run.ring.kernels()) {
    const bool captured = kernel.record.flags != 0;
    CHECK(kernel.record.flags == (captured ? shm::kFlagCaptured : 0));
    CHECK(kernel.record.credit_slot == (captured ? kSlot : 0));
  }
}

TEST_CASE("credits beyond the number of launches remain") {
  Injected injected;
  REQUIRE(injected.gate().Publish(NameKey("gemm"), kSlot));
  injected.gate().Grant(kSlot, 100);
  const Launches run(injected, {"gemm:40"});
  CHECK(injected.gate().spent(kSlot) == 40);
  CHECK(run.marked().size() == 40);
}

TEST_CASE("the seed and the process determine which launches spend credits") {
  Injected injected;
  REQUIRE(injected.gate().Publish(NameKey("gemm"), kSlot));
  injected.gate_file().seed = 12345;
  constexpr std::uint32_t kAccept = shm::AcceptOf(0.1);
  injected.gate().Grant(kSlot, 30, kAccept);
  const Launches run(injected, {"gemm:2000"});
  CHECK(injected.gate().spent(kSlot) == 30);
  utsname host;
  REQUIRE(::uname(&host) == 0);
  const shm::RingHeader& header = run.ring.header();
  const shm::LaunchDraws draws =
      shm::ProcessDraws(12345, header.pid, header.pid_namespace, HashOf(host.nodename));
  Positions expected;
  for (std::size_t i = 0; expected.size() < 30; ++i) {
    if (draws(i) <= kAccept) expected.push_back(i);
  }
  CHECK(run.marked() == expected);
}

TEST_CASE("a more specific key takes precedence") {
  Injected injected;
  const std::uint64_t a = HashOf("a");
  const std::uint64_t b = HashOf("b");
  shm::GateTable& gate = injected.gate();
  // b after a, a: slot 2. b in this configuration: slot 3. b otherwise: slot 4.
  const shm::LaunchHistory after_a_a = shm::Advance(shm::Advance(0, a), a);
  REQUIRE(gate.Publish(shm::HistoryKey(shm::ConfigKey(b, kShape), after_a_a), 2));
  REQUIRE(gate.Publish(shm::ConfigKey(b, kShape), 3));
  REQUIRE(gate.Publish(shm::NameKey(b), 4));
  REQUIRE(gate.Publish(shm::NameKey(a), shm::kClosedSlot));
  for (const std::uint32_t slot : {2u, 3u, 4u}) gate.Grant(slot, 100);
  const Launches run(injected, {"a:2", "b:1", "a:1", "b:1", "a:2", "b:2"});
  //                            0 1    2 *    3      4      5 6    7 * 8
  CHECK(run.marked() == Positions{2, 4, 7, 8});
  const auto slot_of = [&](std::size_t i) { return run.ring.kernels()[i].record.credit_slot; };
  CHECK(slot_of(2) == 2);
  CHECK(slot_of(4) == 3);
  CHECK(slot_of(7) == 2);
  CHECK(slot_of(8) == 3);
  CHECK(gate.spent(2) == 2);
  CHECK(gate.spent(3) == 2);
  CHECK(gate.spent(4) == 0);
}

TEST_CASE("a specific key without a slot falls back to the general key") {
  Injected injected;
  REQUIRE(injected.gate().Publish(shm::ConfigKey(HashOf("b"), kShape), shm::kNoSlot));
  REQUIRE(injected.gate().Publish(NameKey("b"), 4));
  injected.gate().Grant(4, 1);
  const Launches run(injected, {"b:10"});
  CHECK(run.marked() == Positions{0});
  CHECK(injected.gate().spent(4) == 1);
}

TEST_CASE("a different configuration is a different context") {
  Injected injected;
  shm::LaunchConfig other = kShape;
  other.grid[0] = 2;
  REQUIRE(injected.gate().Publish(shm::ConfigKey(HashOf("b"), other), 4));
  REQUIRE(injected.gate().Publish(NameKey("b"), shm::kClosedSlot));
  injected.gate().Grant(4, 10);
  CHECK(Launches(injected, {"b:10"}).marked().empty());
}

TEST_CASE("an unknown kernel is captured once") {
  Injected injected;
  injected.gate();
  const Launches run(injected, {"a:10", "b:10", "a:10"});
  CHECK(run.marked() == Positions{0, 10});
  CHECK(run.ring.captured() == 2);
  for (const std::size_t at : run.marked()) {
    const shm::KernelRecord& record = run.ring.kernels()[at].record;
    CHECK(record.flags == (shm::kFlagCaptured | shm::kFlagExploratory));
    CHECK(record.credit_slot == 0);
  }
}

TEST_CASE("kernels that wait for other kernels or blocks are never captured") {
  Injected injected;
  shm::GateTable& gate = injected.gate();
  // These kernels are not captured even if they have credits.
  for (const char* name : {"ncclDevKernel_AllReduce", "grid_sync", "_Z6nvshmemx_barrier",
                           "vllm::cross_device_reduce_2stage", "oneShotAllReduceKernel"}) {
    REQUIRE(gate.Publish(NameKey(name), kSlot));
  }
  gate.Grant(kSlot, 100);
  const Launches run(
      injected,
      {"ncclDevKernel_AllReduce:10", "_Z6nvshmemx_barrier:5", "ncclUnknown:5",
       "void my_ncclThing<int>():5", "coop/grid_sync:10", "excoop/grid_sync:10",
       "coop/unknown_sync:5", "ex/ncclDevKernel_AllReduce:5", "ptsz/ncclDevKernel_AllReduce:5",
       "null/ncclDevKernel_AllReduce:5", "vllm::cross_device_reduce_2stage:5",
       "ex/oneShotAllReduceKernel:5", "ptsz/allreduce_unknown:5"},
      {{"STEMTAP_ACTUATOR", "profiler"}});
  CHECK(run.ring.gated() == 80);
  CHECK(run.ring.kept() == 80);
  CHECK(run.ring.captured() == 0);
  CHECK(run.ring.lost(shm::Loss::kCapturesDenied) == 0);
  CHECK(run.marked().empty());
  CHECK(run.captured_by_gpu() == 0);
  CHECK(gate.spent(kSlot) == 0);
  // The reason contains only the first of these kernels.
  CHECK(std::string(run.ring.header().reason) ==
        "never captured: ncclDevKernel_AllReduce (NCCL: it waits for other GPUs)");
}

TEST_CASE("a cooperative kernel that is never captured is reported in the header") {
  Injected injected;
  const Launches run(injected, {"gemm:3", "coop/grid_sync:2"});
  CHECK(std::string(run.ring.header().reason) ==
        "never captured: grid_sync (cooperative: its blocks wait for each other)");
  Injected another;
  CHECK(std::string(Launches(another, {"gemm:3"}).ring.header().reason).empty());
}

TEST_CASE("a launch that is never captured is part of its stream's history") {
  Injected injected;
  const std::uint64_t nccl = HashOf("ncclSend");
  const std::uint64_t gemm = HashOf("gemm");
  shm::GateTable& gate = injected.gate();
  const shm::LaunchHistory after = shm::Advance(shm::Advance(0, gemm), nccl);
  REQUIRE(gate.Publish(shm::HistoryKey(shm::ConfigKey(gemm, kShape), after), 2));
  REQUIRE(gate.Publish(NameKey("gemm"), shm::kClosedSlot));
  gate.Grant(2, 10);
  CHECK(Launches(injected, {"gemm:1", "ncclSend:1", "gemm:2"}).marked() == Positions{2});
}

TEST_CASE("all launch functions are gated") {
  Injected injected;
  REQUIRE(injected.gate().Publish(NameKey("k"), kSlot));
  injected.gate().Grant(kSlot, 100);
  const Launches run(injected, {"k:2", "ex/k:3", "ptsz/k:4"});
  CHECK(run.ring.gated() == 9);
  CHECK(run.marked().size() == 9);
}

TEST_CASE("the profiler is active only during captured launches") {
  Injected injected;
  REQUIRE(injected.gate().Publish(NameKey("gemm"), kSlot));
  REQUIRE(injected.gate().Publish(NameKey("copy"), shm::kClosedSlot));
  injected.gate().Grant(kSlot, 6);
  const std::vector<std::string> list = {"copy:3", "gemm:4", "copy:10",
                                         "gemm:4", "new:3",  "copy:2"};
  const Launches run(injected, list, {{"STEMTAP_ACTUATOR", "profiler"}});
  CHECK(run.marked() == Positions{3, 4, 5, 6, 17, 18, 21});
  CHECK(run.ring.captured() == 7);
  CHECK(run.captured_by_gpu() == 7);
  CHECK(injected.ReadTruth().captured == 7);
}

TEST_CASE("the log actuator does not start the profiler") {
  Injected injected;
  injected.gate();
  const Launches run(injected, {"a:10"});
  CHECK(run.ring.captured() == 1);
  CHECK(run.captured_by_gpu() == 0);
}

TEST_CASE("a launch that the driver refuses returns its credit") {
  Injected injected;
  REQUIRE(injected.gate().Publish(NameKey("gemm"), kSlot));
  injected.gate().Grant(kSlot, 2);
  const Launches run(injected, {"bad/gemm:5", "gemm:10"}, {{"STEMTAP_ACTUATOR", "profiler"}});
  CHECK(run.ring.kept() == 10);
  CHECK(run.marked() == Positions{0, 1});
  CHECK(injected.gate().spent(kSlot) == 2);
  CHECK(run.ring.captured() == 2);
  CHECK(run.captured_by_gpu() == 2);
}

TEST_CASE("a kernel whose first launch fails is captured at its first launch that runs") {
  for (const char* actuator : {"log", "profiler"}) {
    CAPTURE(std::string(actuator));
    Injected injected;
    injected.gate();
    const Launches run(injected,
                       {"bad/a:1", "a:5", "badex/b:3", "ex/b:5", "badptsz/c:2", "ptsz/c:5", "d:5"},
                       {{"STEMTAP_ACTUATOR", actuator}});
    CHECK(run.ring.kept() == 20);
    CHECK(run.marked() == Positions{0, 5, 10, 15});
    CHECK(run.ring.captured() == 4);
    for (const std::size_t at : run.marked()) {
      CHECK(run.ring.kernels()[at].record.flags == (shm::kFlagCaptured | shm::kFlagExploratory));
    }
  }
}

TEST_CASE("a kernel whose exploratory capture has no record is captured again") {
  Injected injected;
  injected.gate();
  const std::string go = injected.scratch("go").string();
  // The second record, the first one of `a`, is lost.
  Process child(Command(STEMTAP_TEST_LAUNCH_LIST, {"b:1", "a:1", "wait/" + go, "a:3"}),
                injected.Options(
                    GateLevel({{"FAKE_CUPTI_ZERO_TIMESTAMPS", "2"}, {"STEMTAP_FLUSH_MS", "10"}})));
  REQUIRE(child.WaitForOutput("waiting\n"));
  Ring ring(injected.RingFile());
  REQUIRE(WaitUntil([&] { return ring.lost(shm::Loss::kNoTimestamps) == 1; }));
  // The flusher adds its cost after it has decoded all records that it fetched.
  const std::atomic<std::uint64_t>& cost = ring.header().cost_background_ns;
  REQUIRE(WaitUntil([&cost, before = cost.load()] { return cost.load() != before; }));
  std::ofstream(go) << "go";
  CHECK(child.Wait().exit_code == 0);
  ring.Drain();
  REQUIRE(ring.kernels().size() == 3);
  for (const std::size_t at : {0, 1}) {
    CHECK(ring.kernels()[at].record.flags == (shm::kFlagCaptured | shm::kFlagExploratory));
  }
  CHECK(ring.kernels()[1].name == "a");
  CHECK(ring.kernels()[2].record.flags == 0);
}

TEST_CASE("a graph launch that the driver refuses is not counted") {
  Injected injected;
  injected.gate();
  const Launches run(injected, {"a:2", "badgraph/3"});
  CHECK(run.ring.kept() == 2);
  CHECK(run.ring.lost(shm::Loss::kGraphLaunches) == 0);
}

TEST_CASE("kernels that are added to a graph do not run and spend no credit") {
  Injected injected;
  const char* const kNames[] = {"gemm_tile_128", "_Z9softmax_fPKfPfi",
                                "void reduce<float, 256>(float const*, float*, int)"};
  REQUIRE(injected.gate().Publish(NameKey(kNames[0]), kSlot));  // the other kernels are unknown
  injected.gate().Grant(kSlot, 100);
  const ProcessResult result =
      injected.Run("graph", {"1000"}, GateLevel({{"STEMTAP_ACTUATOR", "profiler"}}));
  CHECK(result.exit_code == 0);
  CHECK(result.out == "1000\n");
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.kept() == 1000);
  CHECK(ring.captured() == 0);
  CHECK(ring.gated() == 0);
  CHECK(ring.header().launches_added.load() == 10);
  CHECK(injected.gate().spent(kSlot) == 0);
  CHECK(ring.lost(shm::Loss::kGraphLaunches) == 100);
  CHECK(injected.ReadTruth().captured == 0);
}

TEST_CASE("all threads of a process share the credits") {
  Injected injected;
  const char* const kNames[] = {"gemm_tile_128", "_Z9softmax_fPKfPfi",
                                "void reduce<float, 256>(float const*, float*, int)"};
  for (std::uint32_t i = 0; i < 3; ++i) {
    REQUIRE(injected.gate().Publish(NameKey(kNames[i]), i + 1));
    injected.gate().Grant(i + 1, 100 + i);
  }
  REQUIRE(injected.Run("threads", {"20000"}, GateLevel()).exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.kept() == 20'000);
  CHECK(ring.gated() == 20'000);
  std::uint64_t marked[4] = {};
  for (const Ring::Kernel& kernel : ring.kernels()) {
    if (kernel.record.flags == 0) continue;
    REQUIRE(kernel.record.credit_slot < 4);
    CHECK(kernel.name == kNames[kernel.record.credit_slot - 1]);
    ++marked[kernel.record.credit_slot];
  }
  const std::uint64_t denied = ring.lost(shm::Loss::kCapturesDenied);
  CHECK(denied == 0);
  for (std::uint32_t i = 0; i < 3; ++i) {
    CHECK(injected.gate().spent(i + 1) == 100 + i);
    CHECK(marked[i + 1] == 100 + i);
  }
  CHECK(ring.captured() == 303);
}

TEST_CASE("all processes of a session share the credits") {
  Injected injected;
  REQUIRE(injected.gate().Publish(NameKey("gemm_tile_128"), kSlot));
  injected.gate().Grant(kSlot, 50);
  REQUIRE(injected.Run("fork_cuda", {"3000"}, GateLevel()).exit_code == 0);
  std::uint64_t marked = 0;
  for (const auto& file : injected.RingFiles()) {
    Ring ring(file);
    ring.Drain();
    for (const Ring::Kernel& kernel : ring.kernels()) marked += kernel.record.credit_slot == kSlot;
  }
  CHECK(marked == 50);
  CHECK(injected.gate().spent(kSlot) == 50);
}

TEST_CASE("different names at the same address are distinguished") {
  Injected injected;
  // reload_modules puts other names at the addresses of unloaded names, for handles and pointers.
  REQUIRE(injected.gate().Publish(NameKey("gemm_tile_128"), 1));
  REQUIRE(injected.gate().Publish(NameKey("odd__tile_128"), 2));
  injected.gate().Grant(1, 100'000);
  injected.gate().Grant(2, 100'000);
  REQUIRE(injected.Run("reload_modules", {"1200"}, GateLevel()).exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.kept() == 1200);
  std::uint64_t wrong = 0;
  for (const Ring::Kernel& kernel : ring.kernels()) {
    const std::uint16_t expected = kernel.name == "gemm_tile_128"   ? 1
                                   : kernel.name == "odd__tile_128" ? 2
                                                                    : 0;
    wrong += kernel.record.credit_slot != expected;
  }
  CHECK(wrong == 0);
}

TEST_CASE("captures whose records are dropped do not block later captures") {
  for (const char* loss : {"FAKE_CUPTI_ZERO_TIMESTAMPS", "FAKE_CUPTI_DROP"}) {
    CAPTURE(std::string(loss));
    Injected injected;
    REQUIRE(injected.gate().Publish(NameKey("gemm"), kSlot));
    injected.gate().Grant(kSlot, 1'000'000);
    // Every second record is lost, far more records than the table has entries. Because of
    // STEMTAP_FLUSH_MS, the other records arrive while the program runs.
    const Launches run(injected, {"gemm:20000"},
                       {{loss, "2"}, {"STEMTAP_FLUSH_MS", "10"}, {"STEMTAP_BUFFER_KB", "16"}});
    CHECK(run.ring.kept() == 10'000);
    CHECK(run.ring.captured() + run.ring.lost(shm::Loss::kCapturesDenied) == 20'000);
    if (std::string(loss) == "FAKE_CUPTI_ZERO_TIMESTAMPS") {
      // If the record of a capture is lost, its credit is returned, so the spent credits match the
      // captures that the collector sees.
      CHECK(run.marked().size() == injected.gate().spent(kSlot));
      CHECK(run.ring.captured() > 10'000);
    } else {
      // CUPTI does not report which records it dropped, so these entries become free only after
      // another million calls.
      CHECK(run.ring.captured() == injected.gate().spent(kSlot));
      CHECK(run.ring.captured() >= 1024);
    }
  }
}

TEST_CASE("captured launches are recognized when correlation ids wrap") {
  Injected injected;
  REQUIRE(injected.gate().Publish(NameKey("gemm"), kSlot));
  injected.gate().Grant(kSlot, 500);
  const Launches run(injected, {"gemm:1000"}, {{"FAKE_CUPTI_FIRST_CORRELATION", "4294967000"}});
  CHECK(run.ring.kernels().back().record.correlation_id < 1000);
  REQUIRE(run.marked().size() == 500);
  CHECK(run.marked().back() == 499);
}

TEST_CASE("an invalid gate table is ignored") {
  const Injected injected;
  std::ofstream(injected.session() / shm::kGateFileName) << "not a gate table";
  const Launches run(injected, {"a:10"});
  CHECK(run.ring.gated() == 10);
  CHECK(run.ring.captured() == 0);
  CHECK(run.ring.kept() == 10);
}

TEST_CASE("a gate table of a different version is ignored and reported once") {
  Injected injected;
  REQUIRE(injected.gate().Publish(NameKey("a"), kSlot));
  injected.gate().Grant(kSlot, 10);
  injected.gate_file().version = 3;
  std::uintmax_t bytes = sizeof(shm::GateFile);
  SUBCASE("of the current size") {}
  SUBCASE("of version 3, with smaller slots") {
    bytes = offsetof(shm::GateFile, table) + shm::kGateContexts * 16 + shm::kGateSlots * 8;
  }
  std::filesystem::resize_file(injected.session() / shm::kGateFileName, bytes);
  const Launches run(injected, {"a:10"});
  CHECK(run.ring.kept() == 10);
  CHECK(run.ring.captured() == 0);
  CHECK(std::string(run.ring.header().reason) ==
        "no launch is captured: the gate table has version 3; expected version 4");
}

TEST_CASE("a table that is created late is found, and credits that are granted later are spent") {
  Injected injected;
  const std::string first = injected.scratch("first").string();
  const std::string second = injected.scratch("second").string();
  Process child(Command(STEMTAP_TEST_LAUNCH_LIST,
                        {"gemm:100", "wait/" + first, "gemm:100", "wait/" + second, "gemm:100"}),
                injected.Options(GateLevel({{"STEMTAP_FLUSH_MS", "10"}})));
  REQUIRE(child.WaitForOutput("waiting\n"));
  REQUIRE(injected.gate().Publish(NameKey("gemm"), kSlot));
  const std::string maps = "/proc/" + std::to_string(child.pid()) + "/maps";
  REQUIRE(WaitUntil([&] { return ReadFile(maps).find("gate.table") != std::string::npos; }));
  std::ofstream(first) << "go";
  REQUIRE(child.WaitForOutput("waiting\nwaiting\n"));
  CHECK(injected.gate().spent(kSlot) == 0);
  injected.gate().Grant(kSlot, 3);
  std::ofstream(second) << "go";
  CHECK(child.Wait().exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.kept() == 300);
  for (std::size_t i = 0; i < 300; ++i) {
    REQUIRE(ring.kernels()[i].record.flags == (i >= 200 && i < 203 ? shm::kFlagCaptured : 0));
  }
}

}  // namespace
}  // namespace stemtap::test
