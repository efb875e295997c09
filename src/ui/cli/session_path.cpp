// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/session_path.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "base/file.h"
#include "model/session_files.h"
#include "shm/session_env.h"

namespace stemtap::ui {

namespace fs = std::filesystem;

std::string PlanPath(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? (fs::path(path) / "plan.json").string() : path;
}

std::string SessionPath(const std::string& path) {
  const fs::path file(path);
  const fs::path directory = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::error_code ignored;
  const bool is_session_file = std::ranges::find(model::kSessionFiles, file.filename().string()) !=
                                   std::end(model::kSessionFiles) &&
                               fs::is_regular_file(file, ignored) &&
                               Exists(directory / shm::kSessionFileName);
  return is_session_file ? directory.string() : path;
}

void AddPlan(session::CommandSpec& command, std::string* plan, const std::string& help) {
  command.Add("plan", plan, help).File(PlanPath);
  command.Add("--plan", plan, "the same, as an option").File(PlanPath).excludes = "plan";
}

}  // namespace stemtap::ui
