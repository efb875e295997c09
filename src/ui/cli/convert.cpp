// SPDX-License-Identifier: Apache-2.0
// stemtap convert: writes any readable profile in the canonical form.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "model/profile_writer.h"
#include "ui/cli/command_table.h"
#include "ui/cli/inputs.h"
#include "ui/cli/output.h"

namespace stemtap::ui {
namespace {

struct ConvertArguments {
  std::vector<std::string> profiles;
  std::string output;
  std::string metrics;
  bool json = false;
  bool quiet = false;
};

Result<int> RunConvert(const ConvertArguments& arguments) {
  const bool to_stdout = arguments.output == "-";
  if (to_stdout && arguments.json) {
    return Error{"--json and the profile both go to standard output; expected -o FILE", 2};
  }
  std::vector<std::string> inputs = arguments.profiles;
  inputs.push_back(arguments.metrics);
  STEMTAP_TRY(CheckOutputs({arguments.output}, inputs));
  ReadProgress progress(arguments.quiet);
  model::LaunchSelection everything;
  everything.by_range = true;
  const std::unique_ptr<model::ProfileReader> opened =
      STEMTAP_TRY(OpenRun(arguments.profiles, arguments.metrics, progress, everything));
  model::ProfileReader& reader = *opened;
  const std::unique_ptr<model::ProfileWriter> writer =
      STEMTAP_TRY(model::CreateProfileWriter(arguments.output, reader.marks()));
  std::uint64_t invocations = 0;
  std::uint64_t zero_duration = 0;
  for (model::ProfileBatch batch;;) {
    const std::size_t read = STEMTAP_TRY(reader.Read(batch, model::kBatchLaunches));
    // Also write the final empty batch: it carries the metric names of a profile without rows.
    STEMTAP_TRY(writer->Write(batch, reader.names(), reader.metric_names()));
    if (read == 0) break;
    invocations += read;
    for (const shm::KernelRecord& record : batch.records) zero_duration += record.duration_ns == 0;
  }
  progress.Clear();
  STEMTAP_TRY(writer->Finish());
  Warn(reader.warnings());
  if (!arguments.quiet) {
    PrintMessage(fmt::format("stemtap: {} of {}, {} of duration 0, in {}\n",
                             Plural(invocations, "launch", "launches"),
                             Plural(reader.names().CountWithoutRanges(), "kernel"), zero_duration,
                             to_stdout ? "standard output" : EscapeForTerminal(arguments.output)));
    // A plan needs a launch.
    if (invocations != 0) PrintNextMaking("plan.json", arguments.output, "stemtap plan");
  }
  if (!arguments.json) return 0;
  const nlohmann::ordered_json json = {{"source", RunName(arguments.profiles)},
                                       {"output", arguments.output},
                                       {"invocations", invocations},
                                       {"zero_duration", zero_duration},
                                       {"kernels", reader.names().CountWithoutRanges()},
                                       {"metrics", reader.metric_names()}};
  return PrintJson(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

CommandSpec ConvertCommand() {
  CommandSpec command("convert", "rewrite a profile in the canonical form");
  auto arguments = std::make_shared<ConvertArguments>();
  command.Add("profile", &arguments->profiles, kRunHelp).File().Required();
  command
      .Add("-o,--output", &arguments->output,
           "file to write: .csv or .stemtap, optionally with .gz or .zst; '-' is CSV on standard "
           "output")
      .File()
      .Required();
  command
      .Add("--metrics", &arguments->metrics,
           "Nsight Compute metrics of the same launches, added as columns")
      .File();
  command.Add("--json", &arguments->json, "print the totals as JSON");
  command.Add("-q,--quiet", &arguments->quiet,
              "print neither a progress line nor the totals and the next command");
  command.run = [arguments](const CommandSpec&) { return RunConvert(*arguments); };
  return command;
}

}  // namespace stemtap::ui
