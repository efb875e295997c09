// SPDX-License-Identifier: Apache-2.0
//
// GraphReader reads the structure of a CUDA graph through the driver, for the name of the graph.
//
// The hash of a node contains its type and
//   kernel       its name, grid, block and dynamic shared memory
//   copy         its extent, and the kinds of memory of both sides
//   memset       its width, height and element size
//   child graph  the hash of that graph
// It contains no addresses, parameters and values, which differ from process to process and from
// launch to launch.
//
// THREADS: any; the graph must not change while it is read.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "graphs/graph_hash.h"
#include "graphs/graph_problem.h"
#include "graphs/graph_text.h"
#include "graphs/scratch_memory.h"

namespace stemtap::inject {

// GraphDriver has the driver functions that describe a graph. All exist since CUDA 12.3. Without
// cuFuncGetName no function returns the name of a node's kernel, so there is no support for older
// drivers.
struct GraphDriver {
  CUresult (*GetNodes)(CUgraph, CUgraphNode*, std::size_t*) = nullptr;
  CUresult (*GetType)(CUgraphNode, CUgraphNodeType*) = nullptr;
  CUresult (*GetKernel)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*) = nullptr;
  CUresult (*GetFunctionName)(const char**, CUfunction) = nullptr;
  CUresult (*GetKernelName)(const char**, CUkernel) = nullptr;
  CUresult (*GetCopy)(CUgraphNode, CUDA_MEMCPY3D*) = nullptr;
  CUresult (*GetFill)(CUgraphNode, CUDA_MEMSET_NODE_PARAMS*) = nullptr;
  CUresult (*GetChild)(CUgraphNode, CUgraph*) = nullptr;
  CUresult (*GetEdges)(CUgraph, CUgraphNode*, CUgraphNode*, CUgraphEdgeData*,
                       std::size_t*) = nullptr;

  // Looks up every function in `driver`. Returns the problem if one is missing.
  GraphProblem Load(void* driver) noexcept;
};

class GraphReader {
 public:
  // Maximum nodes, including nodes of child graphs. The largest graphs of programs, whole training
  // steps, have some ten thousand. If smaller, such graphs are named by number; if larger, an
  // instantiation takes longer: 100,000 nodes take 0.13 s, and the driver's time.
  static constexpr std::uint32_t kMaxNodes = 1u << 18;
  // Maximum edges of one graph, so that a wrong answer of the driver does not take all memory.
  static constexpr std::uint32_t kMaxEdges = 1u << 21;
  // Maximum levels of child graphs, which bounds the stack.
  static constexpr int kMaxDepth = 8;

  explicit GraphReader(const GraphDriver& driver) noexcept;

  // Reads a graph. The kernel name in `summary` is in memory of the driver and valid until the
  // program can unload the kernel's module.
  GraphProblem Read(CUgraph graph, GraphSummary& summary) noexcept;

 private:
  // NamedKernel is the kernel of one node.
  struct NamedKernel {
    std::uint64_t hash;  // of the name
    const char* name;
  };

  GraphProblem ReadLevel(CUgraph graph, int depth, std::uint64_t& hash) noexcept;
  GraphProblem ReadNode(CUgraphNode node, int depth, std::uint64_t& hash) noexcept;
  GraphProblem ReadKernel(CUgraphNode node, std::uint64_t& hash) noexcept;
  GraphProblem ReadCopy(CUgraphNode node, std::uint64_t& hash) noexcept;
  GraphProblem ReadFill(CUgraphNode node, std::uint64_t& hash) noexcept;
  // Reads the edges of a graph with these nodes, which are sorted, and hashes the graph.
  GraphProblem HashLevel(CUgraph graph, const CUgraphNode* nodes, const std::uint64_t* hashes,
                         std::uint32_t count, std::uint64_t& hash) noexcept;
  void FindMostFrequent(GraphSummary& summary) noexcept;

  const GraphDriver& driver_;
  ScratchMemory kernel_memory_;
  NamedKernel* kernels_ = nullptr;  // of all levels
  std::uint32_t kernel_count_ = 0;
  std::uint32_t node_count_ = 0;
};

}  // namespace stemtap::inject
