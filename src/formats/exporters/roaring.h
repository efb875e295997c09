// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace stemtap::formats {

// Returns the set as a 32-bit Roaring bitmap in the portable format, without run containers.
// `values`: strictly ascending.
// SOURCE: https://github.com/RoaringBitmap/RoaringFormatSpec
std::string RoaringBitmap(std::span<const std::uint32_t> values);

}  // namespace stemtap::formats
