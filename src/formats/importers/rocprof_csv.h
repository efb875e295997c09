// SPDX-License-Identifier: Apache-2.0
//
// Reads the kernel trace of rocprofv3 as CSV. See docs/formats/rocprofv3-csv.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile_reader.h"

namespace stemtap::formats {

bool LooksLikeRocprofCsv(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenRocprofCsv(std::unique_ptr<ByteSource> source);

}  // namespace stemtap::formats
