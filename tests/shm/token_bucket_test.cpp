// SPDX-License-Identifier: Apache-2.0
#include "shm/token_bucket.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace stemtap::shm {
namespace {

constexpr std::uint64_t kSecond = TokenBucket::kSecondNs;
constexpr std::uint64_t kNow = 5 * kSecond;

int TakenAt(TokenBucket& bucket, std::uint64_t now_ns) {
  int taken = 0;
  while (taken < 10'000 && bucket.TryTake(now_ns)) ++taken;
  return taken;
}

TEST_CASE("a full bucket contains the tokens of one second and then refills one by one") {
  TokenBucket bucket;
  bucket.Init(100);
  CHECK(TakenAt(bucket, kNow) == 100);
  CHECK(TakenAt(bucket, kNow + 9'999'999) == 0);
  CHECK(TakenAt(bucket, kNow + 10'000'000) == 1);
  CHECK(TakenAt(bucket, kNow + 50'000'000) == 4);
}

TEST_CASE("an idle bucket refills to at most the tokens of one second") {
  TokenBucket bucket;
  bucket.Init(10);
  CHECK(TakenAt(bucket, kNow) == 10);
  CHECK(TakenAt(bucket, kNow + 1000 * kSecond) == 10);
}

TEST_CASE("a returned token is available immediately") {
  TokenBucket bucket;
  bucket.Init(3);
  CHECK(TakenAt(bucket, kNow) == 3);
  bucket.GiveBack();
  CHECK(TakenAt(bucket, kNow) == 1);
}

TEST_CASE("without a limit, a token is always available") {
  TokenBucket bucket;
  bucket.Init(0);
  CHECK_FALSE(bucket.limited());
  CHECK(TakenAt(bucket, 0) == 10'000);
}

TEST_CASE("a bucket with one token per second accepts a clock that is slightly behind") {
  TokenBucket bucket;
  bucket.Init(1);
  CHECK(TakenAt(bucket, kNow) == 1);
  CHECK(TakenAt(bucket, kNow - 1000) == 0);  // another thread read its clock earlier
  CHECK(TakenAt(bucket, kNow + kSecond - 1) == 0);
  CHECK(TakenAt(bucket, kNow + kSecond) == 1);
}

TEST_CASE("concurrent threads share the tokens") {
  TokenBucket bucket;
  bucket.Init(1000);
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) taken += bucket.TryTake(kNow);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(taken == 1000);
}

}  // namespace
}  // namespace stemtap::shm
