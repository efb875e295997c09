// SPDX-License-Identifier: Apache-2.0
// Runs the report command as a user does. The browser tests (tests/browser) check what the page
// shows.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/check_failure.h"
#include "support/stemtap.h"
#include "ui/cli/two_runs.h"
#include "ui/report/page.h"
#include "ui/report/session_files.h"
#include "ui/report/unpack.h"

namespace stemtap::ui {
namespace {

using nlohmann::json;
using test::CheckFailure;
using test::ReadFile;
using test::RunStemtap;
using test::TempDir;

test::ProcessResult RunReport(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "report");
  return RunStemtap(arguments);
}

struct Session {
  TempDir directory;
  std::string run = (directory / "run").string();

  Session() {
    directory.Write("run/plan.json", test::kPlanJson);
    directory.Write("run/session.json", test::kSessionJson);
    directory.Write("run/overview.json", test::kOverviewJson);
    directory.Write("run/mask.ndjson", test::kMask);
  }
};

TEST_CASE("without the report page, stemtap reports what a report requires") {
  if (!ReportPage().empty()) return;
  const Session session;
  CheckFailure(RunReport({session.run}), 1,
               {"without the page", "Node.js", "apt-get install nodejs npm"});
  CHECK(!std::filesystem::exists(session.directory / "run/report.html"));
}

TEST_CASE("the page has one place for data, in an element that browsers do not run") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  const std::string_view page = ReportPage();
  const std::size_t at = page.find(
      "<script type=\"application/octet-stream\" id=\"stemtap-data\">@STEMTAP_DATA@</script>");
  CHECK(at != std::string_view::npos);
  const std::size_t first = page.find(kDataPlaceholder);
  CHECK(page.find(kDataPlaceholder, first + 1) == std::string_view::npos);
}

TEST_CASE("without a session, the newest finished session below the current directory is used") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  const Session session;
  test::ProcessOptions options;
  options.cwd = session.directory.path();
  // This session is newer and still running: it has an overview but no plan yet.
  session.directory.Write("running/overview.json", test::kOverviewJson);
  const auto result = RunStemtap({"report"}, options);
  CAPTURE(result.err);
  CHECK(result.exit_code == 0);
  CHECK(std::filesystem::exists(session.directory / "run/report.html"));
  // There are sessions above and next to this directory.
  options.cwd = session.directory.Write("empty/a/x", "").parent_path();
  CheckFailure(RunStemtap({"report"}, options), 1,
               {"no session below the current directory; name"});
  options.cwd = session.directory / "running";
  CheckFailure(RunStemtap({"report"}, options), 1,
               {"no session below the current directory has ended"});
}

TEST_CASE("a report is written into the session directory, or to -o") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  const Session session;
  auto result = RunReport({session.run});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.out.empty());
  CHECK(result.err.find("3 samples of 2 kernels") != std::string::npos);
  const std::string first = ReadFile(session.directory / "run/report.html");
  using std::filesystem::perms;
  CHECK((std::filesystem::status(session.directory / "run/report.html").permissions() &
         (perms::group_all | perms::others_all)) == perms::none);
  CHECK(json::parse(test::DataOf(first))["folder"] == "run");

  // A second run replaces the report atomically; an evaluation can be added.
  const std::string evaluation =
      session.directory.Write("evaluation.json", test::kEvaluationJson).string();
  const std::string output = (session.directory / "other.html").string();
  session.directory.Write("other.html", "something else");
  result = RunReport({session.run, "-o", output, "--evaluation", evaluation, "--json"});
  REQUIRE(result.exit_code == 0);
  const json told = json::parse(result.out);
  CHECK(told["output"] == output);
  CHECK(told["session"] == session.run);
  CHECK(told["bytes"] == std::filesystem::file_size(output));
  CHECK(told["decisions"] == 2);
  CHECK(told["decisions_left_out"] == 0);
  CHECK(json::parse(test::DataOf(ReadFile(output)))["evaluation"].is_object());
  CHECK(ReadFile(session.directory / "run/report.html") == first);
  CHECK(RunReport({session.run}).exit_code == 0);

  // A file in a session directory selects the session. A plan elsewhere selects only itself.
  result = RunReport({session.run + "/plan.json", "-o", "-"});
  REQUIRE(result.exit_code == 0);
  CHECK(json::parse(test::DataOf(result.out))["session"].is_object());
  std::filesystem::remove(session.directory / "run/report.html");
  REQUIRE(RunReport({session.run + "/plan.json"}).exit_code == 0);
  CHECK(std::filesystem::exists(session.directory / "run/report.html"));
  result =
      RunReport({session.directory.Write("alone/plan.json", test::kPlanJson).string(), "-o", "-"});
  REQUIRE(result.exit_code == 0);
  const json alone = json::parse(test::DataOf(result.out));
  CHECK(alone["session"].is_null());
  CHECK(alone["plan_file"] == "plan.json");
}

