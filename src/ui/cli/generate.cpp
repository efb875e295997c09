// SPDX-License-Identifier: Apache-2.0
// stemtap generate: writes a synthetic run as a profile.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "model/profile_writer.h"
#include "research/workloads/workload.h"
#include "ui/cli/command_table.h"
#include "ui/cli/output.h"

namespace stemtap::ui {
namespace {

constexpr std::size_t kBatch = 65536;

struct GenerateArguments {
  std::string workload;
  std::string output;
  research::WorkloadOptions options;
  bool json = false;
  bool quiet = false;
};

Result<int> Generate(const GenerateArguments& arguments) {
  const bool to_stdout = arguments.output == "-";
  if (to_stdout && arguments.json) {
    return Error{"--json and the profile both go to standard output; expected -o FILE", 2};
  }
  const auto reader = STEMTAP_TRY(research::MakeWorkload(arguments.workload, arguments.options));
  const auto writer = STEMTAP_TRY(model::CreateProfileWriter(arguments.output));
  std::uint64_t launches = 0;
  std::uint64_t duration_ns = 0;
  for (model::ProfileBatch batch;;) {
    const std::size_t read = STEMTAP_TRY(reader->Read(batch, kBatch));
    if (read == 0) break;
    STEMTAP_TRY(writer->Write(batch, reader->names(), reader->metric_names()));
    launches += read;
    for (const shm::KernelRecord& record : batch.records) duration_ns += record.duration_ns;
  }
  STEMTAP_TRY(writer->Finish());
  if (!arguments.quiet) {
    PrintMessage(fmt::format(
        "stemtap: {} of {}, {:.3f} ms of GPU time, in {}\n", Plural(launches, "launch", "launches"),
        Plural(reader->names().size(), "kernel"), static_cast<double>(duration_ns) * 1e-6,
        to_stdout ? "standard output" : EscapeForTerminal(arguments.output)));
    PrintNextMaking("plan.json", arguments.output, "stemtap plan");
  }
  if (!arguments.json) return 0;
  const nlohmann::ordered_json json = {{"workload", arguments.workload},
                                       {"output", arguments.output},
                                       {"invocations", launches},
                                       {"duration_ns", duration_ns},
                                       {"kernels", reader->names().size()}};
  return PrintJson(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

CommandSpec GenerateCommand() {
  CommandSpec command("generate", "write a synthetic run as a profile");
  auto arguments = std::make_shared<GenerateArguments>();
  std::string help = "what to generate:";
  std::vector<std::string> names;
  for (const research::Workload& workload : research::Workloads()) {
    names.emplace_back(workload.name);
    help += fmt::format("\n{}: {}", workload.name, workload.help);
  }
  command.Add("workload", &arguments->workload, help).OneOf(names).Required();
  command.Add("-o,--output", &arguments->output, "profile to write").File().Required();
  command.Add("--launches", &arguments->options.launches, "number of kernel launches");
  command.Add("--seed", &arguments->options.seed, "seed of the launches and of the noise");
  command.Add("--json", &arguments->json, "print the totals as JSON");
  command.Add("-q,--quiet", &arguments->quiet, "print neither the totals nor the next command");
  command
      .Add("--noise-seed", &arguments->options.noise_seed,
           "seed of the noise only, for a second run of the same launches; 0: same as --seed")
      .Advanced();
  command
      .Add("--other-gpu", &arguments->options.other_gpu,
           "the same launches on a different simulated GPU, without noise")
      .Advanced();
  command
      .Add("--layers", &arguments->options.layers,
           "layers of the model, for workloads that have one (default: 12)")
      .In(1, 256)
      .Advanced();
  command.run = [arguments](const CommandSpec&) { return Generate(*arguments); };
  return command;
}

}  // namespace stemtap::ui
