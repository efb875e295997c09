// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "model/plan_cells.h"
#include "model/plan_reader.h"
#include "session/session.h"
#include "session/session_directory.h"
#include "shm/ring.h"
#include "support/temp_dir.h"

namespace stemtap::session {
namespace {

using test::ReadFile;
using test::TempDir;

TEST_CASE("a session directory must be new or empty") {
  TempDir scratch;
  CHECK(ClaimSession((scratch / "new").string(), SessionPlace::kNamed).ok());
  std::filesystem::create_directory(scratch / "empty");
  CHECK(ClaimSession((scratch / "empty").string(), SessionPlace::kNamed).ok());
  scratch.Write("full/file", "x");
  const auto full = ClaimSession((scratch / "full").string(), SessionPlace::kNamed);
  REQUIRE_FALSE(full.ok());
  CHECK(full.error().message.find("is not empty; expected a new or empty directory") !=
        std::string::npos);
  scratch.Write("plain", "x");
  CHECK_FALSE(ClaimSession((scratch / "plain").string(), SessionPlace::kNamed).ok());
  CHECK_FALSE(ClaimSession((scratch / "no/such/parent").string(), SessionPlace::kNamed).ok());
}

// Makes the files of a session in `directory`, last written `age` ago.
void WriteSession(const TempDir& directory, const std::vector<std::string>& names,
                  std::chrono::seconds age = std::chrono::seconds(0)) {
  namespace fs = std::filesystem;
  for (const std::string& name : names) {
    directory.Write("s/" + name, "old");
    fs::last_write_time(directory / ("s/" + name), fs::file_time_type::clock::now() - age);
  }
}

TEST_CASE("--force replaces a session that has ended or was killed") {
  constexpr std::chrono::seconds kLongAgo{60};
  for (const auto& [names, age] :
       std::vector<std::pair<std::vector<std::string>, std::chrono::seconds>>{
           {{"mask.ndjson", "plan.json", "session.json", "overview.json", "summary.txt",
             "cells.json", "report.html", "stemtap.log", "stemtap.1.log"},
            {}},
           {{"session.json", "plan.json"}, {}},  // copied without its mask
           {{"mask.ndjson", "ring.42.1", "gate.table", "overview.json", "plan.json.tmp.7.0"},
            kLongAgo},
           {{}, {}}}) {
    const TempDir scratch;
    std::filesystem::create_directory(scratch / "s");
    WriteSession(scratch, names, age);
    const std::string path = (scratch / "s").string();
    if (!names.empty()) CHECK_FALSE(ClaimSession(path, SessionPlace::kNamed).ok());
    const auto replaced = ClaimSession(path, SessionPlace::kReplaced);
    REQUIRE(replaced.ok());
    std::vector<std::string> left;
    replaced.value().ForEach([&](const std::string& name, ino_t) { left.push_back(name); });
    CHECK(left == std::vector<std::string>{"mask.ndjson"});
    CHECK(ReadFile(scratch / "s/mask.ndjson").empty());
    // The new session has not ended.
    CHECK_FALSE(ClaimSession(path, SessionPlace::kReplaced).ok());
  }
  const TempDir scratch;
  CHECK(ClaimSession((scratch / "new").string(), SessionPlace::kReplaced).ok());
}

TEST_CASE("--force replaces nothing but a session, and none that may still run") {
  for (const auto& [names, expected] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"mask.ndjson", "session.json", "notes.txt"},
            "contains notes.txt; --force replaces only"},
           {{"mask.ndjson", "session.json", "ring.txt"},
            "contains ring.txt; --force replaces only"},
           {{"plan.json", "report.html"}, "contains no session; --force replaces only"},
           {{"mask.ndjson", "overview.json"},
            "has not ended and was written less than 10 s ago"}}) {
    CAPTURE(expected);
    const TempDir scratch;
    WriteSession(scratch, names);
    const auto refused = ClaimSession((scratch / "s").string(), SessionPlace::kReplaced);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message.find(expected) != std::string::npos);
    for (const std::string& name : names) CHECK(ReadFile(scratch / ("s/" + name)) == "old");
  }
  // Neither a link to a session nor a directory in it is followed.
  const TempDir scratch;
  WriteSession(scratch, {"mask.ndjson", "session.json"});
  std::filesystem::create_symlink(scratch / "s", scratch / "link");
  CHECK_FALSE(ClaimSession((scratch / "link").string(), SessionPlace::kReplaced).ok());
  std::filesystem::create_directory(scratch / "s/report.html");
  scratch.Write("s/report.html/mine", "old");
  const auto refused = ClaimSession((scratch / "s").string(), SessionPlace::kReplaced);
  CHECK_FALSE(refused.ok());
  CHECK(ReadFile(scratch / "s/report.html/mine") == "old");
}

