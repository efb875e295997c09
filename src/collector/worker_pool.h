// SPDX-License-Identifier: Apache-2.0
//
// WorkerPool runs the independent parts of an epoch on several threads. The only user of TBB.
//
// THREADS: ForEach is called from one thread and returns when all parts are done.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace stemtap {

class WorkerPool {
 public:
  // 0 threads: as many as the machine has cores.
  explicit WorkerPool(unsigned threads);
  ~WorkerPool();

  // Calls part(i) for every i < count, in any order, on any of the threads. What the parts do must not
  // depend on the order.
  void ForEach(std::size_t count, const std::function<void(std::size_t)>& part);

  unsigned threads() const { return threads_; }

 private:
  struct Arena;
  unsigned threads_;
  std::unique_ptr<Arena> arena_;
};

}  // namespace stemtap
