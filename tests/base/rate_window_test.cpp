// SPDX-License-Identifier: Apache-2.0
#include "base/rate_window.h"

#include <doctest/doctest.h>

#include <cmath>

namespace stemtap {
namespace {

TEST_CASE("a rate is unknown before the second reading") {
  RateWindow window;
  CHECK(std::isnan(window.PerSecond()));
  window.Add(1.0, 500);
  CHECK(std::isnan(window.PerSecond()));
  window.Add(1.5, 600);
  CHECK(window.PerSecond() == doctest::Approx(200));
}

TEST_CASE("a rate covers the last two seconds, or longer if readings are far apart") {
  RateWindow window;
  window.Add(0.0, 0);
  window.Add(1.0, 1000);
  window.Add(2.0, 1000);
  CHECK(window.PerSecond() == doctest::Approx(500));
  window.Add(3.0, 1000);
  CHECK(window.PerSecond() == doctest::Approx(0));
  window.Add(60.0, 1570);  // readings far apart
  CHECK(window.PerSecond() == doctest::Approx(10));
}

TEST_CASE("a counter or clock that decreases resets the window") {
  RateWindow window;
  window.Add(1.0, 1000);
  window.Add(2.0, 2000);
  window.Add(3.0, 100);
  CHECK(std::isnan(window.PerSecond()));
  window.Add(4.0, 150);
  CHECK(window.PerSecond() == doctest::Approx(50));
  window.Add(4.0, 200);  // no time has passed
  CHECK(std::isnan(window.PerSecond()));
}

}  // namespace
}  // namespace stemtap
