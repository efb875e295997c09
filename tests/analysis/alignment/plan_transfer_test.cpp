// SPDX-License-Identifier: Apache-2.0
#include "analysis/alignment/plan_transfer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "analysis/alignment/runs.h"
#include "shm/record.h"

namespace stemtap::analysis {
namespace {

using test::Launch;

// Run A launches gemm (100 ns + i, but 1000 ns + i for i = 8, 9) and norm (20 ns) ten times, then
// "tune" once. Run B starts with a warm-up, takes twice as long, and launches "tune" `tuned` times.
Run RunA() {
  Run run;
  for (std::uint64_t i = 0; i < 10; ++i) {
    Launch(run, {"gemm", i < 8 ? 100 + i : 1000 + i, 4});
    Launch(run, {"norm", 20, 1});
  }
  Launch(run, {"tune", 50, 1});
  return run;
}

Run RunB(int tuned = 1) {
  Run run;
  Launch(run, {"warm_up", 500, 1});
  for (std::uint64_t i = 0; i < 10; ++i) {
    Launch(run, {"gemm", 2 * (i < 8 ? 100 + i : 1000 + i), 4});
    Launch(run, {"norm", 40, 1});
  }
  for (int i = 0; i < tuned; ++i) Launch(run, {"tune", 60, 1});
  return run;
}

model::PlanSample SampleOf(const Run& run, std::uint64_t index, std::uint64_t occurrence,
                           double weight) {
  model::PlanSample sample;
  sample.index = index;
  sample.occurrence = occurrence;
  sample.record.duration_ns = run.launches[index].duration_ns;
  sample.weight = weight;
  return sample;
}

// gemm has two clusters (two samples of 8 launches, one of 2); norm and tune have one sample each.
model::Plan PlanOfA(const Run& a) {
  model::Plan plan;
  plan.source = "a";
  plan.options = {{"error_bound", 0.05}, {"group_by", "name"}, {"weights", "plain"}};
  plan.totals.samples = 5;
  model::PlanKernel gemm;
  gemm.name = "gemm";
  gemm.invocations = 10;
  gemm.clusters = {{100, 110, 8, 103.5, 2.3, 2, 2, {SampleOf(a, 2, 1, 4), SampleOf(a, 8, 4, 4)}},
                   {1000, 1010, 2, 1008.5, 0.5, 1, 1, {SampleOf(a, 18, 9, 2)}}};
  model::PlanKernel norm;
  norm.name = "norm";
  norm.invocations = 10;
  norm.clusters = {{20, 20, 10, 20, 0, 1, 1, {SampleOf(a, 1, 0, 10)}}};
  model::PlanKernel tune;
  tune.name = "tune";
  tune.invocations = 1;
  tune.clusters = {{50, 50, 1, 50, 0, 1, 1, {SampleOf(a, 20, 0, 1)}}};
  plan.kernels = {gemm, norm, tune};
  return plan;
}

Result<PlanTransfer> Carry(const model::Plan& plan, const Run& a, const Run& b, bool drop = false) {
  return TransferPlan(plan, a, b, AlignRuns(a, b), {drop, "plan.json", "b"});
}

TEST_CASE("samples are replaced by their partners, with durations of B") {
  const Run a = RunA();
  const Run b = RunB();
  const auto done = Carry(PlanOfA(a), a, b);
  REQUIRE(done.ok());
  const model::Plan& plan = done.value().plan;
  CHECK(done.value().dropped.empty());
  CHECK(done.value().warnings.empty());
  CHECK(plan.source == "b");
  REQUIRE(plan.kernels.size() == 4);
  const model::PlanCluster& small = plan.kernels[0].clusters[0];
  REQUIRE(small.samples.size() == 2);
  CHECK(small.samples[0].index == 3);
  CHECK(small.samples[0].occurrence == 1);
  CHECK(small.samples[0].record.duration_ns == 202);
  CHECK(small.samples[0].record.stream == 7);
  CHECK(small.samples[0].record.grid[0] == 4);
  CHECK(small.samples[0].weight == 4.0);
  CHECK(small.count == 8);
  CHECK(small.lower_ns == 200);
  CHECK(small.upper_ns == 214);
  CHECK(small.mean_ns == doctest::Approx(207.0));
  CHECK(small.stddev_ns == doctest::Approx(2 * std::sqrt(5.25)));
  CHECK(plan.kernels[0].clusters[1].lower_ns == 2016);
  CHECK(plan.kernels[0].duration_ns == 2 * (8 * 100 + 28 + 2 * 1000 + 17));
  // The warm-up is new: it is part of the totals and has no sample.
  CHECK(plan.kernels[3].name == "warm_up");
  CHECK(plan.kernels[3].clusters[0].samples.empty());
  CHECK(plan.totals.invocations == 22);
  CHECK(plan.totals.duration_ns == 500 + 5690 + 400 + 60);
  CHECK(plan.totals.samples == 5);
  CHECK(plan.totals.sampled_duration_ns == 202 + 208 + 2018 + 40 + 60);
  CHECK(plan.totals.plain_estimate_ns == doctest::Approx(4 * (202 + 208) + 2 * 2018 + 400 + 60));
  CHECK(plan.totals.observed_error == doctest::Approx((6650.0 - 6136.0) / 6650.0));
  CHECK(plan.totals.uncovered_fraction == doctest::Approx(500.0 / 6650.0));
  CHECK(std::isnan(plan.totals.bound));
  CHECK(std::isnan(plan.totals.calibrated_estimate_ns));
}

TEST_CASE("a sample of a kernel with a nondeterministic count is rejected") {
  const Run a = RunA();
  const Run b = RunB(3);
  const auto refused = Carry(PlanOfA(a), a, b);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().exit_code == 1);
  CHECK(refused.error().message ==
        "plan.json: 1 of 5 samples cannot be transferred: launch 20 of 'tune' (the runs launch its "
        "kernel a different number of times); expected counterparts for all, or --drop-unmatched");
  const auto dropped = Carry(PlanOfA(a), a, b, true);
  REQUIRE(dropped.ok());
  REQUIRE(dropped.value().dropped.size() == 1);
  CHECK(dropped.value().dropped[0].index == 20);
  const model::PlanTotals& totals = dropped.value().plan.totals;
  CHECK(totals.samples == 4);
  CHECK(totals.invocations == 24);
  CHECK(totals.uncovered_fraction == doctest::Approx((500.0 + 180.0) / 6770.0));
}

TEST_CASE("a count that differs per device is rejected even if the sums are equal") {
  Run a, b;
  Launch(a, {"k", 10, 1, 7, 0});
  Launch(a, {"k", 10, 1, 7, 0});
  Launch(a, {"k", 10, 1, 7, 1});
  Launch(b, {"k", 10, 1, 7, 0});
  Launch(b, {"k", 10, 1, 7, 1});
  Launch(b, {"k", 10, 1, 7, 1});
  model::Plan plan;
  plan.totals.samples = 1;
  model::PlanKernel kernel;
  kernel.name = "k";
  kernel.invocations = 3;
  kernel.clusters = {{10, 10, 3, 10, 0, 1, 1, {SampleOf(a, 0, 0, 3)}}};
  plan.kernels = {kernel};
  const auto refused = Carry(plan, a, b);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("launch its kernel a different number of times") !=
        std::string::npos);
}

