// SPDX-License-Identifier: Apache-2.0
#include "online/kernel_state.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "online/gate_publisher.h"
#include "stats/log_sketch.h"

namespace stemtap::online {
namespace {

constexpr std::uint64_t kShort = 1000;
constexpr std::uint64_t kLong = 9000;

// Kernel is a kernel whose launches differ only in their history.
struct Kernel {
  void Launch(std::uint64_t history, std::uint64_t duration, std::uint8_t flags = 0) {
    Observation& seen = batch.emplace_back();
    seen.index = seen.occurrence = launched++;
    seen.record.duration_ns = duration;
    seen.record.start_ns = shm::kUnknownTime;
    seen.record.flags = flags;
    seen.config_key = 8;
    seen.history_key = history;
  }
  void Observe() {
    std::vector<std::uint32_t> order(batch.size());
    std::iota(order.begin(), order.end(), 0u);
    state.Observe(batch, order);
    batch.clear();
    state.UpdateCells();
  }
  // Observes the pending launches and cuts the kernel below each duration in `durations`.
  void Cut(const std::vector<std::uint64_t>& durations = {}) {
    Observe();
    std::vector<std::size_t> first_cells = {0};
    for (const std::uint64_t duration : durations) {
      std::size_t cell = 0;
      while (state.cells()[cell].mean() < static_cast<double>(duration)) ++cell;
      first_cells.push_back(cell);
    }
    state.SetCut(first_cells, true);
  }
  // Observes the launches since the cut.
  void Update() {
    Observe();
    state.SetCut(state.CurrentFirstCells(), false);
  }
  void Settle() {
    for (const Capture& launch : state.TakeUnsettled()) {
      GatePublisher::EndWait(state.clusters()[state.AddCaptured(launch)]);
    }
  }
  std::size_t ClusterOf(std::uint64_t duration) const {
    return state.ClusterOf(stats::LogSketch::BinOf(duration));
  }

