// SPDX-License-Identifier: Apache-2.0
//
// Builds graphs and copies them.
//
// THREADS: the program serializes calls on one graph, as in CUDA.
#pragma once

#include <optional>

#include "cuda/engine.h"
#include "cuda/graph_objects.h"

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

CUgraph NewGraph();

// Appends a node that depends on `dependencies`, which belong to the graph.
CUgraphNode AddNode(CUgraph_st& graph, std::vector<CUgraphNode> dependencies, NodeWork work);

// Returns a copy of a graph, with a copy of each child graph.
std::unique_ptr<CUgraph_st> Clone(const CUgraph_st& graph);

CUgraphNodeType TypeOf(const NodeWork& work);

// Returns the nodes of an executable graph, with the nodes of child graphs in the place of their
// node. Every node follows its dependencies; apart from that, the order is the order of insertion.
// Returns no value if the dependencies have a cycle.
std::optional<std::vector<ExecNode>> Flatten(const CUgraph_st& graph);

// Returns a graph with the nodes of an executable graph.
std::unique_ptr<CUgraph_st> Unflatten(const CUgraphExec_st& exec);

// Allocates the memory of an allocation node and sets its address.
CUresult AllocateForGraph(CUDA_MEM_ALLOC_NODE_PARAMS params, MemAllocNode& out);

KernelNode ToNode(const Launch& launch);

}  // namespace fake_gpu
