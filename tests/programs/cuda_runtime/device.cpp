// SPDX-License-Identifier: Apache-2.0
//
// Devices: counts, attributes, properties, limits, access of peers.
#include <cstring>

#include "runtime.h"

using cuda_runtime::Remember;

namespace {

int Attribute(CUdevice_attribute attribute, int device) {
  int value = 0;
  cuDeviceGetAttribute(&value, attribute, device);
  return value;
}

}  // namespace

RUNTIME_API cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  CUresult result = cuInit(0);
  if (result == CUDA_SUCCESS) result = cuDeviceGetCount(count);
  if (result == CUDA_SUCCESS && *count == 0) result = CUDA_ERROR_NO_DEVICE;
  return Remember(result);
}

RUNTIME_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (const CUresult result = cuInit(0); result != CUDA_SUCCESS) return Remember(result);
  return Remember(cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), device));
}

RUNTIME_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  *properties = {};
  if (const CUresult result = cuInit(0); result != CUDA_SUCCESS) return Remember(result);
  cudaDeviceProp& p = *properties;
  const CUresult result = cuDeviceGetName(p.name, sizeof p.name, device);
  if (result != CUDA_SUCCESS) return Remember(result);
  CUuuid uuid;
  cuDeviceGetUuid(&uuid, device);
  std::memcpy(&p.uuid, &uuid, sizeof uuid);
  cuDeviceTotalMem(&p.totalGlobalMem, device);
  const auto get = [device](CUdevice_attribute attribute) { return Attribute(attribute, device); };
  const auto size = [&get](CUdevice_attribute attribute) {
    return static_cast<size_t>(get(attribute));
  };
  p.sharedMemPerBlock = size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  p.regsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  p.warpSize = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  p.memPitch = size(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  p.maxThreadsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  p.maxThreadsDim[0] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  p.maxThreadsDim[1] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  p.maxThreadsDim[2] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  p.maxGridSize[0] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  p.maxGridSize[1] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  p.maxGridSize[2] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  p.totalConstMem = size(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  p.major = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  p.minor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  p.textureAlignment = size(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  p.texturePitchAlignment = size(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
  p.multiProcessorCount = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  p.integrated = get(CU_DEVICE_ATTRIBUTE_INTEGRATED);
  p.canMapHostMemory = get(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
  p.concurrentKernels = get(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
  p.ECCEnabled = get(CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
  p.pciBusID = get(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
  p.pciDeviceID = get(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
  p.pciDomainID = get(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
  p.asyncEngineCount = get(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  p.unifiedAddressing = get(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
  p.memoryBusWidth = get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  p.l2CacheSize = get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  p.persistingL2CacheMaxSize = get(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE);
  p.maxThreadsPerMultiProcessor = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  p.streamPrioritiesSupported = get(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
  p.globalL1CacheSupported = get(CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED);
  p.localL1CacheSupported = get(CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED);
  p.sharedMemPerMultiprocessor = size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  p.regsPerMultiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  p.managedMemory = get(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
  p.hostNativeAtomicSupported = get(CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED);
  p.pageableMemoryAccess = get(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
  p.concurrentManagedAccess = get(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
  p.computePreemptionSupported = get(CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED);
  p.canUseHostPointerForRegisteredMem =
      get(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
  p.cooperativeLaunch = get(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  p.sharedMemPerBlockOptin = size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  p.maxBlocksPerMultiProcessor = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  p.reservedSharedMemPerBlock = size(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  p.hostRegisterSupported = get(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
  p.memoryPoolsSupported = get(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  p.clusterLaunch = get(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
  p.unifiedFunctionPointers = get(CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS);
  return cudaSuccess;
}

RUNTIME_API cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  if (const CUresult result = cuInit(0); result != CUDA_SUCCESS) return Remember(result);
  return Remember(cuDeviceGetPCIBusId(id, length, device));
}

RUNTIME_API cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id) {
  if (const CUresult result = cuInit(0); result != CUDA_SUCCESS) return Remember(result);
  return Remember(cuDeviceGetByPCIBusId(device, id));
}

RUNTIME_API cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (const CUresult result = cuInit(0); result != CUDA_SUCCESS) return Remember(result);
  return Remember(cuDeviceCanAccessPeer(can, device, peer));
}

RUNTIME_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  RUNTIME_REQUIRE_CONTEXT();
  CUcontext context = nullptr;
  CUresult result = cuDevicePrimaryCtxRetain(&context, peer);
  if (result == CUDA_SUCCESS) result = cuCtxEnablePeerAccess(context, flags);
  return Remember(result);
}

RUNTIME_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuCtxGetStreamPriorityRange(least, greatest));
}

RUNTIME_API cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuCtxGetLimit(value, static_cast<CUlimit>(limit)));
}

RUNTIME_API cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  RUNTIME_REQUIRE_CONTEXT();
  return Remember(cuCtxSetLimit(static_cast<CUlimit>(limit), value));
}
