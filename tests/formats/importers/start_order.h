// SPDX-License-Identifier: Apache-2.0
//
// Importers give launches in launch order; the profiles that were made of recorded files by others
// have them in order of start.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "model/profile.h"

namespace stemtap {

// The launches of `profile` by start; those that started together as they come.
inline std::vector<shm::KernelRecord> InStartOrder(const Profile& profile) {
  std::vector<shm::KernelRecord> records = profile.records;
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  return records;
}

}  // namespace stemtap
