// SPDX-License-Identifier: Apache-2.0
//
// Tests that the bound of the online sampler holds for 95 % of random workloads, in every region of
// their parameters. Kernels and modes are independent draws or repeat a fixed sequence. Given its
// mode, the duration of a launch is an independent draw, so workloads do not drift.
//
// Workload n depends only on the seed n. To run one workload, one workload with 20 other seeds of
// the sampler, or other workloads:
//   STEMTAP_BOUND_FIRST=17 STEMTAP_BOUND_RUNS=1 bound_property_test
//   STEMTAP_BOUND_FIRST=17 STEMTAP_BOUND_RUNS=1 STEMTAP_BOUND_SEEDS=20 bound_property_test
//   STEMTAP_BOUND_FIRST=5001 bound_property_test
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"
#include "model/plan.h"
#include "model/plan_summary.h"
#include "online/bound_harness.h"
#include "support/random_draws.h"

namespace stemtap::online {
namespace {

using test::BoundOutcome;
using test::BoundTally;
using test::LaunchStream;
using test::StreamLaunch;

constexpr double kMinCoverage = 0.95;
// With probability 1e-5, the coverage is below 90 % in a region of 100 runs with a true coverage of
// 98 %, or in a region of 400 runs with a true coverage of 95 %.
constexpr double kMinRegionCoverage = 0.90;
constexpr std::uint64_t kRegionRuns = 100;

constexpr std::uint64_t kFirst = 1;
// Takes about a minute of CPU time in a release build on an idle machine.
constexpr std::uint64_t kRuns = 2000;
constexpr std::uint64_t kSlowBuildRuns = 40;

// Skew is the distribution of the durations of a mode.
enum class Skew { kConstant, kUniform, kLogNormal, kPareto };

// Predictor is the property of a launch that determines its mode.
enum class Predictor { kGrid, kSequence, kNothing, kPartly };

struct Mode {
  Skew skew = Skew::kConstant;
  double shape = 0.0;  // sigma of the log, or the index of the Pareto tail
  double scale_ns = 0.0;
  double share_up_to = 0.0;  // cumulative share of the kernel's launches
};

struct Kernel {
  std::vector<Mode> modes;
  double share_up_to = 0.0;  // cumulative share of all launches
};

// Workload is a description of a stream of launches, drawn from a seed.
struct Workload {
  std::uint64_t seed = 0;
  std::uint64_t length = 0;
  std::uint64_t lag = 0;
  double error_bound = 0.05;
  model::GroupBy group_by = model::GroupBy::kName;
  std::uint32_t modes = 1;
  const char* skew = "";
  bool heavy = false;  // some modes have a heavy tail
  bool rare_modes = false;
  bool rare_kernels = false;
  Predictor predictor = Predictor::kGrid;
  double predicted_share = 1.0;  // kPartly: share of launches with the grid of their mode
  std::uint32_t grids = 1;       // kNothing: number of grids from which launches are drawn
  std::vector<Kernel> kernels;
};

std::uint64_t Between(Rng& rng, std::uint64_t least, std::uint64_t most) {
  return least + rng.Below(most - least + 1);
}

double Between(Rng& rng, double least, double most) {
  return least + (most - least) * rng.Uniform();
}

double LogBetween(Rng& rng, double least, double most) {
  return least * std::pow(most / least, rng.Uniform());
}

template <typename T, std::size_t N>
T OneOf(Rng& rng, const T (&choices)[N]) {
  return choices[rng.Below(N)];
}

// The time of a run grows with the number of kernels, so runs with few kernels are more frequent.
std::uint32_t DrawKernelCount(Rng& rng) {
  const double at = rng.Uniform();
  if (at < 0.60) return 1;
  if (at < 0.86) return static_cast<std::uint32_t>(LogBetween(rng, 2, 11));
  if (at < 0.938) return static_cast<std::uint32_t>(LogBetween(rng, 11, 40));
  return static_cast<std::uint32_t>(LogBetween(rng, 40, 101));
}

// The time of a run grows with launches and kernels, so runs with many kernels are short here.
// bound_cases_test has long runs with many kernels.
std::uint64_t DrawLength(Rng& rng, std::uint32_t kernels) {
  constexpr double kMin = 2e3;
  constexpr double kMax = 24e3;
  constexpr double kMaxByKernels = 28e3;  // kernels times launches
  const double most = std::clamp(kMaxByKernels / kernels, 2.0 * kMin, kMax);
  return static_cast<std::uint64_t>(LogBetween(rng, kMin, most));
}

// One run in 8 has no lag. In one run in 16, the lag is at least the length, so only first launches
// can be captured.
std::uint64_t DrawLag(Rng& rng, std::uint64_t length) {
  const std::uint64_t kind = rng.Below(16);
  if (kind < 2) return 0;
  const double share = kind == 2 ? Between(rng, 1.0, 1.5) : LogBetween(rng, 1e-3, 0.5);
  return static_cast<std::uint64_t>(share * static_cast<double>(length));
}

struct SkewLevel {
  const char* name;
  Skew skew;
  double least;  // shape
  double most;
  bool heavy;
  unsigned weight;  // wide distributions take longer, so they are drawn less often
};

constexpr SkewLevel kSkewLevels[] = {
    {"constant", Skew::kConstant, 0.0, 0.0, false, 3},
    {"uniform", Skew::kUniform, 0.0, 0.0, false, 3},
    {"log-normal 0.05-0.4", Skew::kLogNormal, 0.05, 0.4, false, 3},
    {"log-normal 0.4-1", Skew::kLogNormal, 0.4, 1.0, false, 2},
    {"log-normal 1-1.5", Skew::kLogNormal, 1.0, 1.5, true, 1},
    {"Pareto 1.5-3", Skew::kPareto, 1.5, 3.0, true, 1},
    {"mixed", Skew::kConstant, 0.0, 0.0, true, 1}};  // each mode has its own shape
constexpr std::size_t kMixed = std::size(kSkewLevels) - 1;

const SkewLevel& DrawSkew(Rng& rng) {
  unsigned weights = 0;
  for (const SkewLevel& level : kSkewLevels) weights += level.weight;
  std::uint64_t at = rng.Below(weights);
  const SkewLevel* level = kSkewLevels;
  for (; at >= level->weight; ++level) at -= level->weight;
  return *level;
}

// Returns the cumulative shares of `count` parts, which are equal or span `decades` decades.
std::vector<double> DrawShares(Rng& rng, std::size_t count, double decades) {
  std::vector<double> shares;
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += std::pow(10.0, -decades * rng.Uniform());
    shares.push_back(sum);
  }
  for (double& share : shares) share /= sum;
  return shares;
}

Kernel DrawKernel(Rng& rng, const Workload& workload, const SkewLevel& of_all) {
  Kernel kernel;
  const std::vector<double> shares =
      DrawShares(rng, workload.modes, workload.rare_modes ? 3.0 : 0.0);
  double scale_ns = LogBetween(rng, 1e3, 1e6);
  for (const double share : shares) {
    const bool mixed = &of_all == &kSkewLevels[kMixed];
    const SkewLevel& level = mixed ? kSkewLevels[rng.Below(kMixed)] : of_all;
    kernel.modes.push_back({level.skew, Between(rng, level.least, level.most), scale_ns, share});
    scale_ns *= LogBetween(rng, 1.5, 20.0);
  }
  return kernel;
}

Workload DrawWorkload(std::uint64_t seed) {
  Rng rng(seed);
  Workload workload;
  workload.seed = seed;
  if (rng.Below(2) == 0) workload.error_bound = Between(rng, 0.01, 0.10);
  workload.group_by = rng.Below(2) == 0 ? model::GroupBy::kName : model::GroupBy::kLaunch;
  const std::uint32_t kernels = DrawKernelCount(rng);
  workload.length = DrawLength(rng, kernels);
  workload.lag = DrawLag(rng, workload.length);
  workload.modes = static_cast<std::uint32_t>(Between(rng, std::uint64_t{1}, 4));
  workload.rare_modes = rng.Below(2) == 0;
  workload.rare_kernels = rng.Below(2) == 0;
  workload.predictor =
      OneOf(rng, {Predictor::kGrid, Predictor::kSequence, Predictor::kNothing, Predictor::kPartly});
  workload.predicted_share = Between(rng, 0.3, 0.95);
  workload.grids = OneOf<std::uint32_t>(rng, {1, 3, 12});
  const SkewLevel& skew = DrawSkew(rng);
  workload.skew = skew.name;
  workload.heavy = skew.heavy;
  const std::vector<double> shares = DrawShares(rng, kernels, workload.rare_kernels ? 2.0 : 0.0);
  for (const double share : shares) {
    workload.kernels.push_back(DrawKernel(rng, workload, skew));
    workload.kernels.back().share_up_to = share;
  }
  return workload;
}

std::uint64_t DrawDuration(Rng& rng, const Mode& mode) {
  // Tails are cut at this factor so that the durations of a run fit into 64 bits.
  constexpr double kLargestFactor = 1e5;
  double factor = 1.0;
  switch (mode.skew) {
    case Skew::kConstant:
      break;
    case Skew::kUniform:
      factor = 0.5 + rng.Uniform();
      break;
    case Skew::kLogNormal:
      factor = std::exp(mode.shape * test::Normal(rng));
      break;
    case Skew::kPareto:
      factor = std::pow(1.0 - rng.Uniform(), -1.0 / mode.shape);
      break;
  }
  const double ns = mode.scale_ns * std::min(factor, kLargestFactor);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(ns));
}

