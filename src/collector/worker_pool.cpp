// SPDX-License-Identifier: Apache-2.0
#include "collector/worker_pool.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
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
  arena_->arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, 1),
                      [&](const tbb::blocked_range<std::size_t>& range) {
                        for (std::size_t i = range.begin(); i != range.end(); ++i) part(i);
                      });
  });
}

}  // namespace stemtap
