// SPDX-License-Identifier: Apache-2.0
// Runs the extrapolate command as a user does.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/stemtap.h"

namespace stemtap::analysis {
namespace {

using test::CheckFailure;
using test::RunStemtap;
using test::TempDir;

struct Files {
  TempDir directory;
  std::string plan = (directory / "plan.json").string();
  nlohmann::json json;

  explicit Files(const std::vector<std::string>& options = {}) {
    const std::string profile = (directory / "run.csv").string();
    REQUIRE(RunStemtap({"generate", "llm-decode", "--launches", "5000", "-o", profile}).exit_code ==
            0);
    std::vector<std::string> command = {"plan", profile, "-o", plan, "--json"};
    command.insert(command.end(), options.begin(), options.end());
    const auto planned = RunStemtap(command);
    REQUIRE(planned.exit_code == 0);
    json = nlohmann::json::parse(planned.out);
  }
  // Returns id,cycles of every sample except the first `left_out`. cycles is 2 * duration.
  std::string Results(std::size_t left_out = 0) const {
    std::string csv = "id,cycles,insts\n";
    for (const auto& kernel : json.at("kernels")) {
      for (const auto& cluster : kernel.at("clusters")) {
        for (const auto& sample : cluster.at("samples")) {
          if (left_out > 0) {
            --left_out;
            continue;
          }
          const auto duration = sample.at("duration_ns").get<std::uint64_t>();
          csv += sample.at("index").dump() + "," + std::to_string(2 * duration) + "," +
                 std::to_string(6 * duration) + "\n";
        }
      }
    }
    return directory.Write("results.csv", csv).string();
  }
};

TEST_CASE("extrapolate prints totals, ratios and missing results") {
  const Files files;
  const auto got = RunStemtap({"extrapolate", "--plan", files.plan, "--results", files.Results(),
                               "--ratio", "ipc=insts/cycles", "--json"});
  CAPTURE(got.err);
  REQUIRE(got.exit_code == 0);
  const auto json = nlohmann::json::parse(got.out);
  CHECK(json.at("missing") == 0);
  CHECK(json.at("from") == "csv");
  CHECK(json.at("joined_fraction") == 0.0);
  CHECK(json.at("outside_intervals_fraction") == 0.0);
  CHECK(json.at("metrics")[0].at("outside_intervals_fraction") == 0.0);
  const double truth = 2.0 * files.json.at("totals").at("duration_ns").get<double>();
  CHECK(json.at("metrics")[0].at("calibrated").at("value").get<double>() ==
        doctest::Approx(truth).epsilon(1e-12));
  CHECK(json.at("metrics")[2].at("name") == "ipc");
  CHECK(json.at("metrics")[2].at("plain").at("value").get<double>() == doctest::Approx(3.0));

  const auto text =
      RunStemtap({"extrapolate", "--plan", files.plan, "--results", files.Results(1)});
  REQUIRE(text.exit_code == 0);
  CHECK(text.out.find("1 sample without a result: launch ") != std::string::npos);
  CHECK(text.out.find("uncovered: ") != std::string::npos);
  CHECK(text.out.find("intervals at 95 % confidence; they do not cover ") != std::string::npos);
  CHECK(text.out.find("advice: run the 1 sample") != std::string::npos);
}

// A plan of one kernel with a sample for each of 12 very different durations, and the tables of the
// ncu runs of these samples, one file each.
struct NumberedRuns {
  TempDir directory;
  std::size_t runs = 0;

