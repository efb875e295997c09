// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_reader.h"

#include <string.h>

#include <algorithm>

#include "shm/context_key.h"
#include "shm/record.h"
#include "startup/runtime.h"

namespace stemtap::inject {
namespace {

using shm::MixKeys;

// Combines the parts of a node in order.
class NodeHash {
 public:
  explicit NodeHash(CUgraphNodeType type) noexcept
      : hash_(MixKeys(0x6E6F6465, static_cast<std::uint64_t>(type))) {}
  NodeHash& Add(std::uint64_t part) noexcept {
    hash_ = MixKeys(hash_, part);
    return *this;
  }
  std::uint64_t get() const noexcept { return hash_; }

 private:
  std::uint64_t hash_;
};

template <typename Function>
bool Load(void* driver, GraphCall call, Function& function, GraphProblem& problem) noexcept {
  function =
      reinterpret_cast<Function>(FindSymbol(driver, kGraphCalls[static_cast<std::size_t>(call)]));
  if (function != nullptr) return true;
  problem = {GraphProblem::kDriverLacks, static_cast<std::uint8_t>(call), 0};
  return false;
}

// Returns the index of the node in `nodes`, or `count` if it is not one of them.
std::uint32_t IndexOf(const CUgraphNode* nodes, std::uint32_t count, CUgraphNode node) noexcept {
  const CUgraphNode* found = std::lower_bound(nodes, nodes + count, node);
  return found != nodes + count && *found == node ? static_cast<std::uint32_t>(found - nodes)
                                                  : count;
}

std::uint64_t DataOf(const CUgraphEdgeData& edge) noexcept {
  std::uint64_t data;
  static_assert(sizeof(data) == sizeof(edge));
  ::memcpy(&data, &edge, sizeof(data));
  return data;
}

}  // namespace

GraphProblem GraphDriver::Load(void* driver) noexcept {
  GraphProblem problem;
  // cuFuncGetName is first because it is the newest, so that an old driver is reported by it.
  static_cast<void>(inject::Load(driver, GraphCall::kGetFunctionName, GetFunctionName, problem) &&
                    inject::Load(driver, GraphCall::kGetKernelName, GetKernelName, problem) &&
                    inject::Load(driver, GraphCall::kGetNodes, GetNodes, problem) &&
                    inject::Load(driver, GraphCall::kGetType, GetType, problem) &&
                    inject::Load(driver, GraphCall::kGetKernel, GetKernel, problem) &&
                    inject::Load(driver, GraphCall::kGetCopy, GetCopy, problem) &&
                    inject::Load(driver, GraphCall::kGetFill, GetFill, problem) &&
                    inject::Load(driver, GraphCall::kGetChild, GetChild, problem) &&
                    inject::Load(driver, GraphCall::kGetEdges, GetEdges, problem));
  return problem;
}

GraphReader::GraphReader(const GraphDriver& driver) noexcept
    : driver_(driver), kernel_memory_(std::size_t{kMaxNodes} * sizeof(NamedKernel)) {
  if (kernel_memory_.ok()) kernels_ = static_cast<NamedKernel*>(kernel_memory_.get());
}

GraphProblem GraphReader::Read(CUgraph graph, GraphSummary& summary) noexcept {
  if (kernels_ == nullptr) return {GraphProblem::kNoMemory};
  kernel_count_ = node_count_ = 0;
  if (const GraphProblem problem = ReadLevel(graph, 0, summary.hash)) return problem;
  summary.kernels = kernel_count_;
  FindMostFrequent(summary);
  return {};
}

GraphProblem GraphReader::ReadLevel(CUgraph graph, int depth, std::uint64_t& hash) noexcept {
  if (depth == kMaxDepth) return {GraphProblem::kTooDeep};
  std::size_t count = 0;
  if (const CUresult error = driver_.GetNodes(graph, nullptr, &count)) {
    return CallFailed(GraphCall::kGetNodes, error);
  }
  if (count > kMaxNodes - node_count_) return {GraphProblem::kTooLarge};
  const auto n = static_cast<std::uint32_t>(count);
  node_count_ += n;
  const ScratchMemory memory(count * (sizeof(CUgraphNode) + sizeof(std::uint64_t)));
  if (!memory.ok()) return {GraphProblem::kNoMemory};
  auto* hashes = static_cast<std::uint64_t*>(memory.get());
  auto* nodes = reinterpret_cast<CUgraphNode*>(hashes + n);
  // A graph without nodes is not asked for them: a count of 0 is not a valid size.
  const CUresult error = n == 0 ? CUDA_SUCCESS : driver_.GetNodes(graph, nodes, &count);
  if (error != CUDA_SUCCESS) return CallFailed(GraphCall::kGetNodes, error);
  if (count != n) return {GraphProblem::kInconsistent};
  std::sort(nodes, nodes + n);
  if (std::adjacent_find(nodes, nodes + n) != nodes + n) return {GraphProblem::kInconsistent};
  for (std::uint32_t i = 0; i < n; ++i) {
    if (const GraphProblem problem = ReadNode(nodes[i], depth, hashes[i])) return problem;
  }
  return HashLevel(graph, nodes, hashes, n, hash);
}

GraphProblem GraphReader::ReadNode(CUgraphNode node, int depth, std::uint64_t& hash) noexcept {
  CUgraphNodeType type{};
  if (const CUresult error = driver_.GetType(node, &type)) {
    return CallFailed(GraphCall::kGetType, error);
  }
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return ReadKernel(node, hash);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return ReadCopy(node, hash);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return ReadFill(node, hash);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return {GraphProblem::kConditional};
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      CUgraph child = nullptr;
      if (const CUresult error = driver_.GetChild(node, &child)) {
        return CallFailed(GraphCall::kGetChild, error);
      }
      std::uint64_t of_child = 0;
      if (const GraphProblem problem = ReadLevel(child, depth + 1, of_child)) return problem;
      hash = NodeHash(type).Add(of_child).get();
      return {};
    }
    default:
      // Other nodes have no size, or do not run on the GPU.
      hash = NodeHash(type).get();
      return {};
  }
}

