// SPDX-License-Identifier: Apache-2.0
//
// Common prologue of every entry point of the simulated CUPTI: scripted errors, the last error, and
// the rules for clients. Breaking a rule ends the process with a message where the real CUPTI would
// hang, crash or misbehave later.
//
// FAKE_CUPTI_FAIL="cuptiActivityEnable=999,cuptiSubscribe@2=39": every call of the first function
// returns 999, and the second call of the other function returns 39.
//
// THREADS: any.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

// Marks the exports of libcupti.so.13; everything else is hidden.
#define FAKE_CUPTI_EXPORT extern "C" __attribute__((visibility("default")))

// Begins the entry point `name`; returns the scripted error if there is one.
#define FAKE_CUPTI_ENTER(name)                                       \
  static ::fake_cupti::ScriptedError fake_cupti_script(#name);       \
  ::fake_cupti::CheckCaller(#name);                                  \
  if (const CUptiResult fake_cupti_error = fake_cupti_script.Next(); \
      fake_cupti_error != CUPTI_SUCCESS)                             \
  return ::fake_cupti::Remember(fake_cupti_error)

#define FAKE_CUPTI_REQUIRE(condition, error)                \
  do {                                                      \
    if (!(condition)) return ::fake_cupti::Remember(error); \
  } while (false)

namespace fake_cupti {

// ScriptedError contains the FAKE_CUPTI_FAIL setting of one function.
class ScriptedError {
 public:
  explicit ScriptedError(const char* function);

  // Returns the scripted result of this call; CUPTI_SUCCESS means to continue.
  CUptiResult Next() {
    if (error_ == CUPTI_SUCCESS) return CUPTI_SUCCESS;
    const std::uint64_t call = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
    return only_call_ == 0 || only_call_ == call ? error_ : CUPTI_SUCCESS;
  }

 private:
  CUptiResult error_ = CUPTI_SUCCESS;
  std::uint64_t only_call_ = 0;  // 0: every call
  std::atomic<std::uint64_t> calls_{0};
};

// Stores `error` for cuptiGetLastError of this thread and returns it.
CUptiResult Remember(CUptiResult error);
CUptiResult TakeLastError();

// Returns whether this process is a forked child whose parent had used CUPTI.
bool IsForkedChild();
// Aborts in such a child.
void CheckCaller(const char* function);

// Marks this process as a user of CUPTI.
void MarkUsed();

[[noreturn]] void Die(const char* what);

// ThreadRole is set while a client callback runs on this thread.
enum class ThreadRole {
  kNone,
  kRequestCallback,
  kCompleteCallback,
  kApiCallback,
  kResourceCallback
};
ThreadRole thread_role();

class ScopedRole {
 public:
  explicit ScopedRole(ThreadRole role);
  ~ScopedRole();
  ScopedRole(const ScopedRole&) = delete;
  ScopedRole& operator=(const ScopedRole&) = delete;

 private:
  const ThreadRole before_;
};

// Runs a client callback, which must not throw: the real CUPTI is C code and cannot unwind.
template <typename Callback>
void Guarded(Callback callback) {
  try {
    callback();
  } catch (...) {
    Die("an exception left a callback of the client");
  }
}

}  // namespace fake_cupti
