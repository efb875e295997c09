// SPDX-License-Identifier: Apache-2.0
// stemtap export: writes a plan's samples in the format of a simulator, tracer or profiler.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "base/file.h"
#include "base/quoting.h"
#include "base/text.h"
#include "formats/exporters/consumers.h"
#include "formats/importers/ranks.h"
#include "model/plan_reader.h"
#include "shm/record.h"
#include "ui/cli/command_table.h"
#include "ui/cli/inputs.h"
#include "ui/cli/live_run.h"
#include "ui/cli/output.h"

namespace stemtap::ui {
namespace {

// Trace lists have one line per kernel; a larger file is not a trace list.
constexpr std::size_t kMaxListBytes = std::size_t{1} << 30;

struct ExportArguments {
  std::string plan;
  std::string consumer;
  std::string output;
  std::vector<std::string> profiles;
  std::string list;
  formats::ExportOptions options;
  std::string except;
  std::optional<std::uint32_t> rank;
  bool explain = false;
  bool json = false;
  bool quiet = false;
  const CommandSpec* command = nullptr;  // reports which options were given
};

constexpr Word<formats::Processes> kProcesses[] = {{formats::Processes::kOne, "one"},
                                                   {formats::Processes::kPerDevice, "per-device"}};
constexpr Word<formats::Graphs> kGraphs[] = {{formats::Graphs::kOff, "off"},
                                             {formats::Graphs::kUncounted, "uncounted"}};
constexpr Word<bool> kCopies[] = {{true, "keep"}, {false, "drop"}};
constexpr Word<formats::NcuRuns> kModes[] = {{formats::NcuRuns::kAuto, "auto"},
                                             {formats::NcuRuns::kKernels, "kernels"},
                                             {formats::NcuRuns::kWindows, "windows"}};
constexpr Word<formats::NcuNames> kNameBases[] = {{formats::NcuNames::kFunction, "function"},
                                                  {formats::NcuNames::kDemangled, "demangled"},
                                                  {formats::NcuNames::kMangled, "mangled"}};

bool Given(const ExportArguments& arguments, const char* option) {
  return arguments.command->Given(option);
}

std::vector<std::string> InputsOf(const ExportArguments& arguments,
                                  const std::vector<std::string>& profiles) {
  std::vector<std::string> inputs = profiles;
  inputs.insert(inputs.end(), {arguments.plan, arguments.list});
  return inputs;
}

// Checks usage rules that CLI11 does not check.
Status CheckUse(const ExportArguments& arguments, const formats::Consumer& consumer) {
  if (arguments.plan.empty()) {
    return Error{"export: no plan; expected stemtap export PLAN --to TOOL", 2};
  }
  const bool to_stdout = arguments.output.empty() || arguments.output == "-";
  const std::string name(consumer.name);
  const auto only_of = [&](const char* option, const char* of) -> Status {
    if (!Given(arguments, option) || name == of) return Success{};
    return Error{fmt::format("{} applies to --to {}, not to {}", option, of, name), 2};
  };
  STEMTAP_TRY(only_of("--copies", "accelsim-kernelslist"));
  STEMTAP_TRY(only_of("--mode", "ncu"));
  STEMTAP_TRY(only_of("--kernel-name-base", "ncu"));
  STEMTAP_TRY(only_of("--timeline-launches", "perfetto"));
  if (consumer.needs_list && arguments.list.empty()) {
    return Error{
        fmt::format("--to {}: selects a part of an existing list; expected --list FILE", name), 2};
  }
  if (!consumer.needs_list && !arguments.list.empty()) {
    return Error{
        fmt::format("--list applies to consumers that select a part of a list, not to {}", name),
        2};
  }
  if (!arguments.except.empty() && name == "ncu") {
    return Error{
        "--except: ncu numbers the launches that it profiled, so its results must be of all "
        "samples; expected --to ncu without --except",
        2};
  }
  if (!arguments.options.counting.only_range.empty() && name == "ncu") {
    return Error{
        "--only-range: ncu numbers the launches that it profiled, so its results must be of all "
        "samples; expected --to ncu without --only-range, and a plan of these launches only",
        2};
  }
  if (arguments.json && arguments.explain)
    return Error{"--json and --explain both go to standard output; expected one of them", 2};
  if (arguments.json && to_stdout) {
    return Error{"--json and the selection both go to standard output; expected -o FILE", 2};
  }
  const bool printed = to_stdout || arguments.json || arguments.explain;
  if (arguments.options.weights_name == "-" && printed) {
    return Error{"--weights-csv: something else goes to standard output; expected a file", 2};
  }
  STEMTAP_TRY(CheckOutputs({arguments.output, arguments.options.weights_name},
                           InputsOf(arguments, arguments.profiles)));
  if (name == "macsim-config" && !to_stdout &&
      std::filesystem::path(arguments.output).filename().string().find('.') == std::string::npos) {
    return Error{
        "--output: the file name has no '.'; expected one, for MacSim (for example sampled.txt)",
        2};
  }
  return Success{};
}

// Returns the device of a rank in a merged plan: of the session rank-N of a job, or of the N-th
// session.
Result<std::uint16_t> DeviceOfRank(const model::Plan& plan, std::uint32_t rank) {
  const auto folder_of = [](const model::PlanSession& session) {
    return std::filesystem::path(session.folder).filename().string();
  };
  const auto named = std::ranges::find(plan.sessions, fmt::format("rank-{}", rank), folder_of);
  const bool has_names = std::ranges::any_of(plan.sessions, [&](const model::PlanSession& session) {
    return folder_of(session).starts_with("rank-");
  });
  const model::PlanSession* session = nullptr;
  if (named != plan.sessions.end()) {
    session = &*named;
  } else if (!has_names && rank < plan.sessions.size()) {
    session = &plan.sessions[rank];
  }
  if (plan.sessions.empty()) {
    return Error{fmt::format("--rank {}: the plan is of one session; expected a merged plan", rank),
                 2};
  }
  if (session == nullptr) {
    return Error{
        fmt::format("--rank {}: is none of the {} sessions of the plan; expected one of them", rank,
                    plan.sessions.size()),
        2};
  }
  if (session->devices.size() != 1) {
    return Error{fmt::format("--rank {}: has {} devices; expected one, or --device", rank,
                             session->devices.size()),
                 2};
  }
  return session->first_device;
}

// Returns the devices of the samples.
std::vector<std::uint16_t> DevicesOf(const model::Plan& plan) {
  std::vector<std::uint16_t> devices;
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      for (const model::PlanSample& sample : cluster.samples) {
        devices.push_back(sample.record.device);
      }
    }
  }
  return devices;
}

