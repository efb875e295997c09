// SPDX-License-Identifier: Apache-2.0
// Measures what the collector adds to an overview once a second to serve metrics: the counters and
// their text.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "session/metrics.h"

namespace stemtap::session {
namespace {

// Arg: number of kernels.
void MetricsText(benchmark::State& state) {
  model::Overview overview;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    model::OverviewKernel kernel;
    kernel.name = "void basalt::gemv::SkinnyKernel<basalt::bfloat16, 128, 4>::" + std::to_string(i);
    kernel.invocations = static_cast<std::uint64_t>(state.range(0) - i);
    kernel.duration_ns = kernel.invocations * 12'345'678;
    overview.observed += kernel.invocations;
    overview.duration_ns += kernel.duration_ns;
    overview.kernels.push_back(std::move(kernel));
  }
  LiveFigures figures = {.overview = overview};
  figures.devices.resize(8);
  figures.processes.resize(8);
  RunMetrics metrics;
  std::size_t bytes = 0;
  for (auto _ : state) {
    metrics.Update(figures);
    bytes = metrics.Text(figures).size();
    benchmark::DoNotOptimize(bytes);
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(MetricsText)->Arg(10)->Arg(50)->Arg(4096)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace stemtap::session
