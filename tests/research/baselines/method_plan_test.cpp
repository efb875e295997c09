// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/method_plan.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

namespace stemtap::research {
namespace {

// EvenOdd is a method with two clusters: the even and the odd launches of all kernels. The first
// launch of a cluster represents it.
class EvenOdd : public PreparedMethod {
 public:
  explicit EvenOdd(std::size_t launches) {
    for (std::size_t i = 0; i < launches; ++i) {
      clusters_.push_back(static_cast<std::uint32_t>(i % 2));
    }
  }
  MethodSample Draw(std::uint64_t) const override {
    const auto half = static_cast<double>(clusters_.size()) / 2;
    return {{{0, half}, {1, half}}};
  }
  std::span<const std::uint32_t> clusters() const override { return clusters_; }
  std::uint64_t cluster_count() const override { return 2; }
  double bound() const override { return NAN; }
  bool deterministic() const override { return true; }

 private:
  std::vector<std::uint32_t> clusters_;
};

Result<std::unique_ptr<PreparedMethod>> PrepareEvenOdd(const MethodInput& input) {
  return std::unique_ptr<PreparedMethod>(std::make_unique<EvenOdd>(input.groups.size()));
}

constexpr MethodEntry kEvenOdd = {"even-odd", "", PrepareEvenOdd};

// Returns kernels a, a, b, b, a, a, b, b with durations 10, 100, 20, 200 ...
model::Profile TwoKernels() {
  model::Profile profile;
  for (int i = 0; i < 8; ++i) {
    shm::KernelRecord record;
    record.name_id = profile.names.Intern(i / 2 % 2 == 0 ? "a" : "b");
    record.duration_ns = (i % 2 == 0 ? 10u : 100u) * (i / 2 % 2 == 0 ? 1u : 2u);
    profile.records.push_back(record);
  }
  return profile;
}

TEST_CASE("a method plan contains clusters across kernels with weights and totals") {
  const model::Profile profile = TwoKernels();
  sampling::SamplingOptions options;
  options.weights = sampling::Weights::kPlain;
  const model::Plan plan = PlanByMethod(profile, kEvenOdd, options, nullptr).value();
  CHECK(plan.totals.invocations == 8);
  CHECK(plan.totals.duration_ns == 660);
  CHECK(plan.totals.samples == 2);
  CHECK(plan.totals.sampled_duration_ns == 110);
  CHECK(plan.totals.plain_estimate_ns == 440.0);
  CHECK(plan.totals.calibrated_estimate_ns == 660.0);
  CHECK(plan.totals.observed_error == doctest::Approx(220.0 / 660.0));
  CHECK(plan.totals.uncovered_fraction == 0.0);
  CHECK(std::isnan(plan.totals.bound));
  REQUIRE(plan.kernels.size() == 2);
  REQUIRE(plan.kernels[0].clusters.size() == 2);
  CHECK(plan.kernels[0].clusters[0].samples.front().weight == 4.0);
  CHECK(plan.kernels[1].clusters[0].samples.empty());
  CHECK(plan.kernels[1].clusters[1].mean_ns == 200.0);
  options.weights = sampling::Weights::kCalibrated;
  const model::Plan calibrated = PlanByMethod(profile, kEvenOdd, options, nullptr).value();
  // Even launches take 60 in total and are estimated as 40.
  CHECK(calibrated.kernels[0].clusters[0].samples.front().weight == doctest::Approx(6.0));
}

TEST_CASE("a profile with only durations allows some methods, and others report missing inputs") {
  const model::Profile profile = TwoKernels();
  for (const MethodEntry& method : Methods()) {
    CAPTURE(std::string(method.name));
    const Result<model::Plan> plan =
        PlanByMethod(profile, method, sampling::SamplingOptions{}, nullptr);
    if (!plan.ok()) {
      CHECK(plan.error().message.find(std::string(method.name) + " needs") == 0);
      continue;
    }
    CHECK(plan.value().totals.invocations == 8);
    CHECK(plan.value().totals.duration_ns == 660);
  }
}

TEST_CASE("a method plan is an error if all launches are excluded") {
  sampling::SamplingOptions options;
  options.exclude = ".*";
  const Result<model::Plan> plan = PlanByMethod(TwoKernels(), kEvenOdd, options, nullptr);
  REQUIRE(!plan.ok());
  CHECK(plan.error().message ==
        "contains no kernel launch that is not excluded; expected at least one");
}

}  // namespace
}  // namespace stemtap::research
