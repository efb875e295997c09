// SPDX-License-Identifier: Apache-2.0
#include "online/release_policy.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "online/allocation_schedule.h"
#include "shm/gate_table.h"

namespace stemtap::online {
namespace {

TEST_CASE("a fifth of a target is released first, and all of it after four doublings") {
  const ReleaseSchedule schedule(1000);
  CHECK_FALSE(schedule.IsTimeToCut(499));
  CHECK(schedule.IsTimeToCut(500));
  CHECK_FALSE(schedule.HasStarted(999));
  CHECK(schedule.HasStarted(1000));
  const auto released = [&](std::uint64_t target, std::uint64_t observed) {
    return ReleaseSchedule::Released(target, schedule.ShareAt(observed));
  };
  CHECK(released(10, 1000) == 2);
  CHECK(released(10, 2000) == 4);
  CHECK(released(10, 4000) == 6);
  CHECK(released(10, 8000) == 8);
  CHECK(released(10, 16'000) == 10);
  CHECK(released(10, 1'000'000) == 10);
  CHECK(released(1, 1000) == 1);
  CHECK(ReleaseSchedule(0).first_release() == 64);
}

TEST_CASE("allocations are due when launches or time have grown by an eighth") {
  AllocationSchedule schedule;
  const auto due = [&](std::uint64_t observed, std::uint64_t duration_ns) {
    schedule.Advance(observed, duration_ns);
    return schedule.due();
  };
  CHECK(due(1, 1));
  schedule.SetNext(800, 80'000, 64);
  CHECK_FALSE(due(900, 90'000));
  CHECK(due(901, 80'000));
  CHECK(due(800, 90'001));
  schedule.SetNext(800, 80'000, 850);
  CHECK_FALSE(due(849, 80'000));
  CHECK(due(850, 80'000));
  schedule.SetCutsCompared(100);
  CHECK_FALSE(schedule.AreCutsOld(199));
  CHECK(schedule.AreCutsOld(200));
}

// Returns a cluster of 100 launches of 1000 ns that has its two captures with `mean` ns each.
OnlineCluster Captured(double mean) {
  OnlineCluster cluster;
  cluster.moments = {100, 1000.0, 0.0};
  cluster.captured = cluster.target = cluster.release = 2;
  cluster.captured_ns = 2.0 * mean;
  return cluster;
}

// Returns the targets after one round of supplements. The best cut costs six captures, so 3600 ns
// may be spent.
std::vector<std::uint64_t> Supplemented(Supplements& supplements,
                                        std::vector<OnlineCluster>& clusters, double bound_ns,
                                        bool bound_met = false) {
  std::vector<OnlineCluster*> pointers;
  for (OnlineCluster& cluster : clusters) pointers.push_back(&cluster);
  supplements.Add(pointers, 6000.0, bound_ns, bound_met);
  std::vector<std::uint64_t> targets;
  for (const OnlineCluster& cluster : clusters) targets.push_back(cluster.target);
  return targets;
}

TEST_CASE("clusters get supplements on the side of the error while the estimate is far off") {
  // The estimates differ by 100, -1000, and -100 ns.
  std::vector<OnlineCluster> clusters = {Captured(1001.0), Captured(990.0), Captured(999.0)};
  using Targets = std::vector<std::uint64_t>;
  Supplements supplements;
  CHECK(Supplemented(supplements, clusters, 1300.0) == Targets{2, 2, 2});
  CHECK(Supplemented(supplements, clusters, 1200.0) == Targets{2, 3, 3});
  CHECK(clusters[1].release == 3);
  // The clusters are below their targets until the captures return.
  CHECK(Supplemented(supplements, clusters, 1200.0) == Targets{2, 3, 3});
}

TEST_CASE("once the bound is met, clusters whose captures differ from the mean get one more") {
  // The estimates differ by 100, -1200, and 0 ns, and 10 % of the bound is 1000 ns.
  std::vector<OnlineCluster> clusters = {Captured(1001.0), Captured(988.0), Captured(1000.0)};
  using Targets = std::vector<std::uint64_t>;
  Supplements supplements;
  CHECK(Supplemented(supplements, clusters, 10'000.0) == Targets{2, 2, 2});
  CHECK(Supplemented(supplements, clusters, 10'000.0, true) == Targets{2, 3, 2});
  // The budget of 1200 ns is spent.
  clusters[0] = Captured(1012.0);
  CHECK(Supplemented(supplements, clusters, 10'000.0, true) == Targets{2, 3, 2});
}

TEST_CASE("supplements cost at most their share of the planned captures and are charged once") {
  std::vector<OnlineCluster> clusters(6, Captured(1000.0));
  for (std::size_t i = 1; i < 6; ++i) clusters[i] = Captured(1000.0 + static_cast<double>(i));
  Supplements supplements;
  // Three captures of 1000 ns are within the budget, and the largest differences are first.
  using Targets = std::vector<std::uint64_t>;
  CHECK(Supplemented(supplements, clusters, 1000.0) == Targets{2, 2, 2, 3, 3, 3});
  clusters[3].target = 2;  // allocated again while the capture is in flight
  CHECK(Supplemented(supplements, clusters, 1000.0) == Targets{2, 2, 2, 3, 3, 3});
  CHECK(Supplemented(supplements, clusters, 1000.0) == Targets{2, 2, 2, 3, 3, 3});
}

TEST_CASE("a supplement is charged for the other launches that it captures") {
  const auto is_supplemented = [](double price_ns) {
    std::vector<OnlineCluster> clusters(4, Captured(1000.0));
    clusters[0] = Captured(980.0);
    clusters[0].source.price_ns = price_ns;
    Supplements supplements;
    return Supplemented(supplements, clusters, 1000.0)[0] == 3;
  };
  CHECK(is_supplemented(3600.0));
  CHECK(!is_supplemented(3601.0));
}

// Returns the credits of the lines of a kernel whose clusters begin to wait.
std::vector<LineCredits> Credits(std::vector<OnlineCluster> clusters,
                                 const std::vector<double>& offered) {
  UpdateWaits(clusters);
  return CreditsOfLines(clusters, offered, Pace::kSpread);
}

TEST_CASE("a line gets credits for half of the need of its cluster with the largest need") {
  OnlineCluster predicted;
  predicted.target = predicted.release = 9;
  predicted.captured = 1;
  predicted.source = {1, 1.0, 0.0};
  OnlineCluster rare;
  rare.target = rare.release = 1;
  rare.source = {0, 0.01, 0.0};
  OnlineCluster unreachable = rare;
  unreachable.unreachable = true;
  unreachable.source.yield = 0.001;
  const std::vector<LineCredits> lines =
      Credits({predicted, rare, unreachable}, {10'000.0, 160.0, 5.0});
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].credits == 300);  // three expected captures
  CHECK(lines[0].accept == shm::AcceptOf(300 / 5000.0));
  CHECK(lines[1].credits == 4);
  CHECK(lines[1].accept == shm::AcceptOf(4 / 8.0));  // further captures are made soon
  CHECK(lines[2].credits == 0);

  predicted.captured = 0;
  predicted.expired = 1;
  CHECK(Credits({predicted}, {0.0, 80.0})[1].accept == shm::AcceptOf(4 / 10.0));
}

TEST_CASE("a predicted cluster gets no credits for captures outside the cluster") {
  const auto line = [](std::uint64_t target, double yield) {
    OnlineCluster predicted;
    predicted.target = predicted.release = target;
    predicted.source = {0, yield, 0.0};
    return Credits({predicted}, {1000.0})[0];
  };
  CHECK(line(1, 1.0).credits == 1);
  CHECK(line(1, 0.5).credits == 1);
  CHECK(line(8, 0.5).credits == 4);
  CHECK(line(1, 0.49).credits == 7);  // unpredicted: three expected captures
  // At a lower yield, the captures need more launches.
  CHECK(line(1, 1.0).accept == shm::AcceptOf(1 / 1250.0));
  CHECK(line(1, 0.92).accept == shm::AcceptOf(1 / 1250.0));
  CHECK(line(1, 0.9).accept == shm::AcceptOf(2 / 1250.0));
  CHECK(line(8, 0.5).accept == shm::AcceptOf(8 / 1250.0));
}

TEST_CASE("a capture is made at a random launch in a window that starts with the wait") {
  std::vector<OnlineCluster> clusters(1);
  OnlineCluster& cluster = clusters[0];
  cluster.target = cluster.release = 1;
  cluster.source = {0, 1.0, 0.0};
  // The line is offered all launches of the cluster. The window has 1250 launches.
  const auto accept = [&](std::uint64_t launches) {
    cluster.moments = {launches, 1000.0, 0.0};
    UpdateWaits(clusters);
    return CreditsOfLines(clusters, std::vector{static_cast<double>(launches)},
                          Pace::kSpread)[0].accept;
  };
  CHECK(accept(1000) == shm::AcceptOf(1 / 1250.0));
  CHECK(accept(1600) == shm::AcceptOf(1 / 650.0));
  CHECK(accept(2000) == shm::AcceptOf(1 / 250.0));
  CHECK(accept(2200) == shm::AcceptOf(1 / 125.0));
  CHECK(accept(9000) == shm::AcceptOf(1 / 125.0));  // the window has ended
  cluster.captured = 1;
  UpdateWaits(clusters);
  CHECK(cluster.waiting_since == 0);
  cluster.release = cluster.target = 2;
  CHECK(accept(10'000) == shm::AcceptOf(1 / 500.0));  // a further capture
}

TEST_CASE("the first capture of a cluster is made soon while the bound is not met") {
  std::vector<OnlineCluster> clusters(1);
  clusters[0].target = clusters[0].release = 1;
  clusters[0].source = {0, 1.0, 0.0};
  clusters[0].moments = {1000, 1000.0, 0.0};
  UpdateWaits(clusters);
  const auto accept = [&](Pace pace) {
    return CreditsOfLines(clusters, std::vector{1000.0}, pace)[0].accept;
  };
  CHECK(accept(Pace::kSpread) == shm::AcceptOf(1 / 1250.0));
  CHECK(accept(Pace::kUrgent) == shm::AcceptOf(1 / 125.0));
}

// Returns a cluster of 1,000 launches with a standard deviation of 300 ns, whose only capture was
// made after `captured_at` launches of the kernel.
OnlineCluster CapturedAt(std::uint64_t captured_at) {
  OnlineCluster cluster;
  cluster.moments = {1000, 1000.0, 1000 * 300.0 * 300.0};
  cluster.AddCapture(1000, captured_at);
  cluster.target = 1;
  return cluster;
}

TEST_CASE("a wide cluster whose capture is old is captured again") {
  const auto target = [](std::uint64_t captured_at, double bound_ns) {
    std::vector<OnlineCluster> clusters = {CapturedAt(captured_at)};
    Renewals().Add(clusters, 12'600, 1e6, bound_ns);
    CHECK(clusters[0].release == (clusters[0].target == 2 ? 2 : 0));
    return clusters[0].target;
  };
  // The standard error of one capture is about 300,000 ns.
  CHECK(target(12'000, 1'450'000.0) == 2);
  CHECK(target(12'001, 1'450'000.0) == 1);  // the capture is recent
  CHECK(target(12'000, 1'550'000.0) == 1);  // the cluster is narrow
}

TEST_CASE("a cluster without a capture is not renewed") {
  std::vector<OnlineCluster> clusters = {CapturedAt(10'000)};
  clusters[0].captured = 0;
  Renewals().Add(clusters, 12'000, 1e6, 1e6);
  CHECK(clusters[0].target == 1);
}

TEST_CASE("renewals cost at most half of the best cut, and each is charged once") {
  std::vector<OnlineCluster> clusters(4, CapturedAt(1000));
  Renewals renewals;
  const auto targets = [&] {
    renewals.Add(clusters, 12'000, 4000.0, 1e6);
    std::vector<std::uint64_t> all;
    for (const OnlineCluster& cluster : clusters) all.push_back(cluster.target);
    return all;
  };
  using Targets = std::vector<std::uint64_t>;
  CHECK(targets() == Targets{2, 2, 1, 1});  // two captures of 1000 ns
  clusters[0].target = clusters[1].target = 1;  // allocated again while they are in flight
  CHECK(targets() == Targets{2, 2, 1, 1});
}

TEST_CASE("launches of an unpredicted cluster are drawn with a constant probability") {
  std::vector<OnlineCluster> clusters(1);
  clusters[0].target = clusters[0].release = 1;
  clusters[0].source = {0, 0.1, 0.0};
  for (const std::uint64_t launches : {1000, 2000}) {
    clusters[0].moments = {launches, 1000.0, 0.0};
    UpdateWaits(clusters);
    CHECK(CreditsOfLines(clusters, std::vector{1000.0}, Pace::kSpread)[0].accept ==
          shm::AcceptOf(30 / 500.0));
  }
}

TEST_CASE("an unpredicted cluster that a neighbor can represent gets one expected capture") {
  std::vector<OnlineCluster> clusters(2);
  clusters[0].moments = {900, 1000.0, 0.0};
  clusters[1].target = clusters[1].release = 1;
  clusters[1].source = {0, 0.1, 0.0};
  const auto credits = [&](double mean) {
    clusters[1].moments = {100, mean, 0.0};
    return Credits(clusters, {1000.0})[0].credits;
  };
  CHECK(credits(2000.0) == 10);
  CHECK(credits(2001.0) == 30);
  // The upper neighbor also counts.
  std::swap(clusters[0], clusters[1]);
  clusters[0].moments = {100, 667.0, 0.0};
  CHECK(Credits(clusters, {1000.0})[0].credits == 10);
  clusters[0].moments = {100, 666.0, 0.0};
  CHECK(Credits(clusters, {1000.0})[0].credits == 30);
}

}  // namespace
}  // namespace stemtap::online
