// SPDX-License-Identifier: Apache-2.0
//
// Readers of the databases that database_profile.cpp opens: the SQLite export of Nsight Systems
// (docs/formats/nsys-sqlite.md), and rocpd, the database that AMD's rocprofv3 writes since ROCm 7
// (docs/formats/rocpd.md).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "formats/importers/recorded_launches.h"
#include "formats/importers/untrusted_database.h"

namespace stemtap::formats {

// Adds the kernels of an export of `file_bytes` bytes to `launches`.
Status ReadNsysKernels(Database& database, std::int64_t file_bytes, RecordedLaunches& launches);

// Prefix of the tables of kernel dispatches; each recording appends its own id.
inline constexpr std::string_view kRocpdDispatchTable = "rocpd_kernel_dispatch";

// Adds the kernel dispatches of a database of `file_bytes` bytes to `launches`.
Status ReadRocpdDispatches(Database& database, std::int64_t file_bytes, RecordedLaunches& launches);

}  // namespace stemtap::formats
