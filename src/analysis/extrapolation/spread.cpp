// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/spread.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/extrapolation/observed.h"

namespace stemtap::analysis {
namespace {

// Prior variance, around 0, of the change of log variance per unit of log width. With a larger
// value, single large values dominate the intervals of plans with few samples.
constexpr double kSpreadTiltVariance = 0.03;

// Returns the sum of squared differences from the mean.
double Squares(std::span<const double> values) {
  double mean = 0.0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares;
}

Spread SpreadOf(const ObservedCluster& cluster, const Part& part, std::size_t kernel) {
  Spread spread;
  spread.kernel = kernel;
  spread.log_width = LogWidth(cluster);
  spread.degrees = (static_cast<double>(part.seen.size()) - 1.0) * part.freedom;
  std::vector<double> logs;
  for (const SeenPart& seen : part.seen) {
    const double relative = seen.residual / seen.fitted;
    spread.variance += relative * relative / spread.degrees;
    logs.push_back(seen.log);
  }
  spread.log_variance = Squares(logs) / spread.degrees;
  return spread;
}

// A cluster with one sample does not show its own spread. The single samples of a kernel form one
// group (collapsed strata). Their differences relative to the curve include the misfit of the
// curve, so on average they are not below the spread within the clusters.
void Collapse(std::span<const ObservedCluster> kernel, std::span<const Part> parts,
              std::size_t number, std::vector<Spread>& spreads) {
  // Maximum share of the degrees of freedom that the slopes use. Otherwise two
  // clusters would have almost none left.
  constexpr double kMaxTaken = 0.7;
  std::vector<double> logs;
  double squares = 0.0;
  double squared_widths = 0.0;
  std::vector<double> log_means;
  for (std::size_t h = 0; h < kernel.size(); ++h) {
    if (!IsSingle(kernel[h]) || !(parts[h].seen.front().fitted > 0.0)) continue;
    const double relative = parts[h].seen.front().residual / parts[h].seen.front().fitted;
    squares += relative * relative;
    logs.push_back(parts[h].seen.front().log);
    squared_widths += std::exp(2.0 * LogWidth(kernel[h]));
    log_means.push_back(LogDuration(kernel[h].mean_ns));
  }
  if (logs.size() < 2) return;
  const double degrees = static_cast<double>(logs.size()) - 1.0;
  Spread& spread = spreads.emplace_back();
  spread.kernel = number;
  spread.collapsed = true;
  spread.degrees = degrees * (1.0 - std::min(kMaxTaken, parts.front().singles_leverage / degrees));
  spread.variance = squares / spread.degrees;
  spread.log_variance = Squares(logs) / spread.degrees;
  // Their durations differ within and between clusters.
  spread.log_width = 0.5 * std::log(squared_widths / static_cast<double>(logs.size()) +
                                    Squares(log_means) / degrees);
}

// Adds the variance between the kernels, which stands for the variance between the kernels of the
// pool `number`: of the residuals of a line through their log levels by log duration.
void AddBetweenKernels(std::span<const std::span<const ObservedCluster>> kernels,
                       std::span<const Part> parts, std::size_t number,
                       std::vector<Spread>& spreads) {
  // Maximum standard deviation of the logs, beyond which estimates are useless.
  constexpr double kMax = 4.0;
  std::vector<std::pair<double, double>> points;  // log duration, log of the mean value
  std::size_t at = 0;
  double log_width = 0.0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    double launches = 0.0;
    double time_ns = 0.0;
    double total = 0.0;
    for (const ObservedCluster& cluster : kernels[k]) {
      const Part& part = parts[at++];
      if (k == number) log_width += LogWidth(cluster) / static_cast<double>(kernels[k].size());
      if (cluster.seen.empty()) continue;
      launches += cluster.count;
      time_ns += cluster.count * cluster.mean_ns;
      total += cluster.count * std::abs(part.mean);
    }
    if (k == number || !(time_ns > 0.0) || !(total > 0.0)) continue;
    points.emplace_back(std::log(time_ns / launches), std::log(total / launches));
  }
  const auto count = static_cast<double>(points.size());
  if (count < 4.0) return;  // a line through three points leaves one degree
  double mean_x = 0.0;
  double mean_y = 0.0;
  for (const auto& [x, y] : points) {
    mean_x += x / count;
    mean_y += y / count;
  }
  double squares_x = 0.0;
  double products = 0.0;
  double squares_y = 0.0;
  for (const auto& [x, y] : points) {
    squares_x += (x - mean_x) * (x - mean_x);
    products += (x - mean_x) * (y - mean_y);
    squares_y += (y - mean_y) * (y - mean_y);
  }
  const double explained = squares_x > 0.0 ? products * products / squares_x : 0.0;
  Spread& spread = spreads.emplace_back();
  spread.kernel = number;
  spread.pooled = true;
  spread.degrees = count - 2.0;
  spread.log_variance =
      std::min(kMax * kMax, std::max(0.0, squares_y - explained) / spread.degrees);
  spread.variance = std::expm1(spread.log_variance);
  spread.log_width = log_width;
}

// TiltScore is the score and the information of the slope from the spreads of one kernel, given the
// kernel's own level, for chi-square variances.
struct TiltScore {
  double score = 0.0;
  double information = 0.0;
};

TiltScore ScoreOf(std::span<const Spread> kernel, const SpreadTilt& tilt) {
  double degrees = 0.0;
  double log_width = 0.0;
  double level = 0.0;
  for (const Spread& spread : kernel) {
    degrees += spread.degrees;
    log_width += spread.degrees * spread.log_width;
    level += spread.degrees * spread.variance / tilt.FactorAt(spread.log_width);
  }
  if (!(level > 0.0)) return {};
  log_width /= degrees;
  level /= degrees;
  TiltScore sum;
  for (const Spread& spread : kernel) {
    const double wider = spread.log_width - log_width;
    const double relative = spread.variance / (level * tilt.FactorAt(spread.log_width));
    sum.score += 0.5 * spread.degrees * (relative - 1.0) * wider;
    sum.information += 0.5 * spread.degrees * wider * wider;
  }
  return sum;
}

TiltScore ScoreOfAll(std::span<const Spread> spreads, const SpreadTilt& tilt) {
  TiltScore sum{-tilt.slope / kSpreadTiltVariance, 1.0 / kSpreadTiltVariance};
  for (std::size_t begin = 0; begin < spreads.size();) {
    std::size_t end = begin + 1;
    while (end < spreads.size() && spreads[end].kernel == spreads[begin].kernel) ++end;
    if (spreads[begin].pooled) {
      begin = end;
      continue;
    }
    const TiltScore own = ScoreOf(spreads.subspan(begin, end - begin), tilt);
    sum.score += own.score;
    sum.information += own.information;
    begin = end;
  }
  return sum;
}

}  // namespace