TEST_CASE("the weight of a sample without a partner goes to the rest of its cluster") {
  const Run a = RunA();
  Run b = RunB();
  // The second gemm of B has a different grid: the count is unchanged, but the launch differs.
  b.launches[3].grid[0] = 99;
  const auto refused = Carry(PlanOfA(a), a, b);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("launch 2 of 'gemm' (the launch has no counterpart") !=
        std::string::npos);
  const auto dropped = Carry(PlanOfA(a), a, b, true);
  REQUIRE(dropped.ok());
  const model::PlanCluster& cluster = dropped.value().plan.kernels[0].clusters[0];
  REQUIRE(cluster.samples.size() == 1);
  CHECK(cluster.samples[0].index == 9);
  CHECK(cluster.samples[0].weight == doctest::Approx(8.0));
  CHECK(cluster.captured == 1);
  REQUIRE(dropped.value().warnings.size() == 1);
  CHECK(dropped.value().warnings[0].find("'gemm': 1 of 10 launches have no counterpart") !=
        std::string::npos);
}

TEST_CASE("a cluster that loses its only sample is uncovered") {
  const Run a = RunA();
  Run b = RunB();
  b.launches[19].grid[0] = 99;  // the last gemm, the only sample of the long cluster
  const auto dropped = Carry(PlanOfA(a), a, b, true);
  REQUIRE(dropped.ok());
  const model::Plan& plan = dropped.value().plan;
  CHECK(plan.kernels[0].clusters[1].samples.empty());
  CHECK(plan.totals.uncovered_fraction > 0.5);
}

