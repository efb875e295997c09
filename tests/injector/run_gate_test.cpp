// SPDX-License-Identifier: Apache-2.0
//
// Tests `stemtap run --level gate`: actuators, kernels that are never captured, and conflicting
// options.
#include <doctest/doctest.h>

#include <regex>
#include <sstream>

#include "injector/injected.h"
#include "support/paths.h"

namespace stemtap::test {
namespace {

struct Run {
  Run(const std::vector<std::string>& options, const std::vector<std::string>& list,
      const Variables& more = {}, const char* level = "gate") {
    std::vector<std::string> argv = {StemtapProgram(),           "run",     "-o",
                                     (dir / "session").string(), "--level", level};
    argv.insert(argv.end(), options.begin(), options.end());
    argv.insert(argv.end(), {"--", STEMTAP_TEST_LAUNCH_LIST});
    argv.insert(argv.end(), list.begin(), list.end());
    ProcessOptions process = BareOptions({{"FAKE_GPU_CAPTURE_FACTOR", "1"}});
    for (const auto& variable : more) process.env.push_back(variable);
    process.cwd = dir.path();
    result = RunProcess(argv, process);
  }
  std::string summary() const { return ReadFile(dir / "session" / "summary.txt"); }
  std::string session() const { return ReadFile(dir / "session" / "session.json"); }
  bool started() const { return !result.out.empty(); }

