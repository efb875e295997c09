// SPDX-License-Identifier: Apache-2.0
#include "online/kernel_periods.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace stemtap::online {
namespace {

// Adds `count` launches of `duration`.
void Add(KernelSketch& sketch, std::uint64_t duration, int count) {
  Observation seen;
  seen.record.duration_ns = duration;
  seen.record.start_ns = shm::kUnknownTime;
  for (int i = 0; i < count; ++i) sketch.AddNative(seen);
  sketch.UpdateCells();
}

TEST_CASE("a period ends when the launches have grown by the square root of two") {
  KernelSketch sketch(false);
  KernelPeriods periods;
  Add(sketch, 1000, 5000);
  periods.Update(sketch);
  CHECK(periods.size() == 1);  // no capture yet
  periods.AddCapture(5000);
  periods.Update(sketch);
  CHECK(periods.size() == 1);
  Add(sketch, 1000, 2072);  // 7072 = 1.4142 x 5000, rounded up
  periods.Update(sketch);
  CHECK(periods.begins() == std::vector<std::uint64_t>{0, 7072});
  Add(sketch, 1000, 2928);
  periods.Update(sketch);
  CHECK(periods.size() == 2);
  Add(sketch, 1000, 2);
  periods.Update(sketch);
  CHECK(periods.begins() == std::vector<std::uint64_t>{0, 7072, 10'002});
  CHECK(periods.PeriodOf(1) == 0);
  CHECK(periods.PeriodOf(7072) == 0);
  CHECK(periods.PeriodOf(7073) == 1);
  CHECK(periods.PeriodOf(10'002) == 1);
  CHECK(periods.PeriodOf(10'003) == 2);
}

TEST_CASE("the mean index of a period is the middle of its launch indices") {
  KernelSketch sketch(false);
  KernelPeriods periods;
  Add(sketch, 1000, 100);
  periods.AddCapture(50);
  periods.AddLaunches(40, 239);  // every second launch of the run is of this kernel
  CHECK(periods.MeanIndex(0) == doctest::Approx(139.5));
  periods.Update(sketch);
  REQUIRE(periods.size() == 2);
  Add(sketch, 1000, 20);
  periods.AddLaunches(241, 279);
  CHECK(periods.MeanIndex(0) == doctest::Approx(139.5));
  CHECK(periods.MeanIndex(1) == doctest::Approx(259.0));
  CHECK(periods.last_index() == 279);
}

TEST_CASE("the launches of a period are counted by cluster, for every cut") {
  KernelSketch sketch(false);
  KernelPeriods periods;
  Add(sketch, 1000, 60);
  Add(sketch, 9000, 40);
  periods.AddCapture(50);
  periods.Update(sketch);
  REQUIRE(periods.size() == 2);
  Add(sketch, 1000, 10);
  Add(sketch, 9000, 20);
  KernelClusters clusters;
  const auto count = [&](std::size_t cluster, std::size_t period) {
    return clusters.list().at(cluster).periods.at(period).launches.count();
  };
  clusters.SetCut(sketch.cells(), std::vector<std::size_t>{0, 1}, true);
  periods.CountIn(clusters);
  CHECK(count(0, 0) == 60);
  CHECK(count(0, 1) == 10);
  CHECK(count(1, 0) == 40);
  CHECK(count(1, 1) == 20);
  CHECK(clusters.list()[1].periods[1].launches.mean() == doctest::Approx(9000.0));
  clusters.SetCut(sketch.cells(), std::vector<std::size_t>{0}, true);
  periods.CountIn(clusters);
  CHECK(count(0, 0) == 100);
  CHECK(count(0, 1) == 30);
  const std::uint32_t bin = stats::LogSketch::BinOf(9000);
  const sampling::KernelCells cells = periods.Cells(1, sketch, bin, bin + 1);
  REQUIRE(cells.size() == 1);
  CHECK(cells[0].count() == 20);
  CHECK(periods.Cells(0, sketch, 0, bin).at(0).count() == 60);
}

TEST_CASE("a run whose captures perturb launches is a single period") {
  KernelSketch sketch(true);
  KernelPeriods periods;
  periods.AddCapture(1);
  Add(sketch, 1000, 100);
  periods.Update(sketch);
  CHECK(periods.size() == 1);
}

}  // namespace
}  // namespace stemtap::online
