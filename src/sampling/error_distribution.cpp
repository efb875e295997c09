// SPDX-License-Identifier: Apache-2.0
#include "sampling/error_distribution.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numbers>
#include <utility>
#include <vector>

#include "stats/fourier.h"
#include "stats/log_sketch.h"

namespace stemtap::sampling {
namespace {

// Strata with more samples than this (or launches left out, if these are fewer) use independent
// launches. Newton's identities take O(m^2) per frequency and lose digits with more.
constexpr std::uint64_t kMaxJoint = 16;
// The mean of the small errors of such a stratum may add this share to its variance.
constexpr double kMaxShift = 0.02;
// Maximum number of strata whose characteristic functions are computed separately. It limits the
// time.
constexpr std::size_t kMaxConvolved = 512;
// The other strata are described by their cumulants. Their fourth moments must be below this
// multiple of variance^2, and of miss x variance^2: a jump of 2 standard deviations then has a
// probability of less than a tenth of `miss`.
constexpr double kMaxFourth = 0.05;
constexpr double kMaxFourthPerMiss = 1.6;
// In a stratum with more than kMaxJoint samples, a cell is convolved if one sample moves the error
// by more than this share of the standard deviation.
constexpr double kLargeJump = 0.05;
// Steps of the grid per standard deviation, and per bound. The bound is rounded up by kRoundedUp
// steps: each draw is rounded by less than one step, and with few draws, many samples can have the
// same error.
constexpr double kStepsPerDeviation = 400.0;
constexpr double kStepsPerBound = 256.0;
constexpr double kRoundedUp = 3.0;
constexpr std::size_t kFirstMaxSize = 8192;
constexpr std::size_t kMinSize = 256;
// Steps at each end of the grid for the rounding of many draws.
constexpr std::size_t kEndSteps = 32;
constexpr std::size_t kMaxSize = 65536;
// The grid is a circle. Errors beyond its ends have at most this share of `miss`.
constexpr double kOutside = 0.01;
// The exact result is rounded up by this share, because a duration that is exactly at the bound
// must not miss it.
constexpr double kRounding = 1e-9;
// Fraction of 1 / miss for the squared distance of the unfavorable durations within a cell. At 1,
// their probability is `miss`, and rounding would decide whether they count.
constexpr double kUnfavorable = 0.98;

// Below this share of the variance, where durations are within their cells does not matter.
constexpr double kCellsMatter = 0.01;

// Returns the distance from the cell's mean at which unfavorable durations are, or 0 if all are
// equal. A distance of x standard deviations has a probability of 1 / x^2.
double SpreadOf(const stats::Moments& cell, double miss) {
  const double variance = cell.variance();
  if (!(variance > 0.0)) return 0.0;
  const double deviation = std::sqrt(variance);
  const double mean = cell.mean();
  const std::uint32_t bin =
      stats::LogSketch::BinOf(static_cast<std::uint64_t>(std::max(mean, 0.0)));
  const double below = mean - static_cast<double>(stats::LogSketch::LowerEdge(bin));
  const double above = static_cast<double>(stats::LogSketch::LowerEdge(bin + 1) - 1) - mean;
  // The cell is not a bin of the sketch: durations are as spread as uniform ones.
  if (variance > below * above * (1.0 + 1e-6)) return deviation * std::numbers::sqrt3;
  // No value of n can be further from the mean than sqrt(n - 1) standard deviations.
  const double multiple =
      std::min(std::max(kUnfavorable / miss, 1.0), static_cast<double>(cell.count() - 1));
  return std::min(deviation * std::sqrt(multiple), std::max(below, above));
}

// Draws is how a stratum is sampled. Sampling m of N launches has the same error as leaving out
// N - m with the opposite sign, so at most half of the launches are drawn.
struct Draws {
  std::uint64_t size = 0;
  double scale = 0.0;  // error of the estimate per ns of a drawn launch

