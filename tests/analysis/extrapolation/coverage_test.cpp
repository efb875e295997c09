// SPDX-License-Identifier: Apache-2.0
// Measures how often the intervals cover the truth. The plans come from the real planner, and the
// runs are generated, so the metrics of every launch are known. docs/math/extrapolate.md lists the
// figures. To print them again:
//   extrapolation_test --no-skip --test-case='*figures*'
// With STEMTAP_POOL_SMALL=0.1, the plans of recorded runs have a pool.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/extrapolation/estimate.h"
#include "analysis/extrapolation/observed.h"
#include "base/rng.h"
#include "formats/importers/registry.h"
#include "model/profile.h"
#include "research/workloads/workload.h"
#include "sampling/two_pass.h"
#include "support/random_draws.h"
#include "support/shared_data.h"

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
    {"factor", [](Rng& rng, std::uint32_t k,
                  double d) { return (1.0 + k % 7) * d * (1.0 + 0.06 * Normal(rng)); }},
    {"constant", [](Rng&, std::uint32_t k, double) { return 1000.0 * (1.0 + k % 7); }},
    {"unlike",
     [](Rng& rng, std::uint32_t k, double d) {
       return k % 2 == 0 ? d * (1.0 + 0.06 * Normal(rng)) : 1e4 * (0.5 + rng.Uniform());
     }},
};

// As the denominator of a ratio, it makes the ratio a mean over time.
const Metric kTime = {"time", [](Rng&, std::uint32_t, double d) { return d; }};

const Metric& MetricOf(std::string_view name) {
  if (name == kTime.name) return kTime;
  const auto* metric = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                    [&](const Metric& m) { return name == m.name; });
  REQUIRE(metric != std::end(kMetrics));
  return *metric;
}

struct Coverage {
  double covered[2] = {};   // share of seeds, plain and calibrated
  double width[2] = {};     // mean half-width / (1.96 standard deviations of the error)
  double bias[2] = {};      // mean error / its standard deviation
  double spread[2] = {};    // standard deviation of the error / the truth
  double relative[2] = {};  // mean half-width / the truth
};

struct Design {
  model::Plan plan;
  std::vector<std::vector<std::size_t>> members;  // launches, by cluster
  model::Profile profile;
};

// Returns the launches of `kernel` in launch order; of_kernel[i] is the launches of name i.
std::vector<std::size_t> LaunchesOf(const model::PlanKernel& kernel, const model::NameTable& names,
                                    const std::vector<std::vector<std::size_t>>& of_kernel) {
  std::set<std::string> own = {kernel.name};
  if (!kernel.pooled.empty()) own.clear();
  for (const model::PooledKernel& pooled : kernel.pooled) own.insert(pooled.name);
  std::vector<std::size_t> launches;
  for (std::size_t id = 0; id < of_kernel.size(); ++id) {
    if (!own.contains(names.name(static_cast<std::uint32_t>(id)))) continue;
    launches.insert(launches.end(), of_kernel[id].begin(), of_kernel[id].end());
  }
  std::sort(launches.begin(), launches.end());
  return launches;
}

Design MakeDesign(Result<std::unique_ptr<model::ProfileReader>> reader, double error_bound,
                  std::uint64_t min_samples, double pool_small = 0.0) {
  REQUIRE(reader.ok());
  Result<model::Profile> profile = model::LoadProfile(*reader.value());
  REQUIRE(profile.ok());
  Design design;
  design.profile = std::move(profile).value();
  sampling::SamplingOptions sampling;
  sampling.error_bound = error_bound;
  sampling.min_samples = min_samples;
  sampling.pool_small = pool_small;
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
    const std::vector<std::size_t> launches = LaunchesOf(kernel, design.profile.names, of_kernel);
    for (const model::PlanCluster& cluster : kernel.clusters) {
      std::vector<std::size_t>& members = design.members.emplace_back();
      for (const std::size_t i : launches) {
        const std::uint64_t d = design.profile.records[i].duration_ns;
        if (d >= cluster.lower_ns && d <= cluster.upper_ns) members.push_back(i);
      }
      REQUIRE(members.size() == cluster.count);
    }
  }
  return design;
}

Design MakeDesign(const std::string& workload, std::uint64_t launches, double error_bound,
                  std::uint64_t min_samples, std::uint64_t seed = 1) {
  research::WorkloadOptions options;
  options.launches = launches;
  options.seed = seed;
  return MakeDesign(research::MakeWorkload(workload, options), error_bound, min_samples);
}

