// SPDX-License-Identifier: Apache-2.0
//
// Kernels: what nvcc's start-up code registers, and launches.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime.h"

namespace cuda_runtime {
namespace {

// What nvcc generates for each translation unit; `data` is the fat binary.
struct FatBinaryWrapper {
  int magic;
  int version;
  const void* data;
  void* file_name;
};

// FatBinary is the device code of one translation unit. It is loaded when the first of its kernels
// is used.
struct FatBinary {
  const void* image = nullptr;
  CUlibrary library = nullptr;
};

struct Function {
  FatBinary* binary = nullptr;
  const char* name = nullptr;
  CUkernel kernel = nullptr;
};

// A variable in device memory, in each device that used it. The simulated driver does not read
// initial values: zero.
struct Variable {
  size_t bytes = 0;
  std::map<CUdevice, CUdeviceptr> addresses;
};

struct Registry {
  std::mutex mutex;  // guards all members
  std::vector<std::unique_ptr<FatBinary>> binaries;
  std::unordered_map<const void*, Function> functions;
  std::unordered_map<const void*, Variable> variables;
};

// Leaked: registered code is used until the process ends.
Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

// REQUIRES: registry().mutex is held, and a context is current.
CUresult Load(Function& function) {
  if (function.kernel != nullptr) return CUDA_SUCCESS;
  FatBinary& binary = *function.binary;
  if (binary.library == nullptr) {
    const CUresult result =
        cuLibraryLoadData(&binary.library, binary.image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (result != CUDA_SUCCESS) return result;
  }
  return cuLibraryGetKernel(&function.kernel, binary.library, function.name);
}

cudaError_t AddressOf(const void* symbol, CUdeviceptr* address, size_t* bytes) {
  RUNTIME_REQUIRE_CONTEXT();
  CUdevice device = 0;
  cuCtxGetDevice(&device);
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().variables.find(symbol);
  if (found == registry().variables.end()) return Remember(cudaErrorInvalidSymbol);
  CUdeviceptr& at = found->second.addresses[device];
  if (at == 0) {
    CUresult result = cuMemAlloc(&at, found->second.bytes);
    if (result == CUDA_SUCCESS) result = cuMemsetD8(at, 0, found->second.bytes);
    if (result != CUDA_SUCCESS) return Remember(result);
  }
  *address = at;
  *bytes = found->second.bytes;
  return cudaSuccess;
}

cudaError_t Launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                   cudaStream_t stream) {
  RUNTIME_REQUIRE_CONTEXT();
  CUfunction kernel = FunctionOf(function);
  if (kernel == nullptr) return Remember(cudaErrorInvalidDeviceFunction);
  return Remember(cuLaunchKernel(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                 static_cast<unsigned>(shared), stream, arguments, nullptr));
}

// The configuration of `kernel<<<...>>>`, between its evaluation and the call.
struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> t_configurations;

}  // namespace

CUkernel KernelOf(const void* function) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.functions.find(function);
  // Kernels of cudaLibraryGetKernel are the driver's own.
  if (found == all.functions.end()) return static_cast<CUkernel>(const_cast<void*>(function));
  return Load(found->second) == CUDA_SUCCESS ? found->second.kernel : nullptr;
}

}  // namespace cuda_runtime

using namespace cuda_runtime;

RUNTIME_API void** __cudaRegisterFatBinary(void* wrapper) {
  auto binary = std::make_unique<FatBinary>();
  binary->image = static_cast<FatBinaryWrapper*>(wrapper)->data;
  const std::lock_guard lock(registry().mutex);
  registry().binaries.push_back(std::move(binary));
  return reinterpret_cast<void**>(registry().binaries.back().get());
}

RUNTIME_API void __cudaRegisterFatBinaryEnd(void**) {}

// The code of a library that is unloaded goes with it: its kernels are forgotten, their modules
// stay until exit.
RUNTIME_API void __cudaUnregisterFatBinary(void** handle) {
  auto* binary = reinterpret_cast<FatBinary*>(handle);
  const std::lock_guard lock(registry().mutex);
  std::erase_if(registry().functions,
                [binary](const auto& one) { return one.second.binary == binary; });
}

RUNTIME_API void __cudaRegisterFunction(void** handle, const char* host_function, char*,
                                        const char* name, int, uint3*, uint3*, dim3*, dim3*, int*) {
  const std::lock_guard lock(registry().mutex);
  registry().functions[host_function] = {reinterpret_cast<FatBinary*>(handle), name, nullptr};
}

RUNTIME_API void __cudaRegisterVar(void**, char* host_variable, char*, const char*, int,
                                   size_t bytes, int, int) {
  const std::lock_guard lock(registry().mutex);
  registry().variables[host_variable].bytes = bytes;
}

RUNTIME_API void __cudaRegisterManagedVar(void**, void** host_variable, char*, const char*, int,
                                          size_t bytes, int, int) {
  const std::lock_guard lock(registry().mutex);
  registry().variables[host_variable].bytes = bytes;
}

RUNTIME_API char __cudaInitModule(void**) {
  return 1;
}

RUNTIME_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                                 CUstream_st* stream) {
  t_configurations.push_back({grid, block, shared, stream});
  return 0;
}

RUNTIME_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared,
                                                   void* stream) {
  if (t_configurations.empty()) return Remember(cudaErrorMissingConfiguration);
  const Configuration last = t_configurations.back();
  t_configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

RUNTIME_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  RUNTIME_REQUIRE_CONTEXT();
  *kernel = reinterpret_cast<cudaKernel_t>(KernelOf(function));
  return *kernel != nullptr ? cudaSuccess : Remember(cudaErrorInvalidDeviceFunction);
}

RUNTIME_API cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return __cudaGetKernel(kernel, function);
}

