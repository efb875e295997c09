// SPDX-License-Identifier: Apache-2.0
#include "stats/normal.h"

#include <doctest/doctest.h>

#include <cmath>

namespace stemtap::stats {
namespace {

TEST_CASE("z values of common confidences match the table") {
  // From Abramowitz and Stegun, table 26.5 and its refinements.
  CHECK(TwoSidedZ(0.95) == doctest::Approx(1.959963984540054).epsilon(1e-14));
  CHECK(TwoSidedZ(0.99) == doctest::Approx(2.5758293035489004).epsilon(1e-14));
  CHECK(TwoSidedZ(0.90) == doctest::Approx(1.6448536269514722).epsilon(1e-14));
  CHECK(TwoSidedZ(0.5) == doctest::Approx(0.6744897501960817).epsilon(1e-14));
}

TEST_CASE("the quantile inverts the distribution function from tail to tail") {
  for (double p = 1e-300; p < 1e-3; p *= 10) {
    const double x = NormalQuantile(p);
    CHECK(0.5 * std::erfc(-x / std::sqrt(2.0)) == doctest::Approx(p).epsilon(1e-10));
  }
  for (double p = 0.001; p < 1.0; p += 0.001) {
    const double x = NormalQuantile(p);
    CHECK(0.5 * std::erfc(-x / std::sqrt(2.0)) == doctest::Approx(p).epsilon(1e-12));
  }
}

TEST_CASE("z is 0 or infinite for confidences out of range, and invalid quantiles are NaN") {
  CHECK(TwoSidedZ(0.0) == 0.0);
  CHECK(TwoSidedZ(-1.0) == 0.0);
  CHECK(std::isinf(TwoSidedZ(1.0)));
  CHECK(std::isnan(NormalQuantile(1.5)));
  CHECK(std::isnan(NormalQuantile(std::nan(""))));
  CHECK(NormalQuantile(0.5) == 0.0);
  CHECK(NormalQuantile(0.0) == -INFINITY);
}

}  // namespace
}  // namespace stemtap::stats
