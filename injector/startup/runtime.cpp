// SPDX-License-Identifier: Apache-2.0
#include "startup/runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <exception>

#include "shm/session_env.h"

// These functions are in libpthread and libdl before glibc 2.34, and in libc since. With weak
// bindings to their oldest version, the library depends on neither file. In a program without
// threads or a loader they are null, and the callers below handle that.
#if defined(__x86_64__)
#define STEMTAP_OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define STEMTAP_OLDEST "GLIBC_2.17"
#endif
#ifdef STEMTAP_OLDEST
__asm__(".symver pthread_create, pthread_create@" STEMTAP_OLDEST);
__asm__(".symver pthread_detach, pthread_detach@" STEMTAP_OLDEST);
__asm__(".symver dlopen, dlopen@" STEMTAP_OLDEST);
__asm__(".symver dlsym, dlsym@" STEMTAP_OLDEST);
__asm__(".symver dlerror, dlerror@" STEMTAP_OLDEST);
__asm__(".symver dlclose, dlclose@" STEMTAP_OLDEST);
#endif
#pragma weak pthread_create
#pragma weak pthread_detach
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlerror
#pragma weak dlclose

extern "C" {
// The function behind pthread_atfork. The wrapper itself is linked statically from an archive that
// differs between older and newer C libraries.
int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(), void* dso)
    __attribute__((weak));
extern void* __dso_handle;
}

namespace boost {
// Boost.Lockfree's constructors can throw in theory; nothing catches here.
[[noreturn]] void throw_exception(const std::exception&) {
  __builtin_trap();
}
}  // namespace boost

namespace stemtap::inject {
namespace {

std::uint64_t ClockNs(clockid_t clock) noexcept {
  timespec now;
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

struct Visit {
  ModuleVisitor visit;
  void* argument;
};

int VisitModule(dl_phdr_info* info, std::size_t, void* argument) {
  const auto* v = static_cast<const Visit*>(argument);
  return info->dlpi_name != nullptr && v->visit(info->dlpi_name, v->argument) ? 1 : 0;
}

// Finds the object whose segments contain `address`.
struct Search {
  std::uintptr_t address;
  const char* name;
};

int HoldsAddress(dl_phdr_info* info, std::size_t, void* argument) {
  auto* search = static_cast<Search*>(argument);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && search->address >= begin &&
        search->address < begin + segment.p_memsz) {
      search->name = info->dlpi_name;
      return 1;
    }
  }
  return 0;
}

}  // namespace

std::uint64_t MonotonicNs() noexcept {
  return ClockNs(CLOCK_MONOTONIC);
}
std::uint64_t RealtimeNs() noexcept {
  return ClockNs(CLOCK_REALTIME);
}
bool DescribeFile(int directory, const char* path, int flags, struct stat& about) noexcept {
  return ::syscall(SYS_newfstatat, directory, path, &about, flags) == 0;
}

std::uint64_t ThreadNumber() noexcept {
  return static_cast<std::uint64_t>(::pthread_self());
}
std::uint64_t ThreadCpuNs() noexcept {
  return ClockNs(CLOCK_THREAD_CPUTIME_ID);
}
std::uint64_t ProcessCpuNs() noexcept {
  return ClockNs(CLOCK_PROCESS_CPUTIME_ID);
}

void FutexWait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
               std::uint32_t timeout_ms) noexcept {
  timespec timeout = {static_cast<time_t>(timeout_ms / 1000),
                      static_cast<long>(timeout_ms % 1000) * 1000000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &timeout, nullptr, 0);
}

void FutexWakeAll(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void SleepMs(std::uint32_t ms) noexcept {
  std::atomic<std::uint32_t> never{0};  // never changes, so that waiting on it is a sleep
  FutexWait(never, 0, ms);
}

bool StartThread(void* (*body)(void*), void* argument) noexcept {
  if (pthread_create == nullptr || pthread_detach == nullptr) return false;
  // The new thread inherits the mask. On Linux, sigprocmask affects only the calling thread.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, body, argument) == 0;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (started) pthread_detach(thread);
  return started;
}

int StartSharingProcess(int (*body)(void*), unsigned char* stack_end, int signal,
                        void* argument) noexcept {
  const long flags = CLONE_VM | CLONE_VFORK | signal;
  // The child returns from the system call to a stack that contains only these two words, aligned
  // as at a function call.
  auto** stack = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(stack_end) & ~15ul);
  *--stack = argument;
  *--stack = reinterpret_cast<void*>(body);
#if defined(__x86_64__)
  long result = SYS_clone;
  register long child_id __asm__("r10") = 0;
  register long thread_area __asm__("r8") = 0;
  __asm__ volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xorl %%ebp, %%ebp\n\t"
      "popq %%rax\n\t"
      "popq %%rdi\n\t"
      "callq *%%rax\n\t"
      "hlt\n"
      "1:"
      : "+a"(result)
      : "D"(flags), "S"(stack), "d"(0L), "r"(child_id), "r"(thread_area)
      : "rcx", "r11", "cc", "memory");
  return static_cast<int>(result);