TEST_CASE("a cluster without partners has an unknown duration, not 0") {
  const Run a = RunA();
  Run b = RunB();
  for (const std::size_t i : {17, 19}) b.launches[i].grid[0] = 99;  // both long gemm launches
  auto dropped = Carry(PlanOfA(a), a, b, true);
  REQUIRE(dropped.ok());
  const model::PlanKernel& gemm = dropped.value().plan.kernels[0];
  CHECK(gemm.clusters[0].mean_ns == doctest::Approx(207.0));
  CHECK(gemm.clusters[1].lower_ns == 1000);
  CHECK(gemm.clusters[1].upper_ns == 1010);
  CHECK(gemm.clusters[1].mean_ns == 1008.5);
  CHECK(gemm.clusters[1].stddev_ns == 0.5);
  // With the available means, gemm takes 5690 of 6650 ns and the warm-up 500 ns.
  const double bare = 2 * 1008.5;
  CHECK(dropped.value().plan.totals.uncovered_fraction ==
        doctest::Approx((500 + 5690 * bare / (bare + 8 * 207)) / 6650));

  // No gemm remains, so all of its time is uncovered.
  for (std::size_t i = 1; i < 21; i += 2) b.launches[i].grid[0] = 99;
  dropped = Carry(PlanOfA(a), a, b, true);
  REQUIRE(dropped.ok());
  CHECK(dropped.value().dropped.size() == 3);
  CHECK(dropped.value().plan.totals.uncovered_fraction == doctest::Approx((500 + 5690) / 6650.0));

  // The result is the same if A has no time to distribute.
  Run idle = RunA();
  model::Plan plan = PlanOfA(a);
  for (RunLaunch& launch : idle.launches) {
    if (launch.name_id == 0) launch.duration_ns = 0;
  }
  plan.kernels[0].clusters = {{0, 0, 10, 0, 0, 1, 1, {SampleOf(idle, 2, 1, 10)}}};
  dropped = Carry(plan, idle, b, true);
  REQUIRE(dropped.ok());
  CHECK(dropped.value().plan.totals.uncovered_fraction == doctest::Approx((500 + 5690) / 6650.0));
}

TEST_CASE("a plan of a different run is rejected") {
  const Run a = RunA();
  const Run b = RunB();
  model::Plan other = PlanOfA(a);
  other.kernels[0].clusters[0].samples[0].record.duration_ns = 99;
  auto refused = Carry(other, a, b);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message ==
        "plan.json: launch 2 takes 99 ns in the plan and 101 ns in the run; expected a plan made "
        "from the first run");
  other = PlanOfA(a);
  other.kernels[0].clusters[0].samples[0].index = 3;
  refused = Carry(other, a, b);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("launch 3 is 'gemm' in the plan and another kernel") !=
        std::string::npos);
  other = PlanOfA(a);
  other.kernels[0].clusters[0].samples[0].index = 1'000'000'000'000;
  CHECK_FALSE(Carry(other, a, b).ok());
  other = PlanOfA(a);
  other.kernels.push_back(other.kernels[1]);
  refused = Carry(other, a, b);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("the kernel 'norm' occurs twice") != std::string::npos);
  other = PlanOfA(a);
  other.kernels[1].invocations = 9;
  refused = Carry(other, a, b);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find(
            "'norm' is launched 9 times in the plan and 10 times in the run") != std::string::npos);
}

TEST_CASE(
    "the duration of an imputed sample may differ from the run; the duration of its partner may "
    "not") {
  const Run a = RunA();
  model::Plan plan = PlanOfA(a);
  model::PlanSample& sample = plan.kernels[0].clusters[0].samples[0];
  sample.imputed = true;
  sample.record.duration_ns = 103;  // 101 in the run
  const auto done = Carry(plan, a, RunB());
  REQUIRE(done.ok());
  const model::PlanSample& partner = done.value().plan.kernels[0].clusters[0].samples[0];
  CHECK(partner.index == 3);
  CHECK(partner.record.duration_ns == 202);
  CHECK_FALSE(partner.imputed);
}

TEST_CASE("a plan with kernels of several processes is rejected") {
  const Run a = RunA();
  model::Plan plan = PlanOfA(a);
  for (model::PlanKernel& kernel : plan.kernels) kernel.process = 41;
  const auto one = Carry(plan, a, RunB());
  REQUIRE(one.ok());
  CHECK(one.value().plan.kernels[0].process == 0);
  plan.kernels[1].process = 42;
  const auto refused = Carry(plan, a, RunB());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message ==
        "plan.json: has kernels of 2 processes (--share-captures off); expected one process");
}

