// SPDX-License-Identifier: Apache-2.0
//
// A server that runs for long, with everything at once: ranges, windows, snapshots, recording
// switched off and on, and metrics. The launches of all windows, with the launches that were made
// while recording was off, are the launches of the simulated driver, and the collector's memory
// does not grow.
//
//   STEMTAP_LONG_RUN=20 tests/long_run_test     20 million launches
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "e2e/session.h"
#include "support/http_client.h"
#include "support/paths.h"
#include "support/process.h"

namespace stemtap::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kOnce = 1'000'000;  // launches of the profile

int Millions() {
  const char* millions = std::getenv("STEMTAP_LONG_RUN");
  return millions == nullptr ? 2 : std::max(1, std::atoi(millions));
}

// Returns the resident memory of a process in KiB; 0 if it has ended.
std::uint64_t ResidentKb(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoull(line.substr(6));
  }
  return 0;
}

std::uint64_t OfTruth(const fs::path& file, const std::string& name) {
  std::string text = ReadFile(file);
  text.resize(text.find('\n'));
  const std::size_t at = text.find(" " + name + " ");
  REQUIRE(at != std::string::npos);
  return std::stoull(text.substr(at + name.size() + 2));
}

// Returns the launches that a session accounts for.
std::uint64_t LaunchesOf(const fs::path& session) {
  const auto report = ReadJson(session / "session.json");
  REQUIRE(report.is_object());
  return report["counters"]["kept"].get<std::uint64_t>() +
         report["counters"]["dropped"].get<std::uint64_t>();
}

// Adds ranges and steps to the rows of a CSV: of each 1,000 launches, which are a step, the first
// 100 are prefill, and the last 50 are in no range.
void MarkRows(const std::string& from, const std::string& to) {
  std::ifstream in(from);
  std::ofstream out(to);
  std::string line;
  std::getline(in, line);
  out << line << ",range,step\n";
  for (std::uint64_t row = 0; std::getline(in, line); ++row) {
    const std::uint64_t at = row % 1000;
    const char* const range = at < 100 ? "serve/prefill" : at < 950 ? "serve/decode" : "";
    out << line << ',' << range << ',' << row / 1000 << '\n';
  }
}

// Returns the launches of a session's plan in a range.
std::uint64_t LaunchesIn(const fs::path& session, const std::string& name) {
  const auto plan = ReadJson(session / "plan.json");
  REQUIRE(plan.is_object());
  for (const auto& range : plan["ranges"]) {
    if (range["range"] == name) return range["invocations"].get<std::uint64_t>();
  }
  return 0;
}

// Returns the value of a metric without labels.
double MetricIn(const std::string& text, const std::string& name) {
  const std::size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? -1.0 : std::stod(text.substr(at + name.size() + 2));
}

TEST_CASE("a long run with windows, snapshots, pauses and metrics accounts for every launch") {
  TempDir scratch;
  const std::string unmarked = (scratch / "run.csv").string();
  REQUIRE(RunProcess({StemtapProgram().string(), "generate", "llm-serve", "--launches",
                      std::to_string(kOnce), "-q", "-o", unmarked})
              .exit_code == 0);
  const std::string profile = (scratch / "run.stemtap").string();
  {
    const std::string marked = (scratch / "marked.csv").string();
    MarkRows(unmarked, marked);
    REQUIRE(
        RunProcess({StemtapProgram().string(), "convert", marked, "-q", "-o", profile}).exit_code ==
        0);
  }
  ProcessOptions options = OnFakeGpu(scratch);
  options.timeout = std::chrono::minutes(10);
  options.env.emplace_back("FAKE_GPU_TRUTH", (scratch / "truth").string());
  const std::string session = (scratch / "session").string();
  // Below the rate at which a busy machine drops records.
  Process run({StemtapProgram().string(),
               "run",
               "-o",
               session,
               "--level",
               "gate",
               "--window",
               "300000launches",
               "--keep",
               "200",
               "--ranges",
               "--bound",
               "range",
               "--metrics-address",
               "127.0.0.1:0",
               "--",
               (FakeGpuDir() / "stemtap_play").string(),
               profile,
               "--repeat",
               std::to_string(Millions()),
               "--rate",
               "300000"},
              options);
  REQUIRE(run.WaitForError("/metrics\n"));
  const std::size_t at = run.err().find("127.0.0.1:");
  const std::string address = run.err().substr(at, run.err().find("/metrics") - at);

  const auto command = [&](const std::vector<std::string>& words) {
    std::vector<std::string> argv = {StemtapProgram().string()};
    argv.insert(argv.end(), words.begin(), words.end());
    return RunProcess(argv).exit_code;
  };
  std::uint64_t first_kb = 0;
  std::uint64_t most_kb = 0;
  double last = 0.0;
  int rounds = 0;
  while (command({"snapshot", session, "-q", "-o", (scratch / "now").string(), "--force"}) == 0) {
    CHECK(command({"stats", (scratch / "now").string()}) == 0);
    if (command({"stop", session, "-q"}) != 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (command({"start", session, "-q"}) != 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    const std::string text = HttpGet(address, "/metrics");
    if (text.empty()) break;
    // Also over windows, counters never decrease.
    const double launches = MetricIn(text, "stemtap_launches_observed_total");
    CHECK(launches >= last);
    last = launches;
    const std::uint64_t now_kb = ResidentKb(run.pid());
    if (++rounds == 2) first_kb = now_kb;  // after the first window and snapshot
    most_kb = std::max(most_kb, now_kb);
  }
  CHECK(run.Wait().exit_code == 0);
  CAPTURE(run.err());
  CHECK(rounds >= 2);

  std::uint64_t accounted = LaunchesOf(session);
  int windows = 1;
  for (const auto& entry : fs::directory_iterator(session)) {
    if (!entry.is_directory()) continue;
    ++windows;
    accounted += LaunchesOf(entry.path());
    // Windows begin and end anywhere in the pattern of the ranges, and recording is off at times.
    const auto all = static_cast<double>(LaunchesOf(entry.path()));
    CHECK(std::fabs(static_cast<double>(LaunchesIn(entry.path(), "serve/prefill")) - 0.1 * all) <=
          0.01 * all + 1000);
    CHECK(std::fabs(static_cast<double>(LaunchesIn(entry.path(), "serve/decode")) - 0.85 * all) <=
          0.01 * all + 1000);
    CHECK(LaunchesIn(entry.path(), "serve/prefill") + LaunchesIn(entry.path(), "serve/decode") +
              LaunchesIn(entry.path(), "") ==
          ReadJson(entry.path() / "plan.json")["totals"]["invocations"]);
  }
  const std::uint64_t launches = OfTruth(scratch / "truth", "launches");
  const std::uint64_t unrecorded = OfTruth(scratch / "truth", "unrecorded");
  CHECK(launches == kOnce * static_cast<std::uint64_t>(Millions()));
  CHECK(unrecorded > 0);
  CHECK(accounted + unrecorded == launches);
  CHECK(most_kb < first_kb + 5 * 1024);
  MESSAGE(launches << " launches, " << unrecorded << " while recording was off, " << windows
                   << " windows, " << rounds << " rounds of commands; memory " << first_kb << " to "
                   << most_kb << " KiB");
}

}  // namespace
}  // namespace stemtap::test
