// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/comparison/run_diff.h"
#include "base/decimal.h"
#include "base/text.h"
#include "model/brief_name.h"

namespace stemtap::analysis {
namespace {

struct RuleName {
  const char* name;
  DiffRuleKind kind;
  bool has_threshold;
};
constexpr RuleName kRuleNames[] = {{"slower", DiffRuleKind::kSlower, true},
                                   {"faster", DiffRuleKind::kFaster, true},
                                   {"total", DiffRuleKind::kTotal, true},
                                   {"new", DiffRuleKind::kNew, false},
                                   {"gone", DiffRuleKind::kGone, false}};
constexpr std::string_view kUnclearRule = "unclear";

Error UnknownRule(std::string_view text) {
  return {
      fmt::format("--fail-on: '{}' is not a rule; expected slower, faster or total, each with an "
                  "optional share such as slower:2% or slower:0.02, or new, gone or unclear",
                  text),
      2};
}

// Parses a threshold such as "2%" or "0.02". A number of 1 or more needs a percent sign, because it
// may mean 2% or 200%.
std::optional<double> ParseThreshold(std::string_view text) {
  const std::optional<Share> share = ParseShare(text);
  if (!share || (!share->is_percent && share->value >= 1.0)) return std::nullopt;
  if (!(share->value >= 0.0 && share->value <= kMaxThreshold)) return std::nullopt;
  return share->value;
}

Result<DiffRule> ParseRule(std::string_view text, double threshold) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto* const known = std::find_if(std::begin(kRuleNames), std::end(kRuleNames),
                                         [&](const RuleName& rule) { return rule.name == name; });
  if (known == std::end(kRuleNames)) return UnknownRule(text);
  DiffRule rule = {known->kind, threshold, std::string(text)};
  if (colon == std::string_view::npos) return rule;
  const std::optional<double> share = ParseThreshold(text.substr(colon + 1));
  if (!share || !known->has_threshold) return UnknownRule(text);
  rule.threshold = *share;
  return rule;
}

std::string ShownPercent(double change) {
  return fmt::format("{:+.2f} %", 100.0 * change);
}

// Returns the change with its interval, as far as they are known.
std::string ShownChange(const MeanChange& change) {
  if (std::isnan(change.relative)) return "";
  const std::string value = " " + ShownPercent(change.relative);
  if (std::isnan(change.lower)) return value;
  return fmt::format("{} ({} to {})", value, ShownPercent(change.lower),
                     ShownPercent(change.upper));
}

// Returns what the rule found of a kernel: the change of its mean, or of most launches.
std::string ShownChange(const KernelDiff& kernel, bool is_of_launches) {
  if (!is_of_launches) return ShownChange(kernel.change);
  return fmt::format(" most launches {} ({} to {})", ShownPercent(kernel.shift.relative),
                     ShownPercent(kernel.shift.lower), ShownPercent(kernel.shift.upper));
}

std::string ShownReason(const MeanChange& change) {
  if (change.untested == Untested::kNone) return "";
  return fmt::format(" [{}]", kUntestedNames[static_cast<std::size_t>(change.untested)]);
}

// Sign of the changes that a rule does not accept.
double SignOf(DiffRuleKind kind) {
  return kind == DiffRuleKind::kFaster ? -1.0 : 1.0;
}

// Returns whether the change is shown to be beyond the threshold of the rule.
bool IsBeyond(double change, const DiffRule& rule, double adjusted_p, double level) {
  return adjusted_p <= level && change * SignOf(rule.kind) > 0.0;
}

// Returns whether the change may be beyond the threshold of the rule.
bool MayBeBeyond(const MeanChange& change, const DiffRule& rule) {
  if (change.untested != Untested::kNone) return true;
  const double limit = SignOf(rule.kind) * std::log1p(rule.threshold);
  return rule.kind == DiffRuleKind::kFaster ? std::log1p(change.lower) < limit
                                            : std::log1p(change.upper) > limit;
}

// Returns whether the kernel has enough time to make an outcome unclear.
bool IsLarge(const KernelDiff& kernel, const RunDiff& diff) {
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(whole, 1));
  };
  return share(kernel.duration_a_ns, diff.a.duration_ns) >= kMinUnclearShare ||
         share(kernel.duration_b_ns, diff.b.duration_ns) >= kMinUnclearShare;
}

// KernelList is the kernels to which a rule applies.
struct KernelList {
  std::size_t count = 0;
  const KernelDiff* largest = nullptr;  // by the difference of its times
  bool is_of_launches = false;          // of `largest`: most launches changed, not the mean

  void Add(const KernelDiff& kernel, bool of_launches = false) {
    ++count;
    if (largest == nullptr ||
        std::fabs(kernel.difference_ns()) > std::fabs(largest->difference_ns())) {
      largest = &kernel;
      is_of_launches = of_launches;
    }
  }

  // Returns for example "2 kernels are slower, first gemm +5.21 % (+4.64 % to +5.78 %)".
  // `largest` is in `diff`.
  std::string Shown(const RunDiff& diff, const char* one, const char* many) const {
    constexpr std::size_t kMaxName = 80;
    std::vector<std::string_view> names;
    for (const KernelDiff& kernel : diff.kernels) names.push_back(kernel.name);
    const std::string brief =
        model::BriefNames(names)[static_cast<std::size_t>(largest - diff.kernels.data())];
    return fmt::format("{}{}{}{}{}", Plural(count, one, many), count == 1 ? ": " : ", first ",
                       ShortText(brief, kMaxName), ShownChange(*largest, is_of_launches),
                       ShownReason(largest->change));
  }
};

