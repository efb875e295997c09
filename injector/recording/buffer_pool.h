// SPDX-License-Identifier: Apache-2.0
//
// BufferPool holds the activity buffers that CUPTI writes kernel records into. They are zeroed and
// prefaulted in advance, so that lending one to a launching thread takes tens of nanoseconds
// instead of the milliseconds that faulting in a megabyte takes.
//
//   free ──Lend()──► lent (CUPTI's) ──Owns(), Return()──► free
//
// Memory is never returned to the system, because CUPTI may hold a buffer for the life of the
// process.
//
// THREADS: Lend from any application thread, Return from the decoder, Grow from the flusher.
// Lock-free.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stemtap::inject {

class BufferPool {
 public:
  // One buffer for each of 512 launching threads, and as many that are being returned.
  static constexpr std::uint32_t kMaxBuffers = 1024;
  // Buffers to keep free: 4 MiB at the default size, what several threads use between two turns of
  // the flusher. More costs memory in every traced program; fewer makes launches create buffers
  // themselves.
  static constexpr std::uint32_t kKeepFree = 8;

  // Reserves addresses for all buffers and creates the first ones. Returns false if there is no
  // memory. `address_limit` is the address space limit of the process (RLIMIT_AS). If it is low,
  // the pool takes at most one sixteenth of it and has fewer buffers.
  bool Init(std::size_t buffer_bytes, std::uint64_t address_limit = ~std::uint64_t{0}) noexcept;

  // Returns a zeroed buffer: a free one, or a new one if a burst has used up the free ones (one
  // mmap; its pages are faulted in as CUPTI fills them). Returns nullptr if all buffers are lent;
  // the caller then lends Discard().
  void* Lend() noexcept;
  // Returns a buffer whose content is ignored. When the pool is exhausted, it is lent to any number
  // of requests at once: CUPTI before 12.9 crashes if it is given a null buffer.
  void* Discard() noexcept { return discard_; }
  bool IsDiscard(const void* buffer) const noexcept { return buffer == discard_; }
  // Returns whether `buffer` belongs to the pool. Buffers of another CUPTI client can reach our
  // callback.
  bool Owns(const void* buffer) const noexcept;
  // Zeroes the first `used` bytes and returns the buffer to the pool. REQUIRES: Owns(buffer).
  void Return(void* buffer, std::size_t used) noexcept;
  // Creates buffers until kKeepFree are free or the maximum is reached. One caller at a time.
  void Grow() noexcept;

  std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  // Number of buffers lent and not returned. Exact only while no thread lends or returns.
  std::uint32_t lent_weak() const noexcept { return lent_.load(std::memory_order_relaxed); }

 private:
  // Creates a buffer, faulted in if `populate`. Returns nullptr if there can be no more.
  void* Make(bool populate) noexcept;
  std::uint32_t IndexOf(const void* buffer) const noexcept;
  void Push(std::uint32_t index) noexcept;

  std::size_t buffer_bytes_ = 0;
  std::uint32_t max_buffers_ = 0;  // number of buffers, at most kMaxBuffers
  unsigned char* base_ = nullptr;
  void* discard_ = nullptr;
  // Free list: a stack of buffer numbers starting at 1; 0 ends it. The upper half counts changes,
  // so that a compare-exchange fails if other threads popped and pushed the same head in between
  // (ABA). Pushed by Return and Grow (release), popped by Lend (acquire).
  std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint32_t> next_[kMaxBuffers] = {};
  // Counters; relaxed. Push and Lend write free_, Grow reads it. Lend and Return write lent_, the
  // flusher reads it. Make writes and reads made_.
  std::atomic<std::uint32_t> free_{0};
  std::atomic<std::uint32_t> lent_{0};
  std::atomic<std::uint32_t> made_{0};
};

}  // namespace stemtap::inject
