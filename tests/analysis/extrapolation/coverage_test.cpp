// SPDX-License-Identifier: Apache-2.0
// Measures how often the intervals cover the truth, for plans of the real planner over generated
// runs whose metrics are known for every launch. docs/math/extrapolate.md lists the figures. To
// print them again:
//   extrapolation_test --no-skip --test-case='*figures*'
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/extrapolation/estimate.h"
#include "base/rng.h"
#include "model/profile.h"
#include "research/workloads/workload.h"
#include "sampling/two_pass.h"
#include "support/random_draws.h"

namespace stemtap::analysis {
namespace {

using test::Normal;

struct Metric {
  const char* name;
  // Returns the value of a launch of `kernel` that took d ns.
  double (*value)(Rng& rng, std::uint32_t kernel, double d);
};

const Metric kMetrics[] = {
    {"correlated",
     [](Rng& rng, std::uint32_t, double d) { return 1.7 * d * (1.0 + 0.05 * Normal(rng)); }},
    {"uncorrelated",
     [](Rng& rng, std::uint32_t k, double) { return (1.0 + k) * (0.5 + rng.Uniform()); }},
    {"heteroscedastic",
     [](Rng& rng, std::uint32_t k, double d) {
       return d * (1.0 + (k % 2 == 0 ? 0.02 : 0.4) * (rng.Uniform() - 0.5) * std::log(d));
     }},
    {"skewed", [](Rng& rng, std::uint32_t, double d) { return d * std::exp(Normal(rng)); }},
    {"mildly skewed",
     [](Rng& rng, std::uint32_t, double d) { return d * std::exp(0.5 * Normal(rng)); }},
    {"power 1.5", [](Rng&, std::uint32_t, double d) { return d * std::sqrt(d); }},
    {"inverse", [](Rng&, std::uint32_t, double d) { return 1e6 / (1.0 + d); }},
    {"one in ten",
     [](Rng& rng, std::uint32_t, double d) { return d * (rng.Below(10) == 0 ? 20.0 : 1.0); }},
};

const Metric& MetricOf(std::string_view name) {
  const auto* metric = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                    [&](const Metric& m) { return name == m.name; });
  REQUIRE(metric != std::end(kMetrics));
  return *metric;
}

struct Coverage {
  double covered[2] = {};   // share of seeds, plain and calibrated
  double width[2] = {};     // mean of half the interval / (1.96 standard deviations of the error)
  double bias[2] = {};      // mean error / its standard deviation
  double spread[2] = {};    // standard deviation of the error / the truth
  double relative[2] = {};  // mean of half the interval / the truth
};

struct Design {
  model::Plan plan;
  std::vector<std::vector<std::size_t>> members;  // launches, by cluster
  model::Profile profile;
};

Design MakeDesign(const std::string& workload, std::uint64_t launches, double error_bound,
                  std::uint64_t min_samples) {
  research::WorkloadOptions options;
  options.launches = launches;
  Result<std::unique_ptr<model::ProfileReader>> reader = research::MakeWorkload(workload, options);
  REQUIRE(reader.ok());
  Result<model::Profile> profile = model::LoadProfile(*reader.value());
  REQUIRE(profile.ok());
  Design design;
  design.profile = std::move(profile).value();
  sampling::SamplingOptions sampling;
  sampling.error_bound = error_bound;
  sampling.method = sampling::Method::kOptimal;
  sampling.min_samples = min_samples;
  Result<sampling::TwoPassPlan> planned = sampling::PlanTwoPass(
      [&]() -> Result<std::unique_ptr<model::ProfileReader>> {
        return model::ReadProfile(design.profile);
      },
      "made", sampling);
  REQUIRE(planned.ok());
  design.plan = std::move(planned).value().plan;
  std::vector<std::vector<std::size_t>> of_kernel(design.profile.names.size());
  for (std::size_t i = 0; i < design.profile.records.size(); ++i) {
    of_kernel[design.profile.records[i].name_id].push_back(i);
  }
  for (const model::PlanKernel& kernel : design.plan.kernels) {
    const std::uint32_t name =
        design.profile.records[kernel.clusters.front().samples.front().index].name_id;
    for (const model::PlanCluster& cluster : kernel.clusters) {
      std::vector<std::size_t>& members = design.members.emplace_back();
      for (const std::size_t i : of_kernel[name]) {
        const std::uint64_t d = design.profile.records[i].duration_ns;
        if (d >= cluster.lower_ns && d <= cluster.upper_ns) members.push_back(i);
      }
      REQUIRE(members.size() == cluster.count);
    }
  }
  return design;
}

// Keeps the strata and sizes and redraws the samples for every seed as the planner does: every
// subset of a cluster has the same probability. With a denominator, the ratio of the two totals is
// estimated.
Coverage Measure(const Design& design, const Metric& metric, std::uint64_t seeds,
                 double prior_degrees, const Metric* denominator = nullptr) {
  Rng rng(4711);
  const auto values_of = [&](const Metric& of) {
    std::vector<double> values;
    for (const shm::KernelRecord& record : design.profile.records) {
      values.push_back(of.value(rng, record.name_id, static_cast<double>(record.duration_ns)));
    }
    return values;
  };
  const std::vector<double> values = values_of(metric);
  std::vector<double> below;
  double truth = std::accumulate(values.begin(), values.end(), 0.0);
  if (denominator != nullptr) {
    below = values_of(*denominator);
    truth /= std::accumulate(below.begin(), below.end(), 0.0);
  }
  std::vector<ObservedCluster> clusters;
  std::vector<std::size_t> sizes;
  for (std::size_t k = 0; k < design.plan.kernels.size(); ++k) {
    for (const model::PlanCluster& cluster : design.plan.kernels[k].clusters) {
      clusters.push_back(
          {k, static_cast<double>(cluster.count), cluster.mean_ns, cluster.stddev_ns, {}});
      sizes.push_back(cluster.samples.size());
    }
  }
  Coverage coverage;
  double sum[2] = {};
  double squares[2] = {};
  std::vector<ObservedCluster> denominators = clusters;
  std::vector<std::vector<std::size_t>> members = design.members;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    for (std::size_t h = 0; h < clusters.size(); ++h) {
      clusters[h].seen.clear();
      denominators[h].seen.clear();
      for (std::size_t i = 0; i < sizes[h]; ++i) {
        std::swap(members[h][i], members[h][i + rng.Below(members[h].size() - i)]);
        const std::size_t launch = members[h][i];
        const auto duration = static_cast<double>(design.profile.records[launch].duration_ns);
        clusters[h].seen.push_back({duration, values[launch]});
        if (!below.empty()) denominators[h].seen.push_back({duration, below[launch]});
      }
    }
    for (const sampling::Weights weights :
         {sampling::Weights::kPlain, sampling::Weights::kCalibrated}) {
      const int w = weights == sampling::Weights::kCalibrated;
      const Estimate estimate =
          below.empty() ? EstimateTotal(clusters, weights, 0.95, prior_degrees)
                        : EstimateRatio(clusters, denominators, weights, 0.95, prior_degrees);
      const double error = estimate.value - truth;
      // Rounding in a sum of 1e5 terms is not an error.
      const double rounding = 1e-9 * std::abs(truth);
      coverage.covered[w] +=
          estimate.lower <= truth + rounding && estimate.upper >= truth - rounding;
      coverage.width[w] += (estimate.upper - estimate.lower) / 2.0;
      sum[w] += error;
      squares[w] += error * error;
    }
  }
  const auto n = static_cast<double>(seeds);
  for (int w = 0; w < 2; ++w) {
    coverage.covered[w] /= n;
    const double mean = sum[w] / n;
    const double sd = std::sqrt(std::max(0.0, squares[w] / n - mean * mean));
    coverage.relative[w] = coverage.width[w] / n / std::abs(truth);
    coverage.width[w] = sd > 0.0 ? coverage.width[w] / n / (1.96 * sd) : 0.0;
    coverage.bias[w] = sd > 0.0 ? mean / sd : 0.0;
    coverage.spread[w] = sd / std::abs(truth);
  }
  return coverage;
}

