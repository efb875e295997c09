// SPDX-License-Identifier: Apache-2.0
//
// RingQueue is the reading end of the queue in a ring. The traced process can write any part of the
// queue at any time, so each index is read once, and the copy is checked and used. RingQueue
// replaces pop() of Boost.Lockfree, which reads the indices again after a check.
//
// THREADS: one reader; the traced process is the only producer.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "shm/ring.h"

namespace stemtap::session {

class RingQueue {
 public:
  // `queue` must outlive this object. The reader continues at the read index in the queue.
  explicit RingQueue(shm::RecordQueue& queue);

  // Moves the oldest records to `out`, at most as many as it has room for. Returns their number, or
  // nullopt if an index is invalid.
  std::optional<std::size_t> Pop(std::span<shm::Record> out);

 private:
  shm::RecordQueue* queue_;
  // The read index. The queue contains a copy for the producer; another value there is damage.
  std::size_t read_index_;
};

}  // namespace stemtap::session