DiffJudgment Judged(DiffOutcome outcome, const DiffRule& rule, const std::string& why) {
  return {outcome, fmt::format("{}: {}", rule.text, why)};
}

DiffJudgment JudgeKernels(const RunDiff& diff, const DiffRule& rule) {
  const AdjustedPs adjusted = AdjustPs(diff, rule.threshold);
  const double level = 1.0 - diff.options.confidence;
  KernelList beyond;
  KernelList unclear;
  for (std::size_t i = 0; i < diff.kernels.size(); ++i) {
    const KernelDiff& kernel = diff.kernels[i];
    if (kernel.verdict == DiffVerdict::kNew || kernel.verdict == DiffVerdict::kGone) continue;
    // As for verdicts, a change of the mean comes first.
    const bool has_mean_verdict = adjusted.kernels[i] <= level;
    if (IsBeyond(kernel.change.relative, rule, adjusted.kernels[i], level)) {
      beyond.Add(kernel);
    } else if (!has_mean_verdict && ShowsShift(kernel, adjusted.shifts[i], level) &&
               IsBeyond(kernel.shift.relative, rule, adjusted.shifts[i], level)) {
      beyond.Add(kernel, true);
    } else if (IsLarge(kernel, diff) && MayBeBeyond(kernel.change, rule)) {
      unclear.Add(kernel);
    }
  }
  const bool is_faster = rule.kind == DiffRuleKind::kFaster;
  if (beyond.count != 0) {
    return Judged(DiffOutcome::kFail, rule,
                  is_faster ? beyond.Shown(diff, "kernel is faster", "kernels are faster")
                            : beyond.Shown(diff, "kernel is slower", "kernels are slower"));
  }
  if (unclear.count == 0) return {};
  return Judged(DiffOutcome::kUnclear, rule,
                is_faster ? unclear.Shown(diff, "kernel may be faster", "kernels may be faster")
                          : unclear.Shown(diff, "kernel may be slower", "kernels may be slower"));
}

DiffJudgment JudgeTotal(const RunDiff& diff, const DiffRule& rule) {
  const MeanChange& change = diff.total.change;
  const double adjusted_p = AdjustPs(diff, rule.threshold).total;
  if (IsBeyond(change.relative, rule, adjusted_p, 1.0 - diff.options.confidence)) {
    return Judged(DiffOutcome::kFail, rule, "the run is slower:" + ShownChange(change));
  }
  if (!MayBeBeyond(change, rule)) return {};
  return Judged(DiffOutcome::kUnclear, rule,
                "the run may be slower:" + ShownChange(change) + ShownReason(change));
}

DiffJudgment JudgePresence(const RunDiff& diff, const DiffRule& rule) {
  const bool is_new = rule.kind == DiffRuleKind::kNew;
  KernelList found;
  for (const KernelDiff& kernel : diff.kernels) {
    if (kernel.verdict == (is_new ? DiffVerdict::kNew : DiffVerdict::kGone)) found.Add(kernel);
  }
  if (found.count == 0) return {};
  return Judged(DiffOutcome::kFail, rule,
                is_new ? found.Shown(diff, "kernel is new", "kernels are new")
                       : found.Shown(diff, "kernel is gone", "kernels are gone"));
}

DiffJudgment JudgeRule(const RunDiff& diff, const DiffRule& rule) {
  switch (rule.kind) {
    case DiffRuleKind::kSlower:
    case DiffRuleKind::kFaster:
      return JudgeKernels(diff, rule);
    case DiffRuleKind::kTotal:
      return JudgeTotal(diff, rule);
    case DiffRuleKind::kNew:
    case DiffRuleKind::kGone:
      return JudgePresence(diff, rule);
  }
  return {};
}

// Returns the first rule that fails, else the first that is unclear.
DiffJudgment JudgeRules(const RunDiff& diff, const DiffPolicy& policy) {
  DiffJudgment judgment;
  for (const DiffRule& rule : policy.rules) {
    DiffJudgment of_rule = JudgeRule(diff, rule);
    if (of_rule.outcome == DiffOutcome::kFail) return of_rule;
    if (of_rule.outcome == DiffOutcome::kUnclear && judgment.outcome == DiffOutcome::kOk) {
      judgment = std::move(of_rule);
    }
  }
  if (judgment.outcome == DiffOutcome::kOk) {
    judgment.reason = "no change that the rules do not accept";
  }
  return judgment;
}

}  // namespace

Result<DiffPolicy> ParseDiffPolicy(std::string_view text, double threshold) {
  DiffPolicy policy;
  policy.text = text;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view rule = Trimmed(text.substr(begin, comma - begin));
    begin = comma + 1;
    if (rule == kUnclearRule) {
      policy.accepts_unclear = false;
    } else {
      policy.rules.push_back(STEMTAP_TRY(ParseRule(rule, threshold)));
    }
  }
  if (policy.rules.empty()) {
    return Error{"--fail-on: only 'unclear'; expected another rule, such as slower:2%,unclear", 2};
  }
  return policy;
}

DiffJudgment JudgeDiff(const RunDiff& diff, const DiffPolicy& policy) {
  DiffJudgment judgment = JudgeRules(diff, policy);
  judgment.rules = policy.text;
  return judgment;
}

}  // namespace stemtap::analysis
