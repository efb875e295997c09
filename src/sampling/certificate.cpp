// SPDX-License-Identifier: Apache-2.0
#include "sampling/certificate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/rng.h"
#include "stats/normal.h"

namespace stemtap::sampling {
namespace {

// Number of simulated samples. With 4,000, the random error of the quantile is 0.3 % of coverage.
constexpr int kRuns = 4000;
// The share of the allowed misses that the bound uses: at 95 % confidence, 3 % of the simulated
// samples miss the bound instead of 5 %. The margin covers the random error of the simulation and
// the unknown durations within a cell (1.6 % wide). It also leaves room for a check with 500
// samples (random error 1 %) to confirm the stated confidence.
constexpr double kMissShare = 0.6;
// Limits for strata that are simulated draw by draw: the kMaxDrawn strata with the largest
// variance that have at most kMaxSamples samples. The other strata are many, or are means of many
// draws: together they are normal by the central limit theorem.
constexpr std::size_t kMaxDrawn = 128;
constexpr std::uint64_t kMaxSamples = 8;
// Exception: a cell of the other strata is simulated separately if a single hit moves the estimate
// by more than this share of the standard deviation. The number of hits is Poisson, with a mean of
// at most about 16 per simulated sample over all such cells.
constexpr double kLargeJump = 0.25;
// The exact durations within a cell are unknown. If the distribution has an atom at the quantile,
// this thousandth decides on which side of the bound it is.
constexpr double kRoundUp = 1.001;

// Returns the number of launches that each sample represents.
double ScaleOf(const SampledStratum& s) {
  return static_cast<double>(s.whole.count + s.joined_launches) / static_cast<double>(s.samples);
}

// StratumDraw draws launches from one stratum without replacement, as the tracer does.
class StratumDraw {
 public:
  explicit StratumDraw(const SampledStratum& s)
      : samples_(s.samples), count_(s.whole.count), scale_(ScaleOf(s)) {
    std::uint64_t before = 0;
    for (const stats::Moments& cell : s.cells) {
      before += cell.count();
      ends_.push_back(before);
      offsets_.push_back(cell.mean() - s.whole.mean);
      // Durations within a cell are uniform, with the variance of the cell.
      widths_.push_back(std::sqrt(12.0 * cell.variance()));
    }
  }

  // Returns the estimate of the stratum's sum minus its true value, for one draw.
  double Error(Rng& rng) const {
    std::array<std::uint64_t, kMaxSamples> taken;
    double sum = 0.0;
    for (std::uint64_t k = 0; k < samples_; ++k) {
      std::uint64_t rank;
      do {
        rank = rng.Below(count_);
      } while (std::find(taken.begin(), taken.begin() + k, rank) != taken.begin() + k);
      taken[k] = rank;
      const auto cell = static_cast<std::size_t>(
          std::upper_bound(ends_.begin(), ends_.end(), rank) - ends_.begin());
      sum += offsets_[cell];
      if (widths_[cell] > 0.0) sum += widths_[cell] * (rng.Uniform() - 0.5);
    }
    return scale_ * sum;
  }

 private:
  std::uint64_t samples_;
  std::uint64_t count_;
  double scale_;
  std::vector<std::uint64_t> ends_;  // launches in all cells up to and including this one
  std::vector<double> offsets_;      // cell mean minus stratum mean
  std::vector<double> widths_;
};

// RareHits simulates the hits of rare, large cells in strata that are not simulated draw by draw.
class RareHits {
 public:
  // Adds the cells of `s` for which one hit moves the estimate by more than `large`. Returns their
  // variance.
  double Take(const SampledStratum& s, double large) {
    const double scale = ScaleOf(s);
    const double drawn = static_cast<double>(s.samples) / static_cast<double>(s.whole.count);
    double variance = 0.0;
    for (const stats::Moments& cell : s.cells) {
      const double jump = scale * (cell.mean() - s.whole.mean);
      if (std::fabs(jump) < large) continue;
      const double rate = static_cast<double>(cell.count()) * drawn;
      total_rate_ += rate;
      mean_ += rate * jump;
      jumps_.push_back(jump);
      rate_up_to_.push_back(total_rate_);
      variance += rate * jump * jump * (1.0 - drawn);
    }
    return variance;
  }