#elif defined(__aarch64__)
  register long number __asm__("x8") = SYS_clone;
  register long result __asm__("x0") = flags;
  register void** child_stack __asm__("x1") = stack;
  register long parent_id __asm__("x2") = 0;
  register long thread_area __asm__("x3") = 0;
  register long child_id __asm__("x4") = 0;
  __asm__ volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, #0\n\t"
      "ldp x9, x0, [sp], #16\n\t"
      "blr x9\n\t"
      "brk #0\n"
      "1:"
      : "+r"(result)
      : "r"(number), "r"(child_stack), "r"(parent_id), "r"(thread_area), "r"(child_id)
      : "cc", "memory");
  return static_cast<int>(result);
#else
  const int pid = ::clone(body, stack, static_cast<int>(flags), argument);
  return pid < 0 ? -errno : pid;
#endif
}

void* OpenLibrary(const char* path, bool only_loaded) noexcept {
  if (dlopen == nullptr) return nullptr;
  return dlopen(path, RTLD_NOW | RTLD_LOCAL | (only_loaded ? RTLD_NOLOAD : 0));
}

void CloseLibrary(void* library) noexcept {
  if (dlclose != nullptr) dlclose(library);
}

void* FindSymbol(void* library, const char* name) noexcept {
  if (dlsym == nullptr || library == nullptr) return nullptr;
  return dlsym(library, name);
}

const char* LoadError(const char* path) noexcept {
  const char* error = dlerror == nullptr ? nullptr : dlerror();
  return error == nullptr ? path : error;
}

void* FindGlobalSymbol(const char* name) noexcept {
  return dlsym == nullptr ? nullptr : dlsym(RTLD_DEFAULT, name);
}

void ForEachModule(ModuleVisitor visit, void* argument) noexcept {
  Visit v{visit, argument};
  ::dl_iterate_phdr(VisitModule, &v);
}

// Returns the path by which this library was loaded, or null.
static const char* LoadedAs() noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(&LoadedAs), nullptr};
  ::dl_iterate_phdr(HoldsAddress, &search);
  return search.name;
}

bool OwnPath(char* path, std::size_t size) noexcept {
  const char* const name = LoadedAs();
  if (name == nullptr || name[0] == 0) return false;
  char absolute[PATH_MAX];
  if (::realpath(name, absolute) == nullptr) return false;
  const std::size_t length = ::strlen(absolute);
  if (length + 1 > size) return false;
  ::memcpy(path, absolute, length + 1);
  return true;
}

bool IsAttached() noexcept {
  const char* const name = LoadedAs();
  return name != nullptr && ::strncmp(name, shm::kAttachPrefix, ::strlen(shm::kAttachPrefix)) == 0;
}

bool HasOtherThreads() noexcept {
  // The directory has one entry per thread, and a directory has as many links as entries for
  // directories, "." and "..".
  struct stat tasks;
  return DescribeFile(AT_FDCWD, "/proc/self/task", 0, tasks) && tasks.st_nlink > 3;
}

void OnForkInChild(void (*handler)()) noexcept {
  if (__register_atfork != nullptr) __register_atfork(nullptr, nullptr, handler, __dso_handle);
}

bool ParseNumber(const char* text, std::uint32_t least, std::uint32_t most,
                 std::uint32_t& number) noexcept {
  std::uint64_t value = 0;
  if (*text == 0) return false;
  for (const char* c = text; *c != 0; ++c) {
    if (*c < '0' || *c > '9' || value > most) return false;
    value = value * 10 + static_cast<std::uint64_t>(*c - '0');
  }
  if (value < least || value > most) return false;
  number = static_cast<std::uint32_t>(value);
  return true;
}

std::uint64_t ArenaAddresses() noexcept {
  constexpr std::uint64_t kArena = std::uint64_t{64} << 20;
  const char* most = ::getenv("MALLOC_ARENA_MAX");
  std::uint32_t arenas = 0;
  if (most != nullptr && ParseNumber(most, 1, 1u << 20, arenas)) return arenas * kArena;
  const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  return static_cast<std::uint64_t>(cores < 1 ? 1 : cores) * 8 * kArena;
}

std::uint64_t AddressLimit() noexcept {
  rlimit limit;
  if (::getrlimit(RLIMIT_AS, &limit) != 0) return ~std::uint64_t{0};
  static_assert(RLIM_INFINITY == ~std::uint64_t{0});
  return limit.rlim_cur;
}

void* MapMemory(std::size_t bytes) noexcept {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void SpinLock::Lock() noexcept {
  bool expected = false;
  // Acquire: pairs with the release in Unlock.
  while (!held_.compare_exchange_weak(expected, true, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
    expected = false;
    ::sched_yield();
  }
}

}  // namespace stemtap::inject
