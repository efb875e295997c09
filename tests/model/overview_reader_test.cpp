// SPDX-License-Identifier: Apache-2.0
#include "model/overview_reader.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "shm/record.h"
#include "support/temp_dir.h"

using namespace stemtap;
using namespace stemtap::model;

namespace {

// The example in docs/formats/overview.md, with its lists filled in.
const std::string kExample = R"json({ "schema": "stemtap.overview/1", "tool": "stemtap 0.1.0",
  "mode": "live", "state": "running",
  "pid": 4240, "started_unix_ms": 1795310000123, "elapsed_s": 12.31, "period_ms": 1000,
  "command": ["python3", "decode.py"], "error_bound": 0.05, "confidence": 0.95, "level": "gate", "actuator": "log",
  "seen": 816100, "kept": 816000, "dropped": 100, "gaps": 2, "losses": {"ring_full": 90, "incomplete": 10},
  "observed": 815000, "duration_ns": 3644973152, "captured": 41, "captured_duration_ns": 290000,
  "kernels_known": 14, "clusters_open": 3, "clusters_closed": 27, "bound": 0.061, "slowed": 5, "zero_duration": 6,
  "excluded": 7, "excluded_duration_ns": 8,
  "processes": [{"pid": 4242, "program": "python3", "state": "recording", "reason": "why", "seen": 816100,
                 "kept": 816000, "dropped": 100, "captured": 41}],
  "timeline": [[0.35, 4096, 18230411, 14, 81234, 22, 1, 0], [1, 8192, 36230411, 15, 91234, 20, null, 3]],
  "activity": {"devices": 2, "start_ns": 1795310000000000000, "width_ns": 67108864, "count": 200,
               "slices": [[3, 5, 70, 60], [199, 6, 80, 81]],
               "by_device": [{"process": 0, "device": 0, "slices": [[3, 60]]},
                             {"process": 1, "device": null, "slices": [[3, 9], [198, 8]]}]},
  "slices": {"start_ns": 1795310000000000000, "width_ns": 268435456, "count": 46},
  "kernels": [{"name": "void gemv<\"a\">(\u00e9)", "process": null, "grid": null, "block": null,
               "invocations": 121842, "duration_ns": 1609123456, "captured": 10, "imputed": 4,
               "clusters": [{"lower_ns": 5800, "upper_ns": 6300, "count": 71000, "mean_ns": 6100.5, "stddev_ns": 80.2,
                             "captured": 2, "target": 3, "state": "closed"},
                            {"lower_ns": 1, "upper_ns": 4, "count": 3, "mean_ns": 4, "stddev_ns": 5,
                             "captured": 6, "target": 7, "state": "unreachable"}],
               "histogram": [[5760, 5824, 120], [5824, 5888, 3011]],
               "slices": [[0, 2600, 34348112], [1, 2711, 35790001]]
},
              {"name": "b", "process": 4242, "grid": [1, 2, 3], "block": [64, 1, 1], "invocations": 1,
               "duration_ns": 2, "captured": 0, "imputed": 0, "clusters": [], "histogram": [], "slices": []}]
}
)json";

const std::string kMin = R"({"schema":"stemtap.overview/1","state":"ended","kernels":[]})";

std::string ErrorOf(const std::string& text) {
  const Result<model::Overview> parsed = model::ParseOverview(text, "f.json");
  if (parsed.ok()) return "";
  CHECK(parsed.error().message.find('\n') == std::string::npos);
  CHECK(parsed.error().message.starts_with("f.json: "));
  return parsed.error().message;
}

