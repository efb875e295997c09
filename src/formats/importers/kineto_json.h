// SPDX-License-Identifier: Apache-2.0
//
// Reads the JSON trace of torch.profiler (Kineto), see docs/formats/kineto.md, and other Chrome
// traces that contain kernels, primarily from XLA, see docs/formats/jax.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile.h"

namespace stemtap::formats {

bool LooksLikeKinetoJson(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenKinetoJson(std::unique_ptr<ByteSource> source);

}  // namespace stemtap::formats
