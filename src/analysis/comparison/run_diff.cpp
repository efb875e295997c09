// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/run_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "model/kernel_name.h"

namespace stemtap::analysis {
namespace {

// Share of the probability of a wrong verdict that the tests of launches may use; the tests of
// means use the rest. Means are more important, and a larger share would find fewer of their
// changes. A shift of all launches is usually far larger than its error.
constexpr double kShiftShare = 0.2;

constexpr std::size_t kNoPartner = std::numeric_limits<std::size_t>::max();

// NameMatch pairs the kernels of two runs. partner_of_a[i] is an index into B, or kNoPartner.
struct NameMatch {
  const std::vector<ComparedKernel>& a;
  const std::vector<ComparedKernel>& b;
  std::vector<std::size_t> partner_of_a;
  std::vector<std::size_t> partner_of_b;

  NameMatch(const ComparedRun& run_a, const ComparedRun& run_b)
      : a(run_a.kernels),
        b(run_b.kernels),
        partner_of_a(a.size(), kNoPartner),
        partner_of_b(b.size(), kNoPartner) {}

  // Pairs kernels whose forms are equal if no other kernel of either run has that form and
  // `accepts` the two names.
  template <typename Form, typename Accepts>
  void Pair(const Form& form, const Accepts& accepts) {
    struct Found {
      std::size_t count_a = 0, count_b = 0, in_a = 0, in_b = 0;
    };
    std::unordered_map<std::string, Found> found;
    for (std::size_t i = 0; i < a.size(); ++i) {
      Found& entry = found[form(a[i].name)];
      ++entry.count_a;
      entry.in_a = i;
    }
    for (std::size_t i = 0; i < b.size(); ++i) {
      Found& entry = found[form(b[i].name)];
      ++entry.count_b;
      entry.in_b = i;
    }
    for (const auto& [text, entry] : found) {
      if (entry.count_a != 1 || entry.count_b != 1) continue;
      if (partner_of_a[entry.in_a] != kNoPartner || partner_of_b[entry.in_b] != kNoPartner ||
          !accepts(a[entry.in_a].name, b[entry.in_b].name)) {
        continue;
      }
      partner_of_a[entry.in_a] = entry.in_b;
      partner_of_b[entry.in_b] = entry.in_a;
    }
  }
};

NameMatch MatchNames(const ComparedRun& a, const ComparedRun& b) {
  NameMatch match(a, b);
  const auto always = [](const std::string&, const std::string&) { return true; };
  const auto one_is_bare = [](const std::string& in_a, const std::string& in_b) {
    return in_a == model::BaseName(in_a) || in_b == model::BaseName(in_b);
  };
  match.Pair([](const std::string& name) { return name; }, always);
  match.Pair([](const std::string& name) { return model::Spelling(name); }, always);
  match.Pair([](const std::string& name) { return model::BaseName(name); }, one_is_bare);
  return match;
}

// Returns (b - a) / log(b / a), the factor that converts a change of a logarithm to a difference.
double LogarithmicMean(double a, double b) {
  return a == b ? a : (b - a) / std::log(b / a);
}

// Returns the figures of a kernel; nullptr: the kernel is not in that run.
KernelDiff DiffOf(const ComparedKernel* a, const ComparedKernel* b, const DiffOptions& options) {
  KernelDiff diff;
  diff.name = b != nullptr ? b->name : a->name;
  const double count_a = a == nullptr ? 0.0 : static_cast<double>(a->launches);
  const double count_b = b == nullptr ? 0.0 : static_cast<double>(b->launches);
  if (a != nullptr) {
    diff.launches_a = a->launches;
    diff.duration_a_ns = a->duration_ns;
  }
  if (b != nullptr) {
    diff.launches_b = b->launches;
    diff.duration_b_ns = b->duration_ns;
  }
  if (a == nullptr || b == nullptr) {
    diff.verdict = a == nullptr ? DiffVerdict::kNew : DiffVerdict::kGone;
    diff.by_launches_ns =
        static_cast<double>(diff.duration_b_ns) - static_cast<double>(diff.duration_a_ns);
    return diff;
  }
  diff.by_launches_ns = (count_b - count_a) * 0.5 * (a->mean_ns() + b->mean_ns());
  diff.change = CompareMeans(*a, *b, options.confidence);
  diff.shift = CompareLaunches(*a, *b, options.confidence);
  const double by_mean_ns = (b->mean_ns() - a->mean_ns()) * 0.5 * (count_a + count_b);
  // On the logarithmic scale, the changes by shapes and at equal shapes add up to the whole change.
  const double whole = std::log1p(diff.change.of_mean);
  const double at_equal_shapes = std::log1p(diff.change.relative);
  if (std::isnan(whole)) {  // a run has 0 ns
    diff.by_duration_ns = by_mean_ns;
  } else if (std::isnan(at_equal_shapes)) {
    diff.by_shapes_ns = by_mean_ns;
  } else if (at_equal_shapes == whole) {
    diff.by_duration_ns = by_mean_ns;
  } else {
    const double mean = LogarithmicMean(a->mean_ns(), b->mean_ns());
    diff.by_duration_ns = at_equal_shapes * mean * 0.5 * (count_a + count_b);
    diff.by_shapes_ns = by_mean_ns - diff.by_duration_ns;
  }
  return diff;
}

// Returns the number of tests that have to be corrected for: tests that cannot be significant need
// no correction (Tarone). `least` are the smallest p-values that the tests can have.
std::size_t CorrectedTests(std::vector<double> least, double level) {
  std::sort(least.begin(), least.end());
  for (std::size_t count = 1; count < least.size(); ++count) {
    if (least[count] * static_cast<double>(count) > level) return count;
  }
  return least.size();
}

// TestP is the p-value of a test, and the smallest one that the test can have.
struct TestP {
  double p = NAN;  // NaN: not tested
  double least = 0.0;
};

// Corrects the p-values of the tests for their number (Holm, Tarone), at `level`.
std::vector<double> Adjusted(const std::vector<TestP>& tests, double level) {
  std::vector<double> least;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < tests.size(); ++i) {
    if (std::isnan(tests[i].p)) continue;
    order.push_back(i);
    least.push_back(tests[i].least);
  }
  std::size_t left = CorrectedTests(least, level);
  const double reachable = level / static_cast<double>(left);
  std::sort(order.begin(), order.end(),
            [&](std::size_t x, std::size_t y) { return tests[x].p < tests[y].p; });
  std::vector<double> adjusted(tests.size(), NAN);
  double largest = 0.0;
  for (const std::size_t i : order) {
    const bool can_be_significant = tests[i].least <= reachable;
    const std::size_t factor = can_be_significant ? left : order.size();
    const double own = std::min(1.0, static_cast<double>(factor) * tests[i].p);
    adjusted[i] = std::max(largest, own);
    if (!can_be_significant) continue;
    largest = adjusted[i];
    --left;
  }
  return adjusted;
}

// Corrects the p-values of tests that may use only `share` of `level`.
std::vector<double> Adjusted(const std::vector<TestP>& tests, double level, double share) {
  std::vector<double> adjusted = Adjusted(tests, share * level);
  for (double& p : adjusted) p = std::isnan(p) ? p : std::min(1.0, p / share);
  return adjusted;
}

DiffVerdict DirectionOf(double change) {
  return change > 0.0 ? DiffVerdict::kSlower : DiffVerdict::kFaster;
}

// Decision is a verdict about the change of a mean.
struct Decision {
  DiffVerdict verdict = DiffVerdict::kUnclear;
  Undecided undecided = Undecided::kNone;
};

// `same` is shown too, by the equivalence test: the whole interval is within the threshold.
Decision Decide(const MeanChange& change, double adjusted_p, const DiffOptions& options) {
  if (std::isnan(adjusted_p)) return {};
  if (adjusted_p <= 1.0 - options.confidence) return {DirectionOf(change.relative)};
  const double limit = std::log1p(options.threshold);
  const double lower = std::log1p(change.lower);
  const double upper = std::log1p(change.upper);
  if (lower >= -limit && upper <= limit) return {DiffVerdict::kSame};
  const bool is_beyond = lower > limit || upper < -limit;
  return {DiffVerdict::kUnclear, is_beyond ? Undecided::kManyKernels : Undecided::kWideInterval};
}

// Sets the verdict of a kernel of both runs. A verdict about the mean comes first. Most launches
// have a verdict only if the mean changed in the same direction: a kernel whose mean is shorter is
// not reported as slower.
void SetVerdict(const DiffOptions& options, KernelDiff& kernel) {
  const Decision decision = Decide(kernel.change, kernel.adjusted_p, options);
  kernel.verdict = decision.verdict;
  kernel.undecided = decision.undecided;
  if (kernel.verdict == DiffVerdict::kSlower || kernel.verdict == DiffVerdict::kFaster) {
    kernel.basis = DiffBasis::kMean;
  } else if (ShowsShift(kernel, kernel.adjusted_shift_p, 1.0 - options.confidence)) {
    kernel.verdict = DirectionOf(kernel.shift.relative);
    kernel.basis = DiffBasis::kLaunches;
    kernel.undecided = Undecided::kNone;
  } else if (kernel.adjusted_shift_p <= 1.0 - options.confidence) {
    kernel.verdict = DiffVerdict::kUnclear;
    kernel.undecided = Undecided::kMixed;
  }
}

// Sets the p-values and the verdicts of the kernels of both runs and of the total.
void Judge(RunDiff& diff) {
  const AdjustedPs adjusted = AdjustPs(diff, diff.options.threshold);
  for (std::size_t i = 0; i < diff.kernels.size(); ++i) {
    KernelDiff& kernel = diff.kernels[i];
    if (kernel.verdict == DiffVerdict::kNew || kernel.verdict == DiffVerdict::kGone) continue;
    kernel.p = kernel.change.P(diff.options.threshold);
    kernel.adjusted_p = adjusted.kernels[i];
    kernel.adjusted_shift_p = adjusted.shifts[i];
    if (kernel.duration_a_ns == 0 && kernel.duration_b_ns == 0) continue;  // the same
    SetVerdict(diff.options, kernel);
  }
  diff.total.p = diff.total.change.P(diff.options.threshold);
  diff.total.adjusted_p = adjusted.total;
  const Decision decision = Decide(diff.total.change, diff.total.adjusted_p, diff.options);
  diff.total.verdict = decision.verdict;
  diff.total.undecided = decision.undecided;
}

const char* ReasonOf(const MeanChange& change, Undecided undecided) {
  return undecided != Undecided::kNone ? kUndecidedNames[static_cast<std::size_t>(undecided)]
                                       : kUntestedNames[static_cast<std::size_t>(change.untested)];
}

bool HasOrder(const ComparedRun& run) {
  return std::any_of(run.kernels.begin(), run.kernels.end(),
                     [](const ComparedKernel& kernel) { return !kernel.batches.empty(); });
}

// RunParts collects kernels of a run as the shapes of one kernel.
class RunParts {
 public:
  explicit RunParts(const ComparedRun& run) : has_order_(HasOrder(run)) {
    sum_.launches = run.launches;  // of the whole run, so that it shows which part is compared
    sum_.duration_ns = run.duration_ns;
  }

