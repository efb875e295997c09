// SPDX-License-Identifier: Apache-2.0
#include "online/online_allocation.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace stemtap::online {
namespace {

// Returns a cluster that its contexts predict.
OnlineCluster Predicted(std::uint64_t count, double mean, double stddev, std::uint64_t captured) {
  OnlineCluster cluster;
  cluster.moments = {count, mean, stddev * stddev * static_cast<double>(count)};
  cluster.captured = captured;
  cluster.source.price_ns = mean;
  return cluster;
}

// Returns a best cut whose captures take `captured_ns`.
sampling::WorkloadStrata BestCut(double captured_ns) {
  sampling::StratumRange stratum;
  stratum.moments = {1000, captured_ns, 0.0};
  stratum.sample_size = 1;
  return {{{stratum}}, 0.0};
}

TEST_CASE("by default, one capture per cluster is enough") {
  const auto meets = [](const std::vector<OnlineCluster>& clusters) {
    return MeetsBound(std::vector{ClustersView{clusters}}, {});
  };
  CHECK(meets({Predicted(1000, 100.0, 1.0, 1)}));
  CHECK_FALSE(meets({Predicted(1000, 100.0, 1.0, 0)}));
  // The z of the certificate, 2.17, is used: 2.17 x 2.4 % > 5 %, although 1.96 x 2.4 % < 5 %.
  CHECK(meets({Predicted(1000, 100.0, 2.2, 1)}));
  CHECK_FALSE(meets({Predicted(1000, 100.0, 2.4, 1)}));
  const std::vector<OnlineCluster> clusters = {Predicted(1000, 100.0, 1.0, 0)};
  const std::vector<ClusterTarget> targets =
      AllocateTargets(std::vector{ClustersView{clusters}}, BestCut(100.0), 100'000.0, {});
  CHECK(targets.at(0).target == 1);
}

TEST_CASE("captures meet the bound if they have minimum sizes and little time is uncovered") {
  sampling::SamplingOptions options;  // 5 %
  options.min_samples = 2;
  const auto meets = [&](const std::vector<OnlineCluster>& clusters) {
    return MeetsBound(std::vector{ClustersView{clusters}}, options);
  };
  CHECK(meets({Predicted(1000, 100.0, 1.0, 2)}));
  CHECK_FALSE(meets({Predicted(1000, 100.0, 1.0, 1)}));
  CHECK_FALSE(meets({Predicted(1000, 100.0, 30.0, 2)}));
  CHECK(meets({Predicted(1000, 100.0, 1.0, 2), Predicted(1, 1000.0, 0.0, 0)}));
  CHECK_FALSE(meets({Predicted(1000, 100.0, 1.0, 2), Predicted(1, 10'000.0, 0.0, 0)}));
  // If captures are expensive, one is enough.
  OnlineCluster expensive = Predicted(1000, 100.0, 1.0, 1);
  expensive.source.price_ns = 201.0;
  CHECK(meets({expensive}));
}

TEST_CASE("exploratory captures cover a cluster in the stated bound but do not meet the target") {
  std::vector<OnlineCluster> clusters = {Predicted(100, 100.0, 0.0, 0)};
  clusters[0].explored.Add(101.0);
  const std::vector<ClustersView> views = {{clusters, 101.0}};
  CHECK_FALSE(MeetsBound(views, {}));
  CHECK(BoundOf(views, {}) == doctest::Approx(100.0));  // the bias
}

TEST_CASE("targets include the captures so far, and clusters that cost too much are unreachable") {
  std::vector<OnlineCluster> clusters = {Predicted(10'000, 100.0, 20.0, 7),
                                         Predicted(40, 1000.0, 0.0, 0)};
  clusters[1].source = {0, 0.01, 20'000.0};
  const std::vector<ClustersView> views = {{clusters}};
  sampling::SamplingOptions options;
  options.min_samples = 2;
  // 40,000 ns are uncovered, and the bound is 52,000 ns.
  const auto rare = [&](double captured_ns) {
    return AllocateTargets(views, BestCut(captured_ns), 1'040'000.0, options).at(1);
  };
  CHECK(rare(25'000.0).unreachable);
  CHECK(rare(25'000.0).target == 1);
  CHECK_FALSE(rare(27'000.0).unreachable);
  CHECK(rare(27'000.0).target == 2);
  CHECK(AllocateTargets(views, BestCut(27'000.0), 1'040'000.0, options).at(0).target >= 7);
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
    return IsWorthCutting(cells, one, best, min_samples);
  };
  CHECK(is_worth(1, 1));
  CHECK(is_worth(952, 1));
  CHECK_FALSE(is_worth(953, 1));
  CHECK(is_worth(833, 2));
  CHECK_FALSE(is_worth(834, 2));
}

}  // namespace
}  // namespace stemtap::online
