// SPDX-License-Identifier: Apache-2.0
//
// cuInit with library injection like the real driver, and version queries.
//
// cuInit loads the library in CUDA_INJECTION64_PATH and calls its InitializeInjection once per
// process, in the first thread that initializes. It ignores "none" and libraries that cannot be
// loaded. If InitializeInjection is missing or returns 0, the library is unloaded, and loaded again
// by the next cuInit. After a fork, the child of an initialized process cannot use CUDA.
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "cuda/settings.h"
#include "cuda/state.h"
#include "cuda/truth.h"

namespace fake_gpu {
namespace {

thread_local bool t_initialising = false;

// Returns false if a library was loaded, refused and unloaded again.
bool Inject() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0' || std::strcmp(path, "none") == 0) return true;
  void* library = dlopen(path, RTLD_NOW);
  if (library == nullptr) return true;
  void* symbol = dlsym(library, "InitializeInjection");
  if (symbol != nullptr && reinterpret_cast<int (*)()>(symbol)() != 0) return true;
  dlclose(library);
  return false;
}

void AfterForkInChild() {
  if (g_phase.load(std::memory_order_relaxed) == Phase::kReady) {
    g_phase.store(Phase::kForked, std::memory_order_relaxed);
  }
}

void Initialize() {
  g_next_correlation.store(settings().first_correlation, std::memory_order_relaxed);
  pthread_atfork(nullptr, nullptr, AfterForkInChild);
  SetTruthProcess();
  // Becomes ready before the injection, because the injected library may call the driver.
  g_phase.store(Phase::kReady, std::memory_order_release);
}

// Guarded by the mutex of cuInit.
bool g_wants_injection = true;

void InitializeAndInject() {
  const bool first = g_phase.load(std::memory_order_relaxed) == Phase::kBefore;
  if (first) Initialize();
  if (g_wants_injection) {
    t_initialising = true;
    g_wants_injection = !Inject();
    t_initialising = false;
  }
  if (first) TellResource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, nullptr, nullptr, 0);
}

}  // namespace
}  // namespace fake_gpu

using namespace fake_gpu;

FAKE_GPU_EXPORT CUresult cuInit(unsigned flags) {
  FAKE_GPU_REQUIRE(flags == 0, CUDA_ERROR_INVALID_VALUE);
  // An injected library that calls cuInit already holds the mutex.
  if (t_initialising) return CUDA_SUCCESS;
  static std::mutex mutex;
  if (g_phase.load(std::memory_order_relaxed) != Phase::kForked) {
    const std::lock_guard lock(mutex);
    InitializeAndInject();
  }
  return CheckReady();
}

FAKE_GPU_EXPORT CUresult cuDriverGetVersion(int* version) {
  FAKE_GPU_REQUIRE(version != nullptr, CUDA_ERROR_INVALID_VALUE);
  *version = settings().driver_version;
  return CUDA_SUCCESS;
}

// Returns the real driver's private tables, which the CUDA runtime requires. The simulated driver
// has none, so programs of the runtime API cannot run on it.
FAKE_GPU_EXPORT CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table != nullptr) *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}