// Opens the run that the plan was made from; nullptr if the plan is sufficient.
Result<std::unique_ptr<model::ProfileReader>> OpenPlanned(const ExportArguments& arguments,
                                                          const model::Plan& plan,
                                                          const formats::Consumer& consumer,
                                                          const std::vector<std::string>& paths) {
  const bool given = !arguments.profiles.empty();
  if (!given && consumer.model.scope == formats::CountScope::kNone && !consumer.needs_timeline) {
    return std::unique_ptr<model::ProfileReader>();
  }
  if (given && !CanReadAgain(paths) && consumer.needs_timeline) {
    return Error{"--profile: is read twice; expected a file", 2};
  }
  Result<std::unique_ptr<model::ProfileReader>> opened =
      !given && paths.front() == "-" ? Error{"was standard input"} : formats::OpenRanks(paths);
  if (opened.ok() || given) return opened;
  if (arguments.options.counting.plain_launches && !consumer.needs_timeline)
    return std::unique_ptr<model::ProfileReader>();
  const std::string shown = EscapeForTerminal(arguments.plan);
  const char* const or_plain =
      consumer.needs_timeline
          ? ""
          : ", or --plain-launches if it was one process with one device and no CUDA graph";
  if (!model::IsOfLiveSession(plan)) {
    return Error{fmt::format(
        "{}: the run that it was made from cannot be read ({}); expected --profile FILE{}", shown,
        opened.error().message, or_plain)};
  }
  if (consumer.needs_timeline) {
    return Error{
        fmt::format("{}: is from a live session, which has no profile, and {} needs the start of "
                    "every launch; expected --profile FILE",
                    shown, consumer.tool)};
  }
  const std::string why =
      WhyNotPlain(arguments.plan, plan, consumer.model, arguments.options.counting.device);
  if (why.empty()) return std::unique_ptr<model::ProfileReader>();
  if (plan.sessions.size() > 1 && !arguments.options.counting.device) {
    return Error{fmt::format(
        "{}: {}, but {} numbers the launches of each by itself; export one after another with {}",
        shown, why, consumer.tool, formats::DeviceChoices(DevicesOf(plan)))};
  }
  return Error{
      fmt::format("{}: is from a live session, which has no profile, and {}, so launches cannot be "
                  "numbered for {}; expected --profile FILE{}",
                  shown, why, consumer.tool,
                  why == kNoSessionOfRun
                      ? or_plain
                      : ", --to csv, or a session of each process (docs/guide/multi-gpu.md)")};
}

