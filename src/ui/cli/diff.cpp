// SPDX-License-Identifier: Apache-2.0
// stemtap diff: compares the kernels of two runs.
#include <memory>
#include <string>
#include <utility>

#include "analysis/comparison/compared_run.h"
#include "analysis/comparison/run_diff.h"
#include "ui/cli/commands.h"
#include "ui/cli/output.h"
#include "ui/cli/read_progress.h"
#include "ui/cli/recorded_run.h"
#include "ui/cli/run_input.h"
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

Result<analysis::ComparedRun> LoadCompared(const std::string& path) {
  if (STEMTAP_TRY(KindOfInput(path)) != RunInput::kProfile) {
    const analysis::SampledRun run = STEMTAP_TRY(analysis::LoadSampledRun(path));
    return analysis::ComparedPlan(run, path);
  }
  ReadProgress progress;
  std::unique_ptr<model::ProfileReader> reader = STEMTAP_TRY(OpenRun({path}, "", progress));
  Result<analysis::ComparedRun> run = analysis::ComparedProfile(*reader, path);
  progress.Clear();
  Warn(reader->warnings());
  return run;
}

int RunDiffCommand(const DiffArguments& arguments) {
  if (arguments.a == "-" && arguments.b == "-") {
    return Fail({"both runs are standard input; expected a file for one", 2});
  }
  Result<analysis::ComparedRun> a = LoadCompared(arguments.a);
  if (!a.ok()) return Fail(a.error());
  Result<analysis::ComparedRun> b = LoadCompared(arguments.b);
  if (!b.ok()) return Fail(b.error());
  const analysis::RunDiff diff =
      analysis::DiffRuns(std::move(a).value(), std::move(b).value(), arguments.options);
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
  command.Add("b", &arguments->b, "the run to compare with it").File(SessionPath).Required();
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
