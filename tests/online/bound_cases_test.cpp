// SPDX-License-Identifier: Apache-2.0
//
// Tests that the bound of the online sampler holds if many kernels have skewed durations that
// nothing predicts. Durations are independent draws, so no case drifts. The same plans are used to
// check metrics other than time.
//
// The short test runs all cases with 80,000 launches. The full test runs 40 seeds of each case:
//   bound_cases_test --no-skip --test-case='*full*'
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "base/rng.h"
#include "model/plan.h"
#include "online/bound_harness.h"
#include "online/metric_coverage.h"
#include "sampling/sampling_options.h"
#include "stats/moments.h"

namespace stemtap::online {
namespace {

using test::BoundOutcome;
using test::BoundTally;
using test::LaunchStream;
using test::MetricOutcome;
using test::MetricShape;

constexpr double kAsked = 0.05;
// Chosen before the first run of these cases.
constexpr std::uint64_t kFirstSeed = 1001;

enum class Durations {
  kOneInSevenLong,        // 1 to 4 us, or up to 5 ms; the long launches take nearly all of the time
  kOneInTenTenTimesLong,  // 1 to 4 us, or 10 to 40 us
};

enum class Pass { kOnline, kTwo };

struct BoundCase {
  const char* name;
  std::uint32_t kernels;
  std::uint32_t shapes;  // number of grids from which launches are drawn
  Durations durations;
  std::uint64_t launches;
  std::uint64_t lag;
  model::GroupBy group_by = model::GroupBy::kName;
  sampling::Method method = sampling::Method::kOptimal;
  std::uint16_t processes = 1;
  Pass pass = Pass::kOnline;
};

constexpr Durations kSevenths = Durations::kOneInSevenLong;
constexpr Durations kTenths = Durations::kOneInTenTenTimesLong;

constexpr BoundCase kFullCases[] = {
    {"288 kernels, lag 20000", 288, 1, kSevenths, 200'000, 20'000},
    {"288 kernels, lag 1000", 288, 1, kSevenths, 200'000, 1'000},
    {"288 kernels, lag 0", 288, 1, kSevenths, 200'000, 0},
    {"288 kernels, 1 in 10 is 10 times longer", 288, 1, kTenths, 200'000, 20'000},
    {"24 kernels, 12 shapes, 80k", 24, 12, kSevenths, 80'000, 20'000},
    {"24 kernels, 12 shapes, 400k", 24, 12, kSevenths, 400'000, 20'000},
    {"by launch, 80k", 24, 12, kSevenths, 80'000, 2'000, model::GroupBy::kLaunch},
    {"by launch, 800k", 24, 12, kSevenths, 800'000, 20'000, model::GroupBy::kLaunch},
    {"by launch, root", 24, 12, kSevenths, 200'000, 20'000, model::GroupBy::kLaunch,
     sampling::Method::kRoot},
    {"4 processes, 80k", 24, 12, kSevenths, 80'000, 2'000, model::GroupBy::kName,
     sampling::Method::kOptimal, 4},
    {"one kernel", 1, 1, kSevenths, 200'000, 20'000},
    {"two passes", 288, 1, kSevenths, 200'000, 0, model::GroupBy::kName, sampling::Method::kOptimal,
     1, Pass::kTwo}};

std::uint64_t DrawDuration(Rng& rng, Durations durations) {
  if (durations == Durations::kOneInSevenLong) {
    return rng.Below(7) == 0 ? rng.Below(5'000'000) : 1'000 + rng.Below(3'000);
  }
  const std::uint64_t factor = rng.Below(10) == 0 ? 10 : 1;
  return factor * (1'000 + rng.Below(3'000));
}

LaunchStream MakeStream(const BoundCase& of, std::uint64_t seed) {
  Rng rng(seed ^ 0x5EED0F5712EA4Du);
  LaunchStream stream;
  stream.kernels = of.kernels;
  stream.processes = of.processes;
  stream.launches.reserve(of.launches);
  for (std::uint64_t i = 0; i < of.launches; ++i) {
    test::StreamLaunch& launch = stream.launches.emplace_back();
    launch.duration_ns = DrawDuration(rng, of.durations);
    launch.kernel = static_cast<std::uint32_t>(rng.Below(of.kernels));
    launch.grid = 1 + static_cast<std::uint32_t>(rng.Below(of.shapes));
    launch.process = static_cast<std::uint16_t>(rng.Below(of.processes));
  }
  return stream;
}

struct CaseOutcome {
  BoundOutcome time;
  MetricOutcome proportional;
  MetricOutcome linear;
};

CaseOutcome RunCase(const BoundCase& of, std::uint64_t seed) {
  sampling::SamplingOptions options;
  options.error_bound = kAsked;
  options.method = of.method;
  options.group_by = of.group_by;
  options.seed = seed;
  const LaunchStream stream = MakeStream(of, seed);
  CaseOutcome outcome;
  model::Plan plan;
  outcome.time = of.pass == Pass::kTwo ? test::PlanStream(stream, options, &plan)
                                       : test::RunStream(stream, options, of.lag, &plan);
  Rng rng(seed ^ 0x3E781CDu);
  const auto extrapolate = [&](MetricShape shape) {
    return test::ExtrapolateMetric(plan, test::DrawMetric(stream, plan, shape, rng));
  };
  outcome.proportional = extrapolate(MetricShape::kProportional);
  outcome.linear = extrapolate(MetricShape::kLinear);
  return outcome;
}

// IntervalTally counts how often a type of interval covers the truth.
struct IntervalTally {
  std::uint64_t runs = 0;
  std::uint64_t misses = 0;
  std::uint64_t misses_as_is = 0;  // of the interval without widening
  std::uint64_t negative = 0;
  std::uint64_t negative_scaled = 0;  // of the estimate / covered share of time
  double error = 0.0;                 // sum over runs
  double width = 0.0;                 // sum over runs

