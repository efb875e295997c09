// SPDX-License-Identifier: Apache-2.0
//
// Generates overviews in the collector's format for tests of their readers.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace stemtap::test {

struct MadeKernel {
  std::string name;  // as written between JSON quotes
  std::uint64_t invocations = 1000;
  std::uint64_t duration_ns = 5000000;
  std::uint64_t captured = 3;
};

struct MadeOverview {
  std::string mode = "live";
  std::string state = "running";
  std::int32_t pid = static_cast<std::int32_t>(::getpid());  // a live process
  double elapsed_s = 12.5;
  std::vector<MadeKernel> kernels = {{"gemm_alpha", 1000, 6000000, 5},
                                     {"Softmax_beta", 3000, 3000000, 7},
                                     {"relu", 500, 1000000, 9}};
  std::string command = R"(["python3","decode.py"])";
  std::string losses = "{}";
  std::uint64_t dropped = 0;
  std::string processes =
      R"([{"pid":4242,"program":"python3","state":"recording","reason":"","seen":4500,"kept":4500,"dropped":0,"captured":21}])";
  std::string bound = "0.061";
  std::string certified_bound = "null";
  std::string activity;  // JSON, or empty
  bool large = false;    // maximum number of bins and points
};

inline std::string JsonOf(const MadeOverview& made) {
  std::uint64_t launches = 0, duration = 0, captured = 0;
  std::string kernels;
  for (const MadeKernel& k : made.kernels) {
    launches += k.invocations;
    duration += k.duration_ns;
    captured += k.captured;
    const std::uint64_t mean = k.invocations == 0 ? 1 : k.duration_ns / k.invocations + 1;
    const std::uint64_t open = k.invocations > 7 ? 7 : 0;
    std::string histogram;
    // The number of bins is limited by the number of launches.
    const std::uint64_t bins = std::min<std::uint64_t>(made.large ? 24 : 2, k.invocations);
    const std::uint64_t step = std::max<std::uint64_t>(mean / 16, 1);
    for (std::uint64_t i = 0; i < bins; ++i) {
      histogram +=
          fmt::format("{}[{},{},{}]", i == 0 ? "" : ",", mean + step * i, mean + step * (i + 1),
                      (i * 37 + 11) % 97 * k.invocations / 4000 + 1);
    }
    kernels += fmt::format(
        R"({}{{"name":"{}","process":null,"grid":null,"block":null,"invocations":{},"duration_ns":{},"captured":{},"imputed":0,"clusters":[)"
        R"({{"lower_ns":{},"upper_ns":{},"count":{},"mean_ns":{}.5,"stddev_ns":80.2,"captured":2,"target":2,"state":"closed"}},)"
        R"({{"lower_ns":{},"upper_ns":{},"count":{},"mean_ns":{},"stddev_ns":1,"captured":1,"target":3,"state":"open"}}],)"
        R"("histogram":[{}],"slices":[]}})",
        kernels.empty() ? "" : ",\n", k.name, k.invocations, k.duration_ns,
        std::min(k.captured, k.invocations), mean / 2, mean, k.invocations - open, mean * 3 / 4,
        mean + 1, 2 * mean, open, mean + mean / 2, histogram);
  }
  return fmt::format(
      R"({{"schema":"stemtap.overview/1","tool":"stemtap 0.1.0","mode":"{}","state":"{}","pid":{},"started_unix_ms":{},)"
      R"("elapsed_s":{},"period_ms":1000,"command":{},"error_bound":0.05,"confidence":0.95,"level":"gate","actuator":"log",)"
      R"("seen":{},"kept":{},"dropped":{},"gaps":0,"losses":{},"observed":{},"duration_ns":{},"captured":{},"captured_duration_ns":{},)"
      R"("kernels_known":{},"clusters_open":{},"clusters_closed":{},"bound":{},"certified_bound":{},"slowed":0,"zero_duration":0,"excluded":0,"excluded_duration_ns":0,)"
      R"("processes":{},"timeline":[[1,100,1000,1,10,9,1,0],[5,1000,10000,2,20,8,0.4,0],[10,2000,20000,3,30,5,0.1,0]],{})"
      R"("slices":{{"start_ns":0,"width_ns":0,"count":0}},"kernels":[{}]}})"
      "\n",
      made.mode, made.state, made.pid, 0, made.elapsed_s, made.command, launches + made.dropped,
      launches, made.dropped, made.losses, launches, duration, captured, duration / 100,
      made.kernels.size(), made.kernels.size(), made.kernels.size(), made.bound,
      made.certified_bound, made.processes,
      made.activity.empty() ? "" : "\"activity\":" + made.activity + ",", kernels);
}

// Replaces the file atomically, as the collector does.
inline void WriteOverview(const std::filesystem::path& directory, const std::string& json) {
  const std::filesystem::path beside = directory / "new.overview.json";
  std::ofstream(beside, std::ios::binary) << json;
  std::filesystem::rename(beside, directory / "overview.json");
}

}  // namespace stemtap::test
