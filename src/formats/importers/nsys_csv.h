// SPDX-License-Identifier: Apache-2.0
//
// Reads the CSV reports cuda_gpu_trace and cuda_kern_exec_trace of Nsight Systems. See
// docs/formats/nsys-csv.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile.h"

namespace stemtap::formats {

bool LooksLikeNsysCsv(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenNsysCsv(std::unique_ptr<ByteSource> source);

}  // namespace stemtap::formats