  TempDir dir;
  ProcessResult result;
};

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a kernel that is never captured is reported as uncovered time") {
  const Run run({"--actuator", "profiler"}, {"gemm:30", "ncclDevKernel_AllReduce_Sum:10"});
  CHECK(run.result.exit_code == 0);
  const std::string summary = run.summary();
  INFO(summary);
  CHECK(Has(summary, "uncovered time 25.00 %"));
  CHECK(Has(summary, "error bound 25.00 %"));
  CHECK(std::regex_search(summary, std::regex(" 25\\.0 % +10 +5\\.00 +1 +0  ncclDevKernel")));
  CHECK(
      Has(summary, "never captured: ncclDevKernel_AllReduce_Sum (NCCL: it waits for other GPUs)"));
}

TEST_CASE("without a gate in the program, such a kernel is reported too") {
  const Run run({}, {"gemm:30", "ncclDevKernel_AllReduce_Sum:10"}, {}, "kernels");
  CHECK(run.result.exit_code == 0);
  const std::string summary = run.summary();
  INFO(summary);
  CHECK(Has(summary, "uncovered time 25.00 %"));
  CHECK(Has(summary, "warning: never captured: ncclDevKernel_AllReduce_Sum (NCCL: it waits for "
                     "other GPUs)\n"));
}

TEST_CASE("a kernel omitted by --exclude does not count as uncovered") {
  const Run run({"--exclude", "nccl"}, {"gemm:30", "ncclDevKernel_AllReduce_Sum:10"});
  CHECK(run.result.exit_code == 0);
  CHECK(Has(run.summary(), "uncovered time 0.00 %"));
}

TEST_CASE("the example actuator writes each captured launch") {
  const Run run({"--actuator", "library:" STEMTAP_TEST_CAPTURE_LIST},
                {"gemm:20", "long/void f<\"a,b\">():2", "bad/gemm:1"},
                {{"CAPTURE_LIST", "list.csv"}});
  INFO(run.result.err);
  CHECK(run.result.exit_code == 0);
  std::vector<std::string> lines;
  std::istringstream in(ReadFile(run.dir / "list.csv"));
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  REQUIRE(lines.size() >= 3);
  CHECK(lines[0] ==
        "launch,correlation_id,device,grid,block,shared_bytes,first_sight,call_us,kernel");
  // The collector may have granted credits, so there may be more than the exploratory captures.
  CHECK(std::regex_match(lines[1],
                         std::regex("0,[0-9]+,0,1x1x1,32x1x1,0,1,[0-9]+\\.[0-9]{3},\"gemm\"")));
  CHECK(std::regex_match(
      lines.back(),
      std::regex("20,[0-9]+,0,2x3x4,64x2x1,48,1,[0-9]+\\.[0-9]{3},\"void f<\"\"a,b\"\">\\(\\)\"")));
  CHECK(Has(run.session(), "\"actuator\": \"library:" STEMTAP_TEST_CAPTURE_LIST "\""));
  CHECK(Has(run.session(), "\"max_captures_per_second\": 100"));
}

TEST_CASE("a relative library path is valid after the program changes its directory") {
  TempDir dir;
  std::filesystem::copy_file(STEMTAP_TEST_CAPTURE_LIST, dir / "mine.so");
  ProcessOptions process = BareOptions({{"CAPTURE_LIST", (dir / "list.csv").string()}});
  process.cwd = dir.path();
  const ProcessResult result =
      RunProcess({StemtapProgram(), "run", "-q", "-o", (dir / "session").string(), "--level",
                  "gate", "--actuator", "library:mine.so", "--", "/bin/sh", "-c",
                  "cd / && exec " STEMTAP_TEST_LAUNCH_LIST " gemm:3"},
                 process);
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(Has(ReadFile(dir / "list.csv"), "\"gemm\""));
}

TEST_CASE("a missing library is reported before the program starts") {
  const Run run({"--actuator", "library:/nowhere/lib.so"}, {"gemm:3"});
  CHECK(run.result.exit_code == 1);
  CHECK(run.result.err == "stemtap: /nowhere/lib.so: cannot be read; expected a shared library\n");
  CHECK_FALSE(run.started());
  CHECK_FALSE(std::filesystem::exists(run.dir / "session"));
  const Run folder({"--actuator", "library:/tmp"}, {"gemm:3"});
  CHECK(folder.result.exit_code == 1);
  CHECK_FALSE(folder.started());
}

TEST_CASE("an invalid library disables captures and does not affect the program") {
  const Run run({"--actuator", "library:" STEMTAP_TEST_EMPTY_LIBRARY}, {"gemm:30"});
  CHECK(run.result.exit_code == 0);
  CHECK(run.result.out == "launches 30 captured 0\n");
  CHECK(Has(run.summary(), "30 launches of 1 kernel,"));
  CHECK(Has(run.summary(), "uncovered time 100.00 %"));
  CHECK(Has(run.summary(), "nothing will be captured: "));
  CHECK(Has(run.summary(), " lacks stemtap_capture_start"));
}

TEST_CASE("invalid options are a usage error") {
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{"--actuator", "library:"},
                                             {"--actuator", "nsys"},
                                             {"--max-captures-per-second", "-1"},
                                             {"--max-captures-per-second", "1000001"},
                                             {"--level", "kernels", "--actuator", "profiler"}}) {
    CAPTURE(options.back());
    const Run run(options, {"gemm:3"});
    CHECK(run.result.exit_code == 2);
    CHECK(run.result.err.starts_with("stemtap: "));
    CHECK_FALSE(run.started());
  }
  TempDir dir;
  const ProcessResult kernels =
      RunProcess({StemtapProgram(), "run", "-o", (dir / "session").string(), "--actuator",
                  "profiler", "--", "/bin/true"});
  CHECK(kernels.exit_code == 2);
  CHECK(kernels.err == "stemtap: --actuator profiler acts at launches; expected --level gate\n");
}

TEST_CASE("the limit of captures per second is passed to the program") {
  const Run run({"--actuator", "profiler", "--max-captures-per-second", "1"},
                {"a:1", "b:1", "c:1"});
  CHECK(run.result.exit_code == 0);
  CHECK(run.result.out == "launches 3 captured 1\n");
  CHECK(Has(run.summary(), "2 captures_throttled"));
  CHECK(Has(run.session(), "\"max_captures_per_second\": 1"));
}

}  // namespace
}  // namespace stemtap::test
