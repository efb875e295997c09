// SPDX-License-Identifier: Apache-2.0
#include "api.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace gpu_probe {
namespace {

// Spins until the GPU's nanosecond clock has advanced by the parameter.
constexpr const char* kSpin = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry spin(.param .u64 duration)
{
  .reg .pred %again;
  .reg .u64 %now, %end, %duration;
  ld.param.u64 %duration, [duration];
  mov.u64 %end, %globaltimer;
  add.u64 %end, %end, %duration;
LOOP:
  mov.u64 %now, %globaltimer;
  setp.lt.u64 %again, %now, %end;
  @%again bra LOOP;
  ret;
}
)";

constexpr std::size_t kBytes = 4096;  // copied by a graph

[[noreturn]] void Die(const std::string& line) {
  std::fprintf(stderr, "gpu_probe: %s\n", line.c_str());
  std::exit(1);
}

void* Open(const char* path) {
  void* library = ::dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) Die(std::string(path) + ": cannot be loaded: " + ::dlerror());
  return library;
}

}  // namespace

Api LoadApi(const std::string& cupti) {
  Api api;
  void* driver = Open("libcuda.so.1");
  void* tools = Open(cupti.c_str());
#define GPU_PROBE_TEXT(name) #name
#define GPU_PROBE_NAME(name) GPU_PROBE_TEXT(name)  // cuda.h renames functions to versioned names
#define GPU_PROBE_LOAD(library, name)                                                      \
  api.name = reinterpret_cast<decltype(api.name)>(::dlsym(library, GPU_PROBE_NAME(name))); \
  if (api.name == nullptr) Die(std::string(GPU_PROBE_NAME(name)) + ": missing in the library");
#define GPU_PROBE_DRIVER(name) GPU_PROBE_LOAD(driver, name)
#define GPU_PROBE_TOOLS(name) GPU_PROBE_LOAD(tools, name)
  GPU_PROBE_CUDA(GPU_PROBE_DRIVER)
  GPU_PROBE_CUPTI(GPU_PROBE_TOOLS)
  api.EnableHWTrace =
      reinterpret_cast<decltype(api.EnableHWTrace)>(::dlsym(tools, "cuptiActivityEnableHWTrace"));
  return api;
}

void Check(int result, const char* call) {
  if (result != 0) Die(std::string(call) + " failed: error " + std::to_string(result));
}

Gpu::Gpu(const Api& functions) : api(functions) {
  CUdevice device = 0;
  CUmodule module = nullptr;
  Check(api.cuDeviceGet(&device, 0), "cuDeviceGet");
  Check(api.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  Check(api.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  Check(api.cuModuleLoadData(&module, kSpin), "cuModuleLoadData");
  Check(api.cuModuleGetFunction(&spin, module, "spin"), "cuModuleGetFunction");
  Check(api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

void Gpu::Launch(std::uint64_t ns, CUstream into) const {
  void* parameters[] = {&ns};
  Check(api.cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, into, parameters, nullptr), "cuLaunchKernel");
}

CUgraphExec Gpu::Graph(int kernels, bool copies) const {
  CUdeviceptr on_device = 0;
  void* on_host = nullptr;
  if (copies) {
    Check(api.cuMemAlloc(&on_device, kBytes), "cuMemAlloc");
    Check(api.cuMemAllocHost(&on_host, kBytes), "cuMemAllocHost");
  }
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  Check(api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        "cuStreamBeginCapture");
  for (int i = 0; i < kernels; ++i) {
    Launch();
    if (copies && i == kernels / 2) {
      Check(api.cuMemsetD8Async(on_device, 0, kBytes, stream), "cuMemsetD8Async");
      Check(api.cuMemcpyDtoHAsync(on_host, on_device, kBytes, stream), "cuMemcpyDtoHAsync");
    }
  }
  Check(api.cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
  Check(api.cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiateWithFlags");
  Check(api.cuGraphDestroy(graph), "cuGraphDestroy");
  return exec;
}

}  // namespace gpu_probe
