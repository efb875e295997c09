// SPDX-License-Identifier: Apache-2.0
//
// The SQLite export of Nsight Systems. See docs/formats/nsys-sqlite.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "trace/profile_reader.h"

namespace stemtap {

bool LooksLikeNsysSqlite(std::string_view leading);

Result<std::unique_ptr<ProfileReader>> OpenNsysSqlite(std::unique_ptr<ByteSource> source);

}  // namespace stemtap
