// SPDX-License-Identifier: Apache-2.0
//
// Profile is a recorded run held whole in memory, for what must see all of it before it can answer
// (a two-pass plan). Streaming users read a ProfileReader instead.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/name_table.h"
#include "model/profile_reader.h"
#include "shm/record.h"

namespace stemtap {

struct Profile {
  NameTable names;                         // KernelRecord::name_id indexes it
  std::vector<shm::KernelRecord> records;  // in launch order
  std::vector<std::string> metric_names;
  std::vector<std::vector<double>> metrics;  // metrics[column][row]; NaN where the cell is empty
  std::vector<std::string> warnings;
};

// Reads all that `reader` has left.
Result<Profile> LoadProfile(ProfileReader& reader);

// A reader over `profile`, which must outlive it, for streaming users of what is in memory. Metrics
// are left out.
std::unique_ptr<ProfileReader> ReadProfile(const Profile& profile);

}  // namespace stemtap
