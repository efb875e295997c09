// SPDX-License-Identifier: Apache-2.0
//
// Operating system services for the injected library. The library links only libc, so that it loads
// into any process in microseconds and conflicts with nothing. It uses no exceptions and no RTTI,
// and allocates with mmap instead of the application's heap.
//
// THREADS: every function may be called from any thread.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stemtap::inject {

std::uint64_t MonotonicNs() noexcept;
std::uint64_t RealtimeNs() noexcept;
// CPU time of the calling thread, and of the whole process.
std::uint64_t ThreadCpuNs() noexcept;
std::uint64_t ProcessCpuNs() noexcept;

// Returns an id that is unique among the live threads of the process; never 0.
std::uint64_t ThreadNumber() noexcept;

// Sleeps while *word == expected, for at most `timeout_ms`. May return early.
void FutexWait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
               std::uint32_t timeout_ms) noexcept;
void FutexWakeAll(std::atomic<std::uint32_t>& word) noexcept;
// May return early.
void SleepMs(std::uint32_t ms) noexcept;

// Starts a detached thread with all signals blocked, so that the application's handlers do not run
// on it. Returns false if the process cannot start threads.
bool StartThread(void* (*body)(void*), void* argument) noexcept;

// Starts a process that shares this process's memory and runs body(argument), which must not
// return, on the stack below `stack_end`. When it ends, the kernel sends `signal` to the parent, or
// nothing if `signal` is 0. Returns after the process has ended or called exec: its id, or a
// negative error code. Uses a raw system call, because clang's ThreadSanitizer mistakes libc's
// clone for fork and ends the program.
int StartSharingProcess(int (*body)(void*), unsigned char* stack_end, int signal,
                        void* argument) noexcept;

// Wrap dlopen and dlsym. Return nullptr on failure, or if the program has no dynamic loader. With
// `only_loaded`, OpenLibrary returns a handle only if the library is already loaded.
void* OpenLibrary(const char* path, bool only_loaded) noexcept;
void CloseLibrary(void* library) noexcept;
void* FindSymbol(void* library, const char* name) noexcept;
// Returns the loader's message for the last failed OpenLibrary of this thread, which begins with
// the path. Returns `path` if there is no message.
const char* LoadError(const char* path) noexcept;
// Looks up `name` in the program and the libraries loaded with it, including preloaded libraries.
void* FindGlobalSymbol(const char* name) noexcept;

// Calls visit(path, argument) for every loaded object until it returns true.
using ModuleVisitor = bool (*)(const char* path, void* argument);
void ForEachModule(ModuleVisitor visit, void* argument) noexcept;
// Writes the absolute path of this library to `path`. Returns false if it cannot be determined.
bool OwnPath(char* path, std::size_t size) noexcept;

// Returns whether 'stemtap attach' has loaded this library (shm::kAttachPrefix).
bool IsAttached() noexcept;

// Returns whether the process is known to have more than one thread.
bool HasOtherThreads() noexcept;

// Describes the file that `path` names in `directory`, as fstatat does; with AT_EMPTY_PATH, the
// file that is open as `directory`. Not fstatat itself, which is a symbol of GLIBC_2.33. Returns
// false and sets errno on failure.
bool DescribeFile(int directory, const char* path, int flags, struct stat& about) noexcept;

// Registers a handler to run in forked children. Does nothing if the C library lacks support.
void OnForkInChild(void (*handler)()) noexcept;

// Parses all of `text` as a decimal number from `least` to `most`. Returns false if it is not one.
// Not strtoul, because newer headers rename it to a symbol of GLIBC_2.38.
bool ParseNumber(const char* text, std::uint32_t least, std::uint32_t most,
                 std::uint32_t& number) noexcept;

// Returns the bytes of address space that glibc's malloc may reserve when all threads allocate: 64
// MiB per arena, MALLOC_ARENA_MAX arenas or else eight per core (mallopt(3)).
std::uint64_t ArenaAddresses() noexcept;

// Returns RLIMIT_AS, the address space limit of the process in bytes; all ones if unlimited.
std::uint64_t AddressLimit() noexcept;

// Returns zeroed, prefaulted memory in its own pages, or nullptr if out of memory.
void* MapMemory(std::size_t bytes) noexcept;

// SpinLock is a lock for background threads, which hold it for microseconds. It is never taken on
// the launch path and never held across a CUPTI call that could call back.
class SpinLock {
 public:
  void Lock() noexcept;
  void Unlock() noexcept {
    // Release: publishes the holder's writes to the next holder; pairs with the acquire in Lock.
    held_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace stemtap::inject
