// SPDX-License-Identifier: Apache-2.0
// stemtap replay: feeds a recorded profile to the online sampler.
#include "session/replay.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "model/plan_summary.h"
#include "session/flags/sampling_flags.h"
#include "ui/cli/command_table.h"
#include "ui/cli/fleet_flags.h"
#include "ui/cli/inputs.h"
#include "ui/cli/job_merge.h"
#include "ui/cli/launcher.h"
#include "ui/cli/output.h"
#include "ui/cli/report_file.h"

namespace stemtap::ui {
namespace {

struct ReplayArguments {
  session::SamplingFlags sampling;
  std::vector<std::string> profiles;
  std::string output;
  std::optional<std::uint32_t> lag;
  FleetFlags fleet;
  bool force = false;
  bool json = false;
  bool quiet = false;
};

// "llm.csv.gz" -> "llm"
std::string Stem(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return path == "-" ? "stdin" : name.substr(0, name.find('.'));
}

// Returns the speed of the replay in a unit that suits it.
std::string Speed(double kernels_per_second) {
  return kernels_per_second < 1e5
             ? fmt::format("{:.0f} kernels/s", kernels_per_second)
             : fmt::format("{:.2f} million kernels/s", kernels_per_second * 1e-6);
}

Result<int> Replay(const ReplayArguments& arguments) {
  STEMTAP_TRY(arguments.sampling.CheckOnline());
  // The sampler prints its own progress line from here on.
  ReadProgress progress(arguments.quiet);
  const std::unique_ptr<model::ProfileReader> reader =
      STEMTAP_TRY(OpenRun(arguments.profiles, "", progress, arguments.sampling.Options().launches));
  progress.End();
  session::ReplayOptions options;
  options.sampling = arguments.sampling.Options();
  options.listed = arguments.sampling.Listed();
  options.lag = arguments.lag;
  options.source = RunName(arguments.profiles);
  options.folder = arguments.output.empty() ? DefaultDirectory(Stem(arguments.profiles.front()))
                                            : arguments.output;
  options.place = session::PlaceOf(!arguments.output.empty(), arguments.force);
  options.threads = arguments.sampling.threads();
  options.quiet = arguments.quiet;
  std::unique_ptr<fleet::PrivateServer> server;  // of this run; outlives the member
  std::unique_ptr<fleet::Member> member;
  if (arguments.fleet.is_set()) {
    STEMTAP_TRY(arguments.fleet.Check(options.sampling));
    options.director = [&](std::uint64_t lag) -> Result<online::Director*> {
      server = STEMTAP_TRY(arguments.fleet.StartServer(arguments.quiet));
      fleet::RedisUrl url =
          server != nullptr ? server->url() : STEMTAP_TRY(arguments.fleet.AwaitServer());
      member = arguments.fleet.NewMember(std::move(url), options.sampling, {lag});
      STEMTAP_TRY(member->Join());
      member->KeepPace(SizeOfLauncher().value_or(1));
      return member.get();
    };
  }
  const session::SessionResult outcome = STEMTAP_TRY(session::RunReplay(*reader, options));
  Warn(outcome.session.warnings);
  bool is_in_job = false;
  if (member != nullptr) {
    const Status left = member->Leave(outcome.folder);
    is_in_job = left.ok();
    if (!left.ok()) Warn({"the job lacks this run: " + left.error().message});
    if (is_in_job && !member->alone().empty()) Warn({member->alone()});
  }
  const model::Plan& plan = outcome.plan;
  if (!arguments.quiet) {
    const std::string& directory = outcome.folder;
    PrintMessage(
        fmt::format("stemtap: {}, session in {}\n",
                    Speed(static_cast<double>(plan.totals.invocations) / outcome.session.elapsed_s),
                    EscapeForTerminal(directory)));
    PrintNextReport(directory);
  }
  const int printed =
      arguments.json ? PrintJson(TotalsJson(plan)) : PrintText(model::PlanSummary(plan));
  if (server == nullptr) {
    if (is_in_job && !arguments.quiet) PrintMessage(arguments.fleet.BoundNote());
    return printed;
  }
  STEMTAP_TRY(EndJob(*server, arguments.fleet.Job(), outcome.folder, arguments.quiet));
  return printed;
}

}  // namespace

CommandSpec ReplayCommand() {
  CommandSpec command("replay", "sample a recorded run with the online sampler, as if it ran now");
  auto arguments = std::make_shared<ReplayArguments>();
  command.Add("profile", &arguments->profiles, kRunHelp).File().Required();
  command
      .Add("-o,--output", &arguments->output,
           "session directory to write (default: stemtap-<profile>-<pid>)")
      .Directory();
  AddForce(command, &arguments->force);
  command.Add("--json", &arguments->json, "print the plan's totals as JSON");
  command.Add("-q,--quiet", &arguments->quiet,
              "print neither a progress line nor the location of the session and the next command");
  command.Add("--lag", &arguments->lag, kLagHelp).In(0, 100'000'000).Advanced();
  arguments->fleet.AddWithRankTo(command);
  arguments->sampling.AddTo(command);
  command.run = [arguments](const CommandSpec&) {
    arguments->fleet.TakeServer();
    return Replay(*arguments);
  };
  return command;
}

}  // namespace stemtap::ui
