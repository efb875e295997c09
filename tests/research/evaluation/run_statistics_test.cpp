// SPDX-License-Identifier: Apache-2.0
// Tests statistics of runs and over workloads with values calculated by hand.
#include "research/evaluation/run_statistics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "research/evaluation/made_workload.h"
#include "research/evaluation/trust_report.h"

namespace stemtap::research {
namespace {

RunOutcome Run(double sampled_ns, double error, double bound) {
  RunOutcome run;
  run.sampled_ns = sampled_ns;
  run.samples = 2;
  run.error = error;
  run.bound = bound;
  return run;
}

TEST_CASE("a quantile by rank is the smallest value that the given share of runs does not exceed") {
  std::vector<double> values;
  CHECK(std::isnan(QuantileByRank(values, 0.95)));
  for (int i = 100; i >= 1; --i) values.push_back(i);
  CHECK(QuantileByRank(values, 0.95) == 95.0);
  CHECK(QuantileByRank(values, 1.0) == 100.0);
  CHECK(QuantileByRank(values, 0.001) == 1.0);
  values.resize(20);  // 100 .. 81: 19 of 20 are at most 99
  CHECK(QuantileByRank(values, 0.95) == 99.0);
  CHECK(QuantileByRank(std::vector<double>{7.0}, 0.95) == 7.0);
}

TEST_CASE("the mean error averages absolute errors, and the bias keeps the sign") {
  const ErrorStatistics s = StatisticsOf(std::vector<double>{0.125, -0.5, 0.375, 0.0});
  CHECK(s.mean == 0.25);
  CHECK(s.bias == 0.0);
  CHECK(s.max == 0.5);
  CHECK(s.p95 == 0.5);
  const ErrorStatistics none = StatisticsOf(std::vector<double>{});
  CHECK(none.mean == 0.0);
  CHECK(none.p95 == 0.0);
}

TEST_CASE("the speedup is the harmonic mean over runs") {
  // The speedups 10 and 2.5 of 100 ns have the harmonic mean 2 / (0.1 + 0.4) = 4.
  const RunStatistics s =
      StatisticsOf(std::vector{Run(10.0, 0.0, 0.1), Run(40.0, 0.25, 0.1)}, 100.0);
  CHECK(s.speedup == 4.0);
  CHECK(s.sampled_ns == 25.0);
  CHECK(s.coverage == 0.5);
  CHECK(s.bound == doctest::Approx(0.1));
  CHECK(s.p95_over_bound == doctest::Approx(2.5));
  CHECK(s.error.bias == 0.125);
}

TEST_CASE("an error counts as within its bound only up to rounding") {
  CHECK(StatisticsOf(std::vector{Run(1.0, 3e-16, 0.0)}, 1.0).coverage == 1.0);
  CHECK(StatisticsOf(std::vector{Run(1.0, -1e-6, 0.0)}, 1.0).coverage == 0.0);
  CHECK(StatisticsOf(std::vector{Run(1.0, -0.1, 0.1)}, 1.0).coverage == 1.0);
  CHECK(StatisticsOf(std::vector{Run(1.0, -0.1001, 0.1)}, 1.0).coverage == 0.0);
}

TEST_CASE("coverage requires a bound, and the ratio to the bound requires a bound above 0") {
  const RunStatistics none = StatisticsOf(std::vector{Run(1.0, 0.5, NAN)}, 1.0);
  CHECK(std::isnan(none.bound));
  CHECK(std::isnan(none.coverage));
  CHECK(std::isnan(none.p95_over_bound));
  const RunStatistics zero = StatisticsOf(std::vector{Run(1.0, 0.0, 0.0)}, 1.0);
  CHECK(zero.coverage == 1.0);
  CHECK(std::isnan(zero.p95_over_bound));
}

TEST_CASE("samples without time give an infinite speedup") {
  CHECK(std::isinf(StatisticsOf(std::vector{Run(0.0, 0.0, 0.0)}, 100.0).speedup));
  CHECK(StatisticsOf(std::vector<RunOutcome>{}, 100.0).runs == 0);
}

TEST_CASE("Pearson correlation and median match values computed by hand") {
  const std::vector<double> x = {1, 2, 3, 4};
  CHECK(Pearson(x, std::vector<double>{2, 4, 6, 8}) == doctest::Approx(1.0));
  CHECK(Pearson(x, std::vector<double>{4, 3, 2, 1}) == doctest::Approx(-1.0));
  // xy = 3, xx = 5, yy = 5
  CHECK(Pearson(x, std::vector<double>{1, 3, 2, 4}) == doctest::Approx(0.8));
  CHECK(std::isnan(Pearson(x, std::vector<double>{0.1, 0.1, 0.1, 0.1})));
  CHECK(std::isnan(Pearson(std::vector<double>{1}, std::vector<double>{1})));
  CHECK(std::isnan(Median({})));
  CHECK(Median({3, 1, 2}) == 2.0);
  CHECK(Median({4, 1, 2, 3}) == 2.5);
}

EvaluationRow Row(std::size_t workload, double speedup, std::vector<RunOutcome> runs,
                  double total_ns) {
  EvaluationRow row;
  row.workload = workload;
  row.method = "m";
  row.error_bound = 0.05;
  row.evaluation.runs = std::move(runs);
  row.evaluation.statistics = StatisticsOf(row.evaluation.runs, total_ns);
  row.evaluation.statistics.speedup = speedup;
  return row;
}

TEST_CASE("the trust report has the harmonic mean of speedups, the mean error and a sorted curve") {
  Evaluation evaluation;
  evaluation.confidence = 0.95;
  evaluation.workloads.resize(2);
  evaluation.workloads[0].total_ns = 1000;
  evaluation.workloads[1].total_ns = 3000;
  evaluation.rows.push_back(Row(0, 10.0, {Run(100, 0.25, 0.5), Run(100, -0.25, 0.5)}, 1000.0));
  evaluation.rows.push_back(
      Row(1, 2.5, {Run(1200, 0.0, 0.0625), Run(1200, 0.125, 0.0625)}, 3000.0));
  const std::vector<TrustReport> reports = MakeTrustReports(evaluation);
  REQUIRE(reports.size() == 1);
  const TrustReport& r = reports[0];
  CHECK(r.workloads == 2);
  CHECK(r.speedup == doctest::Approx(4.0));
  CHECK(r.error == doctest::Approx((0.25 + 0.0625) / 2));
  CHECK(r.max_error == 0.25);
  CHECK(r.coverage == 0.75);
  CHECK(r.workloads_covered == 0.5);
  CHECK(r.median_p95_over_bound == doctest::Approx((0.5 + 2.0) / 2));
  REQUIRE(r.s_curve.size() == 2);
  CHECK(r.s_curve[0] == std::pair<std::size_t, double>{1, 0.0625});
  CHECK(r.s_curve[1] == std::pair<std::size_t, double>{0, 0.25});
  // predicted 1250, 750, 3000, 3375 for 1000, 1000, 3000, 3000
  CHECK(r.pearson == doctest::Approx(Pearson(std::vector<double>{1250, 750, 3000, 3375},
                                             std::vector<double>{1000, 1000, 3000, 3000})));
}

}  // namespace
}  // namespace stemtap::research
