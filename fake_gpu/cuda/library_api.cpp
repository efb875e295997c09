// SPDX-License-Identifier: Apache-2.0
//
// Libraries: cuLibrary*, cuKernel*, cuLink*. A library has one module for all contexts, and a
// kernel is the function of that module, so a CUkernel can be launched as a CUfunction.
#include <array>
#include <cstring>

#include "cuda/contexts.h"
#include "cuda/engine.h"
#include "cuda/modules.h"
#include "cuda/state.h"

struct CUlib_st {
  std::unique_ptr<CUmod_st> module;
};

struct CUlinkState_st {
  std::array<char, 64> image = {};  // the linked cubin: an ELF header
};

using namespace fake_gpu;

namespace {

CUfunc_st* FromKernel(CUkernel kernel) {
  return reinterpret_cast<CUfunc_st*>(kernel);
}

CUkernel ToKernel(CUfunc_st* function) {
  return reinterpret_cast<CUkernel>(function);
}

CUresult Load(CUlibrary* out, bool uses_duration_model) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  NextCorrelation();
  CUctx_st* context = CurrentContext();
  if (context == nullptr) context = PrimaryContext(0);
  *out = new CUlib_st{NewModule(*context, uses_duration_model)};
  (*out)->module->library = *out;
  return CUDA_SUCCESS;
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuLibraryLoadData(CUlibrary* out, const void* image, CUjit_option*, void**,
                                           unsigned, CUlibraryOption*, void**, unsigned) {
  return Load(out, UsesDurationModel(image));
}

FAKE_GPU_EXPORT CUresult cuLibraryLoadFromFile(CUlibrary* out, const char* path, CUjit_option*,
                                               void**, unsigned, CUlibraryOption*, void**,
                                               unsigned) {
  return Load(out, UsesDurationModelOfFile(path));
}

FAKE_GPU_EXPORT CUresult cuLibraryUnload(CUlibrary library) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(library != nullptr, CUDA_ERROR_INVALID_HANDLE);
  NextCorrelation();
  if (CUctx_st* context = CurrentContext()) Synchronize(*context);
  RetireModule(*library->module);
  delete library;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuLibraryGetKernel(CUkernel* out, CUlibrary library, const char* name) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && name != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(library != nullptr, CUDA_ERROR_INVALID_HANDLE);
  *out = ToKernel(FunctionOf(*library->module, name));
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuLibraryGetModule(CUmodule* out, CUlibrary library) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && library != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = library->module.get();
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                                            const char* name) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(library != nullptr && name != nullptr, CUDA_ERROR_INVALID_VALUE);
  return GlobalOf(*library->module, name, address, bytes);
}

FAKE_GPU_EXPORT CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                                             const char* name) {
  return cuLibraryGetGlobal(address, bytes, library, name);
}

FAKE_GPU_EXPORT CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(library != nullptr, CUDA_ERROR_INVALID_HANDLE);
  return cuModuleGetFunctionCount(count, library->module.get());
}

FAKE_GPU_EXPORT CUresult cuLibraryEnumerateKernels(CUkernel* out, unsigned count,
                                                   CUlibrary library) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(library != nullptr, CUDA_ERROR_INVALID_HANDLE);
  return cuModuleEnumerateFunctions(reinterpret_cast<CUfunction*>(out), count,
                                    library->module.get());
}

FAKE_GPU_EXPORT CUresult cuKernelGetFunction(CUfunction* out, CUkernel kernel) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && kernel != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = FromKernel(kernel);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuKernelGetLibrary(CUlibrary* out, CUkernel kernel) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && kernel != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = FromKernel(kernel)->module->library;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuKernelGetName(const char** out, CUkernel kernel) {
  return cuFuncGetName(out, FromKernel(kernel));
}

FAKE_GPU_EXPORT CUresult cuKernelGetAttribute(int* out, CUfunction_attribute attribute,
                                              CUkernel kernel, CUdevice) {
  return cuFuncGetAttribute(out, attribute, FromKernel(kernel));
}

FAKE_GPU_EXPORT CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value,
                                              CUkernel kernel, CUdevice) {
  return cuFuncSetAttribute(FromKernel(kernel), attribute, value);
}

FAKE_GPU_EXPORT CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice) {
  return cuFuncSetCacheConfig(FromKernel(kernel), config);
}

FAKE_GPU_EXPORT CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset,
                                              size_t* bytes) {
  return cuFuncGetParamInfo(FromKernel(kernel), index, offset, bytes);
}

// Linking succeeds and returns an image whose kernels have durations of the model.
FAKE_GPU_EXPORT CUresult cuLinkCreate_v2(unsigned, CUjit_option*, void**, CUlinkState* out) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = new CUlinkState_st;
  std::memcpy((*out)->image.data(),
              "\x7F"
              "ELF\x02\x01\x01",
              7);
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuLinkCreate", "cuLinkCreate_v2");

FAKE_GPU_EXPORT CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType, void*, size_t,
                                          const char*, unsigned, CUjit_option*, void**) {
  FAKE_GPU_REQUIRE_READY();
  return state == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuLinkAddData", "cuLinkAddData_v2");

FAKE_GPU_EXPORT CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType, const char*, unsigned,
                                          CUjit_option*, void**) {
  FAKE_GPU_REQUIRE_READY();
  return state == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuLinkAddFile", "cuLinkAddFile_v2");

FAKE_GPU_EXPORT CUresult cuLinkComplete(CUlinkState state, void** image, size_t* bytes) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(state != nullptr && image != nullptr, CUDA_ERROR_INVALID_VALUE);
  *image = state->image.data();
  if (bytes != nullptr) *bytes = state->image.size();
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuLinkDestroy(CUlinkState state) {
  FAKE_GPU_REQUIRE_READY();
  delete state;
  return CUDA_SUCCESS;
}
