// SPDX-License-Identifier: Apache-2.0
//
// The virtual GPU: decides when a kernel starts and ends. Any number of streams run concurrently;
// kernels of one stream run in order:
//
//   start = max(end of the stream's last kernel, host clock at the launch)
//   end   = start + duration
//
// All times are therefore known at the launch. With the real clock, synchronization sleeps until
// the end, and a launch waits while kLaunchQueue others are unfinished.
//
// Kernels between cuProfilerStart and cuProfilerStop are captured: each is serialized with its
// context and blocks the launching thread for `capture_factor` times its duration in wall time,
// like a tracer that replays or instruments it. Its record still shows the native duration.
//
// THREADS: any.
#pragma once

#include <cstdint>
#include <functional>

#include "cuda/clock.h"
#include "cuda/objects.h"

namespace fake_gpu {

// Launch is one kernel to run.
struct Launch {
  CUfunc_st* function = nullptr;
  CUstream_st* stream = nullptr;
  Extent grid, block;
  std::uint32_t shared_bytes = 0;
  std::uint64_t duration_ns = 0;
  std::uint32_t launch_type = 0;
  std::uint32_t correlation_id = 0;
  std::uint32_t graph_id = 0;
  std::uint64_t graph_node_id = 0;
  bool recorded = true;  // false: CUPTI does not record it
};

// Span is the execution time of a kernel, in host time.
struct Span {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  ClockStep step;
};

Span Run(const Launch& launch);

// Returns whether kernels run one at a time, because they are captured or CUPTI requests it.
bool RunsSerially();

// Counts and reports a kernel that has been scheduled by OccupyWith.
void Record(const Launch& launch, Span span);

// Occupies the stream with several parts, at the host cost of one launch. `end_of` maps the start
// of the first part to the end of the last. It runs under the lock of the stream.
void OccupyWith(CUstream_st& stream, const std::function<std::uint64_t(std::uint64_t)>& end_of);

// Occupies the stream with work other than a kernel, which costs the host the time of a launch.
// Returns when the work ends.
std::uint64_t Occupy(CUstream_st& stream, std::uint64_t duration_ns);

// Returns when all work of the stream, or of all streams of the context, has ended.
void Synchronize(CUstream_st& stream);
void Synchronize(CUctx_st& context);
// The same for the streams that the default stream waits for.
void SynchronizeBlockingStreams(CUctx_st& context);

// Returns the end of the stream's last kernel, or the current time if that is later.
std::uint64_t ReadyTime(CUstream_st& stream);

void SetCapturing(bool on);
std::uint64_t captured_launches();
std::uint64_t capture_cost_ns();

// Returns the number of launches that CUPTI was not told of, because no client recorded them.
std::uint64_t unrecorded_launches();

}  // namespace fake_gpu