  explicit Draws(const SampledStratum& s) {
    const auto represented = static_cast<double>(s.whole.count + s.joined_launches);
    scale = represented / static_cast<double>(s.samples);
    size = s.samples;
    if (size > s.whole.count / 2) {
      size = s.whole.count - size;
      scale = -scale;
    }
  }
};

// Calls visit(error, probability) for the possible errors of one draw. Their mean is 0.
template <typename Visit>
void ForEachOutcome(const SampledStratum& s, double scale, double miss, const Visit& visit) {
  const double mean = MomentsOf(s.cells).mean();
  for (const stats::Moments& cell : s.cells) {
    const double share = static_cast<double>(cell.count()) / static_cast<double>(s.whole.count);
    const double error = scale * (cell.mean() - mean);
    const double spread = SpreadOf(cell, miss);
    if (spread == 0.0) {
      visit(error, share);
      continue;
    }
    const double apart = std::min(cell.variance() / (spread * spread), 1.0);
    visit(error - scale * spread, share * apart / 2.0);
    visit(error + scale * spread, share * apart / 2.0);
    if (apart < 1.0) visit(error, share * (1.0 - apart));
  }
}

struct Cumulants {
  double second = 0.0;
  double third = 0.0;
  double fourth = 0.0;

  void Add(const Cumulants& other) {
    second += other.second;
    third += other.third;
    fourth += other.fourth;
  }
};

// Returns how much the fourth cumulant of a sample of fixed size is below the one of launches that
// are sampled independently, to the leading order in 1/m.
double FixedSizeTerm(double count, double share, double squares) {
  const double balance = 1.0 - 2.0 * share;
  const double mean_square = squares / count;
  return 3.0 * count * share * (1.0 - share) * balance * balance * mean_square * mean_square;
}

// Part is a stratum's contribution to the error.
struct Part {
  const SampledStratum* stratum = nullptr;
  Draws draws;
  Cumulants cumulants;
  double fourth_moment = 0.0;   // sum of the draws' fourth moments
  double draws_variance = 0.0;  // with replacement
  double highest = 0.0;         // error of one draw
  double lowest = 0.0;

  Part(const SampledStratum& s, double miss) : stratum(&s), draws(s) {
    if (s.cells.empty()) {
      const double expansion = static_cast<double>(s.whole.count + s.joined_launches) /
                               static_cast<double>(s.whole.count);
      cumulants.second = expansion * expansion * EstimateVariance(s.whole, s.samples);
      return;
    }
    double squares = 0.0;
    double cubes = 0.0;
    double fourths = 0.0;
    ForEachOutcome(s, draws.scale, miss, [&](double error, double probability) {
      const double square = error * error;
      squares += probability * square;
      cubes += probability * square * error;
      fourths += probability * square * square;
      highest = std::max(highest, error);
      lowest = std::min(lowest, error);
    });
    const auto n = static_cast<double>(s.whole.count);
    const auto m = static_cast<double>(draws.size);
    const double share = m / n;
    cumulants.second = m * squares * (n - m) / (n - 1.0);
    if (n > 2.0) cumulants.third = m * cubes * (n - m) * (n - 2.0 * m) / ((n - 1.0) * (n - 2.0));
    cumulants.fourth = m * (1.0 - share) * (1.0 - 6.0 * share * (1.0 - share)) * fourths -
                       FixedSizeTerm(n, share, n * squares);
    fourth_moment = m * fourths;
    draws_variance = m * squares;
  }

  bool joint() const { return draws.size <= kMaxJoint; }
};

// Returns x such that the error exceeds x with a probability of at most `probability`. The most
// extreme parts count with their largest possible error, and the others by Bernstein's inequality,
// which sampling without replacement satisfies too (Hoeffding 1963). `jumps` are the largest errors
// of one draw.
double HighestError(const std::vector<const Part*>& parts, double normal_variance,
                    double probability, double sign) {
  struct Extreme {
    double jump;
    double range;
    double variance;
  };
  std::vector<Extreme> extremes;
  double variance = normal_variance;
  for (const Part* part : parts) {
    const double jump = std::max(sign > 0.0 ? part->highest : -part->lowest, 0.0);
    extremes.push_back({jump, jump * static_cast<double>(part->draws.size), part->draws_variance});
    variance += part->draws_variance;
  }
  std::sort(extremes.begin(), extremes.end(),
            [](const Extreme& a, const Extreme& b) { return a.jump > b.jump; });
  const double log = -std::log(probability);
  double least = INFINITY;
  double range = 0.0;
  for (std::size_t i = 0; i <= extremes.size(); ++i) {
    const double jump = i < extremes.size() ? extremes[i].jump : 0.0;
    const double linear = jump * log / 3.0;
    const double rest = std::max(variance, 0.0);
    least = std::min(least, range + linear + std::sqrt(linear * linear + 2.0 * rest * log));
    if (i == extremes.size()) break;
    range += extremes[i].range;
    variance -= extremes[i].variance;
  }
  return least;
}

// Grid is a characteristic function at the frequencies of a grid of errors, and the distribution
// that it describes. Errors are rounded to steps such that means do not change.
class Grid {
 public:
  Grid(std::size_t size, double step)
      : size_(size), step_(step), fourier_(size), re_(size / 2 + 1), im_(size / 2 + 1) {
    std::fill(re_.begin(), re_.end(), 1.0);
    used_ = re_.size();
  }

