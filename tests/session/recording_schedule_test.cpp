// SPDX-License-Identifier: Apache-2.0
#include "session/recording_schedule.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "session/unobserved.h"

namespace stemtap::session {
namespace {

using shm::Recording;

// Passes launches to the schedule. Returns how many of them are observed.
std::uint64_t Observed(RecordingSchedule& schedule, std::uint64_t launches) {
  std::uint64_t observed = 0;
  for (std::uint64_t i = 0; i < launches; ++i) observed += schedule.Observes();
  return observed;
}

TEST_CASE("an extent is a time or a number of launches") {
  for (const auto& [text, seconds] :
       {std::pair("30", 30.0), std::pair("30s", 30.0), std::pair("500ms", 0.5),
        std::pair("5min", 300.0), std::pair("1.5m", 90.0), std::pair("2h", 7200.0),
        std::pair("2 h", 7200.0)}) {
    CAPTURE(text);
    CHECK(ParseExtent(text).value().seconds == seconds);
    CHECK(ParseExtent(text).value().launches == 0);
  }
  CHECK(ParseExtent("20000launches").value().launches == 20000);
  CHECK(ParseExtent("1 launch").value().launches == 1);
  for (const char* wrong : {"", "s", "0", "0s", "-1s", "5x", "1.5launches", "nan", "inf", "1e99s",
                            "30 s and more", "1e17launches"}) {
    CAPTURE(wrong);
    const Result<Extent> extent = ParseExtent(wrong);
    REQUIRE_FALSE(extent.ok());
    CHECK(extent.error().message.starts_with("is '" + std::string(wrong) + "'; expected a time"));
    CHECK(extent.error().exit_code == 2);
  }
}

TEST_CASE("without options, everything is recorded") {
  RecordingSchedule schedule({});
  CHECK(schedule.wanted() == Recording::kOn);
  CHECK(Observed(schedule, 1000) == 1000);
  schedule.Update(1e8);
  CHECK(schedule.wanted() == Recording::kOn);
}

TEST_CASE("a paused session records from the start on, and until it is stopped") {
  RecordingSchedule schedule({.paused = true});
  CHECK(schedule.wanted() == Recording::kOff);
  schedule.Update(1e8);
  CHECK(schedule.wanted() == Recording::kOff);
  schedule.Start();
  CHECK(schedule.wanted() == Recording::kOn);
  schedule.Start();
  CHECK(Observed(schedule, 10) == 10);
  schedule.Stop();
  schedule.Stop();
  CHECK(schedule.wanted() == Recording::kOff);
  // Launches from before the stop are still on their way.
  CHECK(Observed(schedule, 10) == 10);
  schedule.Start();
  CHECK(schedule.wanted() == Recording::kOn);
}

TEST_CASE("a delay and a duration in seconds begin one after the other") {
  RecordingSchedule schedule({.delay = {10.0, 0}, .duration = {5.0, 0}});
  CHECK(schedule.wanted() == Recording::kOff);
  schedule.Update(9.99);
  CHECK(schedule.wanted() == Recording::kOff);
  schedule.Update(10.5);
  CHECK(schedule.wanted() == Recording::kOn);
  schedule.Update(15.4);
  CHECK(schedule.wanted() == Recording::kOn);
  schedule.Update(15.5);
  CHECK(schedule.wanted() == Recording::kOff);
  // Each start records for as long.
  schedule.Update(100.0);
  schedule.Start();
  schedule.Update(104.9);
  CHECK(schedule.wanted() == Recording::kOn);
  schedule.Update(105.0);
  CHECK(schedule.wanted() == Recording::kOff);
}

TEST_CASE("a delay and a duration in launches are exact") {
  RecordingSchedule schedule({.delay = {0.0, 100}, .duration = {0.0, 50}});
  CHECK(schedule.wanted() == Recording::kCounting);
  CHECK(Observed(schedule, 99) == 0);
  CHECK(schedule.wanted() == Recording::kCounting);
  CHECK(Observed(schedule, 1) == 0);
  CHECK(schedule.wanted() == Recording::kOn);
  CHECK(Observed(schedule, 49) == 49);
  CHECK(schedule.wanted() == Recording::kOn);
  CHECK(Observed(schedule, 1000) == 1);
  CHECK(schedule.wanted() == Recording::kOff);
  schedule.Start();
  CHECK(Observed(schedule, 1000) == 50);
}

TEST_CASE("a delay in launches followed by a duration in seconds") {
  RecordingSchedule schedule({.delay = {0.0, 3}, .duration = {5.0, 0}});
  schedule.Update(7.0);
  CHECK(Observed(schedule, 4) == 1);
  schedule.Update(11.9);
  CHECK(schedule.wanted() == Recording::kOn);
  schedule.Update(12.0);
  CHECK(schedule.wanted() == Recording::kOff);
}

TEST_CASE("launches are counted while recording is off, if that is wanted") {
  RecordingSchedule schedule({.paused = true, .count_while_off = true});
  CHECK(schedule.wanted() == Recording::kCounting);
  CHECK(Observed(schedule, 10) == 0);
  schedule.Start();
  CHECK(Observed(schedule, 10) == 10);
  schedule.Stop();
  CHECK(schedule.wanted() == Recording::kCounting);
  CHECK(Observed(schedule, 10) == 0);
}

TEST_CASE("the log lists times without recording and runs of counted launches") {
  UnobservedLog log;
  const int first = 0;
  const int second = 0;
  log.SwitchOff(&first, 1, 100);
  log.SwitchOff(&second, 2, 150);
  log.SwitchOn(&first, 200);
  log.SwitchOn(&first, 300);  // unknown: ignored
  for (const std::uint64_t start : {50, 70, 60}) log.Count(start);
  log.Observe();
  log.Observe();
  log.Count(400);
  const std::vector<model::UnobservedInterval> all = log.Intervals();
  REQUIRE(all.size() == 4);
  CHECK(all[0].begin_ns == 50);
  CHECK(all[0].end_ns == 70);
  CHECK(all[0].launches == 3);
  CHECK(all[1].pid == 1);
  CHECK(all[1].begin_ns == 100);
  CHECK(all[1].end_ns == 200);
  CHECK(all[1].launches == model::UnobservedInterval::kUncounted);
  CHECK(all[2].pid == 2);
  CHECK(all[2].end_ns == model::kNoTime);
  CHECK(all[3].launches == 1);

  log.Restart(1000);
  REQUIRE(log.Intervals().size() == 1);
  CHECK(log.Intervals()[0].pid == 2);
  CHECK(log.Intervals()[0].begin_ns == 1000);
  log.SwitchOn(&second, 1100);
  CHECK(log.Intervals()[0].end_ns == 1100);
  for (std::uint64_t i = 0; i < model::kMaxUnobservedIntervals; ++i) {
    log.SwitchOff(&first, 1, 2000 + i);
    log.SwitchOn(&first, 2000 + i);
  }
  CHECK(log.Intervals().size() == model::kMaxUnobservedIntervals);
  CHECK(log.unlisted() == 1);
}

}  // namespace
}  // namespace stemtap::session
