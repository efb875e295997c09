// SPDX-License-Identifier: Apache-2.0
#include "research/evaluation/equal_error.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "research/evaluation/made_workload.h"

namespace stemtap::research {
namespace {

using test::MakeTestWorkload;

TunedPoint Point(double p95, double speedup) {
  TunedPoint p;
  p.p95 = p95;
  p.speedup = speedup;
  return p;
}

TEST_CASE("the cost between two tested bounds is interpolated in logarithms") {
  TuningEnd end{};
  TunedPoint tuned;
  const std::vector<TunedPoint> points = {Point(0.04, 400.0), Point(0.01, 100.0)};
  CHECK(SpeedupAt(points, 0.02, end, &tuned) == doctest::Approx(200.0));
  CHECK(end == TuningEnd::kMet);
  CHECK(tuned.p95 == 0.01);
  CHECK(SpeedupAt(points, 0.01, end) == 100.0);
  CHECK(end == TuningEnd::kMet);
  CHECK(SpeedupAt(points, 0.05, end) == 400.0);
  CHECK(end == TuningEnd::kAlwaysBelow);
  CHECK(std::isnan(SpeedupAt(points, 0.005, end)));
  CHECK(end == TuningEnd::kNeverBelow);
}

TEST_CASE("a bound with a higher cost and a higher error than another bound is ignored") {
  TuningEnd end{};
  const std::vector<TunedPoint> points = {Point(0.01, 100.0), Point(0.015, 80.0),
                                          Point(0.04, 400.0), Point(0.05, 300.0)};
  CHECK(SpeedupAt(points, 0.02, end) == doctest::Approx(200.0));
  CHECK(SpeedupAt(points, 0.04, end) == 400.0);
}

TEST_CASE("an error of 0 uses the cheapest sample without an error") {
  TuningEnd end{};
  const std::vector<TunedPoint> points = {Point(0.0, 2.0), Point(0.0, 5.0), Point(0.1, 50.0)};
  CHECK(SpeedupAt(points, 0.0, end) == 5.0);
  CHECK(end == TuningEnd::kMet);
  // There is no data point between no error and 10 % error.
  CHECK(SpeedupAt(points, 0.05, end) == 5.0);
}

// Returns the number of samples of one kernel that the bound requires by the central limit theorem.
std::uint64_t SizeFor(const MethodInput& input) {
  double mean = 0.0;
  double squares = 0.0;
  const auto n = static_cast<double>(input.profile.records.size());
  for (const shm::KernelRecord& r : input.profile.records) {
    mean += static_cast<double>(r.duration_ns) / n;
  }
  for (const shm::KernelRecord& r : input.profile.records) {
    squares += std::pow(static_cast<double>(r.duration_ns) - mean, 2) / n;
  }
  return static_cast<std::uint64_t>(std::ceil(
      squares * std::pow(input.options.target().z / (input.options.error_bound * mean), 2)));
}

class Wasteful : public test::DrawSome {
 public:
  Wasteful(const MethodInput& input, std::uint64_t size)
      : DrawSome(input, size, input.options.error_bound, sampling::Selection::kRandom) {}
  MethodSample Draw(std::uint64_t seed) const override {
    MethodSample sample = DrawSome::Draw(seed);
    const std::size_t useful = sample.invocations.size();
    // Counts the same launches again as cost. Indices may repeat.
    for (std::size_t i = 0; i < useful; ++i) {
      sample.invocations.push_back({sample.invocations[i].index, 0.0});
    }
    return sample;
  }
};

constexpr MethodEntry kFrugal = {
    "frugal", "as many as the bound asks",
    [](const MethodInput& input) -> Result<std::unique_ptr<PreparedMethod>> {
      return std::unique_ptr<PreparedMethod>(std::make_unique<test::DrawSome>(
          input, SizeFor(input), input.options.error_bound, sampling::Selection::kRandom));
    }};
constexpr MethodEntry kWasteful = {
    "wasteful", "asks for half the error, and captures everything twice",
    [](const MethodInput& input) -> Result<std::unique_ptr<PreparedMethod>> {
      sampling::SamplingOptions half = input.options;
      half.error_bound *= 0.5;
      return std::unique_ptr<PreparedMethod>(
          std::make_unique<Wasteful>(input, SizeFor({input.profile, input.groups, half, nullptr})));
    }};

EvaluatedRun ManyDurations() {
  std::vector<test::MadeLaunch> launches;
  Rng rng(3);
  for (int i = 0; i < 20000; ++i) launches.push_back({"k", 1000 + rng.Below(4000)});
  return MakeTestWorkload(launches);
}

TEST_CASE("a method that captures each launch twice costs twice as much at equal error") {
  const EvaluatedRun w = ManyDurations();
  WorkerPool pool(2);
  sampling::SamplingOptions options;
  options.error_bound = 0.05;
  const auto compared = CompareAtEqualError(w, kFrugal, kWasteful, options, nullptr, 4000, pool);
  REQUIRE(compared.ok());
  const EqualError& e = compared.value();
  CHECK(e.forward.end == TuningEnd::kMet);
  CHECK(e.backward.end == TuningEnd::kMet);
  // p95 of 4,000 runs has a standard deviation of 1.6 %, and the speedup has twice as much. With
  // the draws of both methods, it is 4.5 %. The tolerance is five times that.
  CHECK(std::fabs(e.forward.ratio - 2.0) < 0.45);
  CHECK(std::fabs(e.backward.ratio - 2.0) < 0.45);
  CHECK(e.ratio == e.forward.ratio);
  CHECK(e.ratio_low <= e.ratio);
  CHECK(e.ratio_high >= e.ratio);
  CHECK(e.ratio_high - e.ratio_low < 1.0);
  // The method requests half of the error, so an equal error requires twice the bound.
  CHECK(std::fabs(e.forward.tuned.error_bound - 0.1) < 0.015);
}

TEST_CASE("a method compared with itself has a cost ratio of 1") {
  const EvaluatedRun w = ManyDurations();
  WorkerPool pool(2);
  const auto compared = CompareAtEqualError(w, kFrugal, kFrugal, {}, nullptr, 2000, pool);
  REQUIRE(compared.ok());
  CHECK(compared.value().ratio == doctest::Approx(1.0));
}

TEST_CASE("if all durations are equal, both methods are exact with one sample") {
  const EvaluatedRun w = MakeTestWorkload(std::vector<test::MadeLaunch>(50, {"k", 100}));
  WorkerPool pool(1);
  const auto compared = CompareAtEqualError(w, test::kSome, test::kSome, {}, nullptr, 10, pool);
  REQUIRE(compared.ok());
  CHECK(compared.value().forward.fixed.p95 == 0.0);
  CHECK(compared.value().ratio == doctest::Approx(1.0));
}

TEST_CASE("a missing input is reported") {
  const EvaluatedRun w = ManyDurations();
  WorkerPool pool(1);
  const auto compared = CompareAtEqualError(w, kFrugal, test::kLacking, {}, nullptr, 10, pool);
  REQUIRE(!compared.ok());
  CHECK(compared.error().message.find("luck") != std::string::npos);
}

}  // namespace
}  // namespace stemtap::research