  double step() const { return step_; }

  // Multiplies by a variable with the given cumulants. The terms of the third and fourth cumulant
  // are limited where the frequency is too high for the series.
  void MultiplyCumulants(const Cumulants& c) {
    for (std::size_t k = 0; k < used_; ++k) {
      const double t = FrequencyOf(k);
      const double half = 0.5 * c.second * t * t;
      const double skew = std::clamp(c.third * t * t * t / 6.0, -half, half);
      const double tail = std::min(c.fourth * t * t * t * t / 24.0, 0.5 * half);
      const double size = std::exp(tail - half);
      if (size < 1e-18) {
        used_ = k;
        break;
      }
      Multiply(k, size * std::cos(skew), -size * std::sin(skew));
    }
  }

  // Multiplies by the errors of two strata. `b` may be null.
  void MultiplyJoint(const Part& a, const Part* b, double miss) {
    work_re_.assign(size_, 0.0);
    work_im_.assign(size_, 0.0);
    Place(a, miss, work_re_);
    if (b != nullptr) Place(*b, miss, work_im_);
    fourier_.Transform(work_re_, work_im_);
    draw_re_.resize(size_ / 2 + 1);
    draw_im_.resize(size_ / 2 + 1);
    for (std::size_t k = 0; k <= size_ / 2; ++k) {
      const std::size_t mirror = (size_ - k) & (size_ - 1);
      draw_re_[k] = 0.5 * (work_re_[k] + work_re_[mirror]);
      draw_im_[k] = 0.5 * (work_im_[k] - work_im_[mirror]);
    }
    MultiplySample(a);
    if (b == nullptr) return;
    for (std::size_t k = 0; k <= size_ / 2; ++k) {
      const std::size_t mirror = (size_ - k) & (size_ - 1);
      draw_re_[k] = 0.5 * (work_im_[k] + work_im_[mirror]);
      draw_im_[k] = -0.5 * (work_re_[k] - work_re_[mirror]);
    }
    MultiplySample(*b);
  }

  // Multiplies by the launches of a stratum with many samples: each is sampled independently. Adds
  // cells of which one launch moves the error by at most `small` to `rest` instead.
  void MultiplyIndependent(const Part& part, double small, Cumulants& rest) {
    const SampledStratum& s = *part.stratum;
    const auto n = static_cast<double>(s.whole.count);
    const double share = static_cast<double>(part.draws.size) / n;
    const double mean = MomentsOf(s.cells).mean();
    // The variance of a sample of fixed size is larger by this factor.
    const double scale = part.draws.scale * std::sqrt(n / (n - 1.0));
    // The number of samples is fixed, so any constant may be subtracted from all errors. With the
    // mean of the small errors, the number of independent samples has no influence on their sum.
    double shift = 0.0;
    double small_launches = 0.0;
    for (const stats::Moments& cell : s.cells) {
      const double jump = scale * (cell.mean() - mean);
      if (std::fabs(jump) > small) continue;
      shift += static_cast<double>(cell.count()) * jump;
      small_launches += static_cast<double>(cell.count());
    }
    if (small_launches > 0.0) shift /= small_launches;
    if (n * shift * shift * share > kMaxShift * part.draws_variance) shift = 0.0;
    double carried = 0.0;  // rounding of the sum of launches x steps
    for (const stats::Moments& cell : s.cells) {
      const auto launches = static_cast<double>(cell.count());
      const double jump = scale * (cell.mean() - mean) - shift;
      const double variance = launches * share * (1.0 - share);
      rest.second += variance * scale * scale * cell.variance();
      if (std::fabs(jump) <= small) {
        rest.second += variance * jump * jump;
        rest.third += variance * (1.0 - 2.0 * share) * jump * jump * jump;
        rest.fourth += variance * (1.0 - 6.0 * share * (1.0 - share)) * jump * jump * jump * jump;
        continue;
      }
      const double position = std::floor(jump / step_);
      const double wanted = launches * (jump / step_ - position) + carried;
      const double above = std::clamp(std::round(wanted), 0.0, launches);
      carried = wanted - above;
      MultiplyBinomial(position, launches - above, share);
      MultiplyBinomial(position + 1.0, above, share);
      offset_ -= share * launches * jump;
    }
  }