std::string With(const std::string& from, const std::string& to) {
  std::string text = kExample;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("every field of an overview is read") {
  const Result<model::Overview> parsed = model::ParseOverview(kExample, "f.json");
  if (!parsed.ok()) FAIL(parsed.error().message);
  const model::Overview& o = parsed.value();
  CHECK(o.tool == "stemtap 0.1.0");
  CHECK(o.mode == "live");
  CHECK(!o.ended);
  CHECK(o.pid == 4240);
  CHECK(o.started_unix_ms == 1795310000123u);
  CHECK(o.elapsed_s == 12.31);
  CHECK(o.period_ms == 1000);
  CHECK(o.command == std::vector<std::string>{"python3", "decode.py"});
  CHECK(o.error_bound == 0.05);
  CHECK(o.confidence == 0.95);
  CHECK(o.level == "gate");
  CHECK(o.actuator == "log");
  CHECK(o.seen == 816100);
  CHECK(o.kept == 816000);
  CHECK(o.dropped == 100);
  CHECK(o.gaps == 2);
  REQUIRE(o.losses.size() == 2);
  CHECK(o.losses[0] == std::pair<std::string, std::uint64_t>("ring_full", 90));
  CHECK(o.losses[1].second == 10);
  CHECK(o.observed == 815000);
  CHECK(o.duration_ns == 3644973152u);
  CHECK(o.captured == 41);
  CHECK(o.captured_duration_ns == 290000);
  CHECK(o.kernels_known == 14);
  CHECK(o.clusters_open == 3);
  CHECK(o.clusters_closed == 27);
  CHECK(o.bound == 0.061);
  CHECK(o.slowed == 5);
  CHECK(o.zero_duration == 6);
  CHECK(o.excluded == 7);
  CHECK(o.excluded_duration_ns == 8);
  REQUIRE(o.processes.size() == 1);
  CHECK(o.processes[0].pid == 4242);
  CHECK(o.processes[0].program == "python3");
  CHECK(o.processes[0].state == "recording");
  CHECK(o.processes[0].reason == "why");
  CHECK(o.processes[0].seen == 816100);
  CHECK(o.processes[0].kept == 816000);
  CHECK(o.processes[0].dropped == 100);
  CHECK(o.processes[0].captured == 41);
  REQUIRE(o.timeline.size() == 2);
  CHECK(o.timeline[0].elapsed_s == 0.35);
  CHECK(o.timeline[0].observed == 4096);
  CHECK(o.timeline[0].duration_ns == 18230411);
  CHECK(o.timeline[0].captured == 14);
  CHECK(o.timeline[0].captured_duration_ns == 81234);
  CHECK(o.timeline[0].clusters_open == 22);
  CHECK(o.timeline[0].bound == 1.0);
  CHECK(o.timeline[1].elapsed_s == 1.0);
  CHECK(std::isnan(o.timeline[1].bound));
  CHECK(o.timeline[1].dropped == 3);
  CHECK(o.activity.devices == 2);
  CHECK(o.activity.start_ns == 1795310000000000000);
  CHECK(o.activity.width_ns == 67108864);
  CHECK(o.activity.count == 200);
  REQUIRE(o.activity.slices.size() == 2);
  CHECK(o.activity.slices[1].slice == 199);
  CHECK(o.activity.slices[1].launches == 6);
  CHECK(o.activity.slices[1].duration_ns == 80);
  CHECK(o.activity.slices[1].busy_ns == 81);
  REQUIRE(o.activity.by_device.size() == 2);
  CHECK(o.activity.by_device[1].process == 1);
  CHECK(o.activity.by_device[1].device == shm::kUnknown16);
  CHECK(o.activity.by_device[1].slices[1].busy_ns == 8);
  CHECK(o.slices_start_ns == 1795310000000000000u);
  CHECK(o.slices_width_ns == 268435456);
  CHECK(o.slices == 46);
  REQUIRE(o.kernels.size() == 2);
  const model::OverviewKernel& k = o.kernels[0];
  CHECK(k.name == "void gemv<\"a\">(\xC3\xA9)");
  CHECK(k.process == 0);
  CHECK(k.config.grid[0] == 0);
  CHECK(k.invocations == 121842);
  CHECK(k.duration_ns == 1609123456);
  CHECK(k.captured == 10);
  CHECK(k.imputed == 4);
  REQUIRE(k.clusters.size() == 2);
  CHECK(k.clusters[0].lower_ns == 5800);
  CHECK(k.clusters[0].upper_ns == 6300);
  CHECK(k.clusters[0].count == 71000);
  CHECK(k.clusters[0].mean_ns == 6100.5);
  CHECK(k.clusters[0].stddev_ns == 80.2);
  CHECK(k.clusters[0].captured == 2);
  CHECK(k.clusters[0].target == 3);
  CHECK(k.clusters[0].state == model::ClusterState::kClosed);
  CHECK(k.clusters[1].state == model::ClusterState::kUnreachable);
  REQUIRE(k.histogram.size() == 2);
  CHECK(k.histogram[1].lower_ns == 5824);
  CHECK(k.histogram[1].upper_ns == 5888);
  CHECK(k.histogram[1].count == 3011);
  REQUIRE(k.slices.size() == 2);
  CHECK(k.slices[1].slice == 1);
  CHECK(k.slices[1].invocations == 2711);
  CHECK(k.slices[1].duration_ns == 35790001);
  CHECK(o.kernels[1].process == 4242);
  CHECK(o.kernels[1].config.grid[2] == 3);
  CHECK(o.kernels[1].config.block[0] == 64);
}

TEST_CASE("missing optional fields are 0, empty or an unknown bound") {
  const Result<model::Overview> parsed = model::ParseOverview(kMin, "f.json");
  if (!parsed.ok()) FAIL(parsed.error().message);
  CHECK(parsed.value().ended);
  CHECK(parsed.value().seen == 0);
  CHECK(parsed.value().pid == 0);
  CHECK(std::isnan(parsed.value().bound));
  CHECK(parsed.value().timeline.empty());
  const Result<Overview> null = ParseOverview(With(R"("bound": 0.061)", R"("bound": null)"), "f");
  REQUIRE(null.ok());
  CHECK(std::isnan(null.value().bound));
}

TEST_CASE("unknown fields of later versions are ignored") {
  std::string text = With(R"("seen": 816100, "kept")",
                          R"("new": {"a": [1, {"b": "}"}], "seen": 3}, "seen": 816100, "kept")");
  const auto add = [&text](const std::string& at, const std::string& what) {
    const std::size_t found = text.find(at);
    REQUIRE(found != std::string::npos);
    text.insert(found + at.size(), what);
  };
  add("[5760, 5824, 120", ", 7, \"x\"");
  add("18230411, 14, 81234, 22, 1, 0", ", [1]");
  add("\"imputed\": 4", ", \"later\": [[[]]]");
  const Result<model::Overview> parsed = model::ParseOverview(text, "f.json");
  if (!parsed.ok()) FAIL(parsed.error().message);
  CHECK(parsed.value().seen == 816100);
  CHECK(parsed.value().kernels[0].histogram[0].count == 120);
  CHECK(parsed.value().kernels[0].histogram.size() == 2);
  CHECK(parsed.value().timeline[1].observed == 8192);
}

