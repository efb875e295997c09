// SPDX-License-Identifier: Apache-2.0
//
// Scenarios of record kinds other than kernels: whole graphs, and CUPTI's overhead.
#include <functional>
#include <map>

#include "probe.h"

namespace probe {
namespace {

struct Sum {
  std::uint64_t kernels = 0;
  std::uint64_t graphs = 0;
  std::uint64_t graph_ns = 0;
  std::uint64_t overheads = 0;
  std::uint64_t overhead_ns = 0;
  std::uint64_t instrumentation_ns = 0;
};

Sum Flushed() {
  Check(cuptiActivityFlushAll(0), "FlushAll");
  Sum sum;
  for (const Delivered& one : Client::Take()) {
    sum.kernels += one.records.size();
    for (const CUpti_ActivityGraphTrace& graph : one.graphs) {
      ++sum.graphs;
      sum.graph_ns += graph.end - graph.start;
    }
    for (const CUpti_ActivityOverhead& overhead : one.overheads) {
      if (overhead.overheadKind == CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION) {
        sum.instrumentation_ns += overhead.end - overhead.start;
      } else {
        ++sum.overheads;
        sum.overhead_ns += overhead.end - overhead.start;
      }
    }
  }
  return sum;
}

// Instantiates graphs with nothing enabled, with kernels enabled, and with graphs enabled as well.
// Launches each three times, and then one kernel outside the graphs.
void GraphTrace() {
  Gpu gpu;
  const CUgraphExec nothing = FiveKernelGraph(gpu);
  Client::Start();
  const CUgraphExec kernels = FiveKernelGraph(gpu);
  Check(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), "Enable");
  const CUgraphExec graphs = FiveKernelGraph(gpu);
  const auto launch = [&gpu](CUgraphExec exec) {
    for (int i = 0; i < 3; ++i) Check(cuGraphLaunch(exec, gpu.stream(0)), "cuGraphLaunch");
    return Flushed();
  };
  const Sum before = launch(nothing);
  Print("early_kernels", before.kernels);
  Print("early_graphs", before.graphs);
  const Sum by_node = launch(kernels);
  Print("by_node_kernels", by_node.kernels);
  Print("by_node_graphs", by_node.graphs);
  const Sum whole = launch(graphs);
  Print("whole_kernels", whole.kernels);
  Print("whole_graphs", whole.graphs);
  Print("whole_ns", whole.graph_ns);
  gpu.Launch(1000);
  Print("outside_kernels", Flushed().kernels);
  Check(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), "Disable");
  const Sum off = launch(graphs);
  Print("off_kernels", off.kernels);
  Print("off_graphs", off.graphs);
}

void GraphRecord() {
  Gpu gpu;
  Client::Start(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  const CUgraphExec exec = FiveKernelGraph(gpu);
  Check(cuGraphLaunch(exec, gpu.stream(0)), "cuGraphLaunch");
  Check(cuptiActivityFlushAll(0), "FlushAll");
  const auto delivered = Client::Take();
  const CUpti_ActivityGraphTrace graph = delivered.at(0).graphs.at(0);
  std::uint32_t id = 0;
  Check(cuptiGetGraphExecId(exec, &id), "GetGraphExecId");
  Print("bytes", delivered[0].bytes.size());
  Print("duration_ns", graph.end - graph.start);
  Print("device", graph.deviceId);
  Print("context", graph.contextId);
  Print("stream", graph.streamId);
  Print("graph_id_is_the_executable's", graph.graphId == id);
  Print("correlated", graph.correlationId != 0);
}

// Measures the cost of recording, as reported and as observed, and without recording.
void Overhead() {
  constexpr int kLaunches = 2000;
  Gpu gpu;
  const auto launch = [&gpu] {
    const std::uint64_t begin = WallTime();
    for (int i = 0; i < kLaunches; ++i) gpu.Launch(0);
    return WallTime() - begin;
  };
  const std::uint64_t off_ns = launch();
  Client::buffer_bytes = 100 * sizeof(CUpti_ActivityKernel10);
  Client::Start(CUPTI_ACTIVITY_KIND_OVERHEAD);
  Check(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "Enable");
  CUmodule module;
  Check(cuModuleLoadData(&module, ""), "cuModuleLoadData");
  const std::uint64_t on_ns = launch();
  const Sum sum = Flushed();
  Print("kernels", sum.kernels);
  Print("overhead_ns", sum.overhead_ns);
  Print("overheads", sum.overheads);
  Print("buffers", Client::requests());
  Print("instrumentation_ns", sum.instrumentation_ns);
  Print("off_ns_per_launch", off_ns / kLaunches);
  Print("on_ns_per_launch", on_ns / kLaunches);
}

}  // namespace

int RunKinds(const std::string& scenario) {
  const std::map<std::string, std::function<void()>> scenarios = {
      {"graph_trace", GraphTrace},
      {"graph_record", GraphRecord},
      {"overhead", Overhead},
  };
  const auto found = scenarios.find(scenario);
  if (found == scenarios.end()) return -1;
  found->second();
  return 0;
}

}  // namespace probe
