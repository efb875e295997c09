// SPDX-License-Identifier: Apache-2.0
#include "research/workloads/noise.h"

#include <bit>
#include <vector>

namespace stemtap::research {
namespace {

// Computes the upper half of the normal quantiles (i + 1/2) / kQuantiles by Newton's method on the
// power series of the distribution function, from one quantile to the next.
std::vector<double> UpperNormalQuantiles() {
  constexpr double kInverseRootTwoPi = 0.3989422804014327;
  std::vector<double> quantiles;
  double z = 0.0;
  for (std::size_t i = kQuantiles / 2; i < kQuantiles; ++i) {
    const double p = (static_cast<double>(i) + 0.5) / static_cast<double>(kQuantiles);
    for (int step = 0; step < 8; ++step) {
      double term = z;
      double sum = z;
      for (int odd = 3; term > 1e-18; odd += 2) sum += term *= z * z / odd;
      const double density = kInverseRootTwoPi * PortableExp(-0.5 * z * z);
      z += (p - 0.5) / density - sum;
    }
    quantiles.push_back(z);
  }
  return quantiles;
}

std::vector<NoiseTable> MakeNoiseTables() {
  const std::vector<double> upper = UpperNormalQuantiles();
  std::vector<NoiseTable> tables(kMaxNoisePercent + 1);
  for (unsigned percent = 0; percent <= kMaxNoisePercent; ++percent) {
    for (std::size_t i = 0; i < upper.size(); ++i) {
      const double log = upper[i] * percent / 100.0;
      const double one = static_cast<double>(kOne);
      tables[percent][kQuantiles / 2 + i] =
          static_cast<std::uint32_t>(PortableExp(log) * one + 0.5);
      tables[percent][kQuantiles / 2 - 1 - i] =
          static_cast<std::uint32_t>(PortableExp(-log) * one + 0.5);
    }
  }
  return tables;
}

// m^(-2/3) at the midpoints of 1,024 equal parts of [1, 2).
constexpr unsigned kMantissas = 1024;

std::array<std::uint32_t, kMantissas> MakeParetoMantissas() {
  std::array<std::uint32_t, kMantissas> table{};
  double y = 1.0;
  for (unsigned i = 0; i < kMantissas; ++i) {
    const double m = 1.0 + (i + 0.5) / kMantissas;
    for (int step = 0; step < 8; ++step) y -= (y * y * y * m * m - 1.0) / (3.0 * y * y * m * m);
    table[i] = static_cast<std::uint32_t>(y * static_cast<double>(kOne) + 0.5);
  }
  return table;
}

}  // namespace

double PortableExp(double x) {
  const double reduced = x / 256.0;
  double term = 1.0;
  double sum = 1.0;
  for (int i = 1; i < 12; ++i) sum += term *= reduced / i;
  for (int i = 0; i < 8; ++i) sum *= sum;
  return sum;
}

const NoiseTable& LogNormal(unsigned percent) {
  static const std::vector<NoiseTable> tables = MakeNoiseTables();
  return tables[percent];
}

std::uint64_t Pareto(std::uint32_t draw) {
  static const std::array<std::uint32_t, kMantissas> mantissas = MakeParetoMantissas();
  // u = draw / 2^32 = m x 2^-octave with m in [1, 2); the factor is u^(-2/3).
  constexpr std::uint64_t kThirds[3] = {65'536, 104'032, 165'140};  // 2^(2/3 i)
  if (draw == 0) draw = 1;
  const auto octave = static_cast<unsigned>(std::countl_zero(draw)) + 1;
  const std::uint32_t fraction = (draw << (octave - 1) << 1) >> 22;
  const std::uint64_t power = kThirds[octave % 3] << (octave / 3 * 2);
  return mantissas[fraction] * power / kOne;
}

}  // namespace stemtap::research