TEST_CASE("an unexpected value is rejected with its place") {
  CHECK(ErrorOf(With("\"captured\": 10", "\"captured\": -1")) ==
        "f.json: kernels[0].captured: is -1; expected a whole number");
  CHECK(ErrorOf(With("5824, 120]", "5824]")) ==
        "f.json: kernels[0].histogram[0]: has 2 items; expected [lower, upper, launches]");
  CHECK(ErrorOf(With("\"closed\"", "\"ajar\"")) ==
        "f.json: kernels[0].clusters[0].state: is \"ajar\"; expected open, closed or unreachable");
  CHECK(ErrorOf(With("20, null, 3", "20, \"x\", 3")) ==
        "f.json: timeline[1][6]: is \"x\"; expected a number");
  CHECK(ErrorOf(With("[199, 6, 80, 81]", "[199, 6]")) ==
        "f.json: activity.slices[1]: has 2 items; expected [slice, launches, kernel time, busy "
        "time]");
  CHECK(ErrorOf(With("12.31", "null")) == "f.json: elapsed_s: is null; expected a number");
  CHECK(ErrorOf(With("\"name\": \"b\", ", "")) ==
        "f.json: kernels[1].name: is missing; expected a text");
  CHECK(ErrorOf(With("\"running\"", "\"walking\"")) ==
        "f.json: state: is \"walking\"; expected running or ended");
  CHECK(ErrorOf(With("overview/1", "overview/2")) ==
        "f.json: schema: is \"stemtap.overview/2\"; expected 'stemtap.overview/1'");
  CHECK(ErrorOf(With("\"pid\": 4240", "\"pid\": 4294967296")) ==
        "f.json: pid: is 4294967296; expected a whole number");
  CHECK(ErrorOf(With("[64, 1, 1]", "[65536, 1, 1]")) ==
        "f.json: kernels[1].block[0]: is 65536; expected a whole number");
  CHECK(ErrorOf(With("\"state\": \"running\",", "")) ==
        "f.json: state: is missing; expected running or ended");
  CHECK(ErrorOf(R"({"state":"ended","kernels":[]})") ==
        "f.json: schema: is missing; expected 'stemtap.overview/1'");
  CHECK(ErrorOf(With("\"ring_full\": 90", "\"ring\\u001b[31m\": [90]"))
            .starts_with("f.json: losses.ring\\x1B[31m: is an array; expected"));
}

