// SPDX-License-Identifier: Apache-2.0
#include "session/flags/sampling_flags.h"

#include "session/flags/number_in.h"
#include "session/flags/option_kinds.h"

namespace stemtap::session {

void SamplingFlags::AddTo(CLI::App& command,
                          const std::vector<std::pair<std::string, std::string>>& more_methods) {
  constexpr const char* kGroup = "Sampling";
  std::vector<std::string> methods;
  std::string method_help = "how durations are cut into clusters:";
  for (const sampling::MethodSpec& spec : sampling::kMethods) {
    methods.emplace_back(spec.name);
    method_help += std::string("\n") + spec.name + ": " + spec.help;
  }
  for (const auto& [name, help] : more_methods) {
    methods.push_back(name);
    method_help += "\n" + name + ": " + help;
  }
  command.add_option("--error-bound", error_bound_, "maximum relative error of the total")
      ->check(RealIn(1e-6, 1.0))
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--confidence", confidence_, "confidence of the bound")
      ->check(RealIn(0.01, 0.999999))
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--method", method_, method_help)
      ->check(OneOf(methods))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--bound", bound_,
                  "what the bound holds for: the workload's total, or each kernel's total")
      ->check(OneOf({"workload", "kernel"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--min-samples", min_samples_,
                  "minimum samples per cluster; a cluster with fewer launches is sampled whole. "
                  "Online, exploratory captures do not count toward the minimum, and a run may "
                  "end earlier")
      ->transform(WholeIn(1, 1000000))
      ->capture_default_str()
      ->group(kGroup);
  std::vector<std::string> selections;
  std::string selection_help = "which invocations of a cluster a two-pass plan takes:";
  for (const sampling::SelectionSpec& spec : sampling::kSelections) {
    selections.emplace_back(spec.name);
    selection_help += std::string("\n") + spec.name + ": " + spec.help;
  }
  command.add_option("--selection", selection_, selection_help)
      ->check(OneOf(selections))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--group-by", group_by_,
                  "what counts as one kernel: its name, or its name with grid and block")
      ->check(OneOf({"name", "launch"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--exclude", exclude_,
                  "leave out kernels whose name matches this regular expression (RE2), e.g. nccl, "
                  "whose time is mostly waiting")
      ->type_name("REGEX")
      ->group(kGroup);
  command
      .add_option("--weights", weights_,
                  "calibrated: reproduce the known total time exactly; plain: count / captured")
      ->check(OneOf({"calibrated", "plain"}))
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--seed", seed_, "seed of all random choices")
      ->transform(WholeIn())
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--threads", threads_,
                  "worker threads, 0: one per core; results do not depend on it")
      ->transform(WholeIn(0, 1024))
      ->capture_default_str()
      ->group(kGroup);
}

Status SamplingFlags::CheckOnline() const {
  if (selection_ == "random") return Success{};
  return Error{"--selection " + selection_ +
                   ": online, launches are captured as they come; expected it of a two-pass plan "
                   "(stemtap plan)",
               2};
}

sampling::SamplingOptions SamplingFlags::Options() const {
  sampling::SamplingOptions options;
  options.error_bound = error_bound_;
  options.confidence = confidence_;
  for (const sampling::MethodSpec& spec : sampling::kMethods) {
    if (method_ == spec.name) options.method = spec.method;
  }
  options.bound =
      bound_ == "kernel" ? sampling::BoundScope::kKernel : sampling::BoundScope::kWorkload;
  options.min_samples = min_samples_;
  for (const sampling::SelectionSpec& spec : sampling::kSelections) {
    if (selection_ == spec.name) options.selection = spec.selection;
  }
  options.group_by = group_by_ == "launch" ? model::GroupBy::kLaunch : model::GroupBy::kName;
  options.exclude = exclude_;
  options.weights =
      weights_ == "plain" ? sampling::Weights::kPlain : sampling::Weights::kCalibrated;
  options.seed = seed_;
  return options;
}

model::OptionList SamplingFlags::Listed() const {
  return {{"error_bound", error_bound_}, {"confidence", confidence_},
          {"method", method_},           {"bound", bound_},
          {"min_samples", min_samples_}, {"selection", selection_},
          {"group_by", group_by_},       {"exclude", exclude_},
          {"weights", weights_},         {"seed", seed_}};
}

}  // namespace stemtap::session
