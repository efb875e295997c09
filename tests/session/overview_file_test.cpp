// SPDX-License-Identifier: Apache-2.0
#include "session/overview_file.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/temp_dir.h"

namespace stemtap::session {
namespace {

using test::TempDir;

nlohmann::json Read(const TempDir& scratch) {
  return nlohmann::json::parse(test::ReadFile(scratch / "overview.json"));
}

std::size_t Files(const TempDir& scratch) {
  const std::filesystem::directory_iterator files(scratch.path());
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

TEST_CASE("the first overview is written immediately, and the next one after at least a second") {
  TempDir scratch;
  const Directory directory = Directory::Open(scratch.path().string()).value();
  int described = 0;
  OverviewFile file(directory,
                    [&](model::Overview& o) { o.seen = static_cast<std::uint64_t>(++described); });
  for (int i = 0; i < 100; ++i) file.Update();
  CHECK(described == 1);
  CHECK(Read(scratch)["seen"] == 1);
  CHECK(Read(scratch)["period_ms"].get<int>() >= 1000);
  file.Write();
  CHECK(Read(scratch)["seen"] == 2);
  CHECK(file.Warning().empty());
  CHECK(Files(scratch) == 1);
}

TEST_CASE("an overview that takes long to write is written less often") {
  TempDir scratch;
  const Directory directory = Directory::Open(scratch.path().string()).value();
  OverviewFile file(directory, [](model::Overview&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  });
  file.Write();
  CHECK(Read(scratch)["period_ms"].get<int>() >= 60 * 50);
}

TEST_CASE("an overview that took very long once is still updated") {
  TempDir scratch;
  const Directory directory = Directory::Open(scratch.path().string()).value();
  OverviewFile file(directory, [](model::Overview&) {
    std::this_thread::sleep_for(OverviewFile::kMaxPeriod / OverviewFile::kTimesCost +
                                std::chrono::milliseconds(50));
  });
  file.Write();
  CHECK(Read(scratch)["period_ms"] == 60 * 1000);
}

TEST_CASE("failed writes of the overview are counted and leave no file") {
  TempDir scratch;
  const Directory directory = Directory::Open(scratch.path().string()).value();
  scratch.Write("overview.json/is a folder", "");
  OverviewFile file(directory, [](model::Overview&) {});
  CHECK(file.Warning().empty());
  for (int i = 0; i < 3; ++i) file.Write();
  CHECK(file.Warning().find("overview.json could not be written 3 times, the last time: ") == 0);
  CHECK(Files(scratch) == 1);
}

TEST_CASE("an overview that runs out of memory is reported and does not end the session") {
  TempDir scratch;
  const Directory directory = Directory::Open(scratch.path().string()).value();
  OverviewFile file(directory, [](model::Overview&) { throw std::bad_alloc(); });
  file.Write();
  CHECK(file.Warning() ==
        "overview.json could not be written 1 time, the last time: out of memory");
}

TEST_CASE("a timeline has one point per second and at most 512 points for the entire run") {
  double now = 0.0;
  Timeline timeline([&now] { return now; });
  online::SamplerStatus status;
  for (int tick = 0; tick < 200'000; ++tick) {
    now = tick * 0.25;
    status.observed = static_cast<std::uint64_t>(tick);
    if (timeline.Due()) timeline.Add(status);
    REQUIRE(timeline.points().size() <= model::Overview::kMaxPoints);
    if (now == 100.0) CHECK(timeline.points().size() == 101);
  }
  const auto& points = timeline.points();
  CHECK(points.size() > model::Overview::kMaxPoints / 2);
  CHECK(points.front().elapsed_s == 0.0);
  for (std::size_t i = 1; i < points.size(); ++i) {
    // The run takes 50,000 s, so every point is within 128 s of the next.
    CHECK(points[i].elapsed_s > points[i - 1].elapsed_s);
    CHECK(points[i].elapsed_s - points[i - 1].elapsed_s <= 128.0);
  }
}

TEST_CASE("the timeline ends with a point for the end of the session") {
  Timeline timeline([] { return 1.0; });
  online::SamplerStatus status;
  status.observed = 10;
  status.bound = 0.5;
  timeline.Add(status);
  timeline.End(status);
  CHECK(timeline.points().size() == 1);
  timeline.SetDropped(3);
  timeline.End(status);
  CHECK(timeline.points().size() == 2);
  CHECK(timeline.points().back().dropped == 3);
  CHECK(timeline.points().back().bound == 0.5);
}

}  // namespace
}  // namespace stemtap::session
