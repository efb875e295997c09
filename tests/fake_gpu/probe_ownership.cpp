// SPDX-License-Identifier: Apache-2.0
//
// Scenarios of clients that touch CUPTI's buffers, or hold a lock that CUPTI's callbacks need. Most
// of them end the process.
#include <sys/mman.h>

#include <condition_variable>
#include <cstring>
#include <map>

#include "probe.h"

namespace probe {
namespace {

// The memory that the client provided last; the complete callback returns it.
std::uint8_t* g_lent = nullptr;

void Remember() {
  Client::on_request = [](std::uint8_t*& buffer) { g_lent = buffer; };
}

void Flush() {
  Check(cuptiActivityFlushAll(0), "FlushAll");
}

// Overwrites the start of a pending record and launches another kernel.
void TouchRecord() {
  Gpu gpu;
  Remember();
  Client::Start();
  gpu.Launch(1000);
  g_lent[8] ^= 1;
  gpu.Launch(1000);
}

// Like TouchRecord, at a place that is checked only at delivery.
void TouchAtDelivery() {
  Gpu gpu;
  Remember();
  Client::Start();
  for (int i = 0; i < 3; ++i) gpu.Launch(1000);
  g_lent[sizeof(CUpti_ActivityKernel10) + 24] ^= 1;  // the end time of the second record
  gpu.Launch(1000);
  Print("launched", 4);
  std::fflush(stdout);
  Flush();
}

// Writes beyond the records.
void TouchRest() {
  Gpu gpu;
  Remember();
  Client::Start();
  gpu.Launch(1000);
  std::memset(g_lent + 4096, 0x11, 4096);
  Flush();
}

void ReadOwned() {
  Gpu gpu;
  Remember();
  Client::Start();
  gpu.Launch(1000);
  // Reads the middle, which is always a whole page.
  Print("read", static_cast<const volatile std::uint8_t*>(g_lent)[std::size_t{32} * 1024]);
}

void FreeOwned() {
  Gpu gpu;
  Client::buffer_bytes = std::size_t{8} * 1024;
  Remember();
  Client::Start();
  gpu.Launch(1000);
  std::free(g_lent);
  gpu.Launch(1000);
}

void UnmapOwned() {
  Gpu gpu;
  Client::buffer_bytes = std::size_t{64} * 1024;
  Client::on_request = [](std::uint8_t*& buffer) {
    std::free(buffer);
    buffer = static_cast<std::uint8_t*>(mmap(nullptr, Client::buffer_bytes, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    g_lent = buffer;
  };
  Client::Start();
  gpu.Launch(1000);
  munmap(g_lent, Client::buffer_bytes);
  Flush();
}

// Lends the same memory for every request: its contents are unspecified, but the process survives.
void LendTwice() {
  static std::uint8_t memory[64 * 1024] __attribute__((aligned(64)));
  Gpu gpu(4);
  Check(cuptiActivityRegisterCallbacks(
            [](std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
              *buffer = memory;
              *size = sizeof memory;
              *max_records = 0;
            },
            [](CUcontext, std::uint32_t, std::uint8_t*, std::size_t, std::size_t) {}),
        "RegisterCallbacks");
  Check(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "Enable");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&gpu, t] {
      Check(cuCtxSetCurrent(gpu.context()), "cuCtxSetCurrent");
      for (int i = 0; i < 1000; ++i) gpu.Launch(1000, t);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Flush();
}

// Exits without returning one buffer.
void KeepOne() {
  Gpu gpu;
  Client::Start();
  gpu.Launch(1000);
  Flush();
  gpu.Launch(1000);
}

// The client's lock: one thread holds it while another waits for it in a CUPTI callback.
std::mutex g_client;
std::mutex g_mutex;
std::condition_variable g_changed;
bool g_in_callback = false;  // guarded by g_mutex

void WaitForClientLock() {
  {
    const std::lock_guard lock(g_mutex);
    g_in_callback = true;
    g_changed.notify_all();
  }
  const std::lock_guard lock(g_client);
}

void AwaitCallback() {
  std::unique_lock lock(g_mutex);
  g_changed.wait(lock, [] { return g_in_callback; });
}

// kineto#1347: the worker is in the complete callback.
void CrossComplete(void (*call)()) {
  Gpu gpu;
  Client::buffer_bytes = 2 * sizeof(CUpti_ActivityKernel10);
  Client::on_complete = WaitForClientLock;
  Client::Start();
  const std::lock_guard held(g_client);
  gpu.Launch(1000);
  gpu.Launch(1000);
  AwaitCallback();
  call();
}

void CrossRequest(void (*call)()) {
  Gpu gpu;
  Client::on_request = [](std::uint8_t*&) { WaitForClientLock(); };
  Client::Start();
  const std::lock_guard held(g_client);
  std::thread launching([&gpu] {
    Check(cuCtxSetCurrent(gpu.context()), "cuCtxSetCurrent");
    gpu.Launch(1000);
  });
  AwaitCallback();
  call();
  launching.join();
}

void GetDropped() {
  std::size_t dropped = 0;
  cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
}

// NVIDIA's samples query dropped records in the complete callback. A lock that is released in time
// does not deadlock.
void NoDeadlock() {
  Gpu gpu;
  Client::buffer_bytes = 2 * sizeof(CUpti_ActivityKernel10);
  Client::on_complete = [] {
    const std::lock_guard lock(g_client);
    GetDropped();
  };
  Client::Start();
  for (int i = 0; i < 1000; ++i) {
    gpu.Launch(1000);
    GetDropped();
    const std::lock_guard lock(g_client);
  }
  Flush();
  Print("records", Records(Client::Take()).size());
}

void DroppedInRequest() {
  Gpu gpu;
  Client::on_request = [](std::uint8_t*&) { GetDropped(); };
  Client::Start();
  gpu.Launch(1000);
}

void Throw() {
  Gpu gpu;
  Client::on_complete = [] { throw 1; };
  Client::Start();
  gpu.Launch(1000);
  cuptiActivityFlushAll(0);
}

void FinalizeInCallback() {
  Gpu gpu;
  Client::on_complete = [] { cuptiFinalize(); };
  Client::Start();
  gpu.Launch(1000);
  cuptiActivityFlushAll(0);
}

}  // namespace

int RunOwnership(const std::string& scenario) {
  const auto flush = [] { cuptiActivityFlushAll(0); };
  const std::map<std::string, std::function<void()>> scenarios = {
      {"touch_record", TouchRecord},
      {"touch_at_delivery", TouchAtDelivery},
      {"touch_rest", TouchRest},
      {"read_owned", ReadOwned},
      {"free_owned", FreeOwned},
      {"unmap_owned", UnmapOwned},
      {"lend_twice", LendTwice},
      {"keep_one", KeepOne},
      {"dropped_across_complete", [] { CrossComplete(GetDropped); }},
      {"flush_across_complete", [=] { CrossComplete(flush); }},
      {"dropped_across_request", [] { CrossRequest(GetDropped); }},
      {"flush_across_request", [=] { CrossRequest(flush); }},
      {"no_deadlock", NoDeadlock},
      {"dropped_in_request", DroppedInRequest},
      {"throw", Throw},
      {"finalize_in_callback", FinalizeInCallback},
  };
  const auto found = scenarios.find(scenario);
  if (found == scenarios.end()) return -1;
  found->second();
  return 0;
}

}  // namespace probe
