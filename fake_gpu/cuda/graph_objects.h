// SPDX-License-Identifier: Apache-2.0
//
// The objects of graphs and of stream captures.
//
// Ownership: a graph owns its nodes, and a child graph node its graph. An executable graph has
// copies of the nodes. Both share the memory of allocation nodes, and hold references to user
// objects. A capture refers to its graph until it ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <variant>
#include <vector>

#include "cuda/objects.h"

struct CUuserObject_st {
  std::atomic<unsigned> references{0};
  CUhostFn destroy = nullptr;
  void* argument = nullptr;
};

namespace fake_gpu {

// UserObjects is a set of references to user objects. A copy has its own references.
class UserObjects {
 public:
  UserObjects() = default;
  UserObjects(const UserObjects& other);
  UserObjects& operator=(const UserObjects&) = delete;
  ~UserObjects();

  // Takes over references that the caller holds.
  void Adopt(CUuserObject object, unsigned count);
  // Returns whether it held this many.
  bool Drop(CUuserObject object, unsigned count);

  static void Retain(CUuserObject object, unsigned count);
  // Destroys the object with its last reference.
  static void Release(CUuserObject object, unsigned count);

 private:
  std::map<CUuserObject, unsigned> counts_;
};

// GraphMemory is the memory of an allocation node. It has the same address in every launch.
class GraphMemory {
 public:
  GraphMemory(std::uintptr_t base, std::uint64_t id) : base_(base), id_(id) {}
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

 private:
  const std::uintptr_t base_;
  const std::uint64_t id_;
};

struct EmptyNode {};
struct KernelNode {
  CUfunc_st* function = nullptr;
  Extent grid, block;
  std::uint32_t shared_bytes = 0;
  std::uint32_t launch_type = 0;
  std::uint64_t requested_ns = 0;  // ignored if the function has a duration model
  std::map<CUlaunchAttributeID, CUlaunchAttributeValue> attributes;
};
struct ChildGraphNode {
  std::shared_ptr<CUgraph_st> graph;
};
struct EventRecordNode {
  CUevent event = nullptr;
};
struct EventWaitNode {
  CUevent event = nullptr;
};
struct MemAllocNode {
  CUDA_MEM_ALLOC_NODE_PARAMS params = {};
  std::shared_ptr<GraphMemory> memory;
};
struct MemFreeNode {
  CUdeviceptr address = 0;
};
using NodeWork = std::variant<EmptyNode, KernelNode, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS,
                              CUDA_HOST_NODE_PARAMS, ChildGraphNode, EventRecordNode, EventWaitNode,
                              MemAllocNode, MemFreeNode>;

// ExecNode is a node of an executable graph.
struct ExecNode {
  CUgraphNode source = nullptr;  // node of the graph; an identity only, may be destroyed
  std::uint64_t id = 0;
  std::vector<std::size_t> dependencies;  // indexes of earlier nodes
  bool is_enabled = true;
  NodeWork work;
};

// Capture is the capture of one or more streams into a graph.
struct Capture {
  std::uint64_t id = 0;
  CUgraph graph = nullptr;  // null once the capture has ended
  bool owns_graph = true;   // false: cuStreamBeginCaptureToGraph
  CUstream origin = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  bool is_invalid = false;
  std::vector<CUstream> streams;  // the origin and the streams that joined

  bool is_active() const { return graph != nullptr; }
};

}  // namespace fake_gpu

struct CUgraphNode_st {
  CUgraph_st* graph = nullptr;
  std::uint64_t id = 0;
  CUgraphNode original = nullptr;  // in the graph that this graph was cloned from
  std::vector<CUgraphNode> dependencies;
  fake_gpu::NodeWork work;
  void* parameters[1] = {};  // of cuGraphKernelNodeGetParams
};

struct CUgraph_st {
  std::uint32_t id = 0;
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  // in insertion order
  fake_gpu::UserObjects user_objects;
};

struct CUgraphExec_st {
  std::uint32_t id = 0;
  unsigned long long flags = 0;
  // The record kinds that were enabled at instantiation decide what its launches yield: a record of
  // the whole graph, one per kernel, or none.
  enum class Yields { kNothing, kKernels, kGraph };
  Yields yields = Yields::kNothing;
  std::vector<fake_gpu::ExecNode> nodes;  // every node follows its dependencies
  fake_gpu::UserObjects user_objects;
};