// Draws redraws the samples of a design as the planner does: every subset of a cluster has the same
// probability. Strata and sample sizes are fixed.
class Draws {
 public:
  Draws(const Design& design, Rng& rng) : design_(design), rng_(rng), members_(design.members) {
    for (std::size_t k = 0; k < design.plan.kernels.size(); ++k) {
      for (const model::PlanCluster& cluster : design.plan.kernels[k].clusters) {
        ObservedCluster& observed = clusters_.emplace_back();
        observed.kernel = k;
        observed.pooled = !design.plan.kernels[k].pooled.empty();
        observed.count = static_cast<double>(cluster.count);
        observed.mean_ns = cluster.mean_ns;
        observed.stddev_ns = cluster.stddev_ns;
        launches_.emplace_back(cluster.samples.size());
      }
    }
  }

  void Draw() {
    for (std::size_t h = 0; h < clusters_.size(); ++h) {
      std::vector<std::size_t>& members = members_[h];
      for (std::size_t i = 0; i < launches_[h].size(); ++i) {
        std::swap(members[i], members[i + rng_.Below(members.size() - i)]);
        launches_[h][i] = members[i];
      }
    }
  }

  // Returns the clusters with the values of the drawn launches.
  const std::vector<ObservedCluster>& Observe(const std::vector<double>& values) {
    for (std::size_t h = 0; h < clusters_.size(); ++h) {
      clusters_[h].seen.clear();
      for (const std::size_t launch : launches_[h]) {
        const auto duration = static_cast<double>(design_.profile.records[launch].duration_ns);
        clusters_[h].seen.push_back({duration, values[launch]});
      }
    }
    return clusters_;
  }

  const std::vector<std::vector<std::size_t>>& launches() const { return launches_; }

 private:
  const Design& design_;
  Rng& rng_;
  std::vector<std::vector<std::size_t>> members_;
  std::vector<ObservedCluster> clusters_;
  std::vector<std::vector<std::size_t>> launches_;  // drawn, by cluster
};

std::vector<double> ValuesOf(const Design& design, const Metric& metric, Rng& rng) {
  std::vector<double> values;
  for (const shm::KernelRecord& record : design.profile.records) {
    values.push_back(metric.value(rng, record.name_id, static_cast<double>(record.duration_ns)));
  }
  return values;
}

constexpr std::uint64_t kValueSeed = 4711;

