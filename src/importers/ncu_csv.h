// SPDX-License-Identifier: Apache-2.0
//
// The CSV pages of Nsight Compute. See docs/formats/ncu-csv.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "trace/profile_reader.h"

namespace stemtap {

bool LooksLikeNcuCsv(std::string_view leading);

Result<std::unique_ptr<ProfileReader>> OpenNcuCsv(std::unique_ptr<ByteSource> source);

}  // namespace stemtap
