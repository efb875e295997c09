// SPDX-License-Identifier: Apache-2.0
#include "stats/normal.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace stemtap::stats {
namespace {

// Inverts the upper tail probability with Halley iterations on erfc, which converge in a few steps
// from a rough start. The result is as accurate as the erfc of the library.
double UpperTailQuantile(double tail) {
  // Rough start from the asymptotic tail: tail ~ exp(-x^2/2) / (x sqrt(2 pi)).
  double x = std::sqrt(-2.0 * std::log(tail)) * 0.9;
  if (tail > 0.1) x = (0.5 - tail) * std::sqrt(2.0 * std::numbers::pi);
  for (int step = 0; step < 50; ++step) {
    const double density = std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
    const double value = 0.5 * std::erfc(x / std::numbers::sqrt2);
    const double newton = (value - tail) / density;
    // Halley's correction gives cubic convergence; the derivative of the density is -x * density.
    const double move = newton / (1.0 - 0.5 * x * newton);
    x += move;
    if (std::fabs(move) <= 1e-16 * (1.0 + std::fabs(x))) break;
  }
  return x;
}

}  // namespace

double NormalQuantile(double probability) {
  if (!(probability >= 0.0 && probability <= 1.0)) return std::numeric_limits<double>::quiet_NaN();
  if (probability == 0.0) return -std::numeric_limits<double>::infinity();
  if (probability == 1.0) return std::numeric_limits<double>::infinity();
  if (probability == 0.5) return 0.0;
  return probability < 0.5 ? -UpperTailQuantile(probability) : UpperTailQuantile(1.0 - probability);
}

double TwoSidedZ(double confidence) {
  if (!(confidence > 0.0)) return 0.0;
  if (confidence >= 1.0) return std::numeric_limits<double>::infinity();
  return UpperTailQuantile(0.5 * (1.0 - confidence));
}

}  // namespace stemtap::stats
