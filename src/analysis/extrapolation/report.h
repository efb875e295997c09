// SPDX-License-Identifier: Apache-2.0
//
// The output of `stemtap extrapolate`: a table for people, JSON and CSV for programs. See
// docs/formats/results.md.
#pragma once

#include <string>

#include "analysis/extrapolation/extrapolate.h"
#include "analysis/extrapolation/match.h"
#include "formats/results/kernel_results.h"
#include "model/plan.h"

namespace stemtap::analysis {

struct ExtrapolationReport {
  const model::Plan& plan;
  const formats::KernelResults& results;
  const Match& match;
  const Extrapolation& extrapolation;
  double confidence = 0.95;
  GroupBy by = GroupBy::kNone;
};

// Returns the table. Names are escaped for the terminal.
std::string ReportText(const ExtrapolationReport& report);

// Returns one JSON object and a newline. Numbers without a value are null.
std::string ReportJson(const ExtrapolationReport& report);

// Returns one row per metric of the run, and of each kernel or range. Numbers without a value are
// empty.
std::string ReportCsv(const ExtrapolationReport& report);

// What the user can do next.
struct NextStep {
  std::string text;      // one line
  bool tops_up = false;  // more samples are to be added with `stemtap plan --top-up`
};
NextStep NextStepOf(const ExtrapolationReport& report);

// Returns what a reader needs to know before trusting the intervals, one line each.
std::vector<std::string> Caveats(const ExtrapolationReport& report);

}  // namespace stemtap::analysis
