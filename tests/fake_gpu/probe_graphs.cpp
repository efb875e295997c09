// SPDX-License-Identifier: Apache-2.0
//
// Scenarios of stream capture, graphs, user objects and host functions.
#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>

#include "probe.h"

namespace probe {
namespace {

CUgraph EndCapture(CUstream stream) {
  CUgraph graph = nullptr;
  Check(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
  return graph;
}

CUgraphExec Instantiate(CUgraph graph) {
  CUgraphExec exec = nullptr;
  Check(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
  return exec;
}

void Begin(CUstream stream) {
  Check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
}

std::size_t CountOf(const std::function<CUresult(std::size_t*)>& get) {
  std::size_t count = 0;
  Check(get(&count), "count");
  return count;
}

CUevent NewEvent() {
  CUevent event;
  Check(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  return event;
}

// A diamond: 1 us, then 10 us and 30 us side by side, then 1 us.
CUgraph Diamond(Gpu& gpu) {
  const CUevent fork = NewEvent();
  const CUevent join = NewEvent();
  Begin(gpu.stream(0));
  gpu.Launch(1000, 0);
  Check(cuEventRecord(fork, gpu.stream(0)), "cuEventRecord");
  Check(cuStreamWaitEvent(gpu.stream(1), fork, 0), "cuStreamWaitEvent");
  gpu.Launch(30000, 1, "branch");
  gpu.Launch(10000, 0);
  Check(cuEventRecord(join, gpu.stream(1)), "cuEventRecord");
  Check(cuStreamWaitEvent(gpu.stream(0), join, 0), "cuStreamWaitEvent");
  gpu.Launch(1000, 0);
  return EndCapture(gpu.stream(0));
}

void ForkAndJoin() {
  Gpu gpu(2);
  Client::Start();
  const CUgraph graph = Diamond(gpu);
  CUstreamCaptureStatus status;
  Check(cuStreamIsCapturing(gpu.stream(1), &status), "cuStreamIsCapturing");
  Print("still_capturing", static_cast<std::uint64_t>(status));
  Print("nodes", CountOf([&](auto* n) { return cuGraphGetNodes(graph, nullptr, n); }));
  Print("roots", CountOf([&](auto* n) { return cuGraphGetRootNodes(graph, nullptr, n); }));
  Print("edges",
        CountOf([&](auto* n) { return cuGraphGetEdges(graph, nullptr, nullptr, nullptr, n); }));
  const CUgraphExec exec = Instantiate(graph);
  const std::uint64_t before = fakeGpuNow();
  Check(cuGraphLaunch(exec, gpu.stream(0)), "cuGraphLaunch");
  Print("host_ns", fakeGpuNow() - before);
  Check(cuStreamSynchronize(gpu.stream(0)), "cuStreamSynchronize");
  Print("total_ns", fakeGpuNow() - before);
  Check(cuptiActivityFlushAll(0), "FlushAll");
  auto records = Records(Client::Take());
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  Print("records", records.size());
  Print("branches_overlap", records[1].start == records[2].start);
  Print("last_waits", records[3].start == std::max(records[1].end, records[2].end));
}

// Prints the results of captures that are wrong.
void WrongCaptures() {
  Gpu gpu(3);
  const CUevent event = NewEvent();
  const CUevent other = NewEvent();
  CUgraph graph = nullptr;
  const auto fork = [&] {
    Begin(gpu.stream(0));
    gpu.Launch(1000, 0);
    Check(cuEventRecord(event, gpu.stream(0)), "cuEventRecord");
    Check(cuStreamWaitEvent(gpu.stream(1), event, 0), "cuStreamWaitEvent");
    gpu.Launch(1000, 1);
  };
  fork();
  Print("unjoined", cuStreamEndCapture(gpu.stream(0), &graph));
  fork();
  Print("unmatched", cuStreamEndCapture(gpu.stream(1), &graph));
  Print("after_unmatched", cuStreamEndCapture(gpu.stream(0), &graph));
  gpu.Launch(1000, 2);
  Check(cuEventRecord(other, gpu.stream(2)), "cuEventRecord");
  Begin(gpu.stream(0));
  Print("isolation", cuStreamWaitEvent(gpu.stream(0), other, 0));
  Print("invalidated", cuStreamEndCapture(gpu.stream(0), &graph));
  Begin(gpu.stream(0));
  Check(cuEventRecord(event, gpu.stream(0)), "cuEventRecord");
  Print("captured_event", cuEventQuery(event));
  Print("synchronize", cuStreamSynchronize(gpu.stream(0)));
  Print("after_synchronize", cuStreamEndCapture(gpu.stream(0), &graph));
  Begin(gpu.stream(0));
  Begin(gpu.stream(1));
  Check(cuEventRecord(event, gpu.stream(0)), "cuEventRecord");
  Print("merge", cuStreamWaitEvent(gpu.stream(1), event, 0));
  Print("no_capture", cuStreamEndCapture(gpu.stream(2), &graph));
}

// Captures a copy, a memset and a host function, and launches the graph twice.
void Work() {
  Gpu gpu;
  char in[8] = "abcdefg";
  char out[8] = "";
  static int calls = 0;
  CUdeviceptr device;
  Check(cuMemAlloc(&device, 8), "cuMemAlloc");
  Begin(gpu.stream(0));
  Check(cuMemcpyHtoDAsync(device, in, 8, gpu.stream(0)), "cuMemcpyHtoDAsync");
  Check(cuMemsetD8Async(device, 'X', 2, gpu.stream(0)), "cuMemsetD8Async");
  Check(cuMemcpyDtoHAsync(out, device, 8, gpu.stream(0)), "cuMemcpyDtoHAsync");
  Check(cuLaunchHostFunc(
            gpu.stream(0), [](void* text) { calls += *static_cast<char*>(text) == 'X'; }, out),
        "cuLaunchHostFunc");
  CUdeviceptr allocated;
  Check(cuMemAllocAsync(&allocated, 64, gpu.stream(0)), "cuMemAllocAsync");
  Check(cuMemsetD8Async(allocated, 1, 64, gpu.stream(0)), "cuMemsetD8Async");
  Check(cuMemFreeAsync(allocated, gpu.stream(0)), "cuMemFreeAsync");
  const CUgraph graph = EndCapture(gpu.stream(0));
  Print("not_yet", std::strlen(out));
  const CUgraphExec exec = Instantiate(graph);
  Check(cuGraphDestroy(graph), "cuGraphDestroy");
  for (int i = 0; i < 2; ++i) Check(cuGraphLaunch(exec, gpu.stream(0)), "cuGraphLaunch");
  Check(cuStreamSynchronize(gpu.stream(0)), "cuStreamSynchronize");
  Print("out", std::string(out));
  Print("calls", static_cast<std::uint64_t>(calls));
}

// Updates an executable graph: its kernel's duration, and a graph of another shape.
void Update() {
  Gpu gpu(2);
  const auto capture = [&gpu](int kernels, std::uint64_t duration) {
    Begin(gpu.stream(0));
    for (int i = 0; i < kernels; ++i) gpu.Launch(duration);
    return EndCapture(gpu.stream(0));
  };
  const CUgraph graph = capture(2, 1000);
  const CUgraphExec exec = Instantiate(graph);
  CUgraphExecUpdateResultInfo info;
  Print("update", cuGraphExecUpdate(exec, capture(2, 5000), &info));
  Check(cuGraphLaunch(exec, gpu.stream(0)), "cuGraphLaunch");
  FakeGpuStatistics statistics;
  Check(fakeGpuGetStatistics(&statistics), "fakeGpuGetStatistics");
  Print("duration_ns", statistics.duration_ns);
  Print("longer", cuGraphExecUpdate(exec, capture(3, 1000), &info));
  Print("longer_result", static_cast<std::uint64_t>(info.result));
  Print("topology", cuGraphExecUpdate(exec, Diamond(gpu), &info));
  CUgraphNode nodes[2];
  std::size_t count = 2;
  Check(cuGraphGetNodes(graph, nodes, &count), "cuGraphGetNodes");
  CUDA_KERNEL_NODE_PARAMS params;
  Check(cuGraphKernelNodeGetParams(nodes[0], &params), "cuGraphKernelNodeGetParams");
  Print("parameter", *static_cast<std::uint64_t*>(params.kernelParams[0]));
  std::uint64_t duration = 70000;
  void* parameters[] = {&duration};
  params.kernelParams = parameters;
  Check(cuGraphExecKernelNodeSetParams(exec, nodes[0], &params), "cuGraphExecKernelNodeSetParams");
  Check(cuGraphLaunch(exec, gpu.stream(0)), "cuGraphLaunch");
  Check(fakeGpuGetStatistics(&statistics), "fakeGpuGetStatistics");
  Print("set_duration_ns", statistics.duration_ns);
}

// A graph built by hand, in an order that differs from its dependencies, with a child graph.
void Built() {
  Gpu gpu;
  CUgraph graph;
  CUgraph child = nullptr;
  CUgraph clone;
  CUgraphNode last;
  CUgraphNode first;
  CUgraphNode nested;
  CUgraphNode found;
  Check(cuGraphCreate(&graph, 0), "cuGraphCreate");
  Begin(gpu.stream(0));
  gpu.Launch(1000);
  gpu.Launch(1000);
  child = EndCapture(gpu.stream(0));
  CUDA_KERNEL_NODE_PARAMS params = {};
  params.func = gpu.Function("built");
  params.gridDimX = params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = params.blockDimY = params.blockDimZ = 1;
  Check(cuGraphAddKernelNode(&last, graph, nullptr, 0, &params), "cuGraphAddKernelNode");
  Check(cuGraphAddEmptyNode(&first, graph, nullptr, 0), "cuGraphAddEmptyNode");
  Check(cuGraphAddChildGraphNode(&nested, graph, &first, 1, child), "cuGraphAddChildGraphNode");
  Check(cuGraphAddDependencies(graph, &nested, &last, nullptr, 1), "cuGraphAddDependencies");
  const CUgraphExec exec = Instantiate(graph);
  const std::uint64_t before = fakeGpuNow();
  Check(cuGraphLaunch(exec, gpu.stream(0)), "cuGraphLaunch");
  Check(cuStreamSynchronize(gpu.stream(0)), "cuStreamSynchronize");
  Print("ns", fakeGpuNow() - before);  // 2.5 us, 2 us and 5 us
  Check(cuGraphClone(&clone, graph), "cuGraphClone");
  Check(cuGraphNodeFindInClone(&found, nested, clone), "cuGraphNodeFindInClone");
  CUgraphNodeType type;
  Check(cuGraphNodeGetType(found, &type), "cuGraphNodeGetType");
  Print("type", static_cast<std::uint64_t>(type));
  Check(cuGraphAddDependencies(graph, &last, &first, nullptr, 1), "cuGraphAddDependencies");
  CUgraphExec cyclic;
  Print("cycle", cuGraphInstantiate(&cyclic, graph, 0));
  Check(cuGraphDestroyNode(last), "cuGraphDestroyNode");
  Print("nodes", CountOf([&](auto* n) { return cuGraphGetNodes(graph, nullptr, n); }));
}

void UserObjects() {
  const Gpu gpu;
  static int destroyed = 0;
  CUuserObject object;
  CUgraph graph;
  Check(cuUserObjectCreate(
            &object, nullptr, [](void*) { ++destroyed; }, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        "cuUserObjectCreate");
  Check(cuGraphCreate(&graph, 0), "cuGraphCreate");
  Check(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE), "Retain");
  const CUgraphExec exec = Instantiate(graph);
  Check(cuGraphDestroy(graph), "cuGraphDestroy");
  Print("alive", static_cast<std::uint64_t>(destroyed));
  Check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
  Print("destroyed", static_cast<std::uint64_t>(destroyed));
}

// A host function that waits for its caller, and a copy behind it.
void HostFunctions() {
  Gpu gpu;
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool released = false;
    char text[4] = "no";
  };
  static Shared shared;
  char out[4] = "";
  CUdeviceptr device;
  Check(cuMemAlloc(&device, 4), "cuMemAlloc");
  Check(cuLaunchHostFunc(
            gpu.stream(0),
            [](void*) {
              std::unique_lock lock(shared.mutex);
              shared.changed.wait(lock, [] { return shared.released; });
              std::strcpy(shared.text, "yes");
            },
            nullptr),
        "cuLaunchHostFunc");
  Check(cuMemcpyHtoDAsync(device, shared.text, 4, gpu.stream(0)), "cuMemcpyHtoDAsync");
  Check(cuMemcpyDtoHAsync(out, device, 4, gpu.stream(0)), "cuMemcpyDtoHAsync");
  Print("pending", cuStreamQuery(gpu.stream(0)));
  {
    const std::lock_guard lock(shared.mutex);
    shared.released = true;
  }
  shared.changed.notify_all();
  Check(cuStreamSynchronize(gpu.stream(0)), "cuStreamSynchronize");
  Print("out", std::string(out));
  Print("done", cuStreamQuery(gpu.stream(0)));
}

}  // namespace

int RunGraphs(const std::string& scenario) {
  const std::map<std::string, std::function<void()>> scenarios = {
      {"fork_and_join", ForkAndJoin},
      {"wrong_captures", WrongCaptures},
      {"graph_work", Work},
      {"graph_update", Update},
      {"built_graph", Built},
      {"user_objects", UserObjects},
      {"host_functions", HostFunctions}};
  const auto found = scenarios.find(scenario);
  if (found == scenarios.end()) return -1;
  found->second();
  return 0;
}

}  // namespace probe
