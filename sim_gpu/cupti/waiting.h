// SPDX-License-Identifier: Apache-2.0
//
// The locks that the real CUPTI holds while it calls its client, and what a client waits for that
// calls it meanwhile. A client that holds a lock of its own across such a call, and takes the same
// lock in a buffer callback, deadlocks (kineto#1347):
//
//   thread A                                  thread B, in its complete callback
//   takes the client's lock                   runs in CUPTI's lock
//   calls cuptiActivityGetNumDroppedRecords   waits for the client's lock
//   waits for CUPTI's lock
//
// So cuptiActivityGetNumDroppedRecords waits here for all complete callbacks that run on other
// threads, and for the lock of every buffer, which is held in the request callback;
// cuptiActivityFlushAll waits for these, and for whoever has a buffer to deliver. Who waits for FAKE_CUPTI_DEADLOCK_MS
// ends the process with a message that names both.
//
// THREADS: any.
#pragma once

#include <mutex>

namespace fake_cupti {

// While one lives, a complete callback runs on this thread.
class CompleteScope {
 public:
  CompleteScope();
  ~CompleteScope();
  CompleteScope(const CompleteScope&) = delete;
  CompleteScope& operator=(const CompleteScope&) = delete;

 private:
  unsigned long number_;
};

// Returns when the complete callbacks that run on other threads now have returned.
void AwaitCallbacks(const char* call);

// Ends the process: `call` has waited too long for a callback of `holder`'s kind.
[[noreturn]] void DieOfDeadlock(const char* call, const char* holder);

// FAKE_CUPTI_CALLBACK_US, before a callback.
void HoldLockAWhile();

// How long a wait may last.
unsigned long DeadlockMs();

// The lock of a buffer, for `call`; ends the process when it is not to be had.
std::unique_lock<std::timed_mutex> LockBuffer(std::timed_mutex& mutex, const char* call);

}  // namespace fake_cupti
