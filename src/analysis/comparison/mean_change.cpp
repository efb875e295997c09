// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/mean_change.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "analysis/extrapolation/student.h"

namespace stemtap::analysis {
namespace {

// Numbers of groups that a run is divided into. Correlation over longer times shows in fewer and
// longer groups. With two or three groups, quantiles of the t distribution are so large that the
// test misses real changes; without four, runs of a few prompts or phases get false verdicts
// (docs/math/diff.md).
constexpr std::size_t kGroupCounts[] = {4, 8, 16, 32};

// A kernel changes slowly if its groups cross their mean less often than expected, by at least this
// many standard deviations. With 2, this happens by chance to 2 % of the kernels that do not change
// slowly. 1.65 misses 5 of 47 real changes that 2 finds. Without the check, 22 of 270 pairs of
// short runs have a false verdict; with it, 3.
constexpr double kMaxRunsDeviation = 2.0;

// If a kernel changes slowly, its mean in another run may differ by this multiple of the range
// within the runs. With 1, 8 pairs have a false verdict instead of 3. With 2, no fewer have one,
// and fewer changes are found if clocks drift.
constexpr double kRangesBeyond = 1.5;

// ShapePair is the launches of one shape in both runs.
struct ShapePair {
  ShapeTotals a;
  ShapeTotals b;
};
using PairTable = std::unordered_map<std::uint64_t, ShapePair>;

void AddTo(const ShapeTotals& totals, ShapeTotals& sum) {
  sum.launches += totals.launches;
  sum.duration_ns += totals.duration_ns;
}

// CommonTime is the time of equal launches in both runs.
struct CommonTime {
  double a_ns = 0.0;
  double b_ns = 0.0;

  double LogRatio() const { return std::log(b_ns / a_ns); }
};

// Returns the time of as many launches as both runs have, at the mean durations of the shape.
CommonTime TimeOf(const ShapeTotals& a, const ShapeTotals& b) {
  if (a.launches == 0 || b.launches == 0) return {};
  const auto launches = static_cast<double>(std::min(a.launches, b.launches));
  return {launches / static_cast<double>(a.launches) * static_cast<double>(a.duration_ns),
          launches / static_cast<double>(b.launches) * static_cast<double>(b.duration_ns)};
}

// Returns the relative change of the mean at equal shapes. NaN if less than half of the time of
// either run is in common shapes.
double ChangeAtEqualShapes(const ComparedKernel& a, const ComparedKernel& b) {
  CommonTime time;
  double common_a = 0.0;
  double common_b = 0.0;
  for (const auto& [shape, in_a] : a.shapes) {
    const auto found = b.shapes.find(shape);
    if (found == b.shapes.end()) continue;
    const CommonTime of_shape = TimeOf(in_a, found->second);
    time.a_ns += of_shape.a_ns;
    time.b_ns += of_shape.b_ns;
    common_a += static_cast<double>(in_a.duration_ns);
    common_b += static_cast<double>(found->second.duration_ns);
  }
  const bool is_comparable = 2.0 * common_a >= static_cast<double>(a.duration_ns) &&
                             2.0 * common_b >= static_cast<double>(b.duration_ns) &&
                             time.a_ns > 0.0 && time.b_ns > 0.0;
  return is_comparable ? time.b_ns / time.a_ns - 1.0 : NAN;
}

std::size_t SliceCount(const ComparedKernel& kernel) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kernel.batches.size(); ++i) {
    if (i == 0 || kernel.batches[i].slice != kernel.batches[i - 1].slice) ++count;
  }
  return count;
}

// RunGroups divides the launches of a kernel in both runs into groups at the same places of the
// runs: equal numbers of consecutive slices that contain launches.
class RunGroups {
 public:
  RunGroups(const ComparedKernel& a, const ComparedKernel& b, std::size_t count)
      : by_shape_(!a.shapes.empty() && !b.shapes.empty()), groups_(count) {
    Add(a, &ShapePair::a);
    Add(b, &ShapePair::b);
  }

