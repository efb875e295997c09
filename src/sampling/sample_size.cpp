// SPDX-License-Identifier: Apache-2.0
#include "sampling/sample_size.h"

#include <algorithm>
#include <cmath>

namespace stemtap::sampling {

std::uint64_t SampleSize(double mean, double stddev, double error_bound, double z,
                         std::uint64_t floor) {
  const std::uint64_t minimum = std::max<std::uint64_t>(floor, 1);
  if (!(stddev > 0.0) || !(z > 0.0)) return minimum;
  constexpr double kMaxSize = 4611686018427387904.0;  // 2^62
  const double ratio = z * stddev / (error_bound * mean);
  const double size = std::ceil(ratio * ratio);
  if (!(size < kMaxSize)) return std::max(minimum, static_cast<std::uint64_t>(kMaxSize));
  return std::max(minimum, static_cast<std::uint64_t>(size));
}

}  // namespace stemtap::sampling
