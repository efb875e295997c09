// SPDX-License-Identifier: Apache-2.0
// Runs convert and generate as a user does and checks what each writes to stdout and stderr.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "support/stemtap.h"

namespace stemtap::formats {
namespace {

using test::RunProcess;
using test::RunStemtap;
using test::TempDir;

TEST_CASE("standard output contains only the profile") {
  TempDir directory;
  const auto made = RunStemtap({"generate", "llm-decode", "--launches", "5", "-o", "-"});
  REQUIRE(made.exit_code == 0);
  CHECK(made.err.find("5 launches") != std::string::npos);
  const std::string generated = directory.Write("generated.csv", made.out).string();
  const auto converted = RunStemtap({"convert", generated, "-o", "-"});
  REQUIRE(converted.exit_code == 0);
  CHECK(converted.out == made.out);
  CHECK(converted.err.find("5 launches") != std::string::npos);
}

TEST_CASE("counts are on stderr, and on stdout as JSON on request") {
  TempDir directory;
  const std::string csv = directory.Write("a.csv", "duration_ns,name\n0,a\n7,b\n0,b\n").string();
  const std::string output = (directory / "b.stemtap").string();
  const auto plain = RunStemtap({"convert", csv, "-o", output});
  CHECK(plain.exit_code == 0);
  CHECK(plain.out.empty());
  CHECK(plain.err.find("3 launches of 2 kernels, 2 of duration 0") != std::string::npos);

  const auto converted = RunStemtap({"convert", csv, "-o", output, "--json"});
  REQUIRE(converted.exit_code == 0);
  const auto counts = nlohmann::json::parse(converted.out);
  CHECK(counts.at("invocations") == 3);
  CHECK(counts.at("kernels") == 2);
  CHECK(counts.at("zero_duration") == 2);

  const auto made = RunStemtap({"generate", "llm-decode", "--launches", "5", "-o",
                                (directory / "c.csv").string(), "--json"});
  REQUIRE(made.exit_code == 0);
  CHECK(nlohmann::json::parse(made.out).at("invocations") == 5);
}

TEST_CASE("standard input can be one of several ranks, even if a file is named -") {
  TempDir directory;
  directory.Write("r0.csv", "duration_ns,device,name\n1,3,x\n2,3,x\n");
  directory.Write("r1.csv", "duration_ns,device,name\n4,1,x\n");
  for (const bool namesake : {false, true}) {
    CAPTURE(namesake);
    if (namesake) directory.Write("-", "duration_ns,device,name\n9,9,other\n");
    const auto converted =
        RunProcess({"sh", "-c", "exec \"$0\" convert - r1.csv -o out.csv --json < r0.csv",
                    test::StemtapProgram().string()},
                   {.cwd = directory.path()});
    CAPTURE(converted.err);
    REQUIRE(converted.exit_code == 0);
    CHECK(nlohmann::json::parse(converted.out).at("invocations") == 3);
    CHECK(nlohmann::json::parse(converted.out).at("kernels") == 1);
    std::filesystem::remove(directory / "out.csv");
  }
}

TEST_CASE("JSON and the profile cannot both be on standard output") {
  TempDir directory;
  const std::string csv = directory.Write("a.csv", "duration_ns,name\n5,a\n").string();
  const auto converted = RunStemtap({"convert", csv, "-o", "-", "--json"});
  CHECK(converted.exit_code == 2);
  CHECK(converted.out.empty());
  const auto made = RunStemtap({"generate", "llm-decode", "-o", "-", "--json"});
  CHECK(made.exit_code == 2);
  CHECK(made.out.empty());
}

// Returns the twelve PKA counters for 20 launches of two kernels as a details page of ncu.
std::string CountersOfTwoKernels() {
  std::string page =
      "==PROF== Connected to process 7\n"
      "\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Section Name\","
      "\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";
  for (int i = 0; i < 20; ++i) {
    for (const char* metric :
         {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
          "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
          "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "smsp__inst_executed_op_global_ld.sum",
          "smsp__inst_executed_op_global_st.sum", "smsp__inst_executed_op_local_ld.sum",
          "smsp__inst_executed_op_shared_ld.sum", "smsp__inst_executed_op_shared_st.sum",
          "smsp__sass_inst_executed_op_global_atom.sum", "smsp__inst_executed.sum",
          "smsp__thread_inst_executed_per_inst_executed.ratio", "launch__grid_size"}) {
      page += "\"" + std::to_string(i) + "\",\"7\",\"" + (i % 2 == 0 ? "axpy" : "gemm") +
              "\",\"(256, 1, 1)\",\"(64, 1, 1)\",\"Command line profiler metrics\",\"" + metric +
              "\",\"inst\",\"" + (i % 2 == 0 ? "1,000,000" : "31.5") + "\"\n";
    }
  }
  return page;
}

TEST_CASE("ncu metrics are joined to launches and used by the methods that need them") {
  TempDir directory;
  std::string run = "duration_ns,name,grid_x,grid_y,grid_z,block_x,block_y,block_z\n";
  for (int i = 0; i < 10; ++i) run += "100,axpy,64,1,1,256,1,1\n9000,\"gemm\",64,1,1,256,1,1\n";
  const std::string csv = directory.Write("run.csv", run).string();
  const std::string ncu = directory.Write("ncu.csv", CountersOfTwoKernels()).string();
  const auto converted = RunStemtap({"convert", csv, "--metrics", ncu, "-o", "-"});
  REQUIRE(converted.exit_code == 0);
  CHECK(converted.out.find(",smsp__inst_executed.sum,") != std::string::npos);
  CHECK(converted.out.find("gemm,31.5,31.5,") != std::string::npos);
  CHECK(converted.out.find("axpy,1000000,1000000,") != std::string::npos);

  for (const char* method : {"pka", "sieve"}) {
    CAPTURE(method);
    CHECK(RunStemtap({"plan", csv, "--method", method}).exit_code == 1);
    const auto plan = RunStemtap({"plan", csv, "--method", method, "--metrics", ncu, "--json"});
    REQUIRE(plan.exit_code == 0);
    CHECK(nlohmann::json::parse(plan.out).at("totals").at("clusters") == 2);
  }
  CHECK(RunStemtap({"plan", csv, "--metrics", ncu}).exit_code == 0);
  const auto evaluated =
      RunStemtap({"evaluate", csv, "--methods", "pka,sieve", "--runs", "2", "--metrics", ncu});
  CHECK(evaluated.exit_code == 0);
  CHECK(evaluated.out.find("sieve") != std::string::npos);
  CHECK(evaluated.out.find("pka") != std::string::npos);
}

TEST_CASE("metrics of some launches are never used as metrics of all launches") {
  TempDir directory;
  std::string run = "duration_ns,name,grid_x,grid_y,grid_z,block_x,block_y,block_z\n";
  for (int i = 0; i < 12; ++i) run += "100,axpy,64,1,1,256,1,1\n9000,\"gemm\",64,1,1,256,1,1\n";
  const std::string csv = directory.Write("run.csv", run).string();
  const std::string ncu = directory.Write("ncu.csv", CountersOfTwoKernels()).string();
  const std::string said = ncu + ": 20 of the 24 launches of " + csv + " have metrics; 4 have none";
  const auto converted = RunStemtap({"convert", csv, "--metrics", ncu, "-o", "-"});
  CHECK(converted.exit_code == 0);
  CHECK(converted.err.find(said) != std::string::npos);
  // A method that needs counters reports the launch without counters and writes no plan.
  for (const char* method : {"pka", "sieve"}) {
    const auto plan = RunStemtap({"plan", csv, "--method", method, "--metrics", ncu, "-o",
                                  (directory / "plan.json").string()});
    CHECK(plan.exit_code == 1);
    CHECK(plan.err.find("of every launch") != std::string::npos);
    CHECK(plan.err.find("launch 20 has none") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(directory / "plan.json"));
  }
  const auto evaluated =
      RunStemtap({"evaluate", csv, "--methods", "random,sieve", "--runs", "2", "--metrics", ncu});
  CHECK(evaluated.exit_code == 0);
  CHECK(evaluated.err.find(said) != std::string::npos);
  CHECK((evaluated.out + evaluated.err).find("launch 20 has none") != std::string::npos);
}

TEST_CASE("metrics that do not belong to the profile are a one-line error") {
  TempDir directory;
  const std::string csv = directory.Write("run.csv", "duration_ns,name\n5,other\n").string();
  const std::string ncu = directory.Write("ncu.csv", CountersOfTwoKernels()).string();
  const std::string output = (directory / "out.csv").string();
  const auto none = RunStemtap({"convert", csv, "--metrics", ncu, "-o", output});
  CHECK(none.exit_code == 1);
  CHECK(none.err.find("ncu.csv: no kernel of ") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(output));
  CHECK(RunStemtap({"evaluate", csv, csv, "--metrics", ncu}).exit_code == 2);
  CHECK(RunStemtap({"convert", "-", "--metrics", "-", "-o", output}).exit_code == 2);
  // As a standalone profile, the page has no durations.
  const auto alone = RunStemtap({"convert", ncu, "-o", output});
  CHECK(alone.exit_code == 1);
  CHECK(alone.err.find("gpu__time_duration.sum") != std::string::npos);
}

}  // namespace
}  // namespace stemtap::formats
