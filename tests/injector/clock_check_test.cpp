// SPDX-License-Identifier: Apache-2.0
#include "recording/clock_check.h"

#include <doctest/doctest.h>

namespace stemtap::inject {
namespace {

constexpr std::uint64_t kPeriod = 200'000'000;

// Clocks has two clocks. The second can run at any rate and can jump.
struct Clocks {
  ClockCheck check;
  std::uint64_t ours = 5'000'000'000;
  std::uint64_t theirs = 1'700'000'000'000'000'000;

  void Pass(std::uint64_t ns, double rate = 1) {
    ours += ns;
    theirs += static_cast<std::uint64_t>(static_cast<double>(ns) * rate);
  }
  bool Sample(std::uint64_t apart = 100) {
    check.Sample(ours, theirs + apart / 2, 0, ours + apart);
    return check.sane();
  }
};

TEST_CASE("a clock that counts nanoseconds is trusted for any first value") {
  for (const std::uint64_t begin : {std::uint64_t{0}, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    Clocks clocks;
    clocks.theirs = begin;
    for (int i = 0; i < 100; ++i) {
      CHECK(clocks.Sample());
      clocks.Pass(kPeriod, i % 2 == 0 ? 1.0005 : 0.9995);  // as when NTP slews the clock
    }
  }
}

TEST_CASE("a forward or backward step of the clock is accepted") {
  for (const std::int64_t step :
       {std::int64_t{3'600'000'000'000}, std::int64_t{-3'600'000'000'000}}) {
    Clocks clocks;
    for (int i = 0; i < 10; ++i) {
      if (i == 4) clocks.theirs += static_cast<std::uint64_t>(step);
      CHECK(clocks.Sample());
      clocks.Pass(kPeriod);
    }
  }
}

TEST_CASE("a different unit is detected at the second interval, and its end at the first") {
  for (const double rate : {2.1, 3.8, 0.001, 0.0, 1.1}) {
    CAPTURE(rate);
    Clocks clocks;
    clocks.Sample();
    clocks.Pass(kPeriod);
    CHECK(clocks.Sample());
    clocks.Pass(kPeriod, rate);
    CHECK(clocks.Sample());
    for (int i = 0; i < 10; ++i) {
      clocks.Pass(kPeriod, rate);
      CHECK_FALSE(clocks.Sample());
    }
    clocks.Pass(kPeriod);
    CHECK(clocks.Sample());
  }
}

TEST_CASE("short intervals are joined until they are long enough to judge") {
  Clocks clocks;
  clocks.Sample();
  // 1 ms at 2 GHz: each sample differs by 1 ms, which counts as noise until 50 samples agree.
  int samples = 0;
  while (clocks.Sample()) {
    clocks.Pass(1'000'000, 2);
    REQUIRE(++samples < 200);
  }
  CHECK(samples == 100);
}

TEST_CASE("a sample during which the thread lost its core is ignored") {
  Clocks clocks;
  clocks.Sample();
  for (int i = 0; i < 10; ++i) {
    clocks.Pass(kPeriod);
    CHECK(clocks.Sample(60'000'000));
  }
  clocks.Pass(kPeriod);
  CHECK(clocks.Sample());
}

TEST_CASE("a record with a different time is not trusted once CUPTI's clock was CLOCK_REALTIME") {
  constexpr std::uint64_t kNow = 1'800'000'000'000'000'000;
  constexpr std::uint64_t kCycles = 40'000'000'000'000'000;  // half a year at 3 GHz
  ClockCheck check;
  check.Sample(5'000, kCycles, kNow, 5'100);
  CHECK(check.Believes(kCycles, kNow));  // CUPTI's clock may be a different clock
  check.Sample(6'000, kNow, kNow + 50, 6'100);
  CHECK(check.Believes(kNow, kNow + 50));
  CHECK(check.Believes(kNow - 3'600'000'000'000, kNow));
  CHECK(check.Believes(kNow + 3'600'000'000'000, kNow));  // the clock was set back
  CHECK_FALSE(check.Believes(kCycles, kNow));
  CHECK_FALSE(check.Believes(0, kNow));
  CHECK_FALSE(check.Believes(~std::uint64_t{0}, kNow));
  // Kineto makes the cycle counter CUPTI's clock. The earlier result is kept.
  check.Sample(7'000, kCycles, kNow, 7'100);
  CHECK_FALSE(check.Believes(kCycles, kNow));
}

}  // namespace
}  // namespace stemtap::inject
