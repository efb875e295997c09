// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/pka.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "made_profile.h"
#include "research/baselines/metrics.h"

namespace stemtap::research {
namespace {

using test::ClustersOf;
using test::Indices;
using test::MadeProfile;
using test::WeightsOf;

// Adds the columns of the twelve metrics. Column c of launch i contains value(i, c).
template <typename Value>
void AddPkaMetrics(MadeProfile& made, Value value) {
  std::size_t column = 0;
  for (const MetricNames& m : AllMetricNames()) {
    if (column == 12) break;
    std::vector<double> cells;
    for (std::size_t i = 0; i < made.groups.size(); ++i) cells.push_back(value(i, column));
    made.AddMetric(m.names[0], cells);
    ++column;
  }
}

TEST_CASE("three kinds of launches with different counters give three exact clusters") {
  MadeProfile made;
  const std::uint64_t durations[] = {700, 100, 2'500};
  for (std::size_t i = 0; i < 60; ++i) made.Add("kernel", durations[i % 3]);
  Rng rng(1);
  // Counters differ between kinds and vary slightly within a kind.
  AddPkaMetrics(made, [&](std::size_t i, std::size_t c) {
    return 1'000.0 * static_cast<double>(1 + (i % 3) * (c + 1)) + rng.Uniform();
  });
  const auto method = PreparePka(made.input());
  REQUIRE(method.ok());
  const PreparedMethod& pka = *method.value();
  CHECK(pka.cluster_count() == 3);
  CHECK(pka.deterministic());
  CHECK(std::isnan(pka.bound()));
  // The first launch of each kind represents all twenty.
  CHECK(Indices(pka.Draw(1)) == std::vector<std::uint64_t>{0, 1, 2});
  CHECK(WeightsOf(pka.Draw(1)) == std::vector<double>{20, 20, 20});
  CHECK(made.Estimate(pka.Draw(5)) == made.total());
  for (std::size_t i = 3; i < 60; ++i) CHECK(pka.clusters()[i] == pka.clusters()[i % 3]);
}

TEST_CASE("the smallest k with the lowest error of the projected total is used") {
  // Counters grow in three steps, but only the last step changes the duration. Two clusters predict
  // the total as well as three; one cluster does not.
  MadeProfile made;
  for (std::size_t i = 0; i < 40; ++i) made.Add("kernel", i % 4 == 3 ? 9'000 : 1'000);
  AddPkaMetrics(made, [&](std::size_t i, std::size_t) {
    const double steps[] = {10, 10.1, 10.2, 500};
    return steps[i % 4];
  });
  const auto method = PreparePka(made.input());
  REQUIRE(method.ok());
  CHECK(method.value()->cluster_count() == 2);
  CHECK(WeightsOf(method.value()->Draw(1)) == std::vector<double>{30, 10});
}

TEST_CASE("pka does not distinguish launches with equal counters") {
  // All counters are equal, so there is one cluster, and the first launch represents all launches,
  // including slow launches.
  MadeProfile made;
  for (std::size_t i = 0; i < 10; ++i) made.Add("kernel", i < 5 ? 100 : 300);
  AddPkaMetrics(made, [](std::size_t, std::size_t c) { return static_cast<double>(c); });
  const auto method = PreparePka(made.input());
  REQUIRE(method.ok());
  CHECK(method.value()->cluster_count() == 1);
  CHECK(made.Estimate(method.value()->Draw(1)) == 10 * 100.0);
}

TEST_CASE("25 kinds of launches give at most 20 clusters and an accurate estimate") {
  MadeProfile made;
  for (std::size_t i = 0; i < 500; ++i) made.Add("kernel", 1'000 + 100 * (i % 25));
  AddPkaMetrics(made, [](std::size_t i, std::size_t) { return static_cast<double>(i % 25); });
  const auto method = PreparePka(made.input());
  REQUIRE(method.ok());
  CHECK(method.value()->cluster_count() <= kPkaMaxClusters);
  CHECK(std::abs(made.Estimate(method.value()->Draw(1)) / made.total() - 1.0) < 0.02);
}

TEST_CASE("all missing columns are reported in one line") {
  MadeProfile made;
  made.Add("kernel", 100);
  made.AddMetric("smsp__inst_executed.sum", {5});
  auto method = PreparePka(made.input());
  REQUIRE(!method.ok());
  CHECK(method.error().message ==
        "pka needs metric columns that the profile lacks: "
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum, "
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum, "
        "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum, smsp__inst_executed_op_global_ld.sum, "
        "smsp__inst_executed_op_global_st.sum, smsp__inst_executed_op_local_ld.sum, "
        "smsp__inst_executed_op_shared_ld.sum, smsp__inst_executed_op_shared_st.sum, "
        "smsp__sass_inst_executed_op_global_atom.sum, "
        "smsp__thread_inst_executed_per_inst_executed.ratio");
}

TEST_CASE("a column is found by any of its names and not by names of other metrics") {
  for (const MetricNames& m : AllMetricNames()) {
    for (const char* name : m.names) {
      if (name == nullptr) break;
      CAPTURE(name);
      MadeProfile made;
      made.Add("kernel", 100);
      made.AddMetric(name, {3});
      for (const MetricNames& other : AllMetricNames()) {
        CHECK(HasMetric(made.profile, other.metric) == (other.metric == m.metric));
      }
    }
  }
  for (const auto& [name, metric] :
       {std::pair("sass__inst_executed_global_loads", Metric::kGlobalLoads),
        std::pair("smsp__sass_inst_executed_op_shared_st.sum", Metric::kSharedStores),
        std::pair("Executed Instructions", Metric::kInstructions),
        std::pair("Avg. Active Threads Per Warp", Metric::kDivergenceEfficiency),
        std::pair("Grid Size", Metric::kBlocks), std::pair("Block Size", Metric::kBlockThreads)}) {
    CAPTURE(name);
    MadeProfile made;
    made.Add("kernel", 100);
    made.AddMetric(name, {3});
    CHECK(HasMetric(made.profile, metric));
  }
}

TEST_CASE("alternative column names are accepted, and the grid replaces its column") {
  MadeProfile made;
  made.Add("kernel", 100, 128, 1);
  made.Add("kernel", 900, 128, 64);
  for (const MetricNames& m : AllMetricNames()) {
    if (m.metric == Metric::kBlocks) break;
    made.AddMetric(m.names[1], {3, 3});
  }
  const auto method = PreparePka(made.input());
  REQUIRE(method.ok());
  // Only the grids differ.
  CHECK(method.value()->cluster_count() == 2);
}

TEST_CASE("an invalid cell is reported with its launch unless the launch is excluded") {
  const std::pair<double, const char*> cells[] = {
      {std::numeric_limits<double>::quiet_NaN(), "none"}, {-1.5, "-1.5"}, {1e300, "1e+300"}};
  for (const auto& [bad, shown] : cells) {
    MadeProfile made;
    made.Add("kernel", 100);
    made.Add("other", 200);
    AddPkaMetrics(
        made, [cell = bad](std::size_t i, std::size_t c) { return i == 1 && c == 4 ? cell : 1.0; });
    const auto method = PreparePka(made.input());
    REQUIRE(!method.ok());
    CHECK(method.error().message ==
          std::string("pka needs smsp__inst_executed_op_global_st.sum of every launch; expected "
                      "a number from 0 and below 2^63; launch 1 has ") +
              shown);
    made.Exclude("other");
    const auto without = PreparePka(made.input());
    REQUIRE(without.ok());
    CHECK(ClustersOf(*without.value()) == std::vector<std::uint32_t>{0, model::kExcludedKernel});
    CHECK(Indices(without.value()->Draw(1)) == std::vector<std::uint64_t>{0});
  }
}

TEST_CASE("no launch, one launch and full exclusion are valid") {
  MadeProfile made;
  CHECK(PreparePka(made.input()).value()->cluster_count() == 0);
  made.Add("kernel", 100);
  AddPkaMetrics(made, [](std::size_t, std::size_t) { return 0.0; });
  CHECK(WeightsOf(PreparePka(made.input()).value()->Draw(1)) == std::vector<double>{1});
  made.Exclude("kernel");
  CHECK(PreparePka(made.input()).value()->Draw(1).invocations.empty());
}

}  // namespace
}  // namespace stemtap::research
