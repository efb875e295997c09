// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/output.h"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/byte_sink.h"
#include "base/decimal.h"
#include "base/file.h"
#include "base/quoting.h"
#include "base/text.h"
#include "base/wrap.h"
#include "model/session_files.h"

namespace stemtap::ui {

void PrintMessage(const std::string& text) {
  std::fputs(EscapeLines(text).c_str(), stderr);
}

int Fail(const Error& error) {
  PrintMessage(fmt::format("stemtap: {}\n", EscapeForTerminal(error.message)));
  return error.exit_code;
}

void PrintNext(const std::string& command) {
  PrintMessage(fmt::format("next: {}\n", command));
}

void PrintNextFor(const std::string& output, std::string_view command, std::string_view options) {
  if (IsFile(output)) PrintNext(fmt::format("{} {} {}", command, ShellPath(output), options));
}

bool IsFile(const std::string& path) {
  std::error_code ignored;
  return path != "-" && std::filesystem::is_regular_file(path, ignored);
}

void PrintNextMaking(const std::string& made, const std::string& output, std::string_view command) {
  std::error_code ignored;
  if (std::filesystem::equivalent(output, made, ignored)) return;
  PrintNextFor(output, command, "-o " + made);
}

void Warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    PrintMessage(fmt::format("stemtap: warning: {}\n", EscapeForTerminal(warning)));
  }
}

namespace {

int WriteToStdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return 0;
  }
  return Fail({fmt::format("standard output cannot be written: {}", std::strerror(errno))});
}

}  // namespace

int Print(const std::string& text) {
  return ::isatty(STDOUT_FILENO) ? PrintText(text) : WriteToStdout(text);
}

int PrintJson(const std::string& json) {
  return WriteToStdout(EscapeJson(json));
}

int PrintText(const std::string& text) {
  return WriteToStdout(EscapeLines(text));
}

std::size_t OutputWidth() {
  if (!::isatty(STDOUT_FILENO)) return kUnlimitedWidth;
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) return size.ws_col;
  constexpr std::size_t kUsual = 80;
  const char* const columns = std::getenv("COLUMNS");
  const auto width = columns == nullptr ? std::nullopt : WholeNumber(columns);
  return width.value_or(0) != 0 ? static_cast<std::size_t>(*width) : kUsual;
}

Status WriteOutput(const std::string& path, std::string_view content) {
  const std::unique_ptr<ByteSink> sink = STEMTAP_TRY(CreateByteSink(path));
  STEMTAP_TRY(sink->Write(content));
  return sink->Finish();
}

namespace {

namespace fs = std::filesystem;

// Identifies a regular file, or an unused name; for an unused name, `inode` is the directory's.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  std::string free_name;

  bool operator==(const FileIdentity&) const = default;
};

// Returns nullopt for devices, pipes, directories, and paths that cannot be looked up.
std::optional<FileIdentity> IdentityOf(const std::string& path, int standard_stream) {
  struct stat status = {};
  const bool found =
      path == "-" ? ::fstat(standard_stream, &status) == 0 : ::stat(path.c_str(), &status) == 0;
  if (found) {
    if (!S_ISREG(status.st_mode)) return {};
    return FileIdentity{status.st_dev, status.st_ino, ""};
  }
  const fs::path file(path);
  const fs::path directory = file.has_parent_path() ? file.parent_path() : ".";
  if (path == "-" || ::stat(directory.c_str(), &status) != 0) return {};
  return FileIdentity{status.st_dev, status.st_ino, file.filename().string()};
}

// Returns the session that `input` is or belongs to; empty if there is none.
fs::path SessionOf(const std::string& input) {
  std::error_code error;
  if (fs::is_directory(input, error)) return input;
  const fs::path file(input);
  const bool named = std::find(std::begin(model::kSessionFiles), std::end(model::kSessionFiles),
                               file.filename().string()) != std::end(model::kSessionFiles);
  const fs::path directory = file.has_parent_path() ? file.parent_path() : ".";
  return named && Exists(directory / "session.json") ? directory : fs::path();
}

}  // namespace

