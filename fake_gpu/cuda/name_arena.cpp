// SPDX-License-Identifier: Apache-2.0
#include "cuda/name_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "cuda/settings.h"
#include "cuda/state.h"

namespace fake_gpu {
namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr std::size_t kPageBytes = 4096;

}  // namespace

NameArena::~NameArena() {
  const FakeGpuHooks* hooks = g_hooks.load(std::memory_order_acquire);
  const bool hand_over = hooks != nullptr && !settings().stale_names;
  for (const Chunk& chunk : chunks_) {
    if (hand_over) {
      hooks->retire_names(chunk.base, chunk.bytes);
    } else {
      munmap(chunk.base, chunk.bytes);
    }
  }
}

std::string_view NameArena::Add(std::string_view name) {
  const std::size_t needed = name.size() + 1;
  if (chunks_.empty() || chunks_.back().bytes - chunks_.back().used < needed) {
    const std::size_t bytes =
        std::max(kChunkBytes, (needed + kPageBytes - 1) / kPageBytes * kPageBytes);
    void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    chunks_.push_back({static_cast<char*>(base), bytes, 0});
  }
  Chunk& chunk = chunks_.back();
  char* copy = chunk.base + chunk.used;
  std::memcpy(copy, name.data(), name.size());
  copy[name.size()] = '\0';
  chunk.used += needed;
  return {copy, name.size()};
}

}  // namespace fake_gpu
