// SPDX-License-Identifier: Apache-2.0
//
// Reads the profile of JAX, TensorFlow and PyTorch/XLA (.xplane.pb), a serialized XSpace message.
// See docs/formats/xplane.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile.h"

namespace stemtap::formats {

bool LooksLikeXplane(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenXplane(std::unique_ptr<ByteSource> source);

}  // namespace stemtap::formats
