// SPDX-License-Identifier: Apache-2.0
#include "cuda/host_work.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "cuda/clock.h"

namespace fake_gpu {

std::atomic<std::uint64_t> g_pending_host_work{0};

namespace {

struct Item {
  std::uint64_t not_before_ns;
  std::function<void()> work;
};

struct Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item> items;
  std::uint64_t posted = 0;
  std::uint64_t done = 0;
  bool has_thread = false;
};

Queue& queue() {
  static Queue& instance = *new Queue;  // leaked: its thread may outlive the destructors
  return instance;
}

thread_local bool t_runs_host_work = false;

void RunForEver() {
  t_runs_host_work = true;
  std::unique_lock lock(queue().mutex);
  for (;;) {
    queue().changed.wait(lock, [] { return !queue().items.empty(); });
    const Item item = std::move(queue().items.front());
    queue().items.pop_front();
    lock.unlock();
    if (ClockIsReal()) WaitUntil(item.not_before_ns);
    item.work();
    lock.lock();
    ++queue().done;
    g_pending_host_work.fetch_sub(1, std::memory_order_release);  // pairs with RunInOrder
    queue().changed.notify_all();
  }
}

}  // namespace

void PostHostWork(CUstream_st& stream, std::uint64_t not_before_ns, std::function<void()> work) {
  const std::lock_guard lock(queue().mutex);
  if (!std::exchange(queue().has_thread, true)) std::thread(RunForEver).detach();
  g_pending_host_work.fetch_add(1, std::memory_order_relaxed);
  queue().items.push_back({not_before_ns, std::move(work)});
  // Relaxed: the program orders its calls on a stream.
  stream.host_ticket.store(++queue().posted, std::memory_order_relaxed);
  queue().changed.notify_all();
}

void WaitForHostWork(std::uint64_t ticket) {
  if (ticket == 0 || t_runs_host_work) return;
  std::unique_lock lock(queue().mutex);
  queue().changed.wait(lock, [ticket] { return queue().done >= ticket; });
}

bool IsHostWorkDone(std::uint64_t ticket) {
  if (ticket == 0) return true;
  const std::lock_guard lock(queue().mutex);
  return queue().done >= ticket;
}

}  // namespace fake_gpu
