// SPDX-License-Identifier: Apache-2.0
#include "support/real_nvidia.h"

#include <chrono>
#include <map>
#include <string>

#include "support/process.h"

namespace stemtap::test {
namespace {

// Maximum time for a download of several hundred MB, including the wait for the download of another
// test. A larger limit would exceed the timeout of a test.
constexpr std::chrono::milliseconds kTimeout{180'000};

}  // namespace

std::optional<std::filesystem::path> RealNvidia(const char* kind) {
  static std::map<std::string, std::optional<std::filesystem::path>> known;
  const auto [at, is_new] = known.try_emplace(kind);
  const std::string tool = STEMTAP_REAL_NVIDIA;
  std::error_code ignored;
  if (!is_new || !std::filesystem::exists(tool, ignored)) return at->second;
  // Only one download runs at a time, because all kinds share a cache directory.
  ProcessOptions options;
  options.timeout = kTimeout;
  const ProcessResult result = RunProcess({"flock", tool, tool, kind}, options);
  // The tool prints "REAL_<X>=<directory>".
  const std::size_t equals = result.out.find('=');
  if (result.exit_code != 0 || equals == std::string::npos) return std::nullopt;
  std::string directory = result.out.substr(equals + 1);
  directory.resize(directory.find_last_not_of('\n') + 1);
  if (std::filesystem::is_directory(directory, ignored)) at->second = directory;
  return at->second;
}

}  // namespace stemtap::test
