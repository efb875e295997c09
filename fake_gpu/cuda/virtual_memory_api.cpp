// SPDX-License-Identifier: Apache-2.0
//
// Virtual memory: cuMemAddress*, cuMemCreate, cuMemMap and related functions. An address range is a
// reserved mapping of the process; physical memory is a file in memory, which can be mapped several
// times.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "cuda/memory.h"
#include "cuda/settings.h"
#include "cuda/state.h"

namespace fake_gpu {
namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20;

// Physical is memory without an address: a CUmemGenericAllocationHandle.
struct Physical {
  CUmemAllocationProp properties = {};
  std::size_t bytes = 0;
  int file = -1;
  int handles = 1;   // from cuMemCreate and cuMemRetainAllocationHandle
  int mappings = 0;  // keep the memory although all handles were released
};

struct Mapping {
  std::size_t bytes;
  Physical* physical;
};

struct VirtualMemory {
  std::mutex mutex;
  std::map<std::uintptr_t, std::size_t> reserved;
  std::map<std::uintptr_t, Mapping> mapped;
};

VirtualMemory& virtual_memory() {
  static VirtualMemory& instance = *new VirtualMemory;  // leaked: used at exit
  return instance;
}

Physical* FromHandle(CUmemGenericAllocationHandle handle) {
  return reinterpret_cast<Physical*>(static_cast<std::uintptr_t>(handle));
}

CUmemGenericAllocationHandle ToHandle(Physical* physical) {
  return static_cast<CUmemGenericAllocationHandle>(reinterpret_cast<std::uintptr_t>(physical));
}

void* Pointer(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);
}

void DeleteIfUnused(Physical* physical) {
  if (physical->handles != 0 || physical->mappings != 0) return;
  ReleaseDeviceMemory(physical->properties.location.id, physical->bytes);
  close(physical->file);
  delete physical;
}

// Returns an empty file in memory. The library also runs with C libraries without memfd_create.
int NewFile() {
  constexpr unsigned kCloseOnExec = 1;  // MFD_CLOEXEC
  return static_cast<int>(syscall(SYS_memfd_create, "simulated device memory", kCloseOnExec));
}

bool IsAligned(std::uint64_t value) {
  return value % kGranularity == 0;
}

// Reserves an aligned range: maps more than needed and gives the ends back.
std::uintptr_t ReserveRange(std::uintptr_t wanted, std::size_t bytes, std::size_t alignment) {
  void* all = mmap(Pointer(wanted), bytes + alignment, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return 0;
  const auto begin = reinterpret_cast<std::uintptr_t>(all);
  const std::uintptr_t aligned = (begin + alignment - 1) / alignment * alignment;
  if (aligned != begin) munmap(all, aligned - begin);
  const std::size_t rest = begin + alignment - aligned;
  if (rest != 0) munmap(Pointer(aligned + bytes), rest);
  return aligned;
}

// Reserves a range again whose mapping is gone.
bool MapNothing(std::uintptr_t base, std::size_t bytes) {
  return mmap(Pointer(base), bytes, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

// REQUIRES: the mutex is held.
bool IsReserved(std::uintptr_t base, std::size_t bytes) {
  auto at = virtual_memory().reserved.upper_bound(base);
  if (at == virtual_memory().reserved.begin()) return false;
  --at;
  return base - at->first <= at->second && bytes <= at->second - (base - at->first);
}

// REQUIRES: the mutex is held.
Mapping* FindMapping(std::uintptr_t address) {
  auto at = virtual_memory().mapped.upper_bound(address);
  if (at == virtual_memory().mapped.begin()) return nullptr;
  --at;
  return address - at->first < at->second.bytes ? &at->second : nullptr;
}

}  // namespace
}  // namespace fake_gpu

using namespace fake_gpu;

FAKE_GPU_EXPORT CUresult cuMemGetAllocationGranularity(size_t* out, const CUmemAllocationProp*,
                                                       CUmemAllocationGranularity_flags) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = kGranularity;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuMemAddressReserve(CUdeviceptr* out, size_t bytes, size_t alignment,
                                             CUdeviceptr address, unsigned long long) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && bytes != 0 && IsAligned(bytes), CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE((alignment & (alignment - 1)) == 0, CUDA_ERROR_INVALID_VALUE);
  const std::uintptr_t base = ReserveRange(static_cast<std::uintptr_t>(address), bytes,
                                           alignment < kGranularity ? kGranularity : alignment);
  FAKE_GPU_REQUIRE(base != 0, CUDA_ERROR_OUT_OF_MEMORY);
  const std::lock_guard lock(virtual_memory().mutex);
  virtual_memory().reserved[base] = bytes;
  *out = static_cast<CUdeviceptr>(base);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  FAKE_GPU_REQUIRE_READY();
  const std::lock_guard lock(virtual_memory().mutex);
  const auto found = virtual_memory().reserved.find(static_cast<std::uintptr_t>(address));
  FAKE_GPU_REQUIRE(found != virtual_memory().reserved.end() && found->second == bytes,
                   CUDA_ERROR_INVALID_VALUE);
  munmap(Pointer(found->first), found->second);
  virtual_memory().reserved.erase(found);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle* out, size_t bytes,
                                     const CUmemAllocationProp* properties, unsigned long long) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && properties != nullptr && bytes != 0 && IsAligned(bytes),
                   CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE,
                   CUDA_ERROR_NOT_SUPPORTED);
  FAKE_GPU_REQUIRE(properties->location.id >= 0 && properties->location.id < settings().devices,
                   CUDA_ERROR_INVALID_DEVICE);
  FAKE_GPU_REQUIRE(ReserveDeviceMemory(properties->location.id, bytes), CUDA_ERROR_OUT_OF_MEMORY);
  const int file = NewFile();
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    if (file >= 0) close(file);
    ReleaseDeviceMemory(properties->location.id, bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *out = ToHandle(new Physical{*properties, bytes, file});
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(handle != 0, CUDA_ERROR_INVALID_VALUE);
  const std::lock_guard lock(virtual_memory().mutex);
  --FromHandle(handle)->handles;
  DeleteIfUnused(FromHandle(handle));
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                                  CUmemGenericAllocationHandle handle, unsigned long long) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(handle != 0 && IsAligned(address) && IsAligned(bytes), CUDA_ERROR_INVALID_VALUE);
  Physical* physical = FromHandle(handle);
  FAKE_GPU_REQUIRE(offset + bytes <= physical->bytes, CUDA_ERROR_INVALID_VALUE);
  const auto base = static_cast<std::uintptr_t>(address);
  const std::lock_guard lock(virtual_memory().mutex);
  FAKE_GPU_REQUIRE(IsReserved(base, bytes) && FindMapping(base) == nullptr,
                   CUDA_ERROR_INVALID_VALUE);
  // As in CUDA, cuMemSetAccess makes the memory accessible.
  void* mapped = mmap(Pointer(base), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->file,
                      static_cast<off_t>(offset));
  FAKE_GPU_REQUIRE(mapped != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
  ++physical->mappings;
  virtual_memory().mapped[base] = {bytes, physical};
  Allocation allocation;
  allocation.base = base;
  allocation.bytes = bytes;
  allocation.kind = MemoryKind::kMapped;
  allocation.device = physical->properties.location.id;
  return Track(allocation);
}

