// SPDX-License-Identifier: Apache-2.0
//
// Activity buffers, from request to completion.
//
//   launching thread                     worker thread                 thread that calls FlushAll
//   ┌────────────────────────┐  full    ┌───────────────────────┐     ┌──────────────────────────┐
//   │ request callback       ├─────────►│ waits until the last  │     │ full and part-filled     │
//   │ zero-fill, write record│          │ kernel in it has ended│     │ buffers whose kernels    │
//   └────────────────────────┘          │ complete callback     │     │ have all ended           │
//                                       └───────────────────────┘     └──────────────────────────┘
//
// The simulated CUPTI owns a buffer from the request callback until the complete callback is
// entered; then the client owns it again. Records are written at the launch and sorted by end time
// before delivery, so records of several streams are not in launch order.
//
// INVARIANTS
//   1. FlushAll(0) never delivers a buffer with a kernel that has not ended.
//   2. A record is delivered once or counted as dropped once.
//   3. The request callback runs under the lock of its thread's buffer, and other calls wait for
//      complete callbacks. A client that holds its own lock across cuptiActivityFlushAll or
//      cuptiActivityGetNumDroppedRecords and takes it in a callback is ended (waiting.h). Launches
//      do not wait for complete callbacks of other threads.
//
// THREADS: any.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "fake_gpu.h"

namespace fake_cupti {

void SetBufferCallbacks(CUpti_BuffersCallbackRequestFunc request,
                        CUpti_BuffersCallbackCompleteFunc complete);
bool HasBufferCallbacks();

// Attributes that change how buffers are handled.
void SetZeroedOut(bool client_zeroes);
void SetPerThread(bool per_thread);
// Returns the device memory that CUPTI may use for pending records: number of pools times pool
// size.
std::uint64_t DevicePoolBytes();
// Restores the defaults, as cuptiFinalize does (attribute_api.cpp).
void ResetAttributes();

// Sets the kind of kernel records: CONCURRENT_KERNEL or KERNEL.
void SetKernelKind(CUpti_ActivityKind kind);

// Sets whether copies and memsets are both recorded.
void SetCopies(bool on);

// Starts the thread that delivers full buffers. Repeated calls have no effect.
void StartWorker();

// Sets whether each delivered buffer ends with a record of CUPTI's overhead, which is
// FAKE_CUPTI_OVERHEAD_NS per record in the buffer.
void SetOverhead(bool on);
bool OverheadIsOn();

// FakeGpuHooks::kernel and ::graph: write one record into the buffer of the calling thread and use
// FAKE_CUPTI_OVERHEAD_NS of its time.
void RecordKernel(const FakeGpuKernel* kernel);
void RecordGraph(const FakeGpuGraph* graph);
// Uses FAKE_CUPTI_INSTRUMENTATION_NS of the time of the thread that loaded a module. Records it if
// overhead is recorded.
void RecordModuleLoad();

// Delivers the buffers that may be delivered. `forced`: delivers all buffers, with end = 0 for
// kernels that have not ended.
void Flush(bool forced);

// Returns the number of records dropped since the last call.
std::uint64_t TakeDropped();

}  // namespace fake_cupti
