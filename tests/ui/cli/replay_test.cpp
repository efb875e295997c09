// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "e2e/profile_totals.h"
#include "support/shared_data.h"
#include "support/stemtap.h"

namespace stemtap::test {
namespace {

// Generates a decode loop of `launches` launches.
std::filesystem::path Generate(const TempDir& scratch, const char* launches) {
  const auto file = scratch / "decode.stemtap.zst";
  const auto made =
      RunStemtap({"generate", "llm-decode", "--launches", launches, "-o", file.string()});
  REQUIRE(made.exit_code == 0);
  return file;
}

// Removes times, which differ between runs.
nlohmann::json WithoutTimes(const std::filesystem::path& file) {
  nlohmann::json overview = ReadJson(file);
  for (const char* name : {"started_unix_ms", "elapsed_s", "period_ms"}) overview.erase(name);
  for (auto& point : overview["timeline"]) point.erase(0);
  return overview;
}

TEST_CASE("the speed of a replay is in a unit that suits it") {
  TempDir scratch;
  const auto first_line = [&](const std::string& launches) {
    const std::string profile = launches + ".stemtap";
    const auto made =
        RunStemtap(scratch, {"generate", "llm-decode", "--launches", launches, "-o", profile});
    CAPTURE(made.err);
    CHECK(made.err.find(" ms of GPU time, in " + profile + "\n") != std::string::npos);
    const auto run = RunStemtap(scratch, {"replay", profile, "-o", launches});
    CHECK(run.exit_code == 0);
    return run.err.substr(0, run.err.find(", session in"));
  };
  // One launch takes more than 10 us, with the files of the session.
  const std::string slow = first_line("1");
  CAPTURE(slow);
  CHECK(slow.ends_with(" kernels/s"));
  CHECK(slow.find("million") == std::string::npos);
  CHECK(slow.find('.') == std::string::npos);
}

TEST_CASE("the mask, plan and overview are identical with 1 and with 4 threads") {
  TempDir scratch;
  std::vector<std::filesystem::path> profiles = {Generate(scratch, "300000")};
  const auto recorded = SharedPath("data/profiles/particle_transformer_bs4.csv.gz");
  if (!recorded.empty()) profiles.push_back(recorded);
  for (const auto& profile : profiles) {
    for (const std::string lag : {"20000", "100"}) {
      const auto directory = [&](const std::string& threads) {
        const auto path = scratch / (profile.filename().string() + lag + "-" + threads);
        const auto run = RunStemtap({"replay", "-q", "--threads", threads, "--lag", lag,
                                     profile.string(), "-o", path.string()});
        CHECK(run.exit_code == 0);
        CHECK(run.err.find("TBB") == std::string::npos);
        return path;
      };
      const auto one = directory("1");
      const auto four = directory("4");
      CHECK(ReadFile(one / "mask.ndjson").size() > 100);
      CHECK(ReadFile(one / "mask.ndjson") == ReadFile(four / "mask.ndjson"));
      CHECK(ReadFile(one / "plan.json") == ReadFile(four / "plan.json"));
      CHECK(OverviewDiffers(one) == "");
      CHECK(WithoutTimes(one / "overview.json") == WithoutTimes(four / "overview.json"));
    }
  }
}

TEST_CASE(
    "the calibrated weights reproduce the total, and every sample is a launch of the profile") {
  TempDir scratch;
  const auto profile = Generate(scratch, "200000");
  for (const std::string command : {"replay", "plan"}) {
    const auto run = RunStemtap({command, profile.string(), "-o", (scratch / command).string()});
    REQUIRE(run.exit_code == 0);
    const auto plan =
        ReadJson(command == "plan" ? scratch / "plan" : scratch / command / "plan.json");
    REQUIRE(plan.is_object());
    CHECK(plan["schema"] == "stemtap.plan/1");
    double total = 0.0;
    std::uint64_t samples = 0;
    for (const auto& kernel : plan["kernels"]) {
      for (const auto& cluster : kernel["clusters"]) {
        CHECK(cluster["samples"].size() == cluster["captured"].get<std::size_t>());
        for (const auto& sample : cluster["samples"]) {
          ++samples;
          total += sample["weight"].get<double>() * sample["duration_ns"].get<double>();
          CHECK(sample["index"].get<std::uint64_t>() < 200000);
          CHECK(sample["duration_ns"] >= cluster["lower_ns"]);
          CHECK(sample["duration_ns"] <= cluster["upper_ns"]);
        }
      }
    }
    CHECK(samples == plan["totals"]["samples"].get<std::uint64_t>());
    if (plan["totals"]["uncovered_fraction"] == 0.0) {
      CHECK(total == doctest::Approx(plan["totals"]["duration_ns"].get<double>()).epsilon(1e-9));
    }
    CHECK(plan["totals"]["certified_bound"].get<double>() <= 0.05 * 1.0000001);
  }
}

TEST_CASE("--json prints only one JSON object") {
  TempDir scratch;
  const auto profile = Generate(scratch, "5000");
  const auto replay =
      RunStemtap({"replay", "--json", "-q", profile.string(), "-o", (scratch / "s").string()});
  CHECK(nlohmann::json::parse(replay.out)["invocations"] == 5000);
  const auto plan = RunStemtap({"plan", "--json", profile.string()});
  CHECK(nlohmann::json::parse(plan.out)["totals"]["invocations"] == 5000);
}

TEST_CASE("a different seed gives a different plan with the same cost") {
  TempDir scratch;
  const auto profile = Generate(scratch, "50000");
  const auto with_seed = [&](const char* seed) {
    return nlohmann::json::parse(
        RunStemtap({"plan", "--json", "--seed", seed, profile.string()}).out);
  };
  const auto one = with_seed("1");
  CHECK(one == with_seed("1"));
  const auto two = with_seed("2");
  CHECK(one["kernels"] != two["kernels"]);
  CHECK(one["totals"]["samples"] == two["totals"]["samples"]);
}

}  // namespace
}  // namespace stemtap::test