  KernelState state{0, 1, nullptr};
  std::uint64_t launched = 0;
  std::vector<Observation> batch;
};

// Returns a kernel with a short and a long cluster, and `launches` more launches after the cut.
// launch(kernel, i) adds launch i.
template <typename Launch>
Kernel TwoModes(int launches, const Launch& launch) {
  Kernel kernel;
  for (int i = 0; i < launches; ++i) launch(kernel, i);
  kernel.Cut({kLong});
  for (int i = 0; i < launches; ++i) launch(kernel, i);
  kernel.Update();
  return kernel;
}

TEST_CASE("predicted clusters have their own lines, and captures cost the mean of their cluster") {
  const Kernel kernel = TwoModes(
      1000, [](Kernel& k, int i) { i % 4 == 0 ? k.Launch(11, kLong) : k.Launch(10, kShort); });
  REQUIRE(kernel.state.clusters().size() == 2);
  CHECK(kernel.state.LineOf(0) != KernelClusters::kCommonLine);
  CHECK(kernel.state.LineOf(1) != KernelClusters::kCommonLine);
  CHECK(kernel.state.LineOf(0) != kernel.state.LineOf(1));
  for (std::size_t c = 0; c < 2; ++c) {
    const Cluster& cluster = kernel.state.clusters()[c];
    CHECK(cluster.source.line == kernel.state.LineOf(c));
    CHECK(cluster.source.predicted());
    CHECK(cluster.source.yield == doctest::Approx(1.0));
    CHECK(cluster.source.price_ns == doctest::Approx(cluster.moments.mean()));
  }
}

TEST_CASE("unpredicted clusters share the common line, and their price includes misses") {
  // Contexts predict both clusters no better than a guess. The modes are wide, so only a few
  // predictions are known for each duration bin.
  std::mt19937_64 random(1);
  const Kernel kernel = TwoModes(4000, [&random](Kernel& k, int i) {
    const std::uint64_t mode = random() % 2 == 0 ? kLong : kShort;
    k.Launch(10 + static_cast<std::uint64_t>(i % 2), mode + random() % (mode / 2));
  });
  REQUIRE(kernel.state.clusters().size() == 2);
  const stats::Moments& below = kernel.state.clusters()[0].moments;
  const stats::Moments& above = kernel.state.clusters()[1].moments;
  const auto all = static_cast<double>(below.count() + above.count());
  for (std::size_t c = 0; c < 2; ++c) {
    CAPTURE(c);
    const Cluster& cluster = kernel.state.clusters()[c];
    const auto count = static_cast<double>(cluster.moments.count());
    CHECK(kernel.state.LineOf(c) == KernelClusters::kCommonLine);
    CHECK(cluster.source.line == KernelClusters::kCommonLine);
    CHECK(cluster.source.yield == doctest::Approx(count / all));
    CHECK(cluster.source.price_ns == doctest::Approx((below.sum() + above.sum()) / count));
  }
}

TEST_CASE("a rare cluster in a predicted cluster is captured through the launches of both") {
  // One launch in 16 is long, but its context predicts a short launch.
  const Kernel kernel =
      TwoModes(4096, [](Kernel& k, int i) { k.Launch(10, i % 16 == 15 ? kLong : kShort); });
  const Cluster& rare = kernel.state.clusters().at(1);
  CHECK_FALSE(rare.source.predicted());
  CHECK(rare.source.yield == doctest::Approx(1.0 / 16));
  CHECK(rare.source.price_ns == doctest::Approx(15.0 * kShort + kLong).epsilon(0.01));
}

TEST_CASE("a context that rarely recurs is not a source even if it predicts well") {
  // History 11 precedes only long launches, but few of them.
  const auto launch = [](int share) {
    return [share](Kernel& k, int i) {
      const auto varied = static_cast<std::uint64_t>(i % 97);
      if (i % share == 0) k.Launch(11, kLong + 10 * varied);
      k.Launch(10, i % 4 == 3 ? kLong + 10 * varied : kShort);
    };
  };
  const Kernel often = TwoModes(4000, launch(8));
  CHECK(often.state.clusters().at(1).source.predicted());
  const Kernel rarely = TwoModes(4000, launch(200));
  CHECK_FALSE(rarely.state.clusters().at(1).source.predicted());
  CHECK(rarely.state.clusters()[1].source.yield == doctest::Approx(0.25).epsilon(0.05));
}

TEST_CASE("a kernel with one cluster has only the common line") {
  Kernel kernel;
  for (int i = 0; i < 100; ++i) kernel.Launch(10, kShort);
  kernel.Cut();
  CHECK(kernel.state.LineOf(0) == KernelClusters::kCommonLine);
  CHECK(kernel.state.clusters()[0].source.yield == 1.0);
  CHECK(kernel.state.offered()[KernelClusters::kCommonLine] == 100.0);
}

TEST_CASE("contexts are published again when a cluster gets or loses its own line") {
  std::mt19937_64 random(1);
  Kernel kernel;
  const auto launch = [&](bool predicted) {
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t mode = random() % 2 == 0 ? kLong : kShort;
      kernel.Launch(predicted && mode == kLong ? 11 : 10, mode + random() % (mode / 2));
    }
  };
  launch(false);
  kernel.Cut({kLong});
  for (const bool predicted : {false, true, false, true}) {
    CAPTURE(predicted);
    const bool had_line = kernel.state.LineOf(1) != KernelClusters::kCommonLine;
    kernel.state.TakePublicationRequest();
    launch(predicted);
    kernel.Update();
    const bool has_line = kernel.state.LineOf(1) != KernelClusters::kCommonLine;
    CHECK(has_line == predicted);
    const bool publishes = kernel.state.TakePublicationRequest();
    if (has_line != had_line) CHECK(publishes);
    kernel.Update();
    CHECK_FALSE(kernel.state.TakePublicationRequest());
  }
}

TEST_CASE("a cut is in the middle of the gap between two clusters and stays there") {
  Kernel kernel;
  for (int i = 0; i < 100; ++i) kernel.Launch(10, i % 2 == 0 ? kShort : kLong);
  kernel.Cut({kLong});
  const auto check = [&kernel] {
    CHECK(kernel.ClusterOf(1) == 0);
    CHECK(kernel.ClusterOf(4900) == 0);
    CHECK(kernel.ClusterOf(5100) == 1);
    CHECK(kernel.ClusterOf(1'000'000) == 1);
  };
  check();
  for (const std::uint64_t duration : {800u, 2000u, 4800u, 5200u, 20'000u}) {
    kernel.Launch(10, duration);
  }
  kernel.Update();
  check();
  REQUIRE(kernel.state.clusters().size() == 2);
  CHECK(kernel.state.clusters()[0].moments.count() == 53);
  CHECK(kernel.state.clusters()[1].moments.count() == 52);
}

TEST_CASE("neighboring bins can be in different clusters") {
  const std::uint32_t bin = stats::LogSketch::BinOf(5000);
  Kernel kernel;
  for (std::uint32_t i = 0; i < 4; ++i) kernel.Launch(10, stats::LogSketch::LowerEdge(bin + i));
  kernel.Cut({stats::LogSketch::LowerEdge(bin + 2)});
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(kernel.state.ClusterOf(bin + i) == i / 2);
}

TEST_CASE("after every cut, captures count for the cluster that contains their duration") {
  Kernel kernel;
  for (int i = 0; i < 100; ++i) {
    kernel.Launch(10, i % 2 == 0 ? kShort : kLong, i < 3 ? shm::kFlagCaptured : 0);
  }
  kernel.Cut();
  kernel.Settle();
  REQUIRE(kernel.state.clusters().size() == 1);
  CHECK(kernel.state.clusters()[0].captured == 3);
  kernel.Cut({kLong});
  REQUIRE(kernel.state.clusters().size() == 2);
  CHECK(kernel.state.clusters()[0].captured == 2);
  CHECK(kernel.state.clusters()[1].captured == 1);
}

TEST_CASE("the wait of a cluster continues after an allocation and ends at its next capture") {
  Kernel kernel;
  for (int i = 0; i < 100; ++i) kernel.Launch(10, i % 2 == 0 ? kShort : kLong);
  kernel.Cut({kLong});
  for (Cluster& cluster : kernel.state.clusters()) cluster.request.waiting_since = 50;
  kernel.Launch(10, kLong, shm::kFlagCaptured);
  kernel.Update();
  CHECK(kernel.state.clusters().at(1).request.waiting_since == 50);
  kernel.Settle();
  CHECK(kernel.state.clusters()[0].request.waiting_since == 50);
  CHECK(kernel.state.clusters()[1].request.waiting_since == 0);
}

TEST_CASE("captures and launches are counted in the period of the launch") {
  Kernel kernel;
  // No allocation precedes the first capture, so the first period ends at the first allocation.
  for (int i = 1; i <= 100; ++i) kernel.Launch(10, kShort, i == 50 ? shm::kFlagCaptured : 0);
  kernel.Cut();
  kernel.Settle();
  kernel.Update();
  REQUIRE(kernel.state.clusters().at(0).periods.size() == 2);
  for (int i = 101; i <= 115; ++i) kernel.Launch(10, kShort, i == 110 ? shm::kFlagCaptured : 0);
  kernel.Update();
  kernel.Settle();
  const std::vector<ClusterPeriod>& periods = kernel.state.clusters()[0].periods;
  REQUIRE(periods.size() == 2);
  CHECK(periods[0].launches.count() == 100);
  CHECK(periods[0].captured == 1);
  CHECK(periods[0].positions == 50.0);
  CHECK(periods[1].launches.count() == 15);
  CHECK(periods[1].captured == 1);
  CHECK(periods[1].positions == 110.0);
  CHECK(kernel.state.clusters()[0].captured == 2);
}

}  // namespace
}  // namespace stemtap::online
