// SPDX-License-Identifier: Apache-2.0
#include "stats/serial_correlation.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>

namespace stemtap::stats {
namespace {

constexpr std::uint32_t kMean = 1000;

// Returns the correlation of `count` values in one group.
SerialCorrelation Of(int count, const std::function<std::uint32_t(int)>& value) {
  SerialCorrelation correlation;
  const auto group = [](std::uint32_t) { return 0; };
  const auto mean = [](int) { return kMean; };
  for (int i = 0; i < count; ++i) correlation.Add(value(i), group, mean);
  correlation.Update();
  return correlation;
}

std::uint32_t Normal(std::mt19937_64& random, double deviation) {
  std::normal_distribution<double> normal(kMean, deviation);
  return static_cast<std::uint32_t>(normal(random));
}

TEST_CASE("independent values have no correlation") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const SerialCorrelation found =
        Of(50 + static_cast<int>(seed) * 20, [&](int) { return Normal(random, 50.0); });
    CAPTURE(seed);
    CHECK(found.latest().Length() == 1.0);
    CHECK(found.latest().At(1) == 0.0);
  }
}

TEST_CASE("values that repeat in bursts are correlated over the length of a burst") {
  // A burst of B equal values has rho(d) = 1 - d / B, whose sum over both directions is B.
  for (const int burst : {4, 16, 32}) {
    std::mt19937_64 random(3);
    std::uint32_t value = kMean;
    const SerialCorrelation found = Of(200'000, [&](int i) {
      if (i % burst == 0) value = Normal(random, 100.0);
      return value;
    });
    CAPTURE(burst);
    CHECK(found.latest().At(1) == doctest::Approx(1.0 - 1.0 / burst).epsilon(0.05));
    CHECK(found.latest().Length() >= 0.75 * burst);
    CHECK(found.latest().Length() <= 1.35 * burst);
    CHECK(found.latest().At(2 * static_cast<std::uint64_t>(burst)) < 0.1);
  }
}

TEST_CASE("only values of one group are compared") {
  // Two groups whose values are independent, in long phases: without groups, they would be
  // correlated over a phase.
  SerialCorrelation correlation;
  std::mt19937_64 random(5);
  const auto group = [](std::uint32_t value) { return value < 3000 ? 0 : 1; };
  const auto mean = [](int of) { return of == 0 ? kMean : 5000u; };
  for (int i = 0; i < 100'000; ++i) {
    const bool high = i / 500 % 2 != 0;
    correlation.Add(Normal(random, 30.0) + (high ? 4000 : 0), group, mean);
  }
  correlation.Update();
  CHECK(correlation.latest().Length() == 1.0);
}

TEST_CASE("values without a spread, and few values, have no correlation") {
  CHECK(Of(10'000, [](int) { return kMean; }).latest().Length() == 1.0);
  CHECK(
      Of(60, [](int i) { return kMean + static_cast<std::uint32_t>(i / 20); }).latest().Length() ==
      1.0);
}

TEST_CASE("faded comparisons count half") {
  SerialCorrelation correlation;
  std::mt19937_64 random(7);
  const auto group = [](std::uint32_t) { return 0; };
  const auto mean = [](int) { return kMean; };
  std::uint32_t value = kMean;
  for (int i = 0; i < 4000; ++i) {
    if (i % 16 == 0) value = Normal(random, 100.0);
    correlation.Add(value, group, mean);
  }
  correlation.Update();
  CHECK(correlation.latest().Length() > 8.0);
  for (int fade = 0; fade < 60; ++fade) correlation.Fade();
  for (int i = 0; i < 20'000; ++i) correlation.Add(Normal(random, 100.0), group, mean);
  correlation.Update();
  CHECK(correlation.latest().Length() == 1.0);
}

}  // namespace
}  // namespace stemtap::stats
