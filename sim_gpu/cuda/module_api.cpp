// SPDX-License-Identifier: Apache-2.0
//
// Modules and functions: cuModule*, cuFunc*. The module image only decides about the durations of
// its kernels; every function name exists.
#include <cupti.h>

#include <algorithm>
#include <cstdio>

#include "cuda/contexts.h"
#include "cuda/engine.h"
#include "cuda/state.h"
#include "cuda/truth.h"

using namespace fake_gpu;

namespace {

CUresult Load(CUmodule* out, bool uses_duration_model) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  CUctx_st* context = CurrentContext();
  FAKE_GPU_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  NextCorrelation();
  *out = NewModule(*context, uses_duration_model);
  return CUDA_SUCCESS;
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
  CUctx_st& context = *module->context;
  Synchronize(context);
  TellResource(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, &context, nullptr, module->id);
  RetireForTruth(*module);
  std::unique_ptr<CUmod_st> gone;
  {
    const std::lock_guard lock(context.mutex);
    auto& all = context.modules;
    const auto found = std::find_if(all.begin(), all.end(),
                                    [module](const auto& one) { return one.get() == module; });
    FAKE_GPU_REQUIRE(found != all.end(), CUDA_ERROR_INVALID_HANDLE);
    gone = std::move(*found);
    all.erase(found);
  }
  return CUDA_SUCCESS;  // destroys the module outside the lock: it passes names to CUPTI
}

FAKE_GPU_EXPORT CUresult cuModuleGetFunction(CUfunction* out, CUmodule module, const char* name) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && name != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(module != nullptr, CUDA_ERROR_INVALID_HANDLE);
  const std::lock_guard lock(module->mutex);
  auto found = module->functions.find(name);
  if (found == module->functions.end()) {
    const std::string_view kept = module->names.Add(name);
    auto function = std::make_unique<CUfunc_st>();
    function->module = module;
    function->name = kept.data();
    if (module->uses_duration_model) function->model.emplace(kept);
    function->registers = 16 + static_cast<std::uint32_t>(kept.size() % 48);
    found = module->functions.emplace(kept, std::move(function)).first;
  }
  *out = found->second.get();
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr*, size_t*, CUmodule, const char*) {
  FAKE_GPU_REQUIRE_READY();
  return CUDA_ERROR_NOT_FOUND;
}
FAKE_GPU_ALIAS("cuModuleGetGlobal", "cuModuleGetGlobal_v2");

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
  FAKE_GPU_REQUIRE(out != nullptr && function != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = 0;
  if (attribute == CU_FUNC_ATTRIBUTE_NUM_REGS) *out = static_cast<int>(function->registers);
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) *out = 1024;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  FAKE_GPU_REQUIRE_READY();
  return CUDA_SUCCESS;
}
