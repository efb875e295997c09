// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_hash.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace stemtap::inject {
namespace {

struct Graph {
  std::vector<std::uint64_t> nodes;
  std::vector<GraphEdge> edges;
};

std::uint64_t HashOf(const Graph& graph) {
  const auto n = static_cast<std::uint32_t>(graph.nodes.size());
  const auto m = static_cast<std::uint32_t>(graph.edges.size());
  std::vector<std::uint64_t> memory(HashMemoryBytes(n, m) / sizeof(std::uint64_t) + 1);
  return HashGraph({graph.nodes.data(), n, graph.edges.data(), m}, memory.data());
}

// A chain of nodes of `kinds` kinds, which repeat.
Graph Chain(std::uint32_t nodes, std::uint32_t kinds) {
  Graph graph;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    graph.nodes.push_back(1 + i % kinds);
    if (i > 0) graph.edges.push_back({i - 1, i, 0});
  }
  return graph;
}

// Rings of alike nodes. In each, node i of the first half precedes nodes i and i + 1 of the second.
Graph Rings(std::initializer_list<std::uint32_t> rings) {
  Graph graph;
  for (const std::uint32_t ring : rings) {
    const auto base = static_cast<std::uint32_t>(graph.nodes.size());
    graph.nodes.resize(base + 2 * ring, 1);
    for (std::uint32_t i = 0; i < ring; ++i) {
      graph.edges.push_back({base + i, base + ring + i, 0});
      graph.edges.push_back({base + i, base + ring + (i + 1) % ring, 0});
    }
  }
  return graph;
}

// A random graph in which every node has a different kind, so that no two different graphs are
// isomorphic.
Graph RandomGraph(std::mt19937_64& random, std::uint32_t nodes, std::uint32_t edges) {
  Graph graph;
  for (std::uint32_t i = 0; i < nodes; ++i) graph.nodes.push_back(random());
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  while (pairs.size() < edges) {
    const auto a = static_cast<std::uint32_t>(random() % nodes);
    const auto b = static_cast<std::uint32_t>(random() % nodes);
    if (a != b) pairs.insert({std::min(a, b), std::max(a, b)});
  }
  for (const auto& [from, to] : pairs) graph.edges.push_back({from, to, random() % 2});
  return graph;
}

// The same graph, with its nodes and edges in another order.
Graph Shuffled(const Graph& graph, std::mt19937_64& random) {
  std::vector<std::uint32_t> place(graph.nodes.size());
  std::iota(place.begin(), place.end(), 0);
  std::shuffle(place.begin(), place.end(), random);
  Graph shuffled;
  shuffled.nodes.resize(graph.nodes.size());
  for (std::size_t i = 0; i < place.size(); ++i) shuffled.nodes[place[i]] = graph.nodes[i];
  for (const GraphEdge& edge : graph.edges) {
    shuffled.edges.push_back({place[edge.from], place[edge.to], edge.data});
  }
  std::shuffle(shuffled.edges.begin(), shuffled.edges.end(), random);
  return shuffled;
}

// Makes one random change that gives another graph.
void Change(Graph& graph, std::mt19937_64& random) {
  const std::size_t node = random() % graph.nodes.size();
  const std::size_t edge = random() % graph.edges.size();
  switch (random() % 6) {
    case 0:
      graph.nodes[node] += 1;
      break;
    case 1:
      graph.nodes.push_back(random());
      break;
    case 2:
      graph.edges.erase(graph.edges.begin() + static_cast<std::ptrdiff_t>(edge));
      break;
    case 3:
      graph.edges[edge].data += 1;
      break;
    case 4:
      std::swap(graph.edges[edge].from, graph.edges[edge].to);
      // The edge may now close a cycle with others. Without them, it is reversed.
      std::erase_if(graph.edges, [](const GraphEdge& e) { return e.from < e.to; });
      break;
    default:
      graph.edges.push_back(graph.edges[edge]);
      break;
  }
}

