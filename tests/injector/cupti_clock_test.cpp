// SPDX-License-Identifier: Apache-2.0
#include "recording/cupti_clock.h"

#include <doctest/doctest.h>

namespace stemtap::inject {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kPeriod = 200 * kMs;
constexpr std::uint64_t kHour = 3'600'000 * kMs;

// Clocks has our clocks and CUPTI's, which can run at any rate and can jump.
struct Clocks {
  CuptiClock clock;
  std::uint64_t monotonic = 5'000'000'000;
  std::uint64_t realtime = 1'800'000'000'000'000'000;
  double ticks = 1.8e18;  // exact to 256

  void Pass(std::uint64_t ns, double rate = 1) {
    monotonic += ns;
    realtime += ns;
    ticks += static_cast<double>(ns) * rate;
  }
  CuptiClock::Reading Read(std::uint64_t apart = 100) const {
    return {monotonic, static_cast<std::uint64_t>(ticks), realtime, apart};
  }
  // Reads the clocks as the flusher does. Returns whether the clock is known.
  bool Sample(double rate = 1) {
    const CuptiClock::Reading from = Read();
    clock.Sample(from);
    if (!clock.doubtful()) return true;
    Pass(11 * kMs, rate);
    return clock.Calibrate(from, Read());
  }
  // Replaces the clock by one that counts `ticks` now.
  void Replace(double now) { ticks = now; }

