// SPDX-License-Identifier: Apache-2.0
#include "recording/buffer_pool.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace stemtap::inject {
namespace {

constexpr std::size_t kBytes = 16 * 1024;

std::unique_ptr<BufferPool> MakePool() {
  auto pool = std::make_unique<BufferPool>();
  REQUIRE(pool->Init(kBytes));
  return pool;
}

bool IsZero(const void* buffer) {
  const auto* bytes = static_cast<const unsigned char*>(buffer);
  return std::all_of(bytes, bytes + kBytes, [](unsigned char b) { return b == 0; });
}

TEST_CASE("with an address space limit, the pool uses one sixteenth of it") {
  const auto pool = std::make_unique<BufferPool>();
  REQUIRE(pool->Init(kBytes, 20 * 16 * kBytes));
  std::set<void*> seen;
  for (int i = 0; i < 20; ++i) seen.insert(pool->Lend());
  CHECK(seen.size() == 20);
  CHECK_FALSE(seen.contains(nullptr));
  CHECK(pool->Lend() == nullptr);
  for (const void* buffer : seen) CHECK(pool->Owns(buffer));
  CHECK_FALSE(pool->Owns(pool->Discard()));
  const auto none = std::make_unique<BufferPool>();
  CHECK_FALSE(none->Init(kBytes, (BufferPool::kKeepFree * 16 - 1) * kBytes));
}

TEST_CASE("a buffer is aligned and zeroed, and is zeroed again after use") {
  const auto pool = MakePool();
  std::set<void*> seen;
  for (std::uint32_t i = 0; i < 3 * BufferPool::kKeepFree; ++i) {
    void* buffer = pool->Lend();
    REQUIRE(buffer != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer) % 8 == 0);
    CHECK(IsZero(buffer));
    CHECK(pool->Owns(buffer));
    CHECK(pool->lent_weak() == 1);
    std::memset(buffer, 0xFF, kBytes);
    seen.insert(buffer);
    pool->Return(buffer, kBytes);
    CHECK(pool->lent_weak() == 0);
  }
  CHECK(seen.size() <= BufferPool::kKeepFree);
}

TEST_CASE("a returned size beyond the buffer's end does not zero memory beyond it") {
  const auto pool = MakePool();
  std::vector<void*> lent;
  while (void* buffer = pool->Lend()) lent.push_back(buffer);
  for (void* buffer : lent) std::memset(buffer, 0xFF, kBytes);
  std::sort(lent.begin(), lent.end());
  pool->Return(lent[0], 2 * kBytes);
  CHECK(*static_cast<unsigned char*>(lent[1]) == 0xFF);
}

TEST_CASE("only the used part of a buffer is zeroed") {
  const auto pool = MakePool();
  void* buffer = pool->Lend();
  std::memset(buffer, 0xFF, 100);
  pool->Return(buffer, 100);
  CHECK(IsZero(pool->Lend()));
}

TEST_CASE("Lend creates buffers on demand up to the maximum") {
  const auto pool = MakePool();
  std::set<void*> lent;
  while (void* buffer = pool->Lend()) {
    REQUIRE(IsZero(buffer));
    REQUIRE(lent.insert(buffer).second);
  }
  CHECK(lent.size() == BufferPool::kMaxBuffers);
  CHECK(pool->lent_weak() == BufferPool::kMaxBuffers);
  pool->Grow();  // the maximum is reached
  CHECK(pool->Lend() == nullptr);
  pool->Return(*lent.begin(), 0);
  CHECK(pool->Lend() == *lent.begin());
  CHECK(pool->Lend() == nullptr);
}

TEST_CASE("Grow replaces only the buffers that a burst has taken") {
  const auto pool = MakePool();
  std::vector<void*> lent;
  for (std::uint32_t i = 0; i < BufferPool::kKeepFree; ++i) lent.push_back(pool->Lend());
  pool->Grow();
  pool->Grow();
  for (void* buffer : lent) pool->Return(buffer, 0);
  std::set<void*> ready;
  for (std::uint32_t i = 0; i < 2 * BufferPool::kKeepFree; ++i) {
    REQUIRE(ready.insert(pool->Lend()).second);
  }
  for (void* buffer : lent) CHECK(ready.count(buffer) == 1);
  CHECK(pool->lent_weak() == 2 * BufferPool::kKeepFree);
}

TEST_CASE("the discard buffer is not part of the pool and can be written") {
  const auto pool = MakePool();
  void* discard = pool->Discard();
  REQUIRE(discard != nullptr);
  CHECK(pool->IsDiscard(discard));
  CHECK_FALSE(pool->Owns(discard));
  std::memset(discard, 1, kBytes);
  CHECK(pool->Discard() == discard);
  void* lent = pool->Lend();
  CHECK_FALSE(pool->IsDiscard(lent));
}

TEST_CASE("the pool does not own other buffers") {
  const auto pool = MakePool();
  const auto other = MakePool();
  auto* lent = static_cast<unsigned char*>(pool->Lend());
  const std::vector<unsigned char> on_heap(64);
  CHECK_FALSE(pool->Owns(nullptr));
  CHECK_FALSE(pool->Owns(on_heap.data()));
  CHECK_FALSE(pool->Owns(lent + 8));
  CHECK_FALSE(pool->Owns(lent - 8));
  CHECK_FALSE(pool->Owns(other->Lend()));
  CHECK(pool->Owns(lent));
}

TEST_CASE("threads that lend and return buffers never share a buffer") {
  const auto pool = MakePool();
  constexpr int kThreads = 6;  // more than initial buffers, so the list also becomes empty
  constexpr int kRounds = 1'000'000;
  std::atomic<std::uint64_t> shared{0}, dirty{0}, lent{0};
  std::atomic<bool> done{false};
  std::thread grower([&] {
    while (!done.load()) {
      pool->Grow();
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (int t = 1; t <= kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        // Lends two buffers and returns the first while the second is lent. In this order, a free
        // list without a change count lends a buffer twice.
        void* held[] = {pool->Lend(), pool->Lend()};
        for (void* buffer : held) {
          if (buffer == nullptr) continue;
          // Not atomic: if two threads hold the buffer, one sees the other's mark, and the thread
          // sanitizer reports a race.
          volatile int* mark = static_cast<int*>(buffer);
          if (*mark != 0) dirty.fetch_add(1);
          *mark = t;
        }
        for (void* buffer : held) {
          if (buffer == nullptr) continue;
          volatile int* mark = static_cast<int*>(buffer);
          if (*mark != t) shared.fetch_add(1);
          lent.fetch_add(1);
          pool->Return(buffer, sizeof(int));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  done.store(true);
  grower.join();
  CHECK(shared.load() == 0);
  CHECK(dirty.load() == 0);
  CHECK(lent.load() > kRounds);
  CHECK(pool->lent_weak() == 0);
  // No buffer is missing: every buffer can be lent again exactly once.
  std::set<void*> all;
  while (void* buffer = pool->Lend()) REQUIRE(all.insert(buffer).second);
  CHECK(all.size() >= BufferPool::kKeepFree);
}

}  // namespace
}  // namespace stemtap::inject
