// SPDX-License-Identifier: Apache-2.0
// Tests that tools/evaluate fills in the given page and does not change unknown content.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/paths.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace stemtap::test {
namespace {

constexpr const char* kSections[] = {"bound",     "floor",           "whole",
                                     "summary",   "online-recorded", "online-generated",
                                     "selection", "equal-error",     "released"};

std::string Between(const std::string& page, const std::string& section) {
  const std::string begin = "<!-- begin " + section + " -->\n";
  const std::size_t from = page.find(begin);
  const std::size_t to = page.find("<!-- end " + section + " -->");
  if (from == std::string::npos || to == std::string::npos) return "";
  return page.substr(from + begin.size(), to - from - begin.size());
}

ProcessResult RunScript(const std::vector<std::string>& more) {
  std::vector<std::string> argv = {"python3",   (SourceDir() / "tools/evaluate").string(),
                                   "--stemtap", StemtapProgram().string(),
                                   "--quick",   "--launches",
                                   "2000"};
  argv.insert(argv.end(), more.begin(), more.end());
  return RunProcess(argv, {.timeout = std::chrono::minutes(4)});
}

TEST_CASE("the script fills every table of the page") {
  if (RunProcess({"python3", "--version"}).exit_code != 0) {
    MESSAGE("SKIPPED: python3 is not installed");
    return;
  }
  TempDir scratch;
  std::string page = "before\n";
  for (const char* section : kSections) {
    page += std::string("<!-- begin ") + section + " -->\nold\n<!-- end " + section + " -->\n";
  }
  const std::string output = scratch.Write("page.md", page + "after\n").string();
  // The profile has the name of the run that the first-sample section uses, and it is long enough
  // to count as large.
  std::string csv = "index,duration_ns,name\n";
  for (int i = 0; i < 6000; ++i) {
    csv += std::to_string(i) + "," + std::to_string(9000 - i + i * 37 % 101) + ",k\n";
  }
  const std::string profile = scratch.Write("rodinia_gaussian_small.csv", csv).string();
  const ProcessResult result = RunScript({"--output", output, profile});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const std::string filled = ReadFile(output);
  CHECK(filled.rfind("before\n", 0) == 0);
  CHECK(filled.find("after\n") != std::string::npos);
  for (const char* section : kSections) {
    CAPTURE(section);
    const std::string table = Between(filled, section);
    CHECK(table.find("|---") != std::string::npos);
    CHECK(table.find("old") == std::string::npos);
  }
  CHECK(Between(filled, "selection").find("| first |") != std::string::npos);
  for (const char* generated : {"| llm-decode |", "| training |", "| rare-kernels |"}) {
    CAPTURE(generated);
    CHECK(Between(filled, "whole").find(generated) != std::string::npos);
  }
}

TEST_CASE("the page for the script has the same markers as the documentation page") {
  const std::string page = ReadFile(SourceDir() / "docs/evaluation.md");
  for (const char* section : kSections) {
    CAPTURE(section);
    CHECK(!Between(page, section).empty());
  }
}

TEST_CASE("the script rejects a page without markers and a missing program") {
  if (RunProcess({"python3", "--version"}).exit_code != 0) return;
  TempDir scratch;
  const std::string missing = (scratch / "missing.md").string();
  const ProcessResult result = RunScript({"--output", missing});
  CHECK(result.exit_code == 1);
  CHECK(result.err.find("missing.md") != std::string::npos);
  const ProcessResult program = RunScript({"--stemtap", (scratch / "none").string()});
  CHECK(program.exit_code == 1);
  CHECK(program.err.find("none: not there") != std::string::npos);
}

}  // namespace
}  // namespace stemtap::test
