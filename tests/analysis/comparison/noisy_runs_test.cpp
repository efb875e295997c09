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
#include <cstdlib>
#include <string>
#include <vector>

#include "analysis/comparison/compared_run.h"
#include "analysis/comparison/launch_shift.h"
#include "analysis/comparison/run_diff.h"
#include "base/rng.h"
#include "model/profile.h"
#include "research/workloads/workload.h"

namespace stemtap::analysis {
namespace {

using test::Noise;
using test::NoisyProgram;

struct NoiseScenario {
  const char* name;
  NoisyProgram program;
  int min_found = 0;  // of 30 tables, a kernel of doubled duration is found in at least this many
};

constexpr int kDoubledTables = 30;  // of the full test, with a kernel of doubled duration

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
    {"cold starts", {Noise::kCold, 20, 1000}, 29},
    {"cold starts, 20 to 200 times", {Noise::kColdest}, 29},
    {"warm-up", {Noise::kWarmUp}, 29},
    {"late step", {Noise::kLateStep}, 29},
    {"clock step, 1 kernel", {Noise::kClockStep, 1, 2000}},
    {"clock step", {Noise::kClockStep}},
    {"three clock steps", {Noise::kClockSteps}},
    {"rare mode", {Noise::kRareMode}, 29},
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
  int wrong_launches = 0;   // tables with a wrong verdict about most launches
  int found_launches = 0;   // of `found`: by a verdict about most launches
  double shift_half = NAN;  // median of the intervals of the shifts of launches, in percent
  double half_width = NAN;  // median of the intervals of all kernels, in percent
  double total_half = NAN;  // median of the intervals of the totals, in percent
};

double HalfWidth(const MeanChange& change) {
  return 100.0 * (change.upper - change.lower) / 2.0;
}

bool HasLaunchVerdict(const RunDiff& diff) {
  return std::any_of(diff.kernels.begin(), diff.kernels.end(),
                     [](const KernelDiff& kernel) { return kernel.basis == DiffBasis::kLaunches; });
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
  std::vector<double> shifts;
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
    tally.wrong_launches += HasLaunchVerdict(diff) ? 1 : 0;
    for (const KernelDiff& kernel : diff.kernels) {
      widths.push_back(HalfWidth(kernel.change));
      shifts.push_back(50.0 * (kernel.shift.upper - kernel.shift.lower));
    }
    totals.push_back(HalfWidth(diff.total.change));
    if (i >= doubled) continue;
    for (const double slowdown : {2.0, 1.05}) {
      const RunDiff slow = DiffRuns(a, test::NoisyRun(program, seed, 20'000 + seed, slowdown), {});
      for (const KernelDiff& kernel : slow.kernels) {
        if (kernel.name != "kernel0" || kernel.verdict != DiffVerdict::kSlower) continue;
        (slowdown == 2.0 ? tally.found : tally.found_small) += 1;
        if (slowdown == 2.0 && kernel.basis == DiffBasis::kLaunches) ++tally.found_launches;
      }
    }
  }
  tally.half_width = Median(widths);
  tally.total_half = Median(totals);
  tally.shift_half = Median(shifts);
  return tally;
}

void PrintHeader() {
  MESSAGE(
      "| noise | wrong tables | wrong totals | by launches | half width % | total % | launches % | "
      "doubled found | by launches | 5 % found |");
}

void Print(const char* name, const NoiseTally& tally, int doubled) {
  MESSAGE(fmt::format("| {} | {} of {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {} of {} | {} | {} |",
                      name, tally.wrong, tally.tables, tally.wrong_totals, tally.wrong_launches,
                      tally.half_width, tally.total_half, tally.shift_half, tally.found, doubled,
                      tally.found_launches, tally.found_small));
}

void CheckScenarios(int tables, int doubled, int max_wrong) {
  PrintHeader();
  for (const NoiseScenario& scenario : kScenarios) {
    const NoiseTally tally = Measure(scenario.program, tables, doubled);
    Print(scenario.name, tally, doubled);
    CAPTURE(scenario.name);
    CHECK(tally.wrong <= max_wrong);
    if (doubled == kDoubledTables) CHECK(tally.found >= scenario.min_found);
  }
}

TEST_CASE("unchanged runs have no verdict, whatever the noise") {
  // Two of 20 tables are wrong with probability 0.26 if one of 20 is expected.
  CheckScenarios(test::kSlowBuild ? 2 : 20, 0, test::kSlowBuild ? 1 : 2);
}

TEST_CASE("full: at most 5 percent of unchanged runs have a verdict, whatever the noise" *
          doctest::skip()) {
  CheckScenarios(400, kDoubledTables, 20);
}

// Returns the comparison of two runs of one program; kernel 0 takes `slowdown` times as long in B.
RunDiff DiffOf(Noise noise, std::uint64_t seed, double slowdown) {
  const NoisyProgram program = {noise};
  return DiffRuns(test::NoisyRun(program, seed, 10'000 + seed),
                  test::NoisyRun(program, seed, 20'000 + seed, slowdown), {});
}

TEST_CASE("a kernel of doubled duration is slower although a few launches are very long") {
  for (const Noise noise : {Noise::kColdest, Noise::kRareMode}) {
    int by_launches = 0;
    for (std::uint64_t seed = 1; seed <= (test::kSlowBuild ? 1 : 10); ++seed) {
      const RunDiff diff = DiffOf(noise, seed, 2.0);
      const KernelDiff& first = diff.kernels.front();
      CHECK(first.name == "kernel0");
      CHECK(first.verdict == DiffVerdict::kSlower);
      CHECK(first.basis != DiffBasis::kNone);
      CHECK(first.shift.lower < 1.0);
      CHECK(first.shift.upper > 0.97);
      CHECK(first.shift.upper - first.shift.lower < 0.1);
      if (first.basis != DiffBasis::kLaunches) continue;
      ++by_launches;
      CHECK(first.adjusted_p > 0.05);
      CHECK(first.adjusted_shift_p <= 0.05);
    }
    if (!test::kSlowBuild) CHECK(by_launches > 0);
  }
}

// Returns the shift of the launches of a kernel of which `slow` of 10 launches, at random, take
// 20 % longer in B.
LaunchShift ShiftOf(std::uint64_t slow) {
  model::Profile a;
  model::Profile b;
  Rng rng(1);
  for (model::Profile* profile : {&a, &b}) profile->names.Intern("kernel");
  for (int i = 0; i < 4'000; ++i) {
    for (model::Profile* profile : {&a, &b}) {
      shm::KernelRecord record;
      std::fill(std::begin(record.grid), std::end(record.grid), 1);
      std::fill(std::begin(record.block), std::end(record.block), std::uint16_t{1});
      const bool is_slow = profile == &b && rng.Below(10) < slow;
      record.duration_ns = (10'000 + rng.Below(100)) * (is_slow ? 12 : 10) / 10;
      profile->records.push_back(record);
    }
  }
  const auto compared = [](const model::Profile& profile) {
    return ComparedProfile(*model::ReadProfile(profile), "run").value().kernels.front();
  };
  return CompareLaunches(compared(a), compared(b), 0.95);
}

TEST_CASE("launches shift only if all quartiles do") {
  CHECK(ShiftOf(10).P(0.01) < 1e-3);
  CHECK(ShiftOf(10).relative == doctest::Approx(0.2).epsilon(0.02));
  CHECK(ShiftOf(5).P(0.01) > 0.05);  // the lower quartile is not longer
  CHECK(ShiftOf(7).relative == doctest::Approx(0.2).epsilon(0.1));
  CHECK(ShiftOf(6).P(0.01) > 0.05);
  CHECK(ShiftOf(0).P(0.01) > 0.05);
}

TEST_CASE("each launch of a slice is drawn equally often, also if slices are merged") {
  int last_half = 0;
  int last = 0;
  constexpr int kBatches = 4'000;
  LaunchBatches batches;
  for (std::uint32_t slice = 0; slice < kBatches; ++slice) {
    for (std::uint64_t launch = 1; launch <= 4; ++launch) batches.Add(slice, 1, launch);
  }
  for (const LaunchBatch& batch : batches.batches()) last += batch.drawn_ns == 4 ? 1 : 0;
  batches.MergeSlices();
  for (const LaunchBatch& batch : batches.batches()) last_half += batch.drawn_ns > 2 ? 1 : 0;
  // Within 5 standard deviations, so other seeds fail with a probability below one in a million.
  CHECK(std::abs(last - kBatches / 4) < 137);
  CHECK(std::abs(last_half - kBatches / 4) < 112);
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
