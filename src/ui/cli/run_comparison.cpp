// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/run_comparison.h"

#include <memory>
#include <utility>

#include "analysis/comparison/compared_run.h"
#include "analysis/statistics/sampled_run.h"
#include "ui/cli/output.h"
#include "ui/cli/read_progress.h"
#include "ui/cli/recorded_run.h"
#include "ui/cli/run_input.h"

namespace stemtap::ui {
namespace {

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
  if (run.ok()) STEMTAP_TRY(CheckNotEmpty(run.value().launches, path));
  return run;
}

}  // namespace

Result<analysis::RunDiff> CompareRuns(const std::string& a, const std::string& b,
                                      const analysis::DiffOptions& options) {
  if (a == "-" && b == "-") {
    return Error{"both runs are standard input; expected a file for one", 2};
  }
  analysis::ComparedRun run_a = STEMTAP_TRY(LoadCompared(a));
  analysis::ComparedRun run_b = STEMTAP_TRY(LoadCompared(b));
  return analysis::DiffRuns(std::move(run_a), std::move(run_b), options);
}

}  // namespace stemtap::ui
