// SPDX-License-Identifier: Apache-2.0
// Replays a profile from a file on disk to a plan, without writing session files. The file is
// written once, by the decode generator, as an uncompressed binary profile.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "formats/importers/registry.h"
#include "model/profile_writer.h"
#include "research/workloads/llm_decode.h"
#include "session/replay.h"

namespace stemtap {
namespace {

constexpr std::size_t kLaunches = 4'000'000;

std::string DecodeProfile(const std::string& extension) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("stemtap-bench" + extension)).string();
  research::LlmDecodeOptions options;
  options.launches = kLaunches;
  auto reader = research::MakeLlmDecode(options);
  auto writer = model::CreateProfileWriter(path);
  model::ProfileBatch batch;
  while (reader->Read(batch, 65536).value() != 0) {
    (void)writer.value()->Write(batch, reader->names(), reader->metric_names());
  }
  (void)writer.value()->Finish();
  return path;
}

void Replay(benchmark::State& state, const std::string& extension, unsigned threads) {
  const std::string path = DecodeProfile(extension);
  for (auto _ : state) {
    auto reader = formats::OpenProfile(path);
    session::ReplayOptions options;
    options.threads = threads;
    options.quiet = true;
    auto outcome = session::RunReplay(*reader.value(), options);
    if (!outcome.ok()) {
      state.SkipWithError(outcome.error().message.c_str());
      break;
    }
    benchmark::DoNotOptimize(outcome.value().plan.totals.samples);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kLaunches));
  std::remove(path.c_str());
}
BENCHMARK_CAPTURE(Replay, binary_two_threads, ".stemtap", 2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Replay, binary_one_thread, ".stemtap", 1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Replay, zstd_two_threads, ".stemtap.zst", 2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stemtap
