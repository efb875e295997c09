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
// A buffer belongs to the fake from the request callback until the complete callback is entered;
// then it is the client's and the fake forgets it. Records are written at the launch and put into
// the order of their end before delivery, so several streams interleave out of launch order.
//
// INVARIANTS
//   1. FlushAll(0) never delivers a buffer with a kernel that has not ended.
//   2. A record is delivered once or counted as dropped once.
//   3. The request callback runs under the lock of its thread's buffer, and complete callbacks are
//      waited for: a client that holds a lock of its own across cuptiActivityFlushAll or
//      cuptiActivityGetNumDroppedRecords and takes it in a callback is ended (waiting.h). Launches
//      wait for no complete callback of another thread.
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
// The device memory that CUPTI may use for records not yet fetched: pools times their size.
std::uint64_t DevicePoolBytes();
// Back to the defaults, as cuptiFinalize leaves them (attribute_api.cpp).
void ResetAttributes();

// The kind that kernel records carry: CONCURRENT_KERNEL or KERNEL.
void SetKernelKind(CUpti_ActivityKind kind);

// Whether copies and memsets are recorded, both.
void SetCopies(bool on);

// Starts the thread that delivers full buffers. Repeated calls do nothing.
void StartWorker();

// Whether each delivered buffer ends with a record of what CUPTI itself cost for it: as many times
// FAKE_CUPTI_OVERHEAD_NS as it holds records.
void SetOverhead(bool on);
bool OverheadIsOn();

// FakeGpuHooks::kernel and ::graph: write one record into the buffer of the calling thread, and
// take FAKE_CUPTI_OVERHEAD_NS of its time.
void RecordKernel(const FakeGpuKernel* kernel);
void RecordGraph(const FakeGpuGraph* graph);
// Takes FAKE_CUPTI_INSTRUMENTATION_NS of the time of the thread that has loaded a module; with a
// record of that if overhead is recorded.
void RecordModuleLoad();

// Delivers what may be delivered. `forced`: everything, with end = 0 for kernels that have not
// ended.
void Flush(bool forced);

// Records dropped since the last call.
std::uint64_t TakeDropped();

}  // namespace fake_cupti
