// SPDX-License-Identifier: Apache-2.0
#include "fleet/rank_comparison.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace stemtap::fleet {
namespace {

constexpr std::uint64_t kNorm = 1;
constexpr std::uint64_t kGemm = 2;
constexpr std::uint64_t kReduce = 3;

const std::map<std::uint64_t, model::KernelId> kKernels = {{kNorm, {"layer_norm_kernel"}},
                                                           {kGemm, {"gemm_tile_128"}},
                                                           {kReduce, {"ncclDevKernel_AllReduce"}}};

// Adds launches of a kernel with a mean and 5 % of noise.
void Add(RunState& run, std::uint64_t kernel, double mean_ns, int launches,
         std::mt19937_64& random) {
  std::normal_distribution<double> noise(1.0, 0.05);
  for (int i = 0; i < launches; ++i) {
    run.sketches[kernel].Add(static_cast<std::uint64_t>(mean_ns * std::max(noise(random), 0.5)));
  }
}

// Returns the runs of a job, in which run `slow` takes `factor` times as long in layer_norm. Other
// runs have `mix` of relative scatter in their means.
std::vector<RunState> Job(std::size_t count, std::size_t slow, double factor, double mix,
                          std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> scatter(1.0, mix);
  std::vector<RunState> runs(count);
  for (std::size_t i = 0; i < count; ++i) {
    runs[i].run.rank = i;
    Add(runs[i], kNorm, 3000 * scatter(random) * (i == slow ? factor : 1.0), 2000, random);
    Add(runs[i], kGemm, 20000 * scatter(random), 500, random);
    // The others wait for the slow rank in communication.
    Add(runs[i], kReduce, i == slow ? 5000 : 9000, 500, random);
  }
  return runs;
}

std::vector<std::uint64_t> Slow(const RankComparison& comparison) {
  std::vector<std::uint64_t> slow;
  for (const RankRow& rank : comparison.ranks) {
    if (rank.is_slow()) slow.push_back(rank.run.rank);
  }
  return slow;
}

TEST_CASE("a rank whose kernels take longer is named, with how much") {
  int covered = 0;
  constexpr int kSeeds = 50;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RankComparison comparison = CompareRanks(Job(16, 5, 1.08, 0.002, seed), kKernels);
    REQUIRE(Slow(comparison) == std::vector<std::uint64_t>{5});
    const RankRow& rank = comparison.ranks[5];
    CHECK(rank.slow_kernels == std::vector<std::string>{"layer_norm_kernel"});
    CHECK(rank.slower == doctest::Approx(0.08).epsilon(0.15));
    CHECK(rank.slow_share == doctest::Approx(0.375).epsilon(0.05));
    covered += rank.low <= 0.08 && 0.08 <= rank.high;
    CHECK(comparison.kernels == 2);
    CHECK(comparison.communication_share == doctest::Approx(0.21).epsilon(0.1));
  }
  // The scatter of 16 runs is itself an estimate.
  CHECK(covered >= kSeeds * 8 / 10);
}

TEST_CASE("no rank is named if none is slow, or if ranks differ as much anyway") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CHECK(Slow(CompareRanks(Job(16, 0, 1.0, 0.0, seed), kKernels)).empty());
    CHECK(Slow(CompareRanks(Job(16, 0, 1.0, 0.03, seed), kKernels)).empty());
  }
  CHECK(Slow(CompareRanks(Job(16, 5, 1.08, 0.05, 1), kKernels)).empty());
  // Less than the smallest difference that matters.
  CHECK(Slow(CompareRanks(Job(16, 5, 1.015, 0.0, 1), kKernels)).empty());
}

TEST_CASE("a rank with longer requests, whose short launches are as short, is not slow") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::vector<RunState> runs = Job(16, 0, 1.0, 0.0, seed);
    std::mt19937_64 random(seed);
    Add(runs[5], kNorm, 9000, 200, random);  // prefills of long prompts
    CHECK(Slow(CompareRanks(runs, kKernels)).empty());
  }
}

TEST_CASE("kernels with other durations on some ranks, or on some ranks only, are found") {
  std::vector<RunState> runs = Job(4, 0, 1.2, 0.02, 1);
  const RankComparison same = CompareRanks(runs, kKernels);
  CHECK(same.apart.kernels.empty());
  CHECK(same.of_some.kernels.empty());
  std::mt19937_64 random(1);
  std::map<std::uint64_t, model::KernelId> kernels = kKernels;
  kernels[4] = {"stage_kernel"};
  kernels[5] = {"last_stage_kernel"};
  kernels[6] = {"rare_kernel"};
  for (std::size_t i = 0; i < 4; ++i) {
    Add(runs[i], 4, i < 2 ? 2000 : 6000, 500, random);
    if (i == 3) Add(runs[i], 5, 4000, 500, random);
    if (i == 3) Add(runs[i], 6, 4000, 10, random);  // too few to tell
  }
  const RankComparison comparison = CompareRanks(runs, kernels);
  CHECK(comparison.apart.kernels == std::vector<std::string>{"stage_kernel"});
  CHECK(comparison.of_some.kernels == std::vector<std::string>{"last_stage_kernel"});
  double all_ns = 0.0;
  double stage_ns = 0.0;
  for (const RunState& run : runs) {
    for (const auto& [key, sketch] : run.sketches) {
      all_ns += static_cast<double>(sketch.total_duration());
      if (key == 4) stage_ns += static_cast<double>(sketch.total_duration());
    }
  }
  CHECK(comparison.apart.share == doctest::Approx(stage_ns / all_ns));
  // A rank that has just begun lacks kernels.
  RunState begun;
  Add(begun, kNorm, 3000, 60, random);
  runs.push_back(begun);
  CHECK(CompareRanks(runs, kernels).of_some.kernels.size() == 1);
}

TEST_CASE("too few ranks and kernels with few launches are not compared") {
  const RankComparison few = CompareRanks(Job(4, 1, 2.0, 0.0, 1), kKernels);
  CHECK(few.kernels == 0);
  CHECK(Slow(few).empty());
  std::vector<RunState> runs = Job(8, 1, 1.0, 0.0, 1);
  std::mt19937_64 random(1);
  for (RunState& run : runs) Add(run, 4, run.run.rank == 1 ? 9000 : 3000, 10, random);
  std::map<std::uint64_t, model::KernelId> kernels = kKernels;
  kernels[4] = {"rare_kernel"};
  CHECK(CompareRanks(runs, kernels).kernels == 2);
  CHECK(CompareRanks({}, kernels).ranks.empty());
  CHECK(CompareRanks(std::vector<RunState>(8), kernels).kernels == 0);
}

}  // namespace
}  // namespace stemtap::fleet
