// SPDX-License-Identifier: Apache-2.0
#include "model/plan.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "model/plan_summary.h"

namespace stemtap::model {
namespace {

bool Says(const Plan& plan, const std::string& text) {
  return PlanSummary(plan, {.rows = {.top = 1}}).find(text) != std::string::npos;
}

TEST_CASE("the summary states where in the run the samples are, and the largest weight") {
  const auto spread_of = [](const std::vector<std::pair<std::uint64_t, double>>& samples) {
    Plan plan;
    plan.totals.invocations = 390000;
    plan.totals.excluded_invocations = 10000;
    for (const auto& [index, weight] : samples) {
      // One kernel for each: the line is about the whole plan.
      PlanSample sample;
      sample.index = index;
      sample.weight = weight;
      plan.kernels.emplace_back().clusters.emplace_back().samples = {sample};
    }
    const std::string spread = SampleSpread(plan);
    CHECK(Says(plan, "samples: launches") == !samples.empty());
    CHECK(Says(plan, "\n" + spread + "\n"));
    return spread;
  };
  CHECK(spread_of({}).empty());
  CHECK(spread_of({{7, 2.5}}) == "samples: launches 7 to 7 of 400000; largest weight 2.5");
  CHECK(spread_of({{9, 1.0}, {7, 12.0}, {8, 3.0}}) ==
        "samples: launches 7 to 9 of 400000; largest weight 12");
  // One sample apart from the others does not hide that these are close together.
  CHECK(spread_of({{399000, 1.0},
                   {70526, 1.0},
                   {70600, 598.0},
                   {71000, 1.0},
                   {12, 1.0},
                   {76518, 1.0},
                   {74000, 1.0},
                   {75000, 1.0}}) ==
        "samples: launches 12 to 399000 of 400000, the middle half 70600 to 75000; largest weight "
        "598");
}

TEST_CASE("the stated bound is the larger of the certified bound and the observed error") {
  const auto stated = [](double certified, double observed) {
    PlanTotals totals;
    totals.certified_bound = certified;
    totals.observed_error = observed;
    StateBound(totals);
    return totals.bound;
  };
  CHECK(stated(0.05, 0.04) == 0.05);
  CHECK(stated(0.05, 0.06) == 0.06);
  CHECK(stated(0.05, NAN) == 0.05);
  CHECK(std::isnan(stated(NAN, 0.06)));
  CHECK(ExceedsCertifiedBound(0.06, 0.05));
  CHECK_FALSE(ExceedsCertifiedBound(1e-16, 0.0));  // rounding
  CHECK_FALSE(ExceedsCertifiedBound(NAN, 0.05));
  CHECK_FALSE(ExceedsCertifiedBound(0.06, NAN));
}

TEST_CASE("the summary reports the observed error if it is the stated bound") {
  Plan plan;
  plan.totals.duration_ns = 1000;
  const auto state = [&](double certified, double observed) {
    plan.totals.certified_bound = certified;
    plan.totals.observed_error = observed;
    StateBound(plan.totals);
  };
  state(0.048, 0.04);
  CHECK(Says(plan, "error bound 4.80 %"));
  CHECK(
      Says(plan,
           "\nthe bound covers the sampling error, plus the uncovered time and the bias of joined "
           "launches in full\n"));
  CHECK_FALSE(Says(plan, "exceeds"));
  plan.options.emplace_back("confidence", 0.95);
  CHECK(Says(plan, "covers the sampling error at 95 % confidence, plus"));
  state(0.048, 0.061);
  CHECK(Says(plan, "error bound 6.10 %"));
  CHECK(
      Says(plan,
           "\nthe observed error, 6.10 %, exceeds the certified bound, 4.80 %, so the bound is the "
           "observed error\n"));
  CHECK_FALSE(Says(plan, "covers"));
  // The plan does not contain the cause.
  for (const char* guess : {"drift", "chance", "random"}) CHECK_FALSE(Says(plan, guess));
  state(0.0, 1e-16);
  CHECK_FALSE(Says(plan, "exceeds"));
  state(NAN, 0.061);
  CHECK_FALSE(Says(plan, "exceeds"));
  CHECK_FALSE(Says(plan, "covers"));
  CHECK(Says(plan, "no error bound"));
}

TEST_CASE("the summary says that the bound is above the requested bound, with the right advice") {
  Plan plan;
  plan.totals.duration_ns = 1000;
  plan.options.emplace_back("error_bound", 0.05);
  const std::string live = ": run longer, or sample a recording with 'stemtap plan'";
  const std::string replay = ": use 'stemtap plan' to sample this recording";
  const auto note_of = [&](double certified) {
    plan.totals.certified_bound = certified;
    plan.totals.observed_error = 0.001;
    StateBound(plan.totals);
    const std::string summary = PlanSummary(plan, {.rows = {.top = 1}});
    const std::string start = "\nthe bound is above the requested 5 %";
    const std::size_t at = summary.find(start);
    if (at == std::string::npos) return std::string("none");
    const std::size_t advice = at + start.size();
    return summary.substr(advice, summary.find('\n', advice) - advice);
  };
  CHECK(note_of(0.058).empty());  // a plan of a complete profile: a longer run does not help
  CHECK(note_of(0.05) == "none");
  plan.options.emplace_back("lag", std::uint64_t{0});
  CHECK(note_of(0.058) == replay);
  CHECK(note_of(0.05) == "none");
  CHECK(note_of(NAN) == "none");
  plan.options.back() = {"level", std::string("gate")};
  CHECK(note_of(0.058) == live);
  // Merged plans keep only the options that all sessions share, so the lag may be missing.
  plan.sessions.resize(2);
  CHECK(note_of(0.058) == live);
  plan.options.pop_back();
  CHECK(note_of(0.058) == ": use 'stemtap plan' to sample these recordings");
  CHECK(note_of(0.05) == "none");
}

TEST_CASE("the summary of a merged plan reports observed errors that are known only per session") {
  Plan plan;
  plan.totals.duration_ns = 1000;
  plan.totals.certified_bound = 0.048;
  plan.totals.bound = 0.061;
  plan.totals.observed_error = NAN;
  CHECK(
      Says(plan,
           "\nthe observed errors of some sessions exceed their certified bounds, so the bound is "
           "larger than the certified bound, 4.80 %\n"));
}

PlanKernel SampledKernel(std::uint64_t invocations, std::vector<std::uint64_t> occurrences) {
  PlanKernel kernel;
  kernel.invocations = invocations;
  kernel.duration_ns = 100 * invocations;
  PlanCluster& cluster = kernel.clusters.emplace_back();
  cluster.count = invocations;
  for (const std::uint64_t occurrence : occurrences) {
    cluster.samples.emplace_back().occurrence = occurrence;
  }
  return kernel;
}

TEST_CASE("the summary counts kernels without samples by choice, with a singular form") {
  Plan plan;
  plan.kernels = {SampledKernel(40, {}), SampledKernel(60, {0})};
  CHECK_FALSE(Says(plan, "by choice"));
  plan.kernels[0].uncovered_by_choice = true;
  CHECK(Says(plan, "\n1 kernel with 0.004 ms got no samples by choice (--max-uncovered)\n"));
  plan.kernels[1].uncovered_by_choice = true;
  CHECK(Says(plan, "\n2 kernels with 0.010 ms got no samples by choice (--max-uncovered)\n"));
}

TEST_CASE("the summary reports a run in which only first launches were captured") {
  Plan plan;
  plan.totals.certified_bound = 0.4;
  plan.totals.observed_error = plan.totals.bound = 3.04;
  const auto says = [&](std::vector<PlanKernel> kernels) {
    plan.kernels = std::move(kernels);
    plan.totals.duration_ns = 0;
    for (const PlanKernel& kernel : plan.kernels) plan.totals.duration_ns += kernel.duration_ns;
    return Says(plan, "captured at their first launches only");
  };
  CHECK(says({SampledKernel(60, {0}), SampledKernel(40, {0, 2})}));
  CHECK(Says(plan, "kernels with 60.00 % of the time were captured at their first launches only"));
  CHECK(says({SampledKernel(60, {0, 1})}));
  CHECK_FALSE(says({SampledKernel(60, {0, 2})}));
  CHECK_FALSE(says({SampledKernel(60, {})}));
  CHECK_FALSE(says({SampledKernel(2, {0, 1})}));  // fully sampled
  CHECK_FALSE(says({SampledKernel(40, {0}), SampledKernel(60, {0, 30})}));
  plan.totals.observed_error = 0.3;
  StateBound(plan.totals);
  CHECK_FALSE(says({SampledKernel(60, {0})}));
}

TEST_CASE("time and mean of drawn and joined launches follow from the bias") {
  // 90 sampled launches of 100 ns and 10 joined launches of 60 ns.
  PlanCluster cluster;
  cluster.count = 100;
  cluster.mean_ns = 96.0;
  CHECK(DrawnMean(cluster) == 96.0);
  CHECK(JoinedTime(cluster) == 0.0);
  cluster.joined = 10;
  cluster.joined_bias_ns = 10 * (100.0 - 60.0);
  CHECK(DrawnMean(cluster) == doctest::Approx(100.0));
  CHECK(JoinedTime(cluster) == doctest::Approx(600.0));
  CHECK(DrawnCount(cluster) == 90);
  // 20 of the 90 are in another period and take 90 ns each, the 70 sampled ones 100 ns.
  cluster.mean_ns = (70 * 100.0 + 10 * 60.0 + 20 * 90.0) / 100;
  cluster.other_periods = 20;
  cluster.other_periods_ns = 20 * 90.0;
  cluster.joined_bias_ns = 10 * (100.0 - 60.0) + 20 * (100.0 - 90.0);
  CHECK(DrawnCount(cluster) == 70);
  CHECK(DrawnMean(cluster) == doctest::Approx(100.0));
  CHECK(JoinedTime(cluster) == doctest::Approx(600.0));
}

TEST_CASE("the summary contains the share of joined launches if there are any") {
  Plan plan;
  CHECK_FALSE(Says(plan, "joined launches 0"));
  plan.totals.joined_fraction = 0.0123;
  CHECK(Says(plan, "uncovered time 0.00 %, joined launches 1.23 %\n"));
}

TEST_CASE("the summary explains the shares of the time, and shows what was requested") {
  Plan plan;
  plan.totals.bound = plan.totals.certified_bound = 0.05;
  CHECK_FALSE(Says(plan, "uncovered: "));
  CHECK_FALSE(Says(plan, "joined: "));
  CHECK(Says(plan, "error bound 5.00 %, uncovered time 0.00 %\n"));
  plan.options.emplace_back("error_bound", 0.06);
  CHECK(Says(plan, "error bound 5.00 %, uncovered time 0.00 %\n"));
  CHECK(Says(plan, "covers the sampling error (requested: 6 %), plus the uncovered time"));
  plan.totals.uncovered_fraction = 0.01;
  CHECK(Says(plan, "\nuncovered: in clusters without a sample\n"));
  plan.totals.joined_fraction = 0.02;
  CHECK(Says(plan,
             "\nuncovered: in clusters without a sample; joined: other durations than the "
             "launches that samples were drawn from\n"));
}

TEST_CASE("the summary states no error of the calibrated estimate, which has none by definition") {
  Plan plan;
  plan.totals.duration_ns = 1'000'000;
  plan.totals.plain_estimate_ns = 990'000.0;
  plan.totals.observed_error = 0.01;
  plan.totals.calibrated_estimate_ns = 1'000'000.0;
  CHECK(Says(plan, "\nestimate of the GPU time from the samples: 0.990 ms, error 1.00 %\n"));
  plan.options.emplace_back("weights", std::string("calibrated"));
  CHECK(Says(plan, ", error 1.00 %; calibrated weights scale each cluster to its recorded time\n"));
}

TEST_CASE("the summary counts dropped, excluded and zero-duration launches") {
  Plan plan;
  CHECK_FALSE(Says(plan, "dropped"));
  CHECK_FALSE(Says(plan, "0 ns"));
  CHECK_FALSE(Says(plan, "excluded"));
  plan.totals.dropped = 3;
  plan.totals.zero_duration = 4;
  plan.totals.excluded_invocations = 5;
  CHECK(Says(plan, "3 records were dropped"));
  CHECK_FALSE(Says(plan, "gaps"));
  plan.totals.gaps = 2;
  CHECK(Says(plan, "2 gaps"));
  CHECK(Says(plan, "4 launches were recorded with 0 ns"));
  plan.totals.zero_duration = 1;
  CHECK(Says(plan, "1 launch was recorded with 0 ns"));
  CHECK(Says(plan, "5 launches with 0.000 ms were excluded by --exclude and are not counted"));
  plan.totals.excluded_invocations = 1;
  CHECK(
      Says(plan, "\n1 launch with 0.000 ms was excluded by --exclude and is not counted above\n"));
}

TEST_CASE("the summary reports imputed launches, in which case the error is unknown") {
  Plan plan;
  plan.totals.duration_ns = 1000;
  CHECK_FALSE(Says(plan, "perturbed"));
  CHECK(Says(plan, "samples: 0.000 ms, error 0.00 %\n"));
  plan.totals.imputed = 7;
  plan.totals.imputed_duration_ns = 2'500'000;
  plan.totals.observed_error = NAN;
  CHECK(Says(plan, "7 launches were perturbed by captures and imputed with 2.500 ms, the means"));
  CHECK(Says(plan, "samples: 0.000 ms, error not known\n"));
  CHECK_FALSE(Says(plan, "counterpart"));
  plan.totals.native_unknown = 2;
  CHECK(Says(plan, "2 of these have no unperturbed counterpart"));
}

TEST_CASE("a plan omits the fields of imputed launches, joined launches and processes if unused") {
  Plan plan;
  plan.kernels.emplace_back().clusters.emplace_back().samples.emplace_back();
  const std::string json = PlanToJson(plan);
  for (const char* field : {"imputed", "native_unknown", "process", "joined\"", "joined_bias_ns",
                            "other_periods", "mean_index"}) {
    CHECK(json.find(field) == std::string::npos);
  }
  plan.kernels[0].clusters[0].joined = 3;
  plan.kernels[0].clusters[0].joined_bias_ns = -1.5;
  CHECK(PlanToJson(plan).find("\"captured\": 0, \"joined\": 3, \"joined_bias_ns\": -1.5, "
                              "\"samples\"") != std::string::npos);
}

TEST_CASE("the cost of a plan is relative to its GPU time") {
  PlanTotals totals;
  totals.duration_ns = 2'500'000'000;
  totals.sampled_duration_ns = 500'000;
  CHECK(CostText(totals, {}) ==
        "the samples cost about 500 MB of traces and 8 min of simulation instead of 2.50 TB of "
        "traces and 28.9 days of simulation (--trace-rate 1000, --slowdown 1000000)");
  const PlanCost cost = CostOf(2e6, {3.0, 1e5});
  CHECK(cost.trace_mb == doctest::Approx(6.0));
  CHECK(cost.simulation_s == doctest::Approx(200.0));
}

}  // namespace
}  // namespace stemtap::model
