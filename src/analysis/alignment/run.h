// SPDX-License-Identifier: Apache-2.0
//
// Run contains the data of a recorded run that alignment needs: name, configuration, device,
// stream, and duration of each launch in launch order, 40 bytes per launch.
//
// UNITS: durations in ns, shared memory in bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/name_table.h"
#include "model/profile.h"

namespace stemtap::analysis {

// Fields that the source does not provide have the kUnknown... values of shm/record.h.
struct RunLaunch {
  std::uint64_t duration_ns = 0;
  std::uint32_t name_id = 0;  // into Run::names
  std::uint32_t stream = 0;
  std::uint32_t shared_bytes = 0;
  std::uint32_t grid[3] = {0, 0, 0};
  std::uint16_t block[3] = {0, 0, 0};
  std::uint16_t device = 0;
};

struct Run {
  model::NameTable names;
  std::vector<RunLaunch> launches;
  std::vector<std::string> warnings;
};

// Reads the rest of `reader`. `source` is the name in error messages. A run with more than 2^31 - 2
// launches is an error, because launch indices have 32 bits here.
Result<Run> LoadRun(model::ProfileReader& reader, const std::string& source);

}  // namespace stemtap::analysis
