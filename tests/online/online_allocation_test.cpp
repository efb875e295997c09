// SPDX-License-Identifier: Apache-2.0
#include "online/online_allocation.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace stemtap::online {
namespace {

const std::vector<std::uint64_t> kOnePeriod = {0};

// Returns a cluster of a single period that its contexts predict.
Cluster Predicted(std::uint64_t count, double mean, double stddev, std::uint64_t captured) {
  Cluster cluster;
  cluster.moments = {count, mean, stddev * stddev * static_cast<double>(count)};
  cluster.captured = captured;
  cluster.periods = {{cluster.moments, captured, 0.5 * static_cast<double>(captured * count)}};
  cluster.source.price_ns = mean;
  return cluster;
}

KernelFacts View(const std::vector<Cluster>& clusters, double explored_ns = 0.0) {
  return {clusters, explored_ns, kOnePeriod};
}

TEST_CASE("by default, one capture per cluster is enough") {
  const auto meets = [](const std::vector<Cluster>& clusters) {
    return MeetsBound(std::vector{View(clusters)}, {});
  };
  CHECK(meets({Predicted(1000, 100.0, 1.0, 1)}));
  CHECK_FALSE(meets({Predicted(1000, 100.0, 1.0, 0)}));
  // The z of the certificate, 2.17, is used: 2.17 x 2.4 % > 5 %, although 1.96 x 2.4 % < 5 %.
  CHECK(meets({Predicted(1000, 100.0, 2.2, 1)}));
  CHECK_FALSE(meets({Predicted(1000, 100.0, 2.4, 1)}));
  const std::vector<Cluster> clusters = {Predicted(1000, 100.0, 1.0, 0)};
  const std::vector<Decision> targets = AllocateTargets(
      std::vector{View(clusters)}, {.duration_ns = 100'000.0, .planned_ns = 100.0}, {});
  CHECK(targets.at(0).target == 1);
}

TEST_CASE("captures meet the bound if they have minimum sizes and little time is uncovered") {
  sampling::SamplingOptions options;  // 5 %
  options.min_samples = 2;
  const auto meets = [&](const std::vector<Cluster>& clusters) {
    return MeetsBound(std::vector{View(clusters)}, options);
  };
  CHECK(meets({Predicted(1000, 100.0, 1.0, 2)}));
  CHECK_FALSE(meets({Predicted(1000, 100.0, 1.0, 1)}));
  CHECK_FALSE(meets({Predicted(1000, 100.0, 30.0, 2)}));
  CHECK(meets({Predicted(1000, 100.0, 1.0, 2), Predicted(1, 1000.0, 0.0, 0)}));
  CHECK_FALSE(meets({Predicted(1000, 100.0, 1.0, 2), Predicted(1, 10'000.0, 0.0, 0)}));
  // If captures are expensive, one is enough.
  Cluster expensive = Predicted(1000, 100.0, 1.0, 1);
  expensive.source.price_ns = 201.0;
  CHECK(meets({expensive}));
}

TEST_CASE("exploratory captures cover a cluster in the stated bound but do not meet the target") {
  std::vector<Cluster> clusters = {Predicted(100, 100.0, 0.0, 0)};
  clusters[0].explored.Add(101.0);
  const std::vector<KernelFacts> views = {View(clusters, 101.0)};
  CHECK_FALSE(MeetsBound(views, {}));
  CHECK(BoundOf(views, {}) == doctest::Approx(100.0));  // the bias
}

TEST_CASE("targets include the captures so far, and clusters that cost too much are unreachable") {
  std::vector<Cluster> clusters = {Predicted(10'000, 100.0, 20.0, 7),
                                   Predicted(40, 1000.0, 0.0, 0)};
  clusters[1].source = {0, 0.01, 20'000.0};
  const std::vector<KernelFacts> views = {View(clusters)};
  sampling::SamplingOptions options;
  options.min_samples = 2;
  // 40,000 ns are uncovered, and the bound is 52,000 ns.
  const auto rare = [&](double captured_ns) {
    return AllocateTargets(views, {.duration_ns = 1'040'000.0, .planned_ns = captured_ns}, options)
        .at(1);
  };
  CHECK(rare(25'000.0).unreachable);
  CHECK_FALSE(rare(27'000.0).unreachable);
  CHECK(rare(27'000.0).target == 2);
  const AllocationState state = {.duration_ns = 1'040'000.0, .planned_ns = 27'000.0};
  CHECK(AllocateTargets(views, state, options).at(0).target >= 7);
}

// Returns a cluster with `launches` launches of `mean` ns in each period, a standard deviation of
// `stddev`, and the given captures by period.
Cluster InPeriods(std::uint64_t launches, const std::vector<double>& means, double stddev,
                  const std::vector<std::uint64_t>& captured) {
  Cluster cluster;
  for (std::size_t p = 0; p < means.size(); ++p) {
    ClusterPeriod& period = cluster.periods.emplace_back();
    period.launches = {launches, means[p], stddev * stddev * static_cast<double>(launches)};
    period.captured = captured[p];
    const double middle = (static_cast<double>(p) + 0.5) * static_cast<double>(launches);
    period.positions = middle * static_cast<double>(captured[p]);
    cluster.moments.Merge(period.launches);
    cluster.captured += captured[p];
  }
  cluster.source.price_ns = cluster.moments.mean();
  return cluster;
}

// Returns the targets of clusters with periods of 1,000 launches each, once the bound is met.
std::vector<std::uint64_t> TargetsOnceMet(std::vector<Cluster> clusters) {
  std::vector<std::uint64_t> begins;
  double duration_ns = 0.0;
  for (std::size_t p = 0; p < clusters[0].periods.size(); ++p) {
    begins.push_back(1000 * p * clusters.size());
  }
  for (Cluster& cluster : clusters) {
    duration_ns += cluster.moments.sum();
    // Positions are among the launches of all clusters.
    for (ClusterPeriod& period : cluster.periods) {
      period.positions *= static_cast<double>(clusters.size());
    }
  }
  const std::vector<KernelFacts> views = {{clusters, 0.0, begins}};
  std::vector<std::uint64_t> targets;
  for (const Decision& target : AllocateTargets(
           views, {.duration_ns = duration_ns, .planned_ns = 2000.0, .bound_met = true}, {})) {
    targets.push_back(target.target);
  }
  return targets;
}

TEST_CASE("a predicted cluster stays without captures if a fixed price exceeds its worth") {
  // 10,000 ns of 1,010,000 ns are in the small cluster, and the bound is 50,500 ns.
  std::vector<Cluster> clusters = {Predicted(10'000, 100.0, 20.0, 7),
                                   Predicted(10, 1000.0, 0.0, 0)};
  sampling::SamplingOptions options;
  options.price.fixed_ns = 1e6;
  for (Cluster& cluster : clusters) cluster.source.price_ns += 1e6;
  const auto small = [&](double planned_ns) {
    return AllocateTargets(std::vector{View(clusters)},
                           {.duration_ns = 1'010'000.0, .planned_ns = planned_ns}, options)
        .at(1);
  };
  // The small cluster is worth a fifth of the cost of the plan.
  CHECK(small(4e6).unreachable);
  CHECK_FALSE(small(6e6).unreachable);
  CHECK(small(6e6).target == 1);
  // Without a fixed price, a capture costs hardly more than any other.
  options.price.fixed_ns = 0.0;
  CHECK_FALSE(small(4e6).unreachable);
}

TEST_CASE("once the bound is met, a cluster is captured again when its captures are early") {
  // A metric that rises by 20 % would be estimated (0.5 / 2 - 0.5) x 20 % = 5 % low, more than 1.5
  // %.
  CHECK(TargetsOnceMet({InPeriods(1000, {100.0, 100.0}, 1.0, {1, 0})}).at(0) == 2);
  CHECK(TargetsOnceMet({InPeriods(1000, {100.0, 100.0}, 1.0, {1, 1})}).at(0) == 2);
  CHECK(TargetsOnceMet({InPeriods(1000, {100.0, 100.0}, 1.0, {0, 1})}).at(0) == 1);
  // One late capture makes up for an early one.
  const Cluster early = InPeriods(1000, {100.0, 100.0, 100.0}, 1.0, {1, 0, 0});
  const Cluster late = InPeriods(1000, {100.0, 100.0, 100.0}, 1.0, {0, 0, 1});
  using Targets = std::vector<std::uint64_t>;
  CHECK(TargetsOnceMet({early, late}) == Targets{1, 1});
  CHECK(TargetsOnceMet({early, early}) == Targets{2, 1});
}

TEST_CASE("once the bound is met, a cluster is captured again when its mean has changed") {
  // Three periods with a capture in the second one, which is not early. The mean of the last period
  // differs by 10 %, so the bias is 3.3 % of the time.
  CHECK(TargetsOnceMet({InPeriods(1000, {100.0, 100.0, 100.0}, 1.0, {0, 1, 0})}).at(0) == 1);
  CHECK(TargetsOnceMet({InPeriods(1000, {100.0, 100.0, 110.0}, 1.0, {0, 1, 0})}).at(0) == 2);
}

TEST_CASE("captures that cost more than they are worth are not made again") {
  std::vector<Cluster> clusters = {InPeriods(1000, {100.0, 100.0}, 1.0, {1, 0})};
  // A capture at the end would raise the estimate of a metric that rises by 30,000 ns, each worth
  // 2 x 2000 / 10,000 ns.
  clusters[0].source.price_ns = 11'900.0;
  CHECK(TargetsOnceMet(clusters).at(0) == 2);
  clusters[0].source.price_ns = 12'100.0;
  CHECK(TargetsOnceMet(clusters).at(0) == 1);
}

TEST_CASE("while the bound is missed, the current period is captured at most twice as densely") {
  // The variance of the first period alone exceeds the budget.
  const std::vector<Cluster> clusters = {InPeriods(100'000, {100.0, 100.0}, 100.0, {10, 0})};
  const std::vector<std::uint64_t> begins = {0, 100'000};
  const std::vector<KernelFacts> views = {{clusters, 0.0, begins}};
  std::vector<Cluster> sized = clusters;
  sized[0].decision.enough = EnoughCaptures(views, {}).at(0);
  // (2.17 / 4 %)^2 of a coefficient of variation of 1.
  CHECK(sized[0].decision.enough == doctest::Approx(2940).epsilon(0.02));
  const std::vector<KernelFacts> again = {{sized, 0.0, begins}};
  const std::uint64_t target =
      AllocateTargets(again, {.duration_ns = 2e7, .planned_ns = 260'000.0}, {}).at(0).target;
  CHECK(target ==
        doctest::Approx(10.0 + static_cast<double>(sized[0].decision.enough)).epsilon(0.02));
}

TEST_CASE(
    "a kernel is cut again if its captures become cheaper by 5 %, or 20 % with several samples") {
  const std::vector<stats::Moments> cells = {{1000, 100.0, 0.0}, {1000, 900.0, 0.0}};
  const std::vector<std::size_t> one = {0};
  CHECK(StrataFrom(cells, one).at(0).count() == 2000);
  // One cluster needs all of its launches, which take 1,000,000 ns. The best cut needs `size` x
  // 1000 ns.
  const auto is_worth = [&](std::uint64_t size, std::uint64_t min_samples) {
    std::vector<sampling::StratumRange> best(2);
    for (std::size_t i = 0; i < 2; ++i) {
      best[i].first = i;
      best[i].moments = cells[i];
      best[i].sample_size = size;
    }
    sampling::SamplingOptions options;
    options.min_samples = min_samples;
    return IsWorthCutting(cells, one, best, options);
  };
  CHECK(is_worth(1, 1));
  CHECK(is_worth(952, 1));
  CHECK_FALSE(is_worth(953, 1));
  CHECK(is_worth(833, 2));
  CHECK_FALSE(is_worth(834, 2));
}

}  // namespace
}  // namespace stemtap::online
