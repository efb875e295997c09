// SPDX-License-Identifier: Apache-2.0
#include "sampling/certificate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "stats/normal.h"

namespace stemtap::sampling {
namespace {

// A user who checks a plan with this many samples finds at most the stated share of misses, even if
// the number of misses is kCheckDeviations standard deviations above its mean.
constexpr double kCheckSamples = 500.0;
constexpr double kCheckDeviations = 2.63;
// For rare misses, 500 samples show nothing. The certificate then uses this share of the stated
// misses. The margin covers what the error model does not know: the durations within a cell, and
// online, launches that were not drawn at random.
constexpr double kMinMissShare = 0.6;

// Returns the probability of a miss that the certificate uses instead of 1 - confidence: the lower
// end of Wilson's interval (1927). It is 3 % at 95 % confidence and 44 % at 50 %.
double AllowedMisses(double confidence) {
  const double stated = std::clamp(1.0 - confidence, 0.0, 1.0);
  const double square = kCheckDeviations * kCheckDeviations / kCheckSamples;
  const double lower =
      (stated + square / 2.0 - std::sqrt(square * (stated * (1.0 - stated) + square / 4.0))) /
      (1.0 + square);
  return std::max(lower, kMinMissShare * stated);
}

}  // namespace

double ErrorBound(std::span<const Stratum> strata, std::span<const std::uint64_t> samples,
                  double z) {
  double variance = 0.0;
  double total = 0.0;
  for (std::size_t i = 0; i < strata.size(); ++i) {
    variance += EstimateVariance(strata[i], samples[i]);
    total += strata[i].sum();
  }
  return total > 0.0 && variance > 0.0 ? z * std::sqrt(variance) / total : 0.0;
}

double CertifiedZ(double confidence) {
  return stats::TwoSidedZ(1.0 - AllowedMisses(confidence));
}

double CertifiedError(std::span<const SampledStratum> strata, double bias_ns, double confidence) {
  return ErrorQuantile(strata, bias_ns, AllowedMisses(confidence));
}

}  // namespace stemtap::sampling
