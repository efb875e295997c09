// SPDX-License-Identifier: Apache-2.0
// Measures the time to build and size the clusters of many kernels at once, and to plan a whole
// run.
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "base/worker_pool.h"
#include "research/workloads/llm_decode.h"
#include "sampling/design.h"
#include "sampling/two_pass.h"

namespace stemtap {
namespace {

// 10,000 kernels of 100 bins each: a mode and a noise floor. Kernels differ by up to e^12 in
// their number of launches.
std::vector<sampling::KernelCells> ManyKernels() {
  Rng rng(1);
  std::vector<sampling::KernelCells> kernels;
  for (int k = 0; k < 10'000; ++k) {
    sampling::KernelCells cells;
    const double base = 1000.0 * std::exp(8.0 * rng.Uniform());
    const double heat = std::exp(12.0 * rng.Uniform());
    for (int i = 0; i < 100; ++i) {
      const double low = base * std::exp2(i / 64.0);
      const double x = (i - 50) / 20.0;
      const auto n =
          static_cast<std::uint64_t>(1.0 + 10.0 * heat * (std::exp(-x * x) + 0.2 * rng.Uniform()));
      const double spread = n > 1 ? 0.004 * low : 0.0;
      cells.emplace_back(n, low * (1.0 + 0.008 * rng.Uniform()),
                         static_cast<double>(n) * spread * spread);
    }
    kernels.push_back(std::move(cells));
  }
  return kernels;
}

// Range 0: the error bound in 1/10,000. Range 1: whether the search starts at the previous
// multiplier.
void CutTenThousandKernels(benchmark::State& state) {
  const std::vector<sampling::KernelCells> kernels = ManyKernels();
  WorkerPool pool(2);
  const ParallelFor parallel = [&](std::size_t n, const auto& part) { pool.ForEach(n, part); };
  sampling::SamplingOptions options;
  options.error_bound = static_cast<double>(state.range(0)) * 1e-4;
  double multiplier = 0.0;
  for (auto _ : state) {
    const sampling::Design strata =
        sampling::StratifyWorkload(sampling::ViewsOf(kernels), options, multiplier, parallel);
    if (state.range(1) != 0) multiplier = 1.1 * strata.multiplier;
    benchmark::DoNotOptimize(strata.kernels.data());
  }
}
BENCHMARK(CutTenThousandKernels)
    ->ArgsProduct({{500, 100, 30}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// A decode loop of 4 million launches, generated twice and planned in two passes.
void PlanDecodeLoop(benchmark::State& state) {
  research::LlmDecodeOptions loop;
  loop.launches = 4'000'000;
  WorkerPool pool(2);
  const ParallelFor parallel = [&](std::size_t n, const auto& part) { pool.ForEach(n, part); };
  sampling::SamplingOptions options;
  const sampling::OpenReader open = [&]() -> Result<std::unique_ptr<model::ProfileReader>> {
    return research::MakeLlmDecode(loop);
  };
  for (auto _ : state) {
    const auto planned = sampling::PlanTwoPass(open, "decode loop", options, parallel);
    benchmark::DoNotOptimize(planned.ok());
  }
  state.counters["launches/s"] = benchmark::Counter(
      static_cast<double>(state.iterations() * loop.launches), benchmark::Counter::kIsRate);
}
BENCHMARK(PlanDecodeLoop)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace stemtap
