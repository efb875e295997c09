// SPDX-License-Identifier: Apache-2.0
//
// Profile is a recorded run in memory, for algorithms that need the whole run, such as a two-pass
// plan. Streaming algorithms use a ProfileReader instead.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/name_table.h"
#include "model/profile_reader.h"
#include "shm/record.h"

namespace stemtap::model {

struct Profile {
  NameTable names;                         // KernelRecord::name_id indexes it
  std::vector<shm::KernelRecord> records;  // in launch order
  std::vector<std::string> metric_names;
  std::vector<std::vector<double>> metrics;  // metrics[column][row]; NaN if the cell is empty
  std::vector<std::string> warnings;
};

// Reads `reader` from its current position to the end.
Result<Profile> LoadProfile(ProfileReader& reader);

// Returns a reader that streams `profile` without its metrics. `profile` must outlive the reader.
std::unique_ptr<ProfileReader> ReadProfile(const Profile& profile);

}  // namespace stemtap::model
