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
// Functions that are not in the table exist since kOldestVersion. driver_test compares results with
// the real driver.
struct Introduced {
  std::string_view symbol;
  int version;
};
constexpr int kOldestVersion = 2000;
constexpr Introduced kIntroduced[] = {
#include "introduced.inc"  // from NVIDIA's headers; see CMakeLists.txt
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
