// SPDX-License-Identifier: Apache-2.0
#include "collector/worker_pool.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace stemtap {

struct WorkerPool::Arena {
  explicit Arena(unsigned threads)
      : limit(tbb::global_control::max_allowed_parallelism, threads),
        arena(static_cast<int>(threads)) {}
  // Without it TBB caps threads at the cores there are, and says so on stderr.
  tbb::global_control limit;
  tbb::task_arena arena;
};

WorkerPool::WorkerPool(unsigned threads)
    : threads_(threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency())) {
  if (threads_ > 1) arena_ = std::make_unique<Arena>(threads_);
}

WorkerPool::~WorkerPool() = default;

void WorkerPool::ForEach(std::size_t count, const std::function<void(std::size_t)>& part) {
  if (arena_ == nullptr || count < 2) {
    for (std::size_t i = 0; i < count; ++i) part(i);
    return;
  }
  // TBB orders the parts after this call's begin and before its end, but inside a library that the
  // thread sanitizer does not see into. The two atomics say the same where it does: what was written
  // before the parts is read by them (begin), what they wrote is read after them (done: each add
  // continues the release sequence of those before it, so the last load synchronizes with all).
  std::atomic<bool> begin{false};
  std::atomic<std::size_t> done{0};
  begin.store(true, std::memory_order_release);
  arena_->arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, 1),
                      [&](const tbb::blocked_range<std::size_t>& range) {
                        (void)begin.load(std::memory_order_acquire);
                        for (std::size_t i = range.begin(); i != range.end(); ++i) part(i);
                        done.fetch_add(range.size(), std::memory_order_release);
                      });
  });
  (void)done.load(std::memory_order_acquire);
}

}  // namespace stemtap
