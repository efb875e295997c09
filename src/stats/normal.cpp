// SPDX-License-Identifier: Apache-2.0
#include "stats/normal.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace stemtap {
namespace {

// Log of the upper tail is steep; Newton's steps on erfc from a rough start converge in a handful, and
// use nothing but the library's erfc, accurate to the last bits.
double UpperTailQuantile(double tail) {
  // Rough start from the tail's leading behaviour: tail ~ exp(-x^2/2) / (x sqrt(2 pi)).
  double x = std::sqrt(-2.0 * std::log(tail)) * 0.9;
  if (tail > 0.1) x = (0.5 - tail) * std::sqrt(2.0 * std::numbers::pi);
  for (int step = 0; step < 50; ++step) {
    const double density = std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
    const double value = 0.5 * std::erfc(x / std::numbers::sqrt2);
    const double newton = (value - tail) / density;
    // Halley's correction (the density's derivative is -x density): cubic convergence.
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

}  // namespace stemtap
