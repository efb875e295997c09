// SPDX-License-Identifier: Apache-2.0
#include "online/native_times.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "stats/log_sketch.h"

namespace stemtap::online {
namespace {

std::uint64_t Launches(const sampling::KernelCells& cells) {
  std::uint64_t sum = 0;
  for (const stats::Moments& cell : cells) sum += cell.count();
  return sum;
}

TEST_CASE("a captured launch counts in its context and hardly changes the mean and variance") {
  NativeTimes times;
  const std::uint32_t fast = times.ContextOf(1, 100);
  const std::uint32_t slow = times.ContextOf(2, 100);
  for (int i = 0; i < 10; ++i) {
    times.AddNative(fast, i % 2 == 0 ? 990 : 1010);
    times.AddNative(slow, 5000);
  }
  std::uint32_t fast_one = 0;
  for (int i = 0; i < 10; ++i) fast_one = times.AddCaptured(fast, 1'000'000, true);
  const std::uint32_t slow_one = times.AddCaptured(slow, 5'000'000, true);
  std::vector<std::uint32_t> bins;
  const sampling::KernelCells cells = times.Cells(bins);
  REQUIRE(cells.size() == 2);
  CHECK(cells[0].count() == 20);
  CHECK(cells[0].mean() == doctest::Approx(1000.0).epsilon(0.002));
  CHECK(cells[0].variance() == doctest::Approx(100.0).epsilon(0.02));
  CHECK(cells[1].count() == 11);
  CHECK(cells[1].mean() == doctest::Approx(5000.0));
  CHECK(bins ==
        std::vector<std::uint32_t>{stats::LogSketch::BinOf(999), stats::LogSketch::BinOf(5000)});
  CHECK(times.imputed_ns() == doctest::Approx(10 * 1000 + 5000).epsilon(0.002));
  CHECK(times.GroupMeanOf(fast_one) == 999);  // mean of the last launches, 990 and 1010 in turn
  CHECK(times.GroupMeanOf(slow_one) == 5000);
}

TEST_CASE("contexts with few launches are pooled with other contexts of their configuration") {
  NativeTimes times;
  for (std::uint64_t history = 1; history <= 4; ++history) {
    const std::uint32_t context = times.ContextOf(history, 100);
    for (int i = 0; i < 3; ++i) times.AddNative(context, 1000 * history);
  }
  const std::uint32_t known = times.ContextOf(5, 100);
  for (int i = 0; i < 8; ++i) times.AddNative(known, 9000);
  // The 12 launches of four contexts have a mean of 2500. A configuration with too few launches
  // uses the kernel's mean.
  const std::uint32_t alone = times.ContextOf(6, 200);
  times.AddNative(alone, 77);
  times.AddCaptured(alone, 77'000, true);
  std::vector<std::uint32_t> bins;
  const sampling::KernelCells cells = times.Cells(bins);
  REQUIRE(cells.size() == 3);
  CHECK(cells[0].count() == 2);
  CHECK(cells[0].mean() == 77.0);  // from the only native launch of its context
  CHECK(cells[1].count() == 12);
  CHECK(cells[1].mean() == doctest::Approx(2500.0));
  CHECK(cells[2].count() == 8);
  CHECK(times.imputed_ns() == 77);
  const std::uint32_t hardly = times.AddCaptured(times.ContextOf(3, 100), 1, true);
  const std::uint32_t well = times.AddCaptured(known, 1, true);
  times.Cells(bins);
  CHECK(times.GroupMeanOf(hardly) == doctest::Approx(2500).epsilon(0.05));
  CHECK(times.GroupMeanOf(well) == 9000);
}

TEST_CASE("captures of a context with few launches have the variance of its configuration") {
  NativeTimes times;
  const std::uint32_t known = times.ContextOf(1, 100);
  for (int i = 0; i < 10; ++i) times.AddNative(known, i % 2 == 0 ? 900 : 1100);
  const std::uint32_t once = times.ContextOf(2, 100);
  times.AddNative(once, 1000);
  for (int i = 0; i < 20; ++i) times.AddCaptured(once, 1'000'000, true);
  std::vector<std::uint32_t> bins;
  sampling::KernelCells cells = times.Cells(bins);
  REQUIRE(cells.size() == 1);  // with one mean
  CHECK(cells[0].count() == 31);
  CHECK(cells[0].mean() == doctest::Approx(1000.0));
  CHECK(cells[0].variance() == doctest::Approx(100'000.0 / 11));

  // Seven launches can be equal by chance; eight are trusted.
  const std::uint32_t seven = times.ContextOf(3, 200);
  for (int i = 0; i < 7; ++i) times.AddNative(seven, 5000);
  for (int i = 0; i < 93; ++i) times.AddCaptured(seven, 1'000'000, true);
  cells = times.Cells(bins);
  REQUIRE(cells.size() == 2);
  CHECK(cells[1].count() == 100);
  CHECK(cells[1].mean() == doctest::Approx(5000.0));
  CHECK(cells[1].stddev() > 1000.0);  // the standard deviation of the kernel is 1900
  times.AddNative(seven, 5000);
  cells = times.Cells(bins);
  REQUIRE(cells.size() == 2);
  CHECK(cells[1].stddev() == 0.0);
}

TEST_CASE("a context without native launches has the mean of its configuration") {
  NativeTimes times;
  for (std::uint64_t config = 1; config <= 2; ++config) {
    const std::uint32_t context = times.ContextOf(10 * config, config);
    for (int i = 0; i < 10; ++i) times.AddNative(context, 1000 * config);
  }
  const std::uint32_t captured = times.ContextOf(30, 2);
  const std::uint32_t one = times.AddCaptured(captured, 9'000'000, true);
  std::vector<std::uint32_t> bins;
  const sampling::KernelCells cells = times.Cells(bins);
  REQUIRE(cells.size() == 2);
  CHECK(cells[1].count() == 11);
  CHECK(times.GroupMeanOf(one) == 2000);
  CHECK(times.CapturedMeanOf(one) == 2000);
  CHECK(times.LocalMeanOf(one) == 0);  // its context has no native launches
  CHECK(times.MeanOf(captured) == 2000);
  CHECK(times.imputed_ns() == 2000);
}

TEST_CASE("captures of a context whose durations change have the mean of their regime") {
  NativeTimes times;
  const auto native = [&](std::uint64_t ns, int launches) {
    for (int i = 0; i < launches; ++i) times.AddNative(times.ContextOf(1, 100), ns + i % 20);
  };
  const auto captured = [&] {
    for (int i = 0; i < 10; ++i) times.AddCaptured(times.ContextOf(1, 100), 5'000'000, true);
  };
  native(1000, 500);
  captured();
  native(3000, 500);
  captured();
  native(1000, 500);
  captured();
  std::vector<std::uint32_t> bins;
  const sampling::KernelCells cells = times.Cells(bins);
  REQUIRE(cells.size() == 2);
  // The first launches of a regime belong to it, although each one was inconclusive.
  CHECK(cells[0].count() == 1020);
  CHECK(cells[0].mean() == doctest::Approx(1009.5).epsilon(0.001));
  CHECK(cells[1].count() == 510);
  CHECK(cells[1].mean() == doctest::Approx(3009.5).epsilon(0.001));
  CHECK(static_cast<double>(times.imputed_ns()) ==
        doctest::Approx(20 * 1009.5 + 10 * 3009.5).epsilon(0.01));
}

TEST_CASE("captures between two regimes belong to the second regime") {
  NativeTimes times;
  const std::uint32_t context = times.ContextOf(1, 100);
  for (int i = 0; i < 100; ++i) times.AddNative(context, 1000 + i % 20);
  std::vector<std::uint32_t> captured;
  for (int i = 0; i < 50; ++i) captured.push_back(times.AddCaptured(context, 5'000'000, true));
  times.AddConcurrent(context, 5'000'000);
  // So far, nothing distinguishes these launches from the previous launches.
  std::vector<std::uint32_t> bins;
  sampling::KernelCells cells = times.Cells(bins);
  REQUIRE(cells.size() == 1);
  CHECK(cells[0].count() == 151);
  CHECK(times.LocalMeanOf(captured[0]) == doctest::Approx(1010).epsilon(0.01));
  for (int i = 0; i < 100; ++i) times.AddNative(context, 3000 + i % 20);
  cells = times.Cells(bins);
  REQUIRE(cells.size() == 2);
  CHECK(cells[0].count() == 100);
  CHECK(cells[1].count() == 151);
  for (const std::uint32_t one : captured) {
    CHECK(times.LocalMeanOf(one) == doctest::Approx(3000).epsilon(0.01));
    CHECK(times.GroupMeanOf(one) == doctest::Approx(3009).epsilon(0.01));
  }
  // A single outlier does not begin a regime.
  times.AddNative(context, 9000);
  const std::uint32_t after = times.AddCaptured(context, 5'000'000, true);
  times.AddNative(context, 3000);
  CHECK(times.Cells(bins).size() == 2);
  CHECK(times.GroupMeanOf(after) == times.GroupMeanOf(captured[0]));
}

TEST_CASE("a captured launch is assigned the mean of its neighbors if durations drift") {
  NativeTimes times;
  const std::uint32_t context = times.ContextOf(1, 100);
  std::vector<std::uint32_t> captured;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    times.AddNative(context, 1000 + i);
    if (i % 250 == 249) captured.push_back(times.AddCaptured(context, 1'000'000, true));
  }
  times.AddNative(context, 2000);
  std::vector<std::uint32_t> bins;
  const sampling::KernelCells cells = times.Cells(bins);
  REQUIRE(captured.size() == 4);
  for (std::uint64_t i = 0; i < 4; ++i) {
    // The average of about the last eight launches lags by seven launches.
    CHECK(times.LocalMeanOf(captured[i]) == doctest::Approx(1250 + 250 * i - 7).epsilon(0.005));
  }
}

TEST_CASE("without native launches, the recorded durations are used") {
  NativeTimes times;
  CHECK(times.MeanOf(times.ContextOf(1, 100)) == 0);
  times.AddCaptured(times.ContextOf(1, 100), 4000, true);
  times.AddCaptured(times.ContextOf(2, 100), 6000, true);
  std::vector<std::uint32_t> bins;
  sampling::KernelCells cells = times.Cells(bins);
  REQUIRE(cells.size() == 1);
  CHECK(cells[0].count() == 2);
  CHECK(cells[0].mean() == 5000.0);
  CHECK(times.imputed_ns() == 10000);
  // After one native launch anywhere in the kernel, recorded durations are no longer used.
  times.AddNative(times.ContextOf(3, 300), 5);
  cells = times.Cells(bins);
  REQUIRE(cells.size() == 1);
  CHECK(cells[0].count() == 3);
  CHECK(cells[0].mean() == 5.0);
  CHECK(times.imputed_ns() == 10);
}

TEST_CASE("launches of contexts beyond the limit belong to the kernel") {
  NativeTimes times;
  constexpr std::uint64_t kMany = 3 * NativeTimes::kMaxGroups;
  for (std::uint64_t i = 0; i < kMany; ++i) {
    times.AddNative(times.ContextOf(2 * i + 1, 2 * i + 2), 1000);
  }
  const std::uint32_t beyond = times.ContextOf(2 * kMany, 2 * kMany + 1);
  CHECK(beyond == 0);
  const std::uint32_t one = times.AddCaptured(beyond, 1'000'000, true);
  std::vector<std::uint32_t> bins;
  const sampling::KernelCells cells = times.Cells(bins);
  CHECK(Launches(cells) == kMany + 1);
  CHECK(times.imputed_ns() == 1000);
  CHECK(times.GroupMeanOf(one) == 1000);
}

TEST_CASE("cells have ascending means, and groups that share a bin are one cell") {
  NativeTimes times;
  for (std::uint64_t history = 1; history <= 300; ++history) {
    const std::uint32_t context = times.ContextOf(history, history % 7);
    for (int i = 0; i < 8; ++i) times.AddNative(context, 1000 + (history * 7919) % 500);
  }
  std::vector<std::uint32_t> bins;
  const sampling::KernelCells cells = times.Cells(bins);
  CHECK(cells.size() < 300);
  REQUIRE(cells.size() == bins.size());
  for (std::size_t i = 1; i < cells.size(); ++i) {
    CHECK(cells[i - 1].mean() < cells[i].mean());
    CHECK(bins[i - 1] < bins[i]);
  }
  CHECK(Launches(cells) == 2400);
}

}  // namespace
}  // namespace stemtap::online
