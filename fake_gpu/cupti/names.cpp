// SPDX-License-Identifier: Apache-2.0
#include "cupti/names.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "cupti/delivery.h"

namespace fake_cupti {
namespace {

struct Mapping {
  void* base;
  std::size_t bytes;
  std::uint64_t before;  // buffers with a lower sequence may point into it
};

std::mutex g_mutex;
std::vector<Mapping>& Retired() {
  static std::vector<Mapping>& retired = *new std::vector<Mapping>;  // leaked: used at exit
  return retired;
}
std::atomic<bool> g_any{false};

}  // namespace

void RetireNames(void* mapping, std::size_t bytes) {
  {
    const std::lock_guard lock(g_mutex);
    Retired().push_back({mapping, bytes, NextBufferSequence()});
    g_any.store(true, std::memory_order_relaxed);
  }
  ReleaseRetiredNames();
}

void ReleaseRetiredNames() {
  if (!g_any.load(std::memory_order_relaxed)) return;
  const std::uint64_t oldest = OldestBufferSequence();
  const std::lock_guard lock(g_mutex);
  std::vector<Mapping> kept;
  for (const Mapping& mapping : Retired()) {
    if (mapping.before > oldest) {
      kept.push_back(mapping);
    } else {
      munmap(mapping.base, mapping.bytes);
    }
  }
  Retired().swap(kept);
  g_any.store(!Retired().empty(), std::memory_order_relaxed);
}

}  // namespace fake_cupti
