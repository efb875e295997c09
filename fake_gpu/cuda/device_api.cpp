// SPDX-License-Identifier: Apache-2.0
//
// Devices: cuDevice*. All devices are identical.
#include <cstdio>
#include <cstring>

#include "cuda/device_attributes.h"
#include "cuda/settings.h"
#include "cuda/state.h"

using namespace fake_gpu;

namespace {

bool Exists(CUdevice device) {
  return device >= 0 && device < settings().devices;
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuDeviceGetCount(int* count) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(count != nullptr, CUDA_ERROR_INVALID_VALUE);
  *count = settings().devices;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(device != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(Exists(ordinal), CUDA_ERROR_INVALID_DEVICE);
  *device = ordinal;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(name != nullptr && length > 0, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(Exists(device), CUDA_ERROR_INVALID_DEVICE);
  std::snprintf(name, static_cast<std::size_t>(length), "Simulated GPU (H100)");
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(uuid != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(Exists(device), CUDA_ERROR_INVALID_DEVICE);
  std::memset(uuid->bytes, 0xFA, sizeof uuid->bytes);
  uuid->bytes[15] = static_cast<char>(device);
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuDeviceGetUuid", "cuDeviceGetUuid_v2");

FAKE_GPU_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                                              CUdevice device) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(value != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(Exists(device), CUDA_ERROR_INVALID_DEVICE);
  const std::optional<int> known = DeviceAttribute(device, attribute);
  FAKE_GPU_REQUIRE(known.has_value(), CUDA_ERROR_INVALID_VALUE);
  *value = *known;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(major != nullptr && minor != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(Exists(device), CUDA_ERROR_INVALID_DEVICE);
  *major = settings().capability / 10;
  *minor = settings().capability % 10;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(id != nullptr && length > 0, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(Exists(device), CUDA_ERROR_INVALID_DEVICE);
  std::snprintf(id, static_cast<std::size_t>(length), "0000:%02x:00.0",
                static_cast<unsigned>(device) + 1);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(bytes != nullptr, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(Exists(device), CUDA_ERROR_INVALID_DEVICE);
  *bytes = kDeviceMemoryBytes;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuDeviceTotalMem", "cuDeviceTotalMem_v2");
