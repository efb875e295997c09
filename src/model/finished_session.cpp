// SPDX-License-Identifier: Apache-2.0
#include "model/finished_session.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "model/overview_reader.h"
#include "model/plan_cells.h"
#include "model/plan_reader.h"

namespace stemtap::model {

namespace fs = std::filesystem;

Result<FinishedSession> LoadFinished(const std::string& path) {
  FinishedSession run;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    run.plan = STEMTAP_TRY(LoadPlan(path));
    return run;
  }
  const fs::path directory(path);
  STEMTAP_TRY(CheckReadable(directory));
  if (!Exists(directory / "plan.json")) {
    return Error{
        fmt::format("{}: has no plan.json; expected the directory of a finished session, or a plan",
                    EscapeForTerminal(path))};
  }
  run.plan = STEMTAP_TRY(LoadPlan((directory / "plan.json").string()));
  const fs::path cells = directory / kCellsFileName;
  run.has_cells = Exists(cells);
  if (run.has_cells) STEMTAP_TRY(LoadCells(cells.string(), run.plan));
  const fs::path session = directory / "session.json";
  if (Exists(session)) run.session = STEMTAP_TRY(LoadSession(session.string()));
  const fs::path overview = directory / "overview.json";
  if (Exists(overview)) run.overview = STEMTAP_TRY(LoadOverview(overview.string()));
  return run;
}

}  // namespace stemtap::model
