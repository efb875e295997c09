// SPDX-License-Identifier: Apache-2.0
// Runs the align command as a user does.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/paths.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace stemtap::analysis {
namespace {

using nlohmann::json;
using test::RunProcess;
using test::TempDir;

std::string Stemtap() {
  return test::StemtapProgram().string();
}

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

TEST_CASE("two runs, and the plan of the one for the other") {
  TempDir folder;
  const std::string a = folder.Write("a.csv", ProfileText("", 1)).string();
  const std::string b =
      folder.Write("b.csv", ProfileText("5,0,7,1,1,1,64,1,1,0,warm_up\n", 2)).string();
  const std::string plan = (folder / "plan.json").string();
  const std::string plan_b = (folder / "plan-b.json").string();
  REQUIRE(RunProcess({Stemtap(), "plan", a, "-o", plan}).exit_code == 0);

  const auto same = RunProcess({Stemtap(), "align", a, a, "--exit-code"});
  CHECK(same.exit_code == 0);
  CHECK(same.out.find("aligned: the same launches in the same order\n") != std::string::npos);

  const auto text = RunProcess({Stemtap(), "align", a, b});
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("not aligned: 0 launches only in A, 1 only in B, 1 kernels with unequal") !=
        std::string::npos);
  CHECK(text.out.find("warm_up") != std::string::npos);
  CHECK(RunProcess({Stemtap(), "align", a, b, "--exit-code"}).exit_code == 1);

  const auto made = RunProcess({Stemtap(), "align", a, b, "--plan", plan, "-o", plan_b, "--json"});
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
    const json document = json::parse(RunProcess({"cat", path}).out);
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

TEST_CASE("a plan that cannot be carried over writes nothing") {
  TempDir folder;
  const std::string a = folder.Write("a.csv", ProfileText("", 1)).string();
  const std::string b =
      folder.Write("b.csv", ProfileText("5,0,7,1,1,1,64,1,1,0,norm\n", 1)).string();
  const std::string plan = (folder / "plan.json").string();
  const std::string plan_b = (folder / "plan-b.json").string();
  REQUIRE(RunProcess({Stemtap(), "plan", a, "-o", plan}).exit_code == 0);
  const auto refused = RunProcess({Stemtap(), "align", a, b, "--plan", plan, "-o", plan_b});
  CHECK(refused.exit_code == 1);
  CHECK(refused.err.find("cannot be carried over") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(plan_b));
  const auto dropped =
      RunProcess({Stemtap(), "align", a, b, "--plan", plan, "-o", plan_b, "--drop-unmatched"});
  CHECK(dropped.exit_code == 0);
  CHECK(dropped.out.find("dropped: launch ") != std::string::npos);
  CHECK(dropped.out.find("% of B's time uncovered") != std::string::npos);
  CHECK(std::filesystem::exists(plan_b));
}

TEST_CASE("launches that changed streams are named as such") {
  TempDir folder;
  const std::string head = "duration_ns,stream,name\n";
  const std::string a = folder.Write("a.csv", head + "1,1,k\n1,2,k\n1,1,k\n1,2,k\n").string();
  const std::string b = folder.Write("b.csv", head + "1,1,k\n1,1,k\n1,1,k\n1,2,k\n").string();
  const auto moved = RunProcess({Stemtap(), "align", a, b});
  CHECK(moved.out.find("on streams that do not correspond") != std::string::npos);
  // The runs diverge at launch 1, so the listing begins with launch 0.
  CHECK(moved.out.find("  B          0  stream 1  ") != std::string::npos);
  CHECK(moved.out.find("        1  stream 2  ") != std::string::npos);
  CHECK(moved.out.find("  B          1  stream 1  ") != std::string::npos);
  CHECK(moved.out.find("not compared, because a run lacks it for some launches: device\n") !=
        std::string::npos);
}

TEST_CASE("wrong use and bad input") {
  TempDir folder;
  const std::string a = folder.Write("a.csv", ProfileText("", 1)).string();
  CHECK(RunProcess({Stemtap(), "align", a}).exit_code == 2);
  CHECK(RunProcess({Stemtap(), "align", "-", "-"}).exit_code == 2);
  CHECK(RunProcess({Stemtap(), "align", a, a, "--plan", "p.json"}).exit_code == 2);
  CHECK(RunProcess({Stemtap(), "align", a, a, "--drop-unmatched"}).exit_code == 2);
  const auto missing = RunProcess({Stemtap(), "align", a, (folder / "none.csv").string()});
  CHECK(missing.exit_code == 1);
  CHECK(missing.err.find("none.csv") != std::string::npos);
  const std::string cut = folder.Write("cut.csv", "duration_ns,name\n1,a\n2").string();
  CHECK(RunProcess({Stemtap(), "align", a, cut}).exit_code == 1);
}

}  // namespace
}  // namespace stemtap::analysis
