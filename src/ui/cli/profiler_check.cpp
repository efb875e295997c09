// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/profiler_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "shm/profiling_tools.h"

namespace stemtap::ui {
namespace {

namespace fs = std::filesystem;

// Programs that run another program, which follows them and their options on the command line.
constexpr std::string_view kWrappers[] = {"chrt",    "env",     "ionice", "nice",
                                          "nohup",   "numactl", "setsid", "stdbuf",
                                          "taskset", "time",    "timeout"};

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
