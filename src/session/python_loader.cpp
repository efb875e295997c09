// SPDX-License-Identifier: Apache-2.0
#include "session/python_loader.h"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/text.h"
#include "session/child_process.h"

namespace stemtap::session {
namespace {

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

constexpr auto kMaxWait = std::chrono::seconds(2);
constexpr auto kPoll = std::chrono::milliseconds(2);
constexpr int kFirstMinor = 14;  // sys.remote_exec is new in Python 3.14

// Its standard error is stemtap's, so it prints nothing.
constexpr const char* kRequest = R"(import sys
try:
    sys.remote_exec(int(sys.argv[1]), sys.argv[2])
except Exception:
    sys.exit(1)
)";

// What the process executes. The answer is written under another name first, so that it is whole.
constexpr const char* kScript = R"(def _stemtap_attach(folder, library, function):
    import ctypes, os
    try:
        result = getattr(ctypes.CDLL(library), function)()
        answer = f"{{function}} returned {{result}}" if result else ""
    except Exception as error:
        answer = str(error)
    with open(folder + "/answer.new", "w", encoding="utf-8", errors="replace") as file:
        file.write(answer)
    os.rename(folder + "/answer.new", folder + "/answer")
try:
    _stemtap_attach({}, {}, {})
finally:
    del _stemtap_attach
)";

// What the process executes if it comes too late.
constexpr const char* kCleanUp = "__import__('shutil').rmtree({}, True)\n";

// Returns a string literal of Python with these bytes.
std::string Literal(std::string_view text) {
  std::string literal = "__import__('os').fsdecode(b'";
  for (const char c : text) literal += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return literal + "')";
}

bool IsSameFile(const std::string& a, const std::string& b) {
  struct stat first {};
  struct stat second {};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

// Returns whether `name` is python3.N, N >= 14, or the same with a suffix, as of builds without a
// global lock (python3.14t).
bool IsRemote(std::string_view name) {
  constexpr std::string_view kPrefix = "python3.";
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  int minor = 0;
  return std::from_chars(name.data(), name.data() + name.size(), minor).ec == std::errc() &&
         minor >= kFirstMinor;
}

// Runs the interpreter, which asks the process to execute the script. Returns whether it could.
bool Request(std::int32_t pid, const std::string& interpreter, const fs::path& script) {
  sigset_t none;
  ::sigemptyset(&none);
  Result<ChildProcess> started =
      ChildProcess::Start({interpreter, "-I", "-S", "-c", kRequest, std::to_string(pid), script},
                          {"LD_PRELOAD="}, none, none);
  if (!started.ok()) return false;
  while (!started.value().Poll()) std::this_thread::sleep_for(kPoll);
  return started.value().exit_code() == 0;
}

}  // namespace

std::optional<std::string> RemoteInterpreter(std::int32_t pid) {
  const std::string proc = fmt::format("/proc/{}", pid);
  std::error_code failure;
  const fs::path program = fs::read_symlink(proc + "/exe", failure);
  if (failure || !IsRemote(program.filename().string())) return {};
  struct stat owner {};
  const std::string temporary = fs::temp_directory_path(failure);
  // As root, this process runs no program of another user.
  if (::stat(proc.c_str(), &owner) != 0 || owner.st_uid != ::geteuid() ||
      !IsSameFile(program, proc + "/exe") || !IsSameFile(temporary, proc + "/root" + temporary)) {
    return {};
  }
  return program.string();
}

Result<bool> LoadLibraryByPython(std::int32_t pid, const std::string& interpreter,
                                 const std::string& library, const std::string& function) {
  std::string name = (fs::temp_directory_path() / "stemtap-attach-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    return Error{fmt::format("{}: cannot be created: {}", name, std::strerror(errno))};
  }
  const fs::path folder = name;
  const fs::path script = folder / "script.py";
  std::ofstream(script) << fmt::format(kScript, Literal(name), Literal(library), Literal(function));
  std::error_code ignored;
  if (!Request(pid, interpreter, script)) {
    fs::remove_all(folder, ignored);
    return false;
  }
  const fs::path answer = folder / "answer";
  const auto deadline = Clock::now() + kMaxWait;
  while (!fs::exists(answer, ignored)) {
    if (Clock::now() > deadline) {
      std::ofstream(folder / "late.py") << fmt::format(kCleanUp, Literal(name));
      fs::rename(folder / "late.py", script, ignored);
      return false;
    }
    std::this_thread::sleep_for(kPoll);
  }
  std::ifstream file(answer);
  const std::string problem{std::istreambuf_iterator<char>(file), {}};
  fs::remove_all(folder, ignored);
  if (problem.empty()) return true;
  return Error{fmt::format("process {} cannot load {}: {}", pid, EscapeForTerminal(library),
                           EscapeForTerminal(problem))};
}

}  // namespace stemtap::session
