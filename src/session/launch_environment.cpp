// SPDX-License-Identifier: Apache-2.0
#include "session/launch_environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "shm/profiling_tools.h"
#include "shm/session_env.h"

namespace stemtap::session {
namespace {

constexpr const char* kInjectionPath = "CUDA_INJECTION64_PATH";

}  // namespace

const char* OtherInjection(const LiveOptions& options) {
  const char* path = ::getenv(kInjectionPath);
  if (path == nullptr || *path == 0 || std::string_view(path) == "none") return nullptr;
  return options.injector != path ? path : nullptr;
}

std::string WhyNotRecorded() {
  const char* variable = nullptr;
  const shm::ProfilingTool* tool = shm::ToolInEnvironment(environ, variable);
  if (tool == nullptr) return {};
  const std::string_view text = variable;
  return fmt::format("{} is set, so {} profiles the program; run one of them at a time",
                     EscapeForTerminal(text.substr(0, text.find('='))), tool->name);
}

std::vector<std::string> ProgramEnvironment(const LiveOptions& options,
                                            const std::string& directory) {
  std::vector<std::string> set = options.environment;
  const auto add = [&set](const char* name, const std::string& value) {
    set.push_back(std::string(name) + "=" + value);
  };
  add(shm::kEnvSession.name, directory);
  add(shm::kEnvLevel.name, NameOf(options.level));
  add(shm::kEnvActuator.name, options.actuator);
  if (options.max_overhead > 0) {
    add(shm::kEnvMaxOverhead.name, fmt::format("{:.3f}", options.max_overhead));
  }
  // Programs that ncu starts end at once if the variable is set to a library.
  if (!WhyNotRecorded().empty()) return set;
  const char* other = OtherInjection(options);
  if (other != nullptr && options.chain) add(shm::kEnvChain.name, other);
  if (other == nullptr || options.chain) add(kInjectionPath, options.injector);
  if (options.preload) {
    const char* before = ::getenv("LD_PRELOAD");
    add("LD_PRELOAD",
        before != nullptr && *before != 0 ? options.injector + ":" + before : options.injector);
  }
  return set;
}

}  // namespace stemtap::session
