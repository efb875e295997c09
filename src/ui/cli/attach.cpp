// SPDX-License-Identifier: Apache-2.0
// stemtap attach: records a process that runs already and was not prepared for it.
//
// The injected library is loaded into the process, and its entry point starts a thread that waits
// as with STEMTAP_PAUSED; the rest is 'stemtap start PID'.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "session/control.h"
#include "session/flags/command_line.h"
#include "session/library_loader.h"
#include "session/python_loader.h"
#include "shm/profiling_tools.h"
#include "shm/session_env.h"
#include "ui/cli/command_table.h"
#include "ui/cli/output.h"
#include "ui/cli/wake_flags.h"

namespace stemtap::ui {
namespace {

constexpr const char* kLibrary = "libstemtap_inject.so";
constexpr const char* kEntry = "stemtap_attach";

struct AttachArguments {
  std::uint32_t pid = 0;
  WakeFlags wake;
  bool quiet = false;
};

std::string ReadProcFile(std::uint32_t pid, const char* name) {
  std::ifstream file(fmt::format("/proc/{}/{}", pid, name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the value of a line "NAME:\tVALUE" of /proc/PID/status.
std::string StatusOf(std::uint32_t pid, std::string_view name) {
  const std::string text = "\n" + ReadProcFile(pid, "status");
  const std::string key = fmt::format("\n{}:\t", name);
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

// Returns whether the real, effective, saved and file system user are the same.
bool IsOneUser(const std::string& uids) {
  const std::string first = uids.substr(0, uids.find('\t'));
  return uids == fmt::format("{0}\t{0}\t{0}\t{0}", first);
}

// Returns why the process cannot be traced because of Yama, or an empty string.
std::string WhyYama() {
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  if (!(file >> scope) || scope == 0 || (scope < 3 && ::geteuid() == 0)) return {};
  return fmt::format(
      "this system allows tracing only {} (kernel.yama.ptrace_scope is {}); expected root, or a "
      "process started with STEMTAP_PAUSED=1",
      scope == 1   ? "of a debugger's own children"
      : scope == 2 ? "by root"
                   : "of no process",
      scope);
}

// Returns the name of a profiling tool that is in the process, or an empty string.
std::string ToolIn(std::uint32_t pid) {
  std::string text = ReadProcFile(pid, "environ");
  std::vector<char*> variables;
  for (std::size_t at = 0; at < text.size(); at = text.find('\0', at) + 1) {
    variables.push_back(text.data() + at);
    if (text.find('\0', at) == std::string::npos) break;
  }
  variables.push_back(nullptr);
  const char* variable = nullptr;
  const shm::ProfilingTool* tool = shm::ToolInEnvironment(variables.data(), variable);
  return tool == nullptr ? std::string() : tool->name;
}

// Returns why the process cannot be attached to, or an empty string.
std::string WhyNot(std::uint32_t pid) {
  const std::string uids = StatusOf(pid, "Uid");
  if (uids.empty()) return "there is no such process";
  const std::string state = StatusOf(pid, "State");
  if (state.starts_with("Z") || state.starts_with("X")) {
    return StatusOf(pid, "Threads") == "1" ? "it has ended" : "its main thread has ended";
  }
  const std::string own = std::to_string(::geteuid());
  if (!IsOneUser(uids)) return "it has more privileges than its user (setuid)";
  if (::geteuid() != 0 && uids.substr(0, uids.find('\t')) != own) {
    return "it belongs to another user; expected one of your own, or root";
  }
  const std::string maps = ReadProcFile(pid, "maps");
  if (maps.empty()) return "its memory map cannot be read; this container may not trace processes";
  if (maps.find(kLibrary) != std::string::npos) {
    return "it has the injected library already; 'stemtap start' starts it";
  }
  if (maps.find("/libcuda.so") == std::string::npos) {
    return "it has not loaded CUDA (libcuda.so); attach when it uses the GPU";
  }
  const std::string tracer = StatusOf(pid, "TracerPid");
  if (tracer != "0" && tracer != std::to_string(::getpid())) {
    return fmt::format("process {} traces it, for example a debugger", tracer);
  }
  if (const std::string tool = ToolIn(pid); !tool.empty()) return tool + " is in it";
  return WhyYama();
}

// Returns the library's path, which the process must be able to open.
Result<std::string> LibraryFor(std::uint32_t pid) {
  const std::string path = InstalledLibrary(kLibrary);
  struct stat here {};
  struct stat there {};
  if (::stat(path.c_str(), &here) != 0) {
    return Error{fmt::format("{}: not found; this build has no injector", path)};
  }
  if (::stat(fmt::format("/proc/{}/root{}", pid, path).c_str(), &there) != 0 ||
      there.st_dev != here.st_dev || there.st_ino != here.st_ino) {
    return Error{
        fmt::format("process {} is in a container that does not contain {}; expected "
                    "'stemtap attach' in the same one",
                    pid, path)};
  }
  return path;
}

// Loads the library and calls its entry point. A process of Python does it itself if it can;
// otherwise its main thread is made to.
Status Load(const std::string& path, const std::function<std::string()>& why_not,
            const AttachArguments& arguments) {
  const auto pid = static_cast<std::int32_t>(arguments.pid);
  const std::string library = shm::kAttachPrefix + path;
  if (const auto interpreter = session::RemoteInterpreter(pid)) {
    if (STEMTAP_TRY(session::LoadLibraryByPython(pid, *interpreter, library, kEntry))) {
      return Success{};
    }
  }
  if (!arguments.quiet) {
    PrintMessage(
        fmt::format("stemtap: warning: the main thread of process {} is stopped for some "
                    "milliseconds and calls "
                    "dlopen; if it holds a lock that dlopen needs, the process hangs\n",
                    pid));
  }
  return session::LoadLibraryInto(pid, library, kEntry, why_not);
}

Result<int> Attach(const AttachArguments& arguments) {
  const std::vector<std::string> variables = STEMTAP_TRY(arguments.wake.Variables());
  const auto pid = static_cast<std::int32_t>(arguments.pid);
  const auto why_not = [pid = arguments.pid] {
    const std::string why = WhyNot(pid);
    return why.empty() ? why : fmt::format("process {} cannot be attached to: {}", pid, why);
  };
  if (const std::string why = why_not(); !why.empty()) return Error{why};
  const std::string library = STEMTAP_TRY(LibraryFor(arguments.pid));
  STEMTAP_TRY(Load(library, why_not, arguments));
  const std::string path = STEMTAP_TRY(session::WakeProcess(pid, variables));
  if (!arguments.quiet) {
    PrintMessage(
        fmt::format("stemtap: recording of {}: on, session in {}\n", pid, EscapeForTerminal(path)));
  }
  return 0;
}

}  // namespace

CommandSpec AttachCommand() {
  CommandSpec command("attach", "record a process that runs already");
  auto arguments = std::make_shared<AttachArguments>();
  command.Add("pid", &arguments->pid, "id of the process").Type("PID").Required();
  arguments->wake.AddTo(command, "");
  command.Add("-q,--quiet", &arguments->quiet, "print neither the warning nor the session");
  command.run = [arguments](const CommandSpec&) { return Attach(*arguments); };
  return command;
}

}  // namespace stemtap::ui
