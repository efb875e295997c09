// SPDX-License-Identifier: Apache-2.0
#include "online/release_policy.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "online/online_allocation.h"
#include "shm/gate_table.h"

namespace stemtap::online {
namespace {

TEST_CASE("a fifth of the captures is released first, and all of them after four doublings") {
  const ReleaseSchedule schedule(1000);
  CHECK_FALSE(schedule.IsTimeToCut(499));
  CHECK(schedule.IsTimeToCut(500));
  CHECK_FALSE(schedule.HasStarted(999));
  CHECK(schedule.HasStarted(1000));
  CHECK(schedule.ShareAt(500) == doctest::Approx(0.2));
  CHECK(schedule.ShareAt(1000) == doctest::Approx(0.2));
  CHECK(schedule.ShareAt(2000) == doctest::Approx(0.4));
  CHECK(schedule.ShareAt(8000) == doctest::Approx(0.8));
  CHECK(schedule.ShareAt(16'000) == 1.0);
  CHECK(schedule.ShareAt(1'000'000) == 1.0);
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

// Returns the credits of the lines of a kernel whose clusters begin to wait.
std::vector<LineCredits> Credits(std::vector<Cluster> clusters,
                                 const std::vector<double>& offered) {
  UpdateWaits(clusters);
  return CreditsOfLines(clusters, offered, Pace::kSpread);
}

TEST_CASE("a line gets credits for half of the need of its cluster with the largest need") {
  Cluster predicted;
  predicted.decision.target = 9;
  predicted.captured = 1;
  predicted.source = {1, 1.0, 0.0};
  Cluster rare;
  rare.decision.target = 1;
  rare.source = {0, 0.01, 0.0};
  Cluster unreachable = rare;
  unreachable.decision.unreachable = true;
  unreachable.source.yield = 0.001;
  const std::vector<LineCredits> lines =
      Credits({predicted, rare, unreachable}, {10'000.0, 160.0, 5.0});
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].credits == 300);  // three expected captures
  CHECK(lines[0].accept == shm::AcceptOf(300 / 5000.0));
  CHECK(lines[1].credits == 4);
  CHECK(lines[1].accept == shm::AcceptOf(4 / 40.0));  // further captures are made soon
  CHECK(lines[2].credits == 0);
}

TEST_CASE("a predicted cluster gets no credits for captures outside the cluster") {
  const auto line = [](std::uint64_t target, double yield) {
    Cluster predicted;
    predicted.decision.target = target;
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
  std::vector<Cluster> clusters(1);
  Cluster& cluster = clusters[0];
  cluster.decision.target = 1;
  cluster.source = {0, 1.0, 0.0};
  // The line is offered all launches of the cluster. The window has 1250 launches.
  const auto accept = [&](std::uint64_t launches) {
    cluster.moments = {launches, 1000.0, 0.0};
    UpdateWaits(clusters);
    return CreditsOfLines(clusters, std::vector{static_cast<double>(launches)}, Pace::kSpread)[0]
        .accept;
  };
  CHECK(accept(1000) == shm::AcceptOf(1 / 1250.0));
  CHECK(accept(1600) == shm::AcceptOf(1 / 650.0));
  CHECK(accept(2000) == shm::AcceptOf(1 / 250.0));
  CHECK(accept(2200) == shm::AcceptOf(1 / 125.0));
  CHECK(accept(9000) == shm::AcceptOf(1 / 125.0));  // the window has ended
  cluster.captured = 1;
  UpdateWaits(clusters);
  CHECK(cluster.request.waiting_since == 0);
  cluster.decision.target = 2;
  CHECK(accept(10'000) == shm::AcceptOf(1 / 2500.0));  // a further capture
}

TEST_CASE("the first capture of a cluster is made soon while the bound is not met") {
  std::vector<Cluster> clusters(1);
  clusters[0].decision.target = 1;
  clusters[0].source = {0, 1.0, 0.0};
  clusters[0].moments = {1000, 1000.0, 0.0};
  UpdateWaits(clusters);
  const auto accept = [&](Pace pace) {
    return CreditsOfLines(clusters, std::vector{1000.0}, pace)[0].accept;
  };
  CHECK(accept(Pace::kSpread) == shm::AcceptOf(1 / 1250.0));
  CHECK(accept(Pace::kFirst) == shm::AcceptOf(1 / 500.0));
  CHECK(accept(Pace::kUrgent) == shm::AcceptOf(1 / 125.0));
}

TEST_CASE("launches of an unpredicted cluster are drawn with a constant probability") {
  std::vector<Cluster> clusters(1);
  clusters[0].decision.target = 1;
  clusters[0].source = {0, 0.1, 0.0};
  for (const std::uint64_t launches : {1000, 2000}) {
    clusters[0].moments = {launches, 1000.0, 0.0};
    UpdateWaits(clusters);
    CHECK(CreditsOfLines(clusters, std::vector{1000.0}, Pace::kSpread)[0].accept ==
          shm::AcceptOf(30 / 500.0));
  }
}

TEST_CASE("an unpredicted cluster that a neighbor can represent gets one expected capture") {
  std::vector<Cluster> clusters(2);
  clusters[0].moments = {900, 1000.0, 0.0};
  clusters[1].decision.target = 1;
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
