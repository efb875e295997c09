// SPDX-License-Identifier: Apache-2.0
// Runs `stemtap diff --html` as a user does. tests/python/diff_test checks the figures of diff, and
// the browser tests (tests/browser) check what the page shows.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "support/check_failure.h"
#include "support/stemtap.h"
#include "ui/cli/two_runs.h"
#include "ui/report/unpack.h"

namespace stemtap::ui {
namespace {

using nlohmann::json;
using test::CheckFailure;
using test::ReadFile;
using test::RunStemtap;
using test::TempDir;

test::ProcessResult RunDiff(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "diff");
  return RunStemtap(arguments);
}

// Replaces the time at which a page was created.
std::string WithoutTime(const std::string& data) {
  static const std::regex made("\"made_unix_ms\":[0-9]+");
  CHECK(std::regex_search(data, made));
  return std::regex_replace(data, made, "");
}

// Returns a page without its data.
std::string Shell(const std::string& page) {
  const std::size_t begin = page.find("id=\"stemtap-data\">");
  return page.substr(0, begin) + page.substr(page.find("</script>", begin));
}

// Returns a profile with launches of one block, which take `small_ns` or 1 ns more, and then
// launches of two blocks, which take 4 us.
std::string ProfileOf(int small, int large, int small_ns = 1000) {
  std::string rows =
      "start_ns,duration_ns,device,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,name\n";
  for (int i = 0; i < small + large; ++i) {
    rows += fmt::format("{},{},0,7,{},1,1,64,1,1,k\n", i * 5000,
                        i < small ? small_ns + i % 2 : 4000, i < small ? 1 : 2);
  }
  return rows;
}

TEST_CASE("without the report page, diff works, and diff --html reports what it requires") {
  if (!ReportPage().empty()) return;
  const test::TwoRuns made;
  const std::string page = (made.directory / "page.html").string();
  CheckFailure(RunDiff({made.before, made.after, "--html", page}), 1,
               {"without the page", "Node.js", "apt-get install nodejs npm"});
  CHECK(!std::filesystem::exists(page));
  CHECK(RunDiff({made.before, made.after}).exit_code == 0);
}

TEST_CASE("diff --html writes the page of report --baseline for a session or a plan") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  const test::TwoRuns made;
  const std::string expected = (made.directory / "expected.html").string();
  const std::string page = (made.directory / "page.html").string();
  for (const std::string& b : {made.after, made.after + "/plan.json", made.after_plan}) {
    for (const std::string& a : {made.before, made.before_plan, made.before_profile}) {
      CAPTURE(a);
      CAPTURE(b);
      REQUIRE(RunStemtap({"report", b, "--baseline", a, "-o", expected}).exit_code == 0);
      const auto result = RunDiff({a, b, "--html", page});
      CAPTURE(result.err);
      REQUIRE(result.exit_code == 0);
      CHECK(WithoutTime(test::DataOf(ReadFile(page))) ==
            WithoutTime(test::DataOf(ReadFile(expected))));
      CHECK(Shell(ReadFile(page)) == Shell(ReadFile(expected)));
    }
  }
}

TEST_CASE("the page of a profile has its default plan and the comparison of the profiles") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  const test::TwoRuns made;
  const std::string page = (made.directory / "page.html").string();
  for (const std::string& a : {made.before, made.before_profile}) {
    CAPTURE(a);
    const auto result = RunDiff({a, made.after_profile, "--html", page, "--json"});
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    const std::string text = test::DataOf(ReadFile(page));
    const auto plan = RunStemtap({"plan", made.after_profile, "--json"});
    REQUIRE(plan.exit_code == 0);
    CHECK(text.find("\"plan\":" + plan.out + ",") != std::string::npos);
    CHECK(text.find("\"diff\":" + result.out + ",") != std::string::npos);
    const json data = json::parse(text);
    CHECK(data["plan"]["source"] == made.after_profile);
    CHECK(data["plan"]["options"]["method"] == "optimal");
    CHECK(data["folder"] == "after.csv");
    CHECK(data["plan_file"] == "plan.json");
    CHECK(data["categories"]["kernels"].size() == data["plan"]["kernels"].size());
    CHECK(data["cost"].get<std::string>().starts_with("the samples cost about "));
    for (const char* part : {"session", "overview", "mask", "evaluation"}) {
      CHECK(data[part].is_null());
    }
  }
}

TEST_CASE("the page of two profiles separates the effect of different shapes") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  const TempDir directory;
  const std::string a = directory.Write("a.csv", ProfileOf(40, 10)).string();
  const std::string b = directory.Write("b.csv", ProfileOf(10, 40)).string();
  const std::string page = (directory / "page.html").string();
  REQUIRE(RunDiff({a, b, "--html", page}).exit_code == 0);
  const json diff = json::parse(test::DataOf(ReadFile(page)))["diff"];
  CHECK(diff["by_shapes_ns"] == doctest::Approx(30 * 2999.5));
  CHECK(diff["by_duration_ns"] == doctest::Approx(0));
}