TEST_CASE("an inconsistent overview is rejected with the place of the error") {
  const auto error = [](const std::string& from, const std::string& to) {
    const std::string message = ErrorOf(With(from, to));
    CHECK(message != "");
    return message;
  };
  CHECK(error("\"bound\": 0.061", "\"bound\": -1") ==
        "f.json: bound: is -1; expected a number of at least 0");
  CHECK(error("\"upper_ns\": 6300", "\"upper_ns\": 5799") ==
        "f.json: kernels[0].clusters[0].upper_ns: is 5799; expected at least lower_ns");
  CHECK(error("\"mean_ns\": 4", "\"mean_ns\": null").find("clusters[1].mean_ns: is null") !=
        std::string::npos);
  CHECK(error("\"captured\": 10", "\"captured\": 121843")
            .find("kernels[0].captured: is 121843; expected at most the invocations") !=
        std::string::npos);
  CHECK(error("\"count\": 71000", "\"count\": 18446744073709551615")
            .find("kernels[0].clusters: is 18446744073709551615 launches in total") !=
        std::string::npos);
  CHECK(error("[5824, 5888, 3011]", "[5823, 5888, 3011]")
            .find("kernels[0].histogram[1]: is 5823; expected ascending bins") !=
        std::string::npos);
  CHECK(error("[5824, 5888, 3011]", "[5824, 5824, 3011]").find("[5824, 5824, 3011]") !=
        std::string::npos);
  CHECK(error("[1, 2711, 35790001]", "[0, 2711, 35790001]").find("ascending slices") !=
        std::string::npos);
  CHECK(error("[1, 2711, 35790001]", "[46, 2711, 35790001]").find("a slice below 46") !=
        std::string::npos);
  CHECK(error("[199, 6,", "[3, 6,") ==
        "f.json: activity.slices[1]: is 3; expected ascending slices");
  CHECK(error("[199, 6,", "[200, 6,") ==
        "f.json: activity.slices[1]: is 200; expected a slice below count");
  CHECK(error("[198, 8]", "[3, 8]") ==
        "f.json: activity.by_device[1].slices[1]: is 3; expected ascending slices");
  CHECK(error("[198, 8]", "[200, 8]") ==
        "f.json: activity.by_device[1].slices[1]: is 200; expected a slice below count");
  CHECK(error("67108864", "0") == "f.json: activity.width_ns: is 0; expected a positive number");
  CHECK(error("[1, 8192,", "[0.3, 8192,").find("timeline[1][0]: is 0.3") != std::string::npos);
  CHECK(error("[1, 8192,", "[1, 4095,").find("timeline[1][1]: is 4095") != std::string::npos);
}

TEST_CASE("a duplicate field is rejected on every level") {
  CHECK(ErrorOf(With("\"seen\": 816100, \"kept\"", "\"seen\": 1, \"seen\": 816100, \"kept\"")) ==
        "f.json: seen: occurs twice; expected it once");
  CHECK(ErrorOf(With("\"ring_full\": 90", "\"ring_full\": 90, \"ring_full\": 90")) ==
        "f.json: losses.ring_full: occurs twice; expected it once");
  CHECK(ErrorOf(With("\"imputed\": 4", "\"imputed\": 4, \"n\\u0061me\": \"x\"")) ==
        "f.json: kernels[0].name: occurs twice; expected it once");
}

