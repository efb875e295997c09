// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "online/kernel_state.h"

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

Capture CaptureOf(std::uint64_t duration, std::uint8_t flags = 0) {
  Capture launch;
  launch.sample.record = Launch(duration, flags).record;
  launch.bin = stats::LogSketch::BinOf(duration);
  return launch;
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
  KernelPeriods periods;
  periods.CountIn(clusters);
  captures.CountIn(clusters, periods, {});
  const Cluster& cluster = clusters.list().at(0);
  CHECK(cluster.moments.count() == 50);
  CHECK(cluster.captured == 0);
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
  captures.Impute(sketch);
  CHECK(captures.explored_ns() == 1000);
  CHECK(sketch.launches() == 1);
}

}  // namespace
}  // namespace stemtap::online