  // Returns an error that is exceeded with a probability of at most `miss`. Errors of at least
  // `lowest` are on the grid.
  double Quantile(double bias_ns, double lowest, double miss) {
    work_re_.assign(size_, 0.0);
    work_im_.assign(size_, 0.0);
    for (std::size_t k = 0; k < used_; ++k) {
      const std::size_t mirror = (size_ - k) & (size_ - 1);
      work_re_[k] = work_re_[mirror] = re_[k];
      work_im_[k] = -im_[k];
      if (mirror != k) work_im_[mirror] = im_[k];
    }
    fourier_.Transform(work_re_, work_im_);
    const double bias = bias_ns + offset_;
    // Errors from `first` steps up are on the grid; they are at `first` modulo its size.
    const double first = std::floor((lowest - offset_) / step_) - static_cast<double>(kEndSteps);
    double low = first;
    double high = first + static_cast<double>(size_) - 1.0;
    double beyond = 0.0;
    while (low < high) {
      const double below = std::fabs(low * step_ + bias);
      const double above = std::fabs(high * step_ + bias);
      double& end = below > above ? low : high;
      beyond += work_re_[IndexOf(end)] / static_cast<double>(size_);
      if (beyond > miss) return std::max(below, above) + kRoundedUp * step_;
      end += below > above ? 1.0 : -1.0;
    }
    return std::fabs(low * step_ + bias) + kRoundedUp * step_;
  }

 private:
  double FrequencyOf(std::size_t k) const {
    return 2.0 * std::numbers::pi * static_cast<double>(k) / (static_cast<double>(size_) * step_);
  }

  std::size_t IndexOf(double position) const {
    return static_cast<std::size_t>(static_cast<std::int64_t>(position)) & (size_ - 1);
  }

  void Multiply(std::size_t k, double re, double im) {
    const double before = re_[k];
    re_[k] = before * re - im_[k] * im;
    im_[k] = before * im + im_[k] * re;
  }

  // Adds the distribution of one draw. An error between two steps is divided between them.
  void Place(const Part& part, double miss, std::vector<double>& probabilities) const {
    ForEachOutcome(*part.stratum, part.draws.scale, miss, [&](double error, double probability) {
      const double position = std::floor(error / step_);
      const double above = error / step_ - position;
      probabilities[IndexOf(position)] += probability * (1.0 - above);
      probabilities[IndexOf(position + 1.0)] += probability * above;
    });
  }