TEST_CASE("an overview reads back as it was written") {
  const Result<model::Overview> parsed = model::ParseOverview(kExample, "f.json");
  REQUIRE(parsed.ok());
  const std::string text = model::OverviewToJson(parsed.value());
  const Result<Overview> again = ParseOverview(text, "again");
  if (!again.ok()) FAIL(again.error().message);
  CHECK(OverviewToJson(again.value()) == text);
  CHECK(again.value().kernels[1].config.block[0] == 64);
  CHECK(again.value().kernels[0].slices.size() == 2);
  CHECK(std::isnan(again.value().timeline[1].bound));
  const Result<Overview> empty = ParseOverview(OverviewToJson({}), "empty");
  CHECK(empty.ok());
}

TEST_CASE("an overview truncated at any byte is an error") {
  const std::string whole = kExample.substr(0, kExample.find_last_of('}'));
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    CAPTURE(size);
    CHECK(ErrorOf(whole.substr(0, size)) != "");
  }
}

TEST_CASE("invalid text gives a one-line error") {
  const std::string deep(100000, '[');
  for (const std::string& text : {std::string(),
                                  std::string("\n"),
                                  std::string("null"),
                                  std::string("[]"),
                                  std::string("7"),
                                  kMin + "x",
                                  kMin + kMin,
                                  std::string(1, '\0'),
                                  kMin + std::string(1, '\0'),
                                  std::string("\xFF\xFE{\0}\0", 6),
                                  deep,
                                  std::string("{\"a\":") + deep,
                                  std::string("{\"kernels\":") + deep,
                                  With("void", "v\xC3(id"),
                                  With("void", "v\noid"),
                                  With("816100", "1e999999"),
                                  With("816100", "99999999999999999999999"),
                                  With("816100", std::string(100000, '9')),
                                  With("816100", "0x10"),
                                  With("816100", "-"),
                                  With("12.31", "1e999999"),
                                  With("\"python3\", ", "\"python3\" "),
                                  With("{", "{{")}) {
    CAPTURE(text.substr(0, 60));
    CHECK(ErrorOf(text) != "");
  }
}

TEST_CASE("a reader that is used again does not keep values of the previous overview") {
  const test::TempDir folder;
  const std::string path = folder.Write("overview.json", kExample).string();
  model::OverviewReader reader(true);
  model::Overview overview;
  REQUIRE(reader.Read(path, overview).ok());
  CHECK(reader.text() == kExample);
  CHECK(overview.kernels[0].slices.size() == 2);
  folder.Write("overview.json",
               R"({"schema":"stemtap.overview/1","state":"ended","kernels":[{"name":"c"}]})");
  REQUIRE(reader.Read(path, overview).ok());
  CHECK(overview.command.empty());
  CHECK(overview.seen == 0);
  CHECK(overview.timeline.empty());
  REQUIRE(overview.kernels.size() == 1);
  CHECK(overview.kernels[0].name == "c");
  CHECK(overview.kernels[0].invocations == 0);
  CHECK(overview.kernels[0].clusters.empty());
  CHECK(overview.kernels[0].histogram.empty());
  CHECK(overview.kernels[0].slices.empty());

  OverviewReader without(false);
  folder.Write("overview.json", kExample);
  REQUIRE(without.Read(path, overview).ok());
  CHECK(overview.kernels[0].slices.empty());
  CHECK(overview.kernels[0].histogram.size() == 2);

  CHECK(!reader.Read(folder.path().string(), overview).ok());
  const Status missing = reader.Read((folder / "none").string(), overview);
  REQUIRE(!missing.ok());
  CHECK(missing.error().message.find("none: cannot be opened: ") != std::string::npos);
}

TEST_CASE("an overview is loaded from a file") {
  const test::TempDir folder;
  const Result<model::Overview> loaded =
      model::LoadOverview(folder.Write("o.json", kExample).string());
  REQUIRE(loaded.ok());
  CHECK(loaded.value().kernels.size() == 2);
  CHECK(!LoadOverview((folder / "none").string()).ok());
}
