// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/sieve.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "made_profile.h"

namespace stemtap::research {
namespace {

using test::ClustersOf;
using test::Indices;
using test::MadeProfile;
using test::WeightsOf;

constexpr const char* kInstructions = "smsp__inst_executed.sum";

TEST_CASE("worked example: sieve samples one kernel of each tier") {
  MadeProfile made;
  std::vector<double> instructions;
  const auto add = [&](const char* name, std::uint64_t duration, std::uint32_t block,
                       double count) {
    made.Add(name, duration, block);
    instructions.push_back(count);
  };
  // Tier 1: the count never changes. All launches have the same CTA size, so the first represents
  // all, with weight 4.
  for (int i = 0; i < 4; ++i) add("steady", 100, 128, 1'000);
  // Tier 2: the counts 1000, 1200, 1400 and 1600 have CoV 223.6 / 1300 = 0.17. Of the two CTA
  // sizes, 256 is more frequent and first occurs at index 5, with weight 5200 / 1200.
  add("drifting", 200, 64, 1'000);   // 4
  add("drifting", 240, 256, 1'200);  // 5
  add("drifting", 280, 256, 1'400);  // 6
  add("drifting", 320, 256, 1'600);  // 7
  // Tier 3: two modes that differ by a factor of ten have CoV 0.82 together. Both weights are 3.
  for (int i = 0; i < 3; ++i) {
    add("bimodal", 50, 32, 100);     // 8, 10, 12
    add("bimodal", 500, 32, 1'000);  // 9, 11, 13
  }
  made.AddMetric(kInstructions, instructions);
  const auto method = PrepareSieve(made.input());
  REQUIRE(method.ok());
  const PreparedMethod& sieve = *method.value();
  CHECK(ClustersOf(sieve) == std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 3, 2, 3, 2, 3});
  CHECK(Indices(sieve.Draw(1)) == std::vector<std::uint64_t>{0, 5, 8, 9});
  CHECK(WeightsOf(sieve.Draw(1)) == std::vector<double>{4, 5'200.0 / 1'200, 3, 3});
  // Duration is proportional to instructions in every kernel, so the estimate is exact.
  CHECK(made.Estimate(sieve.Draw(1)) == doctest::Approx(made.total()).epsilon(1e-12));
  CHECK(sieve.cluster_count() == 4);
  CHECK(sieve.deterministic());
  CHECK(std::isnan(sieve.bound()));
}

TEST_CASE("among equally frequent CTA sizes, the first one represents the kernel") {
  MadeProfile made;
  made.Add("kernel", 100, 512);
  made.Add("kernel", 100, 64);
  made.AddMetric(kInstructions, {10, 10});
  CHECK(Indices(PrepareSieve(made.input()).value()->Draw(1)) == std::vector<std::uint64_t>{0});
}

TEST_CASE("sieve does not distinguish launches with equal instruction counts") {
  MadeProfile made;
  for (std::uint64_t i = 0; i < 10; ++i) made.Add("kernel", i == 0 ? 900 : 100);
  made.AddMetric(kInstructions, std::vector<double>(10, 5.0));
  CHECK(made.Estimate(PrepareSieve(made.input()).value()->Draw(1)) == 9'000.0);
}

TEST_CASE("kernels without instructions have the weight of their launches") {
  MadeProfile made;
  for (int i = 0; i < 3; ++i) made.Add("empty", 100);
  made.Add("mixed", 100, 64);
  made.Add("mixed", 100, 64);
  made.AddMetric(kInstructions, {0, 0, 0, 0, 0});
  const auto sample = PrepareSieve(made.input()).value()->Draw(1);
  CHECK(WeightsOf(sample) == std::vector<double>{3, 2});
}

TEST_CASE("missing instruction counts and CTA sizes are reported") {
  MadeProfile made;
  made.Add("kernel", 100);
  made.Add("kernel", 100);
  auto method = PrepareSieve(made.input());
  REQUIRE(!method.ok());
  CHECK(method.error().message ==
        "sieve needs metric columns that the profile lacks: smsp__inst_executed.sum");

  made.AddMetric("instructions", {1, std::numeric_limits<double>::quiet_NaN()});
  method = PrepareSieve(made.input());
  REQUIRE(!method.ok());
  CHECK(method.error().message ==
        "sieve needs smsp__inst_executed.sum of every launch; expected a number from 0 and "
        "below 2^63; launch 1 has none");

  made.profile.metrics[0][1] = 1.0;
  made.profile.records[1].block[0] = 0;  // unknown
  method = PrepareSieve(made.input());
  REQUIRE(!method.ok());
  CHECK(method.error().message ==
        "sieve needs launch__block_size of every launch; expected a number from 0 and below "
        "2^63; "
        "launch 1 has none");
  made.AddMetric("launch__block_size", {128, 128});
  CHECK(PrepareSieve(made.input()).ok());
}

TEST_CASE("excluded kernels are skipped, and an empty run is valid") {
  MadeProfile made;
  CHECK(PrepareSieve(made.input()).value()->cluster_count() == 0);
  made.Add("wait", 100);
  made.Add("kernel", 100);
  made.AddMetric(kInstructions, {std::numeric_limits<double>::quiet_NaN(), 7});
  made.Exclude("wait");
  const auto method = PrepareSieve(made.input());
  REQUIRE(method.ok());
  CHECK(ClustersOf(*method.value()) == std::vector<std::uint32_t>{model::kExcludedKernel, 0});
  CHECK(WeightsOf(method.value()->Draw(1)) == std::vector<double>{1});
}

}  // namespace
}  // namespace stemtap::research
