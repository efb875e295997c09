// SPDX-License-Identifier: Apache-2.0
//
// Attributes of addresses: cuPointer*, and the hints of managed memory, which have no effect.
#include <cstring>

#include "cuda/memory.h"
#include "cuda/state.h"

using namespace fake_gpu;

namespace {

template <typename T>
CUresult Store(void* out, T value) {
  std::memcpy(out, &value, sizeof value);
  return CUDA_SUCCESS;
}

CUresult Attribute(void* out, CUpointer_attribute attribute, const Allocation& a,
                   CUdeviceptr address) {
  const bool has_host_address = a.is_host() || a.kind == MemoryKind::kManaged;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return Store(out, a.kind == MemoryKind::kMapped ? nullptr : a.context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return Store<unsigned>(out, a.is_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return Store(out, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!has_host_address) return CUDA_ERROR_INVALID_VALUE;
      return Store(out, address);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return Store<unsigned long long>(out, a.id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return Store<unsigned>(out, a.kind == MemoryKind::kManaged);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return Store<int>(out, a.device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return Store<CUdeviceptr>(out, a.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return Store<size_t>(out, a.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return Store<unsigned>(out, 1);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return Store<unsigned>(out, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return Store(out, a.pool);
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return Store<unsigned long long>(out, a.id);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return Store<unsigned long long>(out, 0);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return Store<unsigned>(out, 0);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// Stores what cuPointerGetAttributes reports for memory that CUDA does not know.
void StoreUnknown(void* out, CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      Store<int>(out, CU_DEVICE_INVALID);
      break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      Store<unsigned>(out, 0);
      break;
    default:
      Store<unsigned long long>(out, 0);
  }
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuPointerGetAttribute(void* out, CUpointer_attribute attribute,
                                               CUdeviceptr address) {
  FAKE_GPU_REQUIRE_READY();
  const std::optional<Allocation> found = FindAllocation(static_cast<std::uintptr_t>(address));
  FAKE_GPU_REQUIRE(out != nullptr && found, CUDA_ERROR_INVALID_VALUE);
  return Attribute(out, attribute, *found, address);
}

FAKE_GPU_EXPORT CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes,
                                                void** out, CUdeviceptr address) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(attributes != nullptr && out != nullptr, CUDA_ERROR_INVALID_VALUE);
  const std::optional<Allocation> found = FindAllocation(static_cast<std::uintptr_t>(address));
  for (unsigned i = 0; i < count; ++i) {
    if (!found || Attribute(out[i], attributes[i], *found, address) != CUDA_SUCCESS) {
      StoreUnknown(out[i], attributes[i]);
    }
  }
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuPointerSetAttribute(const void*, CUpointer_attribute attribute,
                                               CUdeviceptr address) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(FindAllocation(static_cast<std::uintptr_t>(address)), CUDA_ERROR_INVALID_VALUE);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuMemPrefetchAsync_v2(CUdeviceptr, size_t, CUmemLocation, unsigned,
                                               CUstream) {
  FAKE_GPU_REQUIRE_READY();
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuMemPrefetchAsync_v2_ptsz", "cuMemPrefetchAsync_v2");

#undef cuMemPrefetchAsync
FAKE_GPU_EXPORT CUresult cuMemPrefetchAsync(CUdeviceptr, size_t, CUdevice, CUstream) {
  FAKE_GPU_REQUIRE_READY();
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuMemPrefetchAsync_ptsz", "cuMemPrefetchAsync");

FAKE_GPU_EXPORT CUresult cuMemAdvise_v2(CUdeviceptr, size_t, CUmem_advise, CUmemLocation) {
  FAKE_GPU_REQUIRE_READY();
  return CUDA_SUCCESS;
}

#undef cuMemAdvise
FAKE_GPU_EXPORT CUresult cuMemAdvise(CUdeviceptr, size_t, CUmem_advise, CUdevice) {
  FAKE_GPU_REQUIRE_READY();
  return CUDA_SUCCESS;
}

// Hints are not stored: nothing is read-mostly, and there is no preferred location.
FAKE_GPU_EXPORT CUresult cuMemRangeGetAttribute(void* out, size_t bytes,
                                                CUmem_range_attribute attribute, CUdeviceptr,
                                                size_t) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  const bool is_location = attribute != CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
  const int value = is_location ? CU_DEVICE_INVALID : 0;
  for (std::size_t i = 0; i + sizeof value <= bytes; i += sizeof value) {
    std::memcpy(static_cast<char*>(out) + i, &value, sizeof value);
  }
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuMemRangeGetAttributes(void** out, size_t* bytes,
                                                 CUmem_range_attribute* attributes, size_t count,
                                                 CUdeviceptr address, size_t size) {
  for (std::size_t i = 0; i < count; ++i) {
    const CUresult one = cuMemRangeGetAttribute(out[i], bytes[i], attributes[i], address, size);
    if (one != CUDA_SUCCESS) return one;
  }
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuStreamAttachMemAsync(CUstream, CUdeviceptr, size_t, unsigned) {
  FAKE_GPU_REQUIRE_READY();
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuStreamAttachMemAsync_ptsz", "cuStreamAttachMemAsync");
