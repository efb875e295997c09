// SPDX-License-Identifier: Apache-2.0
//
// stemtap: live statistical sampling of GPU kernels. Each command has its own file.
#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/cfg/env.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "stemtap/version.h"
#include "ui/cli/command_table.h"
#include "ui/cli/commands.h"
#include "ui/cli/output.h"

using namespace std::string_view_literals;

namespace {

// Returns suggestions for `word`, which CLI11 did not recognize.
std::string Hint(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  const CLI::App* command = &app;
  for (const CLI::App* used : app.get_subcommands()) command = used;
  if (word.rfind("-", 0) == 0) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  } else if (command == &app) {
    for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  }
  const std::string_view nearest = stemtap::NearestName(word.substr(0, word.find('=')), names);
  return nearest.empty() ? "" : fmt::format(", did you mean {}?", nearest);
}

int WrongUse(const std::string& message) {
  return stemtap::ui::Fail({message, 2});
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

int Main(int argc, char** argv) {
  TakeStandardDescriptors();
  // SPDLOG_LEVEL=debug shows the collector's log for troubleshooting.
  spdlog::set_default_logger(spdlog::stderr_logger_mt("stemtap"));
  spdlog::set_pattern("stemtap: %l: %v");
  spdlog::set_level(spdlog::level::warn);
  spdlog::cfg::load_env_levels();
  CLI::App app(
      "Live statistical sampling of GPU kernels: chooses a few launches that represent\n"
      "the run, and bounds the error of what is estimated from them.",
      "stemtap");
  app.set_version_flag("-V,--version", std::string("stemtap ") + stemtap::kVersion);
  app.require_subcommand(1);
  app.formatter_fn([](const CLI::App* of, const std::string&, CLI::AppFormatMode) {
    return stemtap::ui::HelpPage(*of);
  });
  int exit_code = 0;
  stemtap::ui::AddRun(app, exit_code);
  stemtap::ui::AddReplay(app, exit_code);
  stemtap::ui::AddPlan(app, exit_code);
  stemtap::ui::AddEvaluate(app, exit_code);
  stemtap::ui::AddConvert(app, exit_code);
  stemtap::ui::AddExport(app, exit_code);
  stemtap::ui::AddExtrapolate(app, exit_code);
  stemtap::ui::AddAlign(app, exit_code);
  stemtap::ui::AddReport(app, exit_code);
  stemtap::ui::AddMerge(app, exit_code);
  stemtap::ui::AddFormats(app, exit_code);
  stemtap::ui::AddGenerate(app, exit_code);
  stemtap::ui::AddDemo(app, exit_code);
  stemtap::ui::AddTop(app, exit_code);
  stemtap::ui::AddCompletion(app, exit_code);
  stemtap::ui::AddManual(app, exit_code);
  stemtap::ui::AddVersion(app, exit_code);
  stemtap::ui::AddHelp(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {  // --help, --version
    // Do not print help for an unknown command.
    const std::string word = argc > 1 ? argv[1] : "";
    if (app.get_subcommands().empty() && !word.empty() && word[0] != '-') {
      return WrongUse(fmt::format("unknown command '{}'{}", word, Hint(app, word)));
    }
    std::ostringstream text;
    app.exit(help, text);
    return stemtap::ui::Print(text.str());
  } catch (const CLI::ExtrasError&) {
    // Report the first argument that CLI11 could not place, in typed order. A misspelled option
    // also leaves its value over, so options take precedence.
    const std::vector<std::string> rest = app.remaining(true);
    std::string word;
    for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
      if (std::find(rest.begin(), rest.end(), argv[i]) == rest.end()) continue;
      if (word.empty() || argv[i][0] == '-') word = argv[i];
      if (argv[i][0] == '-') break;
    }
    const char* what = word.rfind("-", 0) == 0         ? "unknown option"
                       : app.get_subcommands().empty() ? "unknown command"
                                                       : "unexpected argument";
    const bool of_program = app.got_subcommand("run") && std::count(argv, argv + argc, "--"sv) == 0;
    return WrongUse(fmt::format("{} '{}'{}{}", what, word, Hint(app, word),
                                of_program ? ", expected stemtap run [options] -- PROGRAM" : ""));
  } catch (const CLI::ParseError& error) {
    // The first word may be an unknown command: CLI11 reports the missing command first.
    if (app.get_subcommands().empty() && argc > 1) {
      const std::string word = argv[1];
      return WrongUse(fmt::format("unknown {} '{}'{}", word[0] == '-' ? "option" : "command", word,
                                  Hint(app, word)));
    }
    return WrongUse(fmt::format("{}, see --help", error.what()));
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::bad_alloc& error) {  // reported without allocating
    std::fputs("stemtap: ", stderr);
    std::fputs(error.what(), stderr);
    std::fputs("\n", stderr);
    return 1;
  } catch (const std::exception& error) {  // e.g. a directory that cannot be searched
    return stemtap::ui::Fail({error.what()});
  }
}
