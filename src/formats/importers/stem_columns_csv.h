// SPDX-License-Identifier: Apache-2.0
//
// Reads durations in the format of the STEM+ROOT artifact, one column per kernel. See
// docs/formats/stem-csv.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile.h"

namespace stemtap::formats {

bool LooksLikeStemColumnsCsv(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenStemColumnsCsv(
    std::unique_ptr<ByteSource> source);

}  // namespace stemtap::formats
