// SPDX-License-Identifier: Apache-2.0
//
// The locks that the real CUPTI holds while it calls its client, and the waits of concurrent calls.
// A client that holds its own lock across one of these calls, and takes the same lock in a buffer
// callback, deadlocks (kineto#1347):
//
//   thread A                                  thread B, in its complete callback
//   takes the client's lock                   holds CUPTI's lock
//   calls cuptiActivityGetNumDroppedRecords   waits for the client's lock
//   waits for CUPTI's lock
//
// Therefore, cuptiActivityGetNumDroppedRecords waits for all complete callbacks on other threads,
// and for the lock of every buffer, which is held in the request callback. cuptiActivityFlushAll
// waits for the same, and for threads that have a buffer to deliver. A wait longer than
// FAKE_CUPTI_DEADLOCK_MS ends the process with a message that names both calls.
//
// THREADS: any.
#pragma once

#include <mutex>

namespace fake_cupti {

// CompleteScope exists while a complete callback runs on this thread.
class CompleteScope {
 public:
  CompleteScope();
  ~CompleteScope();
  CompleteScope(const CompleteScope&) = delete;
  CompleteScope& operator=(const CompleteScope&) = delete;

 private:
  unsigned long number_;
};

// Returns when the complete callbacks that currently run on other threads have returned.
void AwaitCallbacks(const char* call);

// Ends the process: `call` waited too long for a callback of kind `holder`.
[[noreturn]] void DieOfDeadlock(const char* call, const char* holder);

// Waits FAKE_CUPTI_CALLBACK_US before a callback.
void HoldLockAWhile();

// Returns the maximum duration of a wait.
unsigned long DeadlockMs();

// Locks a buffer for `call`; ends the process if the lock is not available in time.
std::unique_lock<std::timed_mutex> LockBuffer(std::timed_mutex& mutex, const char* call);

}  // namespace fake_cupti