TEST_CASE("diff --html does not change stdout, and its page has the options of diff") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  const test::TwoRuns made;
  const std::string page = (made.directory / "page.html").string();
  for (const std::string& b : {made.after, made.after_profile}) {
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{}, {"--csv"}, {"--json"}}) {
      std::vector<std::string> arguments = {made.before_profile, b,    "--threshold", "0",
                                            "--confidence",      "0.5"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      const auto alone = RunDiff(arguments);
      arguments.insert(arguments.end(), {"--html", page});
      const auto result = RunDiff(arguments);
      CAPTURE(result.err);
      CHECK(result.out == alone.out);
      CHECK(result.exit_code == 0);
      CHECK(result.err.find(" kernels in " + page + ", ") != std::string::npos);
      const json diff = json::parse(test::DataOf(ReadFile(page)))["diff"];
      CHECK(diff["threshold"] == 0.0);
      CHECK(diff["confidence"] == 0.5);
      std::filesystem::remove(page);
    }
  }
}

TEST_CASE("diff --html --exit-code exits with 1 if a kernel is slower") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  const TempDir directory;
  const std::string a = directory.Write("a.csv", ProfileOf(50, 0)).string();
  const std::string b = directory.Write("b.csv", ProfileOf(50, 0, 2000)).string();
  const std::string page = (directory / "page.html").string();
  CHECK(RunDiff({a, b, "--html", page, "--exit-code"}).exit_code == 1);
  CHECK(json::parse(test::DataOf(ReadFile(page)))["diff"]["verdicts"]["slower"] == 1);
  CHECK(RunDiff({b, a, "--html", page, "--exit-code"}).exit_code == 0);
}

TEST_CASE("the page has the verdict about the total and the outcome of the policy") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  const TempDir directory;
  const std::string a = directory.Write("a.csv", ProfileOf(50, 0)).string();
  const std::string b = directory.Write("b.csv", ProfileOf(50, 0, 2000)).string();
  const std::string page = (directory / "page.html").string();
  const auto result = RunDiff({a, b, "--html", page, "--fail-on", "total:5%"});
  CHECK(result.exit_code == 4);
  const json diff = json::parse(test::DataOf(ReadFile(page)))["diff"];
  CHECK(diff["total"]["verdict"] == "slower");
  CHECK(diff["policy"]["rules"] == "total:5%");
  CHECK(diff["policy"]["outcome"] == "fail");
  CHECK("fail: " + diff["policy"]["reason"].get<std::string>() + "\n" ==
        result.err.substr(result.err.find("fail: ")));
  REQUIRE(RunDiff({a, b, "--html", page}).exit_code == 0);
  CHECK(json::parse(test::DataOf(ReadFile(page)))["diff"]["policy"].is_null());
}

TEST_CASE("diff --html with unusable input or output fails with one line") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  const test::TwoRuns made;
  const std::string page = (made.directory / "page.html").string();
  const auto fails = [&](const std::string& a, const std::string& b, const std::string& html,
                         int exit_code, const std::vector<std::string>& words) {
    CAPTURE(b);
    CheckFailure(RunDiff({a, b, "--html", html}), exit_code, words);
    CHECK(!std::filesystem::exists(page));
  };
  for (const std::string& b : {made.after, made.after_plan, made.after_profile}) {
    fails(made.before + "-gone", b, page, 1, {"before-gone: cannot be opened"});
    fails(made.before, b, "-", 2, {"--html: the comparison goes to standard output; expected a"});
    fails(made.before, b, page + "/page.html", 1, {"page.html/page.html: cannot be written"});
    fails(made.before, b, made.directory.path().string(), 1, {"is a directory"});
    fails(made.before_profile, b, made.before_profile, 2, {"before.csv: is the input"});
    fails(made.before, b, made.before + "/overview.json", 2, {"overview.json: is the input"});
  }
  for (const std::string& file : {made.after + "/plan.json", made.after + "/mask.ndjson"}) {
    fails(made.before, made.after, file, 2, {file + ": is the input"});
  }
  fails(made.before, made.after_profile, made.after_profile, 2, {"after.csv: is the input"});
  fails(made.before, made.after + "-gone", page, 1, {"after-gone: cannot be opened"});
  fails(made.before, made.directory.Write("text.csv", "no profile\n").string(), page, 1,
        {"text.csv"});
  std::filesystem::create_directory(made.directory / "none");
  fails(made.before, (made.directory / "none").string(), page, 1, {"plan.json"});
  fails(made.before, "-", page, 2,
        {"standard input: can be read only once, but --html reads it again; expected a file"});
  // The failed commands leave no files behind and do not change files.
  CHECK(json::parse(ReadFile(made.after + "/plan.json"))["schema"] == "stemtap.plan/1");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(made.directory.path())) {
    CHECK(entry.path().string().find(".tmp.") == std::string::npos);
  }
}

}  // namespace
}  // namespace stemtap::ui
