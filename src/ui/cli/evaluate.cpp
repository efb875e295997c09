// SPDX-License-Identifier: Apache-2.0
// stemtap evaluate: compares the cost and error of every method on recorded runs.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "research/baselines/basic_block_vectors.h"
#include "research/baselines/method.h"
#include "research/evaluation/evaluation.h"
#include "research/evaluation/report.h"
#include "session/flags/sampling_flags.h"
#include "session/replay.h"
#include "ui/cli/command_table.h"
#include "ui/cli/inputs.h"
#include "ui/cli/output.h"

namespace stemtap::ui {
namespace {

// With 20,000 runs the p95 is accurate to 0.7 %, as speedup ratios close to 1 require.
constexpr std::uint64_t kEqualErrorRuns = 20000;

struct EvaluateArguments {
  session::SamplingFlags sampling;
  std::vector<std::string> profiles;
  std::vector<std::string> methods;
  std::uint64_t runs = 100;
  std::string against;
  bool online = false;
  std::optional<std::uint32_t> lag;
  std::vector<double> error_bounds;
  std::vector<std::string> equal_error;
  std::string bbv;
  std::string metrics;
  std::string csv;
  bool json = false;
  const CommandSpec* command = nullptr;

  bool Given(const char* option) const { return command->Given(option); }
};

Result<model::Profile> Load(const std::string& path, const std::string& metrics) {
  ReadProgress progress;
  model::Profile profile = STEMTAP_TRY(LoadRun({path}, metrics, progress));
  STEMTAP_TRY(CheckNotEmpty(profile.records.size(), path));
  for (std::string& warning : profile.warnings) {
    warning = fmt::format("{}: {}", path, warning);
  }
  Warn(profile.warnings);
  return profile;
}

Result<research::EvaluatedRun> LoadWorkload(const std::string& path,
                                            const EvaluateArguments& arguments) {
  model::Profile profile = STEMTAP_TRY(Load(path, arguments.metrics));
  research::EvaluatedRun workload = STEMTAP_TRY(
      research::MakeEvaluatedRun(path, std::move(profile), arguments.sampling.Options()));
  if (arguments.against.empty()) return workload;
  const model::Profile other = STEMTAP_TRY(Load(arguments.against, ""));
  STEMTAP_TRY(research::CompareWith(workload, arguments.against, other));
  return workload;
}

Result<const research::MethodEntry*> FindMethod(const std::string& name, const char* option) {
  std::vector<std::string> names;
  for (const research::MethodEntry& entry : research::Methods()) {
    if (name == entry.name) return &entry;
    names.emplace_back(entry.name);
  }
  const std::string_view nearest = NearestName(name, names);
  return Error{fmt::format("{}: unknown method '{}', {}", option, EscapeForTerminal(name),
                           nearest.empty() ? fmt::format("expected {}", fmt::join(names, ", "))
                                           : fmt::format("did you mean {}?", nearest)),
               2};
}

Result<std::vector<const research::MethodEntry*>> FindMethods(const std::vector<std::string>& names,
                                                              const char* option) {
  std::vector<const research::MethodEntry*> methods;
  for (const std::string& name : names) {
    methods.push_back(STEMTAP_TRY(FindMethod(name, option)));
  }
  return methods;
}

// Rejects options that are incompatible.
Status CheckUse(const EvaluateArguments& arguments) {
  for (const char* option : {"--bbv", "--metrics", "--against"}) {
    if (arguments.Given(option) && arguments.profiles.size() != 1) {
      return Error{fmt::format("{} applies to one profile; expected one PROFILE, got {}", option,
                               arguments.profiles.size()),
                   2};
    }
  }
  if (arguments.Given("--lag") && !arguments.online) {
    return Error{"--lag applies to the online sampler; expected --online", 2};
  }
  if (arguments.Given("--method") && !arguments.online) {
    return Error{"--method selects the online sampler's method; expected --online, or --methods",
                 2};
  }
  if (arguments.Given("--error-bound") && arguments.Given("--error-bounds")) {
    return Error{"--error-bounds replaces --error-bound; expected only one of them", 2};
  }
  if (arguments.Given("--equal-error")) {
    if (arguments.equal_error.size() != 2 || arguments.equal_error[0] == arguments.equal_error[1]) {
      return Error{"--equal-error: expected two different methods, as in optimal,root", 2};
    }
    for (const char* other : {"--methods", "--online", "--against", "--error-bounds"}) {
      if (arguments.Given(other)) {
        return Error{fmt::format("--equal-error excludes {}; expected only one of them", other), 2};
      }
    }
  }
  STEMTAP_TRY(arguments.sampling.CheckTwoPass());
  if (arguments.csv == "-") {
    return Error{"--csv: the table goes to standard output; expected a file", 2};
  }
  std::vector<std::string> inputs = arguments.profiles;
  inputs.insert(inputs.end(), {arguments.against, arguments.bbv, arguments.metrics});
  return CheckOutputs({arguments.csv}, inputs);
}

Result<int> Deliver(const EvaluateArguments& arguments, const std::string& csv,
                    const std::string& text) {
  if (!arguments.csv.empty()) {
    STEMTAP_TRY(WriteOutput(arguments.csv, csv));
  }
  return arguments.json ? PrintJson(text) : PrintText(text);
}

Result<int> CompareEqualError(const EvaluateArguments& arguments,
                              const research::BasicBlockVectors* vectors, WorkerPool& pool) {
  const auto methods = STEMTAP_TRY(FindMethods(arguments.equal_error, "--equal-error"));
  const std::uint64_t runs = arguments.Given("--runs") ? arguments.runs : kEqualErrorRuns;
  const sampling::SamplingOptions options = arguments.sampling.Options();
  research::EqualErrorReport report;
  report.options = arguments.sampling.Listed();
  report.options.emplace_back("runs", runs);
  report.one = arguments.equal_error[0];
  report.other = arguments.equal_error[1];
  report.error_bound = options.error_bound;
  // Process workloads in parallel: preparing a method dominates the time and uses one thread.
  struct Compared {
    Error error;  // empty if there is none
    bool fatal = false;
    research::EvaluatedWorkload workload;
    research::EqualError result;
  };
  std::vector<Compared> compared(arguments.profiles.size());
  pool.ForEach(compared.size(), [&](std::size_t i) {
    const Result<research::EvaluatedRun> workload = LoadWorkload(arguments.profiles[i], arguments);
    if (!workload.ok()) {
      compared[i].error = workload.error();
      compared[i].fatal = true;
      return;
    }
    const Result<research::EqualError> result = research::CompareAtEqualError(
        workload.value(), *methods[0], *methods[1], options, vectors, runs, pool);
    if (!result.ok()) {
      compared[i].error = result.error();
      return;
    }
    compared[i].workload = research::Describe(workload.value());
    compared[i].result = result.value();
  });
  for (std::size_t i = 0; i < compared.size(); ++i) {
    if (compared[i].fatal) return compared[i].error;
    if (!compared[i].error.message.empty()) {
      PrintMessage(fmt::format("stemtap: {} skipped: {}\n",
                               EscapeForTerminal(arguments.profiles[i]),
                               EscapeForTerminal(compared[i].error.message)));
      continue;
    }
    report.workloads.push_back(compared[i].workload);
    report.results.push_back(compared[i].result);
  }
  if (report.results.empty()) {
    return Error{"no workload could be compared; expected at least one"};
  }
  return Deliver(
      arguments, research::EqualErrorCsv(report),
      arguments.json ? research::EqualErrorJson(report) : research::EqualErrorTable(report));
}

Result<int> Evaluate(const EvaluateArguments& arguments) {
  STEMTAP_TRY(CheckUse(arguments));
  std::optional<research::BasicBlockVectors> vectors;
  if (!arguments.bbv.empty()) {
    vectors = STEMTAP_TRY(research::ReadBasicBlockVectors(arguments.bbv));
  }
  const research::BasicBlockVectors* const given = vectors ? &*vectors : nullptr;
  WorkerPool pool(arguments.sampling.threads());
  if (arguments.Given("--equal-error")) return CompareEqualError(arguments, given, pool);

  research::EvaluationRequest request;
  request.options = arguments.sampling.Options();
  request.error_bounds = arguments.error_bounds;
  if (request.error_bounds.empty()) request.error_bounds = {request.options.error_bound};
  request.runs = arguments.runs;
  request.online = arguments.online;
  request.lag = arguments.lag;
  request.vectors = given;
  if (arguments.methods.empty()) {
    for (const research::MethodEntry& entry : research::Methods())
      request.methods.push_back(&entry);
  } else {
    request.methods = STEMTAP_TRY(FindMethods(arguments.methods, "--methods"));
  }
  if (request.online) {
    request.two_pass = STEMTAP_TRY(FindMethod(arguments.sampling.method(), "--method"));
  }

  research::Evaluation evaluation;
  evaluation.options = arguments.sampling.Listed();
  evaluation.options.emplace_back("runs", request.runs);
  if (arguments.lag) evaluation.options.emplace_back("lag", std::uint64_t{*arguments.lag});
  evaluation.confidence = request.options.confidence;
  ReadProgress progress;
  for (const std::string& path : arguments.profiles) {
    const research::EvaluatedRun workload = STEMTAP_TRY(LoadWorkload(path, arguments));
    request.watch = [&](const char* method, std::size_t done, std::size_t all) {
      progress.Show(fmt::format("{}: {}", EscapeForTerminal(path), method), done, all);
    };
    research::AddWorkload(workload, request, pool, evaluation);
  }
  progress.End();
  PrintMessage(research::SkippedLines(evaluation));
  if (evaluation.rows.empty()) {
    return Error{"no method could be evaluated; expected the inputs of at least one"};
  }
  return Deliver(arguments, research::EvaluationCsv(evaluation),
                 arguments.json ? research::EvaluationJson(evaluation)
                                : research::EvaluationTable(evaluation));
}

}  // namespace

CommandSpec EvaluateCommand() {
  CommandSpec command("evaluate", "measure speedup and error of every method on recorded runs");
  auto arguments = std::make_shared<EvaluateArguments>();
  command.Add("profile", &arguments->profiles, "recorded runs, see 'stemtap formats'")
      .File()
      .Required();
  std::string help = "methods to evaluate (default: all):";
  for (const research::MethodEntry& entry : research::Methods()) {
    help += fmt::format("\n{}: {}", entry.name, entry.help);
  }
  command.Add("--methods", &arguments->methods, help).Delimited("NAME,...");
  command.Add("--runs", &arguments->runs, "samples that each method draws, one per seed")
      .In(1, 1000000);
  command
      .Add("--against", &arguments->against,
           "another run of the same launches: sample the first run, measure the error on this one")
      .File();
  command.Add("--online", &arguments->online, "also evaluate the online sampler");
  command
      .Add("--error-bounds", &arguments->error_bounds,
           "several error bounds, instead of --error-bound")
      .Share(session::kMinErrorBound, session::kMaxErrorBound)
      .Delimited("SHARE,...");
  command.Add("--csv", &arguments->csv, "also write the rows to this file").File();
  command.Add("--json", &arguments->json, "print the evaluation as JSON");
  command.Add("--lag", &arguments->lag, std::string("online: ") + kLagHelp)
      .In(0, 100'000'000)
      .Advanced();
  AddMethodInputs(command, &arguments->bbv, &arguments->metrics);
  // For tools/evaluate: compares two methods' speedups where their p95 errors are equal.
  command.Add("--equal-error", &arguments->equal_error, "").Delimited("A,B").Hidden();
  arguments->sampling.AddTo(command);
  arguments->sampling.AddTwoPassTo(command);
  command.run = [arguments](const CommandSpec& parsed) {
    arguments->command = &parsed;
    return Evaluate(*arguments);
  };
  return command;
}

}  // namespace stemtap::ui
