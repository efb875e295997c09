// SPDX-License-Identifier: Apache-2.0
//
// Several profiles of one program, a file for each of its ranks, as one profile: rank after rank, in
// the order given. Clocks of different ranks can disagree by seconds, so launches of different ranks
// are never ordered by time, and each rank's times count as its file has them.
//
// Devices are numbered anew, rank by rank, those of a rank in the order of its own numbers: eight ranks
// that each call their GPU 0 are devices 0 to 7. A rank that does not say its devices may have had any
// number of them: they stay unknown. A single file is read as it is.
//
// Which devices a rank has is known at its end, so that each is read twice: where it is not held in
// memory anyway, its file is opened again. What can be read only once (a pipe) is numbered in order of
// first use, which a warning says where the two differ.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile_reader.h"

namespace stemtap {

// Makes the watch of the file at `path`.
using WatchOf = std::function<ReadWatch(const std::string& path)>;

// Opens all of `paths`; a metric that a rank lacks is NaN there. REQUIRES: not empty.
Result<std::unique_ptr<ProfileReader>> OpenRanks(std::span<const std::string> paths,
                                                 const WatchOf& watch_of = {});

}  // namespace stemtap
