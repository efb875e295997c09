// SPDX-License-Identifier: Apache-2.0
#include "base/worker_pool.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <latch>
#include <thread>
#include <vector>

namespace stemtap {
namespace {

// Returns whether this process can run `threads` threads at the same time.
bool CanStart(unsigned threads) {
  std::vector<std::thread> started;
  started.reserve(threads);
  std::latch end(1);
  bool all = true;
  try {
    while (started.size() < threads) started.emplace_back([&end] { end.wait(); });
  } catch (const std::exception&) {  // out of threads or memory; the started threads must be joined
    all = false;
  }
  end.count_down();
  for (std::thread& thread : started) thread.join();
  return all;
}

// Parts distributes the parts of one ForEach call. Each part runs once, even if TBB fails. A TBB
// thread that starts late finds no part left.
//
// TBB already orders the parts after the start of the call and before its end, but ThreadSanitizer
// does not see synchronization inside the library. The two atomics make it visible: next_ orders
// writes before the call before the parts, and done_ orders writes of the parts before Await().
class Parts {
 public:
  Parts(std::size_t count, const std::function<void(std::size_t)>& part)
      : count_(count), part_(part) {
    next_.store(0, std::memory_order_release);
  }

  void Take() {
    for (;;) {
      const std::size_t i = next_.fetch_add(1, std::memory_order_acq_rel);
      if (i >= count_) return;
      try {
        part_(i);
      } catch (...) {
        if (!failed_.exchange(true)) failure_ = std::current_exception();
      }
      if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) done_.notify_all();
    }
  }

  // Waits until all parts are done. Rethrows an exception if parts threw.
  void Await() const {
    for (std::size_t done = 0; (done = done_.load(std::memory_order_acquire)) != count_;) {
      done_.wait(done, std::memory_order_acquire);
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const std::size_t count_;
  const std::function<void(std::size_t)>& part_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> done_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
};

}  // namespace

struct WorkerPool::Arena {
  explicit Arena(unsigned threads)
      : limit(tbb::global_control::max_allowed_parallelism, threads),
        arena(static_cast<int>(threads)) {}

  template <typename Body>
  void OnEach(unsigned threads, const Body& body) {
    arena.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<unsigned>(0, threads, 1),
          [body](const tbb::blocked_range<unsigned>&) { body(); }, tbb::simple_partitioner());
    });
  }

  // Without this limit, TBB caps threads at the number of cores and prints a warning to stderr.
  tbb::global_control limit;
  tbb::task_arena arena;
};

WorkerPool::WorkerPool(unsigned threads)
    : threads_(threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency())) {}

WorkerPool::~WorkerPool() = default;

// Starts the threads at the first ForEach call; by then, a traced program has started its first
// threads. TBB starts most threads from its own threads and terminates the process if a thread
// cannot be created. Start() therefore first checks that all threads can be created, then makes TBB
// create all of them at once.
void WorkerPool::Start() {
  started_ = true;
  if (threads_ < 2 || !CanStart(threads_ - 1)) return;
  arena_ = std::make_unique<Arena>(threads_);
  const auto waiting = std::make_shared<std::atomic<unsigned>>(threads_);
  const auto latest = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  arena_->OnEach(threads_, [waiting, latest] {
    --*waiting;
    while (*waiting != 0 && std::chrono::steady_clock::now() < latest) std::this_thread::yield();
  });
}

void WorkerPool::ForEach(std::size_t count, const std::function<void(std::size_t)>& part) {
  if (threads_ < 2 || count < 2) {
    for (std::size_t i = 0; i < count; ++i) part(i);
    return;
  }
  const auto parts = std::make_shared<Parts>(count, part);
  try {
    if (!started_) Start();
    if (arena_ != nullptr) arena_->OnEach(threads_, [parts] { parts->Take(); });
  } catch (const std::exception&) {  // TBB is out of threads or memory
    arena_.reset();
  }
  parts->Take();
  parts->Await();
}

}  // namespace stemtap
