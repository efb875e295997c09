// SPDX-License-Identifier: Apache-2.0
//
// Reads graphs of a driver that this test implements.
#include "graphs/graph_reader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace stemtap::inject {
namespace {

struct FakeGraph;

struct FakeNode {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;
  const char* kernel = "k";
  CUDA_KERNEL_NODE_PARAMS launch = {};
  CUDA_MEMCPY3D copy = {};
  CUDA_MEMSET_NODE_PARAMS fill = {};
  FakeGraph* child = nullptr;
};

struct FakeGraph {
  std::vector<std::unique_ptr<FakeNode>> nodes;
  struct Edge {
    FakeNode* from;
    FakeNode* to;
    CUgraphEdgeData data;
  };
  std::vector<Edge> edges;

  FakeNode& Add(CUgraphNodeType type) {
    nodes.push_back(std::make_unique<FakeNode>());
    nodes.back()->type = type;
    return *nodes.back();
  }
  FakeNode& AddKernel(const char* name, unsigned grid = 1) {
    FakeNode& node = Add(CU_GRAPH_NODE_TYPE_KERNEL);
    node.kernel = name;
    node.launch.gridDimX = grid;
    node.launch.gridDimY = node.launch.gridDimZ = 1;
    node.launch.blockDimX = 128;
    node.launch.blockDimY = node.launch.blockDimZ = 1;
    return node;
  }
  void Connect(FakeNode& from, FakeNode& to, unsigned char port = 0) {
    edges.push_back({&from, &to, {port, 0, 0, {}}});
  }
};

FakeNode& NodeOf(CUgraphNode node) {
  return *reinterpret_cast<FakeNode*>(node);
}
FakeGraph& GraphOf(CUgraph graph) {
  return *reinterpret_cast<FakeGraph*>(graph);
}

// What the driver does wrong. One test at a time sets it.
struct Faults {
  GraphCall fails = GraphCall::kCount;
  int after = 0;               // calls of `fails` that succeed first
  std::size_t more_nodes = 0;  // added to the second answer of GetNodes
  std::size_t more_edges = 0;
  std::size_t claims_nodes = 0;  // the first answer
  std::size_t claims_edges = 0;
};
Faults g_faults;

CUresult Result(GraphCall call) {
  if (call != g_faults.fails || g_faults.after-- > 0) return CUDA_SUCCESS;
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult GetNodes(CUgraph graph, CUgraphNode* out, std::size_t* count) {
  const auto& nodes = GraphOf(graph).nodes;
  for (std::size_t i = 0; out != nullptr && i < nodes.size() && i < *count; ++i) {
    out[i] = reinterpret_cast<CUgraphNode>(nodes[i].get());
  }
  *count = nodes.size() + (out == nullptr ? 0 : g_faults.more_nodes);
  if (out == nullptr && g_faults.claims_nodes != 0) *count = g_faults.claims_nodes;
  return Result(GraphCall::kGetNodes);
}

CUresult GetType(CUgraphNode node, CUgraphNodeType* type) {
  *type = NodeOf(node).type;
  return Result(GraphCall::kGetType);
}

CUresult GetKernel(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  *params = NodeOf(node).launch;
  // Kernels with a 'K' have no function, as kernels of libraries.
  auto* name = const_cast<char*>(NodeOf(node).kernel);
  if (name[0] == 'K') {
    params->kern = reinterpret_cast<CUkernel>(name);
  } else {
    params->func = reinterpret_cast<CUfunction>(name);
  }
  return Result(GraphCall::kGetKernel);
}

CUresult GetFunctionName(const char** name, CUfunction function) {
  *name = reinterpret_cast<const char*>(function);
  return Result(GraphCall::kGetFunctionName);
}

CUresult GetKernelName(const char** name, CUkernel kernel) {
  *name = reinterpret_cast<const char*>(kernel);
  return Result(GraphCall::kGetKernelName);
}

CUresult GetCopy(CUgraphNode node, CUDA_MEMCPY3D* params) {
  *params = NodeOf(node).copy;
  return Result(GraphCall::kGetCopy);
}

CUresult GetFill(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params) {
  *params = NodeOf(node).fill;
  return Result(GraphCall::kGetFill);
}

CUresult GetChild(CUgraphNode node, CUgraph* child) {
  *child = reinterpret_cast<CUgraph>(NodeOf(node).child);
  return Result(GraphCall::kGetChild);
}

CUresult GetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                  std::size_t* count) {
  const auto& edges = GraphOf(graph).edges;
  for (std::size_t i = 0; from != nullptr && i < edges.size() && i < *count; ++i) {
    from[i] = reinterpret_cast<CUgraphNode>(edges[i].from);
    to[i] = reinterpret_cast<CUgraphNode>(edges[i].to);
    data[i] = edges[i].data;
  }
  *count = edges.size() + (from == nullptr ? 0 : g_faults.more_edges);
  if (from == nullptr && g_faults.claims_edges != 0) *count = g_faults.claims_edges;
  return Result(GraphCall::kGetEdges);
}

const GraphDriver kDriver = {GetNodes, GetType, GetKernel, GetFunctionName, GetKernelName,
                             GetCopy,  GetFill, GetChild,  GetEdges};

GraphProblem Read(FakeGraph& graph, std::string& name) {
  GraphReader reader(kDriver);
  GraphSummary summary;
  const GraphProblem problem = reader.Read(reinterpret_cast<CUgraph>(&graph), summary);
  char text[kGraphNameBytes];
  if (!problem) name = std::string(text, WriteGraphName(summary, text));
  return problem;
}

std::string NameOf(FakeGraph& graph) {
  std::string name;
  CHECK(Read(graph, name).kind == GraphProblem::kNone);
  return name;
}

// A graph with every kind of node that has a size. `change` may change its nodes: the kernels a, b
// and b, a copy, a memset and a child graph with the kernel c.
using Change = std::function<void(FakeGraph& graph, FakeGraph& child)>;
std::string NameOfChanged(const Change& change, bool is_reversed = false) {
  FakeGraph child;
  child.AddKernel("c", 7);
  FakeGraph graph;
  FakeNode& a = graph.AddKernel("a", 10);
  FakeNode& b = graph.AddKernel("b", 20);
  FakeNode& again = graph.AddKernel("b", 20);
  FakeNode& copy = graph.Add(CU_GRAPH_NODE_TYPE_MEMCPY);
  copy.copy.WidthInBytes = 4096;
  copy.copy.Height = copy.copy.Depth = 1;
  copy.copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  FakeNode& fill = graph.Add(CU_GRAPH_NODE_TYPE_MEMSET);
  fill.fill.width = 64;
  fill.fill.height = 1;
  fill.fill.elementSize = 4;
  FakeNode& nested = graph.Add(CU_GRAPH_NODE_TYPE_GRAPH);
  nested.child = &child;
  graph.Connect(copy, a);
  graph.Connect(a, b);
  graph.Connect(a, again);
  graph.Connect(b, nested);
  graph.Connect(again, nested);
  graph.Connect(fill, nested);
  change(graph, child);
  if (is_reversed) {
    std::reverse(graph.nodes.begin(), graph.nodes.end());
    std::reverse(graph.edges.begin(), graph.edges.end());
  }
  return NameOf(graph);
}

TEST_CASE("equal structures have one name, whatever the order and addresses of their nodes") {
  const std::string name = NameOfChanged([](FakeGraph&, FakeGraph&) {});
  CHECK(name.starts_with("graph of 4 kernels, 2 x b #"));
  CHECK(NameOfChanged([](FakeGraph&, FakeGraph&) {}) == name);
  CHECK(NameOfChanged([](FakeGraph&, FakeGraph&) {}, true) == name);
  // Addresses, parameters and values are not part of the structure.
  CHECK(NameOfChanged([](FakeGraph& graph, FakeGraph&) {
          graph.nodes[0]->launch.kernelParams = reinterpret_cast<void**>(0x1000);
          graph.nodes[3]->copy.dstDevice = 0x2000;
          graph.nodes[4]->fill.dst = 0x3000;
          graph.nodes[4]->fill.value = 7;
        }) == name);
}

TEST_CASE("each change of the structure gives another name") {
  const Change kChanges[] = {
      [](FakeGraph&, FakeGraph&) {},
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[0]->kernel = "x"; },
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[0]->launch.gridDimX = 11; },
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[0]->launch.gridDimY = 10; },
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[0]->launch.gridDimZ = 10; },
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[0]->launch.blockDimX = 64; },
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[0]->launch.blockDimY = 2; },
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[0]->launch.blockDimZ = 2; },
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[0]->launch.sharedMemBytes = 1024; },
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[1]->launch.sharedMemBytes = 1024; },
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[3]->copy.WidthInBytes = 8192; },
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[3]->copy.Height = 2; },
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[3]->copy.Depth = 2; },
      [](FakeGraph& graph, FakeGraph&) {
        graph.nodes[3]->copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
      },
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[4]->fill.width = 65; },
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[4]->fill.height = 2; },
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[4]->fill.elementSize = 1; },
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[4]->type = CU_GRAPH_NODE_TYPE_HOST; },
      [](FakeGraph& graph, FakeGraph&) { graph.nodes[4]->type = CU_GRAPH_NODE_TYPE_EMPTY; },
      [](FakeGraph&, FakeGraph& child) { child.nodes[0]->launch.gridDimX = 8; },
      [](FakeGraph&, FakeGraph& child) { child.AddKernel("d"); },
      [](FakeGraph&, FakeGraph& child) { child.Connect(child.AddKernel("d"), *child.nodes[0]); },
      [](FakeGraph& graph, FakeGraph&) { graph.AddKernel("b", 20); },
      [](FakeGraph& graph, FakeGraph&) { graph.edges.pop_back(); },
      [](FakeGraph& graph, FakeGraph&) { graph.edges[0].to = graph.nodes[1].get(); },
      [](FakeGraph& graph, FakeGraph&) { graph.edges[0].data.from_port = 1; },
      [](FakeGraph& graph, FakeGraph&) { graph.edges[0].data.type = 1; },
      [](FakeGraph& graph, FakeGraph&) { graph.Connect(*graph.nodes[1], *graph.nodes[2]); },
  };
  std::vector<std::string> names;
  for (const Change& change : kChanges) {
    names.push_back(NameOfChanged(change));
    CHECK(NameOfChanged(change, true) == names.back());
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      CAPTURE(i);
      CAPTURE(j);
      CHECK(names[i] != names[j]);
    }
  }
}

