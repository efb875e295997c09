// SPDX-License-Identifier: Apache-2.0
#include "stats/moments.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "support/shared_data.h"

namespace stemtap::stats {
namespace {

Moments Of(const std::vector<double>& values) {
  Moments m;
  for (const double v : values) m.Add(v);
  return m;
}

TEST_CASE("the moments of no value, one value and equal values have no spread") {
  CHECK(Moments().count() == 0);
  CHECK(Moments().mean() == 0.0);
  CHECK(Moments().variance() == 0.0);
  CHECK(Of({7.5}).mean() == 7.5);
  CHECK(Of({7.5}).variance() == 0.0);
  CHECK(Of({1e9, 1e9, 1e9}).variance() == 0.0);
}

TEST_CASE("moments keep the spread of long durations that differ by a few nanoseconds") {
  Moments m;
  for (int i = 0; i < 1000; ++i) m.Add(1e9 + (i % 2 == 0 ? 3.0 : -3.0));
  CHECK(m.mean() == doctest::Approx(1e9).epsilon(1e-15));
  CHECK(m.variance() == doctest::Approx(9.0).epsilon(1e-9));
}

TEST_CASE("merging with empty moments changes nothing") {
  Moments m = Of({1, 2, 4});
  m.Merge(Moments());
  CHECK(m.count() == 3);
  Moments empty;
  empty.Merge(m);
  CHECK(empty.mean() == m.mean());
  CHECK(empty.variance() == m.variance());
}

TEST_CASE("the mean of values that contain a NaN is NaN") {
  CHECK(std::isnan(Of({1.0, std::numeric_limits<double>::quiet_NaN()}).mean()));
}

TEST_CASE("mean and variance match exact arithmetic for every split") {
  const std::string path = SharedPath("vectors/moments.json");
  STEMTAP_SKIP_WITHOUT(path);
  std::ifstream file(path);
  const auto golden = nlohmann::json::parse(file);
  for (const auto& example : golden["cases"]) {
    const auto values = example["values"].get<std::vector<double>>();
    const double variance = example["population_variance"];
    const Moments whole = Of(values);
    REQUIRE(whole.count() == example["count"].get<std::uint64_t>());
    CHECK(whole.mean() == doctest::Approx(example["mean"].get<double>()).epsilon(1e-12));
    const double scale = variance == 0.0 ? 1.0 : variance;
    CHECK(std::fabs(whole.variance() - variance) <= 1e-9 * scale);
    const std::size_t step = values.size() / 37 + 1;
    for (std::size_t cut = 0; cut <= values.size(); cut += step) {
      Moments left = Of({values.begin(), values.begin() + static_cast<std::ptrdiff_t>(cut)});
      left.Merge(Of({values.begin() + static_cast<std::ptrdiff_t>(cut), values.end()}));
      CHECK(left.count() == whole.count());
      CHECK(std::fabs(left.variance() - variance) <= 1e-9 * scale);
    }
  }
}

}  // namespace
}  // namespace stemtap::stats
