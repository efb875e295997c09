// SPDX-License-Identifier: Apache-2.0
//
// The certificate of a sample: the bound that may be stated for it.
//
// By the central limit theorem (ErrorBound):
//
//   bound = z sqrt( sum N_i^2 S_i^2 / m_i (1 - m_i / N_i) ) / sum N_i mu_i
//
// By the sample's own distribution (CertifiedBound): every duration of the run is known, so the
// distribution of the estimate over all samples that might have been drawn is known too. It is
// simulated, draw by draw from the strata's own cells, and the bound is a quantile of it. One
// sample from a skewed stratum is where the theorem does not hold and the simulation does.
//
// GUARANTEE  With m_i invocations drawn at random, without replacement, from each stratum, the plain
// estimate of the total lies within CertifiedBound with at least the stated confidence. It says
// nothing about strata without a sample, which have no finite bound.
//
// SOURCE: docs/math/certificate.md.
#pragma once

#include <cstdint>
#include <span>

#include "sampling/stratum.h"
#include "stats/moments.h"

namespace stemtap {

// Variance of the plain estimate of the stratum's sum, m of count sampled; 0 when taken whole,
// +inf when it has spread (or invocations) and m = 0.
double EstimateVariance(const Stratum& stratum, std::uint64_t samples);

// The relative bound; 0 for no strata or a total of 0. REQUIRES: equally many samples as strata.
double ErrorBound(std::span<const Stratum> strata, std::span<const std::uint64_t> samples,
                  double z);

// z of a normal error that CertifiedBound would find: what to plan with where nothing is simulated.
// 2.170 at 95 %, for the margin that the certificate keeps.
double CertifiedZ(double confidence);

// A stratum and what is sampled of it.
struct SampledStratum {
  std::span<const Moments> cells;  // of its durations, ascending; empty: taken as normal
  Stratum whole;
  std::uint64_t samples = 0;
  // Launches that the samples stand for besides those that they were drawn from.
  std::uint64_t joined_launches = 0;
};

// The error of the estimate of the sum, ns, that is exceeded with at most 1 - `confidence`; as
// CertifiedBound. `bias_ns`: what the estimate errs by on average.
double CertifiedError(std::span<const SampledStratum> strata, double bias_ns, double confidence);

// The relative bound that holds with at least `confidence`, by simulation; the same for the same
// input. +inf when a stratum with invocations has no sample. Takes about 20 ms per 100 strata of one sample.
double CertifiedBound(std::span<const SampledStratum> strata, double confidence);

}  // namespace stemtap
