// SPDX-License-Identifier: Apache-2.0
// stemtap report: writes a finished session as one HTML file.
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "analysis/comparison/run_diff.h"
#include "base/text.h"
#include "ui/cli/commands.h"
#include "ui/cli/output.h"
#include "ui/cli/report_file.h"
#include "ui/cli/run_comparison.h"
#include "ui/cli/session_path.h"
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

// Compares the session with the baseline like `stemtap diff BASELINE SESSION`.
Status AddBaseline(const ReportArguments& arguments, Report& report) {
  const analysis::RunDiff diff =
      STEMTAP_TRY(CompareRuns(arguments.baseline, arguments.session, analysis::DiffOptions()));
  STEMTAP_TRY(AddDiff(diff, report));
  PrintMessage(fmt::format("stemtap: compared with {}: {}\n", EscapeForTerminal(arguments.baseline),
                           analysis::DiffCounts(diff)));
  return Success{};
}

Status CheckBaseline(const ReportArguments& arguments) {
  std::error_code ignored;
  if (!fs::equivalent(arguments.baseline, arguments.session, ignored)) return Success{};
  return Error{fmt::format("{}: is the session itself; expected another run as the --baseline",
                           EscapeForTerminal(arguments.baseline)),
               2};
}

int RunReport(ReportArguments arguments) {
  if (arguments.output == "-" && arguments.json) {
    return Fail({"--json and the report both go to standard output; expected -o FILE", 2});
  }
  const Status page = CheckReportPage();
  if (!page.ok()) return Fail(page.error());
  if (arguments.session.empty()) {
    Result<std::string> newest = NewestSession(Newest::kEnded);
    if (!newest.ok()) return Fail(newest.error());
    arguments.session = std::move(newest).value();
  }
  std::error_code error;
  std::string output = arguments.output;
  if (output.empty()) {
    if (fs::is_regular_file(arguments.session, error)) {
      return Fail({fmt::format("{}: is a plan, not a session directory; expected -o FILE",
                               EscapeForTerminal(arguments.session)),
                   2});
    }
    output = (fs::path(arguments.session) / "report.html").string();
  }
  const Status use =
      CheckOutputs({output}, {arguments.session, arguments.evaluation, arguments.baseline});
  if (!use.ok()) return Fail(use.error());
  const Status baseline = CheckBaseline(arguments);
  if (!baseline.ok()) return Fail(baseline.error());
  Result<Report> report = LoadReport(arguments.session, arguments.evaluation);
  if (!report.ok()) return Fail(report.error());
  Warn(report.value().warnings);
  if (!arguments.baseline.empty()) {
    const Status added = AddBaseline(arguments, report.value());
    if (!added.ok()) return Fail(added.error());
  }
  const Result<std::optional<std::uint64_t>> written =
      WriteReportFile(report.value(), arguments.rates, output,
                      arguments.output.empty() ? ReportPlace::kSession : ReportPlace::kUserFile);
  if (!written.ok()) return Fail(written.error());
  if (!arguments.json) return 0;
  const std::optional<std::uint64_t> bytes = written.value();
  const MaskEvents mask = std::move(report.value().mask).value_or(MaskEvents());
  const nlohmann::ordered_json json = {
      {"session", arguments.session},
      {"output", output},
      {"bytes", bytes ? nlohmann::ordered_json(*bytes) : nlohmann::ordered_json()},
      {"samples", report.value().totals.samples},
      {"kernels", report.value().totals.kernels},
      {"decisions", mask.events.size()},
      {"decisions_left_out", mask.left_out}};
  return Print(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

CommandSpec ReportCommand() {
  CommandSpec command("report", "show a finished session as one HTML file for the browser");
  auto arguments = std::make_shared<ReportArguments>();
  command
      .Add("session", &arguments->session,
           "session directory or a file in it, or a plan.json alone (default: your newest finished "
           "session below the current directory)")
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
      .File(SessionPath);
  command.Add("--json", &arguments->json, "print the location and size of the report as JSON");
  AddSimulatorRates(command, &arguments->rates);
  command.run = [arguments](const CommandSpec&) { return RunReport(*arguments); };
  return command;
}

}  // namespace stemtap::ui