// Returns a file of an earlier export to `output` that would remain among the new files and could
// be mistaken for one of them; empty if there is none. The file is not removed because its origin
// is not certain.
std::string FindLeftOver(const std::string& output, const formats::Consumer& consumer,
                         const formats::Exported& exported) {
  // Suffix after the run number.
  const bool responses = consumer.name == "ncu";
  if (!responses && consumer.name != "accelsim") return {};
  const std::filesystem::path path(output);
  const std::string main = path.filename().string();
  const auto is_new = [&](const std::string& name) {
    return std::any_of(
        exported.files.begin(), exported.files.end(),
        [&](const formats::ExportedFile& file) { return name == main + file.suffix; });
  };
  std::error_code error;
  std::string least;
  for (std::filesystem::directory_iterator
           entry(path.has_parent_path() ? path.parent_path() : ".", error),
       end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(main) || is_new(name)) continue;
    std::string_view rest = std::string_view(name).substr(main.size());
    // A single setting, where the new export would write several.
    if (rest.empty() && !responses) rest = ".1";
    if (responses && rest.ends_with(".rsp")) {
      rest.remove_suffix(4);
    } else if (responses) {
      continue;
    }
    if (rest.size() < 2 || rest[0] != '.' ||
        rest.find_first_not_of("0123456789", 1) != std::string_view::npos) {
      continue;
    }
    if (least.empty() || name < least) least = name;
  }
  return least.empty() ? least : (path.parent_path() / least).string();
}

// Writes all files or none: a partial set could be mistaken for the whole selection.
Status WriteFiles(const ExportArguments& arguments, const formats::Exported& exported,
                  std::vector<std::string>& written) {
  for (const formats::ExportedFile& file : exported.files) {
    const std::string path = arguments.output + file.suffix;
    const Status status = WriteOutput(path, file.content);
    if (!status.ok()) {
      std::error_code ignored;
      for (const std::string& part : written) {
        if (std::filesystem::is_regular_file(part, ignored)) std::filesystem::remove(part, ignored);
      }
      return status;
    }
    written.push_back(path);
  }
  return Success{};
}

Status ReadList(const ExportArguments& arguments, formats::ExportOptions& options) {
  std::unique_ptr<ByteSource> source = STEMTAP_TRY(OpenByteSource(arguments.list));
  options.list =
      STEMTAP_TRY(ReadWhole(*LimitUnpacking(std::move(source)), kMaxListBytes, "a list of traces"));
  options.list_name = EscapeForTerminal(arguments.list);
  if (!options.list.empty() && !options.list.ends_with('\n')) {
    return Error{
        fmt::format("{}: the last line has no line end and may be cut; expected a complete list",
                    options.list_name)};
  }
  return Success{};
}

