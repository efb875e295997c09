// SPDX-License-Identifier: Apache-2.0
//
// cuGetProcAddress: maps names without version suffix to the newest variant of the requested CUDA
// version.
#include <dlfcn.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "cuda/settings.h"
#include "cuda/state.h"

namespace {

// Introduced is the CUDA version that introduced a function, as 1000 * major + 10 * minor.
// Functions that are not in the table exist since kOldestVersion. driver_test compares all results
// with the real driver.
struct Introduced {
  std::string_view symbol;
  int version;
};
constexpr int kOldestVersion = 2000;
constexpr Introduced kIntroduced[] = {
    {"cuCtxCreate_v2", 3020},
    {"cuCtxCreate_v3", 11040},
    {"cuCtxCreate_v4", 12050},
    {"cuCtxDestroy_v2", 4000},
    {"cuCtxGetApiVersion", 3020},
    {"cuCtxGetCurrent", 4000},
    {"cuCtxGetFlags", 7000},
    {"cuCtxGetStreamPriorityRange", 5050},
    {"cuCtxPopCurrent_v2", 4000},
    {"cuCtxPushCurrent_v2", 4000},
    {"cuCtxSetCurrent", 4000},
    {"cuDeviceGetPCIBusId", 4010},
    {"cuDeviceGetUuid", 9020},
    {"cuDeviceGetUuid_v2", 11040},
    {"cuDevicePrimaryCtxGetState", 7000},
    {"cuDevicePrimaryCtxRelease", 7000},
    {"cuDevicePrimaryCtxRelease_v2", 11000},
    {"cuDevicePrimaryCtxReset", 7000},
    {"cuDevicePrimaryCtxReset_v2", 11000},
    {"cuDevicePrimaryCtxRetain", 7000},
    {"cuDevicePrimaryCtxSetFlags", 7000},
    {"cuDevicePrimaryCtxSetFlags_v2", 11000},
    {"cuDeviceTotalMem_v2", 3020},
    {"cuDriverGetVersion", 2020},
    {"cuEventDestroy_v2", 4000},
    {"cuEventElapsedTime_v2", 12080},
    {"cuFuncGetAttribute", 2020},
    {"cuFuncGetModule", 11000},
    {"cuFuncGetName", 12030},
    {"cuFuncSetAttribute", 9000},
    {"cuGetErrorName", 6000},
    {"cuGetErrorString", 6000},
    {"cuGetExportTable", 3000},
    {"cuGetProcAddress", 11030},
    {"cuGetProcAddress_v2", 12000},
    {"cuGraphAddKernelNode_v2", 12000},
    {"cuGraphCreate", 10000},
    {"cuGraphDestroy", 10000},
    {"cuGraphExecDestroy", 10000},
    {"cuGraphGetNodes", 10000},
    {"cuGraphInstantiate_v2", 11000},
    {"cuGraphInstantiateWithFlags", 11040},
    {"cuGraphInstantiateWithParams", 12000},
    {"cuGraphLaunch", 10000},
    {"cuGraphUpload", 11010},
    {"cuLaunchCooperativeKernel", 9000},
    {"cuLaunchKernel", 4000},
    {"cuLaunchKernelEx", 11060},
    {"cuMemAlloc_v2", 3020},
    {"cuMemAllocAsync", 11020},
    {"cuMemAllocHost_v2", 3020},
    {"cuMemAllocManaged", 6000},
    {"cuMemFree_v2", 3020},
    {"cuMemFreeAsync", 11020},
    {"cuMemGetInfo_v2", 3020},
    {"cuMemHostAlloc", 2020},
    {"cuMemcpy", 4000},
    {"cuMemcpyAsync", 4000},
    {"cuMemcpyDtoD_v2", 3020},
    {"cuMemcpyDtoH_v2", 3020},
    {"cuMemcpyDtoHAsync_v2", 3020},
    {"cuMemcpyHtoD_v2", 3020},
    {"cuMemcpyHtoDAsync_v2", 3020},
    {"cuMemsetD32_v2", 3020},
    {"cuMemsetD32Async", 3020},
    {"cuMemsetD8_v2", 3020},
    {"cuMemsetD8Async", 3020},
    {"cuModuleGetGlobal_v2", 3020},
    {"cuModuleLoadDataEx", 2010},
    {"cuProfilerStart", 4000},
    {"cuProfilerStop", 4000},
    {"cuStreamBeginCapture", 10000},
    {"cuStreamBeginCapture_v2", 10010},
    {"cuStreamCreateWithPriority", 5050},
    {"cuStreamDestroy_v2", 4000},
    {"cuStreamEndCapture", 10000},
    {"cuStreamGetCtx", 9020},
    {"cuStreamGetFlags", 5050},
    {"cuStreamGetPriority", 5050},
    {"cuStreamIsCapturing", 10000},
    {"cuStreamWaitEvent", 3020},
};
// The per-thread variants of older functions appeared in the same version.
constexpr int kPerThreadVersion = 7000;

int VersionOf(std::string_view symbol) {
  const auto* at = std::find_if(std::begin(kIntroduced), std::end(kIntroduced),
                                [&](const Introduced& one) { return one.symbol == symbol; });
  return at == std::end(kIntroduced) ? kOldestVersion : at->version;
}

// Returns a handle of this library, regardless of its path and symbol visibility.
void* Self() {
  static void* self = [] {
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&Self), &info) == 0) return static_cast<void*>(nullptr);
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  return self;
}

