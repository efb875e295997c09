// SPDX-License-Identifier: Apache-2.0
//
// Importers return launches in launch order. The reference profiles of recorded files, made by
// other tools, are in start order.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "model/profile.h"

namespace stemtap::formats {

// Returns the launches of `profile` by start; launches with equal starts keep their order.
inline std::vector<shm::KernelRecord> InStartOrder(const model::Profile& profile) {
  std::vector<shm::KernelRecord> records = profile.records;
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  return records;
}

}  // namespace stemtap::formats
