// SPDX-License-Identifier: Apache-2.0
//
// RunDiff is the result of `stemtap diff`: what each kernel contributes to the difference of two
// runs, and whether its mean duration changed. See docs/formats/diff.md and docs/math/diff.md.
//
// UNITS: ns; changes of means are ratios.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/comparison/compared_run.h"
#include "analysis/comparison/launch_shift.h"
#include "analysis/comparison/mean_change.h"
#include "base/result.h"
#include "model/row_view.h"

namespace stemtap::analysis {

enum class DiffVerdict { kSlower, kFaster, kNew, kGone, kUnclear, kSame };
inline constexpr const char* kDiffVerdictNames[] = {"slower", "faster",  "new",
                                                    "gone",   "unclear", "same"};

// What a verdict `slower` or `faster` is about.
enum class DiffBasis {
  kNone,      // another verdict
  kMean,      // the mean duration
  kLaunches,  // most launches: all quartiles of the durations changed, and the mean is uncertain
};
inline constexpr const char* kDiffBasisNames[] = {"", "mean", "most launches"};

// Why a verdict is unclear although the change is tested.
enum class Undecided {
  kNone,
  kWideInterval,  // the interval contains changes within and beyond the threshold
  kManyKernels,   // all of the interval is beyond the threshold, but with so many kernels one
                  // interval is expected to be so by chance
  kMixed,         // most launches changed, and the mean in the other direction
};
inline constexpr const char* kUndecidedNames[] = {"", "wide interval", "many kernels", "mixed"};

struct KernelDiff {
  std::string name;  // in B, or in A if the kernel is gone
  std::uint64_t launches_a = 0;
  std::uint64_t launches_b = 0;
  std::uint64_t duration_a_ns = 0;
  std::uint64_t duration_b_ns = 0;
  // The difference of the durations is the sum of the three parts.
  double by_launches_ns = 0.0;
  double by_shapes_ns = 0.0;
  double by_duration_ns = 0.0;
  MeanChange change;
  double p = NAN;           // of a change of at most the threshold
  double adjusted_p = NAN;  // p, corrected for the number of tests
  LaunchShift shift;
  double adjusted_shift_p = NAN;
  DiffVerdict verdict = DiffVerdict::kSame;
  DiffBasis basis = DiffBasis::kNone;
  Undecided undecided = Undecided::kNone;

  double difference_ns() const { return by_launches_ns + by_shapes_ns + by_duration_ns; }
};

// TotalDiff is the change of the GPU time of the whole run.
struct TotalDiff {
  MeanChange change;
  double p = NAN;
  double adjusted_p = NAN;
  DiffVerdict verdict = DiffVerdict::kUnclear;  // slower, faster, unclear or same
  Undecided undecided = Undecided::kNone;
};

// Largest threshold: an increase to 11 times the duration.
inline constexpr double kMaxThreshold = 10.0;

struct DiffOptions {
  double confidence = 0.95;
  double threshold = 0.01;  // changes of a mean that are shown to be smaller are "same"
};

// kOk: all changes are shown to be acceptable. kFail: a change that is not acceptable is shown.
// kUnclear: neither.
enum class DiffOutcome { kOk, kFail, kUnclear };
inline constexpr const char* kDiffOutcomeNames[] = {"ok", "fail", "unclear"};

// DiffJudgment is the outcome of a policy.
struct DiffJudgment {
  DiffOutcome outcome = DiffOutcome::kOk;
  std::string reason = {};  // one line; names are escaped for the terminal
  std::string rules = {};   // as the user wrote them
};

struct RunDiff {
  ComparedRun a;  // without kernels
  ComparedRun b;
  DiffOptions options;
  TotalDiff total;
  // Slower, faster, new, gone, unclear, same; within each, the largest difference first.
  std::vector<KernelDiff> kernels;
  std::vector<std::string> notes;
  std::optional<DiffJudgment> judgment;  // if there is a policy

