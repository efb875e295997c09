// SPDX-License-Identifier: Apache-2.0
//
// The certificate of a sample: the bound that may be stated for it.
//
//   bound = z sqrt( sum N_i^2 S_i^2 / m_i (1 - m_i / N_i) ) / sum N_i mu_i
//
// GUARANTEE  With m_i invocations drawn at random, without replacement, from each stratum, the plain
// estimate of the total lies within the bound with the confidence of z, as far as the central limit
// theorem holds. NOT guaranteed: anything about strata without a sample; they have no finite bound.
// SOURCE: docs/maths/certificate.md.
#pragma once

#include <cstdint>
#include <span>

#include "stem/stratum.h"

namespace stemtap {

// Variance of the plain estimate of the stratum's sum, m of count sampled; 0 when taken whole,
// +inf when it has spread (or invocations) and m = 0.
double EstimateVariance(const Stratum& stratum, std::uint64_t samples);

// The relative bound; 0 for no strata or a total of 0. REQUIRES: equally many samples as strata.
double ErrorBound(std::span<const Stratum> strata, std::span<const std::uint64_t> samples, double z);

}  // namespace stemtap
