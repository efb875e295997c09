// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/mean_change.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/comparison/change_test.h"

namespace stemtap::analysis {
namespace {

// Numbers of groups that a run is divided into. Correlation over longer times shows in fewer and
// longer groups. With two or three groups, quantiles of the t distribution are so large that the
// test misses real changes; without four, runs of a few prompts or phases get false verdicts
// (docs/math/diff.md).
constexpr std::size_t kGroupCounts[] = {4, 8, 16, 32};

// A kernel also changes slowly if its smallest groups cross their mean seldom, and at least this
// share of them is on each side: phases of unequal length, whose median is in one of them. A
// smaller share is a cold start or a warm-up. Without this rule, 9 of 270 pairs of short runs of
// different work have a false verdict; with it, none has.
constexpr double kMinPhaseShare = 0.15;

// With fewer slices in a run, the exact test limits the p-value: the durations of a few launches in
// two modes are equal by chance too often for a variance. Without it, 233 of 400 tables of 100
// kernels have a false verdict with 4 launches, and 1 of 400 with 8. A larger number costs time
// only: from 16, the smallest p-value is below 1e-8.
constexpr std::size_t kFewSlices = 16;

// Number of batches that the exact test uses of a run that has more, evenly spaced. An interval of
// 15 and 16 batches takes about 2 ms. With 16 and 16, the smallest p-value is 3e-9.
constexpr std::size_t kMaxTestedBatches = 16;

// The exact test compares slices of equal variance, so their mean numbers of launches must not
// differ by more than this factor.
constexpr double kMaxSliceRatio = 2.0;

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

// EqualMeans are the mean durations at equal shapes. NaN if less than half of the time of either
// run is in common shapes.
struct EqualMeans {
  double a_ns = NAN;
  double b_ns = NAN;

