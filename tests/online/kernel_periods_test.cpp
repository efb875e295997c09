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

Capture At(std::uint64_t position) {
  Capture launch;
  launch.place.position = position;
  launch.place.end_bin = stats::LogSketch::kEndBin;
  launch.place.in_cluster = position;
  return launch;
}

TEST_CASE("a period ends when the launches have grown by a quarter octave") {
  KernelSketch sketch(false);
  KernelPeriods periods;
  periods.AddCapture(At(1));
  Add(sketch, 1000, 5000);
  periods.Update(sketch);
  CHECK(periods.begins() == std::vector<std::uint64_t>{0, 5000});
  Add(sketch, 1000, 946);
  periods.Update(sketch);
  CHECK(periods.size() == 2);
  Add(sketch, 1000, 1);  // 5947 = 1.1892 x 5000, rounded up
  periods.Update(sketch);
  CHECK(periods.begins() == std::vector<std::uint64_t>{0, 5000, 5947});
  CHECK(periods.PeriodOf(1) == 0);
  CHECK(periods.PeriodOf(5000) == 0);
  CHECK(periods.PeriodOf(5001) == 1);
  CHECK(periods.PeriodOf(5947) == 1);
  CHECK(periods.PeriodOf(5948) == 2);
}

TEST_CASE("the first period ends at the last update before the first capture") {
  KernelSketch sketch(false);
  KernelPeriods periods;
  Add(sketch, 1000, 3000);
  periods.AddLaunches(0, 2999);
  periods.Update(sketch);
  Add(sketch, 1000, 2000);
  periods.AddLaunches(3000, 4999);
  periods.Update(sketch);
  CHECK(periods.size() == 1);  // no capture yet
  SUBCASE("the latest update") {
    periods.AddCapture(At(5001));
    CHECK(periods.begins() == std::vector<std::uint64_t>{0, 5000});
  }
  SUBCASE("the update before it, if the capture comes back late") {
    periods.AddCapture(At(3001));
    CHECK(periods.begins() == std::vector<std::uint64_t>{0, 3000});
    CHECK(periods.MeanIndex(0) == doctest::Approx(1499.5));
    CHECK(periods.MeanIndex(1) == doctest::Approx(3999.0));
  }
  SUBCASE("no period, if the capture was before both") {
    periods.AddCapture(At(3000));
    CHECK(periods.size() == 1);
  }
  CHECK(periods.last_index() == 4999);
  const std::vector<std::uint64_t> begins = periods.begins();
  periods.AddCapture(At(4001));  // not the first
  CHECK(periods.begins() == begins);
}

TEST_CASE("a period ends early when its captures are in its middle") {
  KernelSketch sketch(false);
  KernelPeriods periods;
  periods.AddCapture(At(1));
  Add(sketch, 1000, 5000);
  periods.AddLaunches(0, 4999);
  periods.Update(sketch);
  REQUIRE(periods.begins() == std::vector<std::uint64_t>{0, 5000});
  const auto watched = [&](std::uint64_t first, int count) {
    Add(sketch, 1000, count);
    periods.AddLaunches(first, first + static_cast<std::uint64_t>(count) - 1);
    periods.Watch(sketch);
  };
  watched(5000, 100);
  SUBCASE("of the launches of their kernel") {
    periods.AddCapture(At(5090));
    watched(5100, 79);  // 179 launches, less than twice 90
    periods.Update(sketch);
    CHECK(periods.size() == 2);
    watched(5179, 10);  // twice 90, but the period has not grown by a sixteenth since
    periods.Update(sketch);
    CHECK(periods.size() == 2);
    watched(5189, 1);
    watched(5190, 90);  // the period has ended before
    periods.Update(sketch);
    CHECK(periods.begins() == std::vector<std::uint64_t>{0, 5000, 5190});
    CHECK(periods.MeanIndex(1) == doctest::Approx(0.5 * (4999 + 5189)));
    CHECK(periods.last_index() == 5279);
    SUBCASE("and captures of the ended period do not count in the next one") {
      watched(5280, 500);
      periods.Update(sketch);
      CHECK(periods.size() == 3);
    }
    SUBCASE("and captures that came before the update do") {
      periods.AddCapture(At(5200));
      watched(5280, 500);
      periods.Update(sketch);
      CHECK(periods.begins().back() == 5780);
    }
  }
  SUBCASE("of the launches of their cluster") {
    // 20 of the 100 launches of 9 us so far, which began after launch 5,100.
    Add(sketch, 9000, 100);
    Capture launch = At(5120);
    launch.place.first_bin = stats::LogSketch::BinOf(9000);
    launch.place.end_bin = launch.place.first_bin + 1;
    launch.place.in_cluster = 20;
    periods.AddCapture(launch);
    periods.Watch(sketch);
    periods.Update(sketch);
    CHECK(periods.begins().back() == 5200);
  }
  SUBCASE("but not before it has grown by 2 %") {
    periods.AddCapture(At(5001));
    periods.Watch(sketch);  // 5,100 launches: 2 %
    periods.Update(sketch);
    CHECK(periods.begins().back() == 5100);
  }
}

TEST_CASE("the mean index of a period is the middle of its launch indices") {
  KernelSketch sketch(false);
  KernelPeriods periods;
  Add(sketch, 1000, 100);
  periods.AddCapture(At(50));
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
  periods.AddCapture(At(50));
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
  periods.AddCapture(At(1));
  Add(sketch, 1000, 100);
  periods.Update(sketch);
  CHECK(periods.size() == 1);
}

}  // namespace
}  // namespace stemtap::online
