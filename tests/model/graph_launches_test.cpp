// SPDX-License-Identifier: Apache-2.0
#include "model/graph_launches.h"

#include <doctest/doctest.h>

#include <vector>

namespace stemtap::model {
namespace {

std::string LineOf(std::uint64_t launches, std::uint64_t graph_ns, std::uint64_t total_ns) {
  ProcessReport process;
  process.losses[static_cast<std::uint32_t>(shm::Loss::kGraphLaunches)] = launches;
  DeviceTotals device;
  device.graph_duration_ns = graph_ns;
  device.duration_ns = total_ns;
  return GraphLaunchesLine(std::vector{process, ProcessReport()}, std::vector{device, device});
}

TEST_CASE("graph launches that the gate cannot capture are stated with what to do") {
  CHECK(LineOf(996, 9712, 10000) ==
        "kernels of 996 graph launches (97.12 % of the time) cannot be captured one by one, and "
        "the bound counts those without another sample in full: use --level graph, or run without "
        "graphs (GGML_CUDA_DISABLE_GRAPHS=1 for llama.cpp, enforce_eager=True for vLLM)");
  CHECK(LineOf(1, 1, 1).starts_with("kernels of 1 graph launch (100.00 % of the time)"));
  CHECK(LineOf(5, 100, 10000) != "");
}

TEST_CASE("nothing is stated without graph launches at level gate, or with little time") {
  CHECK(LineOf(0, 100, 100) == "");  // at level kernels, graph launches are not counted
  CHECK(LineOf(5, 99, 10000) == "");
  CHECK(LineOf(5, 0, 0) == "");
  CHECK(GraphLaunchesLine({}, {}) == "");
}

}  // namespace
}  // namespace stemtap::model
