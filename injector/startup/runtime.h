// SPDX-License-Identifier: Apache-2.0
//
// What the injected library needs of the operating system, and nothing else: it links libc alone,
// so that it loads into any process in microseconds and clashes with nothing. No exceptions, no
// RTTI, no allocation from the application's heap: memory comes from mmap.
//
// THREADS: every function may be called from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stemtap::inject {

std::uint64_t MonotonicNs() noexcept;
std::uint64_t RealtimeNs() noexcept;
// Time on a processor, of the calling thread and of the whole process.
std::uint64_t ThreadCpuNs() noexcept;
std::uint64_t ProcessCpuNs() noexcept;

// Tells the threads of the process apart; never 0.
std::uint64_t ThreadNumber() noexcept;

// Sleeps while *word == expected, at most `timeout_ms`; may return early.
void FutexWait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
               std::uint32_t timeout_ms) noexcept;
void FutexWakeAll(std::atomic<std::uint32_t>& word) noexcept;

// Starts a detached thread with every signal blocked (the application's handlers must not run on
// it). False if that is not possible here.
bool StartThread(void* (*body)(void*), void* argument) noexcept;

// Starts a process that shares this one's memory and runs body(argument), which must not return, on
// the stack below `stack_end`. At its end the parent is sent `signal`, or nothing if that is 0.
// Returns when that process has ended or become another program: its id, or a negative error code.
// This is a raw system call: clang's ThreadSanitizer takes libc's clone for fork, and ends the
// program.
int StartSharingProcess(int (*body)(void*), unsigned char* stack_end, int signal,
                        void* argument) noexcept;

// dlopen and dlsym, nullptr where they fail or do not exist (a program without a dynamic loader).
// `only_loaded`: a handle to what is mapped already, never a load.
void* OpenLibrary(const char* path, bool only_loaded) noexcept;
void CloseLibrary(void* library) noexcept;
void* FindSymbol(void* library, const char* name) noexcept;
// Why the last OpenLibrary of this thread failed, in the loader's words, which begin with the path;
// `path` where it has none.
const char* LoadError(const char* path) noexcept;
// In the program and what was loaded with it, preloaded libraries among it.
void* FindGlobalSymbol(const char* name) noexcept;

// Calls visit(path, argument) for every loaded object until it returns true.
using ModuleVisitor = bool (*)(const char* path, void* argument);
void ForEachModule(ModuleVisitor visit, void* argument) noexcept;
// The absolute path of this library; false if it cannot be told.
bool OwnPath(char* path, std::size_t size) noexcept;

// Registers the forked child's handler; nothing happens where the C library has none.
void OnForkInChild(void (*handler)()) noexcept;

// The decimal number from `least` to `most` that is all of `text`; false if it is none. (strtoul and
// its kin are renamed by newer headers, GLIBC_2.38.)
bool ParseNumber(const char* text, std::uint32_t least, std::uint32_t most,
                 std::uint32_t& number) noexcept;

// What glibc's malloc may reserve when all threads allocate: 64 MiB an arena, as many as
// MALLOC_ARENA_MAX says, else eight a core (mallopt(3)).
std::uint64_t ArenaAddresses() noexcept;

// RLIMIT_AS in bytes: what the process may have of addresses; all ones without a limit.
std::uint64_t AddressLimit() noexcept;

// Zeroed, prefaulted memory of its own pages; nullptr if there is none.
void* MapMemory(std::size_t bytes) noexcept;

// A lock between two background threads that hold it for microseconds. Never taken on an
// application thread, never held across a CUPTI call that could call back.
class SpinLock {
 public:
  void Lock() noexcept;
  void Unlock() noexcept {
    // Release: what the holder wrote is visible to the next one; matched by the acquire in Lock.
    held_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace stemtap::inject