TEST_CASE("the order of nodes and edges does not change the hash, and any single change does") {
  std::mt19937_64 random(1);
  std::set<std::uint64_t> hashes;
  constexpr int kGraphs = 2000;
  for (int i = 0; i < kGraphs; ++i) {
    CAPTURE(i);
    const auto nodes = static_cast<std::uint32_t>(2 + random() % 40);
    const std::uint32_t edges =
        1 + static_cast<std::uint32_t>(random() % (nodes * (nodes - 1) / 2));
    const Graph graph = RandomGraph(random, nodes, edges);
    const std::uint64_t hash = HashOf(graph);
    REQUIRE(hash != 0);
    CHECK(HashOf(Shuffled(graph, random)) == hash);
    Graph changed = graph;
    Change(changed, random);
    CHECK(HashOf(changed) != hash);
    hashes.insert(hash);
  }
  CHECK(hashes.size() == kGraphs);
}

TEST_CASE("graphs of alike nodes are distinguished by their edges") {
  // Of all graphs with four alike nodes in topological order, 31 are different up to the order of
  // the nodes (OEIS A003087).
  std::set<std::uint64_t> hashes;
  for (std::uint32_t bits = 0; bits < 64; ++bits) {
    Graph graph{{1, 1, 1, 1}, {}};
    std::uint32_t bit = 0;
    for (std::uint32_t from = 0; from < 4; ++from) {
      for (std::uint32_t to = from + 1; to < 4; ++to) {
        if ((bits >> bit++ & 1) != 0) graph.edges.push_back({from, to, 0});
      }
    }
    hashes.insert(HashOf(graph));
  }
  CHECK(hashes.size() == 31);
}

TEST_CASE("a chain is distinguished from chains that are longer, shorter or in another order") {
  std::set<std::uint64_t> hashes;
  for (std::uint32_t nodes = 0; nodes < 200; ++nodes) hashes.insert(HashOf(Chain(nodes, 3)));
  CHECK(hashes.size() == 200);
  Graph swapped = Chain(100, 3);
  std::swap(swapped.nodes[40], swapped.nodes[41]);
  CHECK(HashOf(swapped) != HashOf(Chain(100, 3)));
  Graph reversed = Chain(100, 3);
  for (GraphEdge& edge : reversed.edges) std::swap(edge.from, edge.to);
  CHECK(HashOf(reversed) != HashOf(Chain(100, 3)));
}

TEST_CASE("alike nodes are distinguished by what is far from them") {
  // Zigzags of alike nodes: only the ends differ, and most nodes are far from them.
  const auto zigzag = [](std::uint32_t pairs) {
    Graph graph = Rings({pairs});
    graph.edges.pop_back();
    return graph;
  };
  Graph two = zigzag(4);
  const Graph second = zigzag(4);
  for (const GraphEdge& edge : second.edges) two.edges.push_back({edge.from + 8, edge.to + 8, 0});
  two.nodes.insert(two.nodes.end(), second.nodes.begin(), second.nodes.end());
  Graph other = zigzag(3);
  const Graph longer = zigzag(5);
  for (const GraphEdge& edge : longer.edges) other.edges.push_back({edge.from + 6, edge.to + 6, 0});
  other.nodes.insert(other.nodes.end(), longer.nodes.begin(), longer.nodes.end());
  REQUIRE(two.edges.size() == other.edges.size());
  CHECK(HashOf(two) != HashOf(other));
  // The limit that graph_hash.h states.
  CHECK(HashOf(Rings({8})) == HashOf(Rings({4, 4})));
}

TEST_CASE("a cycle or an edge to an unknown node has no hash") {
  CHECK(HashOf({{1, 2, 3}, {{0, 1, 0}, {1, 2, 0}, {2, 1, 0}}}) == 0);
  CHECK(HashOf({{1}, {{0, 0, 0}}}) == 0);
  CHECK(HashOf({{1, 2}, {{0, 2, 0}}}) == 0);
  CHECK(HashOf({{1, 2}, {{0xFFFFFFFF, 0, 0}}}) == 0);
  CHECK(HashOf({{}, {{0, 0, 0}}}) == 0);
  CHECK(HashOf({}) != 0);
}

TEST_CASE("100,000 nodes are hashed in well below a second") {
  std::mt19937_64 random(2);
  const Graph graph = RandomGraph(random, 100'000, 200'000);
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t hash = HashOf(graph);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  MESSAGE("random graph: ", took.count() * 1e3, " ms");
  CHECK(hash != 0);
  CHECK(HashOf(Chain(100'000, 7)) != 0);
  CHECK(took.count() < 5.0);
}

}  // namespace
}  // namespace stemtap::inject