  struct Times {
    bool is_known;
    std::uint64_t start, duration;
  };
  Times Convert(std::uint64_t start, std::uint64_t duration) const {
    const bool is_known = clock.Convert(start, duration, realtime);
    return {is_known, start, duration};
  }
};

std::uint64_t Apart(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : b - a;
}

TEST_CASE("times of CLOCK_REALTIME are not converted, also around steps of the clock") {
  Clocks clocks;
  for (int i = 0; i < 20; ++i) {
    CHECK(clocks.Sample());
    clocks.Pass(kPeriod, i % 2 == 0 ? 1.0005 : 0.9995);  // as when NTP slews the clock
    if (i == 10) clocks.ticks += static_cast<double>(kHour);
    const auto times = clocks.Convert(clocks.realtime - kHour, 1'234);
    CHECK(times.is_known);
    CHECK(times.start == clocks.realtime - kHour);
    CHECK(times.duration == 1'234);
  }
  CHECK_FALSE(clocks.clock.is_replaced());
}

TEST_CASE("times of a cycle counter are converted after the next reading") {
  for (const double rate : {0.001, 0.5, 1.0, 2.1, 3.8}) {
    CAPTURE(rate);
    Clocks clocks;
    CHECK(clocks.Sample());
    clocks.Pass(kPeriod);
    clocks.Replace(4e16);  // half a year at 3 GHz
    const auto ticks = static_cast<std::uint64_t>(clocks.ticks);
    CHECK_FALSE(clocks.Convert(ticks, 1'000).is_known);
    CHECK(clocks.Sample(rate));
    CHECK(clocks.clock.is_replaced() == (rate != 1.0));
    clocks.Pass(kPeriod, rate);
    const auto start = static_cast<std::uint64_t>(clocks.ticks);
    const auto times = clocks.Convert(start, static_cast<std::uint64_t>(5e6 * rate));
    CHECK(times.is_known);
    CHECK(Apart(times.start, clocks.realtime) < 2 * kMs);
    CHECK(Apart(times.duration, 5'000'000) <= 1'000);
    // Records from before the replacement arrive late.
    CHECK(clocks.Convert(clocks.realtime - kPeriod, 700).duration == 700);
  }
}

TEST_CASE("durations of another clock of nanoseconds are unchanged, as under WSL") {
  Clocks clocks;
  clocks.Replace(7e12);  // CLOCK_MONOTONIC_RAW, two hours after the start of the machine
  CHECK(clocks.Sample(1.0004));
  CHECK_FALSE(clocks.clock.is_replaced());
  clocks.Pass(kPeriod, 1.0004);
  const auto times = clocks.Convert(static_cast<std::uint64_t>(clocks.ticks), 123'456'789);
  CHECK(times.is_known);
  CHECK(Apart(times.start, clocks.realtime) < kMs);
  CHECK(times.duration == 123'456'789);
}

TEST_CASE("the rate of a calibration gets more exact with time") {
  constexpr double kRate = 2.4;
  Clocks clocks;
  clocks.Replace(4e16);
  const CuptiClock::Reading from = clocks.Read();
  clocks.clock.Sample(from);
  REQUIRE(clocks.clock.doubtful());
  clocks.Pass(11 * kMs, kRate);
  CuptiClock::Reading to = clocks.Read();
  to.ticks += 5'000;  // read 2 us too late
  REQUIRE(clocks.clock.Calibrate(from, to));
  const auto duration = [&] {
    return clocks.Convert(static_cast<std::uint64_t>(clocks.ticks), 2'400'000'000).duration;
  };
  CHECK(Apart(duration(), 1'000'000'000) > 100'000);
  for (int i = 0; i < 6; ++i) {
    clocks.Pass(kPeriod, kRate);
    REQUIRE(clocks.Sample(kRate));
  }
  CHECK(Apart(duration(), 1'000'000'000) < 100);
}

TEST_CASE("a clock that is replaced twice is calibrated twice") {
  Clocks clocks;
  for (const double rate : {3.0, 1.5}) {
    clocks.Replace(rate * 1e16);
    CHECK(clocks.Sample(rate));
    clocks.Pass(kPeriod, rate);
    CHECK(clocks.Sample(rate));
    const auto times = clocks.Convert(static_cast<std::uint64_t>(clocks.ticks),
                                      static_cast<std::uint64_t>(1e6 * rate));
    CHECK(times.is_known);
    CHECK(Apart(times.duration, 1'000'000) <= 100);
  }
}

TEST_CASE("a clock that stands still, runs backward or has an absurd rate is not used") {
  for (const double rate : {0.0, -1.0, 1e-6, 1e6}) {
    CAPTURE(rate);
    Clocks clocks;
    clocks.Replace(4e16);
    CHECK_FALSE(clocks.Sample(rate));
    CHECK_FALSE(clocks.Convert(static_cast<std::uint64_t>(clocks.ticks), 1'000).is_known);
  }
}

TEST_CASE("readings during which the thread lost its core are not used") {
  Clocks clocks;
  clocks.clock.Sample(clocks.Read());
  clocks.Replace(4e16);
  clocks.clock.Sample(clocks.Read(60 * kMs));
  CHECK_FALSE(clocks.clock.doubtful());
  const CuptiClock::Reading from = clocks.Read();
  clocks.Pass(11 * kMs, 2);
  CHECK_FALSE(clocks.clock.Calibrate(from, clocks.Read(60 * kMs)));
  clocks.Pass(11 * kMs, 2);
  CHECK(clocks.clock.Calibrate(from, clocks.Read()));
}

TEST_CASE("times that neither clock explains are rejected") {
  Clocks clocks;
  clocks.Replace(4e16);
  REQUIRE(clocks.Sample(3));
  CHECK_FALSE(clocks.Convert(0, 100).is_known);
  CHECK_FALSE(clocks.Convert(~std::uint64_t{0}, 100).is_known);
  CHECK_FALSE(clocks.Convert(clocks.realtime + 48 * kHour, 100).is_known);
  CHECK(clocks.Convert(clocks.realtime + kHour, 100).is_known);  // the clock was set back
}

TEST_CASE("the clock can be replaced more often than calibrations are kept") {
  Clocks clocks;
  int known = 0;
  for (int i = 0; i < 100; ++i) {
    clocks.Replace(1e16 + i * 1e14);
    known += clocks.Sample(2) ? 1 : 0;
  }
  CHECK(known == 32);
}

}  // namespace
}  // namespace stemtap::inject
