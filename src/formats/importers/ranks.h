// SPDX-License-Identifier: Apache-2.0
//
// Reads several profiles of one program, one file per rank, as one profile: rank after rank, in the
// given order. Clocks of different ranks can differ by seconds, so launches of different ranks are
// never ordered by time, and start times stay as recorded in each file.
//
// Devices are renumbered rank by rank, in the order of each rank's own numbers: eight ranks that
// each use their GPU 0 become devices 0 to 7. A rank without recorded devices may have used any
// number of them, so its devices stay unknown. A single file is read unchanged.
//
// The devices of a rank are known only at its end, so each rank is read twice. If the reader does
// not keep the launches in memory, the file is opened again. Devices of input that can be read only
// once (a pipe) are numbered in order of first use; a warning reports if the two orders differ.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/launch_selection.h"
#include "model/profile.h"

namespace stemtap::formats {

// Returns the read watch for the file at `path`.
using WatchOf = std::function<ReadWatch(const std::string& path)>;

// Opens all of `paths`. A metric that a rank lacks is NaN in its launches. `selection`: which
// ranges the names have; by default none, and the files are read without their marks. REQUIRES: not
// empty.
Result<std::unique_ptr<model::ProfileReader>> OpenRanks(
    std::span<const std::string> paths, const WatchOf& watch_of = {},
    const model::LaunchSelection& selection = {});

}  // namespace stemtap::formats