  // Returns whether the launches of the kernel have an order, if other kernels have an order.
  bool Accepts(const ComparedKernel& kernel) const {
    return !has_order_ || !kernel.batches.empty();
  }

  // Adds a kernel of both runs. `number` is the same in both.
  void Add(const ComparedKernel& kernel, std::size_t number, bool by_shape) {
    // Shapes are hashes. The odd multiplier spreads the kernels over all 64 bits.
    const auto shape_of = [&](std::uint64_t shape) {
      return (by_shape ? shape : 0) + (number + 1) * 0x9E3779B97F4A7C15u;
    };
    for (LaunchBatch batch : kernel.batches) {
      batch.shape = shape_of(batch.shape);
      sum_.batches.push_back(batch);
    }
    if (by_shape) {
      for (const auto& [shape, totals] : kernel.shapes) sum_.shapes[shape_of(shape)] = totals;
    } else {
      sum_.shapes[shape_of(0)] = {kernel.launches, kernel.duration_ns};
    }
    const auto launches = static_cast<double>(kernel.launches);
    rounding_ns_ += kernel.rounding_ns * launches;
    squares_ += kernel.stddev_ns * kernel.stddev_ns * launches;
  }

  ComparedKernel Kernel() && {
    const auto launches = static_cast<double>(sum_.launches);
    sum_.rounding_ns = rounding_ns_ / launches;
    sum_.stddev_ns = std::sqrt(squares_ / launches);
    std::stable_sort(sum_.batches.begin(), sum_.batches.end(),
                     [](const LaunchBatch& x, const LaunchBatch& y) { return x.slice < y.slice; });
    return std::move(sum_);
  }

