// SPDX-License-Identifier: Apache-2.0
//
// DiffPolicy is which changes a user accepts: the rules of `stemtap diff --fail-on`, for checks in
// continuous integration. See docs/formats/diff.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/comparison/run_diff.h"
#include "base/result.h"

namespace stemtap::analysis {

// kSlower and kFaster are about each kernel, kTotal about the GPU time of the whole run getting
// longer, kNew and kGone about kernels of one run only.
enum class DiffRuleKind { kSlower, kFaster, kTotal, kNew, kGone };

struct DiffRule {
  DiffRuleKind kind = DiffRuleKind::kSlower;
  double threshold = 0.0;  // largest relative change that is accepted; unused by kNew and kGone
  std::string text = {};   // as the user wrote it
};

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

}  // namespace stemtap::analysis