// Writes the files to -o PATH, after a check of all of them and of the run that the plan names.
Status WriteToPath(const ExportArguments& arguments, const formats::Consumer& consumer,
                   const formats::Exported& exported, const std::vector<std::string>& paths,
                   std::vector<std::string>& written) {
  std::vector<std::string> outputs = {arguments.options.weights_name};
  for (const formats::ExportedFile& file : exported.files) {
    outputs.push_back(arguments.output + file.suffix);
  }
  STEMTAP_TRY(CheckOutputs(outputs, InputsOf(arguments, paths)));
  const std::string left = FindLeftOver(arguments.output, consumer, exported);
  if (!left.empty()) {
    return Error{fmt::format(
        "{}: could be mistaken for one of the {} files of this export; remove it, or use another "
        "-o PATH",
        EscapeForTerminal(left), exported.files.size())};
  }
  return WriteFiles(arguments, exported, written);
}

std::string ExportJson(const ExportArguments& arguments, const formats::CountedPlan& counted,
                       const formats::Exported& exported, const std::string& profile,
                       const std::vector<std::string>& written,
                       const std::vector<std::string>& notes) {
  const nlohmann::ordered_json json = {
      {"consumer", arguments.consumer},
      {"plan", arguments.plan},
      {"profile", counted.from_profile ? nlohmann::ordered_json(profile) : nullptr},
      {"samples", counted.samples.size()},
      {"launches", exported.ids},
      {"runs", exported.runs},
      {"files", written},
      {"notes", notes}};
  return EscapeJson(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) + "\n";
}

// Returns the options of extrapolate for the results of the tool or its simulator, RESULTS. The
// script for ncu names its results itself.
std::string NextOptions(const ExportArguments& arguments, const formats::Consumer& consumer) {
  if (consumer.name == "ncu") return formats::NcuResultsOptions(arguments.options.counting);
  std::string options;
  if (arguments.options.counting.device && !arguments.options.weights_name.empty()) {
    // The results have the numbers of one process, which the table maps to launches of the plan.
    options = fmt::format("--ids {} ", ShellPath(arguments.options.weights_name));
  }
  return options + "--results RESULTS";
}

// Returns the command of a live run in the form for a shell; PROGRAM if it is not known.
std::string ProgramOf(const std::string& path, const model::Plan& plan) {
  std::string program;
  for (const std::string& word : CommandOfRun(path, plan)) {
    program += (program.empty() ? "" : " ") + ShellWord(word);
  }
  return program.empty() ? "PROGRAM" : program;
}

void PrintWritten(const ExportArguments& arguments, const formats::Consumer& consumer,
                  const formats::Exported& exported, const std::vector<std::string>& notes) {
  const bool to_stdout = arguments.output.empty() || arguments.output == "-";
  if (!arguments.quiet) {
    PrintMessage(fmt::format(
        "stemtap: {} for {} in {}{}\n", Plural(exported.ids, "launch", "launches"), consumer.tool,
        to_stdout ? "standard output" : EscapeForTerminal(arguments.output),
        exported.runs > 1 ? fmt::format(", {} runs of the program", exported.runs) : ""));
  }
  for (const std::string& note : notes) PrintMessage("stemtap: " + EscapeForTerminal(note) + "\n");
  // Consumers that count no launches have no results.
  if (!arguments.quiet && consumer.model.scope != formats::CountScope::kNone) {
    PrintNextFor(arguments.plan, "stemtap extrapolate", NextOptions(arguments, consumer));
  }
}

// Returns the launch indices of the samples of a plan.
Result<std::set<std::uint64_t>> SampledLaunches(const std::string& path) {
  const model::Plan plan = STEMTAP_TRY(model::LoadPlan(path));
  std::set<std::uint64_t> launches;
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      for (const model::PlanSample& sample : cluster.samples) launches.insert(sample.index);
    }
  }
  return launches;
}

