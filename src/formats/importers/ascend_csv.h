// SPDX-License-Identifier: Apache-2.0
//
// Reads the tables of Ascend's profilers with one row per operator that ran on an NPU:
// kernel_details.csv (torch_npu, MindSpore) and op_summary_*.csv (msprof). See
// docs/formats/ascend.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile.h"

namespace stemtap::formats {

bool LooksLikeAscendCsv(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenAscendCsv(std::unique_ptr<ByteSource> source);

}  // namespace stemtap::formats