RUNTIME_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                           void** arguments, size_t shared, cudaStream_t stream) {
  return Launch(kernel, grid, block, arguments, shared, stream);
}

RUNTIME_API cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block,
                                         void** arguments, size_t shared, cudaStream_t stream) {
  return Launch(function, grid, block, arguments, shared, stream);
}

RUNTIME_API cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                                    void** arguments, size_t shared,
                                                    cudaStream_t stream) {
  RUNTIME_REQUIRE_CONTEXT();
  CUfunction kernel = FunctionOf(function);
  if (kernel == nullptr) return Remember(cudaErrorInvalidDeviceFunction);
  return Remember(cuLaunchCooperativeKernel(kernel, grid.x, grid.y, grid.z, block.x, block.y,
                                            block.z, static_cast<unsigned>(shared), stream,
                                            arguments));
}

RUNTIME_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                            void** arguments) {
  RUNTIME_REQUIRE_CONTEXT();
  CUfunction kernel = FunctionOf(function);
  if (kernel == nullptr) return Remember(cudaErrorInvalidDeviceFunction);
  CUlaunchConfig driver = {};
  driver.gridDimX = config->gridDim.x;
  driver.gridDimY = config->gridDim.y;
  driver.gridDimZ = config->gridDim.z;
  driver.blockDimX = config->blockDim.x;
  driver.blockDimY = config->blockDim.y;
  driver.blockDimZ = config->blockDim.z;
  driver.sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes);
  driver.hStream = config->stream;
  driver.attrs = reinterpret_cast<CUlaunchAttribute*>(config->attrs);  // one struct with two names
  driver.numAttrs = config->numAttrs;
  return Remember(cuLaunchKernelEx(&driver, kernel, arguments, nullptr));
}

RUNTIME_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes,
                                              const void* function) {
  RUNTIME_REQUIRE_CONTEXT();
  *attributes = {};
  CUfunction kernel = FunctionOf(function);
  if (kernel == nullptr) return Remember(cudaErrorInvalidDeviceFunction);
  const auto get = [kernel](CUfunction_attribute attribute) {
    int value = 0;
    cuFuncGetAttribute(&value, attribute, kernel);
    return value;
  };
  const auto size = [&get](CUfunction_attribute attribute) {
    return static_cast<size_t>(get(attribute));
  };
  attributes->sharedSizeBytes = size(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  attributes->constSizeBytes = size(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  attributes->localSizeBytes = size(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  attributes->maxThreadsPerBlock = get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  attributes->numRegs = get(CU_FUNC_ATTRIBUTE_NUM_REGS);
  attributes->ptxVersion = get(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  attributes->binaryVersion = get(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  attributes->maxDynamicSharedSizeBytes = get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  return cudaSuccess;
}

RUNTIME_API cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute,
                                             int value) {
  RUNTIME_REQUIRE_CONTEXT();
  CUfunction kernel = FunctionOf(function);
  if (kernel == nullptr) return Remember(cudaErrorInvalidDeviceFunction);
  return Remember(cuFuncSetAttribute(kernel, static_cast<CUfunction_attribute>(attribute), value));
}

RUNTIME_API cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) {
  return cudaSuccess;
}

RUNTIME_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int threads, size_t shared, unsigned flags) {
  RUNTIME_REQUIRE_CONTEXT();
  CUfunction kernel = FunctionOf(function);
  if (kernel == nullptr) return Remember(cudaErrorInvalidDeviceFunction);
  return Remember(
      cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared, flags));
}

RUNTIME_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                      const void* function,
                                                                      int threads, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared,
                                                                0);
}

RUNTIME_API cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  size_t bytes = 0;
  return AddressOf(symbol, reinterpret_cast<CUdeviceptr*>(address), &bytes);
}

RUNTIME_API cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  CUdeviceptr address = 0;
  return AddressOf(symbol, &address, bytes);
}

RUNTIME_API cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes,
                                                size_t offset, cudaMemcpyKind,
                                                cudaStream_t stream) {
  CUdeviceptr to = 0;
  size_t size = 0;
  if (const cudaError_t error = AddressOf(symbol, &to, &size); error != cudaSuccess) return error;
  if (offset + bytes > size) return Remember(cudaErrorInvalidValue);
  return Remember(cuMemcpyAsync(to + offset, Address(from), bytes, stream));
}

RUNTIME_API cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes,
                                           size_t offset, cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, nullptr);
  return error == cudaSuccess ? Remember(cuStreamSynchronize(nullptr)) : error;
}

RUNTIME_API cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code,
                                            cudaJitOption*, void**, unsigned, cudaLibraryOption*,
                                            void**, unsigned) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuLibraryLoadData(reinterpret_cast<CUlibrary*>(library), code, nullptr, nullptr,
                                    0, nullptr, nullptr, 0));
}

RUNTIME_API cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* file,
                                                cudaJitOption*, void**, unsigned,
                                                cudaLibraryOption*, void**, unsigned) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuLibraryLoadFromFile(reinterpret_cast<CUlibrary*>(library), file, nullptr,
                                        nullptr, 0, nullptr, nullptr, 0));
}

RUNTIME_API cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuLibraryUnload(reinterpret_cast<CUlibrary>(library)));
}

RUNTIME_API cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library,
                                             const char* name) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuLibraryGetKernel(reinterpret_cast<CUkernel*>(kernel),
                                     reinterpret_cast<CUlibrary>(library), name));
}

RUNTIME_API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
                                                        cudaFuncAttribute attribute, int value,
                                                        int device) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuKernelSetAttribute(static_cast<CUfunction_attribute>(attribute), value,
                                       reinterpret_cast<CUkernel>(kernel), device));
}
