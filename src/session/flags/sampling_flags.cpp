// SPDX-License-Identifier: Apache-2.0
#include "session/flags/sampling_flags.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/decimal.h"
#include "base/text.h"

namespace stemtap::session {

namespace {

// Tool is a tool whose cost is known well enough. Only the ratio of the two numbers matters, and
// only its order of magnitude: the fixed cost of a profiler equals the durations of 100 to 100,000
// kernels.
struct Tool {
  const char* name;
  sampling::CapturePrice price;
  const char* why;
};

constexpr double kMs = 1e6;

// ncu: NVIDIA's Kernel Profiling Guide, "Replay" and "Overhead": each pass restores the memory that
// the kernel writes, flushes caches and locks clocks, and a set of metrics takes several to dozens
// of passes. The figures are orders of magnitude. Simulators: plan_cost.h.
constexpr Tool kTools[] = {
    {"ncu", {100 * kMs, 10.0}, "100ms+10: replays each captured kernel several times"},
    {"accel-sim", {0.0, 1e6}, "0+1000000: simulates a million times slower than the GPU"},
    {"macsim", {0.0, 1e6}, "0+1000000: likewise"},
};

constexpr const char* kPriceSyntax =
    "a time such as 100ms, optionally with a multiple of the duration (100ms+10), or ncu, "
    "accel-sim "
    "or macsim";

// Parses a number of at least 0 with a unit of time; 0 needs no unit. Returns ns.
std::optional<double> ParseTime(std::string_view text) {
  std::size_t digits = 0;
  const auto is_part = [](char c) { return c == '.' || (c >= '0' && c <= '9'); };
  while (digits < text.size() && is_part(text[digits])) ++digits;
  const std::optional<double> number = CellNumber(text.substr(0, digits));
  if (!number || !(*number >= 0.0)) return {};
  const std::string_view unit = text.substr(digits);
  if (unit.empty()) return *number == 0.0 ? number : std::nullopt;
  const std::optional<int> exponent = TimeExponent(unit);
  if (!exponent) return {};
  return *number * std::pow(10.0, *exponent);
}

}  // namespace

Result<sampling::CapturePrice> ParseCaptureCost(std::string_view text) {
  for (const Tool& tool : kTools) {
    if (text == tool.name) return tool.price;
  }
  const std::size_t plus = text.find('+');
  const std::optional<double> fixed_ns = ParseTime(text.substr(0, plus));
  std::optional<double> factor = 1.0;
  if (plus != std::string_view::npos) factor = CellNumber(text.substr(plus + 1));
  if (!fixed_ns || !factor || !(*factor > 0.0)) return Error{kPriceSyntax};
  return sampling::CapturePrice{*fixed_ns, *factor};
}

std::string CaptureCostError(std::string& value) {
  const Result<sampling::CapturePrice> price = ParseCaptureCost(value);
  if (price.ok()) return {};
  return fmt::format("expected {}, found '{}'", price.error().message, ShownCell(value));
}

std::string CaptureCostHelp() {
  std::string help =
      "what a captured launch costs, which plans minimize: a time, optionally plus a multiple of "
      "the duration (100ms+10), or a tool:";
  for (const Tool& tool : kTools) help += fmt::format("\n{}: {}", tool.name, tool.why);
  return help;
}

std::string OnlyRangeError(std::string& value) {
  const auto names = static_cast<std::uint32_t>(std::count(value.begin(), value.end(), ',')) + 1;
  const std::string bounded = "," + value + ",";
  if (bounded.find(",,") == std::string::npos && names <= shm::kMaxOnlyRanges &&
      value.size() < shm::kMaxRangeBytes) {
    return {};
  }
  return fmt::format(
      "expected 1 to {} names of ranges, separated by commas, in less than {} bytes, "
      "found '{}'",
      shm::kMaxOnlyRanges, shm::kMaxRangeBytes, ShownCell(value));
}

namespace {

constexpr Word<sampling::BoundScope> kBounds[] = {{sampling::BoundScope::kWorkload, "workload"},
                                                  {sampling::BoundScope::kKernel, "kernel"},
                                                  {sampling::BoundScope::kRange, "range"}};
constexpr Word<sampling::Weights> kWeights[] = {
    {sampling::Weights::kCalibrated, "calibrated"},
    {sampling::Weights::kPlain, "plain"},
};

}  // namespace

void SamplingFlags::AddTo(CommandSpec& command,
                          const std::vector<std::pair<std::string, std::string>>& more_methods) {
  const std::size_t first = command.options.size();
  command.Add("--error-bound", &options_.error_bound, "maximum relative error of the total")
      .Share(kMinErrorBound, kMaxErrorBound);
  command.Add("--confidence", &options_.confidence, "confidence of the bound")
      .Share(0.01, 0.999999);
  command.Add("--group-by", Choice(&options_.group_by, model::kGroupings),
              "what counts as one kernel:");
  command
      .Add("--exclude", &options_.exclude,
           "exclude kernels whose name matches this regular expression (RE2), for example nccl, "
           "whose time is mostly waiting")
      .Type("REGEX");
  command.Add("--ranges", &options_.launches.by_range,
              "launches of a kernel in different ranges of the program (NVTX, stemtap/control.h) "
              "are different kernels, and each range has its own bound");
  command
      .Add("--only-range", &options_.launches.only_range,
           "sample only launches inside of these ranges, and keep them apart as --ranges does; "
           "several are separated by commas")
      .Type("NAME")
      .check = OnlyRangeError;
  command.options.back().take_last = true;  // the injected library's value for its own collector
  command
      .Add("--skip-steps", &options_.launches.steps.first,
           "sample no launch before this many steps of the program have ended")
      .In(0, shm::kMaxSteps)
      .take_last = true;
  command
      .Add("--steps", &options_.launches.steps.count,
           "sample only launches in this many steps, after --skip-steps (0 = all)")
      .In(0, shm::kMaxSteps)
      .take_last = true;
  ChoiceTarget method = Choice(&options_.method, sampling::kMethods);
  for (const auto& [name, help] : more_methods) {
    method.Add(name, help, [this, other = name] { other_method_ = other; });
  }
  command.Add("--method", method, "how durations are cut into clusters:").Advanced();
  command
      .Add("--bound", Choice(&options_.bound, kBounds),
           "scope of the bound: the workload's total, each kernel's total, or each range's total")
      .Advanced();
  command
      .Add("--min-samples", &options_.min_samples,
           "minimum samples per cluster; a cluster with fewer launches is sampled whole. "
           "Online, exploratory captures do not count toward the minimum, and a run may "
           "end earlier")
      .In(1, 1000000)
      .Advanced();
  command.Add("--capture-cost", &capture_cost_, CaptureCostHelp()).Type("COST").Advanced().check =
      CaptureCostError;
  // Online, only the default is accepted (CheckOnline), so only two-pass plans show the option.
  command
      .Add("--selection", Choice(&options_.selection, sampling::kSelections),
           "which launches of a cluster a two-pass plan samples:")
      .Hidden();
  command
      .Add("--weights", Choice(&options_.weights, kWeights),
           "calibrated: reproduce the known total time exactly; plain: count / captured")
      .Advanced();
  command.Add("--seed", &options_.seed, "seed of all random choices").Advanced();
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
      .Add("--pool-small", &options_.pool_small,
           "share of the time whose kernels, small ones, may share clusters: less to sample, but "
           "no results of their own, and larger errors of metrics other than time")
      .Share(0.0, 1.0)
      .Advanced();
}

std::string SamplingFlags::method() const {
  return other_method_.empty() ? NameIn(sampling::kMethods, options_.method) : other_method_;
}

bool SamplingFlags::is_optimal() const {
  return other_method_.empty() && options_.method == sampling::Method::kOptimal;
}

// A profiler that takes as long for a short launch as for a long one does not pay for kernels whose
// time hardly matters.
double SamplingFlags::MaxUncovered() const {
  if (max_uncovered_ != kNotSet) return max_uncovered_;
  const bool by_launch = ParseCaptureCost(capture_cost_).value().fixed_ns > 0.0;
  return by_launch && is_optimal() && options_.bound == sampling::BoundScope::kWorkload ? 1.0 : 0.0;
}

Status SamplingFlags::CheckTwoPass() const {
  STEMTAP_TRY(CheckSelection());
  if (!is_optimal() && ParseCaptureCost(capture_cost_).value().fixed_ns > 0.0) {
    return Error{"--capture-cost: a fixed time is not supported by --method " + method() +
                     "; expected --method optimal",
                 2};
  }
  for (const auto& [name, share] : {std::pair("--max-uncovered", max_uncovered_),
                                    std::pair("--pool-small", options_.pool_small)}) {
    if (share <= 0.0) continue;
    if (!is_optimal()) {
      return Error{fmt::format("{}: not supported by --method {}; expected --method optimal", name,
                               method()),
                   2};
    }
    if (options_.bound != sampling::BoundScope::kWorkload) {
      return Error{fmt::format("{}: not supported by --bound {}; expected --bound workload", name,
                               NameIn(kBounds, options_.bound)),
                   2};
    }
  }
  return Success{};
}

Status SamplingFlags::CheckSelection() const {
  const bool has_ranges = options_.launches.has_ranges();
  if (options_.bound == sampling::BoundScope::kRange && !has_ranges) {
    return Error{
        "--bound range: launches are not grouped by range; expected --ranges or "
        "--only-range NAME too",
        2};
  }
  if (has_ranges && options_.pool_small > 0.0) {
    return Error{
        "--pool-small: not supported with --ranges and --only-range, because a pool "
        "would join kernels of several ranges",
        2};
  }
  return Success{};
}

Status SamplingFlags::CheckOnline() const {
  STEMTAP_TRY(CheckSelection());
  if (options_.selection == sampling::Selection::kRandom) return Success{};
  return Error{"--selection " + NameIn(sampling::kSelections, options_.selection) +
                   ": not supported online, where launches are captured as they come; expected "
                   "a two-pass plan (stemtap plan)",
               2};
}

sampling::SamplingOptions SamplingFlags::Options() const {
  sampling::SamplingOptions options = options_;
  options.price = ParseCaptureCost(capture_cost_).value();
  options.max_uncovered = MaxUncovered();
  return options;
}

model::OptionList SamplingFlags::Listed() const {
  model::OptionList listed = {{"error_bound", options_.error_bound},
                              {"confidence", options_.confidence},
                              {"method", method()},
                              {"bound", NameIn(kBounds, options_.bound)},
                              {"min_samples", options_.min_samples},
                              {"selection", NameIn(sampling::kSelections, options_.selection)},
                              {"capture_cost", capture_cost_},
                              {"max_uncovered", MaxUncovered()},
                              {"pool_small", options_.pool_small},
                              {"group_by", NameIn(model::kGroupings, options_.group_by)},
                              {"exclude", options_.exclude},
                              {"weights", NameIn(kWeights, options_.weights)},
                              {"seed", options_.seed}};
  model::AppendOptions(options_.launches, listed);
  return listed;
}

}  // namespace stemtap::session