TEST_CASE("a session in the way is reported with the option that replaces it") {
  const TempDir scratch;
  WriteSession(scratch, {"mask.ndjson", "session.json"});
  const auto refused = ClaimSession((scratch / "s").string(), SessionPlace::kNamed);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.ends_with(
      "expected a new or empty directory, or --force to replace the session"));
}

TEST_CASE("dropped records are reported in session.json, in the plan and in the summary") {
  TempDir scratch;
  const auto directory = ClaimSession((scratch / "s").string(), SessionPlace::kNamed);
  REQUIRE(directory.ok());
  SessionResult result;
  model::RecordedSession& report = result.session;
  report.command = {"python", "a \"b\".py"};
  report.options = {{"error_bound", 0.05}, {"seed", std::uint64_t{1}}};
  ProcessReport process;
  process.pid = 42;
  process.program = "evil\x1b[2J";
  process.state = ProcessState::kRecording;
  process.seen = 110;
  process.kept = 100;
  process.losses[static_cast<std::uint32_t>(shm::Loss::kRingFull)] = 10;
  process.losses[static_cast<std::uint32_t>(shm::Loss::kNamesCut)] = 3;
  process.losses[static_cast<std::uint32_t>(shm::Loss::kForeignBuffers)] = 1;
  process.losses[static_cast<std::uint32_t>(shm::Loss::kGaps)] = 2;
  process.reason = "another profiler had CUPTI\x1b";
  process.cost_program_ns = 2'000'000;
  process.cost_background_ns = 30'000'000;
  process.cost_cupti_ns = 5'000;
  report.processes.push_back(process);
  report.elapsed_s = 8.5;
  result.sampler.observed = 100;
  DeviceTotals device;
  device.launches = 100;
  device.duration_ns = 3'000'000'000;
  device.busy_ns = 2'000'000'000;
  device.span_ns = 8'000'000'000;
  device.streams = {{7, 60, 2'000'000'000}, {shm::kUnknown32, 40, 1'000'000'000}};
  report.devices = {device};
  model::Plan& plan = result.plan;
  plan.totals.invocations = 100;
  Complete(result);
  REQUIRE(WriteResults(directory.value(), plan, model::SessionToJson(report),
                       SessionSummary(report, plan))
              .ok());
  CHECK(plan.totals.dropped == 10);  // truncated names do not count as lost records
  CHECK(plan.totals.gaps == 3);

  const auto session = nlohmann::json::parse(ReadFile(scratch / "s/session.json"));
  CHECK(session["schema"] == "stemtap.session/1");
  CHECK(session["counters"]["seen"] == 110);
  CHECK(session["counters"]["kept"] == 100);
  CHECK(session["counters"]["dropped"] == 10);
  CHECK(session["processes"][0]["losses"]["ring_full"] == 10);
  CHECK(session["options"]["error_bound"] == 0.05);
  const auto written = nlohmann::json::parse(ReadFile(scratch / "s/plan.json"));
  CHECK(written["totals"]["dropped"] == 10);
  const std::string summary = ReadFile(scratch / "s/summary.txt");
  CHECK(written["totals"]["gaps"] == 3);
  CHECK(summary.find("10 ring_full") != std::string::npos);
  CHECK(summary.find("device 0: busy 25.00 % of 8.000 s, 2 streams, 1.50 concurrent kernels on "
                     "average\n") != std::string::npos);
  CHECK(
      summary.find("recording cost 2.000 ms on the program's threads and 30.000 ms on its own, in "
                   "8.500 s; CUPTI reports 0.005 ms of overhead\n") != std::string::npos);
  CHECK(session["processes"][0]["cost"]["background_ns"] == 30'000'000);
  CHECK(session["devices"][0]["pid"] == 42);
  CHECK(session["devices"][0]["busy_ns"] == 2'000'000'000);
  CHECK(session["devices"][0]["streams"][0]["stream"] == 7);
  CHECK(session["devices"][0]["streams"][1]["stream"].is_null());
  CHECK(summary.find("another profiler had CUPTI") != std::string::npos);
  CHECK(summary.find('\x1b') == std::string::npos);
}

TEST_CASE("the cells of clusters are written next to the plan") {
  TempDir scratch;
  const auto directory = ClaimSession((scratch / "s").string(), SessionPlace::kNamed);
  REQUIRE(directory.ok());
  model::Plan plan;
  model::PlanCluster cluster;
  cluster.lower_ns = 6;
  cluster.upper_ns = 13;
  cluster.count = 3;
  cluster.mean_ns = 10.0;
  cluster.stddev_ns = std::sqrt((24.0 + 2.0 / 3.0) / 3.0);
  cluster.cells = {stats::Moments(1, 6.0, 0.0), stats::Moments(2, 12.000000000000002, 2.0 / 3.0)};
  model::PlanCluster other;
  other.count = 1;
  plan.kernels.push_back({{"k"}, 4, 30, {cluster, other}});
  plan.totals.invocations = 4;
  plan.totals.duration_ns = 30;
  plan.totals.kernels = 1;
  plan.totals.clusters = 2;
  plan.totals.uncovered_fraction = plan.totals.observed_error = 1.0;
  plan.totals.bound = plan.totals.certified_bound = 1.0;
  REQUIRE(WriteResults(directory.value(), plan, "{}", "").ok());
  CHECK(ReadFile(scratch / "s/plan.json").find("cells") == std::string::npos);
  const Result<model::Plan> parsed = model::LoadPlan((scratch / "s/plan.json").string());
  REQUIRE(parsed.ok());
  model::Plan read = parsed.value();
  REQUIRE(model::LoadCells((scratch / "s/cells.json").string(), read).ok());
  CHECK(read.kernels[0].clusters[1].cells.empty());
  const std::vector<stats::Moments>& cells = read.kernels[0].clusters[0].cells;
  REQUIRE(cells.size() == 2);
  CHECK(cells[1].count() == 2);
  CHECK(cells[1].mean() == 12.000000000000002);  // exact to the last digit
  CHECK(cells[1].m2() == 2.0 / 3.0);
}

TEST_CASE("the summary reports why a process recorded nothing") {
  model::RecordedSession report;
  ProcessReport process;
  process.pid = 7;
  process.program = "python3";
  process.state = ProcessState::kDisabled;
  process.reason = "CUPTI not found";
  report.processes.push_back(process);
  CHECK(SessionSummary(report, model::Plan())
            .find("process 7 (python3): nothing was recorded: CUPTI not found\n") !=
        std::string::npos);
}

TEST_CASE("a snapshot does not state that its processes were killed or that records are missing") {
  SessionResult result;
  ProcessReport process;
  process.pid = 7;
  process.program = "python3";
  process.state = ProcessState::kRecording;
  process.launches_gated = 10;
  process.seen = process.kept = process.read = 8;
  result.session.processes.push_back(process);
  for (const bool is_snapshot : {false, true}) {
    CAPTURE(is_snapshot);
    result.session.is_snapshot = is_snapshot;
    result.session.completeness.clear();
    Complete(result);
    CHECK(result.session.completeness.empty() == is_snapshot);
    const std::string summary = SessionSummary(result.session, result.plan);
    CHECK((summary.find("process 7 (python3): still runs\n") != std::string::npos) == is_snapshot);
    CHECK((summary.find("did not shut down cleanly") == std::string::npos) == is_snapshot);
  }
}

TEST_CASE("the largest list of processes is a session.json that can be read") {
  model::RecordedSession report;
  const auto size = [&] { return model::SessionToJson(report).size(); };
  const std::size_t empty = size();
  ProcessReport process;
  process.pid = 1 << 22;
  process.program.assign(sizeof(shm::RingHeader::program) - 1, '\x01');  // 6 bytes each
  process.reason.assign(sizeof(shm::RingHeader::reason) - 1, '\x01');
  for (const auto count : {&ProcessReport::seen, &ProcessReport::kept, &ProcessReport::read,
                           &ProcessReport::cost_program_ns, &ProcessReport::cost_background_ns}) {
    process.*count = std::uint64_t{1} << 44;
  }
  for (std::uint64_t& loss : process.losses) loss = std::uint64_t{1} << 44;
  report.processes.push_back(process);
  const std::size_t largest = size() - empty;
  CHECK(largest * (model::kMaxListedProcesses + 1) < model::kMaxSessionBytes / 2);
  report.processes.back().combined = 17;
  const auto read = model::ParseSession(model::SessionToJson(report), "session.json");
  REQUIRE(read.ok());
  CHECK(read.value().processes[0].combined == 17);
  CHECK(read.value().processes[0].reason == process.reason);
}

}  // namespace
}  // namespace stemtap::session
