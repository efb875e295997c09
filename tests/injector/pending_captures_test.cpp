// SPDX-License-Identifier: Apache-2.0
#include "gate/pending_captures.h"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace stemtap::inject {
namespace {

using Capture = PendingCapture;

TEST_CASE("an added capture is taken once, with its slot and flags") {
  const auto pending = std::make_unique<PendingCaptures>();
  Capture capture{};
  CHECK_FALSE(pending->Take(5, capture));
  REQUIRE(pending->Add(5, {{65'535, 3}, {}}));
  REQUIRE(pending->Add(0, {{0, 1}, {}}));  // 0 is a valid correlation id
  CHECK_FALSE(pending->Take(6, capture));
  REQUIRE(pending->Take(5, capture));
  CHECK(capture.answer.credit_slot == 65'535);
  CHECK(capture.answer.flags == 3);
  CHECK_FALSE(pending->Take(5, capture));
  REQUIRE(pending->Take(0, capture));
  CHECK(capture.answer.credit_slot == 0);
  CHECK(capture.answer.flags == 1);
}

TEST_CASE("an added capture is taken with its mark") {
  const auto pending = std::make_unique<PendingCaptures>();
  REQUIRE(pending->Add(5, {{1, 1}, {8193, shm::kNoStep}}));
  REQUIRE(pending->Add(6, {{1, 1}, {shm::kNoRange, 12}}));
  REQUIRE(pending->Add(7, {{1, 1}, {}}));
  Capture capture{};
  REQUIRE(pending->Take(6, capture));
  CHECK(capture.mark.range_id == shm::kNoRange);
  CHECK(capture.mark.step == 12);
  REQUIRE(pending->Take(5, capture));
  CHECK(capture.mark.range_id == 8193);
  CHECK(capture.mark.step == shm::kNoStep);
  REQUIRE(pending->Take(7, capture));
  CHECK(capture.mark.empty());
}

TEST_CASE("an added capture is taken with the hash of its kernel") {
  const auto pending = std::make_unique<PendingCaptures>();
  REQUIRE(pending->Add(5, {{0, 3}, {}, 1234}));
  REQUIRE(pending->Add(6, {{0, 3}, {}, 0xFEDCBA9876543210}));
  Capture capture{};
  REQUIRE(pending->Take(6, capture));
  CHECK(capture.name_hash == 0xFEDCBA9876543210);
  REQUIRE(pending->Take(5, capture));
  CHECK(capture.name_hash == 1234);
}

TEST_CASE("any() reports whether captures are pending") {
  const auto pending = std::make_unique<PendingCaptures>();
  Capture capture{};
  CHECK_FALSE(pending->any());
  REQUIRE(pending->Add(5, {{1, 1}, {}}));
  REQUIRE(pending->Add(6, {{1, 1}, {}}));
  CHECK(pending->any());
  REQUIRE(pending->Take(5, capture));
  CHECK(pending->any());
  REQUIRE(pending->Take(6, capture));
  CHECK_FALSE(pending->any());
}

TEST_CASE("correlation ids can wrap at 2^32") {
  const auto pending = std::make_unique<PendingCaptures>();
  const std::uint32_t first = 0xFFFFFF00u;
  for (std::uint32_t i = 0; i < 512; ++i) REQUIRE(pending->Add(first + i, {{1, 1}, {}}));
  Capture capture{};
  for (std::uint32_t i = 0; i < 512; ++i) REQUIRE(pending->Take(first + i, capture));
  for (std::uint32_t i = 0; i < 512; ++i) REQUIRE_FALSE(pending->Take(first + i, capture));
}

TEST_CASE("a full table refuses captures until one is taken") {
  const auto pending = std::make_unique<PendingCaptures>();
  for (std::uint32_t id = 1; id <= PendingCaptures::kEntries; ++id)
    REQUIRE(pending->Add(id, {{1, 1}, {}}));
  CHECK_FALSE(pending->Add(PendingCaptures::kEntries + 1, {{1, 1}, {}}));
  Capture capture{};
  REQUIRE(pending->Take(20, capture));
  CHECK(pending->Add(PendingCaptures::kEntries + 1, {{9, 1}, {}}));
  REQUIRE(pending->Take(PendingCaptures::kEntries + 1, capture));
  CHECK(capture.answer.credit_slot == 9);
}

TEST_CASE("a capture is refused if the slots near its hash are occupied") {
  const auto pending = std::make_unique<PendingCaptures>();
  for (std::uint32_t i = 0; i < PendingCaptures::kProbe; ++i) {
    REQUIRE(pending->Add(7 + i * PendingCaptures::kEntries, {{1, 1}, {}}));
  }
  CHECK_FALSE(pending->Add(7 + PendingCaptures::kProbe * PendingCaptures::kEntries, {{1, 1}, {}}));
  CHECK(pending->Add(8 + PendingCaptures::kProbe, {{1, 1}, {}}));
}

TEST_CASE("captures without a record are eventually replaced by new captures") {
  const auto pending = std::make_unique<PendingCaptures>();
  const std::uint32_t first = 0xFFFFF000u;  // ids that wrap do not become recent again
  for (std::uint32_t i = 0; i < PendingCaptures::kEntries; ++i) {
    REQUIRE(pending->Add(first + i, {{1, 1}, {}}));
  }
  const std::uint32_t later = first + PendingCaptures::kEntries + PendingCaptures::kStale;
  CHECK_FALSE(
      pending->Add(first + PendingCaptures::kStale, {{2, 1}, {}}));  // no capture is stale yet
  REQUIRE(pending->Add(later, {{2, 1}, {}}));
  Capture capture{};
  REQUIRE(pending->Take(later, capture));
  CHECK(capture.answer.credit_slot == 2);
  // It replaced one capture; the others are still pending.
  std::uint32_t left = 0;
  for (std::uint32_t i = 0; i < PendingCaptures::kEntries; ++i)
    left += pending->Take(first + i, capture);
  CHECK(left == PendingCaptures::kEntries - 1);
}

TEST_CASE("no capture is lost or mixed up between adding threads and a taking thread") {
  const auto pending = std::make_unique<PendingCaptures>();
  constexpr std::uint32_t kThreads = 4;
  constexpr std::uint32_t kEach = 50'000;
  std::atomic<std::uint32_t> next_id{0xFFFFFFFFu - 10'000};
  std::mutex mutex;  // replaces CUPTI, which orders the record after the launch
  std::vector<std::uint32_t> records;
  std::atomic<std::uint32_t> running{kThreads};
  std::atomic<std::uint64_t> refused{0};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (std::uint32_t i = 0; i < kEach; ++i) {
        const std::uint32_t id = next_id.fetch_add(1);
        if (!pending->Add(id, {{static_cast<std::uint16_t>(id * 31), 1}, {id * 7, id * 5}})) {
          refused.fetch_add(1);
          std::this_thread::yield();
          continue;
        }
        const std::lock_guard lock(mutex);
        records.push_back(id);
      }
      running.fetch_sub(1);
    });
  }
  std::uint64_t taken = 0, wrong = 0;
  for (bool last = false; !last;) {
    last = running.load() == 0;
    std::vector<std::uint32_t> batch;
    {
      const std::lock_guard lock(mutex);
      batch.swap(records);
    }
    for (const std::uint32_t id : batch) {
      Capture capture{};
      const bool right = pending->Take(id, capture) &&
                         capture.answer.credit_slot == static_cast<std::uint16_t>(id * 31) &&
                         capture.mark.range_id == id * 7 && capture.mark.step == id * 5;
      wrong += !right;
      ++taken;
    }
    if (batch.empty()) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(taken + refused.load() == std::uint64_t{kThreads} * kEach);
  CHECK(taken > PendingCaptures::kEntries);
}

}  // namespace
}  // namespace stemtap::inject
