// SPDX-License-Identifier: Apache-2.0
// stemtap: live statistical sampling of GPU kernels. Each command has its own file, except those
// that print information about the program: help, version, completion, manual.
#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/cfg/env.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/flags/command_line.h"
#include "session/session_directory.h"
#include "shm/cupti_version.h"
#include "stemtap/version.h"
#include "ui/cli/command_table.h"
#include "ui/cli/output.h"

namespace stemtap::ui {
namespace {

// Returns the table without hidden commands and options.
CommandTable VisibleTable(const CommandTable& table) {
  CommandTable visible = table;
  std::erase_if(visible, [](const CommandSpec& command) { return command.hidden; });
  for (CommandSpec& command : visible) {
    std::erase_if(command.options,
                  [](const OptionSpec& option) { return option.group == OptionGroup::kHidden; });
  }
  return visible;
}

// Prints "stemtap <version>". Returns the exit code.
int PrintVersion() {
  const std::string newest = STEMTAP_NEWEST_CUPTI;
  return Print(fmt::format(
      "stemtap {}\ncommit {}, {} build\n{}\n", kVersion, STEMTAP_COMMIT, STEMTAP_BUILD_KIND,
      newest.empty()
          ? "without the injected library: built without CUPTI headers"
          : fmt::format("CUPTI versions {} (CUDA 10.1) to {}", shm::kOldestCupti, newest)));
}

// Accepts the commands that the table contains now.
CommandSpec HelpCommand(const CommandTable& table) {
  CommandSpec command("help", "print the help of stemtap or of a command");
  std::vector<std::string> names = {"help"};
  for (const CommandSpec& other : VisibleTable(table)) {
    if (!other.name.empty()) names.push_back(other.name);
  }
  auto name = std::make_shared<std::string>();
  command.Add("command", name.get(), "command to describe").OneOf(names);
  command.run = [&table, name](const CommandSpec&) {
    const auto described = std::find_if(table.begin(), table.end(),
                                        [&](const CommandSpec& one) { return one.name == *name; });
    return Print(HelpPage(table, *described));
  };
  return command;
}

// Same as --version; hidden.
CommandSpec VersionCommand() {
  CommandSpec command("version", "print the version");
  command.hidden = true;
  command.run = [](const CommandSpec&) { return PrintVersion(); };
  return command;
}

CommandSpec CompletionCommand(const CommandTable& table) {
  CommandSpec command("completion", "print a shell completion script");
  auto shell = std::make_shared<Shell>();
  command.Add("shell", Choice(shell.get(), kShellNames), "shell that reads the script").Required();
  command.run = [&table, shell](const CommandSpec&) {
    return Print(CompletionScript(VisibleTable(table), *shell));
  };
  return command;
}

// Used by the build, which installs the page; hidden.
CommandSpec ManualCommand(const CommandTable& table) {
  CommandSpec command("manual", "print the manual page");
  command.hidden = true;
  command.run = [&table](const CommandSpec&) { return Print(ManualPage(VisibleTable(table))); };
  return command;
}

// If a standard descriptor is closed at startup, the next file opened would reuse its number and
// receive terminal output. Opens /dev/null instead, in a mode that fails reads of stdin and writes
// of stdout and stderr. O_CLOEXEC keeps it out of the programs that this process starts, so they
// see the descriptor closed.
void TakeStandardDescriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    const int access = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", access | O_CLOEXEC) < 0) return;
  }
}

// REQUIRES: `table` is not moved afterwards, because some commands refer to it.
void AddCommands(CommandTable& table) {
  table.emplace_back("",
                     "Live statistical sampling of GPU kernels: chooses a few launches that "
                     "represent\nthe run, and bounds the error of what is estimated from them.");
  table.back().Add("-V,--version", {}, "print the version and exit");
  for (CommandSpec (*command)() :
       {RunCommand,    ReplayCommand,      PlanCommand,    EvaluateCommand, ConvertCommand,
        ExportCommand, ExtrapolateCommand, AlignCommand,   StatsCommand,    DiffCommand,
        ReportCommand, MergeCommand,       FormatsCommand, GenerateCommand, DemoCommand,
        TopCommand,    SnapshotCommand,    StartCommand,   StopCommand,     RecoverCommand,
        AttachCommand}) {
    table.push_back(command());
  }
  table.push_back(CompletionCommand(table));
  table.push_back(ManualCommand(table));
  table.push_back(VersionCommand());
  table.push_back(HelpCommand(table));
}

// Runs the command. Returns the exit code.
Result<int> Main(int argc, char** argv) {
  TakeStandardDescriptors();
  // SPDLOG_LEVEL=debug shows the collector's log for troubleshooting.
  spdlog::set_default_logger(spdlog::stderr_logger_mt("stemtap"));
  spdlog::set_pattern("stemtap: %l: %v");
  spdlog::set_level(spdlog::level::warn);
  spdlog::cfg::load_env_levels();
  CommandTable table;
  AddCommands(table);
  const session::ParsedLine parsed = STEMTAP_TRY(session::ParseCommandLine(table, argc, argv));
  const CommandSpec& command = *parsed.command;
  switch (parsed.wanted) {
    case session::ParsedLine::Wanted::kHelp:
      return Print(HelpPage(table, command));
    case session::ParsedLine::Wanted::kVersion:
      return PrintVersion();
    case session::ParsedLine::Wanted::kRun:
      break;
  }
  return command.run(command);
}

int Guarded(int argc, char** argv) {
  try {
    const Result<int> code = Main(argc, argv);
    return code.ok() ? code.value() : Fail(code.error());
  } catch (const std::bad_alloc& error) {  // reported without allocating
    std::fputs("stemtap: ", stderr);
    std::fputs(error.what(), stderr);
    std::fputs("\n", stderr);
    return 1;
  } catch (const std::exception& error) {  // e.g. a directory that cannot be searched
    return Fail({error.what()});
  }
}

}  // namespace
}  // namespace stemtap::ui

int main(int argc, char** argv) {
  const int code = stemtap::ui::Guarded(argc, argv);
  // The injected library runs `stemtap run --attach PID --output DIRECTORY ...`. Whatever kept this
  // process from beginning the session, including wrong options, leaves nothing behind.
  constexpr int kAttachWords = 6;
  if (argc >= kAttachWords && std::string_view(argv[2]) == "--attach") {
    stemtap::session::RemoveUnclaimed(argv[5], std::strtoull(argv[3], nullptr, 10));
  }
  return code;
}
