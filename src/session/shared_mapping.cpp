// SPDX-License-Identifier: Apache-2.0
#include "session/shared_mapping.h"

#include <signal.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <mutex>
#include <utility>

namespace stemtap::session {

// Regions are reused and never freed, so that the handler can walk the list at any time.
struct SharedMapping::Region {
  // `begin` is written by Map and the destructor, and read by the handler; 0 means free. The
  // release store in Map publishes `bytes` and pairs with the handler's acquire.
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::size_t> bytes{0};
  // Written by the handler after the memory is replaced (release), read by lost() (acquire).
  std::atomic<bool> lost{false};
  Region* next = nullptr;       // set before the region is in the list
  Region* next_free = nullptr;  // under g_lock
};

namespace {

using Region = SharedMapping::Region;

// The list that the handler walks. Written under g_lock (release), read by the handler (acquire).
std::atomic<Region*> g_regions{nullptr};
std::mutex g_lock;         // serializes Map and the destructor; the handler does not take it
Region* g_free = nullptr;  // regions of mappings that ended; under g_lock

// Runs on the thread that accessed the page. When it returns, the access is repeated.
void OnBusError(int signal, siginfo_t* info, void*) {
  const int before = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Region* r = g_regions.load(std::memory_order_acquire);
       info->si_code == BUS_ADRERR && r != nullptr; r = r->next) {
    const std::uintptr_t begin = r->begin.load(std::memory_order_acquire);
    const std::size_t bytes = r->bytes.load(std::memory_order_relaxed);
    if (begin == 0 || address < begin || address - begin >= bytes) continue;
    if (::mmap(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
      break;
    }
    r->lost.store(true, std::memory_order_release);
    errno = before;
    return;
  }
  ::signal(signal, SIG_DFL);
  if (info->si_code <= 0) ::raise(signal);  // sent by a process: no access will raise it again
}

void InstallHandler() {
  struct sigaction action {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
  // A fault whose signal is blocked ends the process. Threads that start later inherit the mask.
  sigset_t bus;
  sigemptyset(&bus);
  sigaddset(&bus, SIGBUS);
  ::sigprocmask(SIG_UNBLOCK, &bus, nullptr);
}

// Returns a region that the handler ignores so far.
Region* TakeRegion() {
  static std::once_flag installed;
  std::call_once(installed, InstallHandler);
  if (g_free != nullptr) return std::exchange(g_free, g_free->next_free);
  auto* region = new Region;
  region->next = g_regions.load(std::memory_order_relaxed);
  g_regions.store(region, std::memory_order_release);
  return region;
}

}  // namespace

std::optional<SharedMapping> SharedMapping::Map(int fd, std::size_t bytes) {
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (memory == MAP_FAILED) return std::nullopt;
  if (fd < 0) return SharedMapping(memory, bytes, nullptr);
  const std::lock_guard lock(g_lock);
  Region* region = TakeRegion();
  region->lost.store(false, std::memory_order_relaxed);
  region->bytes.store(bytes, std::memory_order_relaxed);
  region->begin.store(reinterpret_cast<std::uintptr_t>(memory), std::memory_order_release);
  return SharedMapping(memory, bytes, region);
}

SharedMapping::SharedMapping(SharedMapping&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      bytes_(other.bytes_),
      region_(std::exchange(other.region_, nullptr)) {}

SharedMapping::~SharedMapping() {
  if (memory_ == nullptr) return;
  if (region_ != nullptr) {
    const std::lock_guard lock(g_lock);
    region_->begin.store(0, std::memory_order_relaxed);
    region_->next_free = std::exchange(g_free, region_);
  }
  ::munmap(memory_, bytes_);
}

bool SharedMapping::lost() const {
  return region_ != nullptr && region_->lost.load(std::memory_order_acquire);
}

}  // namespace stemtap::session