// Writes the export and its notes. Returns what is printed on standard output.
Result<std::string> Export(ExportArguments arguments) {
  const formats::Consumer& consumer = *formats::FindConsumer(arguments.consumer);
  const std::string tool(consumer.tool);
  const bool to_stdout = arguments.output.empty() || arguments.output == "-";
  STEMTAP_TRY(CheckUse(arguments, consumer));
  const model::Plan plan = STEMTAP_TRY(model::LoadPlan(arguments.plan));
  if (arguments.rank) {
    arguments.options.counting.device = STEMTAP_TRY(DeviceOfRank(plan, *arguments.rank));
  }
  formats::ExportOptions options = arguments.options;
  if (consumer.needs_list) STEMTAP_TRY(ReadList(arguments, options));

  const std::vector<std::string> paths =
      arguments.profiles.empty() ? RunPaths(plan.source) : arguments.profiles;
  const std::string path = RunName(paths);
  const std::string shown = EscapeForTerminal(path);
  options.counting.ranks = paths.size();
  if (IsFile(arguments.plan)) options.plan = ShellPath(arguments.plan);
  if (!arguments.except.empty()) {
    options.counting.except = STEMTAP_TRY(SampledLaunches(arguments.except));
  }
  const std::unique_ptr<model::ProfileReader> profile =
      STEMTAP_TRY(OpenPlanned(arguments, plan, consumer, paths));
  const formats::CountedPlan counted = STEMTAP_TRY(
      formats::CountLaunches(plan, profile.get(), shown, consumer.model, tool, options.counting));
  if (profile != nullptr) Warn(profile->warnings());
  if (arguments.explain && to_stdout) return EscapeLines(formats::Explain(consumer, counted));

  std::unique_ptr<model::ProfileReader> again;
  if (consumer.needs_timeline) again = STEMTAP_TRY(formats::OpenRanks(paths));
  const formats::Exported exported =
      STEMTAP_TRY(consumer.write({counted, options, again.get(), shown}));
  if (to_stdout && !exported.files.front().suffix.empty()) {
    return Error{
        fmt::format("the export consists of {} files; expected -o PATH", exported.files.size()), 2};
  }
  std::vector<std::string> written;
  if (!to_stdout) STEMTAP_TRY(WriteToPath(arguments, consumer, exported, paths, written));
  std::vector<std::string> notes = exported.notes;
  if (counted.left_out != 0) {
    notes.push_back(
        fmt::format("{} on other devices; omitted ({} {})",
                    Plural(counted.left_out, "sample is", "samples are"),
                    arguments.rank ? "--rank" : "--device",
                    arguments.rank ? *arguments.rank : *arguments.options.counting.device));
  }
  if (counted.excepted != 0) {
    notes.push_back(fmt::format("{} also in {}; omitted (--except)",
                                Plural(counted.excepted, "sample is", "samples are"),
                                EscapeForTerminal(arguments.except)));
  }
  if (counted.in_other_ranges != 0) {
    notes.push_back(fmt::format("{} in other ranges; omitted (--only-range)",
                                Plural(counted.in_other_ranges, "sample is", "samples are")));
  }
  if (!arguments.options.weights_name.empty()) {
    STEMTAP_TRY(WriteOutput(arguments.options.weights_name, formats::WeightsCsv(counted)));
    written.push_back(arguments.options.weights_name);
  } else if (consumer.model.scope != formats::CountScope::kNone) {
    notes.push_back("weights: keep the plan for 'stemtap extrapolate', or use --weights-csv");
  }
  if (consumer.name == "ncu" && !to_stdout) {
    notes.push_back(
        fmt::format("measure with: NCU_OPTIONS='--metrics smsp__inst_executed.sum' sh {} {}",
                    ShellPath(arguments.output), ProgramOf(arguments.plan, plan)));
  }
  PrintWritten(arguments, consumer, exported, notes);
  if (to_stdout) return exported.files.front().content;
  if (arguments.explain) return EscapeLines(formats::Explain(consumer, counted));
  if (!arguments.json) return std::string();
  return ExportJson(arguments, counted, exported, path, written, notes);
}

}  // namespace

