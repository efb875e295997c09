// SPDX-License-Identifier: Apache-2.0
#include "cupti/delivery.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "cupti/buffers.h"
#include "cupti/driver.h"
#include "cupti/entry.h"
#include "cupti/names.h"
#include "cupti/ownership.h"
#include "cupti/records.h"
#include "cupti/settings.h"
#include "cupti/timestamps.h"
#include "cupti/waiting.h"

namespace fake_cupti {
namespace {

using Clock = std::chrono::system_clock;

// Maximum time that a launch waits for the worker. A client that never returns from its complete
// callback must not hang the program; it does not with the real CUPTI either.
constexpr auto kPatience = std::chrono::seconds(1);

struct Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Buffer> full;
  bool started = false;
};

Queue& queue() {
  static Queue& instance = *new Queue;  // leaked: the worker runs until the process is gone
  return instance;
}

struct Held {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t next = 0;
  std::set<std::uint64_t> sequences;
  std::set<std::uint64_t> in_hand;  // the subset that a thread is about to deliver
};

Held& held() {
  static Held& instance = *new Held;
  return instance;
}

void LetGo(std::uint64_t sequence) {
  const std::lock_guard lock(held().mutex);
  held().sequences.erase(sequence);
  held().in_hand.erase(sequence);
  held().changed.notify_all();
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
      Buffer buffer = std::move(*ended);
      TakeInHand(buffer);
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
    Buffer buffer = NextForWorker(lock);
    lock.unlock();
    Deliver(std::move(buffer), false);
    lock.lock();
    queue().changed.notify_all();
  }
}

// Sorts the records by the end of their kernels.
void SortByEnd(Buffer& buffer) {
  const auto earlier = [](const Entry& a, const Entry& b) { return a.end_ns < b.end_ns; };
  std::vector<Entry>& entries = buffer.entries;
  if (std::is_sorted(entries.begin(), entries.end(), earlier)) return;
  std::stable_sort(entries.begin(), entries.end(), earlier);
  const std::vector<std::uint8_t> copy(buffer.data, buffer.data + buffer.used);
  std::uint32_t offset = 0;
  for (Entry& entry : entries) {
    std::memcpy(buffer.data + offset, copy.data() + entry.offset, entry.bytes);
    entry.offset = offset;
    offset += entry.bytes;
  }
}

// Fills in what a forced flush shows for kernels that have not ended or started.
void CutShort(const Buffer& buffer) {
  for (const Entry& entry : buffer.entries) {
    if (HasEnded(entry.end_ns)) continue;
    std::uint8_t* record = buffer.data + entry.offset;
    RecordTimes times = ReadTimes(record);
    times.end_ns = 0;
    if (!HasEnded(entry.start_ns)) times.start_ns = 0;
    WriteTimes(times, record);
  }
}

// Appends a record of CUPTI's cost for the other records.
void AddOverhead(Buffer& buffer) {
  const std::size_t bytes = RecordBytes(CUPTI_ACTIVITY_KIND_OVERHEAD);
  if (!OverheadIsOn() || buffer.used + bytes > buffer.size) return;
  const std::uint64_t begin_ns = ConnectedDriver()->now();
  const std::uint64_t cost_ns = buffer.entries.size() * settings().overhead_ns;
  WriteOverheadRecord(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, begin_ns, begin_ns + cost_ns,
                      buffer.thread, buffer.data + buffer.used);
  buffer.entries.push_back({begin_ns, begin_ns + cost_ns, static_cast<std::uint32_t>(buffer.used),
                            static_cast<std::uint32_t>(bytes), 0});
  buffer.used += bytes;
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
  // Signals are for the program's threads, not for this one.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(RunWorker).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void HandToWorker(Buffer buffer) {
  Queue& q = queue();
  std::unique_lock lock(q.mutex);
  q.full.push_back(std::move(buffer));
  q.changed.notify_all();
  if (!HasEnded(~std::uint64_t{0})) return;  // real clock: the launch queue throttles the program
  q.changed.wait_for(lock, kPatience, [&q] { return q.full.size() <= settings().max_pending; });
}

void TakeFromWorker(bool all, std::vector<Buffer>& taken) {
  Queue& q = queue();
  const std::lock_guard lock(q.mutex);
  std::deque<Buffer> kept;
  for (Buffer& buffer : q.full) {
    if (all || HasEnded(buffer.last_end_ns)) {
      TakeInHand(buffer);
      taken.push_back(std::move(buffer));
    } else {
      kept.push_back(std::move(buffer));
    }
  }
  q.full.swap(kept);
  q.changed.notify_all();
}

void TakeInHand(const Buffer& buffer) {
  const std::lock_guard lock(held().mutex);
  held().in_hand.insert(buffer.sequence);
}

void AwaitDeliveries() {
  Held& h = held();
  std::unique_lock lock(h.mutex);
  const std::set<std::uint64_t> now = h.in_hand;
  const auto gone = [&h, &now] {
    return std::none_of(now.begin(), now.end(),
                        [&h](std::uint64_t sequence) { return h.in_hand.contains(sequence); });
  };
  if (!h.changed.wait_for(lock, std::chrono::milliseconds(DeadlockMs()), gone)) {
    DieOfDeadlock("cuptiActivityFlushAll", "complete");
  }
}

void Deliver(Buffer buffer, bool forced) {
  GiveUpOwnership(buffer);
  SortByEnd(buffer);
  if (forced) CutShort(buffer);
  AddOverhead(buffer);
  ConvertTimes(buffer);
  if (const auto complete = CompleteCallback()) {
    const ScopedRole role(ThreadRole::kCompleteCallback);
    const CompleteScope running;
    HoldLockAWhile();
    Guarded([&] { complete(nullptr, 0, buffer.data, buffer.size, buffer.used); });
  }
  LetGo(buffer.sequence);
  ReleaseRetiredNames();
}

}  // namespace fake_cupti
