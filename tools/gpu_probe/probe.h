// SPDX-License-Identifier: Apache-2.0
//
// The experiments of gpu_probe; docs/measurements/README.md lists the question that each one
// answers.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "api.h"

namespace gpu_probe {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string variant;                     // of the experiment, or empty
  std::uint64_t graph_launches = 300'000;  // for GraphLeak: 30 million kernels
  std::string images;                      // for Counters: directory of counter data images
};

// Returns the time of the monotonic clock.
std::uint64_t NowNs();

Json Callbacks(const Api& api, const Arguments& arguments);
Json Records(const Api& api, const Arguments& arguments);
Json Subscribing(const Api& api, const Arguments& arguments);
Json Takeover(const Api& api, const Arguments& arguments);
Json Threads(const Api& api, const Arguments& arguments);
Json GraphLeak(const Api& api, const Arguments& arguments);
Json HardwareTrace(const Api& api, const Arguments& arguments);
Json ProfilerBracket(const Api& api, const Arguments& arguments);
Json Counters(const Api& api, const Arguments& arguments);
Json PreloadAlone(const Api& api, const Arguments& arguments);

}  // namespace gpu_probe