TEST_CASE("the kernels of a child graph are not the kernels of the graph itself") {
  FakeGraph child;
  child.AddKernel("k");
  FakeGraph nested;
  nested.Add(CU_GRAPH_NODE_TYPE_GRAPH).child = &child;
  CHECK(NameOf(nested).starts_with("graph of 1 kernel, 1 x k #"));
  CHECK(NameOf(nested) != NameOf(child));
  FakeGraph empty;
  CHECK(NameOf(empty).starts_with("graph of 0 kernels #"));
}

TEST_CASE("of equally frequent kernels, the first by name is shown") {
  FakeGraph graph;
  for (const char* name : {"b", "Kernel_of_library", "a", "b", "a"}) graph.AddKernel(name);
  CHECK(NameOf(graph).starts_with("graph of 5 kernels, 2 x a #"));
}

TEST_CASE("each call that fails is the reason why a graph has no name") {
  for (int call = 0; call < static_cast<int>(GraphCall::kGetExecId); ++call) {
    for (const int after : {0, 1}) {
      CAPTURE(call);
      FakeGraph child;
      child.AddKernel("K");
      child.AddKernel("K");
      FakeGraph graph;
      graph.Add(CU_GRAPH_NODE_TYPE_GRAPH).child = &child;
      graph.Add(CU_GRAPH_NODE_TYPE_GRAPH).child = &child;
      graph.Connect(graph.AddKernel("k"), graph.AddKernel("k"));
      graph.Connect(graph.Add(CU_GRAPH_NODE_TYPE_MEMCPY), graph.Add(CU_GRAPH_NODE_TYPE_MEMCPY));
      graph.Connect(graph.Add(CU_GRAPH_NODE_TYPE_MEMSET), graph.Add(CU_GRAPH_NODE_TYPE_MEMSET));
      g_faults = {static_cast<GraphCall>(call), after, 0, 0, 0, 0};
      std::string name;
      const GraphProblem problem = Read(graph, name);
      g_faults = {};
      CHECK(problem.kind == GraphProblem::kCallFailed);
      CHECK(problem.call == call);
      CHECK(problem.error == CUDA_ERROR_NOT_SUPPORTED);
    }
  }
}