TEST_CASE("a recorded run is reported with the plan that 'stemtap plan' makes of it") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  const TempDir directory;
  directory.Write("e.json", test::kEvaluationJson);
  REQUIRE(RunStemtap(directory, {"generate", "phases", "--launches", "2000", "-q", "-o", "r.csv"})
              .exit_code == 0);
  REQUIRE(RunStemtap(directory, {"plan", "r.csv", "-q", "-o", "plan.json"}).exit_code == 0);
  const auto made = RunStemtap(directory, {"report", "r.csv", "-o", "-", "--evaluation", "e.json"});
  CAPTURE(made.err);
  REQUIRE(made.exit_code == 0);
  const json data = json::parse(test::DataOf(made.out));
  CHECK(data["plan"] == json::parse(ReadFile(directory / "plan.json")));
  CHECK(data["session"].is_null());
  CHECK(data["evaluation"].is_object());
  CHECK(data["spread"].get<std::string>().starts_with("samples: launches "));
  const std::string lacks =
      "has no timeline, activity, histograms or decisions; a session of a "
      "recorded run has them: stemtap replay ";
  CHECK(made.err.find(lacks + "r.csv\n") != std::string::npos);
  const auto of_plan = RunStemtap(directory, {"report", "plan.json", "-o", "p.html"});
  CHECK(of_plan.err.find(lacks + "r.csv\n") != std::string::npos);
  std::filesystem::rename(directory / "r.csv", directory / "moved.csv");
  const auto moved = RunStemtap(directory, {"report", "plan.json", "-o", "p.html"});
  CHECK(moved.err.find(lacks + "PROFILE\n") != std::string::npos);
  std::filesystem::rename(directory / "moved.csv", directory / "r.csv");
  CheckFailure(RunStemtap(directory, {"report", "r.csv"}), 2, {"or recorded run with -o FILE"});
  CheckFailure(RunStemtap(directory, {"report", "-", "-o", "p.html"}), 2, {"only once"});
  directory.Write("other.txt", "no profile");
  CheckFailure(RunStemtap(directory, {"report", "other.txt", "-o", "p.html"}), 1,
               {"not a known profile format"});
}

TEST_CASE("a report with unusable input or output fails with one line") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  const Session session;
  const std::string plan = session.run + "/plan.json";
  CheckFailure(RunReport({session.run + "-gone"}), 1, {"run-gone: does not exist"});
  CheckFailure(RunReport({session.run + "\x1B\xE2\x80\xAE\n"}), 1,
               {"run\\x1B\\u{202E}\\x0A: does not exist"});
  CheckFailure(RunReport({session.directory.path().string()}), 1, {"is not a session directory"});
  CheckFailure(RunReport({session.run, "-o", session.run + "/no/report.html"}), 1,
               {"report.html", "cannot be written"});
  CheckFailure(RunReport({session.run, "-o", session.directory.path().string()}), 1,
               {"is a directory"});
  CheckFailure(RunReport({session.run, "--evaluation", session.run + "/gone.json"}), 1,
               {"gone.json: cannot be opened"});
  CheckFailure(
      RunReport({session.directory.Write("alone/plan.json", test::kPlanJson).string()}), 2,
      {"is a file; expected a session directory, or a plan.json or recorded run with -o FILE"});
  CheckFailure(RunReport({session.run, "-o", "-", "--json"}), 2, {"standard output"});
  for (const char* name : {"plan.json", "session.json", "overview.json", "mask.ndjson"}) {
    const std::string path = session.run + "/" + name;
    CheckFailure(RunReport({session.run, "-o", path}), 2, {path + ": is the input"});
    CheckFailure(RunReport({plan, "-o", path}), 2, {path + ": is the input"});
  }
  // A report does not show cells.json, but the file belongs to the session.
  const std::string cells = session.directory.Write("run/cells.json", "{}").string();
  CheckFailure(RunReport({session.run, "-o", cells}), 2, {cells + ": is the input"});
  CHECK(ReadFile(cells) == "{}");
  std::filesystem::remove(cells);
  CHECK(ReadFile(plan) == test::kPlanJson);
  CheckFailure(RunReport({session.run, "--evaluation", plan}), 1, {"schema"});
  session.directory.Write("run/session.json", "{\"schema\":");
  CheckFailure(RunReport({session.run}), 1, {"run/session.json: ", "line 1"});
  std::filesystem::remove(plan);
  CheckFailure(RunReport({session.run}), 1, {"is still running", "stemtap top"});
  // The failed command leaves no files behind.
  CHECK(!std::filesystem::exists(session.directory / "run/report.html"));
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(session.directory.path())) {
    CHECK(entry.path().string().find(".tmp.") == std::string::npos);
  }
}