// Ratios of two totals, by metric name.
const char* const kRatios[][2] = {{"correlated", "mildly skewed"}, {"mildly skewed", "correlated"},
                                  {"skewed", "correlated"},        {"skewed", "skewed"},
                                  {"uncorrelated", "correlated"},  {"power 1.5", "correlated"}};

void Print(const std::string& name, double prior, const Coverage& c) {
  fmt::print(
      "  {:26} prior {:<3g} plain {:.3f} w {:.2f} b {:+.2f} sd {:.4f} rel {:.3f}   calibrated "
      "{:.3f} "
      "w {:.2f} b {:+.2f} sd {:.4f} rel {:.3f}\n",
      name, prior, c.covered[0], c.width[0], c.bias[0], c.spread[0], c.relative[0], c.covered[1],
      c.width[1], c.bias[1], c.spread[1], c.relative[1]);
}

TEST_CASE("figures: coverage by workload, metric and prior" * doctest::skip()) {
  for (const std::uint64_t min_samples : {2u, 1u, 4u}) {
    for (const char* workload : {"llm-decode", "training", "phases", "outliers", "llm-serve"}) {
      const Design design = MakeDesign(workload, 100'000, 0.05, min_samples);
      fmt::print("{} floor {}: {} clusters {} samples\n", workload, min_samples,
                 design.plan.totals.clusters, design.plan.totals.samples);
      for (const Metric& metric : kMetrics) {
        for (const double prior : {0.0, 1.0, 4.0}) {
          Print(metric.name, prior, Measure(design, metric, 1000, prior));
        }
      }
      for (const auto& [top, bottom] : kRatios) {
        Print(fmt::format("{} / {}", top, bottom), kPriorDegrees,
              Measure(design, MetricOf(top), 1000, kPriorDegrees, &MetricOf(bottom)));
      }
    }
  }
}

struct Bound {
  const char* metric;
  const char* denominator;  // of a ratio; null: a total
  double floor;             // minimum share of 1,000 seeds
  double widest;            // mean of half the interval / (1.96 standard deviations)
};

void CheckBounds(const Design& design, std::span<const Bound> bounds) {
  for (const Bound& bound : bounds) {
    const Metric* denominator =
        bound.denominator == nullptr ? nullptr : &MetricOf(bound.denominator);
    const Coverage coverage =
        Measure(design, MetricOf(bound.metric), 1000, kPriorDegrees, denominator);
    for (int w = 0; w < 2; ++w) {
      CAPTURE(std::string(bound.metric));
      CAPTURE(denominator != nullptr);
      CAPTURE(w);
      CHECK(coverage.covered[w] >= bound.floor);
      CHECK(coverage.width[w] >= 0.8);
      CHECK(coverage.width[w] <= bound.widest);
    }
  }
}

// docs/math/extrapolate.md lists the metrics below the stated 95 %.
TEST_CASE("intervals have the stated coverage and a reasonable width with two samples") {
  const Bound bounds[] = {{"correlated", nullptr, 0.935, 1.25},
                          {"uncorrelated", nullptr, 0.945, 1.4},
                          {"heteroscedastic", nullptr, 0.945, 1.75},
                          {"mildly skewed", nullptr, 0.94, 1.45},
                          {"skewed", nullptr, 0.94, 1.7},
                          {"power 1.5", nullptr, 0.94, 2.2},
                          {"inverse", nullptr, 0.94, 3.2},
                          {"one in ten", nullptr, 0.77, 2.2},
                          {"mildly skewed", "correlated", 0.93, 1.4},
                          {"skewed", "skewed", 0.935, 1.75},
                          {"skewed", "correlated", 0.93, 1.6}};
  for (const char* workload : {"llm-decode", "training", "phases", "llm-serve"}) {
    CAPTURE(std::string(workload));
    CheckBounds(MakeDesign(workload, 50'000, 0.05, 2), bounds);
  }
}

// The floor of the first four metrics is required, see docs/math/extrapolate.md.
TEST_CASE("intervals have the stated coverage and a limited width with one sample") {
  const Bound bounds[] = {
      {"correlated", nullptr, 0.93, 1.9},      {"uncorrelated", nullptr, 0.93, 2.6},
      {"heteroscedastic", nullptr, 0.93, 3.6}, {"skewed", nullptr, 0.93, 1.9},
      {"mildly skewed", nullptr, 0.93, 2.1},   {"power 1.5", nullptr, 0.93, 7.0},
      {"inverse", nullptr, 0.93, 11.0},        {"mildly skewed", "correlated", 0.93, 2.1},
      {"skewed", "skewed", 0.93, 2.2},         {"uncorrelated", "correlated", 0.93, 2.8}};
  for (const char* workload : {"llm-decode", "training", "phases", "outliers", "llm-serve"}) {
    for (const double error_bound : {0.05, 0.02}) {
      CAPTURE(std::string(workload));
      CAPTURE(error_bound);
      CheckBounds(MakeDesign(workload, 100'000, error_bound, 1), bounds);
    }
  }
}

}  // namespace
}  // namespace stemtap::analysis