 private:
  bool has_order_;
  ComparedKernel sum_;
  double rounding_ns_ = 0.0;
  double squares_ = 0.0;
};

// Compares the times of the runs.
MeanChange TotalChange(const ComparedRun& a, const ComparedRun& b, const NameMatch& match,
                       double confidence) {
  if (a.duration_ns == 0 || b.duration_ns == 0) return {.untested = Untested::kNoTime};
  RunParts of_a(a);
  RunParts of_b(b);
  for (std::size_t i = 0; i < a.kernels.size(); ++i) {
    if (match.partner_of_a[i] == kNoPartner) continue;
    const ComparedKernel& in_a = a.kernels[i];
    const ComparedKernel& in_b = b.kernels[match.partner_of_a[i]];
    if (!of_a.Accepts(in_a) || !of_b.Accepts(in_b)) continue;
    const bool by_shape = !in_a.shapes.empty() && !in_b.shapes.empty();
    of_a.Add(in_a, i, by_shape);
    of_b.Add(in_b, i, by_shape);
  }
  const double change =
      static_cast<double>(b.duration_ns) / static_cast<double>(a.duration_ns) - 1.0;
  return CompareTotals(std::move(of_a).Kernel(), std::move(of_b).Kernel(), change, confidence);
}

}  // namespace

