// SPDX-License-Identifier: Apache-2.0
// stemtap align: checks whether two recorded runs launch the same kernels in the same order, and
// transfers a plan from one run to the other. See docs/formats/align.md.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "analysis/alignment/alignment.h"
#include "analysis/alignment/plan_transfer.h"
#include "base/text.h"
#include "formats/importers/ranks.h"
#include "model/json_text.h"
#include "model/plan_reader.h"
#include "ui/cli/command_table.h"
#include "ui/cli/inputs.h"
#include "ui/cli/output.h"

namespace stemtap::ui {
namespace {

using nlohmann::ordered_json;

// Maximum number of kernels with unequal counts and of dropped samples listed without --all: about
// one screen.
constexpr std::size_t kMaxListed = 20;
// Launches shown before and after the point where the order diverges.
constexpr std::size_t kContext = 3;

struct AlignArguments {
  std::string a;
  std::string b;
  std::string plan;
  std::string output;
  bool drop_unmatched = false;
  bool exit_code = false;
  bool all = false;
  bool json = false;
};

Result<analysis::Run> Load(const std::string& path) {
  const std::unique_ptr<model::ProfileReader> reader = STEMTAP_TRY(formats::OpenRanks({&path, 1}));
  analysis::Run run = STEMTAP_TRY(analysis::LoadRun(*reader, model::NameOfSource(path)));
  Warn(run.warnings);
  return run;
}

const char* OrderName(analysis::LaunchOrder order) {
  switch (order) {
    case analysis::LaunchOrder::kIdentical:
      return "identical";
    case analysis::LaunchOrder::kInterleaved:
      return "interleaved";
    case analysis::LaunchOrder::kDifferent:
      break;
  }
  return "different";
}

ordered_json DeviceJson(std::uint16_t device) {
  return device == shm::kUnknown16 ? ordered_json(nullptr) : ordered_json(device);
}

// One launch near the point where the order diverges.
struct Shown {
  std::uint32_t index = 0;
  bool paired = false;
};

std::vector<Shown> Window(const std::vector<std::uint32_t>& line, std::size_t at,
                          const std::vector<std::uint32_t>& partner) {
  std::vector<Shown> shown;
  const std::size_t begin = at > kContext ? at - kContext : 0;
  for (std::size_t i = begin; i < line.size() && i <= at + kContext; ++i) {
    shown.push_back({line[i], partner[line[i]] != analysis::kNoPartner});
  }
  return shown;
}

ordered_json WindowJson(const analysis::Run& run, const std::vector<Shown>& window) {
  ordered_json json = ordered_json::array();
  for (const Shown& shown : window) {
    const analysis::RunLaunch& launch = run.launches[shown.index];
    const auto stream =
        launch.stream == shm::kUnknown32 ? ordered_json(nullptr) : ordered_json(launch.stream);
    json.push_back({{"index", shown.index},
                    {"name", run.names.name(launch.name_id)},
                    {"stream", stream},
                    {"grid", {launch.grid[0], launch.grid[1], launch.grid[2]}},
                    {"block", {launch.block[0], launch.block[1], launch.block[2]}},
                    {"paired", shown.paired}});
  }
  return json;
}

std::string WindowText(const char* side, const analysis::Run& run,
                       const std::vector<Shown>& window) {
  std::string text;
  for (const Shown& shown : window) {
    const analysis::RunLaunch& launch = run.launches[shown.index];
    std::string name = EscapeForTerminal(run.names.name(launch.name_id));
    if (name.size() > 80) name = name.substr(0, 77) + "...";
    text += fmt::format("  {} {} {:>8}  stream {}  ({},{},{}) ({},{},{})  {}\n", side,
                        shown.paired ? ' ' : '!', shown.index,
                        launch.stream == shm::kUnknown32 ? "?" : std::to_string(launch.stream),
                        launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0],
                        launch.block[1], launch.block[2], name);
  }
  if (window.empty()) text = fmt::format("  {}   (no launch)\n", side);
  return text;
}

ordered_json AlignmentJson(const AlignArguments& arguments, const analysis::Run& a,
                           const analysis::Run& b, const analysis::Alignment& alignment) {
  ordered_json devices = ordered_json::array();
  for (const analysis::DeviceAlignment& device : alignment.devices) {
    ordered_json one = {{"device_a", device.in_a ? DeviceJson(device.device_a) : nullptr},
                        {"device_b", device.in_b ? DeviceJson(device.device_b) : nullptr},
                        {"order", OrderName(device.order)},
                        {"by_stream", device.by_stream},
                        {"invocations_a", device.launches_a},
                        {"invocations_b", device.launches_b},
                        {"paired", device.paired}};
    if (device.order != analysis::LaunchOrder::kIdentical) {
      one["first_divergence"] = {
          {"a", WindowJson(a, Window(device.line_a, device.first_a, alignment.partner_of_a))},
          {"b", WindowJson(b, Window(device.line_b, device.first_b, alignment.partner_of_b))}};
    }
    devices.push_back(std::move(one));
  }
  ordered_json kernels = ordered_json::array();
  const std::size_t max_listed = arguments.all ? alignment.differs.size() : kMaxListed;
  for (std::size_t i = 0; i < alignment.differs.size() && i < max_listed; ++i) {
    const analysis::KernelCount& count = alignment.differs[i];
    kernels.push_back({{"name", count.name},
                       {"device", DeviceJson(count.device)},
                       {"invocations_a", count.count_a},
                       {"invocations_b", count.count_b},
                       {"duration_a_ns", count.duration_a_ns},
                       {"duration_b_ns", count.duration_b_ns}});
  }
  return {{"a", arguments.a},
          {"b", arguments.b},
          {"order", OrderName(alignment.order)},
          {"invocations_a", a.launches.size()},
          {"invocations_b", b.launches.size()},
          {"paired", alignment.paired},
          {"only_in_a", alignment.only_in_a},
          {"only_in_b", alignment.only_in_b},
          {"kernels", alignment.kernels},
          {"kernels_of_unequal_count", alignment.differs.size()},
          {"not_compared", alignment.ignored},
          {"names_cut", alignment.names_cut},
          {"unequal_counts", std::move(kernels)},
          {"devices", std::move(devices)}};
}

std::string Verdict(const analysis::Alignment& alignment) {
  switch (alignment.order) {
    case analysis::LaunchOrder::kIdentical:
      return "aligned: the same launches in the same order\n";
    case analysis::LaunchOrder::kInterleaved:
      return "aligned: the same launches in the same order in every stream; the streams interleave "
             "differently\n";
    case analysis::LaunchOrder::kDifferent:
      break;
  }
  if (alignment.only_in_a == 0 && alignment.only_in_b == 0) {
    return "not aligned: the same launches in the same order, on streams that do not correspond\n";
  }
  return fmt::format("not aligned: {} only in A, {} only in B, {} with unequal counts\n",
                     Plural(alignment.only_in_a, "launch", "launches"), alignment.only_in_b,
                     Plural(alignment.differs.size(), "kernel"));
}

std::string AlignmentText(const AlignArguments& arguments, const analysis::Run& a,
                          const analysis::Run& b, const analysis::Alignment& alignment) {
  std::string text = fmt::format(
      "A: {}, {}\nB: {}, {}\n{} paired\n", Plural(a.launches.size(), "launch", "launches"),
      model::NameOfSource(arguments.a), Plural(b.launches.size(), "launch", "launches"),
      model::NameOfSource(arguments.b), Plural(alignment.paired, "launch", "launches"));
  for (const std::string& ignored : alignment.ignored) {
    text += fmt::format("not compared, because a run lacks it for some launches: {}\n", ignored);
  }
  if (alignment.names_cut) text += "names are compared without compiler suffixes\n";
  if (!alignment.differs.empty()) {
    text +=
        "\nkernels with unequal launch counts:\n         in A       in B     time ms  device  "
        "name\n";
    const std::size_t max_listed = arguments.all ? alignment.differs.size() : kMaxListed;
    for (std::size_t i = 0; i < alignment.differs.size() && i < max_listed; ++i) {
      const analysis::KernelCount& count = alignment.differs[i];
      const auto time = std::max(count.duration_a_ns, count.duration_b_ns);
      text += fmt::format("  {:>11}{:>11}{:>12.3f}  {:>6}  {}\n", count.count_a, count.count_b,
                          static_cast<double>(time) * 1e-6,
                          count.device == shm::kUnknown16 ? "?" : std::to_string(count.device),
                          EscapeForTerminal(count.name));
    }
    if (alignment.differs.size() > max_listed) {
      text += fmt::format("  and {} more (--all)\n", alignment.differs.size() - max_listed);
    }
  }
  for (const analysis::DeviceAlignment& device : alignment.devices) {
    if (device.order == analysis::LaunchOrder::kIdentical) continue;
    const std::uint16_t number = device.in_a ? device.device_a : device.device_b;
    text += fmt::format(
        "\n{}: the order first differs here (!: no counterpart)\n",
        number == shm::kUnknown16 ? std::string("all launches") : fmt::format("device {}", number));
    text += WindowText("A", a, Window(device.line_a, device.first_a, alignment.partner_of_a));
    text += WindowText("B", b, Window(device.line_b, device.first_b, alignment.partner_of_b));
  }
  return text + "\n" + Verdict(alignment);
}

Result<analysis::PlanTransfer> CarryPlan(const AlignArguments& arguments, const analysis::Run& a,
                                         const analysis::Run& b,
                                         const analysis::Alignment& alignment) {
  const model::Plan plan = STEMTAP_TRY(model::LoadPlan(arguments.plan));
  analysis::PlanTransferOptions options;
  options.drop_unmatched = arguments.drop_unmatched;
  options.plan_name = arguments.plan;
  options.source_b = arguments.b;
  analysis::PlanTransfer transfer =
      STEMTAP_TRY(analysis::TransferPlan(plan, a, b, alignment, options));
  STEMTAP_TRY(WriteOutput(arguments.output, model::PlanToJson(transfer.plan)));
  return transfer;
}

std::string TransferText(const AlignArguments& arguments, const analysis::PlanTransfer& transfer) {
  std::string text;
  const std::size_t max_listed = arguments.all ? transfer.dropped.size() : kMaxListed;
  for (std::size_t i = 0; i < transfer.dropped.size() && i < max_listed; ++i) {
    const analysis::DroppedSample& dropped = transfer.dropped[i];
    text += fmt::format("dropped: launch {} of A, {}: {}\n", dropped.index, dropped.reason,
                        EscapeForTerminal(dropped.kernel));
  }
  if (transfer.dropped.size() > max_listed) {
    text += fmt::format("and {} more dropped (--all)\n", transfer.dropped.size() - max_listed);
  }
  const model::PlanTotals& totals = transfer.plan.totals;
  return text + fmt::format(
                    "plan for B in {}: {}, {} dropped, {:.2f} % of B's time uncovered, "
                    "{:.2f} % in joined launches, observed error {:.2f} %\n",
                    EscapeForTerminal(arguments.output), Plural(totals.samples, "sample"),
                    transfer.dropped.size(), 100 * totals.uncovered_fraction,
                    100 * totals.joined_fraction, 100 * totals.observed_error);
}

ordered_json TransferJson(const AlignArguments& arguments, const analysis::PlanTransfer& transfer) {
  ordered_json dropped = ordered_json::array();
  for (const analysis::DroppedSample& sample : transfer.dropped) {
    dropped.push_back(
        {{"index", sample.index}, {"kernel", sample.kernel}, {"reason", sample.reason}});
  }
  const model::PlanTotals& totals = transfer.plan.totals;
  return {{"output", arguments.output},
          {"samples", totals.samples},
          {"uncovered_fraction", totals.uncovered_fraction},
          {"joined_fraction", totals.joined_fraction},
          {"observed_error", totals.observed_error},
          {"dropped", std::move(dropped)}};
}

Result<int> RunAlign(const AlignArguments& arguments) {
  if (arguments.plan.empty() != arguments.output.empty()) {
    return Error{"--plan and --output belong together; expected both or neither", 2};
  }
  if (arguments.drop_unmatched && arguments.plan.empty()) {
    return Error{"--drop-unmatched drops samples of a plan; expected --plan", 2};
  }
  if (arguments.a == "-" && arguments.b == "-") {
    return Error{"both runs are standard input; expected a file for one", 2};
  }
  if (arguments.output == "-") {
    return Error{"--output: the comparison goes to standard output; expected a file", 2};
  }
  STEMTAP_TRY(CheckOutputs({arguments.output}, {arguments.a, arguments.b, arguments.plan}));
  const analysis::Run a = STEMTAP_TRY(Load(arguments.a));
  const analysis::Run b = STEMTAP_TRY(Load(arguments.b));
  const analysis::Alignment alignment = analysis::AlignRuns(a, b);
  ordered_json json;
  std::string text;
  if (arguments.json) {
    json = AlignmentJson(arguments, a, b, alignment);
  } else {
    text = AlignmentText(arguments, a, b, alignment);
  }
  if (!arguments.plan.empty()) {
    const Result<analysis::PlanTransfer> transfer = CarryPlan(arguments, a, b, alignment);
    if (!transfer.ok()) {
      if (!arguments.json) PrintText(text);  // the text shows why
      return transfer.error();
    }
    Warn(transfer.value().warnings);
    if (arguments.json) {
      json["plan"] = TransferJson(arguments, transfer.value());
    } else {
      text += TransferText(arguments, transfer.value());
    }
  }
  const int printed =
      arguments.json
          ? PrintJson(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n")
          : PrintText(text);
  if (printed != 0) return printed;
  return arguments.exit_code && alignment.order == analysis::LaunchOrder::kDifferent ? 1 : 0;
}

}  // namespace

CommandSpec AlignCommand() {
  CommandSpec command("align",
                      "compare two runs launch by launch, or transfer a plan between them");
  auto arguments = std::make_shared<AlignArguments>();
  command.Add("a", &arguments->a, "recorded run, see 'stemtap formats'").File().Required();
  command.Add("b", &arguments->b, "another run of the same program").File().Required();
  command.Add("--plan", &arguments->plan, "plan.json made from the first run, or its session")
      .File(PlanPath);
  command.Add("-o,--output", &arguments->output, "plan to write, for the second run").File();
  command.Add("--json", &arguments->json, "print the comparison as JSON");
  command
      .Add("--drop-unmatched", &arguments->drop_unmatched,
           "leave out samples without a counterpart instead of failing")
      .Advanced();
  command.Add("--exit-code", &arguments->exit_code, "exit with 1 if the runs differ").Advanced();
  command.Add("--all", &arguments->all, "list every kernel with unequal counts").Advanced();
  command.run = [arguments](const CommandSpec&) { return RunAlign(*arguments); };
  return command;
}

}  // namespace stemtap::ui
