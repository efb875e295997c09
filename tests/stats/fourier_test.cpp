// SPDX-License-Identifier: Apache-2.0
#include "stats/fourier.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "base/rng.h"

namespace stemtap::stats {
namespace {

TEST_CASE("a transform equals the sum that defines it") {
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{8}, std::size_t{64}}) {
    CAPTURE(n);
    Rng rng(n);
    std::vector<double> re(n), im(n);
    for (std::size_t x = 0; x < n; ++x) {
      re[x] = rng.Uniform() - 0.5;
      im[x] = rng.Uniform() - 0.5;
    }
    std::vector<double> out_re = re, out_im = im;
    Fourier(n).Transform(out_re, out_im);
    for (std::size_t k = 0; k < n; ++k) {
      double sum_re = 0.0, sum_im = 0.0;
      for (std::size_t x = 0; x < n; ++x) {
        const double angle =
            2.0 * std::numbers::pi * static_cast<double>(k * x) / static_cast<double>(n);
        sum_re += re[x] * std::cos(angle) - im[x] * std::sin(angle);
        sum_im += re[x] * std::sin(angle) + im[x] * std::cos(angle);
      }
      CHECK(std::fabs(out_re[k] - sum_re) < 1e-12);
      CHECK(std::fabs(out_im[k] - sum_im) < 1e-12);
    }
  }
}

TEST_CASE("the product of transforms is the transform of the convolution") {
  constexpr std::size_t kSize = 16;
  Fourier fourier(kSize);
  // The values 1 and 5, and 2 and 3, with equal probabilities.
  std::vector<double> a(kSize), a_im(kSize), b(kSize), b_im(kSize);
  a[1] = a[5] = b[2] = b[3] = 0.5;
  fourier.Transform(a, a_im);
  fourier.Transform(b, b_im);
  for (std::size_t k = 0; k < kSize; ++k) {
    const double re = a[k] * b[k] - a_im[k] * b_im[k];
    // The conjugate gives the inverse transform.
    a_im[k] = -(a[k] * b_im[k] + a_im[k] * b[k]) / kSize;
    a[k] = re / kSize;
  }
  fourier.Transform(a, a_im);
  for (std::size_t x = 0; x < kSize; ++x) {
    const bool sum = x == 3 || x == 4 || x == 7 || x == 8;
    CHECK(std::fabs(a[x] - (sum ? 0.25 : 0.0)) < 1e-15);
  }
}

}  // namespace
}  // namespace stemtap::stats
