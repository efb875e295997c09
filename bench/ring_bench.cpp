// SPDX-License-Identifier: Apache-2.0
// What a record costs to cross the ring: push and pop of 64 bytes, between two threads.
#include <benchmark/benchmark.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "wire/ring.h"

namespace stemtap {
namespace {

constexpr std::size_t kBurst = std::size_t{1} << 20;

// Pushes kBurst records in pieces of `batch` while another thread takes them out.
void RingCrossing(benchmark::State& state) {
  const auto batch = static_cast<std::size_t>(state.range(0));
  auto queue = std::make_unique<wire::RecordQueue>();
  const std::vector<wire::Record> records(batch);
  for (auto _ : state) {
    std::thread consumer([&queue] {
      std::vector<wire::Record> out(4096);
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

}  // namespace
}  // namespace stemtap
