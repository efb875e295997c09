// SPDX-License-Identifier: Apache-2.0
//
// Tests that a replay makes the decisions of a live gate: the gate of the injected library and the
// engine's LocalGate differ only in where they store explored kernels.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gate/explored_kernels.h"
#include "session/engine.h"

namespace stemtap::session {
namespace {

constexpr std::size_t kLaunches = 60'000;

// The injected library's gate is this many launches ahead of the records. The engine explores the
// same number of launches before it samples (Engine::kLiveObserveFirst).
constexpr std::size_t kLag = 1024;

struct Launch {
  std::string name;
  shm::KernelRecord record;
};

// Returns launches of 40 kernels with up to three configurations on three streams. Half of the
// kernels start late.
std::vector<Launch> Launches() {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> noise(0.0, 0.05);
  std::vector<Launch> launches(kLaunches);
  for (std::size_t i = 0; i < kLaunches; ++i) {
    const std::uint32_t kernel = random() % (i < kLaunches / 3 ? 20 : 40);
    shm::KernelRecord& record = launches[i].record;
    launches[i].name = "kernel" + std::to_string(kernel);
    record.stream = kernel % 3;
    record.grid[0] = 1 + random() % 3;
    record.duration_ns = static_cast<std::uint64_t>(
        1000.0 * (1 + kernel) * static_cast<double>(record.grid[0]) * noise(random));
    record.start_ns = i * 1000;
  }
  return launches;
}

class CapturedLaunches : public EngineObserver {
 public:
  void OnDecisions(std::span<const online::MaskEvent> events, const model::NameTable&,
                   const CaptureMarks&) override {
    for (const online::MaskEvent& event : events) {
      if (event.kind == online::MaskEventKind::kCapture) indices.insert(event.index);
    }
  }
  std::set<std::uint64_t> indices;
};

struct Outcome {
  std::set<std::uint64_t> captured;
  std::string plan;
};

// The gate of the traced process decides each launch; its record arrives `lag` launches later.
Outcome RunLive(const std::vector<Launch>& launches, std::size_t lag) {
  const sampling::SamplingOptions options;
  auto table = std::make_unique<shm::GateTable>();
  WorkerPool pool(1);
  Engine engine(options, *table, GateAsked::kAtLaunch, 0, pool);
  CapturedLaunches captured;
  engine.AddObserver(captured);
  auto client = std::make_unique<shm::GateClient<inject::ExploredKernels>>();
  const shm::LaunchDraws draws(options.seed);
  LaunchTracker tracker(LaunchTracker::Graphs::kOutside);
  std::vector<shm::KernelRecord> records;
  for (std::size_t i = 0; i < launches.size() + lag; ++i) {
    if (i < launches.size()) {
      shm::KernelRecord record = launches[i].record;
      const std::uint64_t hash = shm::NameHash(launches[i].name.data(), launches[i].name.size());
      const shm::LaunchKeys keys = tracker.Next(record, hash);
      const shm::GateAnswer answer = client->Decide(*table, keys, hash, [&] { return draws(i); });
      if (answer.captures()) CHECK(client->Captured(hash, answer));
      record.flags = answer.flags;
      record.credit_slot = answer.credit_slot;
      records.push_back(record);
    }
    if (i < lag) continue;
    records[i - lag].name_id = engine.AddKernel(launches[i - lag].name);
    engine.Push(records[i - lag]);
  }
  std::string plan = model::PlanToJson(engine.Finish());
  return {captured.indices, std::move(plan)};
}

Outcome Replay(const std::vector<Launch>& launches, std::size_t lag) {
  auto table = std::make_unique<shm::GateTable>();
  WorkerPool pool(1);
  Engine engine(sampling::SamplingOptions{}, *table, GateAsked::kByEngine, lag, pool);
  CapturedLaunches captured;
  engine.AddObserver(captured);
  for (const Launch& launch : launches) {
    shm::KernelRecord record = launch.record;
    record.name_id = engine.AddKernel(launch.name);
    engine.Push(record);
  }
  std::string plan = model::PlanToJson(engine.Finish());
  return {captured.indices, std::move(plan)};
}

TEST_CASE("a replay with the lag of a live run makes the same decisions") {
  const std::vector<Launch> launches = Launches();
  const Outcome live = RunLive(launches, kLag);
  const Outcome replayed = Replay(launches, kLag);
  CHECK(live.captured.size() > 100);
  CHECK(live.captured == replayed.captured);
  CHECK(live.plan == replayed.plan);
}

TEST_CASE("with a different feedback delay, only the exploratory captures are the same launches") {
  const std::vector<Launch> launches = Launches();
  const Outcome live = RunLive(launches, 4 * kLag);
  const Outcome replayed = Replay(launches, kLag);
  std::vector<std::uint64_t> both;
  std::set_intersection(live.captured.begin(), live.captured.end(), replayed.captured.begin(),
                        replayed.captured.end(), std::back_inserter(both));
  MESSAGE(live.captured.size() << " captures live, " << replayed.captured.size()
                               << " in the replay, " << both.size() << " in both");
  CHECK(live.captured != replayed.captured);
  std::set<std::string> names;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (!names.insert(launches[i].name).second) continue;
    CHECK(live.captured.contains(i));
    CHECK(replayed.captured.contains(i));
  }
}

}  // namespace
}  // namespace stemtap::session
