// SPDX-License-Identifier: Apache-2.0
//
// Runs ffmpeg's CUDA filters on the simulated driver, if ffmpeg is installed.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "support/paths.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace stemtap::test {
namespace {

TEST_CASE("ffmpeg scales frames with CUDA, twice with the same result") {
  if (!std::filesystem::exists("/usr/bin/ffmpeg")) {
    MESSAGE("SKIPPED: /usr/bin/ffmpeg is not installed");
    return;
  }
  const TempDir dir;
  ProcessOptions options;
  options.env = {{"LD_LIBRARY_PATH", FakeGpuDir().string()},
                 {"FAKE_GPU_TRUTH", (dir / "truth").string()}};
  const auto run = [&options] {
    return RunProcess(
        {"/usr/bin/ffmpeg", "-nostdin", "-init_hw_device", "cuda=c", "-filter_hw_device", "c", "-f",
         "lavfi", "-i", "testsrc=duration=2:size=320x180:rate=30", "-vf",
         "format=yuv420p,hwupload_cuda,scale_cuda=160:90,hwdownload,format=yuv420p", "-f",
         "framemd5", "-"},
        options);
  };
  const ProcessResult first = run();
  if (first.err.find("No such filter") != std::string::npos) {
    MESSAGE("SKIPPED: ffmpeg has no CUDA filters");
    return;
  }
  INFO(first.err);
  REQUIRE(first.exit_code == 0);
  CHECK(std::count(first.out.begin(), first.out.end(), '\n') >= 60);
  const std::string truth = ReadFile(dir / "truth");
  CHECK(truth.starts_with("# launches 120 "));
  CHECK(run().out == first.out);
  CHECK(ReadFile(dir / "truth") == truth);
}

}  // namespace
}  // namespace stemtap::test
