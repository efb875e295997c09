// SPDX-License-Identifier: Apache-2.0
//
// Work of a stream that runs on the CPU: copies, memsets and host functions.
//
// Copies and memsets run at the call, because the calls of a correct program are a valid order of
// its work. Host functions run on one thread of their own, in the order of their calls, because a
// host function may wait for the thread that enqueued it. While host functions are pending, later
// copies and memsets of every stream run on that thread too, which keeps the order.
//
// THREADS: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "cuda/objects.h"

namespace fake_gpu {

// Number of pieces of work that were handed to the thread and have not run.
extern std::atomic<std::uint64_t> g_pending_host_work;

// Runs `work` on the thread after all earlier work, with the real clock not before `not_before_ns`.
void PostHostWork(CUstream_st& stream, std::uint64_t not_before_ns, std::function<void()> work);

// Runs `work` after earlier host functions: immediately if there are none.
template <typename Work>
void RunInOrder(CUstream_st& stream, Work&& work) {
  // Acquire pairs with the release after the work has run.
  if (g_pending_host_work.load(std::memory_order_acquire) == 0) {
    work();
  } else {
    PostHostWork(stream, 0, std::forward<Work>(work));
  }
}

// Returns when the work numbered `ticket` and all earlier work has run. Returns at once on the
// thread that runs the work. Ticket 0 is no work.
void WaitForHostWork(std::uint64_t ticket);
bool IsHostWorkDone(std::uint64_t ticket);

}  // namespace fake_gpu