FAKE_GPU_EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  FAKE_GPU_REQUIRE_READY();
  const auto begin = static_cast<std::uintptr_t>(address);
  const std::lock_guard lock(virtual_memory().mutex);
  auto& mapped = virtual_memory().mapped;
  auto at = mapped.lower_bound(begin);
  FAKE_GPU_REQUIRE(at != mapped.end() && at->first == begin, CUDA_ERROR_INVALID_VALUE);
  // The range may cover several whole mappings.
  while (at != mapped.end() && at->first < begin + bytes) {
    MapNothing(at->first, at->second.bytes);
    Untrack(at->first, MemoryKind::kMapped);
    --at->second.physical->mappings;
    DeleteIfUnused(at->second.physical);
    at = mapped.erase(at);
  }
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes,
                                        const CUmemAccessDesc* access, size_t count) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(access != nullptr && count != 0, CUDA_ERROR_INVALID_VALUE);
  // The CPU does all accesses, so one device with access is enough.
  int protection = PROT_NONE;
  for (std::size_t i = 0; i < count; ++i) {
    if (access[i].flags & CU_MEM_ACCESS_FLAGS_PROT_READ) protection |= PROT_READ;
    if (access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) protection |= PROT_WRITE;
  }
  const auto base = static_cast<std::uintptr_t>(address);
  const std::lock_guard lock(virtual_memory().mutex);
  FAKE_GPU_REQUIRE(IsReserved(base, bytes) && FindMapping(base) != nullptr,
                   CUDA_ERROR_INVALID_VALUE);
  return mprotect(Pointer(base), bytes, protection) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_GPU_EXPORT CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation*,
                                        CUdeviceptr address) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(flags != nullptr, CUDA_ERROR_INVALID_VALUE);
  const std::lock_guard lock(virtual_memory().mutex);
  FAKE_GPU_REQUIRE(FindMapping(static_cast<std::uintptr_t>(address)) != nullptr,
                   CUDA_ERROR_INVALID_VALUE);
  *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out,
                                                     void* address) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  const std::lock_guard lock(virtual_memory().mutex);
  const Mapping* mapping = FindMapping(reinterpret_cast<std::uintptr_t>(address));
  FAKE_GPU_REQUIRE(mapping != nullptr, CUDA_ERROR_INVALID_VALUE);
  ++mapping->physical->handles;
  *out = ToHandle(mapping->physical);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuMemGetAllocationPropertiesFromHandle(
    CUmemAllocationProp* out, CUmemGenericAllocationHandle handle) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && handle != 0, CUDA_ERROR_INVALID_VALUE);
  *out = FromHandle(handle)->properties;
  return CUDA_SUCCESS;
}
