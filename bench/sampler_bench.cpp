// SPDX-License-Identifier: Apache-2.0
// Measures the cost of one record in the online sampler, single-threaded, including epochs and
// allocations.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "research/workloads/llm_decode.h"
#include "session/engine.h"
#include "stats/log_sketch.h"
#include "stats/moments.h"

namespace stemtap {
namespace {

// Returns observations of a decode loop, including keys, as the engine passes them to the sampler.
std::vector<online::Observation> DecodeObservations(online::OnlineSampler& sampler,
                                                    std::size_t count) {
  research::LlmDecodeOptions options;
  options.launches = count;
  auto reader = research::MakeLlmDecode(options);
  model::ProfileBatch batch;
  std::vector<online::Observation> seen;
  shm::LaunchHistory history = 0;
  while (reader->Read(batch, 65536).value() != 0) {
    for (const shm::KernelRecord& r : batch.records) {
      online::Observation o;
      o.record = r;
      o.record.name_id = sampler.AddKernel(reader->names().name(r.name_id));
      o.index = seen.size();
      const std::uint64_t hash = sampler.names().hash(o.record.name_id);
      const shm::LaunchKeys keys(hash, r, history);
      o.config_key = keys.config;
      o.history_key = keys.history;
      history = shm::Advance(history, hash);
      seen.push_back(o);
    }
  }
  return seen;
}

void SamplerUpdate(benchmark::State& state) {
  constexpr std::size_t kEpoch = 8192;
  auto gate = std::make_unique<shm::GateTable>();
  online::OnlineSampler sampler(sampling::SamplingOptions{}, *gate);
  // As many as the engine holds back at the default lag, so they are in cache as in the engine.
  const std::vector<online::Observation> seen = DecodeObservations(sampler, 1 << 15);
  std::size_t at = 0;
  for (auto _ : state) {
    sampler.Begin(std::span(seen).subspan(at, kEpoch));
    for (std::size_t i = 0; i < sampler.touched(); ++i) sampler.UpdateKernel(i);
    sampler.Commit();
    at = (at + kEpoch) % seen.size();
  }
  state.counters["ns/record"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kEpoch,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(SamplerUpdate);

void SketchAdd(benchmark::State& state) {
  stats::LogSketch sketch;
  std::uint64_t x = 88172645463325252u;
  for (auto _ : state) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    sketch.Add(5000 + (x & 1023));
  }
  benchmark::DoNotOptimize(sketch.count());
}
BENCHMARK(SketchAdd);

void MomentsAdd(benchmark::State& state) {
  stats::Moments moments;
  double value = 5000.0;
  for (auto _ : state) {
    moments.Add(value);
    value += 1.0;
  }
  benchmark::DoNotOptimize(moments);
}
BENCHMARK(MomentsAdd);

}  // namespace
}  // namespace stemtap
