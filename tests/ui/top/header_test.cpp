// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "model/overview_reader.h"
#include "ui/top/draw.h"
#include "ui/top/made_overview.h"
#include "ui/top/shown.h"

namespace stemtap::ui {
namespace {

using test::JsonOf;
using test::MadeOverview;

TEST_CASE("the header contains the figures of the session") {
  MadeOverview made;
  made.dropped = 12;
  made.losses = R"({"ring_full":10,"incomplete":2})";
  Shown shown({made});
  const std::string screen = shown.Screen();
  CHECK(Has(screen, "running 0:12"));
  CHECK(Has(screen, "python3 decode.py"));
  CHECK(Has(screen, "launches 4,500  1,000/s"));
  CHECK(Has(screen, "GPU time 10.0 ms  kernels 3  level gate (log)\n"));
  CHECK(Has(screen, "3 open, 3 closed"));
  CHECK(Has(screen, "captured 21 launches, 1.00 % of the time"));
  CHECK(Has(screen, "bound 6.10 %  asked for 5.00 % at 95.0 % confidence"));
  CHECK(Has(screen, "dropped 12  ring_full 10, incomplete 2"));
  bool bad = false;
  for (const Line& line : DrawScreen(shown.model, 80, 24, false).lines) {
    for (const Span& span : line.spans)
      bad = bad || (span.text == "12" && span.style == Style::kBad);
  }
  CHECK(bad);
  CHECK(Has(screen, "60.00 %"));
  CHECK(Has(screen, "6.00 us"));
}

TEST_CASE(
    "the header shows whether launches are recorded, the window, and a bound that stays met") {
  const auto screen = [](const char* recording, std::uint32_t window, bool stays) {
    Result<model::Overview> overview = model::ParseOverview(JsonOf({}), "made");
    REQUIRE(overview.ok());
    overview.value().recording = recording;
    overview.value().window = window;
    overview.value().has_stayed_bound = stays;
    // As a reader of the file sees it.
    const Result<model::Overview> read =
        model::ParseOverview(model::OverviewToJson(overview.value()), "written");
    REQUIRE(read.ok());
    Model model;
    model.Show({{"/a", SessionState::kRunning, &read.value(), ""}});
    return Snapshot(model, false);
  };
  CHECK(Has(screen("off", 0, false), "running, recording is off 0:12"));
  CHECK(Has(screen("counting", 0, false), "running, launches are only counted 0:12"));
  CHECK(Has(screen("", 3, true), "running window 3 0:12"));
  CHECK(Has(screen("", 3, true), "bound 6.10 % stays met  asked for 5.00 %"));
  CHECK_FALSE(Has(screen("", 0, false), "window"));
  CHECK_FALSE(Has(screen("", 0, false), "stays met"));
}

TEST_CASE("the header shows how busy the GPU is, now or over the entire session") {
  MadeOverview made;
  // Each slice is one second. The last two complete seconds are idle.
  made.activity =
      R"({"devices":1,"start_ns":0,"width_ns":1000000000,"count":9,"slices":[[0,9,9,900000000],[1,9,9,1000000000],)"
      R"([2,9,9,1000000000],[3,9,9,1000000000],[4,9,9,500000000],[8,9,9,9]]})";
  Shown shown({made});
  CHECK(Has(shown.Screen(100), "1,000/s  GPU busy 0 %  GPU time 10.0 ms  kernels 3"));
  made.state = "ended";
  shown.Again({made});
  CHECK(Has(shown.Screen(100), "1,000/s  GPU busy 50.0 %  GPU time 10.0 ms  kernels 3"));
  MadeOverview other;  // has no activity
  other.state = "ended";
  shown.Again({made, other});
  CHECK(Has(shown.Screen(100), "GPU busy 50.0 %"));
  shown.Again({MadeOverview()});
  CHECK(!Has(shown.Screen(100), "busy"));
  // The slices end with the last kernel, so no slice contains the idle time after it.
  made.state = "running";
  made.activity =
      R"({"devices":1,"start_ns":0,"width_ns":1000000000,"count":9,"slices":[[7,9,9,1000000000],[8,9,9,9]]})";
  shown.Again({made});
  CHECK(Has(shown.Screen(100), "GPU busy 50.0 %"));
  std::vector<WatchedSession> sessions = shown.model.sessions();
  sessions[0].launches_per_s = 0.0;
  shown.model.Show(sessions);
  CHECK(Has(shown.Screen(100), "0/s  GPU busy 0 %"));
}

TEST_CASE("a replay is shown with the duration of its run") {
  MadeOverview made;
  made.mode = "replay";
  made.state = "ended";
  made.elapsed_s = 0.4;
  CHECK(Has(Shown({made}).Screen(), "ended replay  python3"));
  made.activity =
      R"({"devices":1,"start_ns":0,"width_ns":1000000000,"count":17,"slices":[[0,9,9,9]]})";
  CHECK(Has(Shown({made}).Screen(), "ended replay 0:17  python3"));
}

TEST_CASE("the header reports that the bound is the observed error") {
  MadeOverview made;
  CHECK_FALSE(Has(Shown({made}).Screen(), "observed error"));
  made.state = "ended";
  made.certified_bound = "0.048";
  CHECK(Has(Shown({made}).Screen(),
            "the bound is the observed error, which exceeds the certified bound, 4.80 %\n"));
  // The bound of several sessions is the mean of their bounds.
  Shown several({made, made});
  CHECK_FALSE(Has(several.Screen(), "observed error"));
}

TEST_CASE("the header reports that only the longest kernels are listed") {
  Result<model::Overview> overview = model::ParseOverview(JsonOf({}), "made");
  REQUIRE(overview.ok());
  overview.value().kernels_known = 10000;
  Model model;
  model.Show({{"/a", SessionState::kRunning, &overview.value(), ""}});
  CHECK(Has(Snapshot(model, false), "kernels 10,000, the longest 3 listed  "));
}

TEST_CASE("a narrow header omits figures at its end, and cuts none") {
  MadeOverview made;
  made.dropped = 12;
  made.losses = R"({"ring_full":10,"incomplete":2})";
  made.activity =
      R"({"devices":1,"start_ns":0,"width_ns":1000000000,"count":3,"slices":[[0,9,9,1000000000],[1,9,9,500000000]]})";
  Shown shown({made, made});
  const auto lines_at = [&](int width) {
    std::vector<std::string> lines;
    for (const Line& line : DrawScreen(shown.model, width, 24, false).lines) {
      lines.push_back(line.Text());
    }
    return lines;
  };
  const std::vector<std::string> whole = lines_at(200);
  for (int width = 20; width < 120; ++width) {
    CAPTURE(width);
    const std::vector<std::string> lines = lines_at(width);
    for (std::size_t i = 1; i < 6; ++i) {  // the lines between the title and the table
      CAPTURE(lines[i]);
      if (whole[i].starts_with("bound ")) continue;  // ends with a chart that fits any width
      CHECK(whole[i].starts_with(lines[i]));
      const std::string rest = whole[i].substr(std::min(whole[i].size(), lines[i].size()));
      // What is left out begins where a figure ends.
      const bool ends_figure = rest.empty() || rest.starts_with("  ") || rest.starts_with(", ") ||
                               rest.starts_with(" launches");
      CHECK(ends_figure);
    }
  }
  CHECK(Has(shown.Screen(80), "GPU time 20.0 ms"));
}

TEST_CASE("launches that are not processed yet are shown as pending") {
  Result<model::Overview> overview = model::ParseOverview(JsonOf({}), "made");
  REQUIRE(overview.ok());
  overview.value().kept += 63;
  Model model;
  model.Show({{"/a", SessionState::kRunning, &overview.value(), ""}});
  CHECK(Has(Snapshot(model, false), "launches 4,500 +63  "));
  model.Show({{"/a", SessionState::kKilled, &overview.value(), ""}});
  CHECK(Has(Snapshot(model, false), "launches 4,500  "));
}

TEST_CASE("a session without an overview is shown as waiting") {
  Model model;
  model.Show(
      {{"/s", SessionState::kWaiting, nullptr, "/s/overview.json: No such file or directory"}});
  std::string text;
  for (const Line& line : DrawScreen(model, 80, 24, false).lines) text += line.Text() + "\n";
  CHECK(Has(text, "waiting for the first overview: /s/overview.json: No such file"));
  CHECK(Has(text, "no kernel yet"));
}

TEST_CASE("problems of a session are shown below its title") {
  const Result<model::Overview> overview = model::ParseOverview(JsonOf({}), "made");
  REQUIRE(overview.ok());
  Model model;
  const auto second_line = [&](WatchedSession session) {
    model.Show({std::move(session)});
    return DrawScreen(model, 100, 24, false).lines[1].Text();
  };
  WatchedSession session = {"/s", SessionState::kRunning, &overview.value(), ""};
  CHECK(second_line(session).starts_with("bound "));
  session.overdue_s = 75;
  CHECK(second_line(session).starts_with("these figures are 1:15 old: the collector, process "));
  session = {"/s", SessionState::kEnded, &overview.value(), ""};
  CHECK(second_line(session) == "ended, without a plan.json in /s");
  session.plan = true;
  CHECK(second_line(session) == "ended, the plan is /s/plan.json");
  // For several sessions, shows counts.
  session.overdue_s = 75;
  model.Show({session, session});
  CHECK(Has(Snapshot(model, false), "2 ended  2 stale\n"));
}

}  // namespace
}  // namespace stemtap::ui
