// SPDX-License-Identifier: Apache-2.0
//
// Driver is the fake CUPTI's way to the fake libcuda.so.1. Like the real CUPTI the library does not
// link to the driver: it looks for one that the process has loaded, and connects its hooks.
//
// THREADS: any.
#pragma once

#include <cstdint>

#include "fake_gpu.h"

namespace fake_cupti {

struct Driver {
  decltype(&fakeGpuConnect) connect;
  decltype(&fakeGpuSetInterest) set_interest;
  decltype(&fakeGpuNow) now;
  decltype(&fakeGpuClockIsVirtual) clock_is_virtual;
  decltype(&fakeGpuSpend) spend;
  decltype(&fakeGpuClockStepNow) clock_step;
  decltype(&fakeGpuContextUid) context_uid;
  decltype(&fakeGpuStreamId) stream_id;
  decltype(&fakeGpuContextDevice) context_device;
  decltype(&fakeGpuGraphExecId) graph_exec_id;
};

// The driver, connected; nullptr while the process has loaded none or a foreign one.
const Driver* ConnectedDriver();

// Whether kernels that end at `end_ns` have ended. Always so under the virtual clock.
bool HasEnded(std::uint64_t end_ns);

// Takes so much time of the calling thread. REQUIRES: ConnectedDriver().
void SpendOverhead(std::uint64_t duration_ns);

// Switches one of FAKE_GPU_INTEREST_... on or off. REQUIRES: ConnectedDriver().
void SetInterest(std::uint32_t which, bool on);

}  // namespace fake_cupti
