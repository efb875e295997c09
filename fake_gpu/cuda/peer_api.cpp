// SPDX-License-Identifier: Apache-2.0
//
// Access between devices: every device can access the memory of every other device. Also what a
// device reports beyond its attributes.
#include <algorithm>
#include <cstdio>

#include "cuda/contexts.h"
#include "cuda/device_attributes.h"
#include "cuda/memory.h"
#include "cuda/settings.h"
#include "cuda/state.h"

using namespace fake_gpu;

namespace {

bool Exists(CUdevice device) {
  return device >= 0 && device < settings().devices;
}

int AttributeOf(CUdevice device, CUdevice_attribute attribute) {
  return DeviceAttribute(device, attribute).value_or(0);
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuDeviceCanAccessPeer(int* out, CUdevice device, CUdevice peer) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(Exists(device) && Exists(peer), CUDA_ERROR_INVALID_DEVICE);
  *out = device != peer ? 1 : 0;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuDeviceGetP2PAttribute(int* out, CUdevice_P2PAttribute attribute,
                                                 CUdevice from, CUdevice to) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(Exists(from) && Exists(to) && from != to, CUDA_ERROR_INVALID_DEVICE);
  *out = attribute == CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ? 0 : 1;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  FAKE_GPU_REQUIRE_READY();
  CUctx_st* context = CurrentContext();
  FAKE_GPU_REQUIRE(context != nullptr && peer != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  FAKE_GPU_REQUIRE(flags == 0, CUDA_ERROR_INVALID_VALUE);
  const std::lock_guard lock(context->mutex);
  FAKE_GPU_REQUIRE(context->peers.insert(peer).second, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  FAKE_GPU_REQUIRE_READY();
  CUctx_st* context = CurrentContext();
  FAKE_GPU_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  const std::lock_guard lock(context->mutex);
  return context->peers.erase(peer) == 1 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

FAKE_GPU_EXPORT CUresult cuDeviceGetByPCIBusId(CUdevice* out, const char* id) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && id != nullptr, CUDA_ERROR_INVALID_VALUE);
  unsigned domain = 0;
  unsigned bus = 0;
  const bool has_domain = std::sscanf(id, "%x:%x:", &domain, &bus) == 2 && domain == 0;
  FAKE_GPU_REQUIRE(has_domain || std::sscanf(id, "%x:", &bus) == 1, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(bus >= 1 && Exists(static_cast<CUdevice>(bus) - 1), CUDA_ERROR_INVALID_DEVICE);
  *out = static_cast<CUdevice>(bus) - 1;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuDeviceGetProperties(CUdevprop* out, CUdevice device) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(Exists(device), CUDA_ERROR_INVALID_DEVICE);
  const auto of = [device](CUdevice_attribute attribute) { return AttributeOf(device, attribute); };
  *out = {of(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
          {of(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X), of(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
           of(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
          {of(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X), of(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
           of(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
          of(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
          of(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
          of(CU_DEVICE_ATTRIBUTE_WARP_SIZE),
          of(CU_DEVICE_ATTRIBUTE_MAX_PITCH),
          of(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
          of(CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
          of(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)};
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* out, CUarray_format, unsigned,
                                                            CUdevice device) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(Exists(device), CUDA_ERROR_INVALID_DEVICE);
  *out = static_cast<std::size_t>(
      AttributeOf(device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH));
  return CUDA_SUCCESS;
}

// Memory of graphs is not counted apart from other memory.
FAKE_GPU_EXPORT CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute,
                                                      void* out) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(Exists(device), CUDA_ERROR_INVALID_DEVICE);
  *static_cast<cuuint64_t*>(out) = 0;
  return CUDA_SUCCESS;
}
FAKE_GPU_EXPORT CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute,
                                                      void*) {
  FAKE_GPU_REQUIRE_READY();
  return Exists(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
FAKE_GPU_EXPORT CUresult cuDeviceGraphMemTrim(CUdevice device) {
  FAKE_GPU_REQUIRE_READY();
  return Exists(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
