// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_hash.h"

#include <string.h>

#include <algorithm>

#include "shm/context_key.h"

namespace stemtap::inject {
namespace {

using shm::MixKeys;

// Maximum rounds, and visits of nodes and edges in all rounds. Rounds end when all nodes, or no
// further ones, are distinguished, in most graphs after the first. Only graphs with many parallel
// nodes that are alike need more. If the maximum is smaller, more of these have equal hashes; if it
// is larger, an instantiation may take longer than half a second.
constexpr std::uint32_t kMaxRounds = 64;
constexpr std::uint64_t kMaxVisits = 1u << 21;

// Separates the two directions, so that a graph and its reverse have different colors.
constexpr std::uint64_t kForward = 0x6672776472000001;
constexpr std::uint64_t kBackward = 0x6262776472000003;

class Hasher {
 public:
  Hasher(const GraphStructure& graph, void* memory) noexcept : graph_(graph) {
    const std::uint32_t n = graph.node_count;
    colors_ = static_cast<std::uint64_t*>(memory);
    forward_ = colors_ + n;
    backward_ = forward_ + n;
    sums_ = backward_ + n;
    order_ = reinterpret_cast<std::uint32_t*>(sums_ + n);
    waits_ = order_ + n;
    first_ = waits_ + n;
    out_ = first_ + n + 1;
  }

  std::uint64_t Hash() noexcept {
    if (!GroupEdges() || !Sort()) return 0;
    const std::uint32_t n = graph_.node_count;
    if (n != 0) ::memcpy(colors_, graph_.nodes, n * sizeof(std::uint64_t));
    std::uint64_t visits = 0;
    std::uint32_t distinct = 0;
    for (std::uint32_t round = 0; round < kMaxRounds && visits < kMaxVisits; ++round) {
      Forward();
      Backward();
      for (std::uint32_t v = 0; v < n; ++v) colors_[v] = MixKeys(forward_[v], backward_[v]);
      visits += std::uint64_t{n} + graph_.edge_count;
      const std::uint32_t before = distinct;
      distinct = CountColors();
      if (distinct == n || distinct == before) break;
    }
    std::uint64_t sum = 0;
    for (std::uint32_t v = 0; v < n; ++v) sum += colors_[v];
    return MixKeys(sum, (std::uint64_t{n} << 32) | graph_.edge_count);
  }

 private:
  // Groups the edges by the node that they leave. Returns false if one has an unknown node.
  bool GroupEdges() noexcept {
    const std::uint32_t n = graph_.node_count;
    ::memset(waits_, 0, n * sizeof(std::uint32_t));
    ::memset(first_, 0, (std::size_t{n} + 1) * sizeof(std::uint32_t));
    for (std::uint32_t i = 0; i < graph_.edge_count; ++i) {
      const GraphEdge& edge = graph_.edges[i];
      if (edge.from >= n || edge.to >= n) return false;
      ++first_[edge.from + 1];
      ++waits_[edge.to];
    }
    for (std::uint32_t v = 0; v < n; ++v) first_[v + 1] += first_[v];
    // Filling a group moves first_ to the beginning of the next group; it is moved back below.
    for (std::uint32_t i = 0; i < graph_.edge_count; ++i) out_[first_[graph_.edges[i].from]++] = i;
    for (std::uint32_t v = n; v > 0; --v) first_[v] = first_[v - 1];
    first_[0] = 0;
    return true;
  }

  // Sorts the nodes so that each follows its predecessors. Returns false if there is a cycle.
  bool Sort() noexcept {
    std::uint32_t sorted = 0;
    for (std::uint32_t v = 0; v < graph_.node_count; ++v) {
      if (waits_[v] == 0) order_[sorted++] = v;
    }
    for (std::uint32_t i = 0; i < sorted; ++i) {
      ForEachEdge(order_[i], [&](const GraphEdge& edge) {
        if (--waits_[edge.to] == 0) order_[sorted++] = edge.to;
      });
    }
    return sorted == graph_.node_count;
  }

  void Forward() noexcept {
    const std::uint32_t n = graph_.node_count;
    ::memset(sums_, 0, n * sizeof(std::uint64_t));
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t v = order_[i];
      forward_[v] = MixKeys(MixKeys(colors_[v], kForward), sums_[v]);
      ForEachEdge(
          v, [&](const GraphEdge& edge) { sums_[edge.to] += MixKeys(forward_[v], edge.data); });
    }
  }

  void Backward() noexcept {
    for (std::uint32_t i = graph_.node_count; i > 0; --i) {
      const std::uint32_t v = order_[i - 1];
      std::uint64_t sum = 0;
      ForEachEdge(v, [&](const GraphEdge& edge) { sum += MixKeys(backward_[edge.to], edge.data); });
      backward_[v] = MixKeys(MixKeys(colors_[v], kBackward), sum);
    }
  }

  std::uint32_t CountColors() noexcept {
    std::copy(colors_, colors_ + graph_.node_count, sums_);
    std::sort(sums_, sums_ + graph_.node_count);
    return static_cast<std::uint32_t>(std::unique(sums_, sums_ + graph_.node_count) - sums_);
  }

  template <typename Visit>
  void ForEachEdge(std::uint32_t from, Visit&& visit) noexcept {
    for (std::uint32_t i = first_[from]; i < first_[from + 1]; ++i) visit(graph_.edges[out_[i]]);
  }

  const GraphStructure& graph_;
  std::uint64_t* colors_ = nullptr;
  std::uint64_t* forward_ = nullptr;
  std::uint64_t* backward_ = nullptr;
  std::uint64_t* sums_ = nullptr;
  std::uint32_t* order_ = nullptr;  // topological
  std::uint32_t* waits_ = nullptr;  // predecessors that are not in order_ yet
  std::uint32_t* first_ = nullptr;  // index in out_ of each node's first edge
  std::uint32_t* out_ = nullptr;    // edges, grouped by the node that they leave
};

}  // namespace

std::uint64_t HashGraph(const GraphStructure& graph, void* memory) noexcept {
  return Hasher(graph, memory).Hash();
}

}  // namespace stemtap::inject
