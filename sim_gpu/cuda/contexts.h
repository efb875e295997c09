// SPDX-License-Identifier: Apache-2.0
//
// Which context is current on this thread, and the primary context of each device.
//
// THREADS: any; the stack of current contexts is each thread's own.
#pragma once

#include <optional>

#include "cuda/objects.h"

namespace fake_gpu {

// nullptr when none is current.
CUctx_st* CurrentContext();

// The primary context of `device`, created at first use. nullptr when there is no such device.
CUctx_st* PrimaryContext(int device);

// The stream behind a handle: the default stream of the current context for CU_STREAM_LEGACY,
// CU_STREAM_PER_THREAD and nullptr. nullptr when that needs a context and none is current.
CUstream_st* ResolveStream(CUstream handle);

// Creates a stream that its context owns, under `id` or the next free one.
CUstream_st* NewStream(CUctx_st& context, std::optional<std::uint32_t> id = std::nullopt);

// Loads an empty module into `context`, which owns it.
CUmod_st* NewModule(CUctx_st& context);

}  // namespace fake_gpu
