// SPDX-License-Identifier: Apache-2.0
//
// Tests gpu_probe on the simulated GPU: every experiment runs and counts correctly. The measured
// values describe the simulation.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/paths.h"
#include "support/process.h"

namespace stemtap::test {
namespace {

ProcessResult Probe(std::vector<std::string> arguments,
                    const std::vector<std::pair<std::string, std::string>>& variables = {}) {
  arguments.insert(arguments.begin(), {STEMTAP_TEST_GPU_PROBE, "--cupti", STEMTAP_TEST_FAKE_CUPTI,
                                       "--graph-launches", "1000"});
  ProcessOptions options;
  options.env = {{"LD_LIBRARY_PATH", FakeGpuDir().string()}};
  options.env.insert(options.env.end(), variables.begin(), variables.end());
  return RunProcess(arguments, options);
}

TEST_CASE("every experiment has results") {
  const ProcessResult run = Probe({});
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  const auto all = nlohmann::json::parse(run.out);
  CHECK(all["machine"]["device"] == "Simulated GPU (H100)");
  const auto& e = all["experiments"];
  CHECK(e.size() == 14);
  CHECK(e["callbacks"]["called_ns"] > 0.0);
  CHECK(e["records-kernels"]["recording"]["graph_of_100_ns"] > 0.0);
  // 41 blocks of 500 launches, 20 graphs and 20 graphs with a wait, and one graph before them.
  CHECK(e["records-kernels"]["got"]["kernels"] == 41 * 500 + (41 * 40 + 1) * 100);
  CHECK(e["records-graphs"]["got"]["graphs"] == 41 * 40 + 1);
  CHECK(e["subscribing"]["second_beside_it"] == 39);
  CHECK(e["subscribing"]["got"]["kernels"] == 500);
  CHECK(e["takeover"]["first_alone"]["first"]["kernels"] == 500);
  CHECK(e["takeover"]["second_registered"]["second"]["buffers_of_the_other"] == 1);
  CHECK(e["takeover"]["second_stopped"]["second"]["kernels"] ==
        e["takeover"]["second_registered"]["second"]["kernels"]);
  CHECK(e["takeover"]["first_again"]["first"]["kernels"] == 1000);
  CHECK(e["threads"][2]["launching_threads_that_asked"] == 64);
  CHECK(e["graph_leak-copies"]["got"]["kernels"] == 200'000);
  CHECK(e["hardware_trace"]["got"]["kernels"] == 500);
  CHECK(e["profiler_bracket"]["start"] == 0);
  CHECK(e["profiler_bracket"]["bracketed_ns"].get<double>() >
        10 * e["profiler_bracket"]["called_ns"].get<double>());
  CHECK(e["counters-one_pass"]["offered"] == false);  // the simulated CUPTI has no counters
  CHECK(e["preload_alone"]["preloaded"] == true);
  CHECK(e["preload_alone"]["called"] == false);
}

TEST_CASE("a failed experiment is a result, and the exit code reports it") {
  const ProcessResult run =
      Probe({"callbacks", "subscribing"}, {{"FAKE_CUPTI_FAIL", "cuptiSubscribe=39"}});
  CHECK(run.exit_code == 1);
  const auto all = nlohmann::json::parse(run.out);
  CHECK(all["experiments"]["callbacks"]["error"] == "exit code 1");
  CHECK(all["experiments"]["subscribing"]["first"] == 39);
  CHECK(run.err.find("cuptiSubscribe failed: error 39") != std::string::npos);
}

TEST_CASE("an unknown experiment is a usage error that lists the experiments") {
  const ProcessResult run = Probe({"callback"});
  CHECK(run.exit_code == 2);
  CHECK(run.err.find("callbacks") != std::string::npos);
}

}  // namespace
}  // namespace stemtap::test