  double by_launches_ns = 0.0;
  double by_shapes_ns = 0.0;
  double by_duration_ns = 0.0;
  std::uint64_t counts[6] = {};  // kernels by verdict
};

// AdjustedPs are p-values of a table for one threshold, corrected for the number of tests. NaN: not
// tested.
struct AdjustedPs {
  std::vector<double> kernels;  // of the means, in the order of RunDiff::kernels
  std::vector<double> shifts;   // of the shifts of their launches
  double total = NAN;
};

// Tests all kernels and the total with a threshold.
AdjustedPs AdjustPs(const RunDiff& diff, double threshold);

// Returns whether most launches of the kernel are shown to have changed, given the corrected
// p-value of their shift, and the mean did not change in the other direction.
bool ShowsShift(const KernelDiff& kernel, double adjusted_shift_p, double level);

// Compares the runs. Kernels with different names are the same kernel if their spellings without
// return type, parameters and spaces are equal, or if one name is the bare function name of the
// other, and no other kernel of either run has that form.
RunDiff DiffRuns(ComparedRun a, ComparedRun b, const DiffOptions& options);

// kSlower and kFaster are about each kernel, kTotal about the GPU time of the whole run getting
// longer, kNew and kGone about kernels of one run only.
enum class DiffRuleKind { kSlower, kFaster, kTotal, kNew, kGone };

struct DiffRule {
  DiffRuleKind kind = DiffRuleKind::kSlower;
  double threshold = 0.0;  // largest relative change that is accepted; unused by kNew and kGone
  std::string text = {};   // as the user wrote it
};

// DiffPolicy is which changes a user accepts: the rules of `stemtap diff --fail-on`, for checks in
// continuous integration.
struct DiffPolicy {
  std::vector<DiffRule> rules;
  bool accepts_unclear = true;  // whether the outcome kUnclear passes
  std::string text = {};        // as the user wrote it
};

// Parses rules such as "slower:2%,total:1%,new,unclear", separated by commas. Rules without a
// percentage use `threshold`. Fails with a usage error if a rule is not known, or if there is no
// rule other than "unclear".
Result<DiffPolicy> ParseDiffPolicy(std::string_view text, double threshold);

// A kernel with a smaller share of the time in both runs does not make an outcome unclear: tables
// have many small kernels that were launched too rarely for a test.
inline constexpr double kMinUnclearShare = 0.01;

// Applies the rules in their order. Each rule has the confidence of the comparison.
DiffJudgment JudgeDiff(const RunDiff& diff, const DiffPolicy& policy);

// Returns why a verdict is unclear; empty if it is not.
const char* ReasonOf(const KernelDiff& kernel);
const char* ReasonOf(const TotalDiff& total);

// Returns "1 slower, 0 faster, ...", the number of kernels by verdict.
std::string DiffCounts(const RunDiff& diff);

// What kernels can be sorted by. The first is the order of RunDiff::kernels.
enum class DiffSort { kVerdict, kTime, kChange, kName };
inline constexpr const char* kDiffSortNames[] = {"verdict", "time", "change", "name"};

// DiffView is the kernels to print, and what they are sorted by.
struct DiffView {
  model::RowView kernels;
  DiffSort sorted_by = DiffSort::kVerdict;
};
DiffView ChooseDiffRows(const RunDiff& diff, const model::RowChoice& choice);

// Returns the table in lines of at most `width` columns (model/text_table.h), with escaped names.
std::string DiffText(const RunDiff& diff, const DiffView& view, std::size_t width);

// Returns one row per kernel.
std::string DiffCsv(const RunDiff& diff, const DiffView& view);

// Returns one JSON object and a newline. Values that are not known are null.
std::string DiffJson(const RunDiff& diff, const DiffView& view);
// Returns the object with all kernels.
std::string DiffJson(const RunDiff& diff);

}  // namespace stemtap::analysis
