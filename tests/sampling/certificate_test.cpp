// SPDX-License-Identifier: Apache-2.0
#include "sampling/certificate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "sampling/weights.h"

namespace stemtap::sampling {
namespace {

TEST_CASE("a fully sampled stratum has no error, and a stratum without samples has no bound") {
  CHECK(EstimateVariance({10, 100, 25}, 10) == 0.0);
  CHECK(EstimateVariance({1, 100, 0}, 1) == 0.0);
  CHECK(std::isinf(EstimateVariance({10, 100, 25}, 0)));
  CHECK(ErrorBound({}, {}, 2.0) == 0.0);
}

TEST_CASE("16 samples of 1,000 launches with mean 100 and sigma 20 have the computed bound") {
  const std::vector<Stratum> strata = {{1000, 100, 400}};
  const std::vector<std::uint64_t> samples = {16};
  const double expected =
      2.0 * std::sqrt(1000.0 * 1000.0 * (400.0 * 1000 / 999) / 16 * (1 - 0.016)) / 1e5;
  CHECK(ErrorBound(strata, samples, 2.0) == doctest::Approx(expected).epsilon(1e-12));
}

TEST_CASE("calibrated weights equal the plain weights if no duration was measured") {
  CHECK(CalibratedWeight(10, 5.0, 2, 0.0) == 5.0);
  CHECK(CalibratedWeight(10, 5.0, 0, 0.0) == 0.0);
}

TEST_CASE("the bound covers the error with the stated probability") {
  // Draws 2,000 samples of size 40 from a uniform stratum of 1,000. The error is approximately
  // normal. The share within the bound has a standard error of sqrt(0.95 * 0.05 / 2000) = 0.0049.
  // Six standard errors, with a false failure rate of about 1e-9, are 0.029.
  std::mt19937_64 random(17);
  std::vector<double> values(1000);
  stats::Moments moments;
  for (double& v : values) {
    v = 1000.0 + static_cast<double>(random() % 1000);
    moments.Add(v);
  }
  const std::vector<Stratum> strata = {Stratum(moments)};
  const std::vector<std::uint64_t> samples = {40};
  const double bound = ErrorBound(strata, samples, 1.959963984540054);
  int covered = 0;
  for (int round = 0; round < 2000; ++round) {
    double sum = 0;
    for (std::size_t i = 0; i < 40; ++i) {
      std::swap(values[i], values[i + random() % (values.size() - i)]);
      sum += values[i];
    }
    const double estimate = PlainWeight(1000, 40) * sum;
    covered += std::fabs(estimate / moments.sum() - 1.0) <= bound;
  }
  CHECK(std::fabs(covered / 2000.0 - 0.95) < 0.03);
}

}  // namespace
}  // namespace stemtap::sampling
