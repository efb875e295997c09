// SPDX-License-Identifier: Apache-2.0
#include "stem/certificate.h"

#include <cmath>

namespace stemtap {

double EstimateVariance(const Stratum& stratum, std::uint64_t samples) {
  if (samples >= stratum.count) return 0.0;
  if (samples == 0) return INFINITY;
  const auto n = static_cast<double>(stratum.count);
  const auto m = static_cast<double>(samples);
  return n * n * stratum.sample_variance() / m * (1.0 - m / n);
}

double ErrorBound(std::span<const Stratum> strata, std::span<const std::uint64_t> samples, double z) {
  double variance = 0.0;
  double total = 0.0;
  for (std::size_t i = 0; i < strata.size(); ++i) {
    variance += EstimateVariance(strata[i], samples[i]);
    total += strata[i].sum();
  }
  return total > 0.0 && variance > 0.0 ? z * std::sqrt(variance) / total : 0.0;
}

}  // namespace stemtap
