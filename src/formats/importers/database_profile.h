// SPDX-License-Identifier: Apache-2.0
//
// Reads profiles that are SQLite databases. The tables decide the format, because the leading bytes
// of the file do not always contain their names.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile.h"

namespace stemtap::formats {

bool LooksLikeRocpd(std::string_view leading);
// Returns true for any other database.
bool LooksLikeNsysSqlite(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenDatabaseProfile(
    std::unique_ptr<ByteSource> source);

}  // namespace stemtap::formats
