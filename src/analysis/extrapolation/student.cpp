// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/student.h"

#include <cmath>
#include <limits>

#include "stats/normal.h"

namespace stemtap::analysis {
namespace {

// Above this, the normal quantile agrees to six digits.
constexpr double kNormalDegrees = 1e7;

// The continued fraction of the incomplete beta function, by Lentz's method. Converges fast for x <
// (a + 1) / (a + b + 2).
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto guarded = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1.0;
  double d = 1.0 / guarded(1.0 - (a + b) * x / (a + 1.0));
  double product = d;
  for (int i = 1; i <= 10000; ++i) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    d = 1.0 / guarded(1.0 + even * d);
    c = guarded(1.0 + even / c);
    product *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    d = 1.0 / guarded(1.0 + odd * d);
    c = guarded(1.0 + odd / c);
    const double step = d * c;
    product *= step;
    if (std::abs(step - 1.0) < 1e-15) break;
  }
  return product;
}

// The regularized incomplete beta function I_x(a, b). y = 1 - x is passed separately for precision.
double RegularisedBeta(double x, double y, double a, double b) {
  if (x <= 0.0) return 0.0;
  if (y <= 0.0) return 1.0;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log(y));
  if (x < (a + 1.0) / (a + b + 2.0)) return front * BetaFraction(a, b, x) / a;
  return 1.0 - front * BetaFraction(b, a, y) / b;
}

}  // namespace

double StudentWithin(double x, double degrees) {
  const double square = x * x;
  if (!std::isfinite(square)) return 1.0;
  return RegularisedBeta(square / (degrees + square), degrees / (degrees + square), 0.5,
                         degrees / 2.0);
}

double StudentQuantile(double confidence, double degrees) {
  if (!(confidence > 0.0)) return 0.0;
  if (confidence >= 1.0 || !(degrees > 0.0)) return std::numeric_limits<double>::infinity();
  if (degrees >= kNormalDegrees) return stats::TwoSidedZ(confidence);
  double low = 0.0;
  double high = 1.0;
  while (StudentWithin(high, degrees) < confidence) {
    low = high;
    high *= 2.0;
    if (high > 1e150) return high;
  }
  for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (StudentWithin(middle, degrees) < confidence ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace stemtap::analysis
