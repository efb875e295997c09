// SPDX-License-Identifier: Apache-2.0
#include "cupti/driver.h"

#include <dlfcn.h>

#include <cstdio>
#include <mutex>

#include "cupti/buffers.h"
#include "cupti/callbacks.h"
#include "cupti/entry.h"
#include "cupti/names.h"
#include "cupti/ownership.h"

namespace fake_cupti {
namespace {

void OnResource(const FakeGpuResource* resource) {
  if (resource->cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED) RecordModuleLoad();
  DispatchResource(resource);
}

// Reports the buffer counts for the ground truth.
void Report(char* text, std::size_t bytes) {
  const Ownership sums = OwnershipSoFar();
  std::snprintf(text, bytes,
                " buffers_lent %llu buffers_unreturned %llu buffers_lent_twice %llu "
                "buffers_unzeroed %llu",
                static_cast<unsigned long long>(sums.lent),
                static_cast<unsigned long long>(sums.lent - sums.returned),
                static_cast<unsigned long long>(sums.lent_twice),
                static_cast<unsigned long long>(sums.unzeroed));
}

constexpr FakeGpuHooks kHooks = {DispatchApi, RecordKernel, RecordGraph,
                                 OnResource,  RetireNames,  Report};

Driver g_driver = {};
std::atomic<bool> g_connected{false};
std::mutex g_mutex;
std::uint32_t g_interest = 0;

template <typename Function>
bool Resolve(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool ResolveAll(void* library, Driver& driver) {
  return Resolve(library, "fakeGpuConnect", driver.connect) &&
         Resolve(library, "fakeGpuSetInterest", driver.set_interest) &&
         Resolve(library, "fakeGpuNow", driver.now) &&
         Resolve(library, "fakeGpuClockIsVirtual", driver.clock_is_virtual) &&
         Resolve(library, "fakeGpuSpend", driver.spend) &&
         Resolve(library, "fakeGpuClockStepNow", driver.clock_step) &&
         Resolve(library, "fakeGpuContextUid", driver.context_uid) &&
         Resolve(library, "fakeGpuStreamId", driver.stream_id) &&
         Resolve(library, "fakeGpuContextDevice", driver.context_device) &&
         Resolve(library, "fakeGpuGraphExecId", driver.graph_exec_id);
}

}  // namespace

const Driver* ConnectedDriver() {
  // Acquire: pairs with the release below and makes g_driver visible.
  if (g_connected.load(std::memory_order_acquire)) return &g_driver;
  const std::lock_guard lock(g_mutex);
  if (g_connected.load(std::memory_order_relaxed)) return &g_driver;
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  Driver driver;
  if (!ResolveAll(library, driver)) return nullptr;
  g_driver = driver;
  g_driver.connect(&kHooks);
  MarkUsed();
  g_connected.store(true, std::memory_order_release);
  return &g_driver;
}

bool HasEnded(std::uint64_t end_ns) {
  return g_driver.clock_is_virtual() != 0 || end_ns <= g_driver.now();
}

void SpendOverhead(std::uint64_t duration_ns) {
  if (duration_ns != 0) g_driver.spend(duration_ns);
}

void SetInterest(std::uint32_t which, bool on) {
  const std::lock_guard lock(g_mutex);
  g_interest = on ? g_interest | which : g_interest & ~which;
  g_driver.set_interest(g_interest);
}

}  // namespace fake_cupti