  // Multiplies by a sample without replacement from the stratum whose draws have the characteristic
  // function draw_. With w_j = exp(i t e_j), the expectation of the product over a random set of m
  // launches is the elementary symmetric polynomial e_m(w) divided by the number of sets. The power
  // sums of w are N draw(t), N draw(2 t), ..., and Newton's identities give e_m from them.
  void MultiplySample(const Part& part) {
    const std::uint64_t m = part.draws.size;
    if (m == 1) {
      for (std::size_t k = 0; k < used_; ++k) Multiply(k, draw_re_[k], draw_im_[k]);
      return;
    }
    const auto n = static_cast<double>(part.stratum->whole.count);
    // factor[r][i]: (-1)^(i-1) N C(N, r-i) / (r C(N, r))
    double factor[kMaxJoint + 1][kMaxJoint + 1];
    for (std::uint64_t r = 1; r <= m; ++r) {
      double sets = n / static_cast<double>(r);
      for (std::uint64_t i = 1; i <= r; ++i) {
        const auto taken = static_cast<double>(r - i + 1);
        sets *= taken / (n - taken + 1.0);
        factor[r][i] = i % 2 == 1 ? sets : -sets;
      }
    }
    double power_re[kMaxJoint + 1];
    double power_im[kMaxJoint + 1];
    double sum_re[kMaxJoint + 1] = {1.0};
    double sum_im[kMaxJoint + 1] = {0.0};
    for (std::size_t k = 0; k < used_; ++k) {
      for (std::uint64_t i = 1; i <= m; ++i) {
        const std::size_t at = (k * i) & (size_ - 1);
        const bool mirrored = at > size_ / 2;
        power_re[i] = draw_re_[mirrored ? size_ - at : at];
        power_im[i] = mirrored ? -draw_im_[size_ - at] : draw_im_[at];
      }
      for (std::uint64_t r = 1; r <= m; ++r) {
        double re = 0.0;
        double im = 0.0;
        for (std::uint64_t i = 1; i <= r; ++i) {
          const double f = factor[r][i];
          re += f * (sum_re[r - i] * power_re[i] - sum_im[r - i] * power_im[i]);
          im += f * (sum_re[r - i] * power_im[i] + sum_im[r - i] * power_re[i]);
        }
        sum_re[r] = re;
        sum_im[r] = im;
      }
      Multiply(k, sum_re[m], sum_im[m]);
    }
  }

  // Multiplies by the sum of `launches` independent variables that are `position` steps with the
  // probability `share`, and 0 otherwise.
  void MultiplyBinomial(double position, double launches, double share) {
    const auto count = static_cast<std::uint64_t>(launches);
    if (count == 0) return;
    const std::size_t at = IndexOf(position);
    for (std::size_t k = 0; k < used_; ++k) {
      const std::size_t angle = (k * at) & (size_ - 1);
      double base_re = 1.0 - share + share * fourier_.Cos(angle);
      double base_im = share * fourier_.Sin(angle);
      for (std::uint64_t left = count; left != 0; left >>= 1) {
        if ((left & 1) != 0) Multiply(k, base_re, base_im);
        const double square_re = base_re * base_re - base_im * base_im;
        base_im *= 2.0 * base_re;
        base_re = square_re;
      }
    }
  }

  std::size_t size_;
  double step_;
  stats::Fourier fourier_;
  // The characteristic function at frequencies up to half of the grid; from used_ on, it is 0.
  std::vector<double> re_;
  std::vector<double> im_;
  std::size_t used_ = 0;
  double offset_ = 0.0;  // is added to all errors
  std::vector<double> work_re_;
  std::vector<double> work_im_;
  std::vector<double> draw_re_;
  std::vector<double> draw_im_;
};

// Returns the quantile of a single draw.
double QuantileOfDraw(const Part& part, double bias_ns, double miss, double spread) {
  std::vector<std::pair<double, double>> errors;
  ForEachOutcome(*part.stratum, part.draws.scale, spread, [&](double error, double probability) {
    errors.emplace_back(std::fabs(error + bias_ns), probability);
  });
  std::sort(errors.begin(), errors.end(), std::greater<>());
  double beyond = 0.0;
  for (const auto& [error, probability] : errors) {
    beyond += probability;
    if (beyond > miss) return error * (1.0 + kRounding);
  }
  return errors.back().first * (1.0 + kRounding);
}

}  // namespace

double EstimateVariance(const Stratum& stratum, std::uint64_t samples) {
  if (samples >= stratum.count) return 0.0;
  if (samples == 0) return INFINITY;
  const auto n = static_cast<double>(stratum.count);
  const auto m = static_cast<double>(samples);
  return n * n * stratum.sample_variance() / m * (1.0 - m / n);
}

namespace {

// Returns the share of the error's variance that is within cells.
double ShareWithinCells(std::span<const SampledStratum> strata) {
  double all = 0.0;
  double within = 0.0;
  for (const SampledStratum& s : strata) {
    const double variance = EstimateVariance(s.whole, s.samples);
    if (!(variance > 0.0)) continue;
    double squares = 0.0;
    for (const stats::Moments& cell : s.cells) squares += cell.m2();
    all += variance;
    within += variance * squares / (static_cast<double>(s.whole.count) * s.whole.variance);
  }
  return all > 0.0 ? within / all : 0.0;
}

// As ErrorQuantile. The durations within a cell are unfavorable for errors with the probability
// `spread`.
double QuantileWithSpread(std::span<const SampledStratum> strata, double bias_ns, double miss,
                          double spread) {
  std::vector<Part> parts;
  double variance = 0.0;
  double fourth_moment = 0.0;
  for (const SampledStratum& s : strata) {
    if (s.samples >= s.whole.count) continue;
    if (s.samples == 0) return INFINITY;
    const Part part(s, spread);
    if (!(part.cumulants.second > 0.0)) continue;
    parts.push_back(part);
    variance += part.cumulants.second;
    fourth_moment += part.fourth_moment;
  }
  if (!(variance > 0.0)) return std::fabs(bias_ns);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.fourth_moment > b.fourth_moment; });