template <typename Part>
std::uint32_t DrawPart(Rng& rng, const std::vector<Part>& parts) {
  const double at = rng.Uniform();
  const auto part =
      std::upper_bound(parts.begin(), parts.end(), at,
                       [](double value, const Part& p) { return value < p.share_up_to; });
  const auto last = static_cast<std::ptrdiff_t>(parts.size()) - 1;
  return static_cast<std::uint32_t>(std::min(part - parts.begin(), last));
}

struct Step {
  std::uint32_t kernel;
  std::uint32_t mode;
};

Step DrawStep(Rng& rng, const Workload& workload) {
  const std::uint32_t kernel = DrawPart(rng, workload.kernels);
  return {kernel, DrawPart(rng, workload.kernels[kernel].modes)};
}

std::uint32_t DrawGrid(Rng& rng, const Workload& workload, std::uint32_t mode) {
  switch (workload.predictor) {
    case Predictor::kGrid:
      return 1 + mode;
    case Predictor::kSequence:
      return 1;
    case Predictor::kNothing:
      return 1 + static_cast<std::uint32_t>(rng.Below(workload.grids));
    case Predictor::kPartly:
      break;
  }
  if (rng.Uniform() < workload.predicted_share) return 1 + mode;
  return 1 + static_cast<std::uint32_t>(rng.Below(workload.modes));
}

