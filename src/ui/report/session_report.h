// SPDX-License-Identifier: Apache-2.0
//
// A report is one HTML file that shows a finished session, or a recorded run with its plan: the
// page (ui/report/page.h) with the session's files and the comparison with a baseline embedded
// (docs/formats/report.md). JSON texts are checked and then embedded unchanged, so no figure is
// rounded on the way.
//
// ERRORS: each names the file, the position and what was expected. Memory: the size of plan.json
// plus the mask events that are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/comparison/run_diff.h"
#include "base/byte_sink.h"
#include "base/result.h"
#include "model/kernel_category.h"
#include "model/plan.h"
#include "ui/report/mask_events.h"

namespace stemtap::ui {

// Browsers cannot open a page with a longer part: their maximum string length is 512 MiB.
inline constexpr std::size_t kMaxPartBytes = std::size_t{256} << 20;

struct Report {
  std::string name;       // of the session directory or the profile, for display
  std::string plan_file;  // "run/plan.json" of a session in run/, or the plan's file name; of a
                          // profile, the name under which the page saves the plan
  std::string plan_path;     // absolute; empty for a profile
  std::string profile_path;  // absolute; empty unless the report is of a profile
  std::string source;        // Plan::source of a recorded run; empty for a live session
  // Absolute paths of the files of the recorded run, if its page cannot find them by the source of
  // the plan.
  std::vector<std::string> profiles;
  std::set<std::string> names;  // of kernels of the plan, the gaps and the diff
  std::map<std::string, std::string> brief_names;  // of `names`, if different; all are distinct
  std::vector<model::KernelCategory> categories;   // of the kernels of the plan
  std::string spread;                              // model::SampleSpread
  std::string cost;                                // model::CostText; empty if there are no samples
  model::PlanTotals totals;
  // JSON texts; empty if there is none.
  std::string plan;
  std::string session;
  std::string overview;
  std::string evaluation;
  std::string diff;   // of a baseline (A) and this run (B)
  std::string ranks;  // of a job, with which of them are slow
  std::optional<MaskEvents> mask;

  std::vector<std::string> warnings;
};

// Returns the absolute path, for commands that work in any directory.
std::string AbsolutePath(const std::string& path);

// Loads `session`, the directory of a finished session or a plan.json, and `evaluation`, the output
// of `stemtap evaluate --json` (empty if there is none).
Result<Report> LoadReport(const std::string& session, const std::string& evaluation);

// Adds the output of `stemtap evaluate --json`.
Status AddEvaluation(const std::string& evaluation, Report& report);

// Returns the report of the recorded run `profile`, which has no session, with a plan that was made
// for it. Fails if the plan has more than kMaxPartBytes.
Result<Report> ReportOfPlan(const model::Plan& plan, const std::string& profile);

// Adds what `stemtap diff --json` prints about a baseline and this run. Fails if that has more than
// kMaxPartBytes.
Status AddDiff(const analysis::RunDiff& diff, Report& report);

// Writes `page` with `report` in it; does not finish `sink`. REQUIRES: `page` contains
// kDataPlaceholder.
Status WriteReport(const Report& report, std::uint64_t made_unix_ms, std::string_view page,
                   ByteSink& sink);

}  // namespace stemtap::ui