TEST_CASE("clusters that are not defined by duration keep the description from A, with a warning") {
  const Run a = RunA();
  const Run b = RunB();
  model::Plan plan = PlanOfA(a);
  plan.kernels[0].clusters[0].count = 7;
  plan.kernels[0].clusters[1].count = 3;
  const auto done = Carry(plan, a, b);
  REQUIRE(done.ok());
  CHECK(done.value().plan.kernels[0].clusters[0].mean_ns == 103.5);
  REQUIRE(done.value().warnings.size() == 1);
  CHECK(done.value().warnings[0].find("not defined by duration alone") != std::string::npos);
}

TEST_CASE("clusters with the same durations are periods of the run") {
  const Run a = RunA();
  const Run b = RunB();
  model::Plan plan = PlanOfA(a);
  model::PlanCluster& first = plan.kernels[0].clusters[0];
  // The first three launches, and the next five.
  model::PlanCluster second = first;
  first.count = 3;
  first.captured = 1;
  first.samples = {SampleOf(a, 2, 1, 3)};
  second.count = 5;
  second.captured = 1;
  second.samples = {SampleOf(a, 8, 4, 5)};
  plan.kernels[0].clusters.insert(plan.kernels[0].clusters.begin() + 1, second);
  const auto done = Carry(plan, a, b);
  REQUIRE(done.ok());
  CHECK(done.value().warnings.empty());
  const std::vector<model::PlanCluster>& clusters = done.value().plan.kernels[0].clusters;
  CHECK(clusters[0].count == 3);
  CHECK(clusters[0].upper_ns == 204);
  CHECK(clusters[1].count == 5);
  CHECK(clusters[1].lower_ns == 206);
}

TEST_CASE("a plan grouped by function is transferred function by function") {
  Run a, b;
  for (int i = 0; i < 3; ++i) {
    Launch(a, {"f<1>", 10, 1});
    Launch(a, {"f<2>", 10, 1});
    Launch(b, {"f<1>", 11, 1});
    Launch(b, {"f<2>", 12, 1});
  }
  model::Plan plan;
  plan.options = {{"group_by", "function"}, {"weights", "plain"}};
  plan.totals.samples = 1;
  model::PlanKernel kernel;
  kernel.name = "f";
  kernel.invocations = 6;
  kernel.clusters = {{10, 10, 6, 10, 0, 1, 1, {SampleOf(a, 3, 3, 6)}}};
  plan.kernels = {kernel};
  const auto done = Carry(plan, a, b);
  REQUIRE(done.ok());
  const model::PlanKernel& transferred = done.value().plan.kernels.at(0);
  CHECK(transferred.name == "f");
  CHECK(transferred.duration_ns == 3 * 11 + 3 * 12);
  const model::PlanSample& sample = transferred.clusters[0].samples.at(0);
  CHECK(sample.index == 3);
  CHECK(sample.occurrence == 3);
  CHECK(sample.record.duration_ns == 12);
}

TEST_CASE("kernels are grouped as in the plan, and its exclusion applies to B") {
  Run a, b;
  for (int i = 0; i < 4; ++i) {
    Launch(a, {"k", 10, 1});
    Launch(a, {"k", 90, 2});
    Launch(a, {"nccl", 1000, 1});
    Launch(b, {"k", 11, 1});
    Launch(b, {"k", 91, 2});
    Launch(b, {"nccl", 1000, 1});
  }
  model::Plan plan;
  plan.options = {{"group_by", "launch"}, {"exclude", "nccl"}, {"weights", "calibrated"}};
  plan.totals.samples = 2;
  for (std::uint32_t grid = 1; grid <= 2; ++grid) {
    model::PlanKernel kernel;
    kernel.name = "k";
    kernel.invocations = 4;
    kernel.config = {{grid, 1, 1}, {1, 1, 1}};
    const std::uint64_t time = grid == 1 ? 10 : 90;
    kernel.clusters = {{time,
                        time,
                        4,
                        1.0 * static_cast<double>(time),
                        0,
                        1,
                        1,
                        {SampleOf(a, grid - 1, grid - 1, 4)}}};
    plan.kernels.push_back(kernel);
  }
  const auto done = Carry(plan, a, b);
  REQUIRE(done.ok());
  const model::PlanTotals& totals = done.value().plan.totals;
  CHECK(totals.kernels == 2);
  CHECK(totals.invocations == 8);
  CHECK(totals.duration_ns == 4 * (11 + 91));
  CHECK(totals.excluded_invocations == 4);
  CHECK(totals.excluded_duration_ns == 4000);
  CHECK(totals.calibrated_estimate_ns == doctest::Approx(408.0));
  CHECK(done.value().plan.kernels[1].clusters[0].samples[0].occurrence == 1);

  // Counts are equal by kernel name but not by launch, so the samples are rejected with an error.
  b.launches[0].grid[0] = 2;
  b.launches[4].grid[0] = 2;
  const auto refused = Carry(plan, a, b);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("2 of 2 samples") != std::string::npos);
}