  const double max_rest = std::min(kMaxFourth, kMaxFourthPerMiss * miss) * variance * variance;
  std::vector<const Part*> joint;
  std::vector<const Part*> independent;
  Cumulants rest;
  double normal_variance = 0.0;
  for (const Part& part : parts) {
    const bool convolve = fourth_moment > max_rest && part.fourth_moment > 0.0 &&
                          joint.size() + independent.size() < kMaxConvolved;
    fourth_moment -= part.fourth_moment;
    if (convolve) {
      (part.joint() ? joint : independent).push_back(&part);
    } else {
      rest.Add(part.cumulants);
      normal_variance += part.cumulants.second;
    }
  }
  if (independent.empty() && joint.size() == 1 && joint.front()->draws.size == 1 &&
      normal_variance == 0.0) {
    return QuantileOfDraw(*joint.front(), bias_ns, miss, spread);
  }

  std::vector<const Part*> convolved = joint;
  convolved.insert(convolved.end(), independent.begin(), independent.end());
  const double deviation = std::sqrt(variance);
  const double high = HighestError(convolved, normal_variance, kOutside * miss, 1.0);
  const double low = HighestError(convolved, normal_variance, kOutside * miss, -1.0);
  const double width = 1.01 * (high + low);
  const auto size_for = [&](double step, std::size_t max_size) {
    const double size = width / step + 2.0 * kEndSteps;
    return std::bit_ceil(static_cast<std::size_t>(
        std::clamp(size, static_cast<double>(kMinSize), static_cast<double>(max_size))));
  };
  std::size_t size = size_for(deviation / kStepsPerDeviation, kFirstMaxSize);
  for (;;) {
    Grid grid(size, width / static_cast<double>(size - 2 * kEndSteps));
    Cumulants others = rest;
    for (const Part* part : independent) {
      grid.MultiplyIndependent(*part, kLargeJump * deviation, others);
    }
    grid.MultiplyCumulants(others);
    for (std::size_t i = 0; i < joint.size(); i += 2) {
      grid.MultiplyJoint(*joint[i], i + 1 < joint.size() ? joint[i + 1] : nullptr, spread);
    }
    const double bound = grid.Quantile(bias_ns, -1.005 * low, miss);
    const std::size_t needed =
        size_for((bound - kRoundedUp * grid.step()) / kStepsPerBound, kMaxSize);
    if (needed <= size) return bound;
    size = needed;
  }
}

}  // namespace

double ErrorQuantile(std::span<const SampledStratum> strata, double bias_ns, double miss) {
  double bound = QuantileWithSpread(strata, bias_ns, miss, miss);
  // Points far from the mean leave most launches at the mean of their cell. In a sum with other
  // clusters, points at one or two standard deviations can be more unfavorable.
  if (ShareWithinCells(strata) > kCellsMatter) {
    for (const double spread : {0.25, 1.0}) {
      bound = std::max(bound, QuantileWithSpread(strata, bias_ns, miss, spread));
    }
  }
  return bound;
}

}  // namespace stemtap::sampling
