// SPDX-License-Identifier: Apache-2.0
// Tests merging sessions of `stemtap run` on the simulated GPU.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "e2e/session.h"
#include "support/check_failure.h"
#include "support/paths.h"
#include "support/process.h"

namespace stemtap::test {
namespace {

// Records `program` in the session `folder`.
void Run(const TempDir& scratch, const std::string& folder, std::vector<std::string> options,
         const std::vector<std::string>& program) {
  std::vector<std::string> argv = {StemtapProgram().string(), "run", "-q", "-o", folder};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.push_back("--");
  argv.insert(argv.end(), program.begin(), program.end());
  const auto run = RunProcess(argv, OnFakeGpu(scratch));
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
}

nlohmann::json Merge(const TempDir& scratch, const std::vector<std::string>& sessions) {
  std::vector<std::string> argv = {StemtapProgram().string(), "merge", "-q", "-o", "m"};
  argv.insert(argv.end(), sessions.begin(), sessions.end());
  const auto run = RunProcess(argv, OnFakeGpu(scratch));
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(OverviewDiffers(scratch / "m") == "");
  return ReadJson(scratch / "m/plan.json");
}

// Checks that every counter of the merged session is the sum over its parts.
void CheckSums(const TempDir& scratch, const std::vector<std::string>& sessions) {
  const auto merged = ReadJson(scratch / "m/session.json");
  for (const auto& [name, value] : merged["counters"].items()) {
    if (!value.is_number()) continue;
    CAPTURE(name);
    std::uint64_t sum = 0;
    for (const std::string& folder : sessions) {
      sum += ReadJson(scratch / folder / "session.json")["counters"][name].get<std::uint64_t>();
    }
    CHECK(value == sum);
  }
  std::size_t processes = 0;
  std::size_t devices = 0;
  for (const std::string& folder : sessions) {
    processes += ReadJson(scratch / folder / "session.json")["processes"].size();
    devices += ReadJson(scratch / folder / "session.json")["devices"].size();
  }
  CHECK(merged["processes"].size() == processes);
  CHECK(merged["devices"].size() == devices);
}

std::vector<std::string> Play(const TempDir& scratch, const std::string& workload,
                              const std::string& seed) {
  const std::string profile = workload + seed + ".csv";
  const auto made = RunProcess({StemtapProgram().string(), "generate", workload, "--launches",
                                "10000", "--seed", seed, "-o", (scratch / profile).string()});
  REQUIRE(made.exit_code == 0);
  return {(FakeGpuDir() / "stemtap_play").string(), profile, "--rate", "20000"};
}

TEST_CASE("sessions of different programs are merged with correct sums") {
  TempDir scratch;
  Run(scratch, "a", {}, Play(scratch, "llm-decode", "1"));
  Run(scratch, "b", {}, Play(scratch, "llm-serve", "2"));
  // One session has several ranks, all on one machine.
  const std::string program = TestProgram("exit_return").string();
  Run(scratch, "c", {}, {"/bin/sh", "-c", program + " 3000 & " + program + " 4000 & wait"});
  const auto plan = Merge(scratch, {"a", "b", "c"});
  CheckSums(scratch, {"a", "b", "c"});
  CHECK(plan["totals"]["invocations"] == 27000);
  CHECK(plan["sessions"].size() == 3);
  CHECK(plan["totals"]["bound"].get<double>() > 0.0);
  CHECK(plan["source"].get<std::string>().find(", ") != std::string::npos);
}

TEST_CASE("a rank of merged live sessions is exported without a profile as from its own session") {
  TempDir scratch;
  Run(scratch, "a", {}, Play(scratch, "llm-decode", "1"));
  Run(scratch, "b", {}, Play(scratch, "llm-decode", "2"));
  Run(scratch, "graphs", {}, {TestProgram("graph").string(), "2000"});
  const std::string program = TestProgram("exit_return").string();
  Run(scratch, "two", {}, {"/bin/sh", "-c", program + " 3000 & " + program + " 4000 & wait"});
  Merge(scratch, {"a", "b", "graphs", "two"});
  const auto exported = [&](const std::string& session, const std::vector<std::string>& more) {
    std::vector<std::string> argv = {StemtapProgram().string(), "export", "--plan",
                                     session + "/plan.json",    "--to",   "accelsim"};
    argv.insert(argv.end(), more.begin(), more.end());
    return RunProcess(argv, OnFakeGpu(scratch));
  };
  for (const auto& [folder, device] : {std::pair("a", "0"), std::pair("b", "1")}) {
    const auto own = exported(folder, {});
    const auto merged = exported("m", {"--device", device});
    CAPTURE(merged.err);
    REQUIRE(merged.exit_code == 0);
    CHECK(merged.out == own.out);
    CHECK(exported("m", {"--rank", device}).out == own.out);  // the session has the same number
  }
  CheckFailure(exported("m", {}), 1, {"contains 4 sessions, and no --device N selects one"});
  CheckFailure(exported("m", {"--device", "2"}), 1, {"launches made by CUDA graphs"});
  CheckFailure(exported("m", {"--device", "3"}), 1, {"contains launches on 2 devices"});
  CheckFailure(exported("m", {"--device", "4"}), 1, {"contains 4 sessions"});
  CheckFailure(exported("m", {"--rank", "2"}), 1, {"launches made by CUDA graphs"});
  CheckFailure(exported("m", {"--rank", "3"}), 1, {"contains launches on 2 devices"});
  CheckFailure(exported("m", {"--rank", "4"}), 2,
               {"--rank 4: is none of the 4 sessions of the plan"});
  CheckFailure(exported("a", {"--rank", "0"}), 2,
               {"--rank 0: the plan is of one session; expected a merged plan"});
  CheckFailure(exported("m", {"--rank", "0", "--device", "0"}), 2, {"--rank", "--device"});
}

TEST_CASE("ranks with separate kernels stay separate") {
  TempDir scratch;
  const auto player = Play(scratch, "llm-decode", "1");
  std::string rank;
  for (const std::string& word : player) rank += word + " ";
  for (const char* folder : {"a", "b"}) {
    Run(scratch, folder, {"--share-captures", "off"},
        {"/bin/sh", "-c", rank + "& " + rank + "& wait"});
  }
  const auto plan = Merge(scratch, {"a", "b"});
  CheckSums(scratch, {"a", "b"});
  const auto apart = ReadJson(scratch / "a/plan.json")["kernels"].size() +
                     ReadJson(scratch / "b/plan.json")["kernels"].size();
  CHECK(plan["kernels"].size() == apart);
  std::set<int> processes;
  for (const auto& kernel : plan["kernels"]) {
    processes.insert(kernel["process"].get<int>());
    for (const auto& cluster : kernel["clusters"]) {
      for (const auto& sample : cluster["samples"]) {
        CHECK(sample["occurrence"] < kernel["invocations"]);
      }
    }
  }
  CHECK(processes.size() == 4);
}

TEST_CASE("the merged session reports launches perturbed by captures") {
  TempDir scratch;
  for (const char* folder : {"a", "b"}) {
    Run(scratch, folder, {"--level", "gate", "--actuator", "profiler"},
        Play(scratch, "llm-decode", folder == std::string("a") ? "1" : "2"));
  }
  const auto plan = Merge(scratch, {"a", "b"});
  CheckSums(scratch, {"a", "b"});
  std::uint64_t imputed = 0;
  for (const char* folder : {"a", "b"}) {
    const auto totals = ReadJson(scratch / folder / "plan.json")["totals"];
    REQUIRE(totals.contains("imputed"));
    imputed += totals["imputed"].get<std::uint64_t>();
  }
  CHECK(plan["totals"]["imputed"] == imputed);
  CHECK(plan["totals"]["observed_error"].is_null());
  CHECK(plan["totals"]["bound"].is_number());
}

TEST_CASE("a session without launches and a killed session are merged") {
  TempDir scratch;
  Run(scratch, "a", {}, Play(scratch, "llm-decode", "1"));
  Run(scratch, "idle", {}, {"/bin/true"});
  const auto plan = Merge(scratch, {"a", "idle"});
  const auto own = ReadJson(scratch / "a/plan.json");
  CHECK(plan["totals"]["invocations"] == own["totals"]["invocations"]);
  CHECK(plan["totals"]["bound"].get<double>() ==
        doctest::Approx(own["totals"]["bound"].get<double>()).epsilon(1e-9));
  const auto session = ReadJson(scratch / "m/session.json");
  REQUIRE(session["warnings"].size() == 1);
  CHECK(session["warnings"][0].get<std::string>().starts_with("idle: no process initialized CUDA"));

  std::filesystem::remove(scratch / "idle/plan.json");
  std::filesystem::remove(scratch / "idle/session.json");
  CheckFailure(
      RunProcess({StemtapProgram().string(), "merge", "a", "idle", "-o", "n"}, OnFakeGpu(scratch)),
      1, {"idle: has no plan.json: the session is running or was killed"});
}

}  // namespace
}  // namespace stemtap::test
