// SPDX-License-Identifier: Apache-2.0
// Tests methods on workloads whose errors can be enumerated.
#include "research/evaluation/evaluate_method.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "formats/importers/registry.h"
#include "research/evaluation/evaluation.h"
#include "research/evaluation/made_workload.h"
#include "support/shared_data.h"

namespace stemtap::research {
namespace {

using test::kLacking;
using test::kSome;
using test::MakeProfile;
using test::MakeTestWorkload;
using test::OneKernel;

MethodEvaluation Evaluated(const EvaluatedRun& workload, const sampling::SamplingOptions& options,
                           std::uint64_t runs, unsigned threads = 1,
                           const MethodEntry& method = kSome) {
  WorkerPool pool(threads);
  auto done = EvaluateMethod(workload, method, options, nullptr, runs, pool);
  REQUIRE(done.ok());
  return std::move(done).value();
}

sampling::SamplingOptions Take(std::uint64_t samples, double bound) {
  sampling::SamplingOptions options;
  options.min_samples = samples;
  options.error_bound = bound;
  return options;
}

// Draws two of {100, 100, 300, 300}. Four of the six pairs contain one of each and are exact; two
// have an error of 50 %.
TEST_CASE("errors and coverage of a two-point stratum match the enumeration") {
  const EvaluatedRun w = OneKernel({100, 300, 100, 300});
  constexpr std::uint64_t kRuns = 9000;
  const MethodEvaluation tight = Evaluated(w, Take(2, 0.4), kRuns);
  for (const RunOutcome& run : tight.runs) {
    const double size = std::fabs(run.error);
    CHECK((size < 1e-12 || std::fabs(size - 0.5) < 1e-12));
  }
  // The share of exact runs is 2/3, with standard deviation sqrt(2/9/9000) = 0.005. With six
  // standard deviations, a different seed fails with a probability of 2e-9.
  CHECK(std::fabs(tight.statistics.coverage - 2.0 / 3.0) < 0.03);
  CHECK(std::fabs(tight.statistics.error.mean - 1.0 / 6.0) < 0.015);
  CHECK(std::fabs(tight.statistics.error.bias) < 0.02);
  CHECK(tight.statistics.error.p95 == doctest::Approx(0.5));
  CHECK(tight.statistics.p95_over_bound == doctest::Approx(1.25));
  CHECK(tight.statistics.samples == 2.0);
  CHECK(tight.statistics.clusters == 1.0);
  // The mean sampled time is 400 of 800.
  CHECK(std::fabs(tight.statistics.speedup - 2.0) < 0.03);
  CHECK(Evaluated(w, Take(2, 0.5), kRuns).statistics.coverage == 1.0);
}

TEST_CASE("sampling everything is exact, with a bound of 0") {
  const EvaluatedRun w = OneKernel({100, 300, 7, 1'000'000'007});
  const MethodEvaluation all = Evaluated(w, Take(4, 0.0), 3);
  CHECK(all.statistics.coverage == 1.0);
  CHECK(all.statistics.speedup == doctest::Approx(1.0));
  CHECK(all.statistics.error.max < 1e-12);
}

TEST_CASE("the result does not depend on the number of threads") {
  const EvaluatedRun w = OneKernel({1, 20, 300, 4000, 50000, 6, 70, 800, 9000});
  const MethodEvaluation alone = Evaluated(w, Take(3, 0.1), 500, 1);
  const MethodEvaluation together = Evaluated(w, Take(3, 0.1), 500, 4);
  REQUIRE(alone.runs.size() == together.runs.size());
  for (std::size_t i = 0; i < alone.runs.size(); ++i) {
    CHECK(alone.runs[i].error == together.runs[i].error);
    CHECK(alone.runs[i].sampled_ns == together.runs[i].sampled_ns);
  }
  CHECK(alone.statistics.error.mean == together.statistics.error.mean);
}

TEST_CASE("seeds are consecutive from the first seed") {
  const EvaluatedRun w = OneKernel({1, 20, 300, 4000, 50000, 6, 70, 800, 9000});
  sampling::SamplingOptions options = Take(3, 0.1);
  const MethodEvaluation from_1 = Evaluated(w, options, 20);
  options.seed = 11;
  const MethodEvaluation from_11 = Evaluated(w, options, 10);
  for (std::size_t i = 0; i < 10; ++i) CHECK(from_11.runs[i].error == from_1.runs[i + 10].error);
}

TEST_CASE("a deterministic method is drawn once") {
  sampling::SamplingOptions options = Take(1, 0.1);
  options.selection = sampling::Selection::kFirst;
  const MethodEvaluation first = Evaluated(OneKernel({100, 300}), options, 50);
  CHECK(first.deterministic);
  CHECK(first.statistics.runs == 1);
  CHECK(first.statistics.error.bias == doctest::Approx(-0.5));
  CHECK(first.statistics.coverage == 0.0);
}

TEST_CASE(
    "on a second run, plain weights transfer and calibrated weights keep the error of the first "
    "run") {
  // In the second run, kernel k is twice as slow and kernel s is unchanged.
  EvaluatedRun w = MakeTestWorkload({{"k", 100}, {"s", 50}, {"k", 300}, {"s", 50}});
  REQUIRE(CompareWith(w, "slow", MakeProfile({{"k", 200}, {"s", 50}, {"k", 600}, {"s", 50}})).ok());
  sampling::SamplingOptions options = Take(1, 0.1);
  options.selection = sampling::Selection::kFirst;
  const RunOutcome run = Evaluated(w, options, 1).runs[0];
  // The samples k = 100 and s = 50 each represent two launches: 300 of 500. In the second run, this
  // is 2 (200 + 50) of 900.
  CHECK(run.error == doctest::Approx(300.0 / 500.0 - 1.0));
  CHECK(run.against_plain == doctest::Approx(500.0 / 900.0 - 1.0));
  // With calibrated weights, the sample k = 100 represents 400, so 4 x 200 + 2 x 50 = 900.
  CHECK(run.against_calibrated == doctest::Approx(0.0));
}

TEST_CASE("on the same run, calibrated weights reproduce the total for any draw") {
  const MethodEvaluation e = Evaluated(OneKernel({100, 300, 700, 50}), Take(1, 0.1), 50);
  for (const RunOutcome& run : e.runs) CHECK(std::fabs(run.against_calibrated) < 1e-12);
}

TEST_CASE("sampled durations of 0 keep the plain weight") {
  sampling::SamplingOptions options = Take(1, 0.1);
  options.selection = sampling::Selection::kFirst;
  const RunOutcome run = Evaluated(OneKernel({0, 300}), options, 1).runs[0];
  CHECK(run.against_calibrated == doctest::Approx(-1.0));
  CHECK(run.sampled_ns == 0.0);
}

TEST_CASE("a method without its input is skipped once, with its reason") {
  const EvaluatedRun w = OneKernel({100, 300});
  EvaluationRequest request;
  request.methods = {&kSome, &kLacking};
  request.error_bounds = {0.1, 0.05};
  request.runs = 3;
  WorkerPool pool(1);
  Evaluation evaluation;
  AddWorkload(w, request, pool, evaluation);
  CHECK(evaluation.rows.size() == 2);
  REQUIRE(evaluation.left_out.size() == 1);
  CHECK(evaluation.left_out[0].method == "lacking");
  CHECK(evaluation.left_out[0].reason.find("missing: luck") != std::string::npos);
  CHECK(evaluation.rows[0].error_bound == 0.1);
  CHECK(evaluation.rows[1].error_bound == 0.05);
}

TEST_CASE("online: a kernel with constant duration is captured a few times and is exact") {
  std::vector<test::MadeLaunch> launches(5000, {"steady", 1000});
  const EvaluatedRun w = MakeTestWorkload(launches);
  EvaluationRequest request;
  request.options.min_samples = 1;
  request.methods = {&kSome};
  request.error_bounds = {0.05};
  request.runs = 2;
  request.online = true;
  request.lag = 100;
  request.two_pass = &kSome;  // takes 1 sample
  WorkerPool pool(2);
  Evaluation evaluation;
  AddWorkload(w, request, pool, evaluation);
  REQUIRE(evaluation.rows.size() == 2);
  const EvaluationRow& online = evaluation.rows[1];
  CHECK(online.method == "online");
  const RunStatistics& s = online.evaluation.statistics;
  CHECK(s.error.max < 1e-9);
  CHECK(s.uncovered == 0.0);
  CHECK(s.samples >= 1.0);
  CHECK(s.samples < 20.0);
  CHECK(s.sampled_ns == doctest::Approx(1000.0 * s.samples));
  CHECK(online.over_two_pass == doctest::Approx(s.samples));
}

const MethodEntry& MethodOf(sampling::Method method) {
  std::string_view name;
  for (const sampling::MethodSpec& spec : sampling::kMethods) {
    if (spec.method == method) name = spec.name;
  }
  for (const MethodEntry& entry : Methods()) {
    if (name == entry.name) return entry;
  }
  FAIL("unknown method");
  return Methods()[0];
}

// The elimination works on a matrix that shrinks, so both kernels become faster with each launch.
// The full effect is visible with STEM only, which has two strata of 30 samples each.
TEST_CASE("selecting the first launches is biased on Rodinia gaussian, and the default is not") {
  const auto file = SharedPath("data/profiles/rodinia_gaussian_8k_a.csv.gz");
  STEMTAP_SKIP_WITHOUT(file);
  auto reader = formats::OpenProfile(file.string());
  REQUIRE(reader.ok());
  auto profile = model::LoadProfile(*reader.value());
  REQUIRE(profile.ok());
  sampling::SamplingOptions options;
  const auto workload = MakeEvaluatedRun("gaussian", std::move(profile).value(), options);
  REQUIRE(workload.ok());

  // With random draws, |bias| of 400 runs with errors of about 2.3 % has a standard error of
  // 0.12 %. Six standard errors are 0.7 %.
  const MethodEvaluation drawn =
      Evaluated(workload.value(), options, 400, 2, MethodOf(sampling::Method::kStem));
  CHECK(std::fabs(drawn.statistics.error.bias) < 0.007);
  CHECK(drawn.statistics.error.max < 0.15);

  options.selection = sampling::Selection::kFirst;
  const MethodEvaluation first =
      Evaluated(workload.value(), options, 1, 1, MethodOf(sampling::Method::kStem));
  CHECK(first.statistics.samples == drawn.statistics.samples);
  CHECK(first.statistics.error.bias > 0.30);
  CHECK(first.statistics.error.bias > 5.0 * drawn.statistics.bound);
  // Finer strata hide part of the effect, but the error still exceeds the requested bound.
  const MethodEvaluation root =
      Evaluated(workload.value(), options, 1, 1, MethodOf(sampling::Method::kRoot));
  CHECK(root.statistics.error.bias > 2.0 * options.error_bound);

  // At least 95 % of runs with the default options must be within the bound. With 400 runs, at
  // least 88 % are within it, except with a probability below 1e-6.
  const sampling::SamplingOptions standard;
  const MethodEvaluation standing =
      Evaluated(workload.value(), standard, 400, 2, MethodOf(standard.method));
  CHECK(standing.statistics.coverage >= 0.88);
  CHECK(std::fabs(standing.statistics.error.bias) < 0.01);
}

}  // namespace
}  // namespace stemtap::research
