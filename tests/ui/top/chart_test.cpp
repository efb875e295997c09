// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "ui/top/draw.h"
#include "ui/top/figures.h"

namespace stemtap::ui {
namespace {

bool Shows(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("busy time is the mean over the devices and the recent slices") {
  model::Activity activity;
  CHECK(std::isnan(BusyShare(activity, 100)));
  activity = {
      2,
      0,
      1000,
      6,
      {{0, 1, 1, 1}, {1, 5, 2000, 2000}, {2, 5, 900, 500}, {4, 5, 3000, 1500}, {5, 1, 1, 1}}};
  // The first and last slices are incomplete.
  CHECK(BusyShare(activity, ~std::uint64_t{0}) ==
        doctest::Approx((2000 + 500 + 0 + 1500) / 8000.0));
  CHECK(BusyShare(activity, 2000) == doctest::Approx(1500 / 4000.0));
  CHECK(BusyShare(activity, 1) == doctest::Approx(1500 / 2000.0));
  activity.slices.resize(1);
  activity.count = 1;
  CHECK(BusyShare(activity, 1) == doctest::Approx(1 / 2000.0));
  // There are 6 slices in 3 columns.
  activity = {2, 0, 1000, 6, {{0, 1, 1, 1000}, {1, 5, 2000, 2000}, {4, 5, 3000, 500}}};
  const std::vector<double> columns = BusyOverTime(activity, 3);
  REQUIRE(columns.size() == 3);
  CHECK(columns[0] == doctest::Approx(0.75));
  CHECK(columns[1] == 0.0);
  CHECK(columns[2] == doctest::Approx(0.125));
  // One slice spans many columns.
  CHECK(BusyOverTime({1, 0, 1000, 1, {{0, 1, 500, 500}}}, 4) == std::vector<double>(4, 0.5));
  CHECK(BusyOverTime(activity, 0).empty());
}

TEST_CASE("launches per second follow from the points of the timeline") {
  model::OverviewTotals totals;
  CHECK(std::isnan(RateOverTime(totals, 3)[0]));
  totals.elapsed_s = 8.0;
  totals.timeline = {{2.0, 200}, {4.0, 200}, {8.0, 1000}};
  CHECK(RateOverTime(totals, 4) == std::vector<double>{100.0, 0.0, 200.0, 200.0});
  CHECK(RateOverTime(totals, 2) == std::vector<double>{50.0, 200.0});
  // The time after the last point has the launches observed since then.
  totals.elapsed_s = 16.0;
  CHECK(RateOverTime(totals, 2) == std::vector<double>{125.0, 0.0});
  totals.observed = 1800;
  CHECK(RateOverTime(totals, 2) == std::vector<double>{125.0, 100.0});
}

TEST_CASE("launches of the devices are drawn without the first and last of many slices") {
  model::Activity activity = {
      1,
      0,
      500'000'000,
      10,
      {{0, 9, 1, 1}, {1, 50, 1, 1}, {2, 70, 1, 1}, {8, 20, 1, 1}, {9, 9, 1, 1}}};
  CHECK(RateOverTime(activity, 4) == std::vector<double>{120.0, 0.0, 0.0, 20.0});
  CHECK(DrawnSeconds(activity) == 4.0);
  activity.count = 4;
  activity.slices.resize(3);
  CHECK(RateOverTime(activity, 4) == std::vector<double>{18.0, 100.0, 140.0, 0.0});
  CHECK(DrawnSeconds(activity) == 2.0);
  CHECK(std::isnan(RateOverTime(model::Activity(), 4)[0]));
}

TEST_CASE("charts have a scale and one column per part of the time") {
  const Canvas canvas = {80, false, false};
  Chart chart;
  chart.title = "some values";
  chart.values = {0.0, 1.0, 50.0, 100.0, NAN};
  chart.upper = 100.0;
  chart.label = [](double value) { return std::to_string(std::lround(value)); };
  chart.end = "0:12";
  const auto text = [&](std::size_t rows) {
    std::string all;
    for (const Line& line : DrawChart(chart, rows, canvas)) all += line.Text() + "\n";
    return all;
  };
  CHECK(text(4) ==
        "         some ~\n"
        "     100|   #  \n"
        "        |   #  \n"
        "        |  ##  \n"
        "       0| .##  \n"
        "         0 0:12\n");
  CHECK(Shows(text(6), "      50|"));  // a label in the middle
  chart.log = true;
  chart.lower = 1.0;
  chart.values = {10.0, 1.0, 1000.0, 100.0, -1.0};
  CHECK(text(4) ==
        "         some ~\n"
        "     100|  ##  \n"
        "      10|  ##  \n"
        "        |# ##  \n"
        "       1|#.##  \n"
        "         0 0:12\n");
  // The mark has a label, and a line where there is no bar.
  chart.mark = 5.0;
  CHECK(text(4) ==
        "         some ~\n"
        "     100|  ##  \n"
        "      10|  ##  \n"
        "       5|=-==- \n"
        "       1|#.##  \n"
        "         0 0:12\n");
}

TEST_CASE("a replay is drawn over its launches, with the rate of the run") {
  model::OverviewTotals totals;
  totals.mode = "replay";
  totals.elapsed_s = 0.25;  // of the replay
  totals.observed = 1000;
  totals.timeline = {{0.2, 500}, {0.21, 1000}};
  totals.timeline[0].bound = 0.5;
  totals.timeline[1].bound = 0.25;
  totals.bound = 0.25;
  CHECK(std::isnan(RunSeconds(totals)));
  CHECK(BoundAt(totals, 4)[2] == 0.5);
  CHECK(BoundAt(totals, 4)[3] == 0.25);
  totals.activity = {1, 0, 500'000'000, 10, {{0, 9, 1, 1}}};
  CHECK(RunSeconds(totals) == 5.0);
  totals.mode = "live";
  CHECK(RunSeconds(totals) == 0.25);
  CHECK(BoundAt(totals, 4)[3] == 0.25);
}

}  // namespace
}  // namespace stemtap::ui
