// SPDX-License-Identifier: Apache-2.0
//
// Random factors for the synthetic workloads: log-normal noise and Pareto tails, identical on every
// machine. The tables are computed once with basic floating-point operations (no library functions)
// and rounded to 1/65536, which is far coarser than any difference between machines. Drawing from
// the tables uses integer arithmetic.
//
// THREADS: any; the tables are initialized on first use and constant afterward.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stemtap::research {

// Factors are fixed-point numbers with 16 fractional bits: kOne represents 1.
inline constexpr std::uint64_t kOne = 65'536;
inline constexpr unsigned kMaxNoisePercent = 10;
inline constexpr std::size_t kQuantiles = 4096;

// kQuantiles equally likely factors, ascending.
using NoiseTable = std::array<std::uint32_t, kQuantiles>;

// Returns log-normal factors with median 1; `percent` is the sigma of their logarithm, so all
// factors are within 3.7 sigma. REQUIRES: percent <= kMaxNoisePercent.
const NoiseTable& LogNormal(unsigned percent);

// Returns exp(x) for |x| < 16. Library implementations differ in the last bit.
double PortableExp(double x);

// Returns a Pareto factor of shape 3/2 (finite mean 3, infinite variance) for a uniform 32-bit
// `draw`: P(factor > x) = x^(-3/2) for x >= 1, up to the maximum, 2^(64/3) = 2.6 million.
std::uint64_t Pareto(std::uint32_t draw);

}  // namespace stemtap::research
