// SPDX-License-Identifier: Apache-2.0
//
// cuGetProcAddress: names without version suffix, answered with the newest variant that the fake
// has.
#include <dlfcn.h>

#include <string>

#include "cuda/state.h"

namespace {

// This library, wherever it was loaded from and whether or not its symbols are global.
void* Self() {
  static void* self = [] {
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&Self), &info) == 0) return static_cast<void*>(nullptr);
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  return self;
}

void* Find(const std::string& name, bool per_thread_stream) {
  static const char* const kVersions[] = {"_v4", "_v3", "_v2", ""};
  for (const char* version : kVersions) {
    if (per_thread_stream) {
      if (void* found = dlsym(Self(), (name + version + "_ptsz").c_str())) return found;
    }
    if (void* found = dlsym(Self(), (name + version).c_str())) return found;
  }
  return nullptr;
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int,
                                             cuuint64_t flags,
                                             CUdriverProcAddressQueryResult* status) {
  FAKE_GPU_REQUIRE(symbol != nullptr && function != nullptr, CUDA_ERROR_INVALID_VALUE);
  *function = Find(symbol, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
  if (status != nullptr) {
    *status =
        *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

#undef cuGetProcAddress
FAKE_GPU_EXPORT CUresult cuGetProcAddress(const char* symbol, void** function, int version,
                                          cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}
