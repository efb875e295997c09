// SPDX-License-Identifier: Apache-2.0
//
// WorkerPool runs the independent parts of an epoch on several threads. The only user of TBB. Where
// threads cannot be started (a limit of the user's or the container's), the calling thread does all
// of the work, then and afterwards.
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

  // Calls part(i) once for every i < count, in any order, on any of the threads. What the parts do must
  // not depend on the order. Throws what one of them threw, when no other runs any more.
  void ForEach(std::size_t count, const std::function<void(std::size_t)>& part);

  // As asked for.
  unsigned threads() const { return threads_; }

 private:
  struct Arena;
  void Start();

  unsigned threads_;
  bool started_ = false;
  std::unique_ptr<Arena> arena_;
};

}  // namespace stemtap
