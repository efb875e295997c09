// SPDX-License-Identifier: Apache-2.0
//
// State of the simulated driver in this process: initialization, fork, and the connection to the
// simulated CUPTI.
//
// THREADS: any.
#pragma once

#include <atomic>
#include <cstdint>

#include "fake_gpu.h"

// Marks the exports of libcuda.so.1; everything else is hidden.
#define FAKE_GPU_EXPORT extern "C" __attribute__((visibility("default")))

// Begins every driver call that requires cuInit.
#define FAKE_GPU_REQUIRE_READY()                                                                  \
  do {                                                                                            \
    if (const CUresult fake_gpu_state = ::fake_gpu::CheckReady(); fake_gpu_state != CUDA_SUCCESS) \
      return fake_gpu_state;                                                                      \
  } while (false)

#define FAKE_GPU_REQUIRE(condition, error) \
  do {                                     \
    if (!(condition)) return (error);      \
  } while (false)

// Exports `name` as an alias of `target`, which is defined in the same file. Both are strings,
// because cuda.h defines macros for many old names.
#define FAKE_GPU_ALIAS(name, target) \
  __asm__(".globl " name "\n.type " name ", @function\n.set " name ", " target "\n")

namespace fake_gpu {

enum class Phase : int { kBefore, kReady, kForked };
extern std::atomic<Phase> g_phase;

extern std::atomic<const FakeGpuHooks*> g_hooks;
extern std::atomic<std::uint32_t> g_interest;
extern std::atomic<std::uint32_t> g_next_correlation;

inline CUresult CheckReady() {
  // Relaxed: the program's own synchronization publishes what cuInit set up to other threads, as
  // the real driver requires.
  return g_phase.load(std::memory_order_relaxed) == Phase::kReady ? CUDA_SUCCESS
                                                                  : CUDA_ERROR_NOT_INITIALIZED;
}

// Returns the hooks if the simulated CUPTI requested any of `interest`; otherwise nullptr.
inline const FakeGpuHooks* HooksFor(std::uint32_t interest) {
  // Relaxed: a launch that races with the switch may see either value. The hooks are a constant
  // table, connected before any interest is set.
  if ((g_interest.load(std::memory_order_relaxed) & interest) == 0) return nullptr;
  return g_hooks.load(std::memory_order_acquire);  // pairs with the release in fakeGpuConnect
}

inline std::uint32_t NextCorrelation() {
  return g_next_correlation.fetch_add(1, std::memory_order_relaxed);
}

void TellResource(std::uint32_t cbid, CUcontext context, CUstream stream, std::uint32_t module_id);

}  // namespace fake_gpu
