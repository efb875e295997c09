// SPDX-License-Identifier: Apache-2.0
#include "cupti/waiting.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "cupti/settings.h"

namespace fake_cupti {
namespace {

struct Running {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<unsigned long> callbacks;  // numbered in start order
  unsigned long next = 0;
};

Running& running() {
  static Running& instance = *new Running;  // leaked: used at exit
  return instance;
}

// The callback that runs on this thread.
thread_local bool t_in_callback = false;
thread_local unsigned long t_callback = 0;

}  // namespace

CompleteScope::CompleteScope() {
  Running& r = running();
  const std::lock_guard lock(r.mutex);
  number_ = r.next++;
  r.callbacks.insert(number_);
  t_in_callback = true;
  t_callback = number_;
}

CompleteScope::~CompleteScope() {
  Running& r = running();
  const std::lock_guard lock(r.mutex);
  r.callbacks.erase(number_);
  t_in_callback = false;
  r.changed.notify_all();
}

void AwaitCallbacks(const char* call) {
  Running& r = running();
  std::unique_lock lock(r.mutex);
  const unsigned long now = r.next;
  const auto none_left = [&r, now] {
    for (const unsigned long number : r.callbacks) {
      if (number >= now) return true;
      if (!t_in_callback || number != t_callback) return false;
    }
    return true;
  };
  if (!r.changed.wait_for(lock, std::chrono::milliseconds(DeadlockMs()), none_left)) {
    DieOfDeadlock(call, "complete");
  }
}

void DieOfDeadlock(const char* call, const char* holder) {
  std::fprintf(stderr,
               "fake CUPTI: deadlock: %s has waited %lu ms for a %s callback to return, which "
               "waits for its caller\n",
               call, DeadlockMs(), holder);
  std::abort();
}

void HoldLockAWhile() {
  if (settings().callback_us != 0) usleep(static_cast<useconds_t>(settings().callback_us));
}

unsigned long DeadlockMs() {
  return settings().deadlock_ms;
}

std::unique_lock<std::timed_mutex> LockBuffer(std::timed_mutex& mutex, const char* call) {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock.owns_lock() && !lock.try_lock_for(std::chrono::milliseconds(DeadlockMs()))) {
    DieOfDeadlock(call, "request");
  }
  return lock;
}

}  // namespace fake_cupti
