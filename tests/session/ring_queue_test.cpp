// SPDX-License-Identifier: Apache-2.0
//
// These tests also run under the thread sanitizer.
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "session/ring_reader.h"
#include "session/written_ring.h"
#include "support/temp_dir.h"

namespace stemtap::session {
namespace {

using test::TempDir;

shm::KernelRecord Numbered(std::uint64_t number) {
  shm::KernelRecord record;
  record.start_ns = number;
  record.duration_ns = ~number;
  return record;
}

TEST_CASE("records that a process pushes are read in order, complete and once") {
  auto ring = std::make_unique<shm::RingFile>();
  constexpr std::uint64_t kRecords = 600000;  // the queue wraps around twice
  std::thread producer([&] {
    for (std::uint64_t next = 0; next < kRecords;) {
      std::vector<shm::Record> batch;
      for (std::uint64_t i = 0; i < next % 97 + 1 && next + i < kRecords; ++i) {
        batch.emplace_back(Numbered(next + i));
      }
      next += ring->queue.push(batch.data(), batch.size());
    }
  });
  RingQueue queue(ring->queue);
  std::vector<shm::Record> out(1000);
  std::uint64_t expected = 0;
  std::uint64_t broken = 0;
  while (expected < kRecords) {
    const std::optional<std::size_t> taken = queue.Pop(out);
    REQUIRE(taken.has_value());
    for (std::size_t i = 0; i < *taken; ++i) {
      broken += out[i].kernel.start_ns != expected || out[i].kernel.duration_ns != ~expected;
      ++expected;
    }
  }
  producer.join();
  CHECK(broken == 0);
  CHECK(queue.Pop(out) == 0);
  CHECK(ring->queue.read_available() == 0);
}

TEST_CASE("a full queue is read completely, and then has room again") {
  auto ring = std::make_unique<shm::RingFile>();
  RingQueue queue(ring->queue);
  std::vector<shm::Record> out(shm::kRingCapacity + 1);
  for (int round = 0; round < 3; ++round) {
    std::uint64_t pushed = 0;
    while (ring->queue.push(shm::Record(Numbered(pushed)))) ++pushed;
    CHECK(pushed == shm::kRingCapacity);
    CHECK(queue.Pop(std::span(out).first(0)) == 0);
    REQUIRE(queue.Pop(out) == shm::kRingCapacity);
    CHECK(out[0].kernel.start_ns == 0);
    CHECK(out[shm::kRingCapacity - 1].kernel.start_ns == shm::kRingCapacity - 1);
  }
}

TEST_CASE("a second reader continues where the first one ended") {
  auto ring = std::make_unique<shm::RingFile>();
  for (std::uint64_t i = 0; i < 10; ++i) ring->queue.push(shm::Record(Numbered(i)));
  std::vector<shm::Record> out(4);
  CHECK(RingQueue(ring->queue).Pop(out) == 4);
  RingQueue second(ring->queue);
  REQUIRE(second.Pop(out) == 4);
  CHECK(out[0].kernel.start_ns == 4);
}

// Writes the indices of the queue, as a damaged or hostile process can.
struct Indices : shm::RecordQueue {
  static auto& Write(shm::RecordQueue& queue) { return queue.*&Indices::write_index_; }
  static auto& Read(shm::RecordQueue& queue) { return queue.*&Indices::read_index_; }
};

TEST_CASE("a read index that another program moves is damage") {
  auto ring = std::make_unique<shm::RingFile>();
  for (std::uint64_t i = 0; i < 10; ++i) ring->queue.push(shm::Record(Numbered(i)));
  RingQueue queue(ring->queue);
  std::vector<shm::Record> out(4);
  CHECK(queue.Pop(out) == 4);
  Indices::Read(ring->queue).store(5);
  CHECK_FALSE(queue.Pop(out).has_value());
}

TEST_CASE("indices that change while records are read are not followed") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  WrittenRing writer(path);
  writer.Define(0, "k");
  while (writer.ring->queue.write_available() != 0) writer.Kernel(0, 5);
  shm::RecordQueue& queue = writer.ring->queue;
  // With the valid index, the queue is empty, so that the reader checks the indices often.
  constexpr std::size_t kValid = 5000;
  Indices::Write(queue).store(kValid);
  Indices::Read(queue).store(kValid);
  std::atomic<bool> stop{false};
  std::thread hostile([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      Indices::Read(queue).store(shm::kRingCapacity + 201);
      for (int i = 0; i < 5; ++i) Indices::Read(queue).store(kValid);
    }
  });
  // Boost's pop() behind a check of the indices usually fails in the first 4,000 rounds.
  constexpr int kRounds = 6000;
  int damaged = 0;
  ReadKernels session;
  for (int round = 0; round < kRounds || damaged == 0; ++round) {
    auto reader = RingReader::Open(path);
    REQUIRE(reader.ok());
    for (int i = 0; i < 1000 && !reader.value().Ended(); ++i) session.Drain(reader.value(), 256);
    damaged += reader.value().Ended();
  }
  stop = true;
  hostile.join();
  CHECK(session.kernels.empty());
}

}  // namespace
}  // namespace stemtap::session
