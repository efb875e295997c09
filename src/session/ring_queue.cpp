// SPDX-License-Identifier: Apache-2.0
#include "session/ring_queue.h"

#include <algorithm>
#include <atomic>

namespace stemtap::session {
namespace {

constexpr std::size_t kCells = shm::kRingCapacity + 1;  // one cell stays free

// Gives access to the members of the queue. The cells are its last member.
struct QueueMembers : shm::RecordQueue {
  static auto& WriteIndex(shm::RecordQueue& queue) { return queue.*&QueueMembers::write_index_; }
  static auto& ReadIndex(shm::RecordQueue& queue) { return queue.*&QueueMembers::read_index_; }
  static const shm::Record* Cells(const shm::RecordQueue& queue) {
    return reinterpret_cast<const shm::Record*>(&queue + 1) - kCells;
  }
};
// Otherwise, padding could follow the cells.
static_assert(alignof(shm::RecordQueue) <= alignof(shm::Record));

}  // namespace

RingQueue::RingQueue(shm::RecordQueue& queue)
    : queue_(&queue),
      read_index_(QueueMembers::ReadIndex(queue).load(std::memory_order_relaxed)) {}

std::optional<std::size_t> RingQueue::Pop(std::span<shm::Record> out) {
  // Acquire: pairs with the producer's release in push(), so that the records are visible.
  const std::size_t end = QueueMembers::WriteIndex(*queue_).load(std::memory_order_acquire);
  auto& shared_read_index = QueueMembers::ReadIndex(*queue_);
  const std::size_t shared_begin = shared_read_index.load(std::memory_order_relaxed);
  if (end >= kCells || read_index_ >= kCells || shared_begin != read_index_) return std::nullopt;
  const std::size_t available = (end + kCells - read_index_) % kCells;
  const std::size_t count = std::min(available, out.size());
  // The records may end at the last cell and continue at the first.
  const std::size_t before_end = std::min(count, kCells - read_index_);
  const shm::Record* const cells = QueueMembers::Cells(*queue_);
  std::copy_n(cells + read_index_, before_end, out.begin());
  std::copy_n(cells, count - before_end, out.begin() + static_cast<std::ptrdiff_t>(before_end));
  read_index_ = (read_index_ + count) % kCells;
  // Release: the records are copied before the producer reuses their cells; pairs with the acquire
  // in push() and write_available().
  if (count != 0) shared_read_index.store(read_index_, std::memory_order_release);
  return count;
}

}  // namespace stemtap::session
