// SPDX-License-Identifier: Apache-2.0
#include "session/launch_environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "shm/profiling_tools.h"
#include "shm/session_env.h"

namespace stemtap::session {
namespace {

constexpr const char* kInjectionPath = "CUDA_INJECTION64_PATH";
constexpr const char* kNvtxInjectionPath = "NVTX_INJECTION64_PATH";

// Returns the library that NVTX would load, or nullptr if it is ours or none.
const char* NvtxInjection(const LiveOptions& options) {
  const char* path = ::getenv(kNvtxInjectionPath);
  std::error_code ignored;
  if (path == nullptr || *path == 0) return nullptr;
  return std::filesystem::equivalent(path, options.injector, ignored) ? nullptr : path;
}

// Returns whether programs get this library.
bool IsInjected(const LiveOptions& options) {
  return WhyNotRecorded().empty() && (options.chain || OtherInjection(options) == nullptr);
}

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

std::string NvtxNotice(const LiveOptions& options, bool& is_failure) {
  is_failure = false;
  const char* path = NvtxInjection(options);
  if (path == nullptr || !IsInjected(options)) return {};
  if (shm::IsCuptiLibrary(path)) {
    return fmt::format(
        "NVTX_INJECTION64_PATH is set to '{}', which would take CUPTI from stemtap; the program "
        "gets stemtap's library instead",
        EscapeForTerminal(path));
  }
  if (options.level != TraceLevel::kGate && !options.sampling.launches.is_set()) return {};
  is_failure = true;
  return fmt::format(
      "NVTX ranges are not recorded: NVTX_INJECTION64_PATH is set to '{}'; unset it to record them",
      EscapeForTerminal(path));
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
  const model::LaunchSelection& selection = options.sampling.launches;
  if (selection.by_range) add(shm::kEnvRanges.name, "1");
  if (!selection.only_range.empty()) add(shm::kEnvOnlyRange.name, selection.only_range);
  if (!selection.steps.all()) {
    add(shm::kEnvSkipSteps.name, fmt::format("{}", selection.steps.first));
    add(shm::kEnvSteps.name, fmt::format("{}", selection.steps.count));
  }
  if (options.max_overhead > 0) {
    add(shm::kEnvMaxOverhead.name, fmt::format("{:.3f}", options.max_overhead));
  }
  // Programs that ncu starts end at once if the variable is set to a library.
  if (!WhyNotRecorded().empty()) return set;
  const char* other = OtherInjection(options);
  if (other != nullptr && options.chain) add(shm::kEnvChain.name, other);
  if (IsInjected(options)) {
    add(kInjectionPath, options.injector);
    const char* nvtx = NvtxInjection(options);
    if (nvtx == nullptr || shm::IsCuptiLibrary(nvtx)) add(kNvtxInjectionPath, options.injector);
  }
  if (options.preload) {
    const char* before = ::getenv("LD_PRELOAD");
    add("LD_PRELOAD",
        before != nullptr && *before != 0 ? options.injector + ":" + before : options.injector);
  }
  return set;
}

}  // namespace stemtap::session
