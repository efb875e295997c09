// SPDX-License-Identifier: Apache-2.0
// Tests merge on the command line and how other commands handle a merged session.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "e2e/session.h"
#include "support/check_failure.h"
#include "support/stemtap.h"
#include "ui/report/page.h"

namespace stemtap::test {
namespace {

// Returns the output of `stemtap`, which must succeed.
std::string Printed(const std::vector<std::string>& arguments, const TempDir& scratch) {
  const ProcessResult result = RunStemtap(scratch, arguments);
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  return result.out;
}

// Records three machines, each with the profile of a rank and the session of its replay: p0, s0,
// ... The first and the last do the same work.
void Record(const TempDir& scratch) {
  const char* seeds[] = {"1", "5", "1"};
  for (int i = 0; i < 3; ++i) {
    const std::string number = std::to_string(i);
    Printed({"generate", "llm-decode", "--launches", std::to_string(20000 + 1000 * i), "--seed",
             seeds[i], "--noise-seed", number, "-o", "p" + number + ".csv"},
            scratch);
    Printed({"replay", "-q", "--lag", "2000", "p" + number + ".csv", "-o", "s" + number}, scratch);
  }
  Printed({"merge", "-q", "s0", "s1", "s2", "-o", "m"}, scratch);
}

TEST_CASE("the summary of merged replays says that the bound is above the requested bound") {
  TempDir scratch;
  Printed({"generate", "llm-decode", "--launches", "3000", "-o", "p.csv"}, scratch);
  for (const char* lag : {"300", "400"}) {
    Printed({"replay", "-q", "--error-bound", "0.01", "--lag", lag, "p.csv", "-o", lag}, scratch);
  }
  const std::string summary = Printed({"merge", "-q", "300", "400", "-o", "m"}, scratch);
  CAPTURE(summary);
  CHECK(ReadJson(scratch / "m/plan.json")["options"].count("lag") == 0);
  CHECK(summary.find("\nthe bound is above the requested 1 %: use 'stemtap plan' to sample these "
                     "recordings\n") != std::string::npos);
}

TEST_CASE("the sessions of three machines become one session") {
  TempDir scratch;
  Record(scratch);
  CHECK(OverviewDiffers(scratch / "m") == "");
  const auto plan = ReadJson(scratch / "m/plan.json");
  TotalsByName sums;
  std::uint64_t samples = 0;
  double bounds = 0.0;
  for (const char* name : {"s0", "s1", "s2"}) {
    const auto part = ReadJson(scratch / name / "plan.json");
    for (const auto& [kernel, totals] : TotalsOfPlan(part)) {
      sums[kernel].count += totals.count;
      sums[kernel].duration_ns += totals.duration_ns;
    }
    samples += part["totals"]["samples"].get<std::uint64_t>();
    bounds += part["totals"]["certified_bound"].get<double>() *
              part["totals"]["duration_ns"].get<double>();
  }
  CHECK(TotalsOfPlan(plan) == sums);
  CHECK(plan["totals"]["samples"] == samples);
  CHECK(plan["totals"]["invocations"] == 63000);
  const double total = plan["totals"]["duration_ns"];
  CHECK(plan["totals"]["certified_bound"].get<double>() ==
        doctest::Approx(bounds / total).epsilon(1e-12));
  double weighted = 0.0;
  for (const auto& kernel : plan["kernels"]) {
    for (const auto& cluster : kernel["clusters"]) {
      for (const auto& sample : cluster["samples"]) {
        weighted += sample["weight"].get<double>() * sample["duration_ns"].get<double>();
        // The index determines the session, and the session determines the device.
        const std::uint64_t index = sample["index"];
        CHECK(sample["device"] == (index < 20000 ? 0 : index < 41000 ? 1 : 2));
      }
    }
  }
  CHECK(weighted == doctest::Approx(total).epsilon(1e-12));
  CHECK(ReadFile(scratch / "m/summary.txt").find("session 2: ") != std::string::npos);
  const std::string summary = Printed({"merge", "s1", "s2", "-o", "n"}, scratch);
  CHECK(summary == ReadFile(scratch / "n/summary.txt"));
  const auto json =
      nlohmann::json::parse(Printed({"merge", "--json", "m", "-o", "again"}, scratch));
  CHECK(json["bound"] == plan["totals"]["bound"]);
  CHECK(json["certified_bound"] == plan["totals"]["certified_bound"]);
  CHECK(json["samples"] == samples);
}

// Returns the selected launches of an export: its lines, except lines that name the run or describe
// other devices. MacSim exports have one line per cluster, in the plan's order.
std::multiset<std::string> Selected(const std::string& exported) {
  std::istringstream lines(exported);
  std::multiset<std::string> selected;
  for (std::string line; std::getline(lines, line);) {
    const bool remark = line.starts_with("#") || line.starts_with("Kernel sampling information") ||
                        line.starts_with("Clusters of ");
    if (!remark) selected.insert(line);
  }
  return selected;
}

TEST_CASE("exports of one rank from a merged plan and from its own session are equal") {
  TempDir scratch;
  Record(scratch);
  for (const std::string to : {"macsim", "sieve", "nvbit", "accelsim"}) {
    CAPTURE(to);
    for (const std::string rank : {"0", "1", "2"}) {
      CAPTURE(rank);
      const std::multiset<std::string> own =
          Selected(Printed({"export", "--plan", "s" + rank + "/plan.json", "--to", to}, scratch));
      CHECK(!own.empty());
      // The launches come from the profiles, which the plan's source names.
      std::vector<std::string> merged = {"export", "--plan",   "m/plan.json", "--to",
                                         to,       "--device", rank};
      if (to != "accelsim") {
        merged.insert(merged.end(), {"--processes", "per-device"});
      }
      CHECK(Selected(Printed(merged, scratch)) == own);
      // Without profiles, the user's option is needed.
      for (const char* file : {"p0.csv", "p1.csv", "p2.csv"}) {
        std::filesystem::rename(scratch / file, scratch / (std::string(file) + ".away"));
      }
      CHECK(Selected(Printed({"export", "--plan", "m/plan.json", "--to", to, "--device", rank,
                              "--plain-launches"},
                             scratch)) == own);
      for (const char* file : {"p0.csv", "p1.csv", "p2.csv"}) {
        std::filesystem::rename(scratch / (std::string(file) + ".away"), scratch / file);
      }
    }
  }
}

TEST_CASE("export formats without launch numbers contain all ranks of a merged plan") {
  TempDir scratch;
  Record(scratch);
  const auto plan = ReadJson(scratch / "m/plan.json");
  const std::string rows = Printed({"export", "--plan", "m/plan.json", "--to", "csv"}, scratch);
  CHECK(std::count(rows.begin(), rows.end(), '\n') ==
        plan["totals"]["samples"].get<std::int64_t>() + 1);
  const auto timeline = nlohmann::json::parse(
      Printed({"export", "--plan", "m/plan.json", "--to", "perfetto"}, scratch), nullptr, false);
  CHECK(timeline.is_object());
  Printed({"export", "--plan", "m/plan.json", "--to", "ncu", "--processes", "per-device",
           "--device", "1", "-o", "ncu.sh"},
          scratch);
  CHECK(ReadFile(scratch / "ncu.sh").find("ncu") != std::string::npos);
}

TEST_CASE("the export of a merged plan asks for a device that it cannot determine") {
  TempDir scratch;
  Record(scratch);
  for (const char* file : {"p0.csv", "p1.csv", "p2.csv"}) std::filesystem::remove(scratch / file);
  const auto exported = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"export", "--plan", "m/plan.json", "--to", "macsim"});
    return RunStemtap(scratch, more);
  };
  CheckFailure(exported({}), 1, {"cannot be read", "--profile FILE"});
  CheckFailure(exported({"--plain-launches"}), 1,
               {"the plan covers 3 sessions", "expected --device N"});
  CheckFailure(exported({"--plain-launches", "--device", "3"}), 1,
               {"--device 3: no session of the plan has this device"});
  CHECK(exported({"--plain-launches", "--device", "2"}).exit_code == 0);
  // A session with two devices does not record which process used which device.
  auto plan = ReadJson(scratch / "m/plan.json");
  plan["sessions"][2]["devices"] = {0, 1};
  scratch.Write("m/plan.json", plan.dump());
  CheckFailure(exported({"--plain-launches", "--device", "2"}), 1,
               {"device 2 belongs to session 's2', which has 2 devices"});
  CheckFailure(exported({"--plain-launches", "--rank", "2"}), 2,
               {"--rank 2: has 2 devices; expected one, or --device"});
}

