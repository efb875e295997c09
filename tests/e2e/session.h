// SPDX-License-Identifier: Apache-2.0
//
// Reads what a session left, and the profile it should agree with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "support/temp_dir.h"

namespace stemtap::test {

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

}  // namespace stemtap::test
