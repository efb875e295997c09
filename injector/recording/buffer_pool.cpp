// SPDX-License-Identifier: Apache-2.0
#include "recording/buffer_pool.h"

#include <string.h>
#include <sys/mman.h>

namespace stemtap::inject {

bool BufferPool::Init(std::size_t buffer_bytes, std::uint64_t address_limit) noexcept {
  buffer_bytes_ = buffer_bytes;
  const std::uint64_t share = address_limit / 16 / buffer_bytes;
  max_buffers_ = share < kMaxBuffers ? static_cast<std::uint32_t>(share) : kMaxBuffers;
  if (max_buffers_ < kKeepFree) return false;
  // Reserves addresses only: no memory is charged until Grow creates a buffer.
  void* reserved = ::mmap(nullptr, buffer_bytes * (max_buffers_ + 1), PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return false;
  base_ = static_cast<unsigned char*>(reserved);
  discard_ = base_ + buffer_bytes * max_buffers_;
  if (::mprotect(discard_, buffer_bytes, PROT_READ | PROT_WRITE) != 0) return false;
  Grow();
  return made_.load(std::memory_order_relaxed) != 0;
}

void* BufferPool::Make(bool populate) noexcept {
  // Relaxed: claims only the index. Other threads get the buffer through Push (release) or from the
  // caller.
  const std::uint32_t index = made_.fetch_add(1, std::memory_order_relaxed);
  if (index >= max_buffers_) {
    made_.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  void* buffer = base_ + buffer_bytes_ * index;
  // MAP_FIXED replaces a part of our own reservation.
  const void* mapped =
      ::mmap(buffer, buffer_bytes_, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | (populate ? MAP_POPULATE : 0), -1, 0);
  return mapped == MAP_FAILED ? nullptr : buffer;  // a failed index is never retried
}

std::uint32_t BufferPool::IndexOf(const void* buffer) const noexcept {
  return static_cast<std::uint32_t>(
      static_cast<std::size_t>(static_cast<const unsigned char*>(buffer) - base_) / buffer_bytes_);
}

void BufferPool::Grow() noexcept {
  while (free_.load(std::memory_order_relaxed) < kKeepFree) {
    const void* buffer = Make(true);
    if (buffer == nullptr) return;
    Push(IndexOf(buffer));
  }
}

void BufferPool::Push(std::uint32_t index) noexcept {
  std::uint64_t head = head_.load(std::memory_order_relaxed);
  std::uint64_t next = 0;
  do {
    next_[index].store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    next = ((head >> 32) + 1) << 32 | (index + 1);
    // Release: publishes the zeroed buffer and its link to the thread that pops it; pairs with
    // Lend.
  } while (!head_.compare_exchange_weak(head, next, std::memory_order_release,
                                        std::memory_order_relaxed));
  free_.fetch_add(1, std::memory_order_relaxed);
}

void* BufferPool::Lend() noexcept {
  // Acquire (here, and on success and retry below): pairs with the release in Push.
  std::uint64_t head = head_.load(std::memory_order_acquire);
  for (;;) {
    if (static_cast<std::uint32_t>(head) == 0) {
      void* made = Make(false);
      if (made != nullptr) lent_.fetch_add(1, std::memory_order_relaxed);
      return made;
    }
    const std::uint32_t index = static_cast<std::uint32_t>(head) - 1;
    // Stale if another thread popped `index` in the meantime; the change count then differs and the
    // exchange fails.
    const std::uint32_t below = next_[index].load(std::memory_order_relaxed);
    const std::uint64_t next = ((head >> 32) + 1) << 32 | below;
    if (head_.compare_exchange_weak(head, next, std::memory_order_acquire,
                                    std::memory_order_acquire)) {
      free_.fetch_sub(1, std::memory_order_relaxed);
      lent_.fetch_add(1, std::memory_order_relaxed);
      return base_ + buffer_bytes_ * index;
    }
  }
}

bool BufferPool::Owns(const void* buffer) const noexcept {
  const auto* byte = static_cast<const unsigned char*>(buffer);
  return byte >= base_ && byte < base_ + buffer_bytes_ * max_buffers_ &&
         static_cast<std::size_t>(byte - base_) % buffer_bytes_ == 0;
}

void BufferPool::Return(void* buffer, std::size_t used) noexcept {
  ::memset(buffer, 0, used < buffer_bytes_ ? used : buffer_bytes_);
  lent_.fetch_sub(1, std::memory_order_relaxed);
  Push(IndexOf(buffer));
}

}  // namespace stemtap::inject
