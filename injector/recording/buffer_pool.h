// SPDX-License-Identifier: Apache-2.0
//
// BufferPool holds the activity buffers that CUPTI writes kernel records into. They are zeroed and
// prefaulted ahead, so that handing one to a launching thread costs tens of nanoseconds, not the
// milliseconds of a cold megabyte.
//
//   free ──Lend()──► lent (CUPTI's) ──Owns(), Return()──► free
//
// Memory is never given back to the system: CUPTI may hold a buffer as long as the process lives.
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
  // With a buffer per launching thread, 512 threads, and as many on their way back.
  static constexpr std::uint32_t kMostBuffers = 1024;
  // Kept free, 4 MiB of the default size: what several threads use up between two visits of the
  // flusher. More costs memory in every traced program, fewer has launches make buffers for
  // themselves.
  static constexpr std::uint32_t kKeepFree = 8;

  // Reserves addresses for all buffers and makes the first ones. False if there is no memory.
  // `address_limit` is what the process may have in all (RLIMIT_AS): of a limit that would be felt
  // the pool takes one part in sixteen, and has fewer buffers.
  bool Init(std::size_t buffer_bytes, std::uint64_t address_limit = ~std::uint64_t{0}) noexcept;

  // A zeroed buffer: a free one, or, when a burst has used those up, one made on the spot (one
  // mmap; its pages are faulted in as CUPTI fills them). nullptr if all that there can be are out (the
  // caller then lends Discard()).
  void* Lend() noexcept;
  // A buffer whose content nobody will read, lent to any number of requests at once when the pool
  // is exhausted: CUPTI must never be given a null buffer (it crashes before 12.9).
  void* Discard() noexcept { return discard_; }
  bool IsDiscard(const void* buffer) const noexcept { return buffer == discard_; }
  // Whether `buffer` is one of ours (another client's buffers can end up in our callback).
  bool Owns(const void* buffer) const noexcept;
  // Zeroes the first `used` bytes and takes the buffer back. REQUIRES: Owns(buffer).
  void Return(void* buffer, std::size_t used) noexcept;
  // Makes buffers until kKeepFree are free again, up to the most. One caller at a time.
  void Grow() noexcept;

  std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  // Buffers lent and not returned. Exact when quiet.
  std::uint32_t lent_weak() const noexcept { return lent_.load(std::memory_order_relaxed); }

 private:
  // A new buffer, faulted in if `populate`; nullptr if there can be none.
  void* Make(bool populate) noexcept;
  std::uint32_t IndexOf(const void* buffer) const noexcept;
  void Push(std::uint32_t index) noexcept;

  std::size_t buffer_bytes_ = 0;
  std::uint32_t most_ = 0;  // buffers, kMostBuffers or less
  unsigned char* base_ = nullptr;
  void* discard_ = nullptr;
  // Free list: a stack of buffer numbers from 1 on, 0 ends it. The upper half counts changes, so
  // that a head read before another thread popped and pushed it back is not taken for unchanged
  // (ABA).
  std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint32_t> next_[kMostBuffers] = {};
  std::atomic<std::uint32_t> free_{0};
  std::atomic<std::uint32_t> lent_{0};
  std::atomic<std::uint32_t> made_{0};
};

}  // namespace stemtap::inject
