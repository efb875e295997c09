// SPDX-License-Identifier: Apache-2.0
// Runs stemtap evaluate as a user does: incorrect usage, invalid input, and its output.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/stemtap.h"

namespace stemtap::test {
namespace {

ProcessResult Evaluate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "evaluate");
  return RunStemtap(arguments);
}

// Returns a profile of two kernels, whose durations are multiplied by `factor`.
std::string SmallProfile(int launches, int factor, const std::string& second_name = "b") {
  std::string csv = "index,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,name\n";
  for (int i = 0; i < launches; ++i) {
    csv += std::to_string(i) + "," + std::to_string(factor * (1000 + i * 37 % 101)) +
           ",8,1,1,128,1,1," + (i % 2 == 0 ? "a" : second_name) + "\n";
  }
  return csv;
}

TEST_CASE("evaluate: a usage error is one line with exit code 2") {
  TempDir scratch;
  const std::string profile = scratch.Write("p.csv", SmallProfile(100, 1)).string();
  CheckFailure(Evaluate({}), 2, {"profile"});
  CheckFailure(Evaluate({profile, "--methods", "rooot"}), 2,
               {"--methods", "'rooot'", "did you mean root?"});
  CheckFailure(Evaluate({profile, "--methods", "root,xyzzy"}), 2, {"'xyzzy'", "expected", "root"});
  CheckFailure(Evaluate({profile, "--runs", "0"}), 2, {"--runs"});
  CheckFailure(Evaluate({profile, "--error-bounds", "0.05,2"}), 2, {"--error-bounds"});
  CheckFailure(Evaluate({profile, "--error-bounds", "0.05,much"}), 2, {"--error-bounds"});
  CheckFailure(Evaluate({profile, profile, "--against", profile}), 2, {"--against", "got 2"});
  CheckFailure(Evaluate({profile, "--lag", "5"}), 2, {"--lag", "--online"});
  CheckFailure(Evaluate({profile, "--equal-error", "root"}), 2, {"--equal-error", "two"});
  CheckFailure(Evaluate({profile, "--equal-error", "root,root"}), 2, {"--equal-error"});
  CheckFailure(Evaluate({profile, "--equal-error", "root,stme"}), 2, {"'stme'", "stem"});
  CheckFailure(Evaluate({profile, "--equal-error", "root,stem", "--online"}), 2, {"--online"});
}

TEST_CASE("evaluate: unreadable or incomparable input is one line with exit code 1") {
  TempDir scratch;
  const std::string profile = scratch.Write("p.csv", SmallProfile(100, 1)).string();
  const std::string shorter = scratch.Write("shorter.csv", SmallProfile(99, 1)).string();
  const std::string renamed = scratch.Write("renamed.csv", SmallProfile(100, 1, "c")).string();
  const std::string zeros = scratch.Write("zeros.csv", SmallProfile(100, 0)).string();
  const std::string header = scratch.Write("header.csv", "index,duration_ns,name\n").string();
  CheckFailure(Evaluate({(scratch / "missing.csv").string()}), 1, {"missing.csv", "No such file"});
  CheckFailure(Evaluate({header}), 1, {"header.csv", "no kernel launch"});
  CheckFailure(Evaluate({profile, "--against", shorter}), 1,
               {"launch 99 is in only one of them", "100 against 99"});
  CheckFailure(Evaluate({profile, "--against", renamed}), 1, {"launch 1 is 'b'", "'c'"});
  CHECK(Evaluate({profile, "--csv", (scratch / "no/such/folder.csv").string()}).exit_code == 1);
  const ProcessResult nothing = Evaluate({zeros});
  CHECK(nothing.exit_code == 1);
  CHECK(nothing.err.find("zeros.csv: contains no kernel time") != std::string::npos);
}

