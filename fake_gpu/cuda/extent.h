// SPDX-License-Identifier: Apache-2.0
//
// Extent is the size of a grid or of a block.
#pragma once

#include <cstdint>

namespace fake_gpu {

struct Extent {
  std::uint32_t x = 1, y = 1, z = 1;

  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  bool operator==(const Extent&) const = default;
};

}  // namespace fake_gpu