  double change() const { return b_ns / a_ns - 1.0; }
};

EqualMeans MeansAtEqualShapes(const ComparedKernel& a, const ComparedKernel& b) {
  CommonTime time;
  double launches = 0.0;
  double common_a = 0.0;
  double common_b = 0.0;
  for (const auto& [shape, in_a] : a.shapes) {
    const auto found = b.shapes.find(shape);
    if (found == b.shapes.end()) continue;
    const CommonTime of_shape = TimeOf(in_a, found->second);
    time.a_ns += of_shape.a_ns;
    time.b_ns += of_shape.b_ns;
    launches += static_cast<double>(std::min(in_a.launches, found->second.launches));
    common_a += static_cast<double>(in_a.duration_ns);
    common_b += static_cast<double>(found->second.duration_ns);
  }
  const bool is_comparable = 2.0 * common_a >= static_cast<double>(a.duration_ns) &&
                             2.0 * common_b >= static_cast<double>(b.duration_ns) &&
                             time.a_ns > 0.0 && time.b_ns > 0.0;
  return is_comparable ? EqualMeans{time.a_ns / launches, time.b_ns / launches} : EqualMeans();
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

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Returns the spread of a change from the changes without each group (delete-a-group jackknife).
ErrorSpread JackknifeSpread(const std::vector<double>& changes) {
  const auto count = static_cast<double>(changes.size());
  const double mean = MeanOf(changes);
  double squares = 0.0;
  for (const double change : changes) squares += (change - mean) * (change - mean);
  return {squares * (count - 1.0) / count, count - 1.0};
}

// Returns the spread of the relative error of the mean if launches were independent.
ErrorSpread IndependentSpread(const ComparedKernel& kernel) {
  const auto launches = static_cast<double>(kernel.launches);
  const double relative = kernel.stddev_ns / kernel.mean_ns();
  return {relative * relative / (launches - 1.0), launches - 1.0};
}

// Returns the sum of two independent spreads (Welch, Satterthwaite).
ErrorSpread Sum(const ErrorSpread& a, const ErrorSpread& b) {
  const double variance = a.variance + b.variance;
  if (variance == 0.0) return {0.0, std::min(a.degrees, b.degrees)};
  return {variance,
          variance * variance /
              (a.variance * a.variance / a.degrees + b.variance * b.variance / b.degrees)};
}

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

// Returns whether the groups cross `level` seldom. At least `min_share` of the groups must be on
// each side of it.
bool CrossesSeldom(const std::vector<double>& changes, double level, double min_share) {
  const auto count = static_cast<double>(changes.size());
  const auto above = static_cast<double>(
      std::count_if(changes.begin(), changes.end(), [&](double change) { return change > level; }));
  return std::min(above, count - above) >= min_share * count &&
         FewRunsP(changes, level) <= kMaxFewRunsP;
}

bool ChangesSlowly(const std::vector<double>& changes) {
  return CrossesSeldom(changes, MedianOf(changes), 0.0);
}

// Returns whether the groups are in phases of unequal length, whose median is in one of them.
bool HasPhases(const std::vector<double>& changes) {
  return CrossesSeldom(changes, MeanOf(changes), kMinPhaseShare);
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

// Adds the spreads of groups to `test`, and its allowance for slow changes. At least one run has
// batches. Adds nothing if a kernel has launches in too few slices.
void AddGroups(const ComparedKernel& a, const ComparedKernel& b, ChangeTest& test) {
  std::vector<double> changes;
  bool is_slow = false;
  for (const std::size_t count : kGroupCounts) {
    if ((!a.batches.empty() && SliceCount(a) < count) ||
        (!b.batches.empty() && SliceCount(b) < count)) {
      break;
    }
    const std::vector<double> of_groups = RunGroups(a, b, count).ChangesWithoutEach();
    if (of_groups.empty()) break;
    ErrorSpread spread = JackknifeSpread(of_groups);
    for (const ComparedKernel* kernel : {&a, &b}) {
      if (kernel->batches.empty()) spread = Sum(spread, IndependentSpread(*kernel));
    }
    test.spreads.push_back(spread);
    is_slow = is_slow || ChangesSlowly(of_groups);
    changes = of_groups;
  }
  is_slow = is_slow || (!changes.empty() && HasPhases(changes));
  if (is_slow) test.systematic = kRangesBeyond * RangeOfGroups(changes);
}

// Returns whether the exact test is needed.
bool HasFewSlices(const ComparedKernel& a, const ComparedKernel& b) {
  return std::min(SliceCount(a), SliceCount(b)) < kFewSlices;
}

// Returns whether the slices of both runs have similar numbers of launches.
bool HasSimilarSlices(const ComparedKernel& a, const ComparedKernel& b) {
  const double in_a = static_cast<double>(a.launches) / static_cast<double>(SliceCount(a));
  const double in_b = static_cast<double>(b.launches) / static_cast<double>(SliceCount(b));
  return std::max(in_a, in_b) <= kMaxSliceRatio * std::min(in_a, in_b);
}

// Calls `use` with up to kMaxTestedBatches batches of the run, evenly spaced.
template <typename Use>
void ForTestedBatches(const ComparedKernel& run, const Use& use) {
  const std::size_t count = std::min(run.batches.size(), kMaxTestedBatches);
  for (std::size_t i = 0; i < count; ++i) use(run.batches[i * run.batches.size() / count]);
}

// Returns the mean durations of batches, one stratum per shape that both runs have, relative to the
// mean of the shape in the batches of both runs.
std::vector<RankStratum> StrataOf(const ComparedKernel& a, const ComparedKernel& b) {
  PairTable shapes;
  ForTestedBatches(a, [&](const LaunchBatch& batch) {
    AddTo({batch.launches, batch.duration_ns}, shapes[batch.shape].a);
  });
  ForTestedBatches(b, [&](const LaunchBatch& batch) {
    AddTo({batch.launches, batch.duration_ns}, shapes[batch.shape].b);
  });
  std::map<std::uint64_t, RankStratum> strata;  // ordered, so that results do not depend on hashes
  const auto add = [&](const LaunchBatch& batch, std::vector<double> RankStratum::*set) {
    const ShapePair& pair = shapes.at(batch.shape);
    if (pair.a.launches == 0 || pair.b.launches == 0) return;
    ShapeTotals both = pair.a;
    AddTo(pair.b, both);
    if (both.duration_ns == 0) return;
    const double expected_ns = static_cast<double>(batch.launches) /
                               static_cast<double>(both.launches) *
                               static_cast<double>(both.duration_ns);
    (strata[batch.shape].*set)
        .push_back(std::log(static_cast<double>(batch.duration_ns) / expected_ns));
  };
  ForTestedBatches(a, [&](const LaunchBatch& batch) { add(batch, &RankStratum::low); });
  ForTestedBatches(b, [&](const LaunchBatch& batch) { add(batch, &RankStratum::high); });
  std::vector<RankStratum> values;
  for (auto& [shape, stratum] : strata) values.push_back(std::move(stratum));
  return values;
}

// Sets the test of `change`, of which the part `change_of_durations` (a logarithm) has errors.
// Returns why the change cannot be tested.
Untested SetTest(const ComparedKernel& a, const ComparedKernel& b, double change_of_durations,
                 MeanChange& change) {
  if (std::min(a.launches, b.launches) < kMinComparedLaunches) return Untested::kFewLaunches;
  ChangeTest& test = change.test;
  test.change = std::log1p(change.relative);
  if (a.batches.empty() && b.batches.empty()) {
    test.spreads.push_back(Sum(IndependentSpread(a), IndependentSpread(b)));
  } else {
    AddGroups(a, b, test);
  }
  test.systematic += RoundingError(a, b);
  if (test.spreads.empty()) return Untested::kFewSlices;
  if (a.batches.empty() || b.batches.empty()) return Untested::kNoOrder;
  if (a.shapes.empty() || b.shapes.empty()) return Untested::kNoShapes;
  if (!HasFewSlices(a, b)) return Untested::kNone;
  if (!HasSimilarSlices(a, b)) return Untested::kFewLaunches;
  test.few = StrataOf(a, b);
  for (RankStratum& stratum : test.few) {
    for (double& duration : stratum.high) duration += test.change - change_of_durations;
  }
  return test.few.empty() ? Untested::kFewSlices : Untested::kNone;
}

void SetInterval(double confidence, MeanChange& change) {
  const auto [lower, upper] = change.test.Interval(confidence);
  change.lower = std::expm1(lower);
  change.upper = std::expm1(upper);
}

}  // namespace

MeanChange CompareMeans(const ComparedKernel& a, const ComparedKernel& b, double confidence) {
  MeanChange change;
  change.untested = Untested::kNoTime;
  if (a.duration_ns == 0 || b.duration_ns == 0) return change;
  change.of_mean = b.mean_ns() / a.mean_ns() - 1.0;
  const bool has_shapes = !a.shapes.empty() && !b.shapes.empty();
  const EqualMeans means =
      has_shapes ? MeansAtEqualShapes(a, b) : EqualMeans{a.mean_ns(), b.mean_ns()};
  change.equal_mean_a_ns = means.a_ns;
  change.equal_mean_b_ns = means.b_ns;
  change.relative = means.change();
  change.untested = Untested::kOtherShapes;
  if (std::isnan(change.relative)) return change;
  change.untested = SetTest(a, b, std::log1p(change.relative), change);
  SetInterval(confidence, change);
  return change;
}

MeanChange CompareTotals(const ComparedKernel& a, const ComparedKernel& b, double change_of_time,
                         double confidence) {
  MeanChange change;
  change.relative = change.of_mean = change_of_time;
  change.untested = Untested::kOtherShapes;
  const double at_equal_shapes = MeansAtEqualShapes(a, b).change();
  if (std::isnan(at_equal_shapes)) return change;
  change.untested = SetTest(a, b, std::log1p(at_equal_shapes), change);
  SetInterval(confidence, change);
  return change;
}

}  // namespace stemtap::analysis
