// SPDX-License-Identifier: Apache-2.0
//
// Run is what alignment needs of a recorded run: each launch's identity, place and duration, 40 bytes
// a launch, in launch order.
//
// UNITS: durations in ns, shared memory in bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/name_table.h"
#include "model/profile_reader.h"

namespace stemtap {

// Cells that the source does not know hold the kUnknown... values of wire/record.h.
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
  NameTable names;
  std::vector<RunLaunch> launches;
  std::vector<std::string> warnings;
};

// Reads all that `reader` has left. `source` names it in errors: a run of more than 2^31 - 2 launches
// is one, since launches are numbered in 32 bits here.
Result<Run> LoadRun(ProfileReader& reader, const std::string& source);

}  // namespace stemtap
