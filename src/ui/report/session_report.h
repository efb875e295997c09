// SPDX-License-Identifier: Apache-2.0
//
// A report is one HTML file that shows a finished session: the page (ui/report/page.h) with what the session
// left in it. docs/formats/report.md has what that is. Texts are put in as they stand in the files, so that
// no figure is rounded on the way; each is looked through first.
//
// ERRORS: which file, where, what was expected. Memory: that of plan.json and of what is kept of the mask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_sink.h"
#include "base/result.h"
#include "model/plan.h"
#include "ui/report/mask_events.h"

namespace stemtap {

// Any part that is longer makes a page that no browser opens: theirs is the longest text at 512 MiB.
inline constexpr std::size_t kMostPartBytes = std::size_t{256} << 20;

struct Report {
  std::string folder;     // what the session is called
  std::string plan_file;  // the plan, from the directory that holds the session or the plan alone
  std::map<std::string, std::string> brief_names;  // of the plan's mangled ones
  PlanTotals totals;
  // JSON texts; empty: there is none.
  std::string plan;
  std::string session;
  std::string overview;
  std::string evaluation;
  std::optional<MaskEvents> mask;

  std::vector<std::string> warnings;
};

// What `session`, the directory of a finished session or a plan.json alone, and `evaluation`, what
// `stemtap evaluate --json` printed (empty: none), hold.
Result<Report> LoadReport(const std::string& session, const std::string& evaluation);

// Writes `page` with `report` in it; `sink` is not finished. REQUIRES: `page` holds kDataPlaceholder.
Status WriteReport(const Report& report, std::uint64_t made_unix_ms, std::string_view page,
                   ByteSink& sink);

}  // namespace stemtap
