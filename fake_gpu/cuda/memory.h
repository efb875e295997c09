// SPDX-License-Identifier: Apache-2.0
//
// The memory of the simulated devices, which is host memory. It is zeroed when it is allocated, so
// that the output of programs whose kernels compute nothing does not vary, and large blocks use
// physical memory only once they are written. Every allocation is tracked by its address.
//
// THREADS: any.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace fake_gpu {

enum class MemoryKind {
  kDevice,
  kManaged,
  kPinned,      // host memory from cuMemHostAlloc
  kRegistered,  // host memory of the program, from cuMemHostRegister
  kMapped,      // a mapping of cuMemMap
  kGlobal,      // a variable of a module
};

// Allocation is a range of memory that the driver knows.
struct Allocation {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::kDevice;
  int device = 0;
  CUctx_st* context = nullptr;    // may be null
  unsigned flags = 0;             // of cuMemHostAlloc or cuMemHostRegister
  CUmemoryPool pool = nullptr;    // of cuMemAllocAsync
  bool belongs_to_graph = false;  // the program cannot free it
  std::uint64_t id = 0;           // unique in the process; set by Allocate and Track

  bool is_host() const { return kind == MemoryKind::kPinned || kind == MemoryKind::kRegistered; }
};

// Returns the default memory pool of a device.
CUmemoryPool DefaultPool(int device);

// Allocates `wanted.bytes` and stores the address in `out`. Returns CUDA_ERROR_OUT_OF_MEMORY if the
// device has less free memory.
CUresult Allocate(Allocation wanted, void** out);
// Frees what Allocate returned. Returns CUDA_ERROR_INVALID_VALUE for any other address. Memory of a
// graph remains, because later launches use it again.
CUresult Free(std::uintptr_t base);
// Frees the allocation only if it still has this id.
void FreeIfSame(std::uintptr_t base, std::uint64_t id);
// Frees the allocations of a context that is about to be destroyed.
void FreeAllOf(const CUctx_st& context);

// Tracks memory that somebody else owns.
CUresult Track(Allocation allocation);
// Returns CUDA_ERROR_INVALID_VALUE if no allocation of this kind starts at `base`.
CUresult Untrack(std::uintptr_t base, MemoryKind kind);

// Returns the allocation that contains `address`.
std::optional<Allocation> FindAllocation(std::uintptr_t address);
inline std::optional<Allocation> FindAllocation(const void* address) {
  return FindAllocation(reinterpret_cast<std::uintptr_t>(address));
}

// Reserves device memory that has no address: cuMemCreate. Returns whether the device has enough.
bool ReserveDeviceMemory(int device, std::size_t bytes);
void ReleaseDeviceMemory(int device, std::size_t bytes);

std::size_t FreeDeviceMemory(int device);

// PoolUse is the memory that a pool has handed out.
struct PoolUse {
  std::size_t current = 0;
  std::size_t high = 0;
};
PoolUse UseOf(CUmemoryPool pool);
void ResetHigh(CUmemoryPool pool);

}  // namespace fake_gpu
