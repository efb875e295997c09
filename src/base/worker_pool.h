// SPDX-License-Identifier: Apache-2.0
//
// WorkerPool runs the independent parts of an epoch on several threads. It is the only user of TBB.
// If threads cannot be started (a limit of the user or the container), the calling thread does all
// work from then on.
//
// THREADS: call ForEach from one thread. It returns when all parts are done.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace stemtap {

class WorkerPool {
 public:
  // 0 threads means one per core.
  explicit WorkerPool(unsigned threads);
  ~WorkerPool();

  // Calls part(i) once for every i < count, in any order, on any of the threads. The result must
  // not depend on the order. If parts throw, rethrows one of the exceptions after all running parts
  // end.
  void ForEach(std::size_t count, const std::function<void(std::size_t)>& part);

  // The requested number of threads, even if they could not be started.
  unsigned threads() const { return threads_; }

 private:
  struct Arena;
  void Start();

  unsigned threads_;
  bool started_ = false;
  std::unique_ptr<Arena> arena_;
};

}  // namespace stemtap
