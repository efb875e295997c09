// SPDX-License-Identifier: Apache-2.0
//
// Scenarios of contexts, devices, textures, arrays and errors.
#include <atomic>
#include <cstring>
#include <functional>
#include <map>

#include "probe.h"

namespace probe {
namespace {

void Limits() {
  const Gpu gpu;
  std::size_t value = 0;
  Check(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE), "cuCtxGetLimit");
  Print("stack", value);
  Check(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096), "cuCtxSetLimit");
  Check(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE), "cuCtxGetLimit");
  Print("set_stack", value);
  Print("unknown", cuCtxSetLimit(CU_LIMIT_MAX, 1));
}

void Peers() {
  Gpu gpu;
  CUcontext other;
  CUdevice device = -1;
  int can = 0;
  Check(cuDevicePrimaryCtxRetain(&other, 1), "cuDevicePrimaryCtxRetain");
  Check(cuDeviceCanAccessPeer(&can, 0, 1), "cuDeviceCanAccessPeer");
  Print("can", static_cast<std::uint64_t>(can));
  Print("not_enabled", cuCtxDisablePeerAccess(other));
  Check(cuCtxEnablePeerAccess(other, 0), "cuCtxEnablePeerAccess");
  Print("enabled_again", cuCtxEnablePeerAccess(other, 0));
  char id[32];
  Check(cuDeviceGetPCIBusId(id, sizeof id, 1), "cuDeviceGetPCIBusId");
  Check(cuDeviceGetByPCIBusId(&device, id), "cuDeviceGetByPCIBusId");
  Print("device", static_cast<std::uint64_t>(device));
}

// Prints the number of errors from 0 to 999 with a name and a text.
void Errors() {
  std::uint64_t count = 0;
  for (int code = 0; code < 1000; ++code) {
    const char* name = nullptr;
    const char* text = nullptr;
    const CUresult named = cuGetErrorName(static_cast<CUresult>(code), &name);
    const CUresult explained = cuGetErrorString(static_cast<CUresult>(code), &text);
    count += named == CUDA_SUCCESS && explained == CUDA_SUCCESS && *name != 0 && *text != 0;
  }
  Print("errors", count);
  const char* name = nullptr;
  Check(cuGetErrorName(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, &name), "cuGetErrorName");
  Print("name", std::string(name));
}

void Textures() {
  const Gpu gpu;
  CUDA_RESOURCE_DESC in = {};
  CUDA_RESOURCE_DESC out = {};
  in.resType = CU_RESOURCE_TYPE_PITCH2D;
  in.res.pitch2D.width = 640;
  CUtexObject texture = 0;
  Check(cuTexObjectCreate(&texture, &in, nullptr, nullptr), "cuTexObjectCreate");
  Print("is_set", texture != 0);
  Check(cuTexObjectGetResourceDesc(&out, texture), "cuTexObjectGetResourceDesc");
  Print("width", out.res.pitch2D.width);
  Check(cuTexObjectDestroy(texture), "cuTexObjectDestroy");
  Print("destroyed_again", cuTexObjectDestroy(texture));
}

void Arrays() {
  const Gpu gpu;
  CUDA_ARRAY_DESCRIPTOR descriptor = {4, 3, CU_AD_FORMAT_FLOAT, 1};
  CUarray array;
  Check(cuArrayCreate(&array, &descriptor), "cuArrayCreate");
  float in[12];
  float out[12] = {};
  for (int i = 0; i < 12; ++i) in[i] = static_cast<float>(i);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = in;
  copy.srcPitch = 16;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = 16;
  copy.Height = 3;
  Check(cuMemcpy2D(&copy), "cuMemcpy2D");
  Check(cuMemcpyAtoH(out, array, 16, 16), "cuMemcpyAtoH");
  Print("second_row", out[0] == 4 && out[3] == 7);
  Check(cuArrayDestroy(array), "cuArrayDestroy");
}

// A stream waits for a value that another stream writes, before it copies.
void Values() {
  Gpu gpu(2);
  CUdeviceptr flag;
  char text[4] = "old";
  char out[4] = "";
  CUdeviceptr device;
  Check(cuMemAlloc(&flag, 8), "cuMemAlloc");
  Check(cuMemAlloc(&device, 4), "cuMemAlloc");
  Check(cuStreamWaitValue32(gpu.stream(0), flag, 2, CU_STREAM_WAIT_VALUE_GEQ), "Wait");
  Check(cuMemcpyHtoDAsync(device, text, 4, gpu.stream(0)), "cuMemcpyHtoDAsync");
  Print("waits", cuStreamQuery(gpu.stream(0)));
  std::strcpy(text, "new");
  Check(cuStreamWriteValue32(gpu.stream(1), flag, 2, 0), "Write");
  Check(cuStreamSynchronize(gpu.stream(0)), "cuStreamSynchronize");
  Check(cuMemcpyDtoH(out, device, 4), "cuMemcpyDtoH");
  Print("out", std::string(out));
}

void Unsupported() {
  const Gpu gpu;
  CUipcMemHandle handle;
  CUdeviceptr device;
  Check(cuMemAlloc(&device, 8), "cuMemAlloc");
  Print("ipc", cuIpcGetMemHandle(&handle, device));
  void* function = nullptr;
  Check(cuGetProcAddress("cuMulticastCreate", &function, 13000, 0, nullptr), "cuGetProcAddress");
  Print("exists", function != nullptr);
}

}  // namespace

int RunContexts(const std::string& scenario) {
  const std::map<std::string, std::function<void()>> scenarios = {
      {"limits", Limits}, {"peers", Peers},   {"errors", Errors},          {"textures", Textures},
      {"arrays", Arrays}, {"values", Values}, {"unsupported", Unsupported}};
  const auto found = scenarios.find(scenario);
  if (found == scenarios.end()) return -1;
  found->second();
  return 0;
}

}  // namespace probe
