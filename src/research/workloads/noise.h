// SPDX-License-Identifier: Apache-2.0
//
// Factors of chance for the invented workloads: log-normal noise and Pareto tails, the same on
// every machine. The tables are computed once with basic floating-point operations (no library
// function) and rounded to 1/65536, coarser by far than any difference between machines; drawing
// from them is integer arithmetic.
//
// THREADS: any; the tables are made on first use and constant then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stemtap {

// Factors are fixed-point numbers of 16 fractional bits: kOne stands for 1.
inline constexpr std::uint64_t kOne = 65'536;
inline constexpr unsigned kMostNoisePercent = 10;
inline constexpr std::size_t kQuantiles = 4096;

// kQuantiles equally likely factors, ascending.
using NoiseTable = std::array<std::uint32_t, kQuantiles>;

// Log-normal factors of median 1; `percent` is the sigma of their logarithm, so all lie within 3.7
// of it. REQUIRES: percent <= kMostNoisePercent.
const NoiseTable& LogNormal(unsigned percent);

// exp(x) for |x| < 16; own, as the libraries' differ in the last bit.
double PortableExp(double x);

// A Pareto factor of shape 3/2 (finite mean 3, infinite variance) for a uniform `draw` of 32 bits:
// P(factor > x) = x^(-3/2) for x >= 1, up to the largest, 2^(64/3) = 2.6 million.
std::uint64_t Pareto(std::uint32_t draw);

}  // namespace stemtap
