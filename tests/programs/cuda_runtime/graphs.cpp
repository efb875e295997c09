// SPDX-License-Identifier: Apache-2.0
//
// Graphs.
#include "runtime.h"

using cuda_runtime::Remember;

RUNTIME_API cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuGraphCreate(graph, flags));
}

RUNTIME_API cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuGraphDestroy(graph));
}

RUNTIME_API cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuGraphClone(clone, graph));
}

RUNTIME_API cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                               const cudaGraphNode_t* dependencies, size_t count,
                                               const cudaKernelNodeParams* params) {
  RUNTIME_REQUIRE_CONTEXT();
  CUfunction kernel = cuda_runtime::FunctionOf(params->func);
  if (kernel == nullptr) return Remember(cudaErrorInvalidDeviceFunction);
  CUDA_KERNEL_NODE_PARAMS driver = {};
  driver.func = kernel;
  driver.gridDimX = params->gridDim.x;
  driver.gridDimY = params->gridDim.y;
  driver.gridDimZ = params->gridDim.z;
  driver.blockDimX = params->blockDim.x;
  driver.blockDimY = params->blockDim.y;
  driver.blockDimZ = params->blockDim.z;
  driver.sharedMemBytes = params->sharedMemBytes;
  driver.kernelParams = params->kernelParams;
  driver.extra = params->extra;
  return Remember(cuGraphAddKernelNode(node, graph, dependencies, count, &driver));
}

RUNTIME_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes,
                                          size_t* count) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuGraphGetNodes(graph, nodes, count));
}

RUNTIME_API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuGraphNodeGetType(node, reinterpret_cast<CUgraphNodeType*>(type)));
}

RUNTIME_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node,
                                                     cudaGraphNode_t* dependencies,
                                                     cudaGraphEdgeData* edges, size_t* count) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuGraphNodeGetDependencies(node, dependencies,
                                             reinterpret_cast<CUgraphEdgeData*>(edges), count));
}

RUNTIME_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                      unsigned long long flags) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuGraphInstantiateWithFlags(exec, graph, flags));
}

RUNTIME_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                             unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(exec, graph, flags);
}

RUNTIME_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                            cudaGraphExecUpdateResultInfo* info) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(
      cuGraphExecUpdate(exec, graph, reinterpret_cast<CUgraphExecUpdateResultInfo*>(info)));
}

RUNTIME_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuGraphExecDestroy(exec));
}

RUNTIME_API cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuGraphUpload(exec, stream));
}

RUNTIME_API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuGraphLaunch(exec, stream));
}

RUNTIME_API cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer,
                                             cudaHostFn_t destroy, unsigned references,
                                             unsigned flags) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuUserObjectCreate(reinterpret_cast<CUuserObject*>(object), pointer, destroy,
                                     references, flags));
}

RUNTIME_API cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuUserObjectRelease(reinterpret_cast<CUuserObject>(object), count));
}

RUNTIME_API cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                                  unsigned count, unsigned flags) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(
      cuGraphRetainUserObject(graph, reinterpret_cast<CUuserObject>(object), count, flags));
}

RUNTIME_API cudaError_t cudaDeviceGetGraphMemAttribute(int device,
                                                       cudaGraphMemAttributeType attribute,
                                                       void* value) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(
      cuDeviceGetGraphMemAttribute(device, static_cast<CUgraphMem_attribute>(attribute), value));
}

RUNTIME_API cudaError_t cudaDeviceSetGraphMemAttribute(int device,
                                                       cudaGraphMemAttributeType attribute,
                                                       void* value) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(
      cuDeviceSetGraphMemAttribute(device, static_cast<CUgraphMem_attribute>(attribute), value));
}
