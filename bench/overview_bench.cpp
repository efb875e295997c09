// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a session overview: describing the kernels and writing them as JSON. The
// collector spends 2 % of its time on it, so the minimum interval between overviews is fifty times
// this.
#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "model/overview.h"
#include "online/online_sampler.h"

namespace stemtap {
namespace {

// Arg: number of kernels, each with 500 launches whose durations span an octave.
void OverviewWrite(benchmark::State& state) {
  auto gate = std::make_unique<shm::GateTable>();
  online::OnlineSampler sampler(sampling::SamplingOptions{}, *gate);
  std::mt19937_64 random(1);
  const auto kernels = static_cast<std::uint64_t>(state.range(0));
  std::vector<online::Observation> epoch;
  const auto work_off = [&] {
    sampler.Begin(epoch);
    for (std::size_t i = 0; i < sampler.touched(); ++i) sampler.UpdateKernel(i);
    sampler.Commit();
    epoch.clear();
  };
  for (std::uint64_t i = 0; i < 500 * kernels; ++i) {
    online::Observation& o = epoch.emplace_back();
    o.record.name_id =
        sampler.AddKernel("void basalt::gemv::SkinnyKernel<basalt::bfloat16, 128, 4>::" +
                          std::to_string(random() % kernels));
    o.record.start_ns = 1'795'310'000'000'000'000 + i * 10'000;
    o.record.duration_ns = 5'000 + random() % 5'000;
    o.index = i;
    if (epoch.size() == 8192) work_off();
  }
  work_off();
  std::size_t bytes = 0;
  for (auto _ : state) {
    model::Overview overview;
    sampler.Describe(overview);
    bytes = model::OverviewToJson(overview).size();
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(OverviewWrite)->Arg(14)->Arg(256)->Arg(4096)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stemtap
