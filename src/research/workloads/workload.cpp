// SPDX-License-Identifier: Apache-2.0
#include "research/workloads/workload.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "research/workloads/generators.h"
#include "research/workloads/llm_decode.h"

namespace stemtap::research {
namespace {

constexpr std::uint64_t kMaxLaunches = 1'000'000'000'000;
constexpr unsigned kMaxLayers = 256;

std::unique_ptr<model::ProfileReader> LlmDecode(const WorkloadOptions& common) {
  LlmDecodeOptions options;
  options.launches = common.launches;
  options.seed = common.seed;
  options.noise_seed = common.noise_seed;
  options.other_gpu = common.other_gpu;
  options.layers = common.layers.value_or(options.layers);
  return MakeLlmDecode(options);
}

constexpr std::array kWorkloads = {
    Workload{"llm-decode", "a language model answers prompts, token by token", true, LlmDecode},
    Workload{"llm-serve", "a language model answers many requests at once, in bursts", true,
             MakeLlmServe},
    Workload{"training", "training steps with NCCL all-reduces", true, MakeTraining},
    Workload{"phases", "kernel durations change from phase to phase", false, MakePhases},
    Workload{"outliers", "Pareto-distributed outliers and one huge launch in a million", false,
             MakeOutliers},
    Workload{"warmup", "a slow start that decays, and clocks that step", false, MakeWarmup},
    Workload{"rare-kernels", "thousands of kernels that are launched once or a few times", false,
             MakeRareKernels},
};

}  // namespace

std::span<const Workload> Workloads() {
  return kWorkloads;
}

MadeWorkload MakeWorkload(std::string_view name, const WorkloadOptions& options) {
  std::vector<std::string> names;
  for (const Workload& workload : kWorkloads) {
    names.emplace_back(workload.name);
    if (name != workload.name) continue;
    if (options.launches < 1 || options.launches > kMaxLaunches) {
      return Error{
          fmt::format("{}: launches is {}; expected 1 to {}", name, options.launches, kMaxLaunches),
          2};
    }
    if (options.layers && !workload.has_layers) {
      return Error{fmt::format("{}: no model; expected no layers", name), 2};
    }
    if (options.layers && (*options.layers < 1 || *options.layers > kMaxLayers)) {
      return Error{
          fmt::format("{}: layers is {}; expected 1 to {}", name, *options.layers, kMaxLayers), 2};
    }
    return workload.make(options);
  }
  const std::string_view nearest = NearestName(name, names);
  return Error{fmt::format("unknown workload '{}', {}", EscapeForTerminal(name),
                           nearest.empty() ? fmt::format("expected {}", fmt::join(names, ", "))
                                           : fmt::format("did you mean {}?", nearest)),
               2};
}

}  // namespace stemtap::research