  NumberedRuns() {
    std::string csv = test::kProfileHeader;
    std::size_t index = 0;
    for (std::size_t kind = 1; kind <= 12; ++kind) {
      for (std::size_t i = 0; i < 5 * kind; ++i) {
        csv += std::to_string(index++) + ",," + std::to_string(1000 << kind) +
               ",0,7,1,1,1,128,1,1,0,,gemm\n";
      }
    }
    directory.Write("run.csv", csv);
    const auto planned = RunStemtap(
        directory, {"plan", "run.csv", "-o", "plan.json", "--json", "--error-bound", "0.001"});
    REQUIRE(planned.exit_code == 0);
    std::map<std::uint64_t, std::uint64_t> durations;  // by launch
    const nlohmann::json plan = nlohmann::json::parse(planned.out);
    for (const auto& cluster : plan["kernels"][0]["clusters"]) {
      for (const auto& sample : cluster["samples"]) {
        durations[sample["index"].get<std::uint64_t>()] =
            sample["duration_ns"].get<std::uint64_t>();
      }
    }
    REQUIRE(durations.size() >= 11);
    for (const auto& [launch, duration] : durations) {
      directory.Write(
          "run." + std::to_string(++runs) + ".csv",
          "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"smsp__inst_executed.sum\"\n"
          "\"\",\"\",\"\",\"\",\"inst\"\n"
          "\"0\",\"gemm\",\"(128, 1, 1)\",\"(1, 1, 1)\",\"" +
              std::to_string(duration) + "\"\n");
    }
  }
  test::ProcessResult Extrapolate(const std::string& files) const {
    return test::RunProcess({"bash", "-c", "\"$0\" extrapolate plan.json --json --results " + files,
                             test::StemtapProgram().string()},
                            {.cwd = directory.path()});
  }
};

TEST_CASE("the tables of ncu runs are read in the order of the runs, whatever the shell's order") {
  const NumberedRuns files;
  const auto in_order = files.Extrapolate("$(ls -v run.*.csv)");
  REQUIRE(in_order.exit_code == 0);
  CHECK(in_order.err.find("order") == std::string::npos);
  for (const std::string shell : {"run.*.csv", "$(ls -r run.*.csv)", "./run.*.csv"}) {
    CAPTURE(shell);
    auto sorted = files.Extrapolate(shell);
    CHECK(sorted.exit_code == 0);
    CHECK(sorted.out == in_order.out);
    CHECK(sorted.err.find("are read in the order of the numbers in their names") !=
          std::string::npos);
  }
  // Other names are read as given.
  REQUIRE(
      test::RunProcess({"bash", "-c", "for i in run.*.csv; do cp $i x$i; done; mv xrun.1.csv a"},
                       {.cwd = files.directory.path()})
          .exit_code == 0);
  const auto given = files.Extrapolate("a $(ls -v xrun.*.csv)");
  CHECK(given.exit_code == 0);
  CHECK(given.err.find("order of the numbers") == std::string::npos);
}

TEST_CASE("extrapolate scales totals over uncovered time and reports this") {
  const Files covered;
  const auto whole =
      RunStemtap({"extrapolate", "--plan", covered.plan, "--results", covered.Results()});
  REQUIRE(whole.exit_code == 0);
  CHECK(whole.out.find("scaled to the whole run") == std::string::npos);
  CHECK(whole.out.find("by choice") == std::string::npos);

  const Files files({"--max-uncovered", "0.03"});
  const std::vector<std::string> command = {"extrapolate",   "--plan", files.plan, "--results",
                                            files.Results(), "--by",   "kernel"};
  const auto text = RunStemtap(command);
  CAPTURE(text.err);
  REQUIRE(text.exit_code == 0);
  CHECK(text.out.find("except the calibrated totals that are scaled to the whole run\n") !=
        std::string::npos);
  CHECK(text.out.find("  scaled to the whole run  ") != std::string::npos);
  CHECK(text.out.find(" no samples by choice (--max-uncovered); totals scaled") !=
        std::string::npos);
  CHECK(text.out.find("  no samples by choice (--max-uncovered)\n") != std::string::npos);
  CHECK(text.out.find("advice: nothing is missing") != std::string::npos);
  std::vector<std::string> as_json = command;
  as_json.push_back("--json");
  const auto json = nlohmann::json::parse(RunStemtap(as_json).out);
  // cycles = 2 * duration, so scaling by time is exact.
  CHECK(json.at("metrics")[0].at("scaled").get<double>() ==
        doctest::Approx(2.0 * files.json.at("totals").at("duration_ns").get<double>()));
  std::size_t by_choice = 0;
  for (const auto& group : json.at("groups")) {
    const auto& cycles = group.at("metrics")[0].at("calibrated").at("value");
    CHECK(cycles.is_null() == group.at("uncovered_by_choice").get<bool>());
    by_choice += group.at("uncovered_by_choice").get<bool>();
  }
  CHECK(by_choice > 0);
}

TEST_CASE("a plan with pooled kernels is exported and extrapolated, but not compared") {
  TempDir directory;
  const std::string profile = (directory / "run.csv").string();
  const std::string plan = (directory / "plan.json").string();
  REQUIRE(
      RunStemtap({"generate", "rare-kernels", "--launches", "20000", "-o", profile}).exit_code ==
      0);
  const auto planned = RunStemtap({"plan", profile, "-o", plan, "--json", "--pool-small", "0.1"});
  REQUIRE(planned.exit_code == 0);
  const auto json = nlohmann::json::parse(planned.out);
  const auto& pool = json.at("kernels").back();
  REQUIRE(pool.contains("pooled"));

  // Every format that counts the launches of a name finds the launches of pooled kernels.
  for (const char* to : {"csv", "ncu", "accelsim", "perfetto"}) {
    CAPTURE(to);
    const auto exported = RunStemtap({"export", "--plan", plan, "--profile", profile, "--to", to,
                                      "--plain-launches", "-o", (directory / to).string()});
    CAPTURE(exported.err);
    CHECK(exported.exit_code == 0);
  }

  // Results with names: cycles = 3 * duration.
  std::string csv = "id,name,cycles\n";
  for (const auto& kernel : json.at("kernels")) {
    for (const auto& cluster : kernel.at("clusters")) {
      for (const auto& sample : cluster.at("samples")) {
        const auto& named = kernel.contains("pooled")
                                ? kernel.at("pooled").at(sample.at("pooled").get<std::size_t>())
                                : kernel;
        csv += sample.at("index").dump() + ",\"" + named.at("name").get<std::string>() + "\"," +
               std::to_string(3 * sample.at("duration_ns").get<std::uint64_t>()) + "\n";
      }
    }
  }
  const auto result =
      RunStemtap({"extrapolate", "--plan", plan, "--results",
                  directory.Write("results.csv", csv).string(), "--by", "kernel", "--json"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.err.find("another name") == std::string::npos);
  const auto totals = nlohmann::json::parse(result.out);
  CHECK(totals.at("metrics")[0].at("calibrated").at("value").get<double>() ==
        doctest::Approx(3.0 * json.at("totals").at("duration_ns").get<double>()));
  CHECK(totals.at("groups").back().at("name") == "(pooled kernels)");

  const std::string shared = "has kernels that share clusters; expected a plan";
  CheckFailure(RunStemtap({"diff", plan, plan}), 1, {shared});
  // Prints the comparison of the runs before it fails.
  const auto aligned = RunStemtap(
      {"align", profile, profile, "--plan", plan, "-o", (directory / "b.json").string()});
  CHECK(aligned.exit_code == 1);
  CHECK(aligned.err.find(shared) != std::string::npos);
  test::CheckUsageError({"plan", profile, "--pool-small", "0.1", "--method", "root"},
                        {"--pool-small: not supported by --method root"});
  test::CheckUsageError({"plan", profile, "--pool-small", "0.1", "--bound", "kernel"},
                        {"--pool-small: not supported by --bound kernel"});
}

TEST_CASE("a plan with too few samples for an interval is topped up") {
  TempDir directory;
  const std::string profile = (directory / "run.csv").string();
  const std::string plan = (directory / "plan.json").string();
  const std::string more = (directory / "more.json").string();
  // Eight kernels with one cluster and one sample each.
  std::string run = test::kProfileHeader;
  for (int i = 0; i < 400; ++i) {
    const int k = i % 8;
    run += std::to_string(i) + "," + std::to_string(100 * i) + "," +
           std::to_string(1000 + 100 * k + i * 7 % 11) + ",0,7,1,1,1,64,1,1,0,0,k" +
           std::to_string(k) + "\n";
  }
  directory.Write("run.csv", run);
  REQUIRE(RunStemtap({"plan", profile, "-o", plan, "--method", "root"}).exit_code == 0);

  // cycles: one for each launch id, so that values of a kernel differ.
  const auto results = [&](const std::string& of, const char* name) {
    const auto exported =
        RunStemtap({"export", "--plan", of, "--to", "csv", "-o", (directory / name).string()});
    REQUIRE(exported.exit_code == 0);
    std::string csv = "id,cycles\n";
    for (int i = 0; i < 400; ++i) {
      csv += std::to_string(i) + "," + std::to_string(3000 + i * 13 % 17) + "\n";
    }
    return directory.Write(std::string(name) + ".results.csv", csv).string();
  };
  const auto without =
      RunStemtap({"extrapolate", "--plan", plan, "--results", results(plan, "a.csv")});
  CAPTURE(without.out);
  REQUIRE(without.exit_code == 0);
  CHECK(without.out.find(
            "advice: for an interval, add 8 samples of about 0.0108 ms in total (stemtap "
            "plan --top-up)\n") != std::string::npos);

  const auto topped = RunStemtap({"plan", profile, "--top-up", plan, "-o", more});
  CAPTURE(topped.err);
  REQUIRE(topped.exit_code == 0);
  CHECK(topped.out.find("16 samples in 8 clusters") != std::string::npos);
  CHECK(topped.out.find("8 of these show the spread of metrics") != std::string::npos);
  const auto with =
      RunStemtap({"extrapolate", "--plan", more, "--results", results(more, "b.csv")});
  REQUIRE(with.exit_code == 0);
  CHECK(with.out.find("advice: for an interval") == std::string::npos);

  const auto added = RunStemtap({"export", "--plan", more, "--except", plan, "--to", "csv"});
  REQUIRE(added.exit_code == 0);
  CHECK(std::count(added.out.begin(), added.out.end(), '\n') == 1 + 8);
  CHECK(added.err.find("8 samples are also in " + plan + "; omitted (--except)") !=
        std::string::npos);
  test::CheckUsageError({"export", "--plan", more, "--except", plan, "--to", "ncu"},
                        {"--except: ncu numbers the launches that it profiled"});
  test::CheckUsageError({"plan", profile, "--top-up", plan, "--error-bound", "0.1"},
                        {"--top-up: keeps the options of the plan; expected no --error-bound"});
}

TEST_CASE("extrapolate reports why there is no value, without advice") {
  const Files files;
  std::string csv = "id,v,zero\n";
  for (const auto& kernel : files.json.at("kernels")) {
    for (const auto& cluster : kernel.at("clusters")) {
      for (const auto& sample : cluster.at("samples")) {
        csv += sample.at("index").dump() + ",1,0\n";
      }
    }
  }
  const std::string results = files.directory.Write("zero.csv", csv).string();
  const auto run = [&](const std::string& plan) {
    const auto got = RunStemtap(
        {"extrapolate", "--plan", plan, "--results", results, "--ratio", "share=v/zero", "--json"});
    CAPTURE(got.err);
    REQUIRE(got.exit_code == 0);
    return nlohmann::json::parse(got.out);
  };
  const auto zero = run(files.plan);
  CHECK(zero.at("metrics")[2].at("plain").at("value").is_null());
  CHECK(zero.at("notes").dump().find("no value, because the denominator is 0: share") !=
        std::string::npos);
  CHECK(zero.at("next").dump().find("for an interval") == std::string::npos);

  auto lossy = files.json;
  lossy.at("totals")["dropped"] = 3;
  lossy.at("totals")["gaps"] = 2;
  CHECK(run(files.directory.Write("lossy.json", lossy.dump()).string())
            .at("notes")
            .dump()
            .find("3 launches were dropped and 2 gaps") != std::string::npos);
  CHECK(zero.at("notes").dump().find("were dropped") == std::string::npos);

  auto plan = files.json;
  plan.at("kernels")[0].at("clusters")[0].at("mean_ns") = nullptr;
  const std::string lacking = files.directory.Write("null.json", plan.dump()).string();
  CheckFailure(RunStemtap({"extrapolate", "--plan", lacking, "--results", results}), 1,
               {"null.json: kernels[0].clusters[0].mean_ns: is null; expected a number"});
}

TEST_CASE("the table of --ids may contain a launch that was drawn twice") {
  const Files files;
  const std::string results = files.Results();
  const auto write = [&](const std::string& last) {
    std::string csv = "id,index,kernel\n";
    std::string row;
    for (const auto& kernel : files.json.at("kernels")) {
      for (const auto& cluster : kernel.at("clusters")) {
        for (const auto& sample : cluster.at("samples")) {
          const std::string index = sample.at("index").dump();
          row = index + "," + index + ",\"f(int, int)\"\n";
          csv += row;
        }
      }
    }
    return files.directory.Write("ids.csv", csv + (last.empty() ? row : last)).string();
  };
  const auto run = [&](const std::string& table) {
    return RunStemtap(
        {"extrapolate", "--plan", files.plan, "--results", results, "--ids", table, "--json"});
  };
  const auto got = run(write(""));
  CAPTURE(got.err);
  REQUIRE(got.exit_code == 0);
  CHECK(nlohmann::json::parse(got.out).at("missing") == 0);
  CheckFailure(run(write("7,1,x\n7,2,x\n")), 1, {"id 7 belongs to launches", "expected one"});
}

TEST_CASE("extrapolate fails with one line") {
  const Files files;
  const std::string results = files.Results();
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> command = {"extrapolate", "--plan", files.plan};
    command.insert(command.end(), more.begin(), more.end());
    return RunStemtap(command);
  };
  CheckFailure(run({"--results", results, "--ratio", "x=y/z"}), 2, {"no metric 'y'"});
  CheckFailure(run({"--results", results, "--ratio", "xyz"}), 2, {"NAME=NUMERATOR/DENOMINATOR"});
  CheckFailure(run({"--results", results, "--metrics", "cycle"}), 2, {"did you mean 'cycles'"});
  CheckFailure(run({"--results", results, "--from", "accelsim"}), 1, {"Processing kernel"});
  CheckFailure(run({"--results", files.plan + ".none"}), 1, {"plan.json.none"});
  CheckFailure(RunStemtap({"extrapolate", "--plan", results, "--results", results}), 1,
               {"results.csv"});
  CheckFailure(run({"--results", files.directory.Write("x.csv", "id,v\n1,2").string(), "--id-base",
                    "1", "--id-column", "nr"}),
               1, {"no column 'nr'"});
  CheckFailure(run({"--results", results, "--by", "cluster"}), 2, {"kernel, range", "'cluster'"});
  CheckFailure(run({"--results", results, "--csv", "-"}), 2, {"expected a file"});
  CheckFailure(run({"--results", results, "--csv", results}), 2, {"results.csv"});
  CheckFailure(run({"--results", results, "--confidence", "1.5"}), 2,
               {"a share from 1% to 99.9999%"});
}

}  // namespace
}  // namespace stemtap::analysis
