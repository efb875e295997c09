// SPDX-License-Identifier: Apache-2.0
#include "cuda/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "cuda/device_attributes.h"

namespace fake_gpu {
namespace {

constexpr std::size_t kAlignment = 512;  // of every real device allocation
// Larger blocks are mapped, which commits their pages on first use. Smaller ones would waste pages.
constexpr std::size_t kMappedBytes = 64 * 1024;

struct Memory {
  std::mutex mutex;
  std::map<std::uintptr_t, Allocation> by_base;
  std::map<int, std::size_t> used;  // by device
  std::map<CUmemoryPool, PoolUse> pools;
  std::uint64_t next_id = 1;
};

Memory& memory() {
  static Memory& instance = *new Memory;  // leaked: used at exit
  return instance;
}

bool UsesDevice(MemoryKind kind) {
  return kind == MemoryKind::kDevice || kind == MemoryKind::kManaged;
}

void* NewBlock(std::size_t bytes) {
  if (bytes >= kMappedBytes) {
    void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return block == MAP_FAILED ? nullptr : block;
  }
  void* block = nullptr;
  if (posix_memalign(&block, kAlignment, bytes) != 0) return nullptr;
  return std::memset(block, 0, bytes);
}

void DeleteBlock(const Allocation& allocation) {
  void* block = reinterpret_cast<void*>(allocation.base);
  if (allocation.bytes >= kMappedBytes) {
    munmap(block, allocation.bytes);
  } else {
    std::free(block);
  }
}

// The functions below REQUIRE that memory().mutex is held.

bool Reserve(int device, std::size_t bytes) {
  std::size_t& used = memory().used[device];
  if (bytes > kDeviceMemoryBytes - used) return false;
  used += bytes;
  return true;
}

std::uint64_t Insert(Allocation allocation) {
  allocation.id = memory().next_id++;
  if (allocation.pool != nullptr) {
    PoolUse& use = memory().pools[allocation.pool];
    use.current += allocation.bytes;
    use.high = std::max(use.high, use.current);
  }
  memory().by_base[allocation.base] = allocation;
  return allocation.id;
}

using Position = std::map<std::uintptr_t, Allocation>::iterator;

void Erase(Position at) {
  const Allocation& allocation = at->second;
  if (UsesDevice(allocation.kind)) memory().used[allocation.device] -= allocation.bytes;
  if (allocation.pool != nullptr) memory().pools[allocation.pool].current -= allocation.bytes;
  memory().by_base.erase(at);
}

bool IsOwned(const Allocation& allocation) {
  return allocation.kind != MemoryKind::kRegistered && allocation.kind != MemoryKind::kMapped;
}

}  // namespace

CUresult Allocate(Allocation wanted, void** out) {
  {
    const std::lock_guard lock(memory().mutex);
    if (UsesDevice(wanted.kind) && !Reserve(wanted.device, wanted.bytes)) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  void* block = NewBlock(wanted.bytes);
  const std::lock_guard lock(memory().mutex);
  if (block == nullptr) {
    if (UsesDevice(wanted.kind)) memory().used[wanted.device] -= wanted.bytes;
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  wanted.base = reinterpret_cast<std::uintptr_t>(block);
  Insert(wanted);
  *out = block;
  return CUDA_SUCCESS;
}

CUresult Free(std::uintptr_t base) {
  const std::optional<Allocation> found = FindAllocation(base);
  if (!found || found->base != base || !IsOwned(*found)) return CUDA_ERROR_INVALID_VALUE;
  if (!found->belongs_to_graph) FreeIfSame(base, found->id);
  return CUDA_SUCCESS;
}

void FreeIfSame(std::uintptr_t base, std::uint64_t id) {
  Allocation gone;
  {
    const std::lock_guard lock(memory().mutex);
    const auto found = memory().by_base.find(base);
    if (found == memory().by_base.end() || found->second.id != id) return;
    gone = found->second;
    Erase(found);
  }
  DeleteBlock(gone);
}

void FreeAllOf(const CUctx_st& context) {
  std::vector<Allocation> gone;
  {
    const std::lock_guard lock(memory().mutex);
    auto& all = memory().by_base;
    for (auto at = all.begin(); at != all.end();) {
      const auto next = std::next(at);
      if (at->second.context == &context && IsOwned(at->second)) {
        gone.push_back(at->second);
        Erase(at);
      }
      at = next;
    }
  }
  for (const Allocation& allocation : gone) DeleteBlock(allocation);
}

CUresult Track(Allocation allocation) {
  const std::lock_guard lock(memory().mutex);
  Insert(allocation);
  return CUDA_SUCCESS;
}

CUresult Untrack(std::uintptr_t base, MemoryKind kind) {
  const std::lock_guard lock(memory().mutex);
  const auto found = memory().by_base.find(base);
  if (found == memory().by_base.end() || found->second.kind != kind) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Erase(found);
  return CUDA_SUCCESS;
}

std::optional<Allocation> FindAllocation(std::uintptr_t address) {
  const std::lock_guard lock(memory().mutex);
  auto& all = memory().by_base;
  auto at = all.upper_bound(address);
  if (at == all.begin()) return std::nullopt;
  --at;
  if (address - at->first >= at->second.bytes) return std::nullopt;
  return at->second;
}

bool ReserveDeviceMemory(int device, std::size_t bytes) {
  const std::lock_guard lock(memory().mutex);
  return Reserve(device, bytes);
}

void ReleaseDeviceMemory(int device, std::size_t bytes) {
  const std::lock_guard lock(memory().mutex);
  memory().used[device] -= bytes;
}

std::size_t FreeDeviceMemory(int device) {
  const std::lock_guard lock(memory().mutex);
  return kDeviceMemoryBytes - memory().used[device];
}

PoolUse UseOf(CUmemoryPool pool) {
  const std::lock_guard lock(memory().mutex);
  return memory().pools[pool];
}

void ResetHigh(CUmemoryPool pool) {
  const std::lock_guard lock(memory().mutex);
  PoolUse& use = memory().pools[pool];
  use.high = use.current;
}

}  // namespace fake_gpu
