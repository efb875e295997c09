// SPDX-License-Identifier: Apache-2.0
//
// Several profiles of one program, a file for each of its ranks, as one profile: rank after rank, in
// the order given. Clocks of different ranks can disagree by seconds, so launches of different ranks
// are never ordered by time, and each rank's times count as its file has them.
//
// Devices are numbered anew, rank by rank in order of first use: eight ranks that each call their GPU
// 0 are devices 0 to 7. A single file is read as it is.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/byte_source.h"
#include "base/result.h"
#include "trace/profile_reader.h"

namespace stemtap {

// Makes the watch of the file at `path`.
using WatchOf = std::function<ReadWatch(const std::string& path)>;

// Opens all of `paths`; a metric that a rank lacks is NaN there. REQUIRES: not empty.
Result<std::unique_ptr<ProfileReader>> OpenRanks(std::span<const std::string> paths,
                                                 const WatchOf& watch_of = {});

}  // namespace stemtap
