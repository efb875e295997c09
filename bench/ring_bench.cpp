// SPDX-License-Identifier: Apache-2.0
// Measures the cost of moving a record through the ring: push and pop of 64 bytes. The two-thread
// result is valid only if each thread has its own core; the single-thread result measures only the
// work.
#include <benchmark/benchmark.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "shm/ring.h"

namespace stemtap {
namespace {

constexpr std::size_t kBurst = std::size_t{1} << 20;

// Pushes kBurst records in batches of `batch` while another thread pops them.
void RingCrossing(benchmark::State& state) {
  const auto batch = static_cast<std::size_t>(state.range(0));
  auto queue = std::make_unique<shm::RecordQueue>();
  const std::vector<shm::Record> records(batch);
  for (auto _ : state) {
    std::thread consumer([&queue] {
      std::vector<shm::Record> out(4096);
      for (std::size_t taken = 0; taken < kBurst;) taken += queue->pop(out.data(), out.size());
    });
    for (std::size_t pushed = 0; pushed < kBurst;) {
      pushed += queue->push(records.data(), std::min(batch, kBurst - pushed));
    }
    consumer.join();
  }
  state.counters["ns/record"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kBurst,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(RingCrossing)->Arg(1)->Arg(16)->Arg(256)->UseRealTime();

// Alternately pushes and pops batches of 256, as the injector stages and the collector drains them.
void RingPushPop(benchmark::State& state) {
  constexpr std::size_t kPiece = 256;
  auto queue = std::make_unique<shm::RecordQueue>();
  std::vector<shm::Record> records(kPiece);
  for (auto _ : state) {
    queue->push(records.data(), kPiece);
    queue->pop(records.data(), kPiece);
  }
  state.counters["ns/record"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kPiece,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(RingPushPop);

}  // namespace
}  // namespace stemtap
