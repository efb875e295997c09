// SPDX-License-Identifier: Apache-2.0
//
// Helpers shared by launches and graphs.
#pragma once

#include "cuda/engine.h"
#include "cuda/objects.h"

namespace fake_gpu {

// Returns the duration that the parameters of a launch request; 0 if the kernel's model provides
// the duration when the kernel runs.
inline std::uint64_t RequestedDuration(const CUfunc_st& function, void** kernel_params) {
  return function.model ? 0 : RequestedDuration(kernel_params);
}

// Sets the duration of a launch that is about to run, if the kernel's model provides it.
inline void ApplyDurationModel(Launch& launch) {
  if (auto& model = launch.function->model) {
    launch.duration_ns = model->Next(launch.grid, launch.block, launch.shared_bytes);
  }
}

// Appends a kernel to a graph that is being built or captured.
CUgraphNode_st* AddNode(CUgraph_st& graph, const Launch& launch);

}  // namespace fake_gpu
