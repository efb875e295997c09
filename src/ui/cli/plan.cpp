// SPDX-License-Identifier: Apache-2.0
// stemtap plan: computes the two-pass plan of a finished profile.
#include "model/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/wrap.h"
#include "model/json_text.h"
#include "model/plan_reader.h"
#include "model/plan_summary.h"
#include "research/baselines/basic_block_vectors.h"
#include "research/baselines/method_plan.h"
#include "sampling/top_up.h"
#include "sampling/two_pass.h"
#include "session/flags/sampling_flags.h"
#include "ui/cli/command_table.h"
#include "ui/cli/inputs.h"
#include "ui/cli/output.h"
#include "ui/cli/report_file.h"
#include "ui/cli/table_flags.h"

namespace stemtap::ui {
namespace {

struct PlanArguments {
  session::SamplingFlags sampling;
  std::vector<std::string> profiles;
  std::string output;
  std::string bbv;
  std::string metrics;
  std::string top_up;
  model::SimulatorRates rates;
  TableFlags table;
  bool json = false;
  bool quiet = false;
};

// Returns the method that needs all launches in memory, or nullptr for a streaming method.
const research::MethodEntry* OtherMethod(const session::SamplingFlags& sampling) {
  for (const research::MethodEntry& entry : research::Methods()) {
    if (sampling.other_method() == entry.name) return &entry;
  }
  return nullptr;
}

// The clusters and options of a plan stay, so options that would change them are errors.
Status CheckTopUp(const PlanArguments& arguments, const CommandSpec& parsed) {
  if (arguments.top_up.empty()) return Success{};
  for (const OptionSpec& option : parsed.options) {
    const std::string& name = option.names.back();
    const bool own = name == "--seed" || name == "--threads";
    const bool samples =
        option.shared || name == "--max-uncovered" || name == "--pool-small" || name == "--bbv";
    if (samples && !own && parsed.Given(name)) {
      return Error{fmt::format("--top-up: keeps the options of the plan; expected no {}", name), 2};
    }
  }
  return Success{};
}

// Checks usage rules that CLI11 does not check.
Status CheckUse(const PlanArguments& arguments, const CommandSpec& parsed) {
  if (!arguments.bbv.empty() && arguments.sampling.method() != "photon") {
    return Error{
        fmt::format("--bbv applies to --method photon, not to {}", arguments.sampling.method()), 2};
  }
  STEMTAP_TRY(CheckTopUp(arguments, parsed));
  if (arguments.json) STEMTAP_TRY(CheckWholeJson(parsed, "plan.json"));
  STEMTAP_TRY(arguments.sampling.CheckTwoPass());
  if (arguments.output == "-") {
    return Error{
        "--output: the summary goes to standard output; expected a file, or --json to print the "
        "plan",
        2};
  }
  std::vector<std::string> inputs = arguments.profiles;
  inputs.insert(inputs.end(), {arguments.bbv, arguments.metrics, arguments.top_up});
  return CheckOutputs({arguments.output}, inputs);
}

// Plans `run`, whose launches are `profile`, with a method that needs all of them in memory.
Result<model::Plan> PlanByOther(const research::MethodEntry& method, const PlanArguments& arguments,
                                const model::Profile& profile, const std::string& run) {
  research::BasicBlockVectors vectors;
  const bool has_vectors = !arguments.bbv.empty();
  if (has_vectors) vectors = STEMTAP_TRY(research::ReadBasicBlockVectors(arguments.bbv));
  STEMTAP_TRY(CheckNotEmpty(profile.records.size(), run));
  Result<model::Plan> planned = research::PlanByMethod(
      profile, method, arguments.sampling.Options(), has_vectors ? &vectors : nullptr);
  if (!planned.ok()) {
    return Error{fmt::format("{}: {}", model::NameOfSource(run), planned.error().message),
                 planned.error().exit_code};
  }
  planned.value().source = run;
  planned.value().options = arguments.sampling.Listed();
  return planned;
}

Result<model::Plan> MakePlan(const PlanArguments& arguments) {
  const research::MethodEntry* other = OtherMethod(arguments.sampling);
  // Hold the run in memory if it is a pipe, which cannot be read twice, or if the method needs
  // metrics. Otherwise stream the file.
  const bool hold =
      !CanReadAgain(arguments.profiles) || other != nullptr || !arguments.metrics.empty();
  const std::string run = RunName(arguments.profiles);
  ReadProgress progress(arguments.quiet);
  model::LaunchSelection selection = arguments.sampling.Options().launches;
  std::optional<model::Plan> before;  // of --top-up
  if (!arguments.top_up.empty()) {
    before = STEMTAP_TRY(model::LoadPlan(arguments.top_up));
    selection = model::SelectionOf(before->options);
  }
  model::Profile held;
  if (hold) {
    held = STEMTAP_TRY(LoadRun(arguments.profiles, arguments.metrics, progress, selection));
    Warn(held.warnings);
  }
  if (other != nullptr) return PlanByOther(*other, arguments, held, run);
  const sampling::OpenReader open = [&]() -> Result<std::unique_ptr<model::ProfileReader>> {
    if (hold) return model::ReadProfile(held);
    return OpenRun(arguments.profiles, "", progress, selection);
  };
  sampling::TwoPassPlan planned =
      STEMTAP_TRY(before ? sampling::TopUpPlan(*before, arguments.top_up, open, run,
                                               arguments.sampling.Options().seed)
                         : PlanRun(open, run, arguments.sampling));
  progress.Clear();
  if (!hold) Warn(planned.warnings);
  return std::move(planned.plan);
}

// Returns a line about what the samples cost if a launch has a price besides its duration.
std::string PriceText(const model::PlanTotals& totals, const session::SamplingFlags& sampling) {
  const sampling::CapturePrice price = sampling.Options().price;
  if (price.fixed_ns == 0.0) return {};
  const auto text = [&](std::uint64_t launches, std::uint64_t duration_ns) {
    return ShownSeconds(
        1e-9 * price.CostOf(static_cast<double>(launches), static_cast<double>(duration_ns)));
  };
  return fmt::format("capturing costs about {} instead of {} (--capture-cost {})\n",
                     text(totals.samples, totals.sampled_duration_ns),
                     text(totals.invocations, totals.duration_ns), sampling.capture_cost());
}

// Returns the summary for the terminal, or with the lines of summary.txt.
std::string SummaryText(const model::Plan& plan, const PlanArguments& arguments) {
  const std::size_t width = OutputWidth();
  model::SummaryTable table = {arguments.table.Choice()};
  table.text_width = width;
  if (width != kUnlimitedWidth) table.width = width;
  const std::string costs = model::CostText(plan.totals, arguments.rates) + '\n' +
                            PriceText(plan.totals, arguments.sampling);
  return model::PlanSummary(plan, table) + '\n' + WrappedLines(costs, width);
}

Result<int> RunPlan(const PlanArguments& arguments, const CommandSpec& parsed) {
  STEMTAP_TRY(CheckUse(arguments, parsed));
  const model::Plan plan = STEMTAP_TRY(MakePlan(arguments));
  if (!arguments.output.empty()) {
    STEMTAP_TRY(WriteOutput(arguments.output, model::PlanToJson(plan)));
  }
  const int printed =
      arguments.json ? PrintJson(model::PlanToJson(plan)) : PrintText(SummaryText(plan, arguments));
  if (!arguments.quiet) PrintNextReportOf(arguments.output);
  return printed;
}

}  // namespace

CommandSpec PlanCommand() {
  CommandSpec command("plan", "choose the samples of a recorded run");
  auto arguments = std::make_shared<PlanArguments>();
  command.Add("profile", &arguments->profiles, kRunHelp).File().Required();
  command.Add("-o,--output", &arguments->output, "also write plan.json to this file").File();
  arguments->table.AddTo(command, {model::PlanSortKeys().begin(), model::PlanSortKeys().end()},
                         model::kSummaryKernels);
  command.Add("--json", &arguments->json, "print plan.json instead of the summary");
  command.Add("-q,--quiet", &arguments->quiet,
              "print neither a progress line nor the next command");
  AddMethodInputs(command, &arguments->bbv, &arguments->metrics);
  std::vector<std::pair<std::string, std::string>> others;
  for (const research::MethodEntry& entry : research::Methods()) {
    const bool is_streaming =
        std::ranges::find(sampling::kMethods, std::string_view(entry.name),
                          &sampling::MethodSpec::name) != std::end(sampling::kMethods);
    if (!is_streaming) others.emplace_back(entry.name, entry.help);
  }
  arguments->sampling.AddTo(command, others);
  arguments->sampling.AddTwoPassTo(command);
  arguments->sampling.AddPoolTo(command);
  command
      .Add("--top-up", &arguments->top_up,
           "plan of this run, which gets more samples: of clusters without one, and second ones "
           "that show the spread of metrics")
      .File(PlanPath)
      .Advanced();
  AddSimulatorRates(command, &arguments->rates);
  command.run = [arguments](const CommandSpec& parsed) { return RunPlan(*arguments, parsed); };
  return command;
}

}  // namespace stemtap::ui
