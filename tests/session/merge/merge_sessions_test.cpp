// SPDX-License-Identifier: Apache-2.0
#include "session/merge/merge_sessions.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "model/overview_reader.h"
#include "model/plan_reader.h"
#include "model/profile.h"
#include "session/merge/made_session.h"
#include "session/replay.h"

namespace stemtap::test {
namespace {

nlohmann::json ReadJson(const std::filesystem::path& file) {
  return nlohmann::json::parse(ReadFile(file), nullptr, false);
}

model::Plan ReadPlan(const std::filesystem::path& file) {
  Result<model::Plan> plan = model::LoadPlan(file.string());
  REQUIRE(plan.ok());
  return std::move(plan).value();
}

// Checks that merging `folders` fails with one line that contains `words` and writes nothing.
void CheckRefused(const TempDir& scratch, const std::vector<std::string>& folders,
                  const std::vector<std::string>& words) {
  const std::string output = (scratch / "refused").string();
  const auto merged = session::MergeSessions(folders, output);
  REQUIRE_FALSE(merged.ok());
  CAPTURE(merged.error().message);
  CHECK(merged.error().message.find('\n') == std::string::npos);
  for (const std::string& word : words) {
    CAPTURE(word);
    CHECK(merged.error().message.find(word) != std::string::npos);
  }
  CHECK_FALSE(std::filesystem::exists(output));
}

// Writes the session of a replay whose launches have blocks, and grids or not.
std::string ReplayByLaunch(const TempDir& scratch, const std::string& name, bool grids) {
  model::Profile profile;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    shm::KernelRecord& record = profile.records.emplace_back();
    record.name_id = profile.names.Intern(i % 3 == 0 ? "softmax" : "gemm");
    record.start_ns = i * 10'000;
    record.duration_ns = (1 + i % 3) * 1000 + i % 7;
    record.block[0] = static_cast<std::uint16_t>(32 << (i % 2));
    record.block[1] = record.block[2] = 1;
    if (grids) record.grid[0] = record.grid[1] = record.grid[2] = 2;
  }
  session::ReplayOptions options;
  options.sampling.group_by = model::GroupBy::kLaunch;
  options.listed = {{"confidence", 0.95}, {"group_by", "launch"}};
  options.folder = (scratch / name).string();
  options.quiet = true;
  options.threads = 1;
  const std::unique_ptr<model::ProfileReader> reader = model::ReadProfile(profile);
  REQUIRE(session::RunReplay(*reader, options).ok());
  return options.folder;
}

TEST_CASE(
    "sessions grouped by launch have the same kernels in plan and overview, with or without "
    "grids") {
  for (const bool grids : {true, false}) {
    CAPTURE(grids);
    TempDir scratch;
    const std::string first = ReplayByLaunch(scratch, "a", grids);
    const std::string second = ReplayByLaunch(scratch, "b", grids);
    const model::Plan plan = ReadPlan(scratch / "a/plan.json");
    const Result<model::Overview> overview =
        model::ParseOverview(ReadFile(scratch / "a/overview.json"), "overview");
    REQUIRE(overview.ok());
    CHECK(plan.kernels.size() == (grids ? 4u : 2u));
    REQUIRE(overview.value().kernels.size() == plan.kernels.size());
    for (const model::OverviewKernel& kernel : overview.value().kernels) {
      CHECK(std::any_of(plan.kernels.begin(), plan.kernels.end(), [&](const auto& planned) {
        return planned.name == kernel.name && planned.config.grid[0] == kernel.config.grid[0] &&
               planned.config.block[0] == kernel.config.block[0] &&
               planned.clusters.size() == kernel.clusters.size();
      }));
    }
    const auto merged = session::MergeSessions({first, second}, (scratch / "m").string());
    if (!merged.ok()) FAIL(merged.error().message);
    const model::Plan whole = ReadPlan(scratch / "m/plan.json");
    CHECK(whole.kernels.size() == plan.kernels.size());
    CHECK(whole.totals.invocations == 6000);
  }
}

TEST_CASE("counters are added up and also listed for each session") {
  TempDir scratch;
  MadeSession b;
  b.host = "node1";
  b.kernels = {"softmax", "copy"};
  b.base_ns = 5000;
  b.excluded = 7;
  b.dropped = 3;
  b.device = 2;
  const std::string first = MakeSession(scratch, "a", {});
  const std::string second = MakeSession(scratch, "b", b);
  const auto merged = session::MergeSessions({first, second}, (scratch / "m").string());
  REQUIRE(merged.ok());
  CHECK(merged.value().warnings.empty());

  const model::Plan plan = ReadPlan(scratch / "m/plan.json");
  CHECK(plan.source == "python3 train.py");
  CHECK(plan.totals.invocations == 240);
  CHECK(plan.totals.excluded_invocations == 7);
  CHECK(plan.totals.dropped == 3);
  REQUIRE(plan.kernels.size() == 3);
  CHECK(plan.kernels[1].name == "softmax");
  CHECK(plan.kernels[1].invocations == 120);
  REQUIRE(plan.kernels[1].clusters.size() == 2);
  CHECK(plan.kernels[1].clusters[1].samples[0].index == 123);
  CHECK(plan.kernels[1].clusters[1].samples[0].occurrence == 63);
  CHECK(plan.kernels[1].clusters[1].samples[0].record.device == 1);
  REQUIRE(plan.sessions.size() == 2);
  CHECK(plan.sessions[1].folder == "b");
  CHECK(plan.sessions[1].host == "node1");
  CHECK(plan.sessions[1].first_index == 120);
  CHECK(plan.sessions[1].launches == 127);
  CHECK(plan.sessions[1].devices == std::vector<std::uint16_t>{2});
  CHECK(plan.sessions[1].first_device == 1);

  const auto session = ReadJson(scratch / "m/session.json");
  CHECK(session["mode"] == "merged");
  CHECK(session["counters"]["seen"] == 250);
  CHECK(session["counters"]["kept"] == 247);
  CHECK(session["counters"]["dropped"] == 3);
  CHECK(session["counters"]["losses"]["ring_full"] == 3);
  CHECK(session["counters"]["losses"]["names_cut"] == 2);
  CHECK(session["host"]["name"] == "node0, node1");
  CHECK(session["host"]["machine"] == "x86_64");
  CHECK(session["command"] == nlohmann::json({"python3", "train.py"}));
  REQUIRE(session["processes"].size() == 2);
  CHECK(session["processes"][1]["session"] == 1);
  REQUIRE(session["devices"].size() == 4);
  CHECK(session["devices"][2]["device"] == 1);
  CHECK(session["devices"][2]["session"] == 1);
  CHECK(session["devices"][3]["device"].is_null());
  CHECK(session["warnings"] == nlohmann::json({"a: a warning", "b: a warning"}));
  REQUIRE(session["sessions"].size() == 2);
  CHECK(session["sessions"][1]["id"] == plan.sessions[1].id);
  CHECK(session["sessions"][1]["counters"]["dropped"] == 3);
  CHECK(session["sessions"][1]["host"]["name"] == "node1");

  const auto overview = model::LoadOverview((scratch / "m/overview.json").string());
  REQUIRE(overview.ok());
  const model::Overview& o = overview.value();
  CHECK(o.mode == "merged");
  CHECK(o.ended);
  CHECK(o.seen == 250);
  CHECK(o.observed == 240);
  CHECK(o.duration_ns == plan.totals.duration_ns);
  CHECK(o.captured == 8);
  CHECK(o.bound == doctest::Approx(plan.totals.bound));
  CHECK(o.kernels_known == 3);
  REQUIRE(o.kernels.size() == 3);
  CHECK(o.kernels[0].duration_ns >= o.kernels[1].duration_ns);
  for (const model::OverviewKernel& kernel : o.kernels) {
    std::uint64_t count = 0;
    std::uint64_t last = 0;
    for (const model::HistogramBin& bin : kernel.histogram) {
      CHECK(bin.lower_ns >= last);
      last = bin.upper_ns;
      count += bin.count;
    }
    CHECK(count == kernel.invocations);
    CHECK(kernel.histogram.size() <= model::Overview::kMaxBins);
    CHECK(kernel.clusters.size() == kernel.invocations / 60);
  }
  REQUIRE(o.timeline.size() == 4);
  CHECK(o.timeline.back().observed == 240);
  CHECK(o.timeline.back().dropped == 3);
  CHECK(o.timeline[1].observed == 120);  // halfway through each session
  CHECK(o.timeline[1].bound == doctest::Approx(0.5));
  CHECK(o.processes.size() == 2);

  const std::string mask = ReadFile(scratch / "m/mask.ndjson");
  CHECK(std::count(mask.begin(), mask.end(), '\n') == 4);
  CHECK(mask.find("{\"event\":\"capture\",\"index\":123,\"kernel\":\"gemm\",\"occurrence\":63,"
                  "\"cluster\":0,\"time_ns\":99}\n") != std::string::npos);
  const std::string summary = ReadFile(scratch / "m/summary.txt");
  CHECK(summary == merged.value().summary);
  CHECK(summary.find("session 1: node1, b: 127 launches, ") != std::string::npos);
  CHECK(summary.find(", 3 dropped\n") != std::string::npos);
  CHECK(summary.find("2 names_cut\n") != std::string::npos);
  CHECK(summary.find("warning: b: a warning\n") != std::string::npos);
  struct stat about = {};
  REQUIRE(::stat((scratch / "m").c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0700);
  for (const auto& file : std::filesystem::directory_iterator(scratch / "m")) {
    REQUIRE(::stat(file.path().c_str(), &about) == 0);
    CAPTURE(file.path());
    CHECK((about.st_mode & 0777) == 0600);
  }
}

TEST_CASE("merged sessions can be merged, in any grouping") {
  TempDir scratch;
  std::vector<std::string> folders;
  for (int i = 0; i < 4; ++i) {
    MadeSession made;
    made.host = "node" + std::to_string(i);
    made.base_ns = 1000 + 77 * static_cast<std::uint64_t>(i);
    made.launches = 60 + static_cast<std::uint64_t>(i);
    made.device = static_cast<std::uint16_t>(i % 2 * 3);
    made.kernels.resize(i == 2 ? 1 : 2);
    folders.push_back(MakeSession(scratch, "s" + std::to_string(i), made));
  }
  const auto merge = [&](const std::vector<std::string>& of, const char* name) {
    const auto merged = session::MergeSessions(of, (scratch / name).string());
    REQUIRE_MESSAGE(merged.ok(), (merged.ok() ? "" : merged.error().message));
    return (scratch / name).string();
  };
  const std::string flat = merge(folders, "flat");
  const std::string left = merge({folders[0], folders[1]}, "left");
  const std::string alone = merge({folders[2]}, "alone");
  const std::string grouped = merge({left, alone, folders[3]}, "grouped");
  for (const char* name : {"/plan.json", "/cells.json", "/mask.ndjson", "/session.json"}) {
    CAPTURE(name);
    CHECK(ReadFile(flat + name) == ReadFile(grouped + name));
  }
  // The reverse order gives the same numbers.
  const std::string back = merge({folders[3], folders[2], folders[1], folders[0]}, "back");
  const model::Plan a = ReadPlan(flat + "/plan.json");
  const model::Plan b = ReadPlan(back + "/plan.json");
  CHECK(a.totals.bound == b.totals.bound);
  CHECK(a.totals.plain_estimate_ns == b.totals.plain_estimate_ns);
  CHECK(a.totals.observed_error == b.totals.observed_error);
  CHECK(ReadPlan(alone + "/plan.json").totals.bound ==
        ReadPlan(folders[2] + "/plan.json").totals.bound);
}

TEST_CASE("no bar of a merged histogram spans a gap, for any grouping of merges") {
  TempDir scratch;
  MadeSession made;
  made.launches = 61;
  std::vector<std::string> folders;
  for (const std::uint64_t base_ns : {1000, 4500, 20000, 70000}) {
    made.base_ns = base_ns;
    folders.push_back(MakeSession(scratch, std::to_string(base_ns), made));
  }
  const auto check = [&](const std::string& folder, std::uint64_t launches) {
    const auto overview = model::LoadOverview((scratch / folder / "overview.json").string());
    REQUIRE(overview.ok());
    for (const model::OverviewKernel& kernel : overview.value().kernels) {
      CHECK(kernel.histogram.size() <= model::Overview::kMaxBins);
      CHECK(kernel.histogram.size() >= 4);
      std::uint64_t count = 0;
      for (const model::HistogramBin& bin : kernel.histogram) {
        CAPTURE(bin.lower_ns);
        CHECK(bin.upper_ns <= bin.lower_ns + 61);
        count += bin.count;
      }
      CHECK(count == launches);
    }
  };
  REQUIRE(session::MergeSessions(folders, (scratch / "all").string()).ok());
  check("all", 4 * 61);
  REQUIRE(session::MergeSessions({folders[0], folders[2]}, (scratch / "m").string()).ok());
  REQUIRE(session::MergeSessions({(scratch / "m").string(), folders[1], folders[3]},
                                 (scratch / "grouped").string())
              .ok());
  check("grouped", 4 * 61);
}

TEST_CASE("a session that occurs twice is rejected, even as a copy or in a merged session") {
  TempDir scratch;
  const std::string a = MakeSession(scratch, "a", {});
  MadeSession other;
  other.base_ns = 2000;
  const std::string b = MakeSession(scratch, "b", other);
  std::filesystem::copy(a, scratch / "copy");
  CheckRefused(scratch, {a, b, (scratch / "copy").string()},
               {"copy: contains session ", "('copy'), as does ", "/a; expected each session once"});
  REQUIRE(session::MergeSessions({b, a}, (scratch / "m").string()).ok());
  CheckRefused(scratch, {(scratch / "m").string(), a},
               {"/a: contains session ", "as does ", "/m; expected"});
}

TEST_CASE("options that affect results must agree, and other options are omitted if they differ") {
  TempDir scratch;
  const std::string a = MakeSession(scratch, "a", {});
  const auto with = [&](const std::string& name, const std::string& option,
                        model::OptionValue value) {
    MadeSession made;
    made.base_ns = 3000;
    std::erase_if(made.options, [&](const auto& o) { return o.first == option; });
    made.options.emplace_back(option, std::move(value));
    return MakeSession(scratch, name, made);
  };
  CheckRefused(scratch, {a, with("b", "error_bound", 0.01)},
               {"/b: was recorded with --error-bound '0.01', but ", "/a with '0.05'"});
  CheckRefused(scratch, {a, with("c", "confidence", 0.9)}, {"--confidence '0.9'"});
  CheckRefused(scratch, {a, with("d", "level", std::string("graph"))}, {"--level 'graph'"});
  CheckRefused(scratch, {a, with("e", "exclude", std::string("nccl"))}, {"--exclude 'nccl'"});
  CheckRefused(scratch, {with("f", "exclude", std::string("nccl")), a}, {"--exclude ''"});
  const auto merged =
      session::MergeSessions({a, with("g", "seed", std::uint64_t{2})}, (scratch / "m").string());
  REQUIRE(merged.ok());
  const auto plan = ReadJson(scratch / "m/plan.json");
  CHECK_FALSE(plan["options"].contains("seed"));
  CHECK(plan["options"]["error_bound"] == 0.05);
  CHECK(ReadJson(scratch / "m/session.json")["options"] == plan["options"]);
}

TEST_CASE("a directory without a finished session is rejected by name") {
  TempDir scratch;
  const std::string a = MakeSession(scratch, "a", {});
  const auto without = [&](const std::string& name, const std::vector<const char*>& files) {
    MadeSession made;
    made.base_ns = 4000;
    const std::string folder = MakeSession(scratch, name, made);
    for (const char* file : files) std::filesystem::remove(scratch / name / file);
    return folder;
  };
  CheckRefused(scratch, {a, (scratch / "gone").string()}, {"/gone: is not a directory"});
  CheckRefused(scratch, {a, a + "/plan.json"}, {"plan.json: is not a directory"});
  CheckRefused(scratch, {a, without("live", {"plan.json", "session.json", "cells.json"})},
               {"/live: has no plan.json: the session is running or was killed"});
  CheckRefused(scratch, {a, without("cut", {"session.json"})}, {"/cut: has no session.json"});
  CheckRefused(scratch, {a, without("old", {"cells.json"})}, {"/old: has no cells.json"});
  std::filesystem::create_directory(scratch / "empty");
  CheckRefused(scratch, {a, (scratch / "empty").string()}, {"/empty: is not a session directory"});

  // Files that the plan does not need may be missing; the merge reports them.
  const auto merged = session::MergeSessions({a, without("bare", {"overview.json", "mask.ndjson"})},
                                             (scratch / "m").string());
  REQUIRE(merged.ok());
  CHECK(merged.value().warnings.size() == 2);
  CHECK_FALSE(std::filesystem::exists(scratch / "m/overview.json"));
}

TEST_CASE("a merged session replaces an older one on request, but none that it is made from") {
  TempDir scratch;
  const std::string a = MakeSession(scratch, "a", {});
  const std::string output = (scratch / "m").string();
  REQUIRE(session::MergeSessions({a}, output).ok());
  CHECK_FALSE(session::MergeSessions({a}, output).ok());
  CHECK(session::MergeSessions({a}, output, session::SessionPlace::kReplaced).ok());
  const auto itself = session::MergeSessions({a}, a + "/", session::SessionPlace::kReplaced);
  REQUIRE_FALSE(itself.ok());
  CHECK(itself.error().message.find("is one of the sessions to merge") != std::string::npos);
  CHECK(session::MergeSessions({a}, output, session::SessionPlace::kReplaced).ok());
}

TEST_CASE("a directory that is not empty is rejected for a merged session") {
  TempDir scratch;
  const std::string a = MakeSession(scratch, "a", {});
  scratch.Write("full/file", "x");
  const auto full = session::MergeSessions({a}, (scratch / "full").string());
  REQUIRE_FALSE(full.ok());
  CHECK(full.error().message.find("is not empty") != std::string::npos);
  CHECK_FALSE(session::MergeSessions({a}, a).ok());
  CHECK(ReadFile(scratch / "full/file") == "x");
  CHECK_FALSE(session::MergeSessions({a}, (scratch / "no/parent").string()).ok());
}

TEST_CASE("damaged files are reported by name, and no output is left") {
  TempDir scratch;
  MadeSession made;
  made.base_ns = 6000;
  const std::string a = MakeSession(scratch, "a", {});
  int number = 0;
  const auto damaged = [&](const char* file, const std::string& from, const std::string& to,
                           const std::vector<std::string>& words) {
    const std::string name = "damaged" + std::to_string(number++);
    const std::string folder = MakeSession(scratch, name, made);
    std::string text = ReadFile(scratch / name / file);
    const std::size_t at = text.find(from);
    CAPTURE(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    scratch.Write(name + "/" + file, text);
    CheckRefused(scratch, {a, folder}, words);
  };
  damaged("plan.json", "stemtap.plan/1", "stemtap.plan/2", {"plan.json: schema"});
  damaged("plan.json", "\"invocations\": 120", "\"invocations\": 121",
          {"plan.json: totals.invocations: is 121; expected 120, the sum of the kernels' values"});
  damaged("plan.json", "\"invocations\": 60", "\"invocations\": 61",
          {"plan.json: kernels[0].invocations: is 61"});
  damaged("plan.json", "\"captured\": 2", "\"captured\": 1", {"clusters[0].captured: is 1"});
  damaged("plan.json", "\"index\": 3", "\"index\": 120", {"samples[0].index: is 120"});
  damaged("plan.json", "\"count\": 60", "\"count\": 1",
          {"clusters[0].captured: is 2; expected at most count, 1"});
  damaged("plan.json", "\"bound\": ", "\"bound\": -", {"totals.bound: is -0.0"});
  damaged("plan.json", "\"confidence\": 0.95", "\"confidence\": 0.9", {"--confidence"});
  damaged("cells.json", "stemtap.cells/1", "stemtap.cells/2", {"cells.json: schema"});
  damaged("cells.json", "[1,6000,0]", "[2,6000,0]", {"clusters[0]: has "});
  damaged("cells.json", "[1,6000,0],", "", {"clusters[0]: has 59 launches; expected 60"});
  damaged("cells.json", "[1,6000,0]", "[1,9000,0]", {"clusters[0]: has a mean of "});
  damaged("cells.json", "[1,6000,0]", "[1,6000,-1]",
          {"clusters[0][0]: is [1, 6000, -1]; expected a count of"});
  damaged("cells.json", "[1,6000,0]", "[0,6000,0]",
          {"clusters[0][0]: is [0, 6000, 0]; expected a count of"});
  damaged("cells.json", "[1,6000,0]", "[18446744073709551615,6000,0]", {"more launches"});
  damaged("cells.json", "[1,6000,0]", "[1,6000,0,0]",
          {"clusters[0][0]: has 4 items; expected [count, mean, m2]"});
  damaged("cells.json", "[1,6000,0]", "7", {"clusters[0][0]: is 7; expected an array"});
  damaged("cells.json", "\n]}", "\n,[]]}", {"clusters: has 3 items; expected 2"});
  damaged("cells.json", "[1,6000,0]", "[1,6000,9000]",
          {"clusters[0]: has a standard deviation of "});
  damaged("cells.json", "\"clusters\"", "\"clusters\": [], \"clusters\"",
          {"cells.json: clusters: occurs twice"});
  damaged("session.json", "\"gaps\": 0", "\"gaps\": 0, \"gaps\": 1",
          {"session.json: counters.gaps: occurs twice"});
  damaged("session.json", "\"elapsed_s\": 1.5", "\"elapsed_s\": -1", {"elapsed_s: is -1"});
  damaged("session.json", "\"ring_full\": 0", "\"ring_full\": -1",
          {"counters.losses.ring_full: is -1; expected a whole number"});
  damaged("session.json", "stemtap.session/1", "stemtap.session/9", {"session.json: schema"});
  damaged("session.json", "\"kept\": 120, \"dropped\"", "\"kept\": 119, \"dropped\"",
          {"session.json has 119 kept launches and plan.json has 120"});
  damaged("session.json", "\"gaps\": 0", "\"gaps\": -1",
          {"counters.gaps: is -1; expected a whole number"});
  damaged("session.json", "\"device\": 0", "\"device\": 65535",
          {"devices[0].device: is 65535; expected a whole number below 65535"});
  damaged("session.json", "\"processes\": [{", "\"processes\": [7, {",
          {"processes[0]: is 7; expected an object"});
  damaged("session.json", "\"warnings\": [\"a warning\"]}", "", {"session.json: "});
  damaged("session.json", "[\"a warning\"]", std::string(100, '[') + std::string(100, ']'),
          {"warnings[0]: is an array; expected a text"});
  damaged("session.json", "\"seen\": 120", "\"seen\": 18446744073709551615", {"exceed 64 bits"});
  damaged("overview.json", "\"observed\": 120", "\"observed\": 121",
          {"overview.json has 121 launches and plan.json has 120; expected files of one session"});
  // The plan has a different name for the kernel.
  damaged("plan.json", "\"name\": \"gemm\"", "\"name\": \"gemv\"",
          {"overview.json has 60 launches of 'gemm' and plan.json has 0"});
  damaged("overview.json", "\"kernels\": [", "\"kernels\": 7, \"x\": [",
          {"overview.json: kernels"});
  damaged("overview.json", "\"kernels\": [", "\"kernels\": [], \"kernels\": [",
          {"overview.json: kernels: occurs twice; expected it once"});
  damaged("overview.json", "\"captured\": 2, \"imputed\"", "\"captured\": 61, \"imputed\"",
          {"kernels[0].captured: is 61; expected at most the invocations"});
  damaged("mask.ndjson", "null}\n", "nu\n", {"mask.ndjson:2: is not JSON"});
  damaged("mask.ndjson", "\"index\":5", "\"index\":\"5\"", {"mask.ndjson:2: index: expected"});
  damaged("mask.ndjson", "\"kernel\":\"gemm\"", "\"kernel\":7", {"mask.ndjson:1: kernel"});
}

TEST_CASE("a mask whose last line is incomplete loses only this line, with one warning") {
  TempDir scratch;
  MadeSession made;
  made.base_ns = 6000;
  const std::string a = MakeSession(scratch, "a", {});
  const std::string b = MakeSession(scratch, "b", made);
  const std::string mask = ReadFile(scratch / "b/mask.ndjson");
  scratch.Write("a/mask.ndjson", mask.substr(0, mask.size() - 7));
  const auto merged = session::MergeSessions({a, b}, (scratch / "m").string());
  REQUIRE(merged.ok());
  CHECK(merged.value().warnings ==
        std::vector<std::string>{
            a + "/mask.ndjson: the last line is incomplete; the merged mask lacks 1 event"});
  const std::string text = ReadFile(scratch / "m/mask.ndjson");
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  CHECK(text.ends_with("null}\n"));
}

TEST_CASE("files truncated at any byte are errors") {
  TempDir scratch;
  MadeSession made;
  made.base_ns = 7000;
  made.launches = 45;
  const std::string a = MakeSession(scratch, "a", {});
  const std::string folder = MakeSession(scratch, "b", made);
  for (const char* file : {"plan.json", "cells.json", "session.json", "overview.json"}) {
    const std::string whole = ReadFile(scratch / "b" / file);
    std::string body = whole;
    while (!body.empty() && body.back() == '\n') body.pop_back();
    for (std::size_t size = 0; size < body.size(); size += 1 + body.size() / 40) {
      CAPTURE(file);
      CAPTURE(size);
      scratch.Write(std::string("b/") + file, body.substr(0, size));
      CheckRefused(scratch, {a, folder}, {file});
    }
    scratch.Write(std::string("b/") + file, whole);
  }
  CHECK(session::MergeSessions({a, folder}, (scratch / "m").string()).ok());
}

TEST_CASE("problems of sessions are reported for each session") {
  TempDir scratch;
  MadeSession made;
  const std::string a = MakeSession(scratch, "a", made);
  made.base_ns = 2000;
  const std::string b = MakeSession(scratch, "b", made);
  auto session = nlohmann::json::parse(ReadFile(scratch / "b/session.json"));
  session["exit_code"] = 3;
  session["signal"] = 9;
  session["elapsed_s"] = 99.5;
  auto& processes = session["processes"];
  processes[0]["state"] = "recording";
  processes.push_back(
      {{"pid", 43}, {"program", "evil\x1b"}, {"state", "disabled"}, {"reason", "no CUPTI"}});
  scratch.Write("b/session.json", session.dump());
  const auto merged = session::MergeSessions({a, b}, (scratch / "m").string());
  REQUIRE(merged.ok());
  const std::string& summary = merged.value().summary;
  CHECK(summary.find("session 1: node0, b: 120 launches, ") != std::string::npos);
  CHECK(summary.find(", ended by signal 9\n") != std::string::npos);
  CHECK(summary.find("process 42 (python3) of session 1: did not shut down cleanly") !=
        std::string::npos);
  CHECK(summary.find("of session 1: nothing was recorded: no CUPTI\n") != std::string::npos);
  CHECK(summary.find("of session 0") == std::string::npos);
  CHECK(summary.find('\x1b') == std::string::npos);
  const auto written = ReadJson(scratch / "m/session.json");
  CHECK(written["exit_code"] == 3);
  CHECK(written["signal"] == 9);
  CHECK(written["elapsed_s"] == 99.5);
}

TEST_CASE("a session without launches does not change the bound, and alone has no bound") {
  TempDir scratch;
  MadeSession made;
  const std::string a = MakeSession(scratch, "a", made);
  made.kernels.clear();
  const auto idle = [&](const std::string& name) {
    made.host = name;
    MakeSession(scratch, name, made);
    std::filesystem::remove(scratch / name / "mask.ndjson");  // lists launches that do not exist
    return (scratch / name).string();
  };
  const std::string b = idle("b");
  const std::string c = idle("c");
  const auto merged = session::MergeSessions({a, b}, (scratch / "m").string());
  REQUIRE(merged.ok());
  CHECK(merged.value().summary.find("session 1: b, b: no kernel was recorded\n") !=
        std::string::npos);
  const auto overview = model::LoadOverview((scratch / "m/overview.json").string());
  REQUIRE(overview.ok());
  CHECK(overview.value().bound == doctest::Approx(merged.value().plan.totals.bound));
  REQUIRE(overview.value().timeline.size() == 4);
  for (const model::TimelinePoint& point : overview.value().timeline) {
    CHECK(point.observed > 0);
    CHECK(point.bound > 0.0);  // finite, not NaN
  }
  REQUIRE(session::MergeSessions({b, c}, (scratch / "nothing").string()).ok());
  const auto nothing = model::LoadOverview((scratch / "nothing/overview.json").string());
  REQUIRE(nothing.ok());
  CHECK(std::isnan(nothing.value().bound));
}

TEST_CASE("a merged session with files of different sessions is rejected") {
  TempDir scratch;
  MadeSession made;
  const std::string a = MakeSession(scratch, "a", made);
  made.base_ns = 2000;
  const std::string b = MakeSession(scratch, "b", made);
  REQUIRE(session::MergeSessions({a, b}, (scratch / "m").string()).ok());
  made.base_ns = 3000;
  const std::string c = MakeSession(scratch, "c", made);
  std::string text = ReadFile(scratch / "m/session.json");
  auto session = nlohmann::json::parse(text);
  const std::vector<std::string> both = {(scratch / "m").string(), c};
  const char* expected = "/m: plan.json and session.json are from different sessions";
  for (const char* host : {"7", "null", "[]"}) {
    auto damaged = session;
    damaged["sessions"][1]["host"] = nlohmann::json::parse(host);
    scratch.Write("m/session.json", damaged.dump());
    CheckRefused(scratch, both, {"m/session.json: sessions[1].host: is", "expected an object"});
  }
  for (const char* field : {"exit_code", "signal"}) {
    auto damaged = session;
    damaged["sessions"][1][field] = 1e19;
    scratch.Write("m/session.json", damaged.dump());
    CheckRefused(scratch, both, {field, "is 1e+19; expected a whole number"});
  }
  const std::string plan = ReadFile(scratch / "m/plan.json");
  for (const char* file : {"plan.json", "session.json"}) {
    // None of the sessions has this device: its number would belong to a different session or to
    // no session.
    auto damaged = nlohmann::json::parse(file == std::string("plan.json") ? plan : text);
    auto& device = damaged.contains("kernels")
                       ? damaged["kernels"][0]["clusters"][0]["samples"][0]["device"]
                       : damaged["devices"][0]["device"];
    REQUIRE(device == 0);
    device = 65534;
    scratch.Write("m/plan.json", plan);
    scratch.Write("m/session.json", text);
    scratch.Write(std::string("m/") + file, damaged.dump());
    CheckRefused(scratch, both, {"/m: has device 65534, but its sessions have 2"});
  }
  scratch.Write("m/plan.json", plan);
  session["sessions"].erase(1);
  scratch.Write("m/session.json", session.dump());
  CheckRefused(scratch, both, {expected});
  session["sessions"] = 7;
  scratch.Write("m/session.json", session.dump());
  CheckRefused(scratch, both, {"m/session.json: sessions: is 7; expected an array"});
  // This single session claims to be merged.
  scratch.Write(
      "c/session.json",
      nlohmann::json::parse(ReadFile(scratch / "c/session.json"))
          .patch(nlohmann::json::parse(
              R"([{"op": "add", "path": "/sessions", "value": [{"host": {}, "counters": {"seen": 0, "kept": 0, "dropped": 0, "gaps": 0}}]}])"))
          .dump());
  CheckRefused(scratch, {a, c}, {"/c: plan.json and session.json are from different sessions"});
}

}  // namespace
}  // namespace stemtap::test
