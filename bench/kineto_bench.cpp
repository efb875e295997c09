// SPDX-License-Identifier: Apache-2.0
// Reads a torch.profiler JSON trace from memory: finding the ends of events, checking all of them,
// and iterating over the kernels. Each kernel comes with its launch, two operators and a flow
// event.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/memory_source.h"
#include "formats/importers/importers.h"

namespace stemtap {
namespace {

constexpr int kKernels = 100'000;

std::string Trace() {
  std::string text = "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n";
  const std::string types(160, 'T');
  for (int i = 0; i < kKernels; ++i) {
    const std::string time = fmt::format("{}.{:03}", 6024880621705 + i, i % 1000);
    for (const char* const op : {"aten::empty", "aten::add_"}) {
      text += fmt::format(
          R"json(  {{
    "ph": "X", "cat": "cpu_op", "name": "{}", "pid": 68753, "tid": 68753,
    "ts": {}, "dur": 7.250,
    "args": {{
      "External id": {}, "Input type": ["float", "Scalar"], "Input Dims": [[64, 64], []]
    }}
  }},
)json",
          op, time, i);
    }
    text += fmt::format(
        R"json(  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 68753, "tid": 68753,
    "ts": {0}, "dur": 4.500,
    "args": {{
      "External id": {1}, "cbid": 211, "correlation": {1}
    }}
  }},
  {{
    "ph": "s", "id": {1}, "pid": 68753, "tid": 68753, "ts": {0}, "cat": "ac2g", "name": "ac2g"
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "void kernel_{2}<4, {3}>(int)", "pid": 0, "tid": 7,
    "ts": {0}, "dur": 18.112,
    "args": {{
      "External id": {1}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {1},
      "registers per thread": 16, "shared memory": 0,
      "blocks per SM": 135.515152, "warps per SM": 542.060608,
      "grid": [17888, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 100
    }}
  }}{4}
)json",
        time, i, i % 100, types, i + 1 < kKernels ? "," : "");
  }
  return text + "  ],\n  \"baseTimeNanoseconds\": 1727743122000000000\n}\n";
}

void ReadKinetoJson(benchmark::State& state) {
  const std::string text = Trace();
  for (auto _ : state) {
    auto reader = formats::OpenKinetoJson(std::make_unique<MemorySource>("trace.json", text),
                                          formats::Marks::kSkip);
    if (!reader.ok()) {
      state.SkipWithError(reader.error().message.c_str());
      break;
    }
    benchmark::DoNotOptimize(reader.value()->names().size());
  }
  state.SetItemsProcessed(state.iterations() * kKernels);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(ReadKinetoJson)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stemtap
