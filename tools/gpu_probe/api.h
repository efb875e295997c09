// SPDX-License-Identifier: Apache-2.0
//
// The CUDA driver and CUPTI functions that the probe calls, resolved at run time: the probe builds
// without either library and runs where both are installed.
//
// ERRORS: failures end the process with exit code 1 and one line on stderr, except results that an
// experiment asks for, which are returned.
#pragma once

#include <cuda.h>
#include <cudaProfiler.h>
#include <cupti.h>

#include <cstdint>
#include <string>

namespace gpu_probe {

#define GPU_PROBE_CUDA(F)                                                                         \
  F(cuInit)                                                                                       \
  F(cuDriverGetVersion)                                                                           \
  F(cuDeviceGet)                                                                                  \
  F(cuDeviceGetName)                                                                              \
  F(cuDeviceGetAttribute)                                                                         \
  F(cuDevicePrimaryCtxRetain) F(cuCtxSetCurrent) F(cuCtxSynchronize) F(cuModuleLoadData)          \
      F(cuModuleGetFunction) F(cuStreamCreate) F(cuStreamBeginCapture) F(cuStreamEndCapture)      \
          F(cuGraphInstantiateWithFlags) F(cuGraphLaunch) F(cuGraphExecDestroy) F(cuGraphDestroy) \
              F(cuLaunchKernel) F(cuMemAlloc) F(cuMemcpyDtoHAsync) F(cuMemAllocHost)              \
                  F(cuMemsetD8Async) F(cuMemGetInfo) F(cuProfilerStart) F(cuProfilerStop)

#define GPU_PROBE_CUPTI(F)                                                           \
  F(cuptiGetVersion)                                                                 \
  F(cuptiSubscribe)                                                                  \
  F(cuptiUnsubscribe)                                                                \
  F(cuptiEnableCallback) F(cuptiActivityRegisterCallbacks) F(cuptiActivityEnable)    \
      F(cuptiActivityDisable) F(cuptiActivityFlushAll) F(cuptiActivityGetNextRecord) \
          F(cuptiActivitySetAttribute)

struct Api {
#define GPU_PROBE_MEMBER(name) decltype(&::name) name = nullptr;
  GPU_PROBE_CUDA(GPU_PROBE_MEMBER)
  GPU_PROBE_CUPTI(GPU_PROBE_MEMBER)
#undef GPU_PROBE_MEMBER
  decltype(&::cuptiActivityEnableHWTrace) EnableHWTrace = nullptr;  // since CUDA 12.8
};

// Loads libcuda.so.1, and the libcupti at `cupti` or, if empty, the loader's libcupti.
Api LoadApi(const std::string& cupti);

// Ends the process if `result` is an error.
void Check(int result, const char* call);

// A context on device 0, a stream, and the kernel `spin`, which runs for a given time.
struct Gpu {
  const Api& api;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUfunction spin = nullptr;

  explicit Gpu(const Api& functions);
  // Launches one block of one thread that spins for `ns`.
  void Launch(std::uint64_t ns, CUstream into) const;
  void Launch(std::uint64_t ns = 0) const { Launch(ns, stream); }
  void Wait() const { Check(api.cuCtxSynchronize(), "cuCtxSynchronize"); }
  // Returns a graph of `kernels` empty kernels; with `copies`, a copy and a memset are between
  // them.
  CUgraphExec Graph(int kernels, bool copies) const;
};

}  // namespace gpu_probe