  void Add(const test::IntervalOutcome& outcome) {
    ++runs;
    misses += !outcome.covered;
    misses_as_is += !outcome.covered_as_is;
    negative += outcome.error < 0.0;
    negative_scaled += outcome.scaled_error < 0.0;
    error += outcome.error;
    width += outcome.relative_width;
  }
  std::string Row() const {
    const auto n = static_cast<double>(runs);
    return fmt::format("{:>6} {:>6} {:>7.1f}% {:>6.1f}% {:>+7.2f}% {:>8.2f}%", misses, misses_as_is,
                       100.0 * static_cast<double>(negative) / n,
                       100.0 * static_cast<double>(negative_scaled) / n, 100.0 * error / n,
                       100.0 * width / n);
  }
  static std::string Header() {
    return fmt::format("{:>6} {:>6} {:>8} {:>7} {:>8} {:>9}", "misses", "as is", "negative",
                       "scaled", "error", "width");
  }
};

// MetricTally counts outcomes of one metric, with plain and calibrated weights.
struct MetricTally {
  IntervalTally plain;
  IntervalTally calibrated;
  double share_outside = 0.0;  // sum over runs

  void Add(const MetricOutcome& outcome) {
    plain.Add(outcome.plain);
    calibrated.Add(outcome.calibrated);
    share_outside += outcome.share_outside;
  }
  std::string Row() const {
    return fmt::format("{} |{}{:>9.3f}%", plain.Row(), calibrated.Row(),
                       100.0 * share_outside / static_cast<double>(plain.runs));
  }
  static std::string Header() {
    return fmt::format("{} |{}{:>10}", IntervalTally::Header(), IntervalTally::Header(), "outside");
  }
};

struct CaseTally {
  BoundTally time;
  MetricTally proportional;
  MetricTally linear;

  void Add(const CaseOutcome& outcome) {
    time.Add(outcome.time, kAsked);
    proportional.Add(outcome.proportional);
    linear.Add(outcome.linear);
  }
};

// Runs all cases. The last element of the result is the total over all cases.
std::vector<CaseTally> RunCases(const std::vector<BoundCase>& cases, std::uint64_t seeds) {
  std::vector<CaseOutcome> outcomes(cases.size() * seeds);
  test::RunInParallel(outcomes.size(), [&](std::size_t i) {
    outcomes[i] = RunCase(cases[i / seeds], kFirstSeed + i % seeds);
  });
  std::vector<CaseTally> tallies(cases.size() + 1);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    tallies[i / seeds].Add(outcomes[i]);
    tallies.back().Add(outcomes[i]);
  }
  return tallies;
}

template <typename RowOf>
void PrintTable(const char* title, const std::string& header, const std::vector<BoundCase>& cases,
                const RowOf& row_of) {
  fmt::print("{:<40}{}\n", title, header);
  for (std::size_t i = 0; i <= cases.size(); ++i) {
    fmt::print("{:<40}{}\n", i < cases.size() ? cases[i].name : "all", row_of(i));
  }
}

void PrintTables(const std::vector<BoundCase>& cases, const std::vector<CaseTally>& tallies) {
  PrintTable("time", BoundTally::Header(), cases,
             [&](std::size_t i) { return tallies[i].time.Row(); });
  PrintTable("proportional metric: plain | calibrated", MetricTally::Header(), cases,
             [&](std::size_t i) { return tallies[i].proportional.Row(); });
  PrintTable("linear metric: plain | calibrated", MetricTally::Header(), cases,
             [&](std::size_t i) { return tallies[i].linear.Row(); });
}

// MissLimits is the maximum number of misses per case and over all cases.
struct MissLimits {
  std::uint64_t time_by_case;
  double time_over_all;  // share of runs
  std::uint64_t interval_by_case;
  double interval_over_all;
};