LaunchStream MakeStream(const Workload& workload) {
  Rng rng(workload.seed ^ 0x5EED0F5712EA4Du);
  LaunchStream stream;
  stream.kernels = static_cast<std::uint32_t>(workload.kernels.size());
  std::vector<Step> sequence;
  if (workload.predictor == Predictor::kSequence) {
    const std::uint64_t steps = Between(rng, std::uint64_t{4}, 8 + 4 * workload.kernels.size());
    for (std::uint64_t i = 0; i < steps; ++i) sequence.push_back(DrawStep(rng, workload));
  }
  stream.launches.reserve(workload.length);
  for (std::uint64_t i = 0; i < workload.length; ++i) {
    const Step step = sequence.empty() ? DrawStep(rng, workload) : sequence[i % sequence.size()];
    const std::uint32_t grid = DrawGrid(rng, workload, step.mode);
    const Mode& mode = workload.kernels[step.kernel].modes[step.mode];
    stream.launches.push_back({step.kernel, grid, DrawDuration(rng, mode)});
  }
  return stream;
}

const char* LevelOf(Predictor predictor) {
  constexpr const char* kNames[] = {"configuration", "sequence", "nothing", "partly"};
  return kNames[static_cast<std::size_t>(predictor)];
}

const char* KernelLevel(std::size_t kernels) {
  return kernels == 1 ? "1" : kernels <= 10 ? "2-10" : kernels < 40 ? "11-39" : "40-100";
}

