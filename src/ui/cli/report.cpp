// SPDX-License-Identifier: Apache-2.0
// stemtap report: writes a finished session, a plan or a recorded run as one HTML file.
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>

#include "analysis/comparison/run_diff.h"
#include "base/file.h"
#include "base/quoting.h"
#include "base/text.h"
#include "model/json_text.h"
#include "model/session_files.h"
#include "ui/cli/command_table.h"
#include "ui/cli/inputs.h"
#include "ui/cli/output.h"
#include "ui/cli/report_file.h"
#include "ui/report/session_report.h"
#include "ui/top/session_finder.h"

namespace stemtap::ui {
namespace {

namespace fs = std::filesystem;

struct ReportArguments {
  std::string session;
  std::string output;
  std::string evaluation;
  std::string baseline;
  model::SimulatorRates rates;
  bool json = false;
};

Status CheckBaseline(const ReportArguments& arguments) {
  std::error_code ignored;
  if (!fs::equivalent(arguments.baseline, arguments.session, ignored)) return Success{};
  return Error{fmt::format("{}: is the session itself; expected another run as the --baseline",
                           EscapeForTerminal(arguments.baseline)),
               2};
}

// Compares the session with the baseline like `stemtap diff BASELINE SESSION`.
Status AddBaseline(const ReportArguments& arguments, Report& report) {
  const analysis::RunDiff diff =
      STEMTAP_TRY(CompareRuns(arguments.baseline, arguments.session, analysis::DiffOptions()));
  STEMTAP_TRY(AddDiff(diff, report));
  PrintMessage(fmt::format("stemtap: compared with {}: {}\n",
                           model::NameOfSource(arguments.baseline), analysis::DiffCounts(diff)));
  return Success{};
}

// Returns where the report of `session` is written by default.
Result<std::string> DefaultOutput(const std::string& session) {
  std::error_code ignored;
  if (!fs::is_regular_file(session, ignored))
    return (fs::path(session) / model::kReportFileName).string();
  return Error{
      fmt::format("{}: is a file; expected a session directory, or a plan.json or recorded run "
                  "with -o FILE",
                  EscapeForTerminal(session)),
      2};
}

// A recorded run is read several times.
Status CheckReadAgain(const std::string& session) {
  if (CanReadAgain({session}) || fs::is_directory(session)) return Success{};
  return Error{fmt::format("{}: can be read only once; expected a session directory or a file",
                           EscapeForTerminal(session)),
               2};
}

// Prints what the report of a plan lacks, compared with one of a session, and how to get it.
void NoteWhatLacks(const std::string& session, const Report& report) {
  std::error_code ignored;
  if (fs::is_directory(session, ignored)) return;
  std::string profiles;
  for (const std::string& path : RunPaths(report.source)) {
    profiles += Exists(path) ? " " + ShellPath(path) : " PROFILE";
  }
  PrintMessage(fmt::format(
      "stemtap: the report of a plan has no timeline, activity, histograms or decisions; a session "
      "of a recorded run has them: stemtap replay{}\n",
      profiles));
}

// Writes the report. Returns what --json prints.
Result<std::string> MakeReport(ReportArguments arguments) {
  if (arguments.output == "-" && arguments.json) {
    return Error{"--json and the report both go to standard output; expected -o FILE", 2};
  }
  STEMTAP_TRY(CheckReportPage());
  if (arguments.session.empty()) arguments.session = STEMTAP_TRY(NewestSession(Newest::kEnded));
  ReportPlace place = ReportPlace::kUserFile;
  if (arguments.output.empty()) {
    arguments.output = STEMTAP_TRY(DefaultOutput(arguments.session));
    place = ReportPlace::kSession;
  }
  arguments.session = FinishedPath(arguments.session);
  STEMTAP_TRY(CheckOutputs({arguments.output},
                           {arguments.session, arguments.evaluation, arguments.baseline}));
  STEMTAP_TRY(CheckBaseline(arguments));
  STEMTAP_TRY(CheckReadAgain(arguments.session));
  Report report = STEMTAP_TRY(ReportOfRun(arguments.session));
  if (!arguments.evaluation.empty()) STEMTAP_TRY(AddEvaluation(arguments.evaluation, report));
  Warn(report.warnings);
  NoteWhatLacks(arguments.session, report);
  if (!arguments.baseline.empty()) STEMTAP_TRY(AddBaseline(arguments, report));
  const std::optional<std::uint64_t> bytes =
      STEMTAP_TRY(WriteReportFile(report, arguments.rates, arguments.output, place));
  const nlohmann::ordered_json json = {
      {"session", ShownPath(arguments.session)},
      {"output", arguments.output},
      {"bytes", bytes ? nlohmann::ordered_json(*bytes) : nlohmann::ordered_json()},
      {"samples", report.totals.samples},
      {"kernels", report.totals.kernels},
      {"decisions", report.mask ? report.mask->events.size() : 0},
      {"decisions_left_out", report.mask ? report.mask->left_out : 0}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<int> RunReport(const ReportArguments& arguments) {
  const std::string json = STEMTAP_TRY(MakeReport(arguments));
  return arguments.json ? PrintJson(json) : 0;
}

}  // namespace

CommandSpec ReportCommand() {
  CommandSpec command("report", "show a finished session as one HTML file for the browser");
  auto arguments = std::make_shared<ReportArguments>();
  command
      .Add("session", &arguments->session,
           "session directory or a file in it, a plan.json alone, or a recorded run (default: your "
           "newest finished session below the current directory)")
      .File(SessionPath);
  command
      .Add("-o,--output", &arguments->output,
           "file to write (default: report.html in the session directory); '-' is standard output")
      .File();
  command
      .Add("--evaluation", &arguments->evaluation,
           "output of 'stemtap evaluate --json', which the report also shows")
      .File();
  command
      .Add("--baseline", &arguments->baseline,
           "earlier session, plan.json or recorded run; the report also shows what changed since, "
           "like 'stemtap diff'")
      .File(FinishedPath);
  command.Add("--json", &arguments->json, "print the location and size of the report as JSON");
  AddSimulatorRates(command, &arguments->rates);
  command.run = [arguments](const CommandSpec&) { return RunReport(*arguments); };
  return command;
}

}  // namespace stemtap::ui
