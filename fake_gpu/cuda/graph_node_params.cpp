// SPDX-License-Identifier: Apache-2.0
#include "cuda/graph_node_params.h"

#include <cupti.h>

#include <utility>

#include "cuda/copies.h"
#include "cuda/graphs.h"
#include "cuda/state.h"

namespace fake_gpu {

CUresult ToWork(const CUDA_KERNEL_NODE_PARAMS& params, NodeWork& out) {
  // A kernel of a library is also a function; see library_api.cpp.
  CUfunc_st* function =
      params.func != nullptr ? params.func : reinterpret_cast<CUfunc_st*>(params.kern);
  FAKE_GPU_REQUIRE(function != nullptr, CUDA_ERROR_INVALID_VALUE);
  KernelNode node;
  node.function = function;
  node.grid = {params.gridDimX, params.gridDimY, params.gridDimZ};
  node.block = {params.blockDimX, params.blockDimY, params.blockDimZ};
  node.shared_bytes = params.sharedMemBytes;
  node.launch_type = CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
  node.requested_ns = RequestedDuration(*function, params.kernelParams);
  FAKE_GPU_REQUIRE(node.grid.count() != 0 && node.block.count() != 0, CUDA_ERROR_INVALID_VALUE);
  out = std::move(node);
  return CUDA_SUCCESS;
}

CUresult ToWork(const CUDA_MEMCPY3D& params, NodeWork& out) {
  FAKE_GPU_REQUIRE(IsValid(params), CUDA_ERROR_INVALID_VALUE);
  out = params;
  return CUDA_SUCCESS;
}

CUresult ToWork(const CUDA_MEMSET_NODE_PARAMS& params, NodeWork& out) {
  FAKE_GPU_REQUIRE(IsValid(params), CUDA_ERROR_INVALID_VALUE);
  out = params;
  return CUDA_SUCCESS;
}

CUresult ToWork(const CUDA_HOST_NODE_PARAMS& params, NodeWork& out) {
  FAKE_GPU_REQUIRE(params.fn != nullptr, CUDA_ERROR_INVALID_VALUE);
  out = params;
  return CUDA_SUCCESS;
}

CUresult ToWork(CUgraphNodeParams& params, NodeWork& out) {
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const CUDA_KERNEL_NODE_PARAMS_v3& k = params.kernel;
      return ToWork(CUDA_KERNEL_NODE_PARAMS{k.func, k.gridDimX, k.gridDimY, k.gridDimZ, k.blockDimX,
                                            k.blockDimY, k.blockDimZ, k.sharedMemBytes,
                                            k.kernelParams, k.extra, k.kern, k.ctx},
                    out);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return ToWork(params.memcpy.copyParams, out);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS_v2& m = params.memset;
      return ToWork(
          CUDA_MEMSET_NODE_PARAMS{m.dst, m.pitch, m.value, m.elementSize, m.width, m.height}, out);
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      return ToWork(CUDA_HOST_NODE_PARAMS{params.host.fn, params.host.userData}, out);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      FAKE_GPU_REQUIRE(params.graph.graph != nullptr, CUDA_ERROR_INVALID_VALUE);
      out = ChildGraphNode{Clone(*params.graph.graph)};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EMPTY:
      out = EmptyNode{};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      out = EventWaitNode{params.eventWait.event};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      out = EventRecordNode{params.eventRecord.event};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      MemAllocNode node;
      const CUDA_MEM_ALLOC_NODE_PARAMS_v2& a = params.alloc;
      const CUresult result = AllocateForGraph(
          {a.poolProps, a.accessDescs, a.accessDescCount, a.bytesize, a.dptr}, node);
      params.alloc.dptr = node.params.dptr;
      out = std::move(node);
      return result;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      out = MemFreeNode{params.free.dptr};
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUDA_KERNEL_NODE_PARAMS ToParams(CUgraphNode_st& node) {
  KernelNode& kernel = std::get<KernelNode>(node.work);
  // Only the first parameter of a placeholder's kernel is known.
  node.parameters[0] = &kernel.requested_ns;
  return {kernel.function,
          kernel.grid.x,
          kernel.grid.y,
          kernel.grid.z,
          kernel.block.x,
          kernel.block.y,
          kernel.block.z,
          kernel.shared_bytes,
          kernel.function->model ? nullptr : node.parameters,
          nullptr,
          nullptr,
          kernel.function->module->context};
}

CUresult Replace(NodeWork& work, NodeWork&& by) {
  FAKE_GPU_REQUIRE(work.index() == by.index(), CUDA_ERROR_INVALID_VALUE);
  if (auto* kernel = std::get_if<KernelNode>(&by)) {
    kernel->attributes = std::get<KernelNode>(work).attributes;
    kernel->launch_type = std::get<KernelNode>(work).launch_type;
  }
  work = std::move(by);
  return CUDA_SUCCESS;
}

}  // namespace fake_gpu
