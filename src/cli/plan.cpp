// SPDX-License-Identifier: Apache-2.0
// stemtap plan: the two-pass plan from a finished profile.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/sampling_flags.h"
#include "collector/worker_pool.h"
#include "importers/registry.h"
#include "stem/two_pass.h"
#include "trace/profile.h"

namespace stemtap::cli {
namespace {

struct PlanArguments {
  SamplingFlags sampling;
  std::string profile;
  std::string output;
  bool json = false;
};

int RunPlan(const PlanArguments& arguments) {
  // Standard input cannot be read twice: it is held in memory, a file is streamed.
  Profile held;
  if (arguments.profile == "-") {
    Result<std::unique_ptr<ProfileReader>> reader = OpenProfile(arguments.profile);
    if (!reader.ok()) return Fail(reader.error());
    Result<Profile> profile = LoadProfile(*reader.value());
    if (!profile.ok()) return Fail(profile.error());
    held = std::move(profile).value();
    Warn(held.warnings);
  }
  const OpenReader open = [&]() -> Result<std::unique_ptr<ProfileReader>> {
    if (arguments.profile == "-") return ReadProfile(held);
    return OpenProfile(arguments.profile);
  };
  WorkerPool pool(arguments.sampling.threads());
  const ParallelFor parallel = [&](std::size_t count, const auto& part) {
    pool.ForEach(count, part);
  };
  Result<TwoPassPlan> planned =
      PlanTwoPass(open, arguments.profile, arguments.sampling.Options(), parallel);
  if (!planned.ok()) return Fail(planned.error());
  Warn(planned.value().warnings);
  Plan& plan = planned.value().plan;
  plan.source = arguments.profile;
  plan.options = arguments.sampling.Listed();
  if (!arguments.output.empty()) {
    const Status written = WriteFileAtomically(arguments.output, PlanToJson(plan));
    if (!written.ok()) return Fail(written.error());
  }
  return Print(arguments.json ? PlanToJson(plan) : PlanSummary(plan));
}

}  // namespace

void AddPlan(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("plan", "choose the sample from a finished profile");
  auto arguments = std::make_shared<PlanArguments>();
  command->add_option("profile", arguments->profile, "recorded run, see 'stemtap formats'")
      ->required();
  command->add_option("-o,--output", arguments->output, "also write plan.json to this file");
  command->add_flag("--json", arguments->json, "print plan.json instead of the summary");
  arguments->sampling.AddTo(*command);
  command->callback([arguments, &exit_code] { exit_code = RunPlan(*arguments); });
}

}  // namespace stemtap::cli
