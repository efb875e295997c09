// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/wake_flags.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "shm/session_env.h"

namespace stemtap::ui {

void WakeFlags::AddTo(session::CommandSpec& command, const std::string& of) {
  command.Add("-o,--output", &output_, of + "session directory to write").Directory();
  command.Add("--level", &level_, of + "what is timed").OneOf({"graph", "kernels", "gate"});
}

Result<std::vector<std::string>> WakeFlags::Variables() const {
  std::vector<std::string> variables;
  if (!output_.empty()) {
    std::error_code failure;
    const std::string path = std::filesystem::absolute(output_, failure).string();
    if (failure || path.find_first_of("\n\"") != std::string::npos) {
      return Error{fmt::format("{}: cannot be used; expected a path without quotes and line ends",
                               EscapeForTerminal(output_)),
                   2};
    }
    variables.push_back(fmt::format("{}=-o \"{}\"", shm::kEnvOptions.name, path));
  }
  if (!level_.empty()) variables.push_back(fmt::format("{}={}", shm::kEnvLevel.name, level_));
  return variables;
}

}  // namespace stemtap::ui