  double Error(Rng& rng) const {
    if (!(total_rate_ > 0.0)) return 0.0;
    double error = -mean_;
    const auto gap = [&] { return -std::log(1.0 - rng.Uniform()); };
    for (double at = gap(); at < total_rate_; at += gap()) {
      const auto hit = std::upper_bound(rate_up_to_.begin(), rate_up_to_.end(), at);
      error += jumps_[static_cast<std::size_t>(hit - rate_up_to_.begin())];
    }
    return error;
  }

 private:
  std::vector<double> jumps_;
  std::vector<double> rate_up_to_;
  double total_rate_ = 0.0;
  double mean_ = 0.0;
};

}  // namespace

double EstimateVariance(const Stratum& stratum, std::uint64_t samples) {
  if (samples >= stratum.count) return 0.0;
  if (samples == 0) return INFINITY;
  const auto n = static_cast<double>(stratum.count);
  const auto m = static_cast<double>(samples);
  return n * n * stratum.sample_variance() / m * (1.0 - m / n);
}

double ErrorBound(std::span<const Stratum> strata, std::span<const std::uint64_t> samples,
                  double z) {
  double variance = 0.0;
  double total = 0.0;
  for (std::size_t i = 0; i < strata.size(); ++i) {
    variance += EstimateVariance(strata[i], samples[i]);
    total += strata[i].sum();
  }
  return total > 0.0 && variance > 0.0 ? z * std::sqrt(variance) / total : 0.0;
}

double CertifiedZ(double confidence) {
  return stats::TwoSidedZ(1.0 - kMissShare * (1.0 - confidence));
}

double CertifiedBound(std::span<const SampledStratum> strata, double confidence) {
  double total = 0.0;
  for (const SampledStratum& s : strata) total += s.whole.sum();
  return total > 0.0 ? CertifiedError(strata, 0.0, confidence) / total : 0.0;
}

double CertifiedError(std::span<const SampledStratum> strata, double bias_ns, double confidence) {
  double variance = 0.0;
  std::vector<double> variances;
  variances.reserve(strata.size());
  for (const SampledStratum& s : strata) {
    const double expansion =
        static_cast<double>(s.whole.count + s.joined_launches) / static_cast<double>(s.whole.count);
    variances.push_back(expansion * expansion * EstimateVariance(s.whole, s.samples));
    variance += variances.back();
  }
  if (!(variance > 0.0)) return std::fabs(bias_ns);
  if (!std::isfinite(variance)) return INFINITY;

  std::vector<std::size_t> order(strata.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return variances[a] > variances[b]; });
  std::vector<StratumDraw> drawn;
  RareHits rare;
  double normal_variance = 0.0;
  for (const std::size_t i : order) {
    const SampledStratum& s = strata[i];
    // Strata below a millionth of the variance do not affect the quantile.
    const bool seen = variances[i] > 1e-6 * variance;
    if (seen && drawn.size() < kMaxDrawn && s.samples <= kMaxSamples && !s.cells.empty()) {
      drawn.emplace_back(s);
    } else {
      normal_variance += variances[i];
      if (variances[i] > 0.0) normal_variance -= rare.Take(s, kLargeJump * std::sqrt(variance));
    }
  }
  const double normal_deviation = std::sqrt(std::max(normal_variance, 0.0));
  Rng rng(1);
  std::vector<double> errors(kRuns);
  for (double& error : errors) {
    for (const StratumDraw& draw : drawn) error += draw.Error(rng);
    if (normal_deviation > 0.0)
      error += normal_deviation * stats::NormalQuantile(rng.Uniform() + 0x1p-54);
    error = std::fabs(error + rare.Error(rng) + bias_ns);
  }
  const double misses = kMissShare * (1.0 - confidence) * kRuns;
  const auto beyond = static_cast<std::size_t>(std::floor(misses));
  const std::size_t at =
      static_cast<std::size_t>(kRuns) - 1 - std::min<std::size_t>(beyond, kRuns - 1);
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(at), errors.end());
  double bound = kRoundUp * errors[at];
  if (misses < 20.0) {
    // Too few simulated samples exceed the bound. Use the normal tail if it is wider.
    bound = std::max(bound, CertifiedZ(confidence) * std::sqrt(variance) + std::fabs(bias_ns));
  }
  return bound;
}

}  // namespace stemtap::sampling
