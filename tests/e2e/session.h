// SPDX-License-Identifier: Apache-2.0
//
// Helpers that record sessions, read their files, and find the profile to compare with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "support/paths.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace stemtap::test {

inline ProcessOptions OnFakeGpu(const TempDir& scratch) {
  ProcessOptions options;
  options.cwd = scratch.path();
  options.env = {{"LD_LIBRARY_PATH", FakeGpuDir().string()}};
  return options;
}

struct KernelTotals {
  std::uint64_t count = 0;
  std::uint64_t duration_ns = 0;
  bool operator==(const KernelTotals&) const = default;
};
using TotalsByName = std::map<std::string, KernelTotals>;

inline nlohmann::json ReadJson(const std::filesystem::path& file) {
  return nlohmann::json::parse(ReadFile(file), nullptr, false);
}

inline TotalsByName TotalsOfPlan(const nlohmann::json& plan) {
  TotalsByName totals;
  for (const auto& kernel : plan["kernels"]) {
    totals[kernel["name"]] = {kernel["invocations"], kernel["duration_ns"]};
  }
  return totals;
}

// Compares the final overview.json with session.json and plan.json. Returns the difference, or an
// empty string.
inline std::string OverviewDiffers(const std::filesystem::path& folder) {
  const nlohmann::json overview = ReadJson(folder / "overview.json");
  const nlohmann::json session = ReadJson(folder / "session.json");
  const nlohmann::json plan = ReadJson(folder / "plan.json");
  if (!overview.is_object() || !session.is_object() || !plan.is_object()) return "unreadable";
  if (overview.value("schema", "") != "stemtap.overview/1") return "schema";
  if (overview.value("state", "") != "ended") return "state";
  for (const char* name : {"mode", "command", "elapsed_s", "tool"}) {
    if (std::string(name) == "elapsed_s") {
      const double off = overview[name].get<double>() - session[name].get<double>();
      if (off > 0.001 || off < -0.001) return name;
    } else if (overview[name] != session[name]) {
      return name;
    }
  }
  for (const char* name : {"seen", "kept", "dropped", "gaps", "captured", "captured_duration_ns",
                           "zero_duration", "slowed"}) {
    if (overview[name] != session["counters"][name]) return name;
  }
  if (overview["observed"] != plan["totals"]["invocations"]) return "observed";
  if (overview["duration_ns"] != plan["totals"]["duration_ns"]) return "duration_ns";
  if (overview["timeline"].empty()) return "timeline";
  if (overview["timeline"].back()[1] != overview["observed"]) return "timeline's end";
  if (overview["processes"].size() != session["processes"].size()) return "processes";
  std::uint64_t captured = 0;
  for (std::size_t i = 0; i < overview["processes"].size(); ++i) {
    for (const char* name : {"pid", "program", "state", "reason", "seen", "kept"}) {
      if (overview["processes"][i][name] != session["processes"][i][name]) return name;
    }
    captured += overview["processes"][i]["captured"].get<std::uint64_t>();
  }
  if (!overview["processes"].empty() && overview["captured"] != captured) return "captured of each";
  if (overview["kernels"].size() != plan["kernels"].size()) return "kernels";
  std::uint64_t samples = 0;
  for (const auto& kernel : overview["kernels"]) {
    for (const auto& cluster : kernel["clusters"]) {
      samples += cluster["captured"].get<std::uint64_t>();
    }
  }
  if (plan["totals"]["samples"] != samples) return "clusters";
  return {};
}

}  // namespace stemtap::test
