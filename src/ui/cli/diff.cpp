// SPDX-License-Identifier: Apache-2.0
// stemtap diff: compares the kernels of two runs.
#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "analysis/comparison/run_diff.h"
#include "model/json_text.h"
#include "model/plan.h"
#include "ui/cli/command_table.h"
#include "ui/cli/inputs.h"
#include "ui/cli/output.h"
#include "ui/cli/report_file.h"
#include "ui/cli/table_flags.h"
#include "ui/report/session_report.h"

namespace stemtap::ui {
namespace {

// Exit code if a rule of --fail-on fails.
constexpr int kPolicyFailed = 4;

struct DiffArguments {
  std::string a;
  std::string b;
  analysis::DiffOptions options;
  TableFlags table;
  std::string html;
  std::string fail_on;
  bool csv = false;
  bool json = false;
  bool exit_code = false;
};

// Checks what --html requires.
Status CheckHtml(const DiffArguments& arguments) {
  if (arguments.html == "-") {
    return Error{"--html: the comparison goes to standard output; expected a file", 2};
  }
  STEMTAP_TRY(CheckReportPage());
  const bool is_profile = STEMTAP_TRY(KindOfInput(arguments.b)) == RunInput::kProfile;
  if (is_profile && !CanReadAgain({arguments.b})) {
    return Error{
        fmt::format("{}: can be read only once, but --html reads it again; expected a file",
                    model::NameOfSource(arguments.b)),
        2};
  }
  return CheckOutputs({arguments.html}, {arguments.a, arguments.b});
}

Status WriteHtml(const analysis::RunDiff& diff, const DiffArguments& arguments) {
  Report report = STEMTAP_TRY(ReportOfRun(arguments.b));
  // The comparison printed the warnings of the reader of a profile.
  if (STEMTAP_TRY(KindOfInput(arguments.b)) != RunInput::kProfile) Warn(report.warnings);
  STEMTAP_TRY(AddDiff(diff, report));
  STEMTAP_TRY(
      WriteReportFile(report, model::SimulatorRates(), arguments.html, ReportPlace::kUserFile));
  return Success{};
}

// Compares the runs, judges them if there is a policy, and writes the page if there is an --html.
Result<analysis::RunDiff> Compare(const DiffArguments& arguments,
                                  const std::optional<analysis::DiffPolicy>& policy) {
  const bool has_html = !arguments.html.empty();
  if (has_html) STEMTAP_TRY(CheckHtml(arguments));
  analysis::RunDiff diff = STEMTAP_TRY(CompareRuns(arguments.a, arguments.b, arguments.options));
  if (policy) diff.judgment = analysis::JudgeDiff(diff, *policy);
  if (has_html) STEMTAP_TRY(WriteHtml(diff, arguments));
  return diff;
}

// Returns the policy of the command line, if there is one. --exit-code is the policy "slower" with
// another exit code.
Result<std::optional<analysis::DiffPolicy>> PolicyOf(const DiffArguments& arguments) {
  if (arguments.fail_on.empty() && !arguments.exit_code) return {std::nullopt};
  const std::string rules = arguments.fail_on.empty() ? "slower" : arguments.fail_on;
  return {STEMTAP_TRY(analysis::ParseDiffPolicy(rules, arguments.options.threshold))};
}

// Prints the outcome of the policy, and returns the exit code for it.
int ExitCodeOf(const analysis::DiffJudgment& judgment, const analysis::DiffPolicy& policy,
               const DiffArguments& arguments) {
  PrintMessage(fmt::format("{}: {}\n",
                           analysis::kDiffOutcomeNames[static_cast<std::size_t>(judgment.outcome)],
                           judgment.reason));
  const bool passes =
      judgment.outcome == analysis::DiffOutcome::kOk ||
      (judgment.outcome == analysis::DiffOutcome::kUnclear && policy.accepts_unclear);
  if (passes) return 0;
  return arguments.fail_on.empty() ? 1 : kPolicyFailed;
}

Result<int> RunDiffCommand(const DiffArguments& arguments) {
  const std::optional<analysis::DiffPolicy> policy = STEMTAP_TRY(PolicyOf(arguments));
  const analysis::RunDiff diff = STEMTAP_TRY(Compare(arguments, policy));
  const analysis::DiffView view = analysis::ChooseDiffRows(diff, arguments.table.Choice());
  const int printed = arguments.json  ? PrintJson(analysis::DiffJson(diff, view))
                      : arguments.csv ? Print(analysis::DiffCsv(diff, view))
                                      : PrintText(analysis::DiffText(diff, view, OutputWidth()));
  if (printed != 0 || !diff.judgment) return printed;
  return ExitCodeOf(*diff.judgment, *policy, arguments);
}

}  // namespace

CommandSpec DiffCommand() {
  CommandSpec command("diff", "compare two runs: what got slower, faster, new or gone");
  auto arguments = std::make_shared<DiffArguments>();
  command.Add("a", &arguments->a, "session directory, plan.json, or recorded run")
      .File(FinishedPath)
      .Required();
  command.Add("b", &arguments->b, "the run to compare with it").File(FinishedPath).Required();
  command
      .Add("--confidence", &arguments->options.confidence,
           "probability that no verdict of the table is wrong, and that an interval contains the "
           "change")
      .Share(0.5, 0.999999);
  command
      .Add("--threshold", &arguments->options.threshold,
           "relative change of a mean duration that counts; 'same' is a change that is shown to be "
           "smaller")
      .Share(0, analysis::kMaxThreshold);
  arguments->table.AddTo(
      command, {std::begin(analysis::kDiffSortNames), std::end(analysis::kDiffSortNames)});
  command.Add("--csv", &arguments->csv, "print the kernels as CSV");
  command.Add("--json", &arguments->json, "print the comparison as JSON").excludes = "--csv";
  command
      .Add("--html", &arguments->html,
           "also write a page to this file: the report of B with the comparison")
      .File();
  command
      .Add("--fail-on", &arguments->fail_on,
           "exit with 4 and one line why if a rule fails; rules are separated by commas: slower, "
           "faster or total, each with an optional percentage (slower:2%), new, gone, and unclear, "
           "which also fails if the other rules can be neither met nor failed")
      .Type("POLICY");
  command.Add("--exit-code", &arguments->exit_code, "exit with 1 if a kernel is slower").Advanced();
  command.run = [arguments](const CommandSpec&) { return RunDiffCommand(*arguments); };
  return command;
}

}  // namespace stemtap::ui