// With a denominator, the ratio of the two totals is estimated. `value_seed`: of the metrics.
Coverage Measure(const Design& design, const Metric& metric, std::uint64_t seeds,
                 double prior_degrees, const Metric* denominator = nullptr,
                 std::uint64_t value_seed = kValueSeed) {
  Rng rng(value_seed);
  const std::vector<double> values = ValuesOf(design, metric, rng);
  std::vector<double> below;
  double truth = std::accumulate(values.begin(), values.end(), 0.0);
  if (denominator != nullptr) {
    below = ValuesOf(design, *denominator, rng);
    truth /= std::accumulate(below.begin(), below.end(), 0.0);
  }
  Draws draws(design, rng);
  Coverage coverage;
  double sum[2] = {};
  double squares[2] = {};
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    draws.Draw();
    const std::vector<ObservedCluster> clusters = draws.Observe(values);
    std::vector<ObservedCluster> denominators;
    if (!below.empty()) denominators = draws.Observe(below);
    const Calibration calibrated =
        denominator == &kTime ? Calibration::kByDuration : Calibration::kFitted;
    for (const Calibration weights : {Calibration::kPlain, calibrated}) {
      const int w = weights == calibrated;
      const Estimate estimate =
          below.empty()
              ? EstimateTotal(clusters, weights, 0.95, prior_degrees)
              : EstimateRatio(clusters, denominators, {weights, weights}, 0.95, prior_degrees);
      const double error = estimate.value - truth;
      // The rounding error of a sum of 1e5 terms is ignored.
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
const char* const kRatios[][2] = {{"correlated", "mildly skewed"},
                                  {"mildly skewed", "correlated"},
                                  {"skewed", "correlated"},
                                  {"skewed", "skewed"},
                                  {"uncorrelated", "correlated"},
                                  {"power 1.5", "correlated"},
                                  {"correlated", "time"},
                                  {"mildly skewed", "time"},
                                  {"skewed", "time"},
                                  {"uncorrelated", "time"},
                                  {"heteroscedastic", "time"}};

void Print(const std::string& name, double prior, const Coverage& c) {
  fmt::print(
      "  {:26} prior {:<3g} plain {:.3f} w {:.2f} b {:+.2f} sd {:.4f} rel {:.3f}   "
      "calibrated {:.3f} w {:.2f} b {:+.2f} sd {:.4f} rel {:.3f}\n",
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
  double floor;             // minimum share of the draws
  double widest;            // mean half-width / (1.96 standard deviations)
};

// Seeds of the workloads, and of the values of metrics for each. The coverage of one workload with
// one set of values differs from the mean by several points.
constexpr std::uint64_t kWorkloadSeeds[] = {1, 2, 3, 4};
constexpr std::uint64_t kValueSeeds[] = {kValueSeed, 1};

std::size_t CountInside(const std::vector<ObservedCluster>& clusters) {
  std::size_t count = 0;
  for (const ObservedCluster& cluster : clusters) {
    for (const ObservedSample& sample : cluster.seen) count += sample.in_domain;
  }
  return count;
}

// DomainCoverage is the coverage of domain totals.
struct DomainCoverage {
  double covered[2] = {};   // share of seeds, mean over domains; plain and calibrated
  double relative[2] = {};  // median over domains of the mean half-width / truth
  double unseen = 0.0;      // share of ranges without a sample; these are not estimated
};

// Domains are the kernels of a design, or ranges, if the range of each launch is given.
struct Domains {
  const Design& design;
  std::vector<std::size_t> range_of;  // empty: domain k is kernel k

  std::vector<double> Totals(const std::vector<double>& values) const {
    std::vector<double> totals;
    std::size_t h = 0;
    for (std::size_t k = 0; k < design.plan.kernels.size(); ++k) {
      for (std::size_t c = 0; c < design.plan.kernels[k].clusters.size(); ++c, ++h) {
        for (const std::size_t launch : design.members[h]) {
          const std::size_t domain = range_of.empty() ? k : range_of[launch];
          if (totals.size() <= domain) totals.resize(domain + 1);
          totals[domain] += values[launch];
        }
      }
    }
    return totals;
  }

  // `launches`: the drawn launches, by cluster.
  void Restrict(std::size_t domain, const std::vector<std::vector<std::size_t>>& launches,
                std::vector<ObservedCluster>& clusters) const {
    if (range_of.empty()) return SelectKernel(clusters, domain);
    for (std::size_t i = 0; i < clusters.size(); ++i) {
      for (std::size_t s = 0; s < clusters[i].seen.size(); ++s) {
        clusters[i].seen[s].in_domain = range_of[launches[i][s]] == domain;
      }
    }
    EstimateShares(clusters);
  }
};

// Skips ranges without a sample, because they are not estimated.
DomainCoverage MeasureDomains(const Domains& domains, const Metric& metric, std::uint64_t seeds) {
  Rng rng(4711);
  const std::vector<double> values = ValuesOf(domains.design, metric, rng);
  const std::vector<double> truths = domains.Totals(values);
  Draws draws(domains.design, rng);
  DomainCoverage coverage;
  std::vector<double> widths[2] = {std::vector<double>(truths.size()),
                                   std::vector<double>(truths.size())};
  double estimated = 0.0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    draws.Draw();
    const std::vector<ObservedCluster> drawn = draws.Observe(values);
    for (std::size_t domain = 0; domain < truths.size(); ++domain) {
      std::vector<ObservedCluster> clusters = drawn;
      domains.Restrict(domain, draws.launches(), clusters);
      if (CountInside(clusters) == 0) continue;
      estimated += 1.0;
      const double truth = truths[domain];
      const double rounding = 1e-9 * std::abs(truth);
      for (int w = 0; w < 2; ++w) {
        const Estimate estimate =
            EstimateTotal(clusters, w == 0 ? Calibration::kPlain : Calibration::kFitted, 0.95);
        coverage.covered[w] +=
            estimate.lower <= truth + rounding && estimate.upper >= truth - rounding;
        widths[w][domain] +=
            (estimate.upper - estimate.lower) / 2.0 / std::abs(truth) / static_cast<double>(seeds);
      }
    }
  }
  for (int w = 0; w < 2; ++w) {
    coverage.covered[w] /= estimated;
    const auto middle = widths[w].begin() + static_cast<std::ptrdiff_t>(truths.size() / 2);
    std::nth_element(widths[w].begin(), middle, widths[w].end());
    coverage.relative[w] = *middle;
  }
  return coverage;
}

// Assigns launches to three ranges. A third of the kernels runs in range 0 only. The others run in
// ranges 0 and 1, or in all three, at random.
std::vector<std::size_t> MakeRanges(const Design& design) {
  Rng rng(12);
  std::vector<std::size_t> ranges;
  for (const shm::KernelRecord& record : design.profile.records) {
    ranges.push_back(rng.Below(record.name_id % 3 + 1));
  }
  return ranges;
}

struct Planned {
  const char* workload;
  std::uint64_t launches;
  double error_bound;
  std::uint64_t min_samples;
};

std::vector<Design> MakeDesigns(const Planned& planned) {
  std::vector<Design> designs;
  for (const std::uint64_t seed : kWorkloadSeeds) {
    designs.push_back(MakeDesign(planned.workload, planned.launches, planned.error_bound,
                                 planned.min_samples, seed));
  }
  return designs;
}

// Returns the mean coverage and width over the designs and the seeds of the values.
Coverage MeasureAll(std::span<const Design> designs, const Bound& bound,
                    std::span<const std::uint64_t> value_seeds, std::uint64_t draws) {
  const Metric* denominator = bound.denominator == nullptr ? nullptr : &MetricOf(bound.denominator);
  const auto runs = static_cast<double>(designs.size() * value_seeds.size());
  Coverage mean;
  for (const Design& design : designs) {
    for (const std::uint64_t seed : value_seeds) {
      const Coverage one =
          Measure(design, MetricOf(bound.metric), draws, kPriorDegrees, denominator, seed);
      for (int w = 0; w < 2; ++w) {
        mean.covered[w] += one.covered[w] / runs;
        mean.width[w] += one.width[w] / runs;
        mean.relative[w] += one.relative[w] / runs;
        mean.bias[w] += one.bias[w] / runs;
        mean.spread[w] += one.spread[w] / runs;
      }
    }
  }
  return mean;
}

// Seeds of the values of metrics on recorded runs, with 50 draws each.
constexpr std::uint64_t kRecordedValueSeeds[] = {kValueSeed, 1, 2, 3, 4, 5, 6, 7};

TEST_CASE("figures: coverage on recorded runs" * doctest::skip()) {
  const char* const pool = std::getenv("STEMTAP_POOL_SMALL");
  const double pool_small = pool == nullptr ? 0.0 : std::strtod(pool, nullptr);
  const auto directory = SharedPath("data/profiles");
  STEMTAP_SKIP_WITHOUT(directory);
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    const Design design = MakeDesign(formats::OpenProfile(path), 0.05, 1, pool_small);
    fmt::print("{}: {} clusters {} samples {} ns sampled\n", path, design.plan.totals.clusters,
               design.plan.totals.samples, design.plan.totals.sampled_duration_ns);
    // The value of "time" is the duration, so its error is the error of the estimated time.
    Print("time", kPriorDegrees, Measure(design, kTime, 2000, kPriorDegrees));
    for (const char* metric : {"correlated", "factor", "constant", "uncorrelated", "unlike"}) {
      Print(metric, kPriorDegrees,
            MeasureAll({&design, 1}, {metric, nullptr, 0.0, 0.0}, kRecordedValueSeeds, 50));
    }
  }
}

TEST_CASE("figures: coverage on generated runs" * doctest::skip()) {
  for (const char* workload :
       {"llm-decode", "llm-serve", "training", "phases", "outliers", "warmup", "rare-kernels"}) {
    const std::vector<Design> designs = MakeDesigns({workload, 100'000, 0.05, 1});
    fmt::print("{}: {} samples in the first\n", workload, designs[0].plan.totals.samples);
    for (const char* metric : {"correlated", "factor", "constant", "uncorrelated", "unlike"}) {
      Print(metric, kPriorDegrees,
            MeasureAll(designs, {metric, nullptr, 0.0, 0.0}, kRecordedValueSeeds, 25));
    }
  }
}

// Prints, for kernels by number of samples, how many intervals of a kernel's total contain it, and
// how many kernels have no interval.
void PrintKernels(const std::string& name, const Design& design) {
  constexpr std::size_t kMost = 5;  // samples; kernels with more are counted here
  constexpr std::uint64_t kTries = 20;
  for (const char* metric : {"correlated", "factor", "constant", "uncorrelated", "unlike"}) {
    std::array<std::uint64_t, kMost + 1> covered{};
    std::array<std::uint64_t, kMost + 1> without{};
    std::array<std::uint64_t, kMost + 1> all{};
    Rng rng(kValueSeed);
    const std::vector<double> values = ValuesOf(design, MetricOf(metric), rng);
    const Domains domains{design, {}};
    const std::vector<double> truths = domains.Totals(values);
    Draws draws(design, rng);
    for (std::uint64_t seed = 0; seed < kTries; ++seed) {
      draws.Draw();
      const std::vector<ObservedCluster> drawn = draws.Observe(values);
      for (std::size_t kernel = 0; kernel < truths.size(); ++kernel) {
        std::vector<ObservedCluster> clusters = drawn;
        domains.Restrict(kernel, draws.launches(), clusters);
        const std::size_t samples = std::min(kMost, CountInside(clusters));
        const Estimate estimate = EstimateTotal(clusters, Calibration::kFitted, 0.95);
        const double rounding = 1e-9 * std::abs(truths[kernel]);
        ++all[samples];
        without[samples] += std::isnan(estimate.lower);
        covered[samples] += estimate.lower <= truths[kernel] + rounding &&
                            estimate.upper >= truths[kernel] - rounding;
      }
    }
    fmt::print("{} {}", name, metric);
    for (std::size_t n = 1; n <= kMost; ++n)
      fmt::print("  {}/{}/{}", covered[n], without[n], all[n]);
    fmt::print("\n");
  }
  std::fflush(stdout);
}

TEST_CASE("figures: coverage of kernels by number of samples" * doctest::skip()) {
  for (const char* workload : {"llm-decode", "llm-serve", "training", "phases", "outliers"}) {
    for (const std::uint64_t min_samples : {1u, 2u, 3u, 4u}) {
      PrintKernels(fmt::format("{} {}", workload, min_samples),
                   MakeDesign(workload, 100'000, 0.05, min_samples));
    }
  }
  const auto directory = SharedPath("data/profiles");
  STEMTAP_SKIP_WITHOUT(directory);
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    PrintKernels(entry.path().stem().string(),
                 MakeDesign(formats::OpenProfile(entry.path().string()), 0.05, 1));
  }
}

TEST_CASE("figures: coverage of kernels and ranges" * doctest::skip()) {
  for (const std::uint64_t min_samples : {1u, 2u}) {
    for (const char* workload : {"llm-decode", "training", "phases", "outliers", "llm-serve"}) {
      const Design design = MakeDesign(workload, 100'000, 0.05, min_samples);
      const std::vector<std::size_t> ranges = MakeRanges(design);
      for (const Metric& metric : kMetrics) {
        for (const bool by_range : {false, true}) {
          const DomainCoverage c =
              MeasureDomains({design, by_range ? ranges : std::vector<std::size_t>()}, metric, 300);
          fmt::print(
              "{} floor {} {:7} {:16} plain {:.3f} rel {:.3f} calibrated {:.3f} rel {:.3f}\n",
              workload, min_samples, by_range ? "ranges" : "kernels", metric.name, c.covered[0],
              c.relative[0], c.covered[1], c.relative[1]);
        }
      }
    }
  }
}

constexpr std::uint64_t kDraws = 250;  // for each workload and set of values

TEST_CASE("figures: mean coverage over seeds" * doctest::skip()) {
  for (const std::uint64_t min_samples : {2u, 1u}) {
    for (const char* workload : {"llm-decode", "training", "phases", "llm-serve", "outliers"}) {
      const std::uint64_t launches = min_samples == 2 ? 50'000 : 100'000;
      const std::vector<Design> designs = MakeDesigns({workload, launches, 0.05, min_samples});
      fmt::print("{} floor {}\n", workload, min_samples);
      for (const Metric& metric : kMetrics) {
        Print(metric.name, kPriorDegrees,
              MeasureAll(designs, {metric.name, nullptr, 0.0, 0.0}, kValueSeeds, kDraws));
      }
    }
  }
}

void CheckBounds(const Planned& planned, std::span<const Bound> bounds) {
  CAPTURE(std::string(planned.workload));
  const std::vector<Design> designs = MakeDesigns(planned);
  for (const Bound& bound : bounds) {
    const Coverage coverage = MeasureAll(designs, bound, kValueSeeds, kDraws);
    for (int w = 0; w < 2; ++w) {
      CAPTURE(std::string(bound.metric));
      CAPTURE(bound.denominator != nullptr);
      CAPTURE(w);
      CHECK(coverage.covered[w] >= bound.floor);
      CHECK(coverage.width[w] >= 0.8);
      CHECK(coverage.width[w] <= bound.widest);
    }
  }
}

// Every floor is checked for the mean over the seeds. docs/math/extrapolate.md, "Checked floors",
// lists the measured values.
TEST_CASE("intervals have the stated coverage and a reasonable width with two samples") {
  for (const char* workload : {"llm-decode", "training", "phases", "llm-serve"}) {
    // In `phases`, a few pairs show the spread of the kernels that dominate the error.
    const double heteroscedastic = std::string_view(workload) == "phases" ? 0.925 : 0.945;
    const Bound bounds[] = {{"correlated", nullptr, 0.935, 1.3},
                            {"uncorrelated", nullptr, 0.945, 1.45},
                            {"heteroscedastic", nullptr, heteroscedastic, 1.9},
                            {"mildly skewed", nullptr, 0.94, 1.45},
                            {"skewed", nullptr, 0.94, 1.7},
                            {"power 1.5", nullptr, 0.94, 2.2},
                            {"inverse", nullptr, 0.94, 3.2},
                            {"one in ten", nullptr, 0.77, 2.2},
                            {"mildly skewed", "correlated", 0.93, 1.45},
                            {"skewed", "skewed", 0.935, 1.75},
                            {"skewed", "correlated", 0.93, 1.6}};
    CheckBounds({workload, 50'000, 0.05, 2}, bounds);
  }
}

// Only one kernel has two clusters, so its two samples alone show the spread of values. An interval
// from one degree of freedom has no mean width.
TEST_CASE("two samples that agree by chance do not make an interval narrow") {
  constexpr double kAnyWidth = std::numeric_limits<double>::infinity();
  const Bound bounds[] = {{"correlated", nullptr, 0.93, kAnyWidth},
                          {"factor", nullptr, 0.93, kAnyWidth},
                          {"mildly skewed", nullptr, 0.93, kAnyWidth},
                          {"unlike", nullptr, 0.85, kAnyWidth}};
  CheckBounds({"warmup", 20'000, 0.05, 1}, bounds);
}

// The floor of the first four metrics is a requirement; see docs/math/extrapolate.md.
TEST_CASE("intervals have the stated coverage and a limited width with one sample") {
  const Bound bounds[] = {
      {"correlated", nullptr, 0.93, 1.9},      {"uncorrelated", nullptr, 0.93, 2.6},
      {"heteroscedastic", nullptr, 0.93, 3.6}, {"skewed", nullptr, 0.93, 1.9},
      {"mildly skewed", nullptr, 0.93, 2.1},   {"power 1.5", nullptr, 0.93, 7.0},
      {"inverse", nullptr, 0.93, 11.0},        {"mildly skewed", "correlated", 0.93, 2.1},
      {"skewed", "skewed", 0.93, 2.2},         {"uncorrelated", "correlated", 0.93, 2.8},
      {"skewed", "time", 0.93, 1.9},           {"uncorrelated", "time", 0.93, 2.3}};
  for (const char* workload : {"llm-decode", "training", "phases", "outliers", "llm-serve"}) {
    CheckBounds({workload, 100'000, 0.05, 1}, bounds);
  }
  CheckBounds({"phases", 100'000, 0.02, 1}, bounds);
}

TEST_CASE("intervals of kernels and ranges have nearly the stated coverage") {
  struct DomainBound {
    const char* metric;
    double kernels;  // minimum share of seeds and domains
    double ranges;
  };
  const DomainBound bounds[] = {{"correlated", 0.93, 0.93},
                                {"uncorrelated", 0.92, 0.93},
                                {"heteroscedastic", 0.90, 0.93},
                                {"skewed", 0.88, 0.93}};
  for (const char* workload : {"llm-decode", "phases"}) {
    for (const std::uint64_t min_samples : {1u, 2u}) {
      const Design design = MakeDesign(workload, 50'000, 0.05, min_samples);
      for (const DomainBound& bound : bounds) {
        const Metric& metric = MetricOf(bound.metric);
        const DomainCoverage kernels = MeasureDomains({design, {}}, metric, 150);
        const DomainCoverage ranges = MeasureDomains({design, MakeRanges(design)}, metric, 150);
        for (int w = 0; w < 2; ++w) {
          CAPTURE(std::string(workload));
          CAPTURE(min_samples);
          CAPTURE(std::string(bound.metric));
          CAPTURE(w);
          CHECK(kernels.covered[w] >= bound.kernels);
          CHECK(ranges.covered[w] >= bound.ranges);
          // The number of launches in a range is also estimated, which widens the intervals.
          CHECK(ranges.relative[w] < 12.0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace stemtap::analysis
