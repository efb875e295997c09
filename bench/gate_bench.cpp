// SPDX-License-Identifier: Apache-2.0
// Measures the cost of the gate at a launch: one lookup, and the whole decision including back-off.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "base/rng.h"
#include "shm/gate_client.h"
#include "shm/launch_draw.h"

namespace stemtap {
namespace {

constexpr std::size_t kLaunches = 4096;

// 2,000 contexts, as in a large profile, looked up in a repeating order like a layer loop.
struct Published {
  std::unique_ptr<shm::GateTable> gate = std::make_unique<shm::GateTable>();
  std::vector<std::uint64_t> keys;

  Published() {
    Rng rng(1);
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t key = rng.Next() | 1;
      gate->Publish(key, static_cast<std::uint32_t>(1 + i % 500));
      keys.push_back(key);
    }
    for (std::size_t i = keys.size(); i < kLaunches; ++i) keys.push_back(keys[rng.Below(2000)]);
  }
};

void GateLookup(benchmark::State& state) {
  const Published published;
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(published.gate->Find(published.keys[i]));
    i = (i + 1) % kLaunches;
  }
}
BENCHMARK(GateLookup);

struct NoExploration {
  bool MayExplore(std::uint32_t) const { return false; }
};

void Decide(benchmark::State& state, const Published& published) {
  const shm::LaunchDraws draws(1);
  shm::GateClient<NoExploration> client;
  shm::LaunchKeys keys;
  std::uint64_t launch = 0;
  for (auto _ : state) {
    keys.history = published.keys[launch % kLaunches];
    benchmark::DoNotOptimize(
        client.Decide(*published.gate, keys, 0u, [&] { return draws(launch); }));
    ++launch;
  }
}

void GateLookupAndSpendNothing(benchmark::State& state) {
  Decide(state, Published());
}
BENCHMARK(GateLookupAndSpendNothing);

// Every launch finds an open credit and makes a draw that the slot rejects.
void GateLookupAndDraw(benchmark::State& state) {
  const Published published;
  for (std::uint32_t slot = 1; slot <= 500; ++slot) published.gate->Grant(slot, 1, 0);
  Decide(state, published);
}
BENCHMARK(GateLookupAndDraw);

void ContextKeys(benchmark::State& state) {
  shm::LaunchConfig config{{128, 1, 1}, {256, 1, 1}};
  shm::LaunchHistory history = 0;
  std::uint64_t name = 0x123456789abcdef;
  for (auto _ : state) {
    ++config.grid[0];
    const shm::LaunchKeys keys(name, shm::ConfigKey(name, config), history);
    benchmark::DoNotOptimize(keys.history);
    history = shm::Advance(history, name);
  }
}
BENCHMARK(ContextKeys);

}  // namespace
}  // namespace stemtap
