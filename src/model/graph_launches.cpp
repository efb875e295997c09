// SPDX-License-Identifier: Apache-2.0
#include "model/graph_launches.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/text.h"

namespace stemtap::model {

std::string GraphLaunchesLine(std::span<const ProcessReport> processes,
                              std::span<const DeviceTotals> devices) {
  // A smaller share hardly changes the bound.
  constexpr double kMinShare = 0.01;
  std::uint64_t launches = 0;
  for (const ProcessReport& process : processes) {
    launches += process.losses[static_cast<std::uint32_t>(shm::Loss::kGraphLaunches)];
  }
  double of_graphs = 0.0;
  double total = 0.0;
  for (const DeviceTotals& device : devices) {
    of_graphs += static_cast<double>(device.graph_duration_ns);
    total += static_cast<double>(device.duration_ns);
  }
  if (launches == 0 || !(of_graphs >= kMinShare * total) || total == 0.0) return {};
  return fmt::format(
      "kernels of {} ({:.2f} % of the time) cannot be captured one by one, and the bound counts "
      "those without another sample in full: use --level graph, or run without graphs "
      "(GGML_CUDA_DISABLE_GRAPHS=1 for llama.cpp, enforce_eager=True for vLLM)",
      Plural(launches, "graph launch", "graph launches"), 100.0 * of_graphs / total);
}

}  // namespace stemtap::model
