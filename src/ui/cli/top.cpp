// SPDX-License-Identifier: Apache-2.0
// stemtap top: shows a running session on a terminal.
#include "ui/top/top.h"

#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ui/cli/command_table.h"
#include "ui/cli/inputs.h"
#include "ui/cli/output.h"
#include "ui/cli/table_flags.h"
#include "ui/top/model.h"
#include "ui/top/session_finder.h"

namespace stemtap::ui {
namespace {

struct TopArguments {
  std::vector<std::string> sessions;
  bool once = false;
  bool json = false;
  double interval_s = 0.5;
  TableFlags table;
};

Result<int> RunTop(const TopArguments& arguments, const CommandSpec& parsed) {
  if (arguments.json) {
    STEMTAP_TRY(CheckWholeJson(parsed, "overview.json"));
  }
  TopOptions options;
  options.rows = arguments.table.Choice();
  options.width = OutputWidth();
  options.interval_s = arguments.interval_s;
  for (const std::string& word : arguments.sessions) {
    options.directories.push_back(STEMTAP_TRY(FindSession(word)));
  }
  if (options.directories.empty()) {
    options.directories.push_back(STEMTAP_TRY(NewestSession(Newest::kRunningFirst)));
  }
  if (arguments.once || arguments.json) {
    const std::string text =
        STEMTAP_TRY(arguments.json ? OverviewsOf(options) : SnapshotOf(options));
    return arguments.json ? PrintJson(text) : PrintText(text);
  }
  std::string snapshot;
  const int code = STEMTAP_TRY(Watch(options, snapshot));
  return snapshot.empty() ? code : PrintText(snapshot);
}

}  // namespace

CommandSpec TopCommand() {
  CommandSpec command("top", "watch a session while it runs");
  auto arguments = std::make_shared<TopArguments>();
  command
      .Add("session", &arguments->sessions,
           "session directory, or the pid of its collector or of a traced program; several are "
           "shown as one (default: your newest session below the current directory, a running one "
           "first)")
      .File(SessionPath);
  command.Add("--interval", &arguments->interval_s, "seconds between two updates").In(0.1, 3600.0);
  command.Add("--once", &arguments->once,
              "print the current state and exit; the default without a terminal");
  command.Add("--json", &arguments->json, "print the session's overview.json and exit");
  arguments->table.AddTo(command, {std::begin(kOrderNames), std::end(kOrderNames)});
  command.run = [arguments](const CommandSpec& parsed) { return RunTop(*arguments, parsed); };
  return command;
}

}  // namespace stemtap::ui
