// SPDX-License-Identifier: Apache-2.0
//
// Runs a Python script of the tests against the real ncu and its sample reports. Skips the test
// case with a message if ncu or Python is unavailable.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/paths.h"
#include "support/process.h"
#include "support/real_nvidia.h"
#include "support/temp_dir.h"

namespace stemtap::test {

// Runs `script NCU STEMTAP SCRATCH REPORT...`, where `script` is a path under tests. Checks that
// the exit code is 0 and that the last line ends in `success`.
inline void CheckWithRealNcu(const std::string& script, const std::string& success) {
  const std::optional<std::filesystem::path> package = RealNvidia("ncu");
  STEMTAP_SKIP_WITHOUT_REAL(package);
  if (RunProcess({"python3", "--version"}).exit_code != 0) {
    MESSAGE("SKIPPED: python3 is not installed");
    return;
  }
  const TempDir scratch;
  const TempDir home;  // for the settings of ncu
  std::vector<std::string> command = {"python3",
                                      "-B",
                                      (SourceDir() / "tests" / script).string(),
                                      (*package / "usr/lib/nsight-compute/ncu").string(),
                                      StemtapProgram().string(),
                                      scratch.path().string()};
  const std::size_t without_reports = command.size();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           *package / "usr/share/doc/nsight-compute/examples")) {
    if (entry.path().extension() == ".ncu-rep") command.push_back(entry.path().string());
  }
  REQUIRE(command.size() == without_reports + 6);
  ProcessOptions options;
  options.timeout = std::chrono::seconds(500);
  options.env = {{"HOME", home.path().string()}};
  const ProcessResult result = RunProcess(command, options);
  CAPTURE(result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.out.ends_with(success + "\n"));
  MESSAGE(result.out);
}

}  // namespace stemtap::test
