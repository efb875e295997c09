// SPDX-License-Identifier: Apache-2.0
//
// Reads the SQLite export of Nsight Systems. See docs/formats/nsys-sqlite.md.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "formats/importers/recorded_launches.h"
#include "formats/importers/untrusted_database.h"

namespace stemtap::formats {

// Adds the kernels of an export of `file_bytes` bytes to `launches`.
Status ReadNsysKernels(Database& database, std::int64_t file_bytes, RecordedLaunches& launches);

}  // namespace stemtap::formats
