// SPDX-License-Identifier: Apache-2.0
//
// Tracks the current context of each thread and the primary context of each device.
//
// THREADS: any; each thread has its own stack of current contexts.
#pragma once

#include <optional>

#include "cuda/objects.h"

namespace fake_gpu {

// Returns nullptr if no context is current.
CUctx_st* CurrentContext();

// Returns the primary context of `device`, created on first use; nullptr if the device does not
// exist.
CUctx_st* PrimaryContext(int device);

// Returns the stream of a handle. CU_STREAM_LEGACY, CU_STREAM_PER_THREAD and nullptr mean the
// default stream of the current context; returns nullptr if there is no current context.
CUstream_st* ResolveStream(CUstream handle);

// Creates a stream in its context, with `id` or the next free id.
CUstream_st* NewStream(CUctx_st& context, std::optional<std::uint32_t> id = std::nullopt);

}  // namespace fake_gpu