// Returns the per-thread variant of `symbol`, or null if there is none.
void* PerThread(const std::string& symbol) {
  void* found = dlsym(Self(), (symbol + "_ptsz").c_str());
  return found != nullptr ? found : dlsym(Self(), (symbol + "_ptds").c_str());
}

// Returns whether cuGetProcAddress accepts this name: an API function without a variant suffix.
bool IsName(std::string_view name) {
  const std::size_t suffix = name.rfind('_');
  return name.starts_with("cu") &&
         (suffix == std::string_view::npos ||
          (!name.substr(suffix).starts_with("_v") && !name.substr(suffix).starts_with("_pt")));
}

CUdriverProcAddressQueryResult Find(const std::string& name, int version, bool per_thread_stream,
                                    void** function) {
  *function = nullptr;
  if (!IsName(name)) return CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  bool known = false;
  const auto look = [&](bool per_thread) {
    for (const char* suffix : {"_v4", "_v3", "_v2", ""}) {
      const std::string symbol = name + suffix;
      void* found = per_thread ? PerThread(symbol) : dlsym(Self(), symbol.c_str());
      const int introduced = std::max(VersionOf(symbol), per_thread ? kPerThreadVersion : 0);
      // A driver does not contain functions of later versions.
      if (found == nullptr || introduced > fake_gpu::settings().driver_version) continue;
      known = true;
      if (version < introduced) continue;
      *function = found;
      return;
    }
  };
  if (per_thread_stream) look(true);
  if (!known) look(false);  // most functions have no stream
  if (*function != nullptr) return CU_GET_PROC_ADDRESS_SUCCESS;
  return known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
}

}  // namespace

// Also succeeds if the function does not exist: a null pointer and the status report that.
FAKE_GPU_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version,
                                             cuuint64_t flags,
                                             CUdriverProcAddressQueryResult* status) {
  FAKE_GPU_REQUIRE(symbol != nullptr && function != nullptr, CUDA_ERROR_INVALID_VALUE);
  const bool per_thread_stream = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const CUdriverProcAddressQueryResult found = Find(symbol, version, per_thread_stream, function);
  if (status != nullptr) *status = found;
  return CUDA_SUCCESS;
}

#undef cuGetProcAddress
FAKE_GPU_EXPORT CUresult cuGetProcAddress(const char* symbol, void** function, int version,
                                          cuuint64_t flags) {
  const CUresult result = cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
  return result == CUDA_SUCCESS && *function == nullptr ? CUDA_ERROR_NOT_FOUND : result;
}
