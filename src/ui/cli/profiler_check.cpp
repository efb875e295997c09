// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/profiler_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "shm/profiling_tools.h"

namespace stemtap::ui {
namespace {

namespace fs = std::filesystem;

// Programs that run another program, which follows them and their options on the command line.
constexpr std::string_view kWrappers[] = {"chrt",    "env",     "ionice", "nice",
                                          "nohup",   "numactl", "setsid", "stdbuf",
                                          "taskset", "time",    "timeout"};

bool IsExecutable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

// Returns the file that the system runs for `name`; empty if there is none.
fs::path FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return IsExecutable(name) ? fs::path(name) : fs::path();
  const char* variable = std::getenv("PATH");
  std::string_view directories = variable == nullptr ? "/bin:/usr/bin" : variable;
  for (;;) {
    const std::size_t colon = directories.find(':');
    fs::path candidate = fs::path(directories.substr(0, colon)) / name;
    if (IsExecutable(candidate)) return candidate;
    if (colon == std::string_view::npos) return {};
    directories.remove_prefix(colon + 1);
  }
}

// Returns the profiling tool that the file is, by its name or the name of its link target.
const shm::ProfilingTool* ToolAt(const fs::path& program) {
  if (const shm::ProfilingTool* tool = shm::ToolOfProgram(program.c_str())) return tool;
  std::error_code ignored;
  return shm::ToolOfProgram(fs::canonical(program, ignored).c_str());
}

}  // namespace

Status CheckNoProfiler(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    const fs::path program = FindProgram(word);
    if (program.empty()) {
      if (&word == &command.front()) break;  // cannot be started; reported later
      continue;                              // an option or setting of a wrapper
    }
    if (const shm::ProfilingTool* tool = ToolAt(program)) {
      return Error{fmt::format("{}: {} does not work under stemtap; {}", EscapeForTerminal(word),
                               tool->name, tool->instead),
                   2};
    }
    if (std::find(std::begin(kWrappers), std::end(kWrappers), program.filename().string()) ==
        std::end(kWrappers)) {
      break;
    }
  }
  return Success{};
}

}  // namespace stemtap::ui