TEST_CASE(
    "results of all ranks give the job's total, and the assumption for the intervals is reported") {
  TempDir scratch;
  Record(scratch);
  const auto plan = ReadJson(scratch / "m/plan.json");
  std::string results = "index,cycles\n";
  for (const auto& kernel : plan["kernels"]) {
    for (const auto& cluster : kernel["clusters"]) {
      for (const auto& sample : cluster["samples"]) {
        results += sample["index"].dump() + "," +
                   std::to_string(2 * sample["duration_ns"].get<std::uint64_t>()) + "\n";
      }
    }
  }
  scratch.Write("results.csv", results);
  const auto run = RunStemtap(
      scratch, {"extrapolate", "--plan", "m/plan.json", "--results", "results.csv", "--json"});
  REQUIRE(run.exit_code == 0);
  CHECK(run.err.find("the plan contains 3 sessions") != std::string::npos);
  CHECK(run.err.find("1.7 times") != std::string::npos);
  const auto totals = nlohmann::json::parse(run.out);
  CAPTURE(totals.dump().substr(0, 400));
  CHECK(totals["metrics"][0]["calibrated"]["value"].get<double>() ==
        doctest::Approx(2 * plan["totals"]["duration_ns"].get<double>()).epsilon(1e-9));
}

TEST_CASE("simulator ids that restart in each session are not used as plan indices") {
  TempDir scratch;
  Record(scratch);
  Printed({"export", "--plan", "m/plan.json", "--to", "macsim", "--processes", "per-device",
           "--device", "1", "-o", "kernels.txt", "--weights-csv", "weights.csv"},
          scratch);
  // As exported, the table of ids has the second rank's launches with the plan's indexes.
  std::istringstream weights(ReadFile(scratch / "weights.csv"));
  std::string line;
  std::getline(weights, line);
  std::string results = "id,cycles\n";
  while (std::getline(weights, line)) results += line.substr(0, line.find(',')) + ",7\n";
  scratch.Write("results.csv", results);
  const auto plan = ReadJson(scratch / "m/plan.json");
  const auto run =
      RunStemtap(scratch, {"extrapolate", "--plan", "m/plan.json", "--results", "results.csv",
                           "--ids", "weights.csv", "--device", "1", "--json"});
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.err.find("not among") == std::string::npos);
}

