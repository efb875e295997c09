// SPDX-License-Identifier: Apache-2.0
#include "ui/report/session_report.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "analysis/comparison/run_diff.h"
#include "support/temp_dir.h"
#include "ui/report/session_files.h"
#include "ui/report/unpack.h"

namespace stemtap::ui {
namespace {

using nlohmann::json;
using test::TempDir;

constexpr std::string_view kPage =
    "<!doctype html><script type=\"application/octet-stream\" "
    "id=\"stemtap-data\">@STEMTAP_DATA@</script>\n";

// Session is a directory with all session files. Tests remove or corrupt some of the files.
struct Session {
  TempDir directory;

  Session() {
    directory.Write("run/plan.json", test::kPlanJson);
    directory.Write("run/session.json", test::kSessionJson);
    directory.Write("run/overview.json", test::kOverviewJson);
    directory.Write("run/mask.ndjson", test::kMask);
    directory.Write("evaluation.json", test::kEvaluationJson);
  }
  std::string run() const { return (directory / "run").string(); }
  std::string evaluation() const { return (directory / "evaluation.json").string(); }
  void Remove(const char* file) const { std::filesystem::remove(directory / file); }
};

std::string Html(const Report& report) {
  test::MemorySink sink;
  REQUIRE(WriteReport(report, 1795310000123, kPage, sink).ok());
  return sink.text;
}

// Returns whether the unchanged text of `value` follows "member":.
bool HasVerbatim(const std::string& text, const std::string& member, const std::string& value) {
  return text.find("\"" + member + "\":" + value) != std::string::npos;
}

TEST_CASE("a report contains every file of its session, byte for byte") {
  const Session session;
  auto report = LoadReport(session.run(), session.evaluation());
  REQUIRE(report.ok());
  CHECK(report.value().warnings.empty());
  report.value().cost = "the samples cost 1 MB";
  const std::string html = Html(report.value());
  CHECK(html.starts_with(kPage.substr(0, kPage.find('@'))));
  CHECK(html.ends_with("</script>\n"));

  const std::string text = test::DataOf(html);
  CHECK(HasVerbatim(text, "plan", test::kPlanJson));
  CHECK(HasVerbatim(text, "session", test::kSessionJson));
  CHECK(HasVerbatim(text, "overview", test::kOverviewJson));
  CHECK(HasVerbatim(text, "evaluation", test::kEvaluationJson));
  const json data = json::parse(text);
  CHECK(data["schema"] == "stemtap.report/1");
  CHECK(data["tool"] == "stemtap 0.1.0");
  CHECK(data["folder"] == "run");
  CHECK(data["plan_file"] == "run/plan.json");
  CHECK(data["plan_path"] == (session.directory / "run/plan.json").string());
  CHECK(data["profile_path"] == "");
  CHECK(data["profiles"] == json::array());
  CHECK(data["made_unix_ms"] == 1795310000123);
  CHECK(
      data["mask"] ==
      json::parse(
          R"({"events":[["capture",4,0,2,0,1732180000123456789],["close",5,1,2,0,null]],"left_out":0})"));
  CHECK(data["brief_names"] ==
        json{{"</script><script>alert(1)</script>", "</script><script>alert"}});
  CHECK(data["categories"]["names"][0] == "gemm");
  CHECK(data["categories"]["kernels"] == json{8, 0});  // other, gemm
  CHECK(data["cost"] == "the samples cost 1 MB");
  CHECK(data["diff"].is_null());
  CHECK(data.size() == 19);
}

TEST_CASE("a report contains the short forms of names") {
  Session session;
  Report report = LoadReport(session.run(), session.evaluation()).value();
  const json plan = json::parse(report.plan);
  const std::string written = plan["kernels"][0]["name"];
  const std::string mangled = "_ZN2at6native29vectorized_elementwise_kernelILi4EfEEvif";
  std::string other = report.plan;
  for (std::size_t at = 0; (at = other.find(written, at)) != std::string::npos;
       at += mangled.size()) {
    other.replace(at, written.size(), mangled);
  }
  session.directory.Write("run/plan.json", other);
  report = LoadReport(session.run(), session.evaluation()).value();
  const json data = json::parse(test::DataOf(Html(report)));
  CHECK(data["brief_names"][mangled] == "vectorized_elementwise_kernel<4, float>");
  CHECK(data["plan"]["kernels"][0]["name"] == mangled);
}

TEST_CASE("a report contains the short forms of kernels next to gaps, also of excluded ones") {
  const Session session;
  const std::string mangled = "_ZN2at6native29vectorized_elementwise_kernelILi4EfEEvif";
  json recorded = json::parse(test::kSessionJson);
  recorded["devices"] = {{{"launches", 2},
                          {"longest_gaps", {{5, 9, "gemm", mangled}, {20, 4, nullptr, nullptr}}},
                          {"streams", json::array()}}};
  session.directory.Write("run/session.json", recorded.dump() + "\n");
  const auto report = LoadReport(session.run(), "");
  REQUIRE(report.ok());
  const json data = json::parse(test::DataOf(Html(report.value())));
  CHECK(data["session"]["devices"] == recorded["devices"]);
  CHECK(data["brief_names"][mangled] == "vectorized_elementwise_kernel<4, float>");
}

TEST_CASE("a report contains the comparison with a baseline as stemtap diff prints it") {
  const Session session;
  Report report = LoadReport(session.run(), "").value();
  const std::string mangled = "_ZN2at6native29vectorized_elementwise_kernelILi4EfEEvif";
  const analysis::RunDiff diff = analysis::DiffRuns(
      {"before.csv", 15, 150, {{"gemm", 10, 100, 1.0}, {mangled, 5, 50, 1.0}}},
      {"run", 30, 300, {{"gemm", 10, 100, 1.0}, {"</script>", 20, 200, 1.0}}}, {});
  REQUIRE(AddDiff(diff, report).ok());
  const std::string text = test::DataOf(Html(report));
  CHECK(HasVerbatim(text, "diff", analysis::DiffJson(diff)));
  const json data = json::parse(text);
  CHECK(data["diff"]["schema"] == "stemtap.diff/1");
  CHECK(data["diff"]["a"]["source"] == "before.csv");
  CHECK(data["diff"]["verdicts"]["gone"] == 1);
  CHECK(data["brief_names"][mangled] == "vectorized_elementwise_kernel<4, float>");
}

TEST_CASE("session content cannot end the script element") {
  const Session session;
  const std::string directory = (session.directory / "<b>\xFF</script>").string();
  std::filesystem::create_directories(std::filesystem::path(directory).parent_path());
  std::filesystem::rename(session.run(), session.directory / "moved");
  std::filesystem::create_directories(directory);
  std::filesystem::copy(session.directory / "moved", directory);
  const auto report = LoadReport(directory, "");
  REQUIRE(report.ok());
  const std::string html = Html(report.value());
  std::size_t ends = 0;
  for (std::size_t at = html.find("</script"); at != std::string::npos;
       at = html.find("</script", at + 1)) {
    ++ends;
  }
  CHECK(ends == 1);
  // The last path component of "<b>\xFF</script>" is "script>".
  CHECK(json::parse(test::DataOf(html))["folder"] == "script>");
}

TEST_CASE("a directory name that is not UTF-8 is shown with replacements") {
  const Session session;
  const std::string directory = (session.directory / "<b>\"\xFF").string();
  std::filesystem::rename(session.run(), directory);
  const auto report = LoadReport(directory + "/", "");
  REQUIRE(report.ok());
  CHECK(json::parse(test::DataOf(Html(report.value())))["folder"] == "<b>\"\xEF\xBF\xBD");
}

TEST_CASE("missing parts of a session are null and reported") {
  for (const char* file : {"session.json", "overview.json", "mask.ndjson"}) {
    CAPTURE(file);
    const Session session;
    session.Remove((std::string("run/") + file).c_str());
    const auto report = LoadReport(session.run(), "");
    REQUIRE(report.ok());
    REQUIRE(report.value().warnings.size() == 1);
    CHECK(report.value().warnings[0].find(file) != std::string::npos);
    const json data = json::parse(test::DataOf(Html(report.value())));
    const std::string member = std::string(file).substr(0, std::string(file).find('.'));
    CHECK(data[member].is_null());
    CHECK(data["evaluation"].is_null());
    CHECK(data["plan"].is_object());
  }
}

TEST_CASE("a report can be made from a plan") {
  const Session session;
  const auto report = LoadReport(session.run() + "/plan.json", session.evaluation());
  REQUIRE(report.ok());
  CHECK(report.value().warnings.empty());
  const json data = json::parse(test::DataOf(Html(report.value())));
  CHECK(data["folder"] == "plan.json");
  CHECK(data["plan"]["totals"]["samples"] == 3);
  for (const char* member : {"session", "overview", "mask"}) CHECK(data[member].is_null());
  CHECK(data["evaluation"].is_object());
}

TEST_CASE("a report can be made from a profile and its plan") {
  const TempDir directory;
  model::Plan plan;
  plan.kernels.resize(2);
  plan.kernels[0].name = "gemm";
  plan.kernels[1].name = "_ZN2at6native29vectorized_elementwise_kernelILi4EfEEvif";
  plan.totals.kernels = 2;
  const std::string profile = directory.Write("runs/a.csv", "").string();
  const auto report = ReportOfPlan(plan, profile);
  REQUIRE(report.ok());
  CHECK(report.value().totals.kernels == 2);
  const std::string text = test::DataOf(Html(report.value()));
  CHECK(HasVerbatim(text, "plan", model::PlanToJson(plan)));
  const json data = json::parse(text);
  CHECK(data["folder"] == "a.csv");
  CHECK(data["plan_file"] == "plan.json");
  CHECK(data["plan_path"] == "");
  CHECK(data["profile_path"] == profile);
  CHECK(data["categories"]["kernels"] == json{0, 5});  // gemm, elementwise
  CHECK(data["brief_names"] ==
        json{{plan.kernels[1].name, "vectorized_elementwise_kernel<4, float>"}});
  for (const char* member : {"session", "overview", "mask", "evaluation", "diff", "ranks"}) {
    CHECK(data[member].is_null());
  }
}

TEST_CASE("the report of a job has its ranks") {
  const Session session;
  const std::string ranks =
      R"({"schema": "stemtap.ranks/1", "job": "train", "ranks": [{"rank": 3, "slower": 0.0820}]})";
  session.directory.Write("run/ranks.json", ranks);
  const auto report = LoadReport(session.run(), "");
  REQUIRE(report.ok());
  CHECK(report.value().warnings.empty());
  CHECK(HasVerbatim(test::DataOf(Html(report.value())), "ranks", ranks));
}

TEST_CASE("a byte order mark is not part of a text") {
  const Session session;
  session.directory.Write("run/plan.json", std::string("\xEF\xBB\xBF") + test::kPlanJson);
  const auto report = LoadReport(session.run(), "");
  REQUIRE(report.ok());
  CHECK(HasVerbatim(test::DataOf(Html(report.value())), "plan", test::kPlanJson));
}

TEST_CASE("each kind of unfinished session has its own error") {
  const Session session;
  const auto message = [](const std::string& path) {
    const auto report = LoadReport(path, "");
    REQUIRE(!report.ok());
    CHECK(report.error().exit_code == 1);
    return report.error().message;
  };
  CHECK(message((session.directory / "gone").string()).find("gone: does not exist") !=
        std::string::npos);
  std::filesystem::create_directory(session.directory / "empty");
  CHECK(message((session.directory / "empty").string()).find("is not a session directory") !=
        std::string::npos);
  session.Remove("run/plan.json");
  for (const char* file : {"run/overview.json", "run/mask.ndjson", "run/session.json"}) {
    CAPTURE(file);
    CHECK(message(session.run()).find("is still running ('stemtap top' shows it)") !=
          std::string::npos);
    session.Remove(file);
  }
  CHECK(message(session.run()).find("is not a session directory") != std::string::npos);
}

TEST_CASE("a session that may not be read is reported as such") {
  const Session session;
  // Root may read everything, so another user reads.
  const uid_t before = ::geteuid();
  std::filesystem::permissions(session.directory.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(session.run(), std::filesystem::perms::none);
  if (before == 0) REQUIRE(::seteuid(65534) == 0);
  for (const char* name : {"", "/plan.json", "/other.json"}) {
    CAPTURE(name);
    const auto report = LoadReport(session.run() + name, "");
    REQUIRE_FALSE(report.ok());
    CHECK(report.error().message == session.run() + name + ": cannot be opened: Permission denied");
  }
  if (before == 0) REQUIRE(::seteuid(before) == 0);
  std::filesystem::permissions(session.run(), std::filesystem::perms::owner_all);
}

std::string With(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST_CASE("counters that contradict the plan, as from a damaged ring, are a warning") {
  const Session session;
  session.directory.Write("run/session.json",
                          With(test::kSessionJson, "\"kept\": 30", "\"kept\": 31"));
  const auto report = LoadReport(session.run(), session.evaluation());
  REQUIRE(report.ok());
  REQUIRE(report.value().warnings.size() == 1);
  CHECK(report.value().warnings[0].ends_with(
      "run: session.json has 31 kept launches and plan.json has 30"));
}

TEST_CASE("an incomplete last line of the mask, as a killed collector leaves it, is one warning") {
  const Session session;
  session.directory.Write("run/mask.ndjson", std::string(test::kMask) + "{\"event\":");
  const auto report = LoadReport(session.run(), session.evaluation());
  REQUIRE(report.ok());
  CHECK(report.value().mask->events.size() == 2);
  REQUIRE(report.value().warnings.size() == 1);
  CHECK(report.value().warnings[0].ends_with(
      "run/mask.ndjson: the last line is incomplete; the report omits 1 decision"));
}

TEST_CASE("a damaged session file is reported with the place of the error") {
  const struct {
    const char* file;
    std::string content;
    const char* word;
  } cases[] = {
      {"run/plan.json", std::string(test::kPlanJson).substr(0, 700), "plan.json: "},
      {"run/plan.json", "", "plan.json: is not JSON"},
      {"run/plan.json", R"({"schema":"stemtap.plan/1"})", "expected a text"},
      {"run/plan.json", With(test::kPlanJson, "\"count\": 20", "\"count\": 21"),
       "plan.json: kernels[0].invocations: is 20; expected 21"},
      {"run/session.json", With(test::kSessionJson, "\"gaps\": 0", "\"gaps\": -1"),
       "session.json: counters.gaps: is -1; expected a whole number"},
      {"run/overview.json", With(test::kOverviewJson, "[]", "[], \"timeline\": []"),
       "overview.json: timeline: occurs twice"},
      {"run/overview.json", With(test::kOverviewJson, "\"kernels\": []", "\"kernels\": [{}]"),
       "overview.json: kernels[0].name: is missing; expected a text"},
      {"run/plan.json", test::kSessionJson, "plan.json: schema: is \"stemtap.session/1\""},
      {"run/session.json", "{\n\n", "session.json: "},
      {"run/overview.json", "\x1f\x8b", "overview.json"},
      {"run/overview.json", test::kSessionJson, "overview.json: schema"},
      {"run/mask.ndjson", std::string(test::kMask) + "{\"event\":\n", "mask.ndjson:3: "},
      {"evaluation.json", test::kPlanJson, "evaluation.json: schema"},
      {"run/ranks.json", test::kPlanJson, "ranks.json: schema"},
  };
  for (const auto& damage : cases) {
    CAPTURE(damage.file);
    const Session session;
    session.directory.Write(damage.file, damage.content);
    const auto report = LoadReport(session.run(), session.evaluation());
    REQUIRE(!report.ok());
    CAPTURE(report.error().message);
    CHECK(report.error().message.find(damage.word) != std::string::npos);
    CHECK(report.error().message.find('\n') == std::string::npos);
  }
}

TEST_CASE("a truncated plan is an error and gives no partial report") {
  const Session session;
  const std::string whole = test::kPlanJson;
  for (std::size_t size = 0; size + 2 < whole.size(); size += 7) {
    CAPTURE(size);
    session.directory.Write("run/plan.json", whole.substr(0, size));
    CHECK(!LoadReport(session.run(), "").ok());
  }
}

TEST_CASE("a disk that becomes full during a report is reported") {
  const Session session;
  const auto report = LoadReport(session.run(), "");
  REQUIRE(report.ok());
  for (const std::size_t most : {std::size_t{1}, kPage.size(), kPage.size() + 500}) {
    test::MemorySink full(most);
    CHECK(!WriteReport(report.value(), 0, kPage, full).ok());
  }
}

}  // namespace
}  // namespace stemtap::ui
