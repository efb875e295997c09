// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/extrapolate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "analysis/extrapolation/curve.h"
#include "analysis/extrapolation/match.h"
#include "analysis/extrapolation/observed.h"
#include "analysis/extrapolation/report.h"
#include "analysis/extrapolation/student.h"

namespace stemtap::analysis {
namespace {

TEST_CASE("Student's quantiles agree with tables") {
  CHECK(StudentQuantile(0.95, 1.0) == doctest::Approx(12.7062047).epsilon(1e-8));
  CHECK(StudentQuantile(0.95, 2.0) == doctest::Approx(4.30265273).epsilon(1e-8));
  CHECK(StudentQuantile(0.99, 10.0) == doctest::Approx(3.16927267).epsilon(1e-8));
  CHECK(StudentQuantile(0.95, 1e6) == doctest::Approx(1.95996636).epsilon(1e-7));
  CHECK(StudentQuantile(0.95, INFINITY) == doctest::Approx(1.95996398).epsilon(1e-8));
  CHECK(std::isinf(StudentQuantile(0.95, 0.0)));
}

constexpr RatioCalibration kPlainRatio{Calibration::kPlain, Calibration::kPlain};

// 100 launches with a mean of 10 ns; the two samples took 8 and 12 ns.
ObservedCluster Cluster(double a, double b) {
  return {0, 100.0, 10.0, 2.0, {{8.0, a}, {12.0, b}}};
}

// A cluster of 100 launches of which one, of mean duration, has a result.
ObservedCluster Single(std::size_t kernel, double mean_ns, double width, double value) {
  return {kernel, 100.0, mean_ns, width * mean_ns, {{mean_ns, value}}};
}

TEST_CASE("a cluster whose durations are all 0 counts like one of 1 ns") {
  const auto half_width = [](double shortest_ns) {
    const std::vector<ObservedCluster> clusters = {
        Single(0, shortest_ns, 0.0, 5.0), Single(0, 10.0, 0.1, 7.0), Single(0, 20.0, 0.1, 16.0)};
    return EstimateTotal(clusters, Calibration::kFitted, 0.95).half_width;
  };
  CHECK(half_width(0.0) == doctest::Approx(half_width(1.0)).epsilon(0.02));
}

// Kernel 0 is narrow and has one result. Kernels 1 to 8 are as narrow, and each has a pair that
// differs by 1 %. Kernel 9 has launches of several sizes, with values that differ by factors.
TEST_CASE("a kernel borrows hardly any spread from much wider clusters") {
  std::vector<ObservedCluster> clusters = {Single(0, 1000.0, 0.01, 1000.0)};
  for (std::size_t k = 1; k <= 8; ++k) {
    clusters.push_back({k, 100.0, 1000.0, 10.0, {{1000.0, 995.0}, {1000.0, 1005.0}}});
  }
  const auto half_width_of_first = [](std::vector<ObservedCluster> run) {
    SelectKernel(run, 0);
    return EstimateTotal(run, Calibration::kFitted, 0.95).half_width;
  };
  const double alone = half_width_of_first(clusters);
  clusters.push_back({9, 100.0, 1000.0, 1500.0, {{1000.0, 500.0}, {1000.0, 1500.0}}});
  CHECK(alone > 0.0);
  // With equal weights for all spreads, it is 183 times as wide.
  CHECK(half_width_of_first(clusters) < 3.0 * alone);
}

TEST_CASE("totals are weighted sums, and metrics proportional to duration have no uncertainty") {
  const std::vector<ObservedCluster> one = {Cluster(16.0, 24.0)};
  const Estimate plain = EstimateTotal(one, Calibration::kPlain, 0.95);
  CHECK(plain.value == 2000.0);
  // Only duration is uncertain, and its spread is known: 2 * 100 * 2 * sqrt(100/99 * 0.98 / 2).
  CHECK(
      plain.half_width ==
      doctest::Approx(1.959964 * 200.0 * 2.0 * std::sqrt(100.0 / 99.0 * 0.98 / 2.0)).epsilon(1e-6));
  const Estimate calibrated = EstimateTotal(one, Calibration::kFitted, 0.95);
  CHECK(calibrated.value == 2000.0);
  CHECK(calibrated.half_width == doctest::Approx(0.0));
}

// docs/math/extrapolate.md documents this limitation.
TEST_CASE("equal results have a plain interval of width 0") {
  for (const double value : {0.0, 7.0}) {
    CAPTURE(value);
    std::vector<ObservedCluster> clusters = {Cluster(value, value), Cluster(value, value)};
    clusters[1].mean_ns = 9.0;
    const Estimate plain = EstimateTotal(clusters, Calibration::kPlain, 0.95);
    CHECK(plain.value == doctest::Approx(200.0 * value));
    CHECK(plain.half_width == doctest::Approx(0.0));
  }
}

TEST_CASE("a fully sampled cluster has no error") {
  const std::vector<ObservedCluster> whole = {{0, 2.0, 10.0, 2.0, {{8.0, 3.0}, {12.0, 40.0}}}};
  CHECK(EstimateTotal(whole, Calibration::kPlain, 0.95).half_width == 0.0);
  CHECK(EstimateTotal(whole, Calibration::kPlain, 0.95).value == 43.0);
}

TEST_CASE("a single sample has no interval, unless other clusters provide a spread") {
  const std::vector<ObservedCluster> lone = {{0, 100.0, 10.0, 2.0, {{8.0, 16.0}}}};
  CHECK(EstimateTotal(lone, Calibration::kPlain, 0.95).value == 1600.0);
  CHECK(std::isnan(EstimateTotal(lone, Calibration::kPlain, 0.95).half_width));
  CHECK(std::isnan(EstimateTotal(lone, Calibration::kFitted, 0.95).half_width));
  std::vector<ObservedCluster> two = lone;
  two.push_back({0, 100.0, 20.0, 2.0, {{20.0, 44.0}}});  // collapsed with its neighbor
  CHECK(EstimateTotal(two, Calibration::kFitted, 0.95).half_width > 0.0);
  std::vector<ObservedCluster> other = lone;
  other.push_back({1, 100.0, 20.0, 2.0, {{18.0, 44.0}, {22.0, 40.0}}});  // from another kernel
  const Estimate borrowed = EstimateTotal(other, Calibration::kFitted, 0.95);
  CHECK(borrowed.half_width > 0.0);
  CHECK(std::isfinite(borrowed.half_width));
}

TEST_CASE("a ratio is a ratio of totals and is exact if all launches have the same ratio") {
  const std::vector<ObservedCluster> top = {Cluster(30.0, 50.0)};
  const std::vector<ObservedCluster> bottom = {Cluster(60.0, 100.0)};
  const Estimate same = EstimateRatio(top, bottom, kPlainRatio, 0.95);
  CHECK(same.value == doctest::Approx(0.5));
  CHECK(same.half_width == doctest::Approx(0.0));
  const std::vector<ObservedCluster> off = {Cluster(60.0, 40.0)};
  CHECK(EstimateRatio(top, off, kPlainRatio, 0.95).value == doctest::Approx(0.8));
  CHECK(EstimateRatio(top, off, kPlainRatio, 0.95).half_width > 0.1);
  const std::vector<ObservedCluster> none = {Cluster(0.0, 0.0)};
  CHECK(std::isnan(EstimateRatio(top, none, kPlainRatio, 0.95).value));
}

TEST_CASE("intervals are wider on the side of the skew and are mirrored with the sign") {
  std::vector<ObservedCluster> skewed;
  std::vector<ObservedCluster> mirrored;
  std::vector<ObservedCluster> even;
  const double factors[] = {0.3, 1.1, 0.5, 4.0, 0.9, 0.4, 2.2, 0.7};
  // Enough clusters that the interval does not reach down to the sum of the samples.
  for (std::size_t i = 0; i < 12; ++i) {
    const double a = 10.0 * factors[2 * (i % 4)];
    const double b = 10.0 * factors[2 * (i % 4) + 1];
    skewed.push_back({i, 100.0, 10.0, 0.0, {{10.0, a}, {10.0, b}}});
    mirrored.push_back({i, 100.0, 10.0, 0.0, {{10.0, -a}, {10.0, -b}}});
    even.push_back({i, 100.0, 10.0, 0.0, {{10.0, 9.0}, {10.0, 11.0}}});
  }
  for (const Calibration weights : {Calibration::kPlain, Calibration::kFitted}) {
    const Estimate right = EstimateTotal(skewed, weights, 0.95);
    CHECK(right.upper - right.value > 1.2 * (right.value - right.lower));
    CHECK(right.upper - right.value <= 1.65 * (right.value - right.lower) * (1.0 + 1e-12));
    CHECK(right.half_width == right.upper - right.value);
    const Estimate left = EstimateTotal(mirrored, weights, 0.95);
    CHECK(left.lower == doctest::Approx(-right.upper));
    CHECK(left.upper == doctest::Approx(-right.lower));
    const Estimate same = EstimateTotal(even, weights, 0.95);
    CHECK(same.upper - same.value == doctest::Approx(same.value - same.lower).epsilon(0.15));
  }
  const Estimate above = EstimateRatio(skewed, even, kPlainRatio, 0.95);
  const Estimate below = EstimateRatio(even, mirrored, kPlainRatio, 0.95);
  CHECK(above.upper - above.value > above.value - above.lower);
  CHECK(above.lower < above.value);
  CHECK(below.value == doctest::Approx(-1.0 / above.value));
  CHECK(below.lower < below.value);
  CHECK(below.upper > below.value);
}

// The estimated bias of one cluster is  value * theta * alpha (alpha - b) / (1 + theta), with
// theta = (1 - n/N)/n * (sigma/mu)^2 and alpha = b limited to [0, 1].
TEST_CASE("calibrated intervals are around the total minus its bias, which is 0 for b in [0, 1]") {
  // Four durations over a factor of 8 determine the power: 0 for a constant metric, 2 for d^2.
  const auto cluster = [](double power) {
    ObservedCluster made{0, 100.0, 20.0, 10.0, {}};
    for (const double d : {5.0, 10.0, 20.0, 40.0}) {
      made.seen.push_back({d, std::pow(d, power)});
    }
    // Enough clusters that the interval does not reach down to the sum of the samples.
    std::vector<ObservedCluster> clusters(4, made);
    for (std::size_t k = 0; k < clusters.size(); ++k) clusters[k].kernel = k;
    return clusters;
  };
  const double theta = 0.96 / 4.0 * 0.25;
  for (const double power : {0.0, 1.0, 2.0}) {
    CAPTURE(power);
    const Estimate estimate = EstimateTotal(cluster(power), Calibration::kFitted, 0.95);
    const double alpha = std::min(power, 1.0);
    const double bias = estimate.value * theta * alpha * (alpha - power) / (1.0 + theta);
    CHECK((estimate.lower + estimate.upper) / 2.0 == doctest::Approx(estimate.value - bias));
    const Estimate plain = EstimateTotal(cluster(power), Calibration::kPlain, 0.95);
    CHECK((plain.lower + plain.upper) / 2.0 == doctest::Approx(plain.value));
  }
}

// Two kernels. Cluster means are proportional to duration. Within clusters, values have a constant
// part: they grow by half the relative change of duration.
TEST_CASE("a constant part of values within clusters does not bias the calibrated total") {
  const auto value = [](double mean_ns, double duration_ns) {
    return 3.0 * (0.5 * mean_ns + 0.5 * duration_ns);
  };
  std::vector<ObservedCluster> clusters;
  for (const std::size_t kernel : {0, 1}) {
    for (const double mean_ns : {1'000.0, 20'000.0}) {
      ObservedCluster& cluster =
          clusters.emplace_back(ObservedCluster{kernel, 100.0, mean_ns, mean_ns, {}});
      // The samples are short: the ratio estimator is 16 % too high.
      for (const double ratio : {0.5, 1.1}) {
        cluster.seen.push_back({ratio * mean_ns, value(mean_ns, ratio * mean_ns)});
      }
    }
  }
  const double truth = 2.0 * 100.0 * 3.0 * 21'000.0;
  CHECK(EstimateTotal(clusters, Calibration::kPlain, 0.95).value < 0.93 * truth);
  CHECK(EstimateTotal(clusters, Calibration::kFitted, 0.95).value ==
        doctest::Approx(truth).epsilon(0.02));
}

// The metric is 1 / d. A few long launches dominate the spread of d but cannot dominate the spread
// of 1 / d.
TEST_CASE("long outliers do not widen intervals of metrics that decrease with duration") {
  const auto estimate = [](double stddev_ns) {
    const std::vector<ObservedCluster> clusters = {
        {0, 1000.0, 100.0, stddev_ns, {{50.0, 1.0 / 50.0}, {200.0, 1.0 / 200.0}}},
        {0, 1000.0, 1000.0, 10.0, {{990.0, 1.0 / 990.0}, {1010.0, 1.0 / 1010.0}}}};
    return EstimateTotal(clusters, Calibration::kPlain, 0.95).half_width;
  };
  CHECK(estimate(50.0) > 0.0);
  CHECK(estimate(300.0) == doctest::Approx(estimate(50.0)).epsilon(0.01));
}

TEST_CASE("one fully sampled launch of a different size does not widen the interval") {
  std::vector<ObservedCluster> clusters = {
      {0, 1000.0, 1000.0, 20.0, {{990.0, 1980.0}, {1010.0, 2040.0}}},
      {0, 1000.0, 2000.0, 40.0, {{1980.0, 4000.0}, {2020.0, 4020.0}}}};
  const double before = EstimateTotal(clusters, Calibration::kPlain, 0.95).half_width;
  clusters.push_back({0, 1.0, 2e9, 0.0, {{2e9, 4e9}}});
  CHECK(EstimateTotal(clusters, Calibration::kPlain, 0.95).half_width < 1.5 * before);
}

// Four kernels with a single large value each: Student's interval alone would end below 0.
TEST_CASE("intervals of values of one sign end at the sum of the samples") {
  std::vector<ObservedCluster> counts;
  std::vector<ObservedCluster> negative;
  double sampled = 0.0;
  for (std::size_t k = 0; k < 4; ++k) {
    for (const double mean_ns : {10.0, 20.0, 40.0}) {
      const double value = k == 3 && mean_ns == 40.0 ? 900.0 : 1.0;
      counts.push_back({k, 100.0, mean_ns, 1.0, {{mean_ns, value}}});
      negative.push_back({k, 100.0, mean_ns, 1.0, {{mean_ns, -value}}});
      sampled += value;
    }
  }
  for (const Calibration weights : {Calibration::kPlain, Calibration::kFitted}) {
    const Estimate estimate = EstimateTotal(counts, weights, 0.95);
    CHECK(estimate.lower == sampled);
    CHECK(estimate.upper > 1.5 * estimate.value);
    CHECK(EstimateTotal(negative, weights, 0.95).upper == -sampled);
    CHECK(EstimateRatio(counts, counts, {weights, weights}, 0.95).lower > 0.0);
    std::vector<ObservedCluster> mixed = counts;
    mixed.front().seen.front().value = -1.0;
    CHECK(EstimateTotal(mixed, weights, 0.95).lower < 0.0);
    std::vector<ObservedCluster> even = counts;
    for (ObservedCluster& cluster : even) cluster.seen.front().value = 1.0;
    CHECK(EstimateRatio(counts, even, {weights, weights}, 0.95).lower == 0.0);
  }
}

TEST_CASE("single samples of many clusters determine how values depend on duration") {
  // Values do not depend on duration. In each kernel, two clusters differ by a factor of 10.
  std::vector<ObservedCluster> clusters;
  const double noise[] = {0.9, 1.1, 1.05, 0.95, 1.1, 0.9, 0.95, 1.05, 1.0, 1.1, 0.9, 1.0};
  for (std::size_t i = 0; i < 12; ++i) {
    const double mean_ns = i % 2 == 0 ? 1'000.0 : 10'000.0;
    const double value = static_cast<double>(i / 2 + 1) * noise[i];
    clusters.push_back({i / 2, 1000.0, mean_ns, 0.3 * mean_ns, {{1.2 * mean_ns, value}}});
  }
  const std::vector<Curve> curves = FitCurves(ByKernel(clusters));
  CHECK(std::abs(curves[0].within) < 0.1);
  CHECK(std::abs(curves[0].between) < 0.1);
  for (const Calibration weights : {Calibration::kPlain, Calibration::kFitted}) {
    const Estimate estimate = EstimateTotal(clusters, weights, 0.95);
    CHECK(estimate.lower < 42'000.0);
    CHECK(estimate.upper > 42'000.0);
    CHECK(estimate.half_width < 0.2 * estimate.value);
  }
}

TEST_CASE("an interval is valid in any unit even if some values are 0") {
  for (const double size : {1e-50, 1.0, 1e50}) {
    CAPTURE(size);
    const std::vector<ObservedCluster> some = {Cluster(0.0, 24.0 * size), Cluster(0.0, 0.0),
                                               Cluster(16.0 * size, 0.0)};
    const Estimate estimate = EstimateTotal(some, Calibration::kPlain, 0.95);
    CHECK(std::isfinite(estimate.half_width));
    CHECK(estimate.lower < estimate.value);
    CHECK(estimate.upper > estimate.value);
  }
}

TEST_CASE("a kernel whose values are all 0 does not affect the intervals of other kernels") {
  const ObservedCluster own = {0, 100.0, 10.0, 2.0, {{8.0, 17.0}, {12.0, 23.0}}};
  const Estimate alone = EstimateTotal(std::vector{own}, Calibration::kFitted, 0.95);
  const std::vector<ObservedCluster> both = {own, {1, 50.0, 10.0, 2.0, {{9.0, 0.0}, {11.0, 0.0}}}};
  for (const Calibration calibration : {Calibration::kPlain, Calibration::kFitted}) {
    const Estimate estimate = EstimateTotal(both, calibration, 0.95);
    CHECK(estimate.value == doctest::Approx(alone.value).epsilon(0.02));
    CHECK(estimate.half_width > 0.0);
    CHECK(std::isfinite(estimate.half_width));
  }
}

TEST_CASE("a mean over time is between the sampled values") {
  // Samples much shorter or longer than the mean of their cluster, and no clear dependence.
  std::vector<ObservedCluster> numerator;
  std::vector<ObservedCluster> time;
  const double rates[] = {40.0, 95.0, 20.0, 70.0, 90.0, 55.0};
  for (std::size_t i = 0; i < 6; ++i) {
    const double duration = i % 2 == 0 ? 4.0 : 30.0;
    numerator.push_back({i / 2, 100.0, 10.0, 8.0, {{duration, rates[i] * duration}}});
    time.push_back({i / 2, 100.0, 10.0, 8.0, {{duration, duration}}});
  }
  constexpr RatioCalibration kMean{Calibration::kByDuration, Calibration::kByDuration};
  for (std::size_t i = 0; i < 6; ++i) {
    const std::vector<ObservedCluster> top = {numerator[i]};
    const std::vector<ObservedCluster> bottom = {time[i]};
    CHECK(EstimateRatio(top, bottom, kMean, 0.95).value == doctest::Approx(rates[i]));
  }
  const Estimate mean = EstimateRatio(numerator, time, kMean, 0.95);
  CHECK(mean.value == doctest::Approx((40.0 + 95.0 + 20.0 + 70.0 + 90.0 + 55.0) / 6));
  CHECK(mean.half_width > 0.0);
}

TEST_CASE("metrics of 0, durations of 0 and empty plans have defined results") {
  const std::vector<ObservedCluster> zero = {Cluster(0.0, 0.0)};
  CHECK(EstimateTotal(zero, Calibration::kFitted, 0.95).value == 0.0);
  CHECK(EstimateTotal(zero, Calibration::kFitted, 0.95).half_width == 0.0);
  const std::vector<ObservedCluster> instant = {{0, 10.0, 0.0, 0.0, {{0.0, 3.0}, {0.0, 5.0}}}};
  CHECK(EstimateTotal(instant, Calibration::kFitted, 0.95).value == 40.0);
  CHECK(EstimateTotal(instant, Calibration::kFitted, 0.95).half_width > 0.0);
  CHECK(EstimateTotal({}, Calibration::kPlain, 0.95).value == 0.0);
}

TEST_CASE("the next step depends on why the widest interval is wide") {
  const model::Plan plan;
  const formats::KernelResults results;
  const Match match;
  Extrapolation extrapolation;
  MetricEstimate& metric = extrapolation.metrics.emplace_back();
  metric.name = "cycles";
  const auto next = [&](double half_width, double degrees) {
    metric.calibrated = {100.0, half_width, 100.0 - half_width, 100.0 + half_width, degrees};
    return NextStepOf({plan, results, match, extrapolation}).text;
  };
  CHECK(next(20.0, 1.0).find("few samples show its spread") != std::string::npos);
  CHECK(next(20.0, 20.0).find("half its width takes about four times") != std::string::npos);
  CHECK(next(0.01, 20.0) == "nothing is missing");
  CHECK(next(NAN, 0.0) == "for an interval, plan with --min-samples 2 or more");
}

model::PlanSample Sample(std::uint64_t index, std::uint64_t duration, double weight) {
  model::PlanSample sample;
  sample.index = index;
  sample.weight = weight;
  sample.record.duration_ns = duration;
  sample.record.device = shm::kUnknown16;
  return sample;
}

// Two kernels: "a" with a cluster of 10 (samples at 3 and 5), "b" with one of 4 (sample at 8).
model::Plan SmallPlan() {
  model::Plan plan;
  plan.totals.duration_ns = 140;
  model::PlanKernel a{{"a(int)"}, 10, 100};
  model::PlanCluster ca;
  ca.count = 10;
  ca.mean_ns = 10.0;
  ca.samples = {Sample(3, 10, 5.0), Sample(5, 10, 5.0)};
  a.clusters = {ca};
  model::PlanKernel b{{"b(int)"}, 4, 40};
  model::PlanCluster cb;
  cb.count = 4;
  cb.mean_ns = 10.0;
  cb.samples = {Sample(8, 10, 4.0)};
  b.clusters = {cb};
  plan.kernels = {a, b};
  return plan;
}

formats::KernelResults Table(std::vector<std::pair<std::uint64_t, double>> rows,
                             formats::ResultsSource source = formats::ResultsSource::kCsv) {
  formats::KernelResults results;
  results.source = source;
  results.metrics = {{"v", "", formats::MetricKind::kSum}};
  for (const auto& [id, value] : rows) results.rows.push_back({id, "", {}, "t:1", {value}});
  return results;
}

TEST_CASE(
    "missing results are corrected within their cluster; clusters without results are uncovered") {
  const model::Plan plan = SmallPlan();
  const formats::KernelResults results = Table({{3, 7.0}, {3, 8.0}, {99, 1.0}});
  const Result<Match> match = MatchResults(plan, results, {});
  REQUIRE(match.ok());
  CHECK(match.value().matched == 1);
  CHECK(match.value().missing_count == 2);
  CHECK(match.value().unmatched_count == 1);
  CHECK(match.value().duplicate_count == 1);
  const Result<Extrapolation> got = Extrapolate(plan, results, match.value(), {});
  REQUIRE(got.ok());
  const MetricEstimate& metric = got.value().metrics[0];
  CHECK(metric.plain.value == 70.0);  // ten times the one value, not five times
  CHECK(std::isnan(metric.planned));
  CHECK(metric.uncovered_fraction == doctest::Approx(40.0 / 140.0));
  CHECK(got.value().uncovered_clusters == 1);
}

TEST_CASE("the share of joined launches in clusters with results is reported per metric") {
  model::Plan plan = SmallPlan();
  // Of the ten launches of "a", two with a total of 30 ns are joined. The other eight have a mean
  // of 8.75 ns.
  model::PlanCluster& joined = plan.kernels[0].clusters[0];
  joined.joined = 2;
  joined.joined_bias_ns = 2 * 8.75 - 30.0;
  CHECK(JoinedTime(joined) == doctest::Approx(30.0));
  const auto of = [&](const formats::KernelResults& results) {
    const Result<Match> match = MatchResults(plan, results, {});
    REQUIRE(match.ok());
    const Result<Extrapolation> got = Extrapolate(plan, results, match.value(), {});
    REQUIRE(got.ok());
    CHECK(got.value().metrics[0].joined_fraction == got.value().joined_fraction);
    return got.value();
  };
  const Extrapolation all = of(Table({{3, 7.0}, {5, 7.0}, {8, 1.0}}));
  CHECK(all.joined_fraction == doctest::Approx(30.0 / 140.0));
  CHECK(all.uncovered_fraction == 0.0);
  // A cluster without a result is entirely uncovered.
  const Extrapolation lost = of(Table({{8, 1.0}}));
  CHECK(lost.joined_fraction == 0.0);
  CHECK(lost.uncovered_fraction == doctest::Approx(100.0 / 140.0));
}

TEST_CASE("kernel totals add up to the run, and kernels without results are listed") {
  model::Plan plan = SmallPlan();
  plan.kernels[1].uncovered_by_choice = true;
  const auto by_kernel = [&](const formats::KernelResults& results) {
    const Result<Match> match = MatchResults(plan, results, {});
    REQUIRE(match.ok());
    ExtrapolateOptions options;
    options.by = GroupBy::kKernel;
    const Result<Extrapolation> got = Extrapolate(plan, results, match.value(), options);
    REQUIRE(got.ok());
    REQUIRE(got.value().groups.size() == 2);
    return got.value();
  };
  const Extrapolation all = by_kernel(Table({{3, 7.0}, {5, 9.0}, {8, 2.0}}));
  const MetricEstimate& a = all.groups[0].metrics[0];
  const MetricEstimate& b = all.groups[1].metrics[0];
  CHECK(all.groups[0].name == "a(int)");
  CHECK(all.groups[0].launches == 10.0);
  CHECK(a.plain.value == 80.0);
  CHECK(b.plain.value == 8.0);
  CHECK(all.metrics[0].plain.value == 88.0);
  CHECK(a.planned == 80.0);
  CHECK(a.per_launch.value == doctest::Approx(8.0));
  CHECK(a.per_second.value == doctest::Approx(80.0 / 100e-9));
  CHECK(a.samples == 2);
  // "b" has one sample: its interval uses the spread of "a".
  CHECK(b.plain.half_width > 0.0);
  CHECK(std::isfinite(b.plain.half_width));

  const Extrapolation lost = by_kernel(Table({{3, 7.0}, {5, 9.0}}));
  CHECK(lost.groups[1].uncovered_fraction == 1.0);
  CHECK(lost.groups[1].uncovered_by_choice);
  CHECK(lost.groups[1].samples == 0);
  CHECK(std::isnan(lost.groups[1].metrics[0].plain.value));
  CHECK(lost.groups[0].uncovered_fraction == 0.0);
}

TEST_CASE("range totals add up to the run") {
  model::Plan plan = SmallPlan();
  plan.kernels[0].clusters[0].samples[0].range = "decode";
  plan.kernels[1].clusters[0].samples[0].range = "decode";
  const formats::KernelResults results = Table({{3, 7.0}, {5, 9.0}, {8, 2.0}});
  const Result<Match> match = MatchResults(plan, results, {});
  REQUIRE(match.ok());
  ExtrapolateOptions options;
  options.by = GroupBy::kRange;
  const Result<Extrapolation> got = Extrapolate(plan, results, match.value(), options);
  REQUIRE(got.ok());
  REQUIRE(got.value().groups.size() == 2);
  const MetricGroup& none = got.value().groups[0];
  const MetricGroup& decode = got.value().groups[1];
  CHECK(none.name == "(none)");
  CHECK(decode.name == "decode");
  CHECK(none.metrics[0].plain.value == 45.0);
  CHECK(decode.metrics[0].plain.value == 35.0 + 8.0);
  CHECK(decode.launches == 5.0 + 4.0);
  CHECK(decode.native_ns == doctest::Approx(90.0));
  CHECK(decode.metrics[0].per_launch.value == doctest::Approx(43.0 / 9.0));
  CHECK(std::isnan(decode.uncovered_fraction));
  // The number of launches in the range is uncertain, although all values are similar.
  CHECK(decode.metrics[0].plain.half_width > 20.0);
}

TEST_CASE("the share of a cluster in a range is estimated from all samples of its kernel") {
  std::vector<ObservedCluster> clusters;
  for (std::size_t h = 0; h < 4; ++h) {
    const std::size_t kernel = h < 3 ? 0 : 1;
    clusters.push_back({kernel, 100.0, 10.0, 1.0, {{10.0, 1.0}}});
  }
  for (std::size_t h = 0; h < 3; ++h) clusters[h].seen.front().in_domain = h > 0;
  clusters[3].seen.front().in_domain = false;
  EstimateShares(clusters);
  // Half of all samples are in the range, and two of the three samples of kernel 0.
  const double kernel = (2.0 + 0.5) / 4.0;
  CHECK(clusters[0].share == doctest::Approx(kernel / 2.0));
  CHECK(clusters[1].share == doctest::Approx((1.0 + kernel) / 2.0));
  CHECK(clusters[1].mixing == doctest::Approx((2.0 / 3.0 + 0.25) / 3.0));
  CHECK(clusters[3].share == doctest::Approx(0.5 / 2.0 / 2.0));
  CHECK(clusters[3].mixing == doctest::Approx(0.25));
}

TEST_CASE("ids follow each consumer's convention") {
  const model::Plan plan = SmallPlan();
  const auto matched = [&](const formats::KernelResults& results, const MatchOptions& options) {
    const Result<Match> match = MatchResults(plan, results, options);
    return match.ok() ? match.value().matched : 0;
  };
  CHECK(matched(Table({{3, 1}, {5, 1}, {8, 1}}), {}) == 3);
  CHECK(matched(Table({{3, 1}, {5, 1}, {8, 1}}, formats::ResultsSource::kMacsim), {}) == 3);
  CHECK(matched(Table({{4, 1}, {6, 1}, {9, 1}}, formats::ResultsSource::kAccelsim), {}) == 3);
  MatchOptions one;
  one.id_base = 1;
  CHECK(matched(Table({{4, 1}, {6, 1}, {9, 1}, {0, 1}}), one) == 3);
  MatchOptions ids;
  ids.use_ids = true;
  ids.index_of = {{70, 3}, {71, 8}};
  CHECK(matched(Table({{70, 1}, {71, 1}, {3, 1}}, formats::ResultsSource::kAccelsim), ids) == 2);
  const Result<Match> none = MatchResults(plan, Table({{70, 1}}), {});
  REQUIRE(!none.ok());
  CHECK(none.error().message.find("--ids") != std::string::npos);
  CHECK(none.error().message.find("--weights-csv") != std::string::npos);
}

TEST_CASE("ncu rows are the samples of a name in launch order, or its occurrences") {
  model::Plan plan = SmallPlan();
  plan.kernels[0].clusters[0].samples[0].occurrence = 2;
  plan.kernels[0].clusters[0].samples[1].occurrence = 4;
  formats::KernelResults results = Table({{0, 1}, {1, 2}, {2, 3}}, formats::ResultsSource::kNcu);
  results.rows[0].name = "b";
  results.rows[1].name = results.rows[2].name = "_Z1ai";
  const Result<Match> order = MatchResults(plan, results, {});
  REQUIRE(order.ok());
  CHECK(order.value().rows[0][0] == std::vector<std::size_t>{1, 2});
  CHECK(order.value().rows[1][0] == std::vector<std::size_t>{0});

  formats::KernelResults all = Table({}, formats::ResultsSource::kNcu);
  for (std::uint64_t i = 0; i < 10; ++i) all.rows.push_back({i, "a(int)", {}, "t:1", {1.0}});
  const Result<Match> occurrences = MatchResults(plan, all, {});
  REQUIRE(occurrences.ok());
  CHECK(occurrences.value().rows[0][0] == std::vector<std::size_t>{2, 4});
  CHECK(occurrences.value().unmatched_count == 8);
  all.rows.pop_back();
  CHECK_FALSE(MatchResults(plan, all, {}).ok());  // neither samples nor launches
}

// A kernel of two launches, both sampled.
model::PlanKernel Pair(const std::string& name, std::uint64_t first, std::uint64_t second) {
  model::PlanKernel kernel{{name}, 2, 20};
  model::PlanCluster cluster;
  cluster.count = 2;
  cluster.mean_ns = 10.0;
  cluster.samples = {Sample(first, 10, 1.0), Sample(second, 10, 1.0)};
  kernel.clusters = {cluster};
  return kernel;
}

formats::KernelResults Named(const std::vector<std::string>& names) {
  formats::KernelResults results = Table({}, formats::ResultsSource::kNcu);
  for (const std::string& name : names) {
    results.rows.push_back({results.rows.size(), name, {}, "t:1", {1.0}});
  }
  return results;
}

TEST_CASE("ncu rows in another order than the samples are refused where their grids show it") {
  model::Plan plan;
  plan.kernels = {Pair("a", 0, 2)};
  std::vector<model::PlanSample>& samples = plan.kernels[0].clusters[0].samples;
  const auto set_grid = [](std::uint32_t(&grid)[3], std::uint32_t x) {
    grid[0] = x;
    grid[1] = grid[2] = 1;
  };
  set_grid(samples[0].record.grid, 4);
  set_grid(samples[1].record.grid, 8);
  const auto matched = [&](const std::vector<std::uint32_t>& grids) {
    formats::KernelResults results = Table({}, formats::ResultsSource::kNcu);
    for (const std::uint32_t x : grids) {
      results.rows.push_back({results.rows.size(), "a", {}, "t.csv:7", {1.0}});
      set_grid(results.rows.back().config.grid, x);
    }
    return MatchResults(plan, results, {});
  };
  CHECK(matched({4, 8}).ok());
  for (const std::vector<std::uint32_t>& grids :
       {std::vector<std::uint32_t>{8, 4},
        {8, 8},
        {8}}) {  // reversed, repeated, the first is missing
    const Result<Match> match = matched(grids);
    REQUIRE_FALSE(match.ok());
    CHECK(match.error().message.starts_with(
        "t.csv:7: row 1 of 'a' has the grid and block of launch 2, but sample 1 of this kernel is "
        "launch 0; expected rows in launch order"));
  }
  // A grid that no sample has is of another run, which the share of such results decides.
  const Result<Match> other = matched({4, 16});
  REQUIRE(other.ok());
  CHECK(other.value().warnings.size() == 1);
}

TEST_CASE("ncu rows are never matched to a different instance of a template") {
  // The launch order is f<4>, f<8>, f<4>, f<8>; the reports list one kernel after the other.
  model::Plan plan;
  plan.kernels = {Pair("void f<4>(float*)", 0, 2), Pair("void f<8>(float*)", 1, 3)};
  using Rows = std::vector<std::size_t>;
  for (const auto& [four, eight] :
       {std::pair<std::string, std::string>{"void f<4>(float*)", "void f<8>(float*)"},
        {"void f<(int)4>(float *)", "void f<(int)8>(float *)"},
        {"void f<4>(float*)", "void f<(int)8>(float *)"},
        {"f<4>", "f<8>"},
        {"_Z1fILi4EEvPf", "_Z1fILi8EEvPf"}}) {
    CAPTURE(four);
    const Result<Match> match = MatchResults(plan, Named({eight, eight, four, four}), {});
    REQUIRE_MESSAGE(match.ok(), (match.ok() ? "" : match.error().message));
    CHECK(match.value().rows[0][0] == Rows{2, 3});
    CHECK(match.value().rows[1][0] == Rows{0, 1});
  }
  const auto refused = [&](const std::vector<std::string>& names) {
    const Result<Match> match = MatchResults(plan, Named(names), {});
    REQUIRE(!match.ok());
    CHECK(match.error().message.find("--ids") != std::string::npos);
  };
  refused({"f", "f", "f", "f"});
  refused({"void f<4>(float*)", "f"});
  refused({"void f<(int)4>(float *)", "void f<4>(float *)"});  // may be one kernel or two
  // If a function has one kernel on both sides, the match is unambiguous.
  plan.kernels = {Pair("void f<float const*>(float*)", 0, 2), Pair("g", 1, 3)};
  const Result<Match> match = MatchResults(plan, Named({"g", "f<const float *>", "h"}), {});
  REQUIRE(match.ok());
  CHECK(match.value().rows[0][0] == Rows{1, kNoResult});
  CHECK(match.value().rows[1][0] == Rows{0, kNoResult});
  CHECK(match.value().unmatched_count == 1);
  refused({"f<const float *>", "f<const int *>"});
}

TEST_CASE("ncu rows are matched to a plan grouped by function only with --ids") {
  model::Plan plan;
  plan.kernels = {Pair("f", 0, 2)};
  plan.options = {{"group_by", "function"}};
  const formats::KernelResults rows = Named({"f<4>", "f<8>"});
  const Result<Match> by_name = MatchResults(plan, rows, {});
  REQUIRE(!by_name.ok());
  CHECK(by_name.error().message.find("--ids FILE") != std::string::npos);
  MatchOptions options;
  options.use_ids = true;
  options.index_of = {{0, 2}, {1, 0}};
  const Result<Match> by_id = MatchResults(plan, rows, options);
  REQUIRE(by_id.ok());
  CHECK(by_id.value().rows[0][0] == std::vector<std::size_t>{1, 0});
  CHECK(by_id.value().warnings.empty());
}

TEST_CASE("a launch that was drawn twice uses its result twice") {
  model::Plan plan = SmallPlan();
  plan.kernels[0].clusters[0].samples[1].index = 3;
  const Result<Match> match = MatchResults(plan, Table({{3, 7.0}, {8, 1.0}, {3, 8.0}}), {});
  REQUIRE(match.ok());
  CHECK(match.value().matched == 3);
  CHECK(match.value().missing_count == 0);
  CHECK(match.value().duplicate_count == 1);
  CHECK(match.value().rows[0][0] == std::vector<std::size_t>{0, 0});
  // ncu profiles the kernel once.
  const Result<Match> ncu = MatchResults(plan, Named({"a(int)", "b(int)"}), {});
  REQUIRE(ncu.ok());
  CHECK(ncu.value().missing_count == 0);
  CHECK(ncu.value().rows[0][0] == std::vector<std::size_t>{0, 0});
}

TEST_CASE("results of other kernels are an error; a single one is a warning") {
  const model::Plan plan = SmallPlan();
  formats::KernelResults results = Table({{3, 1}, {5, 1}, {8, 1}});
  results.rows[0].name = "a";
  results.rows[1].name = "_Z1ai";
  results.rows[2].name = "c";
  const Result<Match> match = MatchResults(plan, results, {});
  REQUIRE(match.ok());
  CHECK(match.value().warnings.size() == 1);
  results.rows[1].name = "c";
  CHECK_FALSE(MatchResults(plan, results, {}).ok());
}

TEST_CASE("ids of a simulator trace with several devices need --device or --ids") {
  model::Plan plan = SmallPlan();
  plan.kernels[0].clusters[0].samples[0].record.device = 0;
  plan.kernels[1].clusters[0].samples[0].record.device = 1;
  const formats::KernelResults results = Table({{4, 1}, {9, 1}}, formats::ResultsSource::kAccelsim);
  for (const formats::KernelResults& several :
       {results, Table({{3, 1}, {8, 1}}, formats::ResultsSource::kMacsim)}) {
    const Result<Match> refused = MatchResults(plan, several, {});
    REQUIRE(!refused.ok());
    CHECK(refused.error().message.find("--device") != std::string::npos);
    CHECK(refused.error().message.find("--ids") != std::string::npos);
  }
  MatchOptions device;
  device.device = 1;
  const Result<Match> match = MatchResults(plan, results, device);
  REQUIRE(match.ok());
  CHECK(match.value().matched == 1);
  CHECK(match.value().rows[1][0][0] == 1);
}

TEST_CASE("ids that restart in each session of a merged plan need --ids") {
  model::Plan plan = SmallPlan();
  plan.sessions.resize(2);
  MatchOptions device;
  device.device = 0;
  for (const formats::ResultsSource source :
       {formats::ResultsSource::kAccelsim, formats::ResultsSource::kMacsim}) {
    const formats::KernelResults results = Table({{4, 1}, {6, 1}, {9, 1}}, source);
    for (const MatchOptions& options : {MatchOptions(), device}) {
      const Result<Match> refused = MatchResults(plan, results, options);
      REQUIRE(!refused.ok());
      CHECK(refused.error().message.starts_with("the plan covers 2 sessions, which "));
      CHECK(refused.error().message.find("--ids FILE") != std::string::npos);
    }
    MatchOptions ids;
    ids.use_ids = true;
    ids.index_of = {{4, 3}};
    CHECK(MatchResults(plan, results, ids).ok());
  }
  // A user's table has the plan's indexes.
  CHECK(MatchResults(plan, Table({{3, 1}}, formats::ResultsSource::kCsv), {}).ok());
}

}  // namespace
}  // namespace stemtap::analysis