  // Returns the logarithm of the change at equal shapes without each of the groups. Empty if that
  // leaves no common shape.
  std::vector<double> ChangesWithoutEach() const {
    CommonTime all;
    for (const auto& [shape, pair] : total_) {
      const CommonTime time = TimeOf(pair.a, pair.b);
      all.a_ns += time.a_ns;
      all.b_ns += time.b_ns;
    }
    std::vector<double> changes;
    for (const PairTable& group : groups_) {
      CommonTime rest = all;
      for (const auto& [shape, pair] : group) {
        const ShapePair& whole = total_.at(shape);
        const CommonTime with = TimeOf(whole.a, whole.b);
        const CommonTime without = TimeOf(Difference(whole.a, pair.a), Difference(whole.b, pair.b));
        rest.a_ns += without.a_ns - with.a_ns;
        rest.b_ns += without.b_ns - with.b_ns;
      }
      // Only rounding errors are left if the group contains all common launches.
      constexpr double kNothing = 1e-9;
      if (!(rest.a_ns > kNothing * all.a_ns && rest.b_ns > kNothing * all.b_ns)) return {};
      changes.push_back(rest.LogRatio());
    }
    return changes;
  }

 private:
  static ShapeTotals Difference(const ShapeTotals& whole, const ShapeTotals& part) {
    return {whole.launches - part.launches, whole.duration_ns - part.duration_ns};
  }

  void Add(const ComparedKernel& kernel, ShapeTotals ShapePair::*run) {
    if (kernel.batches.empty()) {  // in no group
      for (const auto& [shape, totals] : kernel.shapes) {
        if (by_shape_) AddTo(totals, total_[shape].*run);
      }
      if (!by_shape_) AddTo({kernel.launches, kernel.duration_ns}, total_[0].*run);
    }
    const std::size_t slices = SliceCount(kernel);
    std::size_t at = 0;
    for (std::size_t i = 0; i < kernel.batches.size(); ++i) {
      const LaunchBatch& batch = kernel.batches[i];
      if (i != 0 && batch.slice != kernel.batches[i - 1].slice) ++at;
      const std::uint64_t shape = by_shape_ ? batch.shape : 0;
      AddTo({batch.launches, batch.duration_ns}, groups_[at * groups_.size() / slices][shape].*run);
      AddTo({batch.launches, batch.duration_ns}, total_[shape].*run);
    }
  }

  bool by_shape_;
  std::vector<PairTable> groups_;
  PairTable total_;
};

// Spread is the variance of an error and its degrees of freedom.
struct Spread {
  double variance = 0.0;
  double degrees = 0.0;
};

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Returns the spread of a change from the changes without each group (delete-a-group jackknife).
Spread JackknifeSpread(const std::vector<double>& changes) {
  const auto count = static_cast<double>(changes.size());
  const double mean = MeanOf(changes);
  double squares = 0.0;
  for (const double change : changes) squares += (change - mean) * (change - mean);
  return {squares * (count - 1.0) / count, count - 1.0};
}

// Returns the spread of the relative error of the mean if launches were independent.
Spread IndependentSpread(const ComparedKernel& kernel) {
  const auto launches = static_cast<double>(kernel.launches);
  const double relative = kernel.stddev_ns / kernel.mean_ns();
  return {relative * relative / (launches - 1.0), launches - 1.0};
}

// Returns the sum of two independent spreads (Welch, Satterthwaite).
Spread Sum(const Spread& a, const Spread& b) {
  const double variance = a.variance + b.variance;
  if (variance == 0.0) return {0.0, std::min(a.degrees, b.degrees)};
  return {variance,
          variance * variance /
              (a.variance * a.variance / a.degrees + b.variance * b.variance / b.degrees)};
}

// Returns whether the groups cross their mean less often than they would without slow changes
// (the runs test of Wald and Wolfowitz).
bool ChangesSlowly(const std::vector<double>& changes) {
  const double mean = MeanOf(changes);
  double stretches = 1.0;  // of consecutive groups on the same side of the mean
  for (std::size_t i = 1; i < changes.size(); ++i) {
    stretches += (changes[i] > mean) != (changes[i - 1] > mean) ? 1.0 : 0.0;
  }
  const auto count = static_cast<double>(changes.size());
  return stretches <= 0.5 * (count + 1.0) - kMaxRunsDeviation * 0.5 * std::sqrt(count - 1.0);
}