void CheckMisses(const std::vector<BoundCase>& cases, const std::vector<CaseTally>& tallies,
                 const MissLimits& limits) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string name = cases[i].name;
    CAPTURE(name);
    CHECK(tallies[i].time.misses() <= limits.time_by_case);
    CHECK(tallies[i].proportional.plain.misses <= limits.interval_by_case);
    CHECK(tallies[i].proportional.calibrated.misses <= limits.interval_by_case);
    CHECK(tallies[i].linear.plain.misses <= limits.interval_by_case);
    CHECK(tallies[i].linear.calibrated.misses <= limits.interval_by_case);
  }
  const CaseTally& all = tallies.back();
  const auto runs = static_cast<double>(all.time.runs());
  CHECK(static_cast<double>(all.time.misses()) <= limits.time_over_all * runs);
  const double intervals = limits.interval_over_all * runs;
  CHECK(static_cast<double>(all.proportional.plain.misses) <= intervals);
  CHECK(static_cast<double>(all.proportional.calibrated.misses) <= intervals);
  CHECK(static_cast<double>(all.linear.plain.misses) <= intervals);
  CHECK(static_cast<double>(all.linear.calibrated.misses) <= intervals);
}

double Correlation(const LaunchStream& stream, const std::vector<double>& values) {
  double x = 0.0, y = 0.0, xx = 0.0, xy = 0.0, yy = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto d = static_cast<double>(stream.launches[i].duration_ns);
    x += d;
    y += values[i];
    xx += d * d;
    xy += d * values[i];
    yy += values[i] * values[i];
  }
  const auto n = static_cast<double>(values.size());
  return (xy - x * y / n) / std::sqrt((xx - x * x / n) * (yy - y * y / n));
}

// In one of three draws, the correlation in 50,000 launches differs from 0.5 by more than 0.005.
TEST_CASE("generated metrics have the stated correlation with duration within a cluster") {
  Rng rng(1);
  LaunchStream stream;
  stream.kernels = 1;
  stats::Moments durations;
  for (int i = 0; i < 50'000; ++i) {
    stream.launches.push_back({.duration_ns = 1'000 + rng.Below(1'000)});
    durations.Add(static_cast<double>(stream.launches.back().duration_ns));
  }
  model::PlanCluster cluster;
  cluster.lower_ns = 1'000;
  cluster.upper_ns = 1'999;
  cluster.count = durations.count();
  cluster.mean_ns = durations.mean();
  cluster.stddev_ns = std::sqrt(durations.variance());
  model::Plan plan;
  plan.kernels.push_back({{test::KernelName(0)}, 0, 0, {cluster}});
  for (const MetricShape shape : {MetricShape::kProportional, MetricShape::kLinear}) {
    CAPTURE(static_cast<int>(shape));
    const double correlation = Correlation(stream, test::DrawMetric(stream, plan, shape, rng));
    CHECK(std::fabs(correlation - test::kMetricCorrelation) < 0.03);
  }
}

TEST_CASE("the bound holds in 80,000 launches of many kernels with skewed durations") {
  constexpr std::uint64_t kLaunches = 80'000;
  // There are 80 runs. One miss in the 10 runs of a slow build does not show a defect.
  const std::uint64_t seeds = test::kSlowBuild ? 1 : 8;
  const double over_all = test::kSlowBuild ? 0.2 : 0.05;
  std::vector<BoundCase> cases;
  for (BoundCase of : kFullCases) {
    if (of.launches > kLaunches && of.kernels == 24 && of.method == sampling::Method::kOptimal)
      continue;
    of.launches = kLaunches;
    cases.push_back(of);
  }
  const std::vector<CaseTally> tallies = RunCases(cases, seeds);
  PrintTables(cases, tallies);
  CheckMisses(cases, tallies, {2, over_all, 2, std::max(0.07, over_all)});
}

// A 95 % interval misses more than 4 of 40 runs with probability 1/20 and more than 6 with
// probability 1/300, so 6 are allowed in one of the 24 cases. Over all 480 runs, 7 % is two
// standard errors above 5 %.
TEST_CASE("full: the bound holds in 40 runs of every case, and errors have both signs" *
          doctest::skip()) {
  const std::vector<BoundCase> cases(std::begin(kFullCases), std::end(kFullCases));
  const std::vector<CaseTally> tallies = RunCases(cases, 40);
  PrintTables(cases, tallies);
  CheckMisses(cases, tallies, {4, 0.05, 6, 0.07});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string name = cases[i].name;
    CAPTURE(name);
    CHECK(tallies[i].time.negative_share() >= 0.35);
    CHECK(tallies[i].time.negative_share() <= 0.65);
    // Scaled totals of other metrics include uncovered time. The limits are three standard errors
    // from 0.5.
    for (const MetricTally* metric : {&tallies[i].proportional, &tallies[i].linear}) {
      const auto negative = static_cast<double>(metric->calibrated.negative_scaled);
      const auto runs = static_cast<double>(metric->calibrated.runs);
      CHECK(negative >= 0.25 * runs);
      CHECK(negative <= 0.75 * runs);
    }
  }
}

}  // namespace
}  // namespace stemtap::online
