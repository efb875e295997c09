// SPDX-License-Identifier: Apache-2.0
//
// Copies and memsets: what they do and how long they take.
//
//   copies between host and device    2 us + bytes / (50 GB/s)
//   copies on a device, memsets       2 us + bytes / (2 TB/s)
//
// THREADS: any.
#pragma once

#include <cstdint>

#include "cuda/objects.h"

namespace fake_gpu {

// Returns a linear copy. Its memory types are unified, because the addresses determine them.
CUDA_MEMCPY3D LinearCopy(const void* to, const void* from, std::size_t bytes);
CUDA_MEMCPY3D ToThreeDimensions(const CUDA_MEMCPY2D& copy);

// Returns whether the rows of the copy fit into their pitch and their arrays exist.
bool IsValid(const CUDA_MEMCPY3D& copy);
bool IsValid(const CUDA_MEMSET_NODE_PARAMS& fill);

void Perform(const CUDA_MEMCPY3D& copy);
void Perform(const CUDA_MEMSET_NODE_PARAMS& fill);

std::uint64_t DurationNs(const CUDA_MEMCPY3D& copy);
std::uint64_t DurationNs(const CUDA_MEMSET_NODE_PARAMS& fill);

}  // namespace fake_gpu
