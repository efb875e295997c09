// SPDX-License-Identifier: Apache-2.0
//
// Driver connects the simulated CUPTI to the simulated libcuda.so.1. Like the real CUPTI, the
// library does not link to the driver: it looks for one that the process has loaded and connects
// its hooks.
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

// Returns the connected driver; nullptr if the process has loaded none or a foreign one.
const Driver* ConnectedDriver();

// Returns whether kernels that end at `end_ns` have ended. Always true with the virtual clock.
bool HasEnded(std::uint64_t end_ns);

// Uses this much time of the calling thread. REQUIRES: ConnectedDriver().
void SpendOverhead(std::uint64_t duration_ns);

// Switches a FAKE_GPU_INTEREST_... flag on or off. REQUIRES: ConnectedDriver().
void SetInterest(std::uint32_t which, bool on);

}  // namespace fake_cupti
