// SPDX-License-Identifier: Apache-2.0
//
// Tests that `stemtap diff` finds no change between two runs of one program, whatever the noise,
// and that it finds a kernel that takes twice as long.
//
// The short tests have few tables. The full tests measure the tables of docs/math/diff.md:
//   comparison_test --no-skip --test-case='*full*'
#include "analysis/comparison/noisy_runs.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/comparison/run_diff.h"
#include "research/workloads/workload.h"

namespace stemtap::analysis {
namespace {

using test::Noise;
using test::NoisyProgram;

struct NoiseScenario {
  const char* name;
  NoisyProgram program;
};

constexpr NoiseScenario kScenarios[] = {
    {"two modes, 2 launches, 100 kernels", {Noise::kTwoModes, 100, 2}},
    {"two modes, 3 launches, 100 kernels", {Noise::kTwoModes, 100, 3}},
    {"two modes, 4 launches, 1 kernel", {Noise::kTwoModes, 1, 4}},
    {"two modes, 4 launches, 100 kernels", {Noise::kTwoModes, 100, 4}},
    {"two modes, 4 launches, 400 kernels", {Noise::kTwoModes, 400, 4}},
    {"two modes, 8 launches, 100 kernels", {Noise::kTwoModes, 100, 8}},
    {"two modes, 16 launches, 100 kernels", {Noise::kTwoModes, 100, 16}},
    {"two modes, 2 to 500 launches, 100 kernels", {Noise::kTwoModes, 100, 500, true}},
    {"cold starts, 4 launches, 100 kernels", {Noise::kColdest, 100, 4}},
    {"skewed, 8 launches, 100 kernels", {Noise::kSkewed, 100, 8}},
    {"clock step, 8 launches, 100 kernels", {Noise::kClockStep, 100, 8}},
    {"normal", {Noise::kNormal}},
    {"normal, 64 launches, 400 kernels", {Noise::kNormal, 400, 64}},
    {"skewed", {Noise::kSkewed}},
    {"heavy tail", {Noise::kHeavyTail}},
    {"cold starts", {Noise::kCold, 20, 1000}},
    {"cold starts, 20 to 200 times", {Noise::kColdest}},
    {"warm-up", {Noise::kWarmUp}},
    {"late step", {Noise::kLateStep}},
    {"clock step, 1 kernel", {Noise::kClockStep, 1, 2000}},
    {"clock step", {Noise::kClockStep}},
    {"three clock steps", {Noise::kClockSteps}},
    {"rare mode", {Noise::kRareMode}},
    {"timer of 32 ns", {Noise::kTimer}},
    {"correlated", {Noise::kCorrelated}},
    {"wandering clock", {Noise::kWander}},
    {"two modes in stretches", {Noise::kStretches}},
    {"drift", {Noise::kDrift}},
};

bool IsWrong(const RunDiff& diff) {
  const auto is_change = [](DiffVerdict verdict) {
    return verdict == DiffVerdict::kSlower || verdict == DiffVerdict::kFaster;
  };
  return is_change(diff.total.verdict) ||
         std::any_of(diff.kernels.begin(), diff.kernels.end(),
                     [&](const KernelDiff& kernel) { return is_change(kernel.verdict); });
}

// NoiseTally is what the tables of a scenario contain.
struct NoiseTally {
  int tables = 0;
  int wrong = 0;
  int wrong_totals = 0;
  int found = 0;            // tables that report a kernel of doubled duration as slower
  int found_small = 0;      // the same for a kernel that takes 5 % longer
  double half_width = NAN;  // median of the intervals of all kernels, in percent
  double total_half = NAN;  // median of the intervals of the totals, in percent
};

double HalfWidth(const MeanChange& change) {
  return 100.0 * (change.upper - change.lower) / 2.0;
}

double Median(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return NAN;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

NoiseTally Measure(const NoisyProgram& program, int tables, int doubled) {
  NoiseTally tally;
  std::vector<double> widths;
  std::vector<double> totals;
  for (int i = 0; i < tables; ++i) {
    const auto seed = static_cast<std::uint64_t>(1 + i);
    const ComparedRun a = test::NoisyRun(program, seed, 10'000 + seed);
    const RunDiff diff = DiffRuns(a, test::NoisyRun(program, seed, 20'000 + seed), {});
    ++tally.tables;
    tally.wrong += IsWrong(diff) ? 1 : 0;
    tally.wrong_totals +=
        diff.total.verdict == DiffVerdict::kSlower || diff.total.verdict == DiffVerdict::kFaster
            ? 1
            : 0;
    for (const KernelDiff& kernel : diff.kernels) widths.push_back(HalfWidth(kernel.change));
    totals.push_back(HalfWidth(diff.total.change));
    if (i >= doubled) continue;
    for (const double slowdown : {2.0, 1.05}) {
      const RunDiff slow = DiffRuns(a, test::NoisyRun(program, seed, 20'000 + seed, slowdown), {});
      for (const KernelDiff& kernel : slow.kernels) {
        if (kernel.name != "kernel0" || kernel.verdict != DiffVerdict::kSlower) continue;
        (slowdown == 2.0 ? tally.found : tally.found_small) += 1;
      }
    }
  }
  tally.half_width = Median(widths);
  tally.total_half = Median(totals);
  return tally;
}

void PrintHeader() {
  MESSAGE(
      "| noise | wrong tables | wrong totals | half width % | total % | doubled found | 5 % found "
      "|");
}

void Print(const char* name, const NoiseTally& tally, int doubled) {
  MESSAGE(fmt::format("| {} | {} of {} | {} | {:.1f} | {:.1f} | {} of {} | {} |", name, tally.wrong,
                      tally.tables, tally.wrong_totals, tally.half_width, tally.total_half,
                      tally.found, doubled, tally.found_small));
}

void CheckScenarios(int tables, int doubled, int max_wrong) {
  PrintHeader();
  for (const NoiseScenario& scenario : kScenarios) {
    const NoiseTally tally = Measure(scenario.program, tables, doubled);
    Print(scenario.name, tally, doubled);
    CAPTURE(scenario.name);
    CHECK(tally.wrong <= max_wrong);
  }
}

TEST_CASE("unchanged runs have no verdict, whatever the noise") {
  // Two of 20 tables are wrong with probability 0.26 if one of 20 is expected.
  CheckScenarios(test::kSlowBuild ? 2 : 20, 0, test::kSlowBuild ? 1 : 2);
}

TEST_CASE("full: at most 5 percent of unchanged runs have a verdict, whatever the noise" *
          doctest::skip()) {
  CheckScenarios(400, 30, 20);
}

// Returns how many of the pairs of equal runs of the generated workloads have a wrong table.
int WrongWorkloads(std::uint64_t launches, std::uint64_t pairs) {
  int wrong = 0;
  for (const char* name : {"llm-decode", "llm-serve", "training", "phases", "outliers", "warmup"}) {
    for (std::uint64_t pair = 1; pair <= pairs; ++pair) {
      const auto run = [&](std::uint64_t noise_seed) {
        research::WorkloadOptions options;
        options.launches = launches;
        options.seed = pair;
        options.noise_seed = noise_seed;
        const research::MadeWorkload reader = research::MakeWorkload(name, options);
        return ComparedProfile(*reader.value(), name).value();
      };
      if (!IsWrong(DiffRuns(run(pair), run(1'000 + pair), {}))) continue;
      ++wrong;
      MESSAGE(fmt::format("wrong: {}, pair {}, {} launches", name, pair, launches));
    }
  }
  return wrong;
}

TEST_CASE("equal runs of the generated workloads have no verdict") {
  CHECK(WrongWorkloads(test::kSlowBuild ? 5'000 : 30'000, 1) == 0);
}

TEST_CASE("full: at most 1 of 90 equal runs of the generated workloads has a verdict" *
          doctest::skip()) {
  for (const std::uint64_t launches : {20'000u, 60'000u, 200'000u}) {
    CAPTURE(launches);
    CHECK(WrongWorkloads(launches, 15) <= 1);
  }
}

}  // namespace
}  // namespace stemtap::analysis
