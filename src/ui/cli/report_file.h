// SPDX-License-Identifier: Apache-2.0
//
// Makes the report of a run that a command line names, and writes it to a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/plan.h"
#include "ui/report/session_report.h"

namespace stemtap::ui {

// Fails if this program was built without the page of reports.
Status CheckReportPage();

// Prints that the report of the session in `directory`, or the report of the file `plan`, is the
// next command, unless this program was built without the page of reports.
void PrintNextReport(const std::string& directory);
void PrintNextReportOf(const std::string& plan);

// Returns the report of a session, a plan.json, or a recorded profile, with the warnings of reads.
// The plan of a profile is the one that `stemtap plan` makes by default.
Result<Report> ReportOfRun(const std::string& path);

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
