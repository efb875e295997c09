// SPDX-License-Identifier: Apache-2.0
// stemtap snapshot: writes the session directory of a running session as of now.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "base/text.h"
#include "model/plan_reader.h"
#include "session/control.h"
#include "ui/cli/command_table.h"
#include "ui/cli/inputs.h"
#include "ui/cli/output.h"
#include "ui/cli/report_file.h"

namespace stemtap::ui {
namespace {

namespace fs = std::filesystem;

struct SnapshotArguments {
  std::string session;
  std::string output;
  bool force = false;
  bool json = false;
  bool quiet = false;
};

// Returns the request for the directory that the user named, or for one next to the session's.
Result<std::string> RequestOf(const SnapshotArguments& arguments) {
  std::error_code failure;
  fs::path path =
      fs::absolute(arguments.output.empty() ? arguments.session : arguments.output, failure)
          .lexically_normal();
  if (failure) {
    return Error{fmt::format("the current directory cannot be found: {}", failure.message())};
  }
  if (!path.has_filename()) path = path.parent_path();
  if (arguments.output.empty()) path += "-snapshot";
  const char* const place = arguments.output.empty() ? "default"
                            : arguments.force        ? "replace"
                                                     : "new";
  return fmt::format("snapshot {} {}", place, path.string());
}

Result<int> RunSnapshot(const SnapshotArguments& arguments) {
  const std::string request = STEMTAP_TRY(RequestOf(arguments));
  const std::string path = STEMTAP_TRY(session::SendRequest(arguments.session, request));
  const model::Plan plan = STEMTAP_TRY(model::LoadPlan(PlanPath(path)));
  if (!arguments.quiet) {
    PrintMessage(fmt::format("stemtap: snapshot of {} in {}\n",
                             Plural(plan.totals.invocations, "launch", "launches"),
                             EscapeForTerminal(path)));
    PrintNextReport(path);
  }
  return arguments.json ? PrintJson(TotalsJson(plan)) : 0;
}

}  // namespace

CommandSpec SnapshotCommand() {
  CommandSpec command("snapshot", "write the session of a running program as of now");
  auto arguments = std::make_shared<SnapshotArguments>();
  command.Add("session", &arguments->session, "directory of the running session")
      .File(SessionPath)
      .Required();
  command
      .Add("-o,--output", &arguments->output,
           "session directory to write (default: the directory of the session, with -snapshot "
           "appended)")
      .Directory();
  AddForce(command, &arguments->force);
  command.Add("--json", &arguments->json, "print the plan's totals as JSON");
  command.Add("-q,--quiet", &arguments->quiet,
              "print neither the location of the snapshot nor the next command");
  command.run = [arguments](const CommandSpec&) { return RunSnapshot(*arguments); };
  return command;
}

}  // namespace stemtap::ui
