// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "session/flags/sampling_flags.h"

namespace stemtap::session {
namespace {

TEST_CASE("a capture cost is a time and a multiple of the duration") {
  const auto price = [](const char* text) {
    const Result<sampling::CapturePrice> parsed = ParseCaptureCost(text);
    CAPTURE(text);
    REQUIRE(parsed.ok());
    return parsed.value();
  };
  CHECK(price("0").fixed_ns == 0.0);
  CHECK(price("0").factor == 1.0);
  CHECK(price("100ms").fixed_ns == doctest::Approx(1e8));
  CHECK(price("100ms").factor == 1.0);
  CHECK(price("1.5s+40").fixed_ns == doctest::Approx(1.5e9));
  CHECK(price("1.5s+40").factor == 40.0);
  CHECK(price("250us+0.5").fixed_ns == doctest::Approx(250e3));
  CHECK(price("0+1000000").factor == 1e6);
  CHECK(price("1ms+10").FixedPerFactor() == doctest::Approx(1e5));
  CHECK(price("1ms+10").CostOf(3.0, 500.0) == doctest::Approx(3e6 + 5000.0));
  CHECK(price("ncu").fixed_ns > 1e7);
  CHECK(price("accel-sim").fixed_ns == 0.0);
  CHECK(price("macsim").fixed_ns == 0.0);
}

TEST_CASE("a text that is not a capture cost is refused with what was expected") {
  for (const char* text : {"", "-1ms", "5", "ms", "1ms+", "1ms+0", "1ms+-2", "1ms+x", "1h", "NCU",
                           "1ms+1+1", "1e3ms", "inf", "1..5ms", "0ms+nan"}) {
    CAPTURE(text);
    std::string value = text;
    const std::string error = CaptureCostError(value);
    CHECK(error.find("expected a time such as 100ms") != std::string::npos);
  }
  std::string good = "ncu";
  CHECK(CaptureCostError(good).empty());
  CHECK(CaptureCostHelp().find("\nncu: ") != std::string::npos);
}

}  // namespace
}  // namespace stemtap::session
