// SPDX-License-Identifier: Apache-2.0
//
// Helpers shared by launches and graphs.
#pragma once

#include "cuda/engine.h"
#include "cuda/objects.h"
#include "fake_gpu.h"

namespace fake_gpu {

// Returns the duration that a launch requests; see fake_gpu.h.
inline std::uint64_t DurationOf(void** kernel_params) {
  return kernel_params == nullptr || kernel_params[0] == nullptr
             ? FAKE_GPU_DEFAULT_DURATION_NS
             : *static_cast<const std::uint64_t*>(kernel_params[0]);
}

// Appends a kernel to a graph that is being built or captured.
CUgraphNode_st* AddNode(CUgraph_st& graph, const Launch& launch);

}  // namespace fake_gpu