// Returns the range of the changes of single groups.
double RangeOfGroups(const std::vector<double>& changes) {
  const auto [lowest, highest] = std::minmax_element(changes.begin(), changes.end());
  return (static_cast<double>(changes.size()) - 1.0) * (*highest - *lowest);
}

// Returns the relative error of the ratio of the means that rounding can cause.
double RoundingError(const ComparedKernel& a, const ComparedKernel& b) {
  return a.rounding_ns / a.mean_ns() + b.rounding_ns / b.mean_ns();
}

// ChangeErrors is what limits the knowledge of a change, on the logarithmic scale.
struct ChangeErrors {
  std::vector<Spread> spreads;  // estimates of one spread; the widest counts
  double systematic = 0.0;      // not part of the spread
};

// Returns the errors of a change between runs of which at least one has batches. No spreads if a
// kernel has launches in too few slices.
ChangeErrors GroupedErrors(const ComparedKernel& a, const ComparedKernel& b) {
  ChangeErrors errors;
  std::vector<double> changes;
  bool is_slow = false;
  for (const std::size_t count : kGroupCounts) {
    if ((!a.batches.empty() && SliceCount(a) < count) ||
        (!b.batches.empty() && SliceCount(b) < count)) {
      break;
    }
    const std::vector<double> of_groups = RunGroups(a, b, count).ChangesWithoutEach();
    if (of_groups.empty()) break;
    Spread spread = JackknifeSpread(of_groups);
    for (const ComparedKernel* kernel : {&a, &b}) {
      if (kernel->batches.empty()) spread = Sum(spread, IndependentSpread(*kernel));
    }
    errors.spreads.push_back(spread);
    is_slow = is_slow || ChangesSlowly(of_groups);
    changes = of_groups;
  }
  if (is_slow) errors.systematic = kRangesBeyond * RangeOfGroups(changes);
  return errors;
}

// Sets the interval and the p-value of `change`.
void Test(const ChangeErrors& errors, double confidence, double threshold, MeanChange& change) {
  const double center = std::log1p(change.relative);
  const double beyond = std::fabs(center) - std::log1p(threshold);
  for (const Spread& spread : errors.spreads) {
    const double error = std::sqrt(spread.variance);
    const double half = StudentQuantile(confidence, spread.degrees) * error + errors.systematic;
    const double rest = beyond - errors.systematic;
    const double p = rest <= 0.0    ? 1.0
                     : error == 0.0 ? 0.0
                                    : 1.0 - StudentWithin(rest / error, spread.degrees);
    change.p = std::fmax(change.p, p);
    change.lower = std::fmin(change.lower, std::expm1(center - half));
    change.upper = std::fmax(change.upper, std::expm1(center + half));
  }
}

}  // namespace

MeanChange CompareMeans(const ComparedKernel& a, const ComparedKernel& b, double confidence,
                        double threshold) {
  MeanChange change;
  change.untested = Untested::kNoTime;
  if (a.duration_ns == 0 || b.duration_ns == 0) return change;
  change.of_mean = b.mean_ns() / a.mean_ns() - 1.0;
  const bool has_shapes = !a.shapes.empty() && !b.shapes.empty();
  change.relative = has_shapes ? ChangeAtEqualShapes(a, b) : change.of_mean;
  change.untested = Untested::kOtherShapes;
  if (std::isnan(change.relative)) return change;
  change.untested = Untested::kFewLaunches;
  if (std::min(a.launches, b.launches) < kMinComparedLaunches) return change;
  const bool has_order = !a.batches.empty() && !b.batches.empty();
  ChangeErrors errors = a.batches.empty() && b.batches.empty()
                            ? ChangeErrors{{Sum(IndependentSpread(a), IndependentSpread(b))}}
                            : GroupedErrors(a, b);
  errors.systematic += RoundingError(a, b);
  Test(errors, confidence, threshold, change);
  change.untested = errors.spreads.empty() ? Untested::kFewSlices
                    : !has_order           ? Untested::kNoOrder
                    : !has_shapes          ? Untested::kNoShapes
                                           : Untested::kNone;
  if (change.untested != Untested::kNone) change.p = NAN;
  return change;
}

}  // namespace stemtap::analysis