double SpreadTilt::FactorAt(double log_width) const {
  return std::exp(slope * (log_width - center));
}

std::vector<Spread> SpreadsOf(std::span<const std::span<const ObservedCluster>> kernels,
                              std::span<const Part> parts) {
  std::vector<Spread> spreads;
  const std::span<const Part> all = parts;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const std::size_t first = spreads.size();
    const std::span<const Part> own = parts.first(kernels[k].size());
    parts = parts.subspan(kernels[k].size());
    for (std::size_t h = 0; h < own.size(); ++h) {
      const bool fits = std::all_of(own[h].seen.begin(), own[h].seen.end(),
                                    [](const SeenPart& seen) { return seen.fitted > 0.0; });
      if (own[h].seen.size() > 1 && fits) spreads.push_back(SpreadOf(kernels[k][h], own[h], k));
    }
    Collapse(kernels[k], own, k, spreads);
    if (!kernels[k].front().pooled) continue;
    AddBetweenKernels(kernels, all, k, spreads);
    for (std::size_t i = first; i < spreads.size(); ++i) spreads[i].pooled = true;
  }
  return spreads;
}

// Fisher scoring of a gamma regression with a normal prior around 0.
SpreadTilt FitSpreadTilt(std::span<const Spread> spreads) {
  constexpr int kMaxSteps = 30;
  constexpr double kMaxStep = 0.5;
  constexpr double kPrecision = 1e-6;
  SpreadTilt tilt;
  double degrees = 0.0;
  for (const Spread& spread : spreads) {
    if (spread.pooled) continue;
    degrees += spread.degrees;
    tilt.center += spread.degrees * spread.log_width;
  }
  if (!(degrees > 0.0)) return {};
  tilt.center /= degrees;
  for (int step = 0; step < kMaxSteps; ++step) {
    const TiltScore sum = ScoreOfAll(spreads, tilt);
    const double move = std::clamp(sum.score / sum.information, -kMaxStep, kMaxStep);
    tilt.slope += move;
    if (std::abs(move) < kPrecision) break;
  }
  return tilt;
}

}  // namespace stemtap::analysis
