// SPDX-License-Identifier: Apache-2.0
//
// Modules and functions: cuModule*, cuFunc*. The module image only decides about the durations of
// its kernels; every function name exists.
#include <algorithm>

#include "cuda/contexts.h"
#include "cuda/engine.h"
#include "cuda/modules.h"
#include "cuda/state.h"

using namespace fake_gpu;

namespace {

CUresult Load(CUmodule* out, bool uses_duration_model) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  CUctx_st* context = CurrentContext();
  FAKE_GPU_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  NextCorrelation();
  std::unique_ptr<CUmod_st> module = NewModule(*context, uses_duration_model);
  *out = module.get();
  const std::lock_guard lock(context->mutex);
  context->modules.push_back(std::move(module));
  return CUDA_SUCCESS;
}

// Removes a module from its context. Returns null if the context does not own it.
std::unique_ptr<CUmod_st> Remove(CUmod_st& module) {
  CUctx_st& context = *module.context;
  const std::lock_guard lock(context.mutex);
  auto& all = context.modules;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&module](const auto& one) { return one.get() == &module; });
  if (found == all.end()) return nullptr;
  std::unique_ptr<CUmod_st> removed = std::move(*found);
  all.erase(found);
  return removed;
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuModuleLoadData(CUmodule* out, const void* image) {
  return Load(out, UsesDurationModel(image));
}
FAKE_GPU_EXPORT CUresult cuModuleLoad(CUmodule* out, const char* path) {
  return Load(out, UsesDurationModelOfFile(path));
}
FAKE_GPU_EXPORT CUresult cuModuleLoadFatBinary(CUmodule* out, const void* image) {
  return Load(out, UsesDurationModel(image));
}
FAKE_GPU_EXPORT CUresult cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned,
                                            CUjit_option*, void**) {
  return Load(out, UsesDurationModel(image));
}

FAKE_GPU_EXPORT CUresult cuModuleUnload(CUmodule module) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(module != nullptr, CUDA_ERROR_INVALID_HANDLE);
  NextCorrelation();
  Synchronize(*module->context);
  const std::unique_ptr<CUmod_st> removed = Remove(*module);
  FAKE_GPU_REQUIRE(removed != nullptr, CUDA_ERROR_INVALID_HANDLE);
  RetireModule(*removed);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuModuleGetFunction(CUfunction* out, CUmodule module, const char* name) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && name != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(module != nullptr, CUDA_ERROR_INVALID_HANDLE);
  *out = FunctionOf(*module, name);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module,
                                              const char* name) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(module != nullptr && name != nullptr, CUDA_ERROR_INVALID_VALUE);
  return GlobalOf(*module, name, address, bytes);
}
FAKE_GPU_ALIAS("cuModuleGetGlobal", "cuModuleGetGlobal_v2");

// Counts and lists the functions that the program has asked for.
FAKE_GPU_EXPORT CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(count != nullptr && module != nullptr, CUDA_ERROR_INVALID_VALUE);
  const std::lock_guard lock(module->mutex);
  *count = static_cast<unsigned>(module->functions.size());
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuModuleEnumerateFunctions(CUfunction* out, unsigned count,
                                                    CUmodule module) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && module != nullptr, CUDA_ERROR_INVALID_VALUE);
  const std::lock_guard lock(module->mutex);
  for (const auto& [name, function] : module->functions) {
    if (count-- == 0) break;
    *out++ = function.get();
  }
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(mode != nullptr, CUDA_ERROR_INVALID_VALUE);
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuFuncGetName(const char** out, CUfunction function) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && function != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = function->name;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuFuncGetModule(CUmodule* out, CUfunction function) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && function != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = function->module;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuFuncGetAttribute(int* out, CUfunction_attribute attribute,
                                            CUfunction function) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(function != nullptr, CUDA_ERROR_INVALID_HANDLE);
  return GetAttribute(*function, attribute, out);
}

FAKE_GPU_EXPORT CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                                            int value) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(function != nullptr, CUDA_ERROR_INVALID_HANDLE);
  return SetAttribute(*function, attribute, value);
}

FAKE_GPU_EXPORT CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  FAKE_GPU_REQUIRE_READY();
  return function == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig) {
  FAKE_GPU_REQUIRE_READY();
  return function == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

// Parameters are not known, so the first index is already beyond them.
FAKE_GPU_EXPORT CUresult cuFuncGetParamInfo(CUfunction, size_t, size_t*, size_t*) {
  FAKE_GPU_REQUIRE_READY();
  return CUDA_ERROR_INVALID_VALUE;
}

FAKE_GPU_EXPORT CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(state != nullptr && function != nullptr, CUDA_ERROR_INVALID_VALUE);
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuFuncLoad(CUfunction function) {
  FAKE_GPU_REQUIRE_READY();
  return function == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
