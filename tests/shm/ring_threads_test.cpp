// SPDX-License-Identifier: Apache-2.0
// These tests also run under the thread sanitizer.
#include <doctest/doctest.h>

#include <memory>
#include <thread>
#include <vector>

#include "shm/ring.h"

namespace stemtap::shm {
namespace {

KernelRecord Numbered(std::uint64_t number) {
  KernelRecord record;
  record.start_ns = number;
  record.duration_ns = ~number;
  return record;
}

TEST_CASE("records pass through the ring in order, complete and once, and the ring ends empty") {
  auto ring = std::make_unique<RingFile>();
  constexpr std::uint64_t kRecords = 400000;  // more than the ring's capacity, so it wraps around
  std::thread producer([&] {
    for (std::uint64_t next = 0; next < kRecords;) {
      std::vector<Record> batch;
      for (std::uint64_t i = 0; i < next % 97 + 1 && next + i < kRecords; ++i) {
        batch.emplace_back(Numbered(next + i));
      }
      next += ring->queue.push(batch.data(), batch.size());
    }
    ring->header.kept.fetch_add(kRecords, std::memory_order_relaxed);
    ring->header.state.store(static_cast<std::uint32_t>(RingState::kClosed),
                             std::memory_order_release);
  });
  std::vector<Record> out(1000);
  std::uint64_t expected = 0;
  std::uint64_t broken = 0;
  while (expected < kRecords) {
    const std::size_t taken = ring->queue.pop(out.data(), out.size());
    for (std::size_t i = 0; i < taken; ++i) {
      broken += out[i].kernel.start_ns != expected || out[i].kernel.duration_ns != ~expected;
      ++expected;
    }
  }
  producer.join();
  CHECK(broken == 0);
  CHECK(expected == kRecords);
  CHECK(ring->queue.read_available() == 0);
  CHECK(ring->header.state.load(std::memory_order_acquire) ==
        static_cast<std::uint32_t>(RingState::kClosed));
  CHECK(ring->header.kept.load(std::memory_order_relaxed) == kRecords);
}

TEST_CASE("a full ring rejects records and keeps all accepted records") {
  auto ring = std::make_unique<RingFile>();
  std::uint64_t pushed = 0;
  while (ring->queue.push(Record(Numbered(pushed)))) ++pushed;
  CHECK(pushed == kRingCapacity);
  CHECK_FALSE(ring->queue.push(Record(Numbered(pushed))));
  Record record;
  CHECK(ring->queue.pop(record));
  CHECK(record.kernel.start_ns == 0);
  CHECK(ring->queue.push(Record(Numbered(pushed))));
}

}  // namespace
}  // namespace stemtap::shm
