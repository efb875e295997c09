// SPDX-License-Identifier: Apache-2.0
#include "stats/fourier.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace stemtap::stats {

Fourier::Fourier(std::size_t size)
    : size_(size), cos_(size), sin_(size), scratch_re_(size), scratch_im_(size) {
  const double turn = 2.0 * std::numbers::pi / static_cast<double>(size);
  const std::size_t quarter = size / 4;
  for (std::size_t k = 0; k < size; ++k) {
    const bool known = quarter > 0 && k >= quarter;
    cos_[k] = known ? -sin_[k - quarter] : std::cos(turn * static_cast<double>(k));
    sin_[k] = known ? cos_[k - quarter] : std::sin(turn * static_cast<double>(k));
  }
}

void Fourier::Transform(std::vector<double>& re, std::vector<double>& im) {
  // Each stage halves the length of the transforms and doubles their number, `stride`.
  for (std::size_t half = size_ / 2, stride = 1; half > 0; half /= 2, stride *= 2) {
    for (std::size_t p = 0; p < half; ++p) {
      const double c = cos_[p * stride];
      const double s = sin_[p * stride];
      const double* const a_re = re.data() + stride * p;
      const double* const a_im = im.data() + stride * p;
      const double* const b_re = a_re + stride * half;
      const double* const b_im = a_im + stride * half;
      double* const even_re = scratch_re_.data() + stride * 2 * p;
      double* const even_im = scratch_im_.data() + stride * 2 * p;
      double* const odd_re = even_re + stride;
      double* const odd_im = even_im + stride;
      for (std::size_t q = 0; q < stride; ++q) {
        const double difference_re = a_re[q] - b_re[q];
        const double difference_im = a_im[q] - b_im[q];
        even_re[q] = a_re[q] + b_re[q];
        even_im[q] = a_im[q] + b_im[q];
        odd_re[q] = difference_re * c - difference_im * s;
        odd_im[q] = difference_re * s + difference_im * c;
      }
    }
    std::swap(re, scratch_re_);
    std::swap(im, scratch_im_);
  }
}

}  // namespace stemtap::stats
