// SPDX-License-Identifier: Apache-2.0
//
// The functions of CUDA's driver and of CUPTI that the probe calls, found at run time: it is built
// where neither is installed, and runs where both are.
//
// ERRORS: what cannot be done ends the process with exit code 1 and one line on stderr; what an
// experiment asks about is returned.
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
  decltype(&::cuptiActivityEnableHWTrace) EnableHWTrace = nullptr;  // CUDA 12.8 on
};

// Loads libcuda.so.1, and the libcupti at `cupti` or the loader's.
Api LoadApi(const std::string& cupti);

// Ends the process if `result` is an error.
void Check(int result, const char* call);

// A context on device 0, a stream, and the kernel `spin`, which takes as long as it is told.
struct Gpu {
  const Api& api;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUfunction spin = nullptr;

  explicit Gpu(const Api& functions);
  // One block of one thread that is busy for `ns`.
  void Launch(std::uint64_t ns, CUstream into) const;
  void Launch(std::uint64_t ns = 0) const { Launch(ns, stream); }
  void Wait() const { Check(api.cuCtxSynchronize(), "cuCtxSynchronize"); }
  // A graph of `kernels` empty kernels, with `copies` a copy and a memset between them too.
  CUgraphExec Graph(int kernels, bool copies) const;
};

}  // namespace gpu_probe
