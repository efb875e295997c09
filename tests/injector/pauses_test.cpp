// SPDX-License-Identifier: Apache-2.0
#include "control/pauses.h"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace stemtap::inject {
namespace {

TEST_CASE("nothing is paused before the first pause") {
  const auto pauses = std::make_unique<Pauses>();
  CHECK_FALSE(pauses->paused());
  CHECK_FALSE(pauses->Covers(0));
  CHECK_FALSE(pauses->Covers(~std::uint64_t{0}));
}

TEST_CASE("a pause covers the times from its start to its end") {
  const auto pauses = std::make_unique<Pauses>();
  pauses->Begin(100);
  CHECK(pauses->paused());
  CHECK_FALSE(pauses->Covers(99));
  CHECK(pauses->Covers(100));
  CHECK(pauses->Covers(1'000'000));
  pauses->End(200);
  CHECK_FALSE(pauses->paused());
  CHECK(pauses->Covers(199));
  CHECK_FALSE(pauses->Covers(200));
  pauses->Begin(300);
  CHECK_FALSE(pauses->Covers(299));
  CHECK(pauses->Covers(150));
  CHECK(pauses->Covers(300));
}

TEST_CASE("pauses do not nest") {
  const auto pauses = std::make_unique<Pauses>();
  pauses->End(50);  // not paused
  CHECK_FALSE(pauses->Covers(60));
  pauses->Begin(100);
  pauses->Begin(150);
  pauses->End(200);
  CHECK_FALSE(pauses->paused());
  CHECK(pauses->Covers(120));
  CHECK_FALSE(pauses->Covers(250));
}

TEST_CASE("of several switches at time 0, before the recording, the last one applies") {
  const auto pauses = std::make_unique<Pauses>();
  pauses->Begin(0);
  CHECK(pauses->Covers(1));
  pauses->End(0);
  CHECK_FALSE(pauses->Covers(0));
  CHECK_FALSE(pauses->Covers(1));
  pauses->Begin(0);
  pauses->End(500);
  CHECK(pauses->Covers(499));
  CHECK_FALSE(pauses->Covers(500));
}

TEST_CASE("only the latest switches are kept") {
  const auto pauses = std::make_unique<Pauses>();
  constexpr std::uint64_t kPauses = 3 * Pauses::kTimes;
  for (std::uint64_t i = 1; i <= kPauses; ++i) {
    pauses->Begin(10 * i);
    pauses->End(10 * i + 5);
  }
  for (std::uint64_t i = kPauses - Pauses::kTimes / 2 + 1; i <= kPauses; ++i) {
    REQUIRE(pauses->Covers(10 * i + 1));
    REQUIRE_FALSE(pauses->Covers(10 * i + 6));
  }
}

// Adds pauses of 10 ns that begin at `from` and every 20 ns until `to`.
void Pause(Pauses& pauses, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t at = from; at < to; at += 20) {
    pauses.Begin(at);
    pauses.End(at + 10);
  }
}

TEST_CASE("a switch with a time before the last switch gets the time of the last switch") {
  const auto pauses = std::make_unique<Pauses>();
  Pause(*pauses, 2000, 3000);
  SUBCASE("the begin of a pause") {
    pauses->Begin(1000);  // a thread that read the clock before all of these pauses
    CHECK(pauses->Covers(2990));
    pauses->End(3000);
    CHECK(pauses->Covers(2999));
  }
  SUBCASE("the end of a pause") {
    pauses->Begin(2995);
    pauses->End(1000);
    CHECK_FALSE(pauses->Covers(2995));
  }
  CHECK_FALSE(pauses->Covers(3000));
  Pause(*pauses, 3010, 4000);
  CHECK_FALSE(pauses->Covers(1500));
  for (std::uint64_t at = 2005; at < 2990; at += 20) {
    CHECK(pauses->Covers(at));
    CHECK(pauses->Covers(at + 1010));
    CHECK_FALSE(pauses->Covers(at - 10));
    CHECK_FALSE(pauses->Covers(at + 1000));
  }
}

TEST_CASE("switches of several threads are in order, also when the log wraps around") {
  const auto pauses = std::make_unique<Pauses>();
  std::atomic<std::uint64_t> clock{1};
  std::atomic<int> unsorted{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < 10 * Pauses::kTimes; ++i) {
        const std::uint64_t now = clock.fetch_add(1);
        i % 2 == 0 ? pauses->Begin(now) : pauses->End(now);
        const std::uint64_t count = pauses->count();
        const bool is_sorted =
            count < 2 || pauses->TimeOf(count - 2) <= pauses->TimeOf(count - 1);
        // If this thread was interrupted, both times may have been replaced.
        if (!is_sorted && pauses->count() - count < Pauses::kTimes / 2) ++unsorted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(unsorted == 0);
  const std::uint64_t count = pauses->count();
  CHECK(count > Pauses::kTimes);
  for (std::uint64_t i = count - Pauses::kTimes + 1; i < count; ++i) {
    REQUIRE(pauses->TimeOf(i - 1) <= pauses->TimeOf(i));
  }
}

}  // namespace
}  // namespace stemtap::inject
