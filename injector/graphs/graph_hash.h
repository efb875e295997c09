// SPDX-License-Identifier: Apache-2.0
//
// HashGraph computes the hash by which equal CUDA graphs get equal names. It depends on what the
// nodes do and on which nodes depend on which, and not on the order or the addresses of nodes and
// edges.
//
// Each round gives every node a color: the hash of its previous color and of the colors of all of
// its ancestors (in topological order) and all of its descendants (in the reverse order), with the
// data of the edges between them. A sum combines colors, because it does not depend on their order.
// The hash of the graph is the hash of the sum of all colors, with the number of nodes and edges.
//
// Graphs with equal hashes are equal up to the order of their nodes, with two exceptions:
//   - 64-bit hashes collide: among 65,536 structures with a probability of 1e-10.
//   - Colors do not distinguish all graphs (as in the color refinement of Weisfeiler and Leman). If
//     many nodes are alike, with the same kernel, shape and number of dependencies, a ring of eight
//     dependencies between them has the same hash as two rings of four. A canonical form that
//     distinguishes them takes exponential time in the worst case.
//
// COMPLEXITY: O(nodes log nodes + edges) per round, without recursion.  THREADS: none, pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stemtap::inject {

struct GraphEdge {
  std::uint32_t from = 0;  // index of a node
  std::uint32_t to = 0;
  std::uint64_t data = 0;  // what the dependency waits for
};

// GraphStructure is a graph whose nodes are numbered from 0.
struct GraphStructure {
  const std::uint64_t* nodes = nullptr;  // hash of what each node does
  std::uint32_t node_count = 0;
  const GraphEdge* edges = nullptr;
  std::uint32_t edge_count = 0;
};

// Returns the bytes of memory that HashGraph needs.
constexpr std::size_t HashMemoryBytes(std::uint32_t nodes, std::uint32_t edges) noexcept {
  return std::size_t{nodes} * (4 * sizeof(std::uint64_t) + 2 * sizeof(std::uint32_t)) +
         (std::size_t{nodes} + 1 + edges) * sizeof(std::uint32_t);
}

// Returns the hash, never 0. Returns 0 if an edge has a node that does not exist or if the edges
// form a cycle. `memory` has HashMemoryBytes, aligned for std::uint64_t, and is overwritten.
std::uint64_t HashGraph(const GraphStructure& graph, void* memory) noexcept;

}  // namespace stemtap::inject
