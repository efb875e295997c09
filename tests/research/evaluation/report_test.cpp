// SPDX-License-Identifier: Apache-2.0
#include "research/evaluation/report.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "research/evaluation/made_workload.h"

namespace stemtap::research {
namespace {

// Returns an evaluation with everything that a report can contain: a workload with unusual
// characters in its name that is compared with a second run, a method with a bound, a method
// without a bound, and the online sampler.
Evaluation Everything() {
  EvaluatedRun w = test::MakeTestWorkload({{"k", 100}, {"k", 300}, {"k", 200}});
  w.name = "dir/with,comma \"quoted\" \x1b[31m" + std::string(100, 'n') + ".csv";
  REQUIRE(
      CompareWith(w, "other.csv", test::MakeProfile({{"k", 110}, {"k", 290}, {"k", 200}})).ok());
  EvaluationRequest request;
  request.methods = {&test::kSome, &test::kLacking};
  request.error_bounds = {0.05};
  request.runs = 4;
  request.online = true;
  request.two_pass = &test::kSome;
  WorkerPool pool(1);
  Evaluation evaluation;
  evaluation.options = {{"error_bound", 0.05},
                        {"method", std::string("some")},
                        {"group_by", std::string("function")}};
  AddWorkload(w, request, pool, evaluation);
  EvaluationRow unbounded = evaluation.rows[0];
  unbounded.method = "unbounded";
  unbounded.evaluation.statistics.bound = NAN;
  unbounded.evaluation.statistics.coverage = NAN;
  unbounded.evaluation.statistics.p95_over_bound = NAN;
  unbounded.evaluation.statistics.speedup = INFINITY;
  evaluation.rows.push_back(unbounded);
  // A second workload produces a summary.
  AddWorkload(w, request, pool, evaluation);
  return evaluation;
}

TEST_CASE("the table has at most 120 columns and no terminal control sequence") {
  const std::string table = EvaluationTable(Everything());
  CHECK(table.find('\x1b') == std::string::npos);
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 120);
  }
  for (const char* word : {"some", "online", "unbounded", "inf", "all workloads", "other.csv",
                           "kernels are grouped by function"}) {
    CAPTURE(word);
    CHECK(table.find(word) != std::string::npos);
  }
}

TEST_CASE("skipped methods are reported in one line per method and reason") {
  CHECK(SkippedLines(Everything()) ==
        "stemtap: lacking skipped on 2 of 2 workloads: lacking needs the metric column 'luck', "
        "missing: luck\n");
  CHECK(SkippedLines({}).empty());
}

TEST_CASE("the JSON report contains schema, options, and null for missing numbers") {
  const auto json = nlohmann::json::parse(EvaluationJson(Everything()));
  CHECK(json["schema"] == "stemtap.evaluation/1");
  CHECK(json["options"]["method"] == "some");
  REQUIRE(json["rows"].size() == 5);
  const auto& some = json["rows"][0];
  CHECK(some["method"] == "some");
  CHECK(some["runs"] == 4);
  CHECK(some["bound"] == 0.05);
  CHECK(some["against"]["plain"]["mean"].is_number());
  CHECK(!some.contains("online"));
  CHECK(json["rows"][1]["online"]["over_two_pass"].is_number());
  CHECK(json["rows"][2]["bound"].is_null());
  CHECK(json["rows"][2]["speedup"].is_null());
  CHECK(json["left_out"].size() == 2);
  CHECK(json["summary"].size() == 3);
  CHECK(json["summary"][0]["s_curve"].size() == 2);
}

TEST_CASE("every CSV line has as many cells as the header, and names are quoted") {
  const std::string csv = EvaluationCsv(Everything());
  CHECK(csv.find("\"dir/with,comma \"\"quoted\"\" ") != std::string::npos);
  std::istringstream lines(csv);
  std::size_t columns = 0;
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    std::size_t cells = 1;
    bool quoted = false;
    for (const char c : line) {
      quoted ^= c == '"';
      cells += c == ',' && !quoted;
    }
    if (columns == 0) columns = cells;
    CAPTURE(line);
    CHECK(cells == columns);
  }
  CHECK(count == 6);
}

TEST_CASE("the comparison at equal error is in the table, JSON and CSV") {
  EqualErrorReport report;
  report.one = "optimal";
  report.other = "root";
  report.error_bound = 0.05;
  for (const double ratio : {2.0, 0.9, 1.5, double{NAN}}) {
    report.workloads.push_back({"some/folder/" + std::string(80, 'w') + ".csv", 10, 1, 100, 10.0});
    EqualError e;
    e.ratio = e.ratio_low = e.ratio_high = ratio;
    e.forward.ratio = e.backward.ratio = ratio;
    if (std::isnan(ratio)) e.forward.end = e.backward.end = TuningEnd::kAlwaysBelow;
    report.results.push_back(e);
  }
  const std::string table = EqualErrorTable(report);
  CHECK(table.find("median 1.500, minimum 0.900, below 0.98 on 1 of 3") != std::string::npos);
  CHECK(table.find("(1 beyond the noise; 1 could not be compared)") != std::string::npos);
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 120);
  const auto json = nlohmann::json::parse(EqualErrorJson(report));
  CHECK(json["equal_error"]["rows"].size() == 4);
  CHECK(json["equal_error"]["rows"][3]["ratio"].is_null());
  CHECK(json["equal_error"]["rows"][3]["forward"]["end"] == "always_below");
  CHECK(EqualErrorCsv(report).find("optimal,root,0.05,2,2,2,") != std::string::npos);
}

}  // namespace
}  // namespace stemtap::research
