// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/sampled_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "model/json_text.h"
#include "model/overview_reader.h"
#include "model/plan_cells.h"
#include "model/plan_reader.h"

namespace stemtap::analysis {

namespace fs = std::filesystem;

Result<SampledRun> LoadSampledRun(const std::string& path) {
  SampledRun run;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    run.plan = STEMTAP_TRY(model::LoadPlan(path));
    return run;
  }
  const fs::path directory(path);
  STEMTAP_TRY(CheckReadable(directory));
  if (!Exists(directory / "plan.json")) {
    return Error{
        fmt::format("{}: has no plan.json; expected the directory of a finished session, or a plan",
                    EscapeForTerminal(path))};
  }
  run.plan = STEMTAP_TRY(model::LoadPlan((directory / "plan.json").string()));
  const fs::path cells = directory / model::kCellsFileName;
  run.has_cells = Exists(cells);
  if (run.has_cells) STEMTAP_TRY(model::LoadCells(cells.string(), run.plan));
  const fs::path session = directory / "session.json";
  if (Exists(session)) {
    const std::string text = STEMTAP_TRY(
        model::ReadJsonFile(session.string(), model::kMaxSessionBytes, "a session.json"));
    run.session = STEMTAP_TRY(model::ParseSession(text, model::NameOfSource(session.string())));
  }
  const fs::path overview = directory / "overview.json";
  if (Exists(overview)) run.overview = STEMTAP_TRY(model::LoadOverview(overview.string()));
  return run;
}

}  // namespace stemtap::analysis