CommandSpec ExportCommand() {
  CommandSpec command("export", "write a plan's samples for a tracer, simulator or profiler");
  auto arguments = std::make_shared<ExportArguments>();
  AddPlan(command, &arguments->plan, "plan.json to export, or its session");
  std::string help = "tool that reads the selection:";
  std::vector<std::string> names;
  for (const formats::Consumer& consumer : formats::Consumers()) {
    names.emplace_back(consumer.name);
    help += fmt::format("\n{}: {}", consumer.name, consumer.what);
  }
  command.Add("--to", &arguments->consumer, help).OneOf(names).Required();
  command.Add("-o,--output", &arguments->output, "file to write (default: standard output)").File();
  command
      .Add("--profile", &arguments->profiles,
           "run that the plan was made from (default: the plan's source)")
      .File();
  command
      .Add("--except", &arguments->except,
           "leave out the samples of this plan, which 'stemtap plan --top-up' added others to")
      .File(PlanPath);
  command
      .Add("--only-range", &arguments->options.counting.only_range,
           "only samples in ranges with this name; the plan was made with --ranges or --only-range")
      .Type("NAME")
      .check = session::OnlyRangeError;
  command.Add("--device", &arguments->options.counting.device, "only samples of this device")
      .In(0, shm::kUnknown16 - 1);
  command
      .Add("--rank", &arguments->rank,
           "only samples of this rank of a merged plan: its session rank-N, or its N-th session, "
           "from 0")
      .excludes = "--device";
  command.Add("--list", &arguments->list, "existing kernelslist.g or kernel_config.txt to filter")
      .File();
  command
      .Add("--weights-csv", &arguments->options.weights_name,
           "also write the id and weight of each launch to this file")
      .File();
  command.Add("--json", &arguments->json, "print the totals as JSON");
  command.Add("-q,--quiet", &arguments->quiet, "print neither the totals nor the next command");
  command
      .Add("--processes", Choice(&arguments->options.counting.processes, kProcesses),
           "with several devices: one process used all devices, or each device had a process")
      .Advanced();
  command
      .Add("--graphs", Choice(&arguments->options.counting.graphs, kGraphs),
           "CUDA graphs in the run to trace: off if their kernels are launched one by one; "
           "uncounted if neither capture nor replay advances the tool's count")
      .Advanced();
  command
      .Add("--plain-launches", &arguments->options.counting.plain_launches,
           "without a profile: the run was one process with one device and no CUDA graph")
      .Advanced();
  command
      .Add("--copies", Choice(&arguments->options.keep_copies, kCopies),
           "memory copies of a kernelslist.g")
      .Advanced();
  command
      .Add("--mode", Choice(&arguments->options.ncu_runs, kModes),
           "runs of ncu: one per kernel, one per window of consecutive launches, or (auto) per "
           "kernel if all versions of ncu agree")
      .Advanced();
  command
      .Add("--kernel-name-base", Choice(&arguments->options.ncu_names, kNameBases),
           "kind of ncu kernel names in the profile (default: guessed)")
      .Advanced();
  command
      .Add("--timeline-launches", &arguments->options.timeline_launches,
           "perfetto: show every launch if the run has at most this many")
      .Advanced();
  command
      .Add("--explain", &arguments->explain,
           "print how the tool counts and the first ids, instead of the selection or in addition "
           "to -o")
      .Advanced();
  command.run = [arguments](const CommandSpec& parsed) -> Result<int> {
    arguments->command = &parsed;
    return Print(STEMTAP_TRY(Export(*arguments)));
  };
  return command;
}

}  // namespace stemtap::ui
