// SPDX-License-Identifier: Apache-2.0
//
// cuGraphLaunch. A node starts when its dependencies have ended, so branches overlap. The host cost
// is one launch. The kernels share its correlation id.
#include <cupti.h>

#include <algorithm>
#include <utility>

#include "cuda/api_call.h"
#include "cuda/capture.h"
#include "cuda/contexts.h"
#include "cuda/copies.h"
#include "cuda/graphs.h"
#include "cuda/host_work.h"
#include "cuda/truth.h"

namespace fake_gpu {
namespace {

using Yields = CUgraphExec_st::Yields;

// Place is where a launch of an executable graph runs.
struct Place {
  const CUgraphExec_st& exec;
  CUstream_st& stream;
  std::uint32_t correlation_id;
};

// Step is a node of one launch. Its times are set when the launch has its place in the stream.
struct Step {
  const ExecNode* node;
  std::uint64_t duration_ns;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;

  bool is_kernel() const {
    return node->is_enabled && std::holds_alternative<KernelNode>(node->work);
  }
};

std::uint64_t DurationOf(const ExecNode& node) {
  if (!node.is_enabled) return 0;
  if (const auto* kernel = std::get_if<KernelNode>(&node.work)) {
    auto& model = kernel->function->model;
    return model ? model->Next(kernel->grid, kernel->block, kernel->shared_bytes)
                 : kernel->requested_ns;
  }
  if (const auto* copy = std::get_if<CUDA_MEMCPY3D>(&node.work)) return DurationNs(*copy);
  if (const auto* fill = std::get_if<CUDA_MEMSET_NODE_PARAMS>(&node.work)) return DurationNs(*fill);
  return 0;
}

// REQUIRES: step.is_kernel().
Launch LaunchOf(const Step& step, const Place& place) {
  const KernelNode& kernel = *std::get_if<KernelNode>(&step.node->work);
  Launch launch;
  launch.function = kernel.function;
  launch.stream = &place.stream;
  launch.grid = kernel.grid;
  launch.block = kernel.block;
  launch.shared_bytes = kernel.shared_bytes;
  launch.duration_ns = step.duration_ns;
  launch.launch_type = kernel.launch_type;
  launch.correlation_id = place.correlation_id;
  launch.graph_id = place.exec.id;
  launch.graph_node_id = step.node->id;
  launch.recorded = place.exec.yields == Yields::kKernels;
  return launch;
}

std::vector<Step> StepsOf(const CUgraphExec_st& exec) {
  std::vector<Step> steps;
  steps.reserve(exec.nodes.size());
  for (const ExecNode& node : exec.nodes) steps.push_back({&node, DurationOf(node)});
  return steps;
}

// Sets the times of all steps of a launch that begins at `begin_ns`, and returns the end.
std::uint64_t Schedule(std::vector<Step>& steps, std::uint64_t begin_ns) {
  std::uint64_t end_ns = begin_ns;
  for (Step& step : steps) {
    step.start_ns = begin_ns;
    for (const std::size_t index : step.node->dependencies) {
      step.start_ns = std::max(step.start_ns, steps[index].end_ns);
    }
    if (const auto* wait = std::get_if<EventWaitNode>(&step.node->work)) {
      step.start_ns = std::max(step.start_ns, wait->event->time_ns.load(std::memory_order_relaxed));
    }
    step.end_ns = step.start_ns + step.duration_ns;
    if (const auto* record = std::get_if<EventRecordNode>(&step.node->work)) {
      record->event->time_ns.store(step.end_ns, std::memory_order_relaxed);
    }
    end_ns = std::max(end_ns, step.end_ns);
  }
  return end_ns;
}

// Does the work of a node that is no kernel.
void DoWork(const Step& step, CUstream_st& stream) {
  if (!step.node->is_enabled) return;
  const NodeWork& work = step.node->work;
  if (const auto* copy = std::get_if<CUDA_MEMCPY3D>(&work)) {
    RunInOrder(stream, [copy = *copy] { Perform(copy); });
  } else if (const auto* fill = std::get_if<CUDA_MEMSET_NODE_PARAMS>(&work)) {
    RunInOrder(stream, [fill = *fill] { Perform(fill); });
  } else if (const auto* host = std::get_if<CUDA_HOST_NODE_PARAMS>(&work)) {
    PostHostWork(stream, step.start_ns, [host = *host] { host.fn(host.userData); });
  } else if (const auto* record = std::get_if<EventRecordNode>(&work)) {
    record->event->host_ticket.store(stream.host_ticket.load(std::memory_order_relaxed),
                                     std::memory_order_relaxed);
  }
}

// Runs one step after another, each as a separate launch: while kernels are captured or run one at
// a time.
void RunSerially(std::vector<Step>& steps, const Place& place) {
  for (Step& step : steps) {
    if (step.is_kernel()) {
      const Span span = Run(LaunchOf(step, place));
      step.start_ns = span.start_ns;
      step.end_ns = span.end_ns;
      continue;
    }
    if (step.duration_ns != 0) {
      step.end_ns = Occupy(place.stream, step.duration_ns);
      step.start_ns = step.end_ns - step.duration_ns;
    }
    DoWork(step, place.stream);
  }
}

ClockStep RunTogether(std::vector<Step>& steps, const Place& place) {
  OccupyWith(place.stream, [&steps](std::uint64_t begin_ns) { return Schedule(steps, begin_ns); });
  ClockStep clock;
  bool is_first = true;
  for (const Step& step : steps) {
    if (step.is_kernel()) {
      const ClockStep one = StepOfNextLaunch();
      if (std::exchange(is_first, false)) clock = one;
      clock.at_end_ns = one.at_end_ns;
      Record(LaunchOf(step, place), {step.start_ns, step.end_ns, one});
    } else {
      DoWork(step, place.stream);
    }
  }
  return clock;
}

// Reports the launch as a whole: from the start of its first to the end of its last timed node.
void Report(const Place& place, const std::vector<Step>& steps, ClockStep clock) {
  const FakeGpuHooks* hooks = HooksFor(FAKE_GPU_INTEREST_GRAPHS);
  if (hooks == nullptr || place.exec.yields != Yields::kGraph) return;
  FakeGpuGraph graph = {};
  for (const Step& step : steps) {
    if (!step.is_kernel() && step.duration_ns == 0) continue;
    graph.start_ns = graph.start_ns == 0 ? step.start_ns : std::min(graph.start_ns, step.start_ns);
    graph.end_ns = std::max(graph.end_ns, step.end_ns);
  }
  if (graph.start_ns == 0) return;
  graph.device = static_cast<std::uint32_t>(place.stream.context->device);
  graph.context_uid = place.stream.context->uid;
  graph.stream_id = place.stream.id;
  graph.correlation_id = place.correlation_id;
  graph.graph_id = place.exec.id;
  graph.step = {clock.at_start_ns, clock.at_end_ns};
  hooks->graph(&graph);
}

template <typename Params>
CUresult LaunchGraph(std::uint32_t cbid, const char* api_name, const Params& params,
                     CUgraphExec handle, CUstream stream_handle) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(stream_handle);
  FAKE_GPU_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  ApiCall call(cbid, api_name, &params, nullptr, stream->context);
  if (handle == nullptr) return call.Return(CUDA_ERROR_INVALID_VALUE);
  const CUgraphExec_st& exec = *handle;
  if (IsCapturing(*stream)) {
    return call.Return(AddCaptured(*stream, ChildGraphNode{Unflatten(exec)}));
  }
  const Place place = {exec, *stream, call.correlation_id()};
  std::vector<Step> steps = StepsOf(exec);
  CountGraphForTruth(static_cast<std::uint64_t>(
      std::count_if(steps.begin(), steps.end(), [](const Step& s) { return s.is_kernel(); })));
  ClockStep clock;
  if (RunsSerially()) {
    RunSerially(steps, place);
  } else {
    clock = RunTogether(steps, place);
  }
  Report(place, steps, clock);
  return call.Return(CUDA_SUCCESS);
}

}  // namespace
}  // namespace fake_gpu

using namespace fake_gpu;

FAKE_GPU_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return LaunchGraph(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, "cuGraphLaunch",
                     cuGraphLaunch_params{exec, stream}, exec, stream);
}

FAKE_GPU_EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
  return LaunchGraph(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, "cuGraphLaunch_ptsz",
                     cuGraphLaunch_ptsz_params{exec, stream}, exec, stream);
}
