// SPDX-License-Identifier: Apache-2.0
// stemtap diff: compares the kernels of two runs.
#include <memory>
#include <string>

#include "analysis/comparison/run_diff.h"
#include "ui/cli/commands.h"
#include "ui/cli/output.h"
#include "ui/cli/run_comparison.h"
#include "ui/cli/session_path.h"

namespace stemtap::ui {
namespace {

struct DiffArguments {
  std::string a;
  std::string b;
  analysis::DiffOptions options;
  bool csv = false;
  bool json = false;
  bool exit_code = false;
};

int RunDiffCommand(const DiffArguments& arguments) {
  const Result<analysis::RunDiff> compared =
      CompareRuns(arguments.a, arguments.b, arguments.options);
  if (!compared.ok()) return Fail(compared.error());
  const analysis::RunDiff& diff = compared.value();
  const int printed = arguments.json  ? Print(analysis::DiffJson(diff))
                      : arguments.csv ? Print(analysis::DiffCsv(diff))
                                      : PrintText(analysis::DiffText(diff));
  if (printed != 0) return printed;
  const bool is_slower = diff.counts[static_cast<std::size_t>(analysis::DiffVerdict::kSlower)] != 0;
  return arguments.exit_code && is_slower ? 1 : 0;
}

}  // namespace

CommandSpec DiffCommand() {
  CommandSpec command("diff", "compare two runs: what got slower, faster, new or gone");
  auto arguments = std::make_shared<DiffArguments>();
  command.Add("a", &arguments->a, "session directory, plan.json, or recorded run")
      .File(SessionPath)
      .Required();
  command
      .Add("b", &arguments->b,
           "the run to compare with it; 'stemtap report B --baseline A' shows the same as a page")
      .File(SessionPath)
      .Required();
  command
      .Add("--confidence", &arguments->options.confidence,
           "probability that no verdict of the table is wrong, and of each interval")
      .In(0.5, 0.999999);
  command
      .Add("--threshold", &arguments->options.threshold,
           "relative change of a mean duration that counts; smaller changes are 'same'")
      .In(0, 10);
  command.Add("--csv", &arguments->csv, "print the kernels as CSV");
  command.Add("--json", &arguments->json, "print the comparison as JSON").excludes = "--csv";
  command.Add("--exit-code", &arguments->exit_code, "exit with 1 if a kernel is slower").Advanced();
  command.run = [arguments](const CommandSpec&) { return RunDiffCommand(*arguments); };
  return command;
}

}  // namespace stemtap::ui
