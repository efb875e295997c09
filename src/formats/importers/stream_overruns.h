// SPDX-License-Identifier: Apache-2.0
//
// CutOverruns corrects durations that are too long to be true. A stream runs its launches one by
// one. Two launches may overlap (programmatic dependent launch, rounded times), but the later one
// ends last. If a launch ends long after the next launch of its stream ended, and after the launch
// after that one started, its end is wrong: it is set to the start of the next launch.
// docs/design/launch-order.md explains the rule and its limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/importers/launch_ids.h"
#include "shm/record.h"

namespace stemtap::formats {

struct Overruns {
  std::uint64_t cut = 0;     // launches
  std::uint64_t cut_ns = 0;  // duration that was removed, at most 2^64 - 1
  std::size_t first_cut = 0;
  // Launches that overrun but were left as they are because their stream number covers several
  // streams, and the duration beyond the start of the next launch.
  std::uint64_t kept = 0;
  std::uint64_t kept_ns = 0;
};

// Launches whose start or id is wrong are not compared. `processes` has the process of each launch,
// or is empty if there is one. `are_streams`: stream numbers identify streams; otherwise nothing is
// cut. REQUIRES: `records` are in order of start; a launch without a start may be
// anywhere; `ids` were read from `records`.
Overruns CutOverruns(std::span<shm::KernelRecord> records, std::span<const std::uint32_t> processes,
                     const LaunchIds& ids, bool are_streams);

}  // namespace stemtap::formats