TEST_CASE("evaluate: an option with a list does not consume the next profile") {
  TempDir scratch;
  const std::string profile = scratch.Write("p.csv", SmallProfile(100, 1)).string();
  const ProcessResult result =
      Evaluate({"--methods", "root,stem", "--error-bounds", "0.1,0.05", profile, "--json"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const auto json = nlohmann::json::parse(result.out);
  CHECK(json["rows"].size() == 4);
}

TEST_CASE("evaluate: table, JSON and CSV agree for any number of threads") {
  TempDir scratch;
  const std::string profile = scratch.Write("p.csv", SmallProfile(400, 1)).string();
  const std::string other = scratch.Write("q.csv", SmallProfile(400, 3)).string();
  const std::string csv = (scratch / "rows.csv").string();
  const std::vector<std::string> asked = {profile,    "--methods", "root,stem", "--against", other,
                                          "--online", "--lag",     "50",        "--runs",    "20"};
  const auto with = [&asked](std::vector<std::string> more) {
    more.insert(more.begin(), asked.begin(), asked.end());
    const ProcessResult result = Evaluate(more);
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    return result.out;
  };
  const std::string table = with({"--csv", csv});
  CHECK(table.find("compared with") != std::string::npos);
  CHECK(table.find("online") != std::string::npos);
  const std::string rows = ReadFile(csv);
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 4);
  auto one = nlohmann::json::parse(with({"--json", "--threads", "1"}));
  auto four = nlohmann::json::parse(with({"--json", "--threads", "4"}));
  REQUIRE(one["rows"].size() == 3);
  for (auto* json : {&one, &four}) {
    for (auto& row : (*json)["rows"]) {
      row.erase("prepare_s");
      row.erase("draw_s");
    }
  }
  CHECK(one == four);
  // All durations are three times as long, so relative errors are the same in both directions.
  CHECK(one["rows"][0]["against"]["plain"]["mean"].get<double>() ==
        doctest::Approx(one["rows"][0]["error"]["mean"].get<double>()));
  CHECK(one["rows"][0]["against"]["calibrated"]["max"].get<double>() < 1e-9);
}

TEST_CASE("evaluate: a method without its input is skipped with one line") {
  TempDir scratch;
  const std::string profile = scratch.Write("p.csv", SmallProfile(4, 1)).string();
  const ProcessResult without = Evaluate({profile, "--methods", "root,photon", "--json"});
  REQUIRE(without.exit_code == 0);
  CHECK(std::count(without.err.begin(), without.err.end(), '\n') == 1);
  CHECK(without.err.find("photon skipped on 1 of 1 workloads") != std::string::npos);
  CHECK(nlohmann::json::parse(without.out)["rows"].size() == 1);

  std::string csv = "index,warps,instructions,blocks\n";
  for (int i = 0; i < 4; ++i) csv += std::to_string(i) + ",8,640,0:1 7:2\n";
  const std::string vectors = scratch.Write("bbv.csv", csv).string();
  const ProcessResult with =
      Evaluate({profile, "--methods", "root,photon", "--bbv", vectors, "--json"});
  CAPTURE(with.err);
  REQUIRE(with.exit_code == 0);
  CHECK(with.err.empty());
  CHECK(nlohmann::json::parse(with.out)["rows"].size() == 2);

  CheckFailure(Evaluate({profile, profile, "--bbv", vectors}), 2, {"--bbv", "got 2"});
  CheckFailure(Evaluate({profile, "--bbv", (scratch / "none.csv").string()}), 1, {"none.csv"});
  const ProcessResult alone = Evaluate({profile, "--methods", "photon"});
  CHECK(alone.exit_code == 1);
  CHECK(alone.err.find("no method could be evaluated") != std::string::npos);
}

TEST_CASE("evaluate: two methods are compared at equal error") {
  TempDir scratch;
  const std::string profile = scratch.Write("p.csv", SmallProfile(3000, 1)).string();
  const ProcessResult result =
      Evaluate({profile, "--equal-error", "root,stem", "--runs", "200", "--json"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const auto json = nlohmann::json::parse(result.out);
  CHECK(json["schema"] == "stemtap.evaluation/1");
  CHECK(json["options"]["runs"] == 200);
  CHECK(json["equal_error"]["rows"].size() == 1);
}

}  // namespace
}  // namespace stemtap::test
