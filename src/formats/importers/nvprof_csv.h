// SPDX-License-Identifier: Apache-2.0
//
// Reads the GPU trace of nvprof as CSV. See docs/formats/nvprof-csv.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile.h"

namespace stemtap::formats {

bool LooksLikeNvprofCsv(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenNvprofCsv(std::unique_ptr<ByteSource> source);

}  // namespace stemtap::formats
