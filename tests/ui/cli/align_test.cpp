// SPDX-License-Identifier: Apache-2.0
// Runs the align command as a user does.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/stemtap.h"

namespace stemtap::analysis {
namespace {

using nlohmann::json;
using test::RunStemtap;
using test::TempDir;

// Returns a profile of 200 launches of two kernels, preceded by `head`.
std::string ProfileText(const std::string& head, int slower) {
  std::string text =
      "duration_ns,device,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,shared_bytes,name\n";
  text += head;
  for (int i = 0; i < 100; ++i) {
    text += std::to_string(1000 * slower + i) + ",0,7,4,1,1,64,1,1,0,gemm\n";
    text += std::to_string(50 * slower) + ",0,7,1,1,1,64,1,1,0,norm\n";
  }
  return text;
}

TEST_CASE("align compares two runs and transfers a plan") {
  TempDir directory;
  const std::string a = directory.Write("a.csv", ProfileText("", 1)).string();
  const std::string b =
      directory.Write("b.csv", ProfileText("5,0,7,1,1,1,64,1,1,0,warm_up\n", 2)).string();
  const std::string plan = (directory / "plan.json").string();
  const std::string plan_b = (directory / "plan-b.json").string();
  REQUIRE(RunStemtap({"plan", a, "-o", plan}).exit_code == 0);

  const auto same = RunStemtap({"align", a, a, "--exit-code"});
  CHECK(same.exit_code == 0);
  CHECK(same.out.find("aligned: the same launches in the same order\n") != std::string::npos);

  const auto text = RunStemtap({"align", a, b});
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("not aligned: 0 launches only in A, 1 only in B, 1 kernel with unequal") !=
        std::string::npos);
  CHECK(text.out.find("warm_up") != std::string::npos);
  CHECK(RunStemtap({"align", a, b, "--exit-code"}).exit_code == 1);

  const auto made = RunStemtap({"align", a, b, "--plan", plan, "-o", plan_b, "--json"});
  REQUIRE(made.exit_code == 0);
  const json result = json::parse(made.out);
  CHECK(result.at("order") == "different");
  CHECK(result.at("invocations_b") == 201);
  CHECK(result.at("paired") == 200);
  CHECK(result.at("only_in_b") == 1);
  CHECK(result.at("unequal_counts").at(0).at("name") == "warm_up");
  CHECK(result.at("devices").at(0).at("first_divergence").at("b").at(0).at("paired") == false);
  CHECK(result.at("plan").at("dropped").empty());
  const auto samples = [](const std::string& path) {
    const json document = json::parse(test::ReadFile(path));
    json all = json::array();
    for (const json& kernel : document.at("kernels")) {
      for (const json& cluster : kernel.at("clusters")) {
        for (const json& sample : cluster.at("samples")) all.push_back(sample);
      }
    }
    return all;
  };
  const json before = samples(plan);
  const json after = samples(plan_b);
  REQUIRE(!before.empty());
  REQUIRE(after.size() == before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK(after[i].at("index") == before[i].at("index").get<int>() + 1);
    CHECK(after[i].at("occurrence") == before[i].at("occurrence"));
    CHECK(after[i].at("weight") == before[i].at("weight"));
    CHECK(after[i].at("duration_ns") > before[i].at("duration_ns"));
  }
}

TEST_CASE("align writes nothing if a plan cannot be transferred") {
  TempDir directory;
  const std::string a = directory.Write("a.csv", ProfileText("", 1)).string();
  const std::string b =
      directory.Write("b.csv", ProfileText("5,0,7,1,1,1,64,1,1,0,norm\n", 1)).string();
  const std::string plan = (directory / "plan.json").string();
  const std::string plan_b = (directory / "plan-b.json").string();
  REQUIRE(RunStemtap({"plan", a, "-o", plan}).exit_code == 0);
  const auto refused = RunStemtap({"align", a, b, "--plan", plan, "-o", plan_b});
  CHECK(refused.exit_code == 1);
  CHECK(refused.err.find("cannot be transferred") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(plan_b));
  const auto dropped =
      RunStemtap({"align", a, b, "--plan", plan, "-o", plan_b, "--drop-unmatched"});
  CHECK(dropped.exit_code == 0);
  CHECK(dropped.out.find("dropped: launch ") != std::string::npos);
  CHECK(dropped.out.find("% of B's time uncovered") != std::string::npos);
  CHECK(std::filesystem::exists(plan_b));
}

TEST_CASE("launches that changed streams are reported as changed streams") {
  TempDir directory;
  const std::string head = "duration_ns,stream,name\n";
  const std::string a = directory.Write("a.csv", head + "1,1,k\n1,2,k\n1,1,k\n1,2,k\n").string();
  const std::string b = directory.Write("b.csv", head + "1,1,k\n1,1,k\n1,1,k\n1,2,k\n").string();
  const auto moved = RunStemtap({"align", a, b});
  CHECK(moved.out.find("on streams that do not correspond") != std::string::npos);
  // The runs diverge at launch 1, so the list starts at launch 0.
  CHECK(moved.out.find("  B          0  stream 1  ") != std::string::npos);
  CHECK(moved.out.find("        1  stream 2  ") != std::string::npos);
  CHECK(moved.out.find("  B          1  stream 1  ") != std::string::npos);
  CHECK(moved.out.find("not compared, because a run lacks it for some launches: device\n") !=
        std::string::npos);
}

TEST_CASE("usage errors and invalid input are reported") {
  TempDir directory;
  const std::string a = directory.Write("a.csv", ProfileText("", 1)).string();
  CHECK(RunStemtap({"align", a}).exit_code == 2);
  CHECK(RunStemtap({"align", "-", "-"}).exit_code == 2);
  CHECK(RunStemtap({"align", a, a, "--plan", "p.json"}).exit_code == 2);
  CHECK(RunStemtap({"align", a, a, "--drop-unmatched"}).exit_code == 2);
  const auto missing = RunStemtap({"align", a, (directory / "none.csv").string()});
  CHECK(missing.exit_code == 1);
  CHECK(missing.err.find("none.csv") != std::string::npos);
  const std::string cut = directory.Write("cut.csv", "duration_ns,name\n1,a\n2").string();
  CHECK(RunStemtap({"align", a, cut}).exit_code == 1);
}

}  // namespace
}  // namespace stemtap::analysis
