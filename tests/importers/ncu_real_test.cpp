// SPDX-License-Identifier: Apache-2.0
// The reports that come with real ncu, printed by it and read by every reader of its pages.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/paths.h"
#include "support/process.h"
#include "support/real_nvidia.h"
#include "support/temp_dir.h"

namespace stemtap::test {
namespace {

TEST_CASE("pages of real ncu are read as Python's csv module counts them") {
  const std::optional<std::filesystem::path> package = RealNvidia("ncu");
  STEMTAP_SKIP_WITHOUT_REAL(package);
  if (RunProcess({"python3", "--version"}).exit_code != 0) {
    MESSAGE("SKIPPED: python3 is not installed");
    return;
  }
  const TempDir scratch;
  std::vector<std::string> command = {"python3",
                                      (SourceDir() / "tests/importers/ncu_real_pages.py").string(),
                                      (*package / "usr/lib/nsight-compute/ncu").string(),
                                      StemtapProgram().string(), scratch.path().string()};
  const std::size_t without_reports = command.size();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           *package / "usr/share/doc/nsight-compute/examples")) {
    if (entry.path().extension() == ".ncu-rep") command.push_back(entry.path().string());
  }
  REQUIRE(command.size() == without_reports + 6);
  ProcessOptions options;
  options.timeout = std::chrono::seconds(240);
  options.env = {{"HOME", scratch.path().string()}};  // ncu looks for settings there
  const ProcessResult result = RunProcess(command, options);
  CAPTURE(result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.out.find(" values equal\n") != std::string::npos);
  MESSAGE(result.out);
}

}  // namespace
}  // namespace stemtap::test
