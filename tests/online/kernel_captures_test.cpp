// SPDX-License-Identifier: Apache-2.0
#include "online/kernel_captures.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace stemtap::online {
namespace {

Observation Launch(std::uint64_t duration, std::uint8_t flags = 0) {
  Observation seen;
  seen.record.duration_ns = duration;
  seen.record.start_ns = shm::kUnknownTime;
  seen.record.flags = flags;
  seen.config_key = 8;
  seen.history_key = 10;
  return seen;
}

CapturedLaunch CaptureOf(std::uint64_t duration, std::uint8_t flags = 0) {
  CapturedLaunch launch;
  launch.sample.record = Launch(duration, flags).record;
  launch.bin = stats::LogSketch::BinOf(duration);
  return launch;
}

// Returns whether a capture among the first 64 launches expires when 640 more launches follow.
// Launch i takes duration(i). Clusters begin at the cells `cut`. `error_bound` is a ratio.
bool HasExpired(const std::function<std::uint64_t(int)>& duration,
                const std::vector<std::size_t>& cut = {0}, double error_bound = 0.0) {
  KernelSketch sketch(false);
  KernelClusters clusters;
  KernelCaptures captures;
  for (int i = 0; i < 64; ++i) sketch.AddNative(Launch(duration(i)));
  sketch.UpdateCells();
  captures.Update(sketch, clusters, error_bound);
  clusters.SetCut(sketch.cells(), cut, true);
  captures.Add(CaptureOf(duration(0)), 64);
  for (int i = 64; i < 704; ++i) sketch.AddNative(Launch(duration(i)));
  sketch.UpdateCells();
  captures.Update(sketch, clusters, error_bound);
  return captures.by_credit().at(0).expired;
}

TEST_CASE("a capture expires only if its cluster has drifted by more than chance") {
  const auto narrow = [](int i) { return 10000 + static_cast<std::uint64_t>(i % 10) * 20; };
  CHECK(HasExpired([&](int i) { return narrow(i) * (i < 64 ? 103 : 100) / 100; }));
  // On average, the first 64 launches are 5 %, or 0.7 standard errors, longer.
  const auto wide = [](int i) { return 1000 + static_cast<std::uint64_t>(i % 32) * 1000; };
  CHECK(!HasExpired([&](int i) { return wide(i < 64 ? i * 9 / 10 + 6 : i); }));
}

TEST_CASE("a capture expires only if the drift matters for the error bound") {
  // The first 64 launches take 300 ns longer than the 640 later launches, so the estimate of all
  // launches would differ by 192,000 of 7,059,200 ns, a fifth of 13.6 %.
  const auto duration = [](int i) { return i < 64 ? 10300 : 10000; };
  CHECK(HasExpired(duration, {0}, 0.13));
  CHECK(!HasExpired(duration, {0}, 0.14));
}

TEST_CASE("launches that move from one cluster to another do not expire captures") {
  // At first, seven launches in eight are short. Later, one in eight is short.
  CHECK(!HasExpired([](int i) { return (i % 8 == 0) == (i < 64) ? 9000 : 1000; }, {0, 1}));
}

TEST_CASE("exploratory captures are counted separately from captures by credit") {
  KernelSketch sketch(false);
  KernelClusters clusters;
  KernelCaptures captures;
  captures.Observe(CaptureOf(1300, shm::kFlagCaptured | shm::kFlagExploratory));
  captures.Observe(CaptureOf(1000, shm::kFlagCaptured));
  CHECK(captures.TakeUnsettled().size() == 2);
  CHECK(captures.TakeUnsettled().empty());
  CHECK(captures.explored().size() == 1);
  CHECK(captures.explored_ns() == 1300);
  for (int i = 0; i < 50; ++i) sketch.AddNative(Launch(1000));
  sketch.UpdateCells();
  clusters.SetCut(sketch.cells(), std::vector<std::size_t>{0}, true);
  captures.CountIn(clusters);
  const OnlineCluster& cluster = clusters.list().at(0);
  CHECK(cluster.moments.count() == 50);
  CHECK(cluster.captured == 0);
  CHECK(cluster.representing() == 0);
  CHECK(cluster.explored.count() == 1);
  CHECK(cluster.explored.mean() == 1300.0);
}

TEST_CASE("a perturbed exploratory capture is imputed as soon as a native launch is known") {
  KernelSketch sketch(true);
  KernelCaptures captures;
  captures.Observe(sketch.AddCaptured(
      Launch(900'000, shm::kFlagCaptured | shm::kFlagExploratory | shm::kFlagPerturbed)));
  CHECK(captures.explored_ns() == 900'000);
  sketch.AddNative(Launch(1000));
  sketch.UpdateCells();
  captures.Update(sketch, {}, 0.0);
  CHECK(captures.explored_ns() == 1000);
  CHECK(sketch.launches() == 1);
}

}  // namespace
}  // namespace stemtap::online
