// SPDX-License-Identifier: Apache-2.0
#include "cupti/delivery.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "cupti/buffers.h"
#include "cupti/driver.h"
#include "cupti/entry.h"
#include "cupti/kernel_record.h"
#include "cupti/names.h"
#include "cupti/settings.h"

namespace fake_cupti {
namespace {

using Clock = std::chrono::system_clock;

// A launch waits no longer than this for the worker: a client that never returns from its complete
// callback shall not hang the program, which the real CUPTI does not either.
constexpr auto kPatience = std::chrono::seconds(1);

struct Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Buffer> full;
  bool worker_busy = false;
  bool started = false;
};

Queue& queue() {
  static Queue& instance = *new Queue;  // leaked: the worker runs until the process is gone
  return instance;
}

struct Held {
  std::mutex mutex;
  std::uint64_t next = 0;
  std::set<std::uint64_t> sequences;
};

Held& held() {
  static Held& instance = *new Held;
  return instance;
}

void LetGo(std::uint64_t sequence) {
  const std::lock_guard lock(held().mutex);
  held().sequences.erase(sequence);
}

std::deque<Buffer>::iterator FirstEnded(std::deque<Buffer>& full) {
  return std::find_if(full.begin(), full.end(),
                      [](const Buffer& buffer) { return HasEnded(buffer.last_end_ns); });
}

// Waits until a queued buffer may be delivered and takes it.
Buffer NextForWorker(std::unique_lock<std::mutex>& lock) {
  Queue& q = queue();
  for (;;) {
    const auto ended = FirstEnded(q.full);
    if (ended != q.full.end()) {
      const Buffer buffer = *ended;
      q.full.erase(ended);
      return buffer;
    }
    if (q.full.empty()) {
      q.changed.wait(lock);
      continue;
    }
    const auto first = std::min_element(
        q.full.begin(), q.full.end(),
        [](const Buffer& a, const Buffer& b) { return a.last_end_ns < b.last_end_ns; });
    q.changed.wait_until(lock, Clock::time_point(std::chrono::nanoseconds(first->last_end_ns)));
  }
}

void RunWorker() {
  pthread_setname_np(pthread_self(), "fake-cupti");
  std::unique_lock lock(queue().mutex);
  for (;;) {
    const Buffer buffer = NextForWorker(lock);
    queue().worker_busy = true;
    lock.unlock();
    Deliver(buffer, false);
    lock.lock();
    queue().worker_busy = false;
    queue().changed.notify_all();
  }
}

// Puts the records into the order in which their kernels ended.
void SortByEnd(const Buffer& buffer) {
  const std::size_t stride = KernelRecordBytes();
  const auto end_of = [&](std::size_t i) { return ReadTimes(buffer.data + i * stride).end_ns; };
  std::vector<std::size_t> order(buffer.used);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto earlier = [&](std::size_t a, std::size_t b) { return end_of(a) < end_of(b); };
  if (std::is_sorted(order.begin(), order.end(), earlier)) return;
  std::stable_sort(order.begin(), order.end(), earlier);
  const std::vector<std::uint8_t> copy(buffer.data, buffer.data + buffer.used * stride);
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::memcpy(buffer.data + i * stride, copy.data() + order[i] * stride, stride);
  }
}

// What a forced flush shows of kernels that have not ended, or not even begun.
void CutShort(const Buffer& buffer) {
  for (std::size_t i = 0; i < buffer.used; ++i) {
    std::uint8_t* record = buffer.data + i * KernelRecordBytes();
    RecordTimes times = ReadTimes(record);
    if (HasEnded(times.end_ns)) continue;
    times.end_ns = 0;
    if (!HasEnded(times.start_ns)) times.start_ns = 0;
    WriteTimes(times, record);
  }
}

}  // namespace

std::uint64_t Hold() {
  const std::lock_guard lock(held().mutex);
  held().sequences.insert(held().next);
  return held().next++;
}

std::uint64_t NextBufferSequence() {
  const std::lock_guard lock(held().mutex);
  return held().next;
}

std::uint64_t OldestBufferSequence() {
  const std::lock_guard lock(held().mutex);
  return held().sequences.empty() ? held().next : *held().sequences.begin();
}

void StartWorker() {
  const std::lock_guard lock(queue().mutex);
  if (queue().started) return;
  queue().started = true;
  // Signals are the program's, not this thread's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(RunWorker).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void HandToWorker(const Buffer& buffer) {
  Queue& q = queue();
  std::unique_lock lock(q.mutex);
  q.full.push_back(buffer);
  q.changed.notify_all();
  if (!HasEnded(~std::uint64_t{0})) return;  // real clock: the launch queue is what slows down
  q.changed.wait_for(lock, kPatience, [&q] { return q.full.size() <= settings().max_pending; });
}

void TakeFromWorker(bool all, std::vector<Buffer>& taken) {
  Queue& q = queue();
  const std::lock_guard lock(q.mutex);
  std::deque<Buffer> kept;
  for (const Buffer& buffer : q.full) {
    if (all || HasEnded(buffer.last_end_ns)) {
      taken.push_back(buffer);
    } else {
      kept.push_back(buffer);
    }
  }
  q.full.swap(kept);
  q.changed.notify_all();
}

void WaitForWorker() {
  Queue& q = queue();
  std::unique_lock lock(q.mutex);
  q.changed.wait(lock, [&q] { return !q.worker_busy; });
}

void Deliver(const Buffer& buffer, bool forced) {
  SortByEnd(buffer);
  if (forced) CutShort(buffer);
  if (const auto complete = CompleteCallback()) {
    const ScopedRole role(ThreadRole::kBufferCallback);
    complete(nullptr, 0, buffer.data, buffer.size, buffer.used * KernelRecordBytes());
  }
  LetGo(buffer.sequence);
  ReleaseRetiredNames();
}

}  // namespace fake_cupti
