// SPDX-License-Identifier: Apache-2.0
//
// Translates between the parameter structs of cuda.h and the work of a node.
//
// THREADS: any.
#pragma once

#include "cuda/graph_objects.h"

namespace fake_gpu {

// Each function returns CUDA_ERROR_INVALID_VALUE for parameters that cannot run, and
// CUDA_ERROR_NOT_SUPPORTED for types of nodes that the simulated driver lacks.
CUresult ToWork(const CUDA_KERNEL_NODE_PARAMS& params, NodeWork& out);
CUresult ToWork(const CUDA_MEMCPY3D& params, NodeWork& out);
CUresult ToWork(const CUDA_MEMSET_NODE_PARAMS& params, NodeWork& out);
CUresult ToWork(const CUDA_HOST_NODE_PARAMS& params, NodeWork& out);
// Sets the address in `params` of an allocation.
CUresult ToWork(CUgraphNodeParams& params, NodeWork& out);

CUDA_KERNEL_NODE_PARAMS ToParams(CUgraphNode_st& node);

// Replaces the work of a node by work of the same type, and keeps the attributes of a kernel.
CUresult Replace(NodeWork& work, NodeWork&& by);

}  // namespace fake_gpu
