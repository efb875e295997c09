// SPDX-License-Identifier: Apache-2.0
//
// Attributes and memory size of the simulated devices, which are identical.
//
// THREADS: any.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <optional>

namespace fake_gpu {

inline constexpr std::size_t kDeviceMemoryBytes = std::size_t{80} << 30;

// Returns no value if cuda.h does not define the attribute.
std::optional<int> DeviceAttribute(int device, CUdevice_attribute attribute);

}  // namespace fake_gpu