const char* LengthLevel(std::uint64_t length) {
  return length < 6'000 ? "2k-6k" : length < 12'000 ? "6k-12k" : "12k-24k";
}

const char* LagLevel(const Workload& workload) {
  if (workload.lag == 0) return "0";
  const double share = static_cast<double>(workload.lag) / static_cast<double>(workload.length);
  return share < 0.01 ? "< 1 %" : share < 0.1 ? "1-10 %" : share < 0.6 ? "10-50 %" : ">= 100 %";
}

// The bound includes all uncovered time, so runs with much uncovered time always meet their bound.
const char* UncoveredLevel(double uncovered) {
  return uncovered < 1e-3 ? "< 0.1 %" : uncovered < 0.05 ? "0.1-5 %" : ">= 5 %";
}

const char* AskedLevel(double asked) {
  return asked == 0.05 ? "5 %" : asked < 0.03 ? "1-3 %" : asked < 0.06 ? "3-6 %" : "6-10 %";
}

constexpr const char* kAll = "all";

// Returns the regions of a run: the level of each parameter.
std::vector<std::string> RegionsOf(const Workload& workload, const BoundOutcome& outcome) {
  return {
      kAll,
      fmt::format("kernels {}", KernelLevel(workload.kernels.size())),
      fmt::format("kernel shares {}", workload.rare_kernels ? "over 2 decades" : "even"),
      fmt::format("modes {}", workload.modes),
      fmt::format("mode shares {}", workload.rare_modes ? "over 3 decades" : "even"),
      fmt::format("skew {}", workload.skew),
      fmt::format("skew {}", workload.heavy ? "(some heavy)" : "(none heavy)"),
      fmt::format("mode decided by {}", LevelOf(workload.predictor)),
      fmt::format("lag by length {}", LagLevel(workload)),
      fmt::format("length {}", LengthLevel(workload.length)),
      fmt::format("uncovered {}", UncoveredLevel(outcome.uncovered)),
      fmt::format("asked {}", AskedLevel(workload.error_bound)),
      fmt::format("group-by {}", workload.group_by == model::GroupBy::kName ? "name" : "launch")};
}

std::string Describe(const Workload& workload) {
  std::string text = fmt::format("n {} launches {} lag {} asked {:.4f}", workload.seed,
                                 workload.length, workload.lag, workload.error_bound);
  text +=
      fmt::format(" {} kernels {}{} modes {}{} skew {} by {}",
                  workload.group_by == model::GroupBy::kName ? "name" : "launch",
                  workload.kernels.size(), workload.rare_kernels ? " rare" : "", workload.modes,
                  workload.rare_modes ? " rare" : "", workload.skew, LevelOf(workload.predictor));
  if (workload.predictor == Predictor::kPartly) {
    text += fmt::format(" {:.2f}", workload.predicted_share);
  }
  if (workload.predictor == Predictor::kNothing) text += fmt::format(" grids {}", workload.grids);
  return text;
}

std::string Describe(const BoundOutcome& outcome) {
  return fmt::format("bound {:.5f} error {:+.5f} uncovered {:.5f} captured {} ({:.5f})",
                     outcome.bound, outcome.error, outcome.uncovered, outcome.captured,
                     outcome.captured_share);
}

BoundOutcome Run(const Workload& workload, std::uint64_t sampler_seed,
                 model::Plan* plan = nullptr) {
  sampling::SamplingOptions options;
  options.error_bound = workload.error_bound;
  options.group_by = workload.group_by;
  options.seed = sampler_seed;
  return test::RunStream(MakeStream(workload), options, workload.lag, plan);
}

struct WorkloadOutcome {
  Workload workload;
  BoundOutcome outcome;

  double ratio() const {
    constexpr double kRounding = 1e-9;  // of the estimate; the bound of constant durations is 0
    return std::max(0.0, std::fabs(outcome.error) - kRounding) / (outcome.bound + kRounding);
  }
};

