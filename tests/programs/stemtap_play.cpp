// SPDX-License-Identifier: Apache-2.0
//
// stemtap_play is an ordinary CUDA program that uses only the driver API and launches the kernels
// of a recorded profile, in binary form or as canonical CSV (stemtap convert reads other formats).
// It does not use CUPTI; the profiler is injected.
//
//   stemtap_play PROFILE [--real-time] [--threads N] [--repeat N] [--rate LAUNCHES_PER_SECOND]
//
// It prints one line: `launches N duration_ns X wall_ms Y captured C capture_ms Z`.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/byte_source.h"
#include "fake_gpu.h"
#include "formats/importers/importers.h"
#include "player.h"

namespace stemtap {
namespace {

constexpr const char* kUsage =
    "usage: stemtap_play PROFILE [--real-time] [--threads N] [--repeat N] [--rate PER_SECOND]\n";
constexpr unsigned kMaxThreads = 256;
constexpr std::size_t kLeadingBytes = 4096;  // more than the header of a binary profile

// Returns false on invalid input.
bool ParseNumber(const char* text, double& number) {
  char* end = nullptr;
  number = text == nullptr ? 0 : std::strtod(text, &end);
  return text != nullptr && end != text && *end == '\0' && number >= 1;
}

bool Parse(int argc, char** argv, PlayOptions& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    double number = 0;
    if (argument == "--real-time") {
      options.real_time = true;
    } else if (argument.starts_with("--")) {
      if (!ParseNumber(argv[++i], number)) return false;
      if (argument == "--threads" && number <= kMaxThreads) {
        options.threads = static_cast<unsigned>(number);
      } else if (argument == "--repeat") {
        options.repeat = static_cast<std::uint64_t>(number);
      } else if (argument == "--rate") {
        options.rate = number;
      } else {
        return false;
      }
    } else if (options.profile.empty()) {
      options.profile = argument;
    } else {
      return false;
    }
  }
  return !options.profile.empty();
}

Result<std::unique_ptr<model::ProfileReader>> OpenPlayed(const std::string& path) {
  std::unique_ptr<ByteSource> source = STEMTAP_TRY(OpenByteSource(path));
  const std::string_view leading = STEMTAP_TRY(source->Peek(kLeadingBytes));
  return formats::LooksLikeBinaryProfile(leading) ? formats::OpenBinaryProfile(std::move(source))
                                                  : formats::OpenCanonicalCsv(std::move(source));
}

Status PlayAll(const PlayOptions& options) {
  Player player(options);
  for (std::uint64_t i = 0; i < options.repeat; ++i) {
    Result<std::unique_ptr<model::ProfileReader>> reader = OpenPlayed(options.profile);
    if (!reader.ok()) return reader.error();
    if (const Status played = player.Play(*reader.value()); !played) return played;
  }
  return player.Finish();
}

int Run(const PlayOptions& options) {
  // Recorded times require a simulated GPU in real time. An existing setting is kept.
  if (options.real_time) setenv("FAKE_GPU_CLOCK", "real", 0);
  // Devices of a profile beyond these are played on the device of their number modulo 16.
  setenv("FAKE_GPU_DEVICES", "16", 0);
  if (const CUresult result = cuInit(0); result != CUDA_SUCCESS) {
    std::fprintf(stderr, "stemtap_play: cuInit: CUDA error %d\n", static_cast<int>(result));
    return 1;
  }
  const auto begin = std::chrono::steady_clock::now();
  const Status played = PlayAll(options);
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - begin;
  if (!played) {
    std::fprintf(stderr, "stemtap_play: %s\n", played.error().message.c_str());
    return played.error().exit_code;
  }
  FakeGpuStatistics statistics;
  fakeGpuGetStatistics(&statistics);
  std::printf("launches %llu duration_ns %llu wall_ms %.3f captured %llu capture_ms %.3f\n",
              static_cast<unsigned long long>(statistics.launches),
              static_cast<unsigned long long>(statistics.duration_ns), wall.count(),
              static_cast<unsigned long long>(statistics.captured),
              static_cast<double>(statistics.capture_ns) / 1e6);
  return 0;
}

}  // namespace
}  // namespace stemtap

int main(int argc, char** argv) {
  stemtap::PlayOptions options;
  if (!stemtap::Parse(argc, argv, options)) {
    std::fputs(stemtap::kUsage, stderr);
    return 2;
  }
  return stemtap::Run(options);
}