TEST_CASE("contradicting answers, cycles and too large graphs have no name and do not crash") {
  const auto kind_of = [](const Faults& faults, const std::function<void(FakeGraph&)>& change) {
    FakeGraph graph;
    FakeNode& a = graph.AddKernel("a");
    FakeNode& b = graph.AddKernel("b");
    graph.Connect(a, b);
    change(graph);
    g_faults = faults;
    std::string name;
    const GraphProblem problem = Read(graph, name);
    g_faults = {};
    return problem.kind;
  };
  const auto nothing = [](FakeGraph&) {};
  FakeNode stranger;
  using P = GraphProblem;
  CHECK(kind_of({}, nothing) == P::kNone);
  CHECK(kind_of({.more_nodes = 1}, nothing) == P::kInconsistent);
  CHECK(kind_of({.more_edges = 1}, nothing) == P::kInconsistent);
  CHECK(kind_of({.claims_nodes = 3}, nothing) == P::kInconsistent);
  CHECK(kind_of({.claims_nodes = 1}, nothing) == P::kInconsistent);
  CHECK(kind_of({.claims_nodes = GraphReader::kMaxNodes + 1}, nothing) == P::kTooLarge);
  CHECK(kind_of({.claims_nodes = ~std::size_t{0}}, nothing) == P::kTooLarge);
  CHECK(kind_of({.claims_edges = GraphReader::kMaxEdges + 1}, nothing) == P::kTooLarge);
  CHECK(kind_of({.claims_edges = ~std::size_t{0}}, nothing) == P::kTooLarge);
  CHECK(kind_of({}, [](FakeGraph& graph) { graph.Connect(*graph.nodes[1], *graph.nodes[0]); }) ==
        P::kInconsistent);
  CHECK(kind_of({}, [&](FakeGraph& graph) { graph.Connect(*graph.nodes[1], stranger); }) ==
        P::kInconsistent);
}