Status CheckOutputs(const std::vector<std::string>& outputs,
                    const std::vector<std::string>& inputs) {
  std::vector<std::string> read = inputs;
  for (const std::string& input : inputs) {
    const fs::path session = SessionOf(input);
    if (session.empty()) continue;
    for (const char* name : model::kSessionFiles) read.push_back((session / name).string());
  }
  std::vector<FileIdentity> written;
  for (const std::string& output : outputs) {
    if (output.empty()) continue;
    const std::optional<FileIdentity> file = IdentityOf(output, STDOUT_FILENO);
    if (!file) continue;
    const std::string shown = EscapeForTerminal(output);
    for (const std::string& input : read) {
      if (input.empty() || IdentityOf(input, STDIN_FILENO) != file) continue;
      return Error{fmt::format("{}: is the input {}; expected another file to write", shown,
                               EscapeForTerminal(input)),
                   2};
    }
    if (std::find(written.begin(), written.end(), *file) != written.end()) {
      return Error{
          fmt::format("{}: is to be written twice; expected a file for each output", shown), 2};
    }
    written.push_back(*file);
  }
  return Success{};
}

std::string TotalsJson(const model::Plan& plan) {
  const model::PlanTotals& t = plan.totals;
  const nlohmann::ordered_json json = {{"invocations", t.invocations},
                                       {"duration_ns", t.duration_ns},
                                       {"kernels", t.kernels},
                                       {"clusters", t.clusters},
                                       {"samples", t.samples},
                                       {"sampled_duration_ns", t.sampled_duration_ns},
                                       {"speedup", t.speedup},
                                       {"bound", t.bound},
                                       {"certified_bound", t.certified_bound},
                                       {"observed_error", t.observed_error},
                                       {"uncovered_fraction", t.uncovered_fraction},
                                       {"joined_fraction", t.joined_fraction},
                                       {"dropped", t.dropped},
                                       {"gaps", t.gaps},
                                       {"zero_duration", t.zero_duration}};
  return json.dump() + "\n";
}

void AddForce(session::CommandSpec& command, bool* force) {
  command.Add("--force", force,
              "if the directory of --output contains a session that has ended, replace it");
}

void AddSimulatorRates(session::CommandSpec& command, model::SimulatorRates* rates) {
  command.Add("--trace-rate", &rates->trace_mb_per_ms, "MB of simulator traces per ms of GPU time")
      .In(0.0, 1e9)
      .Advanced();
  command
      .Add("--slowdown", &rates->slowdown,
           "how many times slower than the GPU the simulator is, to estimate its time")
      .In(0.0, 1e12)
      .Advanced();
}

std::string DefaultDirectory(const std::string& name) {
  // File names have at most 255 bytes. Cuts no UTF-8 character.
  constexpr std::size_t kMaxBytes = 200;
  std::size_t size = std::min(name.size(), kMaxBytes);
  while (size < name.size() && size > 0 && (name[size] & 0xC0) == 0x80) --size;
  return fmt::format("stemtap-{}-{}", name.empty() ? "session" : name.substr(0, size), ::getpid());
}

std::string InstalledLibrary(const std::string& name) {
  // Debian uses an architecture-specific directory; other systems use lib or lib64.
  for (const char* directory : {"lib", "lib64", "lib/" STEMTAP_MULTIARCH}) {
    const std::string path = InstalledPath(fmt::format("{}/{}", directory, name));
    if (Exists(path)) return path;
  }
  return InstalledPath("lib/" + name);
}

std::string InstalledPath(const std::string& relative) {
  std::error_code error;
  auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  // Without /proc, the path that was executed, which the kernel passes to each program.
  const auto* executed = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  if (error && executed != nullptr) self = std::filesystem::canonical(executed, error);
  return (self.parent_path().parent_path() / relative).string();
}

}  // namespace stemtap::ui
