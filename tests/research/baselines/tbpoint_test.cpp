// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/tbpoint.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "base/rng.h"
#include "made_profile.h"

namespace stemtap::research {
namespace {

using test::ClustersOf;
using test::Indices;
using test::MadeProfile;
using test::WeightsOf;

// Adds the columns that tbpoint reads, and divides requests among the three kinds of sectors.
void AddFeatures(MadeProfile& made, const std::vector<double>& thread_instructions,
                 const std::vector<double>& instructions, const std::vector<double>& requests) {
  std::vector<double> loads, stores, local;
  for (const double r : requests) {
    loads.push_back(r / 2);
    stores.push_back(r / 4);
    local.push_back(r / 4);
  }
  made.AddMetric("smsp__thread_inst_executed.sum", thread_instructions);
  made.AddMetric("smsp__inst_executed.sum", instructions);
  made.AddMetric("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", loads);
  made.AddMetric("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", stores);
  made.AddMetric("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", local);
}

TEST_CASE("worked example: launches within a tenth of the kernel's average form a cluster") {
  MadeProfile made;
  for (const std::uint64_t d : {100u, 104u, 102u, 300u, 310u}) made.Add("kernel", d);
  made.Add("other", 7);
  // The average number of requests of `kernel` is (96 + 100 + 104 + 300 + 300) / 5 = 180. Relative
  // to this, 96, 100 and 104 are 0.533, 0.556 and 0.578, all within 0.044. The center of the three
  // is 100, launch 2.
  AddFeatures(made, {64, 64, 64, 64, 64, 1}, {2, 2, 2, 2, 2, 1}, {96, 104, 100, 300, 300, 100});
  const auto method = PrepareTbpoint(made.input());
  REQUIRE(method.ok());
  CHECK(ClustersOf(*method.value()) == std::vector<std::uint32_t>{0, 0, 0, 1, 1, 2});
  CHECK(Indices(method.value()->Draw(1)) == std::vector<std::uint64_t>{2, 3, 5});
  CHECK(WeightsOf(method.value()->Draw(1)) == std::vector<double>{3, 2, 1});
  CHECK(method.value()->deterministic());
  CHECK(std::isnan(method.value()->bound()));
}

TEST_CASE("the threshold is a tenth of the average over all launches") {
  // 96 and 105 differ by 9, which is 0.0896 of their average. 95 and 106 differ by 11, which is
  // 0.1095. With 100 more launches of 200, the average is 198, and 11 is a small fraction of it.
  for (const auto& [a, b, more, clusters] :
       {std::tuple{96, 105, 0, 1}, std::tuple{95, 106, 0, 2}, std::tuple{95, 106, 100, 2}}) {
    MadeProfile made;
    std::vector<double> requests = {static_cast<double>(a), static_cast<double>(b)};
    requests.insert(requests.end(), static_cast<std::size_t>(more), 200.0);
    for (std::size_t i = 0; i < requests.size(); ++i) made.Add("kernel", 50);
    const std::vector<double> ones(requests.size(), 1.0);
    AddFeatures(made, ones, ones, requests);
    const auto method = PrepareTbpoint(made.input());
    REQUIRE(method.ok());
    CHECK(method.value()->cluster_count() == clusters);
    CHECK((method.value()->clusters()[0] == method.value()->clusters()[1]) ==
          (clusters == 1 || more > 0));
  }
}

TEST_CASE("among launches equally near the center, the first one is selected") {
  MadeProfile made;
  for (int i = 0; i < 2; ++i) made.Add("kernel", 50);
  AddFeatures(made, {1, 1}, {1, 1}, {104, 96});
  CHECK(Indices(PrepareTbpoint(made.input()).value()->Draw(1)) == std::vector<std::uint64_t>{0});
}

TEST_CASE("each feature distinguishes launches, including block variation if its column exists") {
  const std::vector<double> same = {100, 100, 100};
  const std::vector<double> differs = {100, 100, 200};
  const std::vector<std::uint32_t> apart = {0, 0, 1};
  for (int feature = 0; feature < 4; ++feature) {
    CAPTURE(feature);
    MadeProfile made;
    for (int i = 0; i < 3; ++i) made.Add("kernel", 50);
    AddFeatures(made, feature == 0 ? differs : same, feature == 1 ? differs : same,
                feature == 2 ? differs : same);
    if (feature == 3) made.AddMetric("block_instructions_cov", {0.0, 0.0, 0.5});
    const auto method = PrepareTbpoint(made.input());
    REQUIRE(method.ok());
    CHECK(ClustersOf(*method.value()) == apart);
  }
}

TEST_CASE("thread instructions follow from warp instructions and divergence") {
  MadeProfile made;
  for (int i = 0; i < 3; ++i) made.Add("kernel", 50);
  AddFeatures(made, {1, 1, 1}, {100, 100, 100}, {0, 0, 0});
  made.profile.metric_names[0] = "smsp__thread_inst_executed_per_inst_executed.ratio";
  made.profile.metrics[0] = {32, 32, 8};
  const auto method = PrepareTbpoint(made.input());
  REQUIRE(method.ok());
  CHECK(ClustersOf(*method.value()) == std::vector<std::uint32_t>{0, 0, 1});
}

TEST_CASE("missing inputs are reported by name") {
  MadeProfile made;
  made.Add("kernel", 50);
  auto method = PrepareTbpoint(made.input());
  REQUIRE(!method.ok());
  CHECK(method.error().message ==
        "tbpoint needs metric columns that the profile lacks: smsp__thread_inst_executed.sum, "
        "smsp__inst_executed.sum, l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum, "
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum, "
        "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum");
  AddFeatures(made, {1}, {std::numeric_limits<double>::quiet_NaN()}, {1});
  method = PrepareTbpoint(made.input());
  REQUIRE(!method.ok());
  CHECK(method.error().message ==
        "tbpoint needs smsp__inst_executed.sum of every launch; expected a number from 0 and "
        "below 2^63; launch 0 has none");
}

TEST_CASE("cost depends on the number of different counters, and too many are rejected") {
  for (const bool noisy : {false, true}) {
    CAPTURE(noisy);
    MadeProfile made;
    Rng rng(1);
    std::vector<double> instructions;
    for (int i = 0; i < 100'000; ++i) {
      made.Add("kernel", 50);
      instructions.push_back(noisy ? 1e6 + 1e4 * rng.Uniform() : 1e6 + (i % 100));
    }
    const std::vector<double> zeros(100'000, 0.0);
    AddFeatures(made, instructions, instructions, zeros);
    const auto method = PrepareTbpoint(made.input());
    REQUIRE(method.ok() == !noisy);
    if (noisy) {
      CHECK(method.error().message ==
            "tbpoint: more than 8192 different launches of 'kernel' are close together; expected "
            "fewer, because all their distances are in memory");
    } else {
      CHECK(WeightsOf(method.value()->Draw(1)) == std::vector<double>{100'000});
    }
  }
}

TEST_CASE("no launch, one launch, zero counters and full exclusion are valid") {
  MadeProfile made;
  CHECK(PrepareTbpoint(made.input()).value()->cluster_count() == 0);
  made.Add("kernel", 50);
  made.Add("kernel", 60);
  AddFeatures(made, {0, 0}, {0, 0}, {0, 0});
  const auto method = PrepareTbpoint(made.input());
  REQUIRE(method.ok());
  CHECK(Indices(method.value()->Draw(1)) == std::vector<std::uint64_t>{0});
  CHECK(WeightsOf(method.value()->Draw(1)) == std::vector<double>{2});
  made.Exclude("kernel");
  CHECK(PrepareTbpoint(made.input()).value()->Draw(1).invocations.empty());
}

}  // namespace
}  // namespace stemtap::research
