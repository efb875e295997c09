// SPDX-License-Identifier: Apache-2.0
//
// The virtual GPU: decides when a kernel starts and ends. Streams run side by side without bound,
// kernels of one stream one after another:
//
//   start = max(end of the stream's last kernel, host clock at the launch)     end = start +
//   duration
//
// Times are therefore known at the launch. Under the virtual clock that is all; under the real one
// synchronization sleeps until the end, and a launch waits while kLaunchQueue others are
// unfinished.
//
// Between cuProfilerStart and cuProfilerStop kernels are captured: each is serialized with its
// context and blocks the launching thread for `capture_factor` times its duration of wall time, the
// way a tracer replays or instruments it. Its record shows the native duration all the same.
//
// THREADS: any.
#pragma once

#include <cstdint>

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
  bool recorded = true;  // false: CUPTI shall not hear of it
};

// When a kernel runs, in host time.
struct Span {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  ClockStep step;
};

Span Run(const Launch& launch);

// Returns when every kernel of the stream, or of all streams of the context, has ended.
void Synchronize(CUstream_st& stream);
void Synchronize(CUctx_st& context);

// The end of the last kernel, not before now.
std::uint64_t ReadyTime(CUstream_st& stream);

void SetCapturing(bool on);
std::uint64_t captured_launches();
std::uint64_t capture_cost_ns();

}  // namespace fake_gpu