// Returns a kernel with one sample, the first launch of `name` in `a`, for all of its launches.
model::PlanKernel WholeKernel(const Run& a, const std::string& name, std::uint64_t first,
                              std::uint64_t count) {
  const std::uint64_t time = a.launches[first].duration_ns;
  model::PlanKernel kernel;
  kernel.name = name;
  kernel.invocations = count;
  model::PlanCluster& cluster = kernel.clusters.emplace_back();
  cluster.lower_ns = cluster.upper_ns = time;
  cluster.count = count;
  cluster.mean_ns = static_cast<double>(time);
  cluster.samples = {SampleOf(a, first, 0, static_cast<double>(count))};
  return kernel;
}

TEST_CASE("a partner with a different grid is a different kernel if the plan groups by launch") {
  // One launch of B has no grid, so grids are not compared. B launches the small and the large k in
  // reverse order.
  Run a, b;
  for (int i = 0; i < 4; ++i) {
    Launch(a, {"k", 1000, 1});
    Launch(a, {"k", 50000, 2});
    Launch(b, {"k", 50000, 2});
    Launch(b, {"k", 1000, 1});
  }
  Launch(a, {"other", 5, 1});
  Launch(b, {"other", 5, 1});
  b.launches.back().grid[0] = shm::kUnknownExtent;
  model::Plan plan;
  plan.options = {{"group_by", "launch"}, {"weights", "plain"}};
  plan.totals.samples = 2;
  for (std::uint32_t grid = 1; grid <= 2; ++grid) {
    model::PlanKernel kernel = WholeKernel(a, "k", grid - 1, 4);
    kernel.config = {{grid, 1, 1}, {1, 1, 1}};
    plan.kernels.push_back(kernel);
  }
  const auto refused = Carry(plan, a, b);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find(
            "2 of 2 samples cannot be transferred: launch 0 of 'k' (the launch at its position in "
            "the order belongs to another kernel)") != std::string::npos);
  const auto dropped = Carry(plan, a, b, true);
  REQUIRE(dropped.ok());
  REQUIRE(dropped.value().plan.kernels.size() == 3);
  const model::PlanKernel& small = dropped.value().plan.kernels[0];
  CHECK(small.duration_ns == 4000);
  CHECK(small.clusters[0].mean_ns == 1000);  // not the mean of the partners
  CHECK(dropped.value().plan.totals.samples == 0);
  CHECK(dropped.value().plan.totals.uncovered_fraction == doctest::Approx(1.0));
}

TEST_CASE("kernels that differ only in compiler suffixes are found in A, but not transferred") {
  Run a, b;
  for (int i = 0; i < 2; ++i) {
    Launch(a, {"k", 10});
    Launch(a, {"k.kd", 20});
    Launch(a, {"f", 7});
    Launch(b, {"k [clone x]", 10});
    Launch(b, {"k (.kd)", 20});
    Launch(b, {"f.kd", 7});
  }
  REQUIRE(AlignRuns(a, b).names_cut);
  model::Plan plan;
  plan.options = {{"group_by", "name"}, {"weights", "plain"}};
  plan.totals.samples = 3;
  plan.kernels = {WholeKernel(a, "k", 0, 2), WholeKernel(a, "k.kd", 1, 2),
                  WholeKernel(a, "f", 2, 2)};
  const auto refused = Carry(plan, a, b);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find(
            "2 of 3 samples cannot be transferred: launch 0 of 'k' (several kernels have its name "
            "without compiler suffixes); launch 1 of 'k.kd'") != std::string::npos);
  const auto dropped = Carry(plan, a, b, true);
  REQUIRE(dropped.ok());
  CHECK(dropped.value().dropped.size() == 2);
  CHECK(dropped.value().plan.kernels[0].name == "f.kd");
  CHECK(dropped.value().plan.totals.samples == 1);
  CHECK(dropped.value().plan.totals.uncovered_fraction == doctest::Approx(60.0 / 74.0));

  // The result is the same if only A has both.
  for (RunLaunch& launch : b.launches) {
    if (launch.name_id == 1) launch.name_id = 0;
  }
  const auto merged = Carry(plan, a, b, true);
  REQUIRE(merged.ok());
  CHECK(merged.value().dropped.size() == 2);
}

}  // namespace
}  // namespace stemtap::analysis
