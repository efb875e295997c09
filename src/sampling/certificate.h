// SPDX-License-Identifier: Apache-2.0
//
// The certificate is the error bound that a plan may state for its sample.
//
// ErrorBound uses the central limit theorem:
//
//   bound = z sqrt( sum N_i^2 S_i^2 / m_i (1 - m_i / N_i) ) / sum N_i mu_i
//
// CertifiedError uses the distribution of the estimate. Every duration of the run is known, so the
// distribution of the estimate over all possible samples is known too, and CertifiedError is a
// quantile of it (error_distribution.h). It is valid where the theorem is not, for example for one
// sample from a skewed stratum.
//
// GUARANTEE  If m_i launches are drawn at random, without replacement, from each stratum, the plain
// estimate of the total is within CertifiedError with at least the stated confidence. Strata
// without a sample have no finite bound.
//
// SOURCE: docs/math/certificate.md.
#pragma once

#include <cstdint>
#include <span>

#include "sampling/error_distribution.h"
#include "sampling/strata.h"

namespace stemtap::sampling {

// Returns the relative bound; 0 if the total is 0. REQUIRES: as many samples as strata.
double ErrorBound(std::span<const Stratum> strata, std::span<const std::uint64_t> samples,
                  double z);

// Returns the z that CertifiedError would use if the error were normal. Planning uses it where the
// distribution is not computed. It is 2.170 at 95 %, because the certificate keeps a margin.
double CertifiedZ(double confidence);

// Returns the error of the estimate of the sum, in ns, that is exceeded with a probability of at
// most 1 - `confidence`. `bias_ns` is the expected error of the estimate. The result is
// deterministic. It is +inf if a stratum with launches has no sample. REQUIRES: 0 < confidence < 1.
double CertifiedError(std::span<const SampledStratum> strata, double bias_ns, double confidence);

}  // namespace stemtap::sampling