TEST_CASE("top and report show a merged session like any other session") {
  TempDir scratch;
  Record(scratch);
  const std::string shown = Printed({"top", "--once", "m"}, scratch);
  CHECK(shown.find("ended") != std::string::npos);
  CHECK(Printed({"top", "--json", "m"}, scratch) == ReadFile(scratch / "m/overview.json"));
  const auto report = RunStemtap(scratch, {"report", "m"});
  if (ui::ReportPage().empty()) {
    MESSAGE("SKIPPED: built without the report page");
    return;
  }
  CAPTURE(report.err);
  CHECK(report.exit_code == 0);
  CHECK(report.err.find("warning") == std::string::npos);
  CHECK(std::filesystem::file_size(scratch / "m/report.html") > 10000);
}

// Ranks of a job launch the same kernels with slightly different durations. Replays with the same
// seed make the same draws, so similar launches of each rank are sampled, and their errors have the
// same sign.
TEST_CASE("the bound of a job holds if the errors of its ranks are correlated") {
  constexpr int kJobs = 8;
  constexpr int kRanks = 4;
  int within = 0;
  for (int job = 0; job < kJobs; ++job) {
    TempDir scratch;
    std::vector<std::string> merge = {"merge", "-q"};
    double bounds_ns = 0.0;
    for (int rank = 0; rank < kRanks; ++rank) {
      const std::string session = "s" + std::to_string(rank);
      Printed({"generate", "warmup", "--launches", "30000", "--seed", std::to_string(job + 1),
               "--noise-seed", std::to_string(1000 * job + rank + 7), "-o", "p.stemtap"},
              scratch);
      Printed({"replay", "-q", "--lag", "3000", "p.stemtap", "-o", session}, scratch);
      const auto totals = ReadJson(scratch / session / "plan.json")["totals"];
      bounds_ns += totals["certified_bound"].get<double>() * totals["duration_ns"].get<double>();
      merge.push_back(session);
    }
    merge.insert(merge.end(), {"-o", "m"});
    Printed(merge, scratch);
    const auto totals = ReadJson(scratch / "m/plan.json")["totals"];
    const double error = totals["observed_error"];
    within += error <= totals["certified_bound"].get<double>();
    // The errors of the ranks add up.
    CHECK(totals["certified_bound"].get<double>() >=
          bounds_ns / totals["duration_ns"].get<double>() * (1.0 - 1e-9));
  }
  // Each job may miss with probability 1/20. More than one of eight misses in 6 % of tests, and
  // more than two in 0.6 %. None of 25 jobs missed.
  CHECK(within >= kJobs - 2);
}

TEST_CASE("usage errors and incompatible sessions are rejected") {
  TempDir scratch;
  CHECK(RunStemtap(scratch, {"merge", "-o", "m"}).exit_code == 2);
  CHECK(RunStemtap(scratch, {"merge", "s0"}).exit_code == 2);
  CheckFailure(RunStemtap(scratch, {"merge", "none", "-o", "m"}), 1,
               {"none: is not a directory; expected a session directory"});
  Printed({"generate", "llm-decode", "--launches", "2000", "-o", "p.csv"}, scratch);
  Printed({"replay", "-q", "p.csv", "-o", "a"}, scratch);
  Printed({"replay", "-q", "--error-bound", "0.02", "p.csv", "-o", "b"}, scratch);
  CheckFailure(RunStemtap(scratch, {"merge", "a", "b", "-o", "m"}), 1,
               {"b: was recorded with --error-bound '0.02', but a with '0.05'"});
  CheckFailure(RunStemtap(scratch, {"merge", "a", "./a/", "-o", "m"}), 1,
               {"expected each session once"});
  CHECK_FALSE(std::filesystem::exists(scratch / "m"));
  Printed({"merge", "-q", "a", "-o", "m"}, scratch);
  CheckFailure(RunStemtap(scratch, {"merge", "a", "-o", "m"}), 1, {"m: is not empty"});
}

}  // namespace
}  // namespace stemtap::test
