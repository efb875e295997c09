// SPDX-License-Identifier: Apache-2.0
#include "model/overview.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "model/plan.h"
#include "shm/record.h"

namespace stemtap::model {
namespace {

using Json = nlohmann::json;

TEST_CASE("every field is at its documented place and has the correct value") {
  Overview o;
  o.tool = "stemtap 0.1.0";
  o.mode = "live";
  o.pid = 4240;
  o.started_unix_ms = 1795310000123;
  o.elapsed_s = 12.31;
  o.period_ms = 1000;
  o.command = {"python3", "a \"b\".py"};
  o.error_bound = 0.05;
  o.confidence = 0.95;
  o.level = "gate";
  o.actuator = "log";
  o.seen = 816003;
  o.kept = 816000;
  o.dropped = 3;
  o.gaps = 4;
  o.losses = {{"ring_full", 3}, {"gaps", 4}};
  o.observed = 815000;
  o.duration_ns = 3644973152;
  o.captured = 41;
  o.captured_duration_ns = 290000;
  o.kernels_known = 14;
  o.clusters_open = 5;
  o.clusters_closed = 27;
  o.bound = 0.061;
  o.slowed = 6;
  o.zero_duration = 7;
  o.excluded = 8;
  o.excluded_duration_ns = 9;
  o.processes = {{4242, "python3", "recording", "why", 10, 11, 12, 13}};
  o.timeline = {{0.35, 4096, 18230411, 14, 81234, 22, 1.0, 2}, {1, 0, 0, 0, 0, 0, NAN, 0}};
  o.activity = {2, 1795310000000000000, 67108864, 200, {{0, 5, 70, 60}, {199, 6, 80, 80}}};
  o.activity.by_device = {{0, 1, {{0, 60}}}, {3, shm::kUnknown16, {{2, 7}, {199, 80}}}};
  o.slices_start_ns = 1795310000000000000;
  o.slices_width_ns = 268435456;
  o.slices = 46;
  OverviewKernel kernel;
  kernel.name = "gemv";
  kernel.launched_config = {{7, 8, 9}, {10, 11, 12}};
  kernel.invocations = 121842;
  kernel.duration_ns = 1609123456;
  kernel.captured = 10;
  kernel.imputed = 2;
  kernel.clusters = {{5800, 6300, 71000, 6100.5, 80.2, 2, 3, ClusterState::kClosed},
                     {6301, 6400, 1, 6350, 0, 0, 1, ClusterState::kOpen},
                     {6401, 6500, 1, 6450, 0, 0, 1, ClusterState::kUnreachable}};
  kernel.histogram = {{5760, 5824, 120}, {5824, 5888, 3011}};
  kernel.slices = {{0, 2600, 34348112}, {3, 2711, 35790001}};
  o.kernels.push_back(kernel);
  kernel = {};
  kernel.name = "own";
  kernel.process = 17;
  kernel.config = {{1, 2, 3}, {4, 5, 6}};
  o.kernels.push_back(kernel);

  const std::string text = OverviewToJson(o);
  CHECK(text.back() == '\n');
  CHECK(Json::parse(text) == Json::parse(R"({
    "schema": "stemtap.overview/1", "tool": "stemtap 0.1.0", "mode": "live", "state": "running",
    "pid": 4240, "started_unix_ms": 1795310000123, "elapsed_s": 12.31, "period_ms": 1000,
    "command": ["python3", "a \"b\".py"], "error_bound": 0.05, "confidence": 0.95, "level": "gate",
    "actuator": "log", "seen": 816003, "kept": 816000, "dropped": 3, "gaps": 4,
    "losses": {"ring_full": 3, "gaps": 4}, "observed": 815000, "duration_ns": 3644973152,
    "captured": 41, "captured_duration_ns": 290000, "kernels_known": 14, "clusters_open": 5,
    "clusters_closed": 27, "bound": 0.061, "slowed": 6, "zero_duration": 7, "excluded": 8,
    "excluded_duration_ns": 9,
    "processes": [{"pid": 4242, "program": "python3", "state": "recording", "reason": "why",
                   "seen": 10, "kept": 11, "dropped": 12, "captured": 13}],
    "timeline": [[0.35, 4096, 18230411, 14, 81234, 22, 1, 2], [1.0, 0, 0, 0, 0, 0, null, 0]],
    "activity": {"devices": 2, "start_ns": 1795310000000000000, "width_ns": 67108864,
                 "count": 200, "slices": [[0, 5, 70, 60], [199, 6, 80, 80]],
                 "by_device": [{"process": 0, "device": 1, "slices": [[0, 60]]},
                               {"process": 3, "device": null, "slices": [[2, 7], [199, 80]]}]},
    "slices": {"start_ns": 1795310000000000000, "width_ns": 268435456, "count": 46},
    "kernels": [
      {"name": "gemv", "process": null, "grid": null, "block": null,
       "launched_grid": [7, 8, 9], "launched_block": [10, 11, 12], "invocations": 121842,
       "duration_ns": 1609123456, "captured": 10, "imputed": 2,
       "clusters": [
         {"lower_ns": 5800, "upper_ns": 6300, "count": 71000, "mean_ns": 6100.5, "stddev_ns": 80.2,
          "captured": 2, "target": 3, "state": "closed"},
         {"lower_ns": 6301, "upper_ns": 6400, "count": 1, "mean_ns": 6350, "stddev_ns": 0,
          "captured": 0, "target": 1, "state": "open"},
         {"lower_ns": 6401, "upper_ns": 6500, "count": 1, "mean_ns": 6450, "stddev_ns": 0,
          "captured": 0, "target": 1, "state": "unreachable"}],
       "histogram": [[5760, 5824, 120], [5824, 5888, 3011]],
       "slices": [[0, 2600, 34348112], [3, 2711, 35790001]]},
      {"name": "own", "process": 17, "grid": [1, 2, 3], "block": [4, 5, 6], "invocations": 0,
       "duration_ns": 0, "captured": 0, "imputed": 0, "clusters": [], "histogram": [],
       "slices": []}]})"));
}

TEST_CASE("an ended session contains the certified bound if the observed error exceeds it") {
  PlanTotals totals;
  totals.invocations = 10;
  totals.certified_bound = 0.048;
  totals.observed_error = 0.04;
  StateBound(totals);
  Overview overview;
  TakeBounds(totals, overview);
  CHECK(overview.bound == 0.048);
  CHECK(std::isnan(overview.certified_bound));
  CHECK(OverviewToJson(overview).find("certified_bound") == std::string::npos);
  totals.observed_error = 0.061;
  StateBound(totals);
  TakeBounds(totals, overview);
  CHECK(overview.bound == 0.061);
  CHECK(overview.certified_bound == 0.048);
  CHECK(OverviewToJson(overview).find("\"bound\": 0.061, \"certified_bound\": 0.048,") !=
        std::string::npos);
  totals.invocations = 0;
  TakeBounds(totals, overview);
  CHECK(std::isnan(overview.bound));
  CHECK(std::isnan(overview.certified_bound));
}

TEST_CASE("absent values are null, empty or omitted") {
  Overview o;
  o.ended = true;
  o.bound = NAN;
  const Json json = Json::parse(OverviewToJson(o));
  CHECK(json["state"] == "ended");
  CHECK_FALSE(json.contains("pid"));
  CHECK(json["bound"].is_null());
  CHECK(json["losses"] == Json::object());
  CHECK(json["kernels"] == Json::array());
  CHECK(json["slices"]["width_ns"] == 0);
}

TEST_CASE(
    "control characters in names are escaped and invalid UTF-8 is replaced, as in session.json") {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const std::string hostile[] = {all,           "\"},{\"name\": \"",
                                 "\x1b[2J\xC3", std::string(3, '\0'),
                                 "{} {0} {{",   "\xED\xA0\x80 \xF4\x90\x80\x80"};
  for (const std::string& name : hostile) {
    Overview o;
    o.command = {name};
    o.processes.push_back({1, name, name, name, 0, 0, 0, 0});
    o.kernels.emplace_back().name = name;
    const std::string text = OverviewToJson(o);
    for (const char c : text) REQUIRE((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
    const Json json = Json::parse(text);
    const Json same = Json::parse(Json(name).dump(-1, ' ', false, Json::error_handler_t::replace));
    CHECK(json["kernels"].size() == 1);
    CHECK(json["kernels"][0]["name"] == same);
    CHECK(json["command"][0] == same);
    CHECK(json["processes"][0]["program"] == same);
    CHECK(json["processes"][0]["reason"] == same);
  }
}

TEST_CASE("the largest numbers are written exactly, and infinities and NaN are null") {
  Overview o;
  o.seen = ~std::uint64_t{0};
  o.kernels.emplace_back().clusters.push_back(
      {0, ~std::uint64_t{0}, 1, 1e300, INFINITY, 0, 0, ClusterState::kOpen});
  const Json json = Json::parse(OverviewToJson(o));
  CHECK(json["seen"].get<std::uint64_t>() == ~std::uint64_t{0});
  const Json& cluster = json["kernels"][0]["clusters"][0];
  CHECK(cluster["upper_ns"].get<std::uint64_t>() == ~std::uint64_t{0});
  CHECK(cluster["mean_ns"] == 1e300);
  CHECK(cluster["stddev_ns"].is_null());
}

}  // namespace
}  // namespace stemtap::model
