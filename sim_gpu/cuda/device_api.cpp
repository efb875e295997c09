// SPDX-License-Identifier: Apache-2.0
//
// Devices: cuDevice*. All devices are identical; the default compute capability is 8.0.
#include <cstdio>
#include <cstring>

#include "cuda/settings.h"
#include "cuda/state.h"

using namespace fake_gpu;

namespace {

constexpr std::size_t kMemoryBytes = std::size_t{16} << 30;

bool Exists(CUdevice device) {
  return device >= 0 && device < settings().devices;
}

int Attribute(CUdevice_attribute attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return settings().capability / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return settings().capability % 10;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 108;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return 1'410'000;
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
      return 1;
    default:
      return 0;
  }
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
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU");
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
  *value = attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? device + 1 : Attribute(attribute);
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
  *bytes = kMemoryBytes;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuDeviceTotalMem", "cuDeviceTotalMem_v2");

FAKE_GPU_EXPORT CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  FAKE_GPU_REQUIRE_READY();
  *free_bytes = kMemoryBytes / 2;
  *total_bytes = kMemoryBytes;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuMemGetInfo", "cuMemGetInfo_v2");