TEST_CASE("a report of a replay shows the figures of the replay") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  const TempDir directory;
  const std::string profile = (directory / "run.csv").string();
  const std::string session = (directory / "session").string();
  REQUIRE(RunStemtap({"generate", "llm-decode", "--launches", "20000", "-o", profile}).exit_code ==
          0);
  REQUIRE(RunStemtap({"replay", profile, "-q", "-o", session}).exit_code == 0);
  REQUIRE(RunReport({session}).exit_code == 0);
  const json data = json::parse(test::DataOf(ReadFile(directory / "session/report.html")));
  CHECK(data["plan"] == json::parse(ReadFile(directory / "session/plan.json")));
  CHECK(data["session"] == json::parse(ReadFile(directory / "session/session.json")));
  const json& events = data["mask"]["events"];
  const std::string mask = ReadFile(directory / "session/mask.ndjson");
  REQUIRE(events.size() == static_cast<std::size_t>(std::count(mask.begin(), mask.end(), '\n')));
  std::size_t at = 0;
  for (const json& event : events) {
    const std::size_t end = mask.find('\n', at);
    const json line = json::parse(mask.substr(at, end - at));
    at = end + 1;
    CHECK(event[0] == line["event"]);
    CHECK(event[1] == line["index"]);
    CHECK(data["plan"]["kernels"][event[2].get<std::size_t>()]["name"] == line["kernel"]);
    CHECK(event[3] == line["occurrence"]);
    CHECK(event[4] == line["cluster"]);
    CHECK(event[5] == line["time_ns"]);
  }
}

TEST_CASE("a baseline is compared as by stemtap diff") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  const test::TwoRuns made;
  for (const std::string& baseline : {made.before, made.before_profile, made.before_plan}) {
    CAPTURE(baseline);
    const auto diff = RunStemtap({"diff", baseline, made.after, "--json"});
    REQUIRE(diff.exit_code == 0);
    const auto result = RunReport({made.after, "--baseline", baseline, "-o", "-"});
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    CHECK(test::DataOf(result.out).find("\"diff\":" + diff.out + ",") != std::string::npos);
    CHECK(result.err.find("compared with " + baseline + ": 0 slower") != std::string::npos);
  }
  const auto alone = RunReport({made.after, "-o", "-"});
  REQUIRE(alone.exit_code == 0);
  CHECK(json::parse(test::DataOf(alone.out))["diff"].is_null());
}

TEST_CASE("a baseline can be standard input") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  const test::TwoRuns made;
  const auto run = [&](const std::string& command) {
    return test::RunProcess({"sh", "-c", "exec \"$0\" " + command + " < \"$2\"",
                             test::StemtapProgram().string(), made.after, made.before_profile});
  };
  const auto report = run("report \"$1\" --baseline - -o -");
  CAPTURE(report.err);
  REQUIRE(report.exit_code == 0);
  CHECK(json::parse(test::DataOf(report.out))["diff"]["a"]["launches"] == 20000);
  CHECK(report.err.find("compared with standard input: 0 slower") != std::string::npos);
  CHECK(run("diff - \"$1\"").out.starts_with("A: standard input: 20000 launches, "));
}

TEST_CASE("a baseline that cannot be compared fails with one line and writes no report") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  const test::TwoRuns made;
  const auto fails = [&](const std::string& baseline, int exit_code,
                         const std::vector<std::string>& words) {
    CheckFailure(RunReport({made.after, "--baseline", baseline}), exit_code, words);
    CHECK(!std::filesystem::exists(made.directory / "after/report.html"));
  };
  fails(made.before + "-gone", 1, {"before-gone", "cannot be opened"});
  fails((made.directory / "plans").string(), 1, {"plans", "plan.json"});
  fails(made.directory.Write("text.csv", "no profile\n").string(), 1, {"text.csv"});
  // The baseline is the session itself under a different path.
  std::filesystem::create_directory_symlink(made.after, made.directory / "link");
  for (const std::string& same : {made.after, made.after + "/", made.after + "/plan.json",
                                  (made.directory / "link").string()}) {
    fails(same, 2, {"is the session itself; expected another run as the --baseline"});
  }
  CheckFailure(
      RunReport({made.after, "--baseline", made.before_profile, "-o", made.before_profile}), 2,
      {made.before_profile + ": is the input"});
}

}  // namespace
}  // namespace stemtap::ui