bool ShowsShift(const KernelDiff& kernel, double adjusted_shift_p, double level) {
  return adjusted_shift_p <= level && kernel.shift.relative * kernel.change.relative >= 0.0;
}

const char* ReasonOf(const KernelDiff& kernel) {
  return ReasonOf(kernel.change, kernel.undecided);
}

const char* ReasonOf(const TotalDiff& total) {
  return ReasonOf(total.change, total.undecided);
}

AdjustedPs AdjustPs(const RunDiff& diff, double threshold) {
  const double level = 1.0 - diff.options.confidence;
  std::vector<TestP> means;
  std::vector<TestP> shifts;
  bool has_shifts = false;
  for (const KernelDiff& kernel : diff.kernels) {
    const MeanChange& change = kernel.change;
    means.push_back({change.P(threshold), change.test.MinP()});
    // Verdicts about launches are for kernels whose mean is tested.
    const double p = change.untested == Untested::kNone ? kernel.shift.P(threshold) : NAN;
    shifts.push_back({p});
    has_shifts = has_shifts || !std::isnan(p);
  }
  means.push_back({diff.total.change.P(threshold), diff.total.change.test.MinP()});
  std::vector<double> adjusted = Adjusted(means, level, has_shifts ? 1.0 - kShiftShare : 1.0);
  const double total = adjusted.back();
  adjusted.pop_back();
  return {std::move(adjusted), Adjusted(shifts, level, kShiftShare), total};
}

RunDiff DiffRuns(ComparedRun a, ComparedRun b, const DiffOptions& options) {
  RunDiff diff;
  diff.options = options;
  const NameMatch match = MatchNames(a, b);
  for (std::size_t i = 0; i < a.kernels.size(); ++i) {
    const std::size_t partner = match.partner_of_a[i];
    diff.kernels.push_back(
        DiffOf(&a.kernels[i], partner == kNoPartner ? nullptr : &b.kernels[partner], options));
  }
  for (std::size_t i = 0; i < b.kernels.size(); ++i) {
    if (match.partner_of_b[i] == kNoPartner) {
      diff.kernels.push_back(DiffOf(nullptr, &b.kernels[i], options));
    }
  }
  diff.total.change = TotalChange(a, b, match, options.confidence);
  Judge(diff);
  std::stable_sort(diff.kernels.begin(), diff.kernels.end(),
                   [](const KernelDiff& x, const KernelDiff& y) {
                     if (x.verdict != y.verdict) return x.verdict < y.verdict;
                     return std::fabs(x.difference_ns()) > std::fabs(y.difference_ns());
                   });
  std::size_t no_order = 0;
  std::size_t no_shapes = 0;
  for (const KernelDiff& kernel : diff.kernels) {
    diff.by_launches_ns += kernel.by_launches_ns;
    diff.by_shapes_ns += kernel.by_shapes_ns;
    diff.by_duration_ns += kernel.by_duration_ns;
    ++diff.counts[static_cast<std::size_t>(kernel.verdict)];
    no_order += kernel.change.untested == Untested::kNoOrder ? 1 : 0;
    no_shapes += kernel.change.untested == Untested::kNoShapes ? 1 : 0;
  }
  if (no_order != 0) {
    diff.notes.push_back(
        fmt::format("{} unclear (no order): a run has no order of launches, so the interval is too "
                    "narrow; compare sessions or profiles",
                    Plural(no_order, "kernel is", "kernels are")));
  }
  if (no_shapes != 0) {
    diff.notes.push_back(fmt::format(
        "{} unclear (no shapes): a run has no times by grid and block; {}",
        Plural(no_shapes, "kernel is", "kernels are"),
        a.is_profile && b.is_profile ? "use a profile format with grid and block"
                                     : "compare profiles, or sessions with --group-by launch"));
  }
  a.kernels.clear();
  b.kernels.clear();
  diff.a = std::move(a);
  diff.b = std::move(b);
  return diff;
}

}  // namespace stemtap::analysis