// Returns outcomes in the order of the seeds.
std::vector<WorkloadOutcome> RunAll(std::uint64_t first, std::uint64_t runs) {
  std::vector<WorkloadOutcome> outcomes(runs);
  test::RunInParallel(runs, [&](std::size_t i) {
    outcomes[i].workload = DrawWorkload(first + i);
    outcomes[i].outcome = Run(outcomes[i].workload, first + i);
  });
  return outcomes;
}

using Tallies = std::map<std::string, BoundTally>;

void PrintTable(const char* title, const Tallies& tallies) {
  fmt::print("{:<54}{}\n", title, BoundTally::Header());
  for (const auto& [region, tally] : tallies) fmt::print("{:<54}{}\n", region, tally.Row());
}

// Prints pairs of levels that fail together although each level passes separately.
void PrintShortPairs(const Tallies& pairs) {
  Tallies low;
  for (const auto& [pair, tally] : pairs) {
    if (tally.runs() >= kRegionRuns && tally.coverage() < kMinRegionCoverage) {
      low.emplace(pair, tally);
    }
  }
  PrintTable("pairs of regions below 90 % (not checked)", low);
}

void PrintWorst(std::vector<WorkloadOutcome> outcomes) {
  constexpr std::size_t kPrinted = 12;
  std::stable_sort(outcomes.begin(), outcomes.end(),
                   [](const auto& a, const auto& b) { return a.ratio() > b.ratio(); });
  fmt::print("largest errors by bound\n");
  for (std::size_t i = 0; i < std::min(kPrinted, outcomes.size()); ++i) {
    fmt::print("  {:6.2f}: {}: {}\n", outcomes[i].ratio(), Describe(outcomes[i].workload),
               Describe(outcomes[i].outcome));
  }
}

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void PrintRun(std::uint64_t seed) {
  const Workload workload = DrawWorkload(seed);
  model::Plan plan;
  const BoundOutcome outcome = Run(workload, seed, &plan);
  fmt::print("{}\n{}\n{}", Describe(workload), Describe(outcome), model::PlanSummary(plan));
  const std::uint64_t seeds = FromEnvironment("STEMTAP_BOUND_SEEDS", 0);
  for (std::uint64_t i = 1; i <= seeds; ++i) fmt::print("{}\n", Describe(Run(workload, seed + i)));
}

TEST_CASE("the bound holds for random workloads in every region of their parameters") {
  const std::uint64_t first = FromEnvironment("STEMTAP_BOUND_FIRST", kFirst);
  const std::uint64_t runs =
      FromEnvironment("STEMTAP_BOUND_RUNS", test::kSlowBuild ? kSlowBuildRuns : kRuns);
  if (test::kSlowBuild) MESSAGE("slow build: ", runs, " of ", kRuns, " random workloads");
  if (runs == 1) return PrintRun(first);

  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu_begin = std::clock();
  const std::vector<WorkloadOutcome> outcomes = RunAll(first, runs);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  Tallies regions;
  Tallies pairs;
  for (const auto& [workload, outcome] : outcomes) {
    const double asked = workload.error_bound;
    const std::vector<std::string> names = RegionsOf(workload, outcome);
    for (std::size_t i = 0; i < names.size(); ++i) {
      regions[names[i]].Add(outcome, asked);
      for (std::size_t j = i + 1; j < names.size(); ++j) {
        pairs[names[i] + ", " + names[j]].Add(outcome, asked);
      }
    }
  }
  PrintTable("region", regions);
  PrintShortPairs(pairs);
  PrintWorst(outcomes);
  const double cpu_s = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
  fmt::print("{} workloads in {:.1f} s, {:.1f} s of CPU\n", runs, took.count(), cpu_s);

  CHECK(regions[kAll].coverage() >= kMinCoverage);
  for (const auto& [region, tally] : regions) {
    if (tally.runs() < kRegionRuns) continue;
    CAPTURE(region);
    CAPTURE(tally.runs());
    CHECK(tally.coverage() >= kMinRegionCoverage);
  }
}

}  // namespace
}  // namespace stemtap::online
