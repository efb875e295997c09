// SPDX-License-Identifier: Apache-2.0
#include "cuda/engine.h"

#include <algorithm>

#include "cuda/clock.h"
#include "cuda/host_work.h"
#include "cuda/settings.h"
#include "cuda/state.h"

namespace fake_gpu {
namespace {

// Relaxed throughout: counters and a switch that publish no other data.
std::atomic<bool> g_capturing{false};
std::atomic<std::uint64_t> g_captured{0};
std::atomic<std::uint64_t> g_capture_ns{0};
std::atomic<std::uint64_t> g_unrecorded{0};

void Count(const Launch& launch) {
  launch.function->launches.fetch_add(1, std::memory_order_relaxed);
  launch.function->duration_ns.fetch_add(launch.duration_ns, std::memory_order_relaxed);
}

void Report(const Launch& launch, Span span) {
  const FakeGpuHooks* hooks = launch.recorded ? HooksFor(FAKE_GPU_INTEREST_KERNELS) : nullptr;
  if (hooks == nullptr) {
    g_unrecorded.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  FakeGpuKernel kernel;
  kernel.start_ns = span.start_ns;
  kernel.end_ns = span.end_ns;
  kernel.name = launch.function->name;
  kernel.device = static_cast<std::uint32_t>(launch.stream->context->device);
  kernel.context_uid = launch.stream->context->uid;
  kernel.stream_id = launch.stream->id;
  kernel.correlation_id = launch.correlation_id;
  kernel.grid[0] = launch.grid.x;
  kernel.grid[1] = launch.grid.y;
  kernel.grid[2] = launch.grid.z;
  kernel.block[0] = launch.block.x;
  kernel.block[1] = launch.block.y;
  kernel.block[2] = launch.block.z;
  kernel.dynamic_shared_bytes = launch.shared_bytes;
  kernel.registers_per_thread = launch.function->registers;
  kernel.launch_type = launch.launch_type;
  kernel.graph_id = launch.graph_id;
  kernel.graph_node_id = launch.graph_node_id;
  kernel.step = {span.step.at_start_ns, span.step.at_end_ns};
  hooks->kernel(&kernel);
}

// Waits while the launch queue of the stream is full. Real clock only; releases `lock` meanwhile.
void WaitForQueue(CUstream_st& stream, std::unique_lock<std::mutex>& lock) {
  if (stream.queue_ends.empty()) stream.queue_ends.assign(kLaunchQueue, 0);
  for (;;) {
    const std::uint64_t oldest = stream.queue_ends[stream.launched % kLaunchQueue];
    if (oldest <= Now()) return;
    lock.unlock();
    WaitUntil(oldest);
    lock.lock();
  }
}

Span Enqueue(const Launch& launch) {
  CUstream_st& stream = *launch.stream;
  std::unique_lock lock(stream.mutex);
  if (ClockIsReal()) WaitForQueue(stream, lock);
  Span span;
  span.start_ns = std::max(stream.ready_ns, NowAtLaunch());
  span.end_ns = span.start_ns + launch.duration_ns;
  stream.ready_ns = span.end_ns;
  if (ClockIsReal()) stream.queue_ends[stream.launched % kLaunchQueue] = span.end_ns;
  ++stream.launched;
  span.step = StepOfNextLaunch();
  return span;
}

// Runs one captured kernel exclusively of other captured kernels and returns its record.
Span CaptureAlone(const Launch& launch, const Launch& shown, std::uint64_t slow_ns) {
  static std::mutex one_at_a_time;
  const std::lock_guard alone(one_at_a_time);
  Synchronize(*launch.stream->context);
  const Span span = Enqueue(shown);
  const std::uint64_t cost_ns = SleepReally(slow_ns);
  WaitUntil(std::max(span.end_ns, span.start_ns + slow_ns));
  g_captured.fetch_add(1, std::memory_order_relaxed);
  g_capture_ns.fetch_add(cost_ns, std::memory_order_relaxed);
  return span;
}

Span RunCaptured(const Launch& launch) {
  const auto slow_ns = static_cast<std::uint64_t>(static_cast<double>(launch.duration_ns) *
                                                  settings().capture_factor);
  Launch shown = launch;
  if (settings().capture_slows_records) shown.duration_ns = slow_ns;
  const Span span = CaptureAlone(launch, shown, slow_ns);
  Count(launch);
  Report(shown, span);
  return span;
}

}  // namespace

Span Run(const Launch& launch) {
  if (g_capturing.load(std::memory_order_relaxed)) return RunCaptured(launch);
  const bool serial = (g_interest.load(std::memory_order_relaxed) & FAKE_GPU_SERIALISE) != 0;
  if (serial) Synchronize(*launch.stream->context);
  const Span span = Enqueue(launch);
  Count(launch);
  Report(launch, span);
  if (serial) WaitUntil(span.end_ns);
  return span;
}

bool RunsSerially() {
  return g_capturing.load(std::memory_order_relaxed) ||
         (g_interest.load(std::memory_order_relaxed) & FAKE_GPU_SERIALISE) != 0;
}

void Record(const Launch& launch, Span span) {
  Count(launch);
  Report(launch, span);
}

void OccupyWith(CUstream_st& stream, const std::function<std::uint64_t(std::uint64_t)>& end_of) {
  std::unique_lock lock(stream.mutex);
  if (ClockIsReal()) WaitForQueue(stream, lock);
  stream.ready_ns = end_of(std::max(stream.ready_ns, NowAtLaunch()));
  if (ClockIsReal()) stream.queue_ends[stream.launched % kLaunchQueue] = stream.ready_ns;
  ++stream.launched;
}

std::uint64_t Occupy(CUstream_st& stream, std::uint64_t duration_ns) {
  OccupyWith(stream, [duration_ns](std::uint64_t begin_ns) { return begin_ns + duration_ns; });
  return ReadyTime(stream);
}

std::uint64_t ReadyTime(CUstream_st& stream) {
  const std::lock_guard lock(stream.mutex);
  return std::max(stream.ready_ns, Now());
}

void Synchronize(CUstream_st& stream) {
  WaitUntil(ReadyTime(stream));
  WaitForHostWork(stream.host_ticket.load(std::memory_order_relaxed));
}

namespace {

template <typename Predicate>
void SynchronizeIf(CUctx_st& context, Predicate&& concerns) {
  std::uint64_t ready = ReadyTime(context.default_stream);
  std::uint64_t ticket = context.default_stream.host_ticket.load(std::memory_order_relaxed);
  {
    const std::lock_guard lock(context.mutex);
    for (const auto& stream : context.streams) {
      if (!concerns(*stream)) continue;
      ready = std::max(ready, ReadyTime(*stream));
      ticket = std::max(ticket, stream->host_ticket.load(std::memory_order_relaxed));
    }
  }
  WaitUntil(ready);
  WaitForHostWork(ticket);
}

}  // namespace

void Synchronize(CUctx_st& context) {
  SynchronizeIf(context, [](const CUstream_st&) { return true; });
}

void SynchronizeBlockingStreams(CUctx_st& context) {
  SynchronizeIf(context, [](const CUstream_st& stream) {
    return (stream.flags & CU_STREAM_NON_BLOCKING) == 0;
  });
}

void SetCapturing(bool on) {
  g_capturing.store(on, std::memory_order_relaxed);
}

std::uint64_t captured_launches() {
  return g_captured.load(std::memory_order_relaxed);
}

std::uint64_t capture_cost_ns() {
  return g_capture_ns.load(std::memory_order_relaxed);
}

std::uint64_t unrecorded_launches() {
  return g_unrecorded.load(std::memory_order_relaxed);
}

}  // namespace fake_gpu
