// SPDX-License-Identifier: Apache-2.0
#include "cuda/state.h"

#include "cuda/clock.h"

namespace fake_gpu {

std::atomic<Phase> g_phase{Phase::kBefore};
std::atomic<const FakeGpuHooks*> g_hooks{nullptr};
std::atomic<std::uint32_t> g_interest{0};
std::atomic<std::uint32_t> g_next_correlation{1};

void TellResource(std::uint32_t cbid, CUcontext context, CUstream stream, std::uint32_t module_id) {
  // A client that records kernels instruments their modules.
  constexpr std::uint32_t kInterest =
      FAKE_GPU_INTEREST_RESOURCES | FAKE_GPU_INTEREST_KERNELS | FAKE_GPU_INTEREST_GRAPHS;
  if (const FakeGpuHooks* hooks = HooksFor(kInterest)) {
    const FakeGpuResource resource = {cbid, context, stream, module_id};
    hooks->resource(&resource);
  }
}

}  // namespace fake_gpu

using namespace fake_gpu;

FAKE_GPU_EXPORT void fakeGpuConnect(const FakeGpuHooks* hooks) {
  g_hooks.store(hooks, std::memory_order_release);  // pairs with the acquire in HooksFor
}

FAKE_GPU_EXPORT void fakeGpuSetInterest(uint32_t interest) {
  g_interest.store(interest, std::memory_order_relaxed);
}

FAKE_GPU_EXPORT uint64_t fakeGpuNow(void) {
  return Now();
}

FAKE_GPU_EXPORT int fakeGpuClockIsVirtual(void) {
  return ClockIsReal() ? 0 : 1;
}

FAKE_GPU_EXPORT void fakeGpuSpend(uint64_t duration_ns) {
  Spend(duration_ns);
}

FAKE_GPU_EXPORT int64_t fakeGpuClockStepNow(void) {
  return StepNow();
}
