// SPDX-License-Identifier: Apache-2.0
#include "session/flags/sampling_flags.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "session/flags/capture_cost.h"

namespace stemtap::session {
namespace {

// Appends "name: help" of each entry to `help`, and returns the names.
template <typename Entries>
std::vector<std::string> NamesOf(const Entries& entries, std::string& help) {
  std::vector<std::string> names;
  for (const auto& entry : entries) {
    names.emplace_back(entry.name);
    help += std::string("\n") + entry.name + ": " + entry.help;
  }
  return names;
}

}  // namespace

void SamplingFlags::AddTo(CommandSpec& command,
                          const std::vector<std::pair<std::string, std::string>>& more_methods) {
  const std::size_t first = command.options.size();
  command.Add("--error-bound", &error_bound_, "maximum relative error of the total")
      .Share(kMinErrorBound, kMaxErrorBound);
  command.Add("--confidence", &confidence_, "confidence of the bound").Share(0.01, 0.999999);
  std::string help = "what counts as one kernel:";
  std::vector<std::string> names = NamesOf(model::kGroupings, help);
  command.Add("--group-by", &group_by_, help).OneOf(names);
  command
      .Add("--exclude", &exclude_,
           "exclude kernels whose name matches this regular expression (RE2), for example nccl, "
           "whose time is mostly waiting")
      .Type("REGEX");
  help = "how durations are cut into clusters:";
  names = NamesOf(sampling::kMethods, help);
  for (const auto& [name, what] : more_methods) {
    names.push_back(name);
    help += "\n" + name + ": " + what;
  }
  command.Add("--method", &method_, help).OneOf(names).Advanced();
  command
      .Add("--bound", &bound_, "scope of the bound: the workload's total, or each kernel's total")
      .OneOf({"workload", "kernel"})
      .Advanced();
  command
      .Add("--min-samples", &min_samples_,
           "minimum samples per cluster; a cluster with fewer launches is sampled whole. "
           "Online, exploratory captures do not count toward the minimum, and a run may "
           "end earlier")
      .In(1, 1000000)
      .Advanced();
  command.Add("--capture-cost", &capture_cost_, CaptureCostHelp()).Type("COST").Advanced().check =
      CaptureCostError;
  help = "which launches of a cluster a two-pass plan samples:";
  names = NamesOf(sampling::kSelections, help);
  // Online, only the default is accepted (CheckOnline), so only two-pass plans show the option.
  command.Add("--selection", &selection_, help).OneOf(names).Hidden();
  command
      .Add("--weights", &weights_,
           "calibrated: reproduce the known total time exactly; plain: count / captured")
      .OneOf({"calibrated", "plain"})
      .Advanced();
  command.Add("--seed", &seed_, "seed of all random choices").Advanced();
  command
      .Add("--threads", &threads_,
           "worker threads (0 = one per core); results do not depend on this")
      .In(0, 1024)
      .Advanced();
  for (std::size_t i = first; i < command.options.size(); ++i) command.options[i].shared = true;
}

void SamplingFlags::AddTwoPassTo(CommandSpec& command) {
  for (OptionSpec& option : command.options) {
    if (option.names.back() == "--selection") option.Advanced();
  }
  command
      .Add("--max-uncovered", &max_uncovered_,
           "share of the time that may get no samples: leaves out whole kernels where counting "
           "their full time in the bound costs less than sampling them")
      .Share(0.0, 1.0)
      .Advanced();
}

void SamplingFlags::AddPoolTo(CommandSpec& command) {
  command
      .Add("--pool-small", &pool_small_,
           "share of the time whose kernels, small ones, may share clusters: less to sample, but "
           "no results of their own, and larger errors of metrics other than time")
      .Share(0.0, 1.0)
      .Advanced();
}

// A profiler that takes as long for a short launch as for a long one does not pay for kernels whose
// time hardly matters.
double SamplingFlags::MaxUncovered() const {
  if (max_uncovered_ != kNotSet) return max_uncovered_;
  const bool by_launch = ParseCaptureCost(capture_cost_).value().fixed_ns > 0.0;
  return by_launch && method_ == "optimal" && bound_ == "workload" ? 1.0 : 0.0;
}

Status SamplingFlags::CheckTwoPass() const {
  if (method_ != "optimal" && ParseCaptureCost(capture_cost_).value().fixed_ns > 0.0) {
    return Error{"--capture-cost: a fixed time is not supported by --method " + method_ +
                     "; expected --method optimal",
                 2};
  }
  for (const auto& [name, share] :
       {std::pair("--max-uncovered", max_uncovered_), std::pair("--pool-small", pool_small_)}) {
    if (share <= 0.0) continue;
    if (method_ != "optimal") {
      return Error{
          fmt::format("{}: not supported by --method {}; expected --method optimal", name, method_),
          2};
    }
    if (bound_ != "workload") {
      return Error{
          fmt::format("{}: not supported by --bound {}; expected --bound workload", name, bound_),
          2};
    }
  }
  return Success{};
}

Status SamplingFlags::CheckOnline() const {
  if (selection_ == "random") return Success{};
  return Error{"--selection " + selection_ +
                   ": not supported online, where launches are captured as they come; expected "
                   "a two-pass plan (stemtap plan)",
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
  options.price = ParseCaptureCost(capture_cost_).value();
  options.max_uncovered = MaxUncovered();
  options.pool_small = pool_small_;
  options.group_by = model::GroupByOf(group_by_);
  options.exclude = exclude_;
  options.weights =
      weights_ == "plain" ? sampling::Weights::kPlain : sampling::Weights::kCalibrated;
  options.seed = seed_;
  return options;
}

model::OptionList SamplingFlags::Listed() const {
  return {{"error_bound", error_bound_},
          {"confidence", confidence_},
          {"method", method_},
          {"bound", bound_},
          {"min_samples", min_samples_},
          {"selection", selection_},
          {"capture_cost", capture_cost_},
          {"max_uncovered", MaxUncovered()},
          {"pool_small", pool_small_},
          {"group_by", group_by_},
          {"exclude", exclude_},
          {"weights", weights_},
          {"seed", seed_}};
}

}  // namespace stemtap::session