GraphProblem GraphReader::ReadKernel(CUgraphNode node, std::uint64_t& hash) noexcept {
  CUDA_KERNEL_NODE_PARAMS p = {};
  if (const CUresult error = driver_.GetKernel(node, &p)) {
    return CallFailed(GraphCall::kGetKernel, error);
  }
  const char* name = nullptr;
  const bool is_function = p.func != nullptr;
  const CUresult error =
      is_function ? driver_.GetFunctionName(&name, p.func) : driver_.GetKernelName(&name, p.kern);
  if (error != CUDA_SUCCESS || name == nullptr) {
    return CallFailed(is_function ? GraphCall::kGetFunctionName : GraphCall::kGetKernelName, error);
  }
  const std::uint64_t name_hash = shm::NameHash(name, ::strnlen(name, shm::kMaxNameBytes));
  // A wrong count of nodes cannot exceed the memory: each node has at most one kernel.
  kernels_[kernel_count_++] = {name_hash, name};
  const auto pair = [](std::uint32_t a, std::uint32_t b) { return (std::uint64_t{a} << 32) | b; };
  hash = NodeHash(CU_GRAPH_NODE_TYPE_KERNEL)
             .Add(name_hash)
             .Add(pair(p.gridDimX, p.gridDimY))
             .Add(pair(p.gridDimZ, p.blockDimX))
             .Add(pair(p.blockDimY, p.blockDimZ))
             .Add(p.sharedMemBytes)
             .get();
  return {};
}

GraphProblem GraphReader::ReadCopy(CUgraphNode node, std::uint64_t& hash) noexcept {
  CUDA_MEMCPY3D p = {};
  if (const CUresult error = driver_.GetCopy(node, &p)) {
    return CallFailed(GraphCall::kGetCopy, error);
  }
  hash = NodeHash(CU_GRAPH_NODE_TYPE_MEMCPY)
             .Add(p.WidthInBytes)
             .Add(p.Height)
             .Add(p.Depth)
             .Add(p.srcMemoryType)
             .Add(p.dstMemoryType)
             .get();
  return {};
}

GraphProblem GraphReader::ReadFill(CUgraphNode node, std::uint64_t& hash) noexcept {
  CUDA_MEMSET_NODE_PARAMS p = {};
  if (const CUresult error = driver_.GetFill(node, &p)) {
    return CallFailed(GraphCall::kGetFill, error);
  }
  hash = NodeHash(CU_GRAPH_NODE_TYPE_MEMSET).Add(p.width).Add(p.height).Add(p.elementSize).get();
  return {};
}

GraphProblem GraphReader::HashLevel(CUgraph graph, const CUgraphNode* nodes,
                                    const std::uint64_t* hashes, std::uint32_t count,
                                    std::uint64_t& hash) noexcept {
  std::size_t edge_count = 0;
  if (const CUresult error = driver_.GetEdges(graph, nullptr, nullptr, nullptr, &edge_count)) {
    return CallFailed(GraphCall::kGetEdges, error);
  }
  if (edge_count > kMaxEdges) return {GraphProblem::kTooLarge};
  const auto m = static_cast<std::uint32_t>(edge_count);
  const std::size_t hash_bytes = (HashMemoryBytes(count, m) + 7) / 8 * 8;
  const ScratchMemory memory(
      hash_bytes + m * (sizeof(GraphEdge) + 2 * sizeof(CUgraphNode) + sizeof(CUgraphEdgeData)));
  if (!memory.ok()) return {GraphProblem::kNoMemory};
  auto* edges =
      reinterpret_cast<GraphEdge*>(static_cast<unsigned char*>(memory.get()) + hash_bytes);
  auto* from = reinterpret_cast<CUgraphNode*>(edges + m);
  auto* to = from + m;
  auto* data = reinterpret_cast<CUgraphEdgeData*>(to + m);
  const CUresult error =
      m == 0 ? CUDA_SUCCESS : driver_.GetEdges(graph, from, to, data, &edge_count);
  if (error != CUDA_SUCCESS) return CallFailed(GraphCall::kGetEdges, error);
  if (edge_count != m) return {GraphProblem::kInconsistent};
  // HashGraph rejects the index of an unknown node.
  for (std::uint32_t i = 0; i < m; ++i) {
    edges[i] = {IndexOf(nodes, count, from[i]), IndexOf(nodes, count, to[i]), DataOf(data[i])};
  }
  hash = HashGraph({hashes, count, edges, m}, memory.get());
  return {hash == 0 ? GraphProblem::kInconsistent : GraphProblem::kNone};
}

// If two kernels are equally frequent, the first by name is shown, so that equal graphs have equal
// names.
void GraphReader::FindMostFrequent(GraphSummary& summary) noexcept {
  std::sort(kernels_, kernels_ + kernel_count_,
            [](const NamedKernel& a, const NamedKernel& b) { return a.hash < b.hash; });
  for (std::uint32_t begin = 0, end = 0; begin < kernel_count_; begin = end) {
    while (end < kernel_count_ && kernels_[end].hash == kernels_[begin].hash) ++end;
    const char* name = kernels_[begin].name;
    const std::uint32_t count = end - begin;
    if (count < summary.of_kernel) continue;
    if (count == summary.of_kernel && ::strcmp(name, summary.kernel) >= 0) continue;
    summary.of_kernel = count;
    summary.kernel = name;
  }
}

}  // namespace stemtap::inject
