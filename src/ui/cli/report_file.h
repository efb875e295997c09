// SPDX-License-Identifier: Apache-2.0
//
// Writes a report to the file that a command line names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/plan_cost.h"
#include "ui/report/session_report.h"

namespace stemtap::ui {

// Fails if this program was built without the page of reports.
Status CheckReportPage();

enum class ReportPlace {
  kSession,   // in the session directory: private to its owner, like the other files there
  kUserFile,  // where the user asked for it
};

// Writes `report` to `path`; "-" is standard output. Sets `report.cost` at `rates` if there are
// samples. Prints what the file contains on stderr. Returns the size in bytes, or nullopt if `path`
// is not a regular file. REQUIRES: CheckReportPage() succeeds.
Result<std::optional<std::uint64_t>> WriteReportFile(Report& report,
                                                     const model::SimulatorRates& rates,
                                                     const std::string& path, ReportPlace place);

}  // namespace stemtap::ui
