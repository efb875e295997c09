// SPDX-License-Identifier: Apache-2.0
//
// Reads binary profiles (.stemtap) and validates every byte. See docs/formats/profile-binary.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile.h"

namespace stemtap::formats {

// Returns whether `leading`, the first bytes of a file, starts like a binary profile.
bool LooksLikeBinaryProfile(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenBinaryProfile(std::unique_ptr<ByteSource> source);

}  // namespace stemtap::formats