TEST_CASE("a graph that contains itself, and conditional nodes, have no name") {
  FakeGraph graph;
  graph.Add(CU_GRAPH_NODE_TYPE_GRAPH).child = &graph;
  std::string name;
  CHECK(Read(graph, name).kind == GraphProblem::kTooDeep);
  graph.Add(CU_GRAPH_NODE_TYPE_GRAPH).child = &graph;
  CHECK(Read(graph, name).kind == GraphProblem::kTooDeep);
  FakeGraph conditional;
  conditional.Add(CU_GRAPH_NODE_TYPE_CONDITIONAL);
  CHECK(Read(conditional, name).kind == GraphProblem::kConditional);
}

TEST_CASE("child graphs in child graphs end at the maximum number of nodes") {
  // Each level has 64 child graphs of the next.
  FakeGraph levels[7];
  for (std::size_t level = 0; level < 6; ++level) {
    for (int i = 0; i < 64; ++i) {
      levels[level].Add(CU_GRAPH_NODE_TYPE_GRAPH).child = &levels[level + 1];
    }
  }
  std::string name;
  CHECK(Read(levels[0], name).kind == GraphProblem::kTooLarge);
}

TEST_CASE("a graph of 100,000 nodes is read in well below a second") {
  FakeGraph graph;
  std::mt19937 random(1);
  const char* const kNames[] = {"a", "b", "c", "d", "e"};
  for (int i = 0; i < 100'000; ++i) {
    FakeNode& node = graph.AddKernel(kNames[random() % 5], random() % 7);
    if (i > 0) graph.Connect(*graph.nodes[static_cast<std::size_t>(i) - 1], node);
    if (i > 1) graph.Connect(*graph.nodes[random() % static_cast<std::size_t>(i - 1)], node);
  }
  const auto start = std::chrono::steady_clock::now();
  const std::string name = NameOf(graph);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  MESSAGE("100,000 nodes: ", took.count() * 1e3, " ms");
  CHECK(name.starts_with("graph of 100000 kernels, "));
  CHECK(took.count() < 5.0);
}

TEST_CASE("threads that read graphs at once get the same names") {
  std::vector<std::thread> threads;
  std::vector<std::string> names(8);
  for (std::string& name : names) {
    threads.emplace_back([&name] {
      for (int i = 0; i < 200; ++i) name = NameOfChanged([](FakeGraph&, FakeGraph&) {});
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(
      std::all_of(names.begin(), names.end(), [&](const auto& name) { return name == names[0]; }));
}

}  // namespace
}  // namespace stemtap::inject
