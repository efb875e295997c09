// SPDX-License-Identifier: Apache-2.0
// Tests `stemtap run --metrics-address` on the simulated GPU, with the real Prometheus.
#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "e2e/session.h"
#include "support/check_failure.h"
#include "support/http_client.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/prometheus_text.h"

namespace stemtap::test {
namespace {

std::vector<std::string> RunCommand(const std::vector<std::string>& options,
                                    const std::vector<std::string>& program) {
  std::vector<std::string> argv = {StemtapProgram().string(), "run",        "-o", "session",
                                   "--metrics-address",       "127.0.0.1:0"};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.push_back("--");
  argv.insert(argv.end(), program.begin(), program.end());
  return argv;
}

// Returns the address that the run prints.
std::string AddressOf(Process& run) {
  const std::string before = "stemtap: metrics are at http://";
  const std::string after = "/metrics\n";
  REQUIRE(run.WaitForError(after));
  const std::size_t begin = run.err().find(before);
  REQUIRE(begin != std::string::npos);
  const std::size_t at = begin + before.size();
  return run.err().substr(at, run.err().find(after) - at);
}

std::string Scrape(const std::string& address) {
  return BodyOf(HttpGet(address, "/metrics"));
}

// Waits until `done`, at most 20 s. A poll, because the other process offers nothing to wait for.
void WaitUntil(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void CheckMonotonic(const PrometheusText& before, const PrometheusText& after) {
  for (const auto& [series, value] : before.values) {
    if (after.types.at(series.substr(0, series.find('{'))) != "counter") continue;
    CAPTURE(series);
    CHECK(after.Of(series) >= value);
  }
}

// Runs a program, and then waits for the file `go`.
std::vector<std::string> AndWait(const std::vector<std::string>& program) {
  std::vector<std::string> argv = {"/bin/sh", "-c",
                                   "\"$@\" > out; until [ -e go ]; do sleep 0.02; done", "sh"};
  argv.insert(argv.end(), program.begin(), program.end());
  return argv;
}

// Waits until the metrics contain all launches, and returns them. Snapshots also count the launches
// that wait for their epoch.
PrometheusText ScrapeAll(const std::string& address, double launches, const TempDir& scratch) {
  PrometheusText text;
  WaitUntil([&] {
    const PrometheusText now = ReadPrometheus(Scrape(address));
    if (!text.values.empty()) CheckMonotonic(text, now);
    text = now;
    if (text.Of("stemtap_launches_observed_total") == launches) return true;
    CHECK(RunProcess({StemtapProgram().string(), "snapshot", (scratch / "session").string(), "-q",
                      "--force", "-o", (scratch / "snapshot").string()})
              .exit_code == 0);
    return false;
  });
  CHECK(text.Of("stemtap_launches_observed_total") == launches);
  return text;
}

std::string PlayedProfile(const TempDir& scratch, const std::string& launches) {
  const std::string profile = (scratch / "run.stemtap").string();
  REQUIRE(RunProcess({StemtapProgram().string(), "generate", "llm-serve", "--launches", launches,
                      "-q", "-o", profile})
              .exit_code == 0);
  return profile;
}

TEST_CASE("the metrics of a running session are the figures that its files have at the end") {
  for (const std::string level : {"kernels", "gate"}) {
    CAPTURE(level);
    TempDir scratch;
    const std::string profile = PlayedProfile(scratch, "30000");
    Process run(RunCommand({"--level", level},
                           AndWait({(FakeGpuDir() / "stemtap_play").string(), profile})),
                OnFakeGpu(scratch));
    const std::string address = AddressOf(run);
    const PrometheusText text = ScrapeAll(address, 30000, scratch);
    CHECK(text.Of("stemtap_recording_enabled") == 1.0);
    CHECK(text.Of("stemtap_collector_cpu_seconds_total") > 0.0);
    scratch.Write("go", "");
    REQUIRE(run.Wait().exit_code == 0);
    CHECK(Scrape(address).empty());  // no longer served

    const auto session = ReadJson(scratch / "session/session.json");
    const auto plan = ReadJson(scratch / "session/plan.json");
    const auto& counters = session["counters"];
    CHECK(session["options"]["metrics_address"] == address);
    CHECK(text.Of("stemtap_launches_seen_total") == counters["seen"].get<double>());
    CHECK(text.Sum("stemtap_launches_dropped_total") == counters["dropped"].get<double>());
    CHECK(text.Of("stemtap_launches_captured_total") == counters["captured"].get<double>());
    CHECK(text.Of("stemtap_captured_gpu_seconds_total") ==
          doctest::Approx(1e-9 * counters["captured_duration_ns"].get<double>()));
    CHECK(text.Of("stemtap_launches_observed_total") ==
          plan["totals"]["invocations"].get<double>());
    CHECK(text.Of("stemtap_gpu_seconds_total") ==
          doctest::Approx(1e-9 * plan["totals"]["duration_ns"].get<double>()));
    CHECK(text.Sum("stemtap_gpu_busy_seconds_total") ==
          doctest::Approx(1e-9 * session["devices"][0]["busy_ns"].get<double>()));
    CHECK(text.Of("stemtap_recording_cost_seconds_total{threads=\"program\"}") ==
          doctest::Approx(1e-9 * session["processes"][0]["cost"]["program_ns"].get<double>()));
    // One series per kernel, with its launches.
    CHECK(text.Of("stemtap_kernels") == static_cast<double>(plan["kernels"].size()));
    CHECK(text.Sum("stemtap_kernel_launches_total") == 30000.0);
    std::multiset<double> launches;
    for (const auto& [series, value] : text.values) {
      if (series.starts_with("stemtap_kernel_launches_total{") && value != 0.0) {
        launches.insert(value);
      }
    }
    std::multiset<double> planned;
    for (const auto& kernel : plan["kernels"]) planned.insert(kernel["invocations"].get<double>());
    CHECK(launches == planned);
  }
}

TEST_CASE("counters continue when a window ends") {
  TempDir scratch;
  const std::string profile = PlayedProfile(scratch, "20000");
  Process run(RunCommand({"--window", "6000launches"},
                         AndWait({(FakeGpuDir() / "stemtap_play").string(), profile})),
              OnFakeGpu(scratch));
  const PrometheusText text = ScrapeAll(AddressOf(run), 20000, scratch);
  CHECK(text.Of("stemtap_window") == 4.0);
  scratch.Write("go", "");
  REQUIRE(run.Wait().exit_code == 0);
  double launches = 0.0;
  double duration_ns = 0.0;
  double captured = 0.0;
  for (const char* name :
       {"session/window-0001", "session/window-0002", "session/window-0003", "session"}) {
    const auto plan = ReadJson(scratch / name / "plan.json");
    launches += plan["totals"]["invocations"].get<double>();
    duration_ns += plan["totals"]["duration_ns"].get<double>();
    captured += ReadJson(scratch / name / "session.json")["counters"]["captured"].get<double>();
  }
  CHECK(launches == 20000.0);
  CHECK(text.Of("stemtap_gpu_seconds_total") == doctest::Approx(1e-9 * duration_ns));
  CHECK(text.Of("stemtap_launches_captured_total") == captured);
  CHECK(text.Sum("stemtap_kernel_launches_total") == 20000.0);
}

TEST_CASE("launches while recording is off are counted, and other counters stand still") {
  TempDir scratch;
  const std::string profile = PlayedProfile(scratch, "5000");
  Process run(RunCommand({"--delay", "2000launches"},
                         AndWait({(FakeGpuDir() / "stemtap_play").string(), profile})),
              OnFakeGpu(scratch));
  const PrometheusText text = ScrapeAll(AddressOf(run), 3000, scratch);
  CHECK(text.Of("stemtap_launches_unobserved_total{reason=\"off\"}") == 2000.0);
  CHECK(text.Of("stemtap_launches_seen_total") == 5000.0);
  const std::string session = (scratch / "session").string();
  REQUIRE(RunProcess({StemtapProgram().string(), "stop", session, "-q"}).exit_code == 0);
  const std::string address = AddressOf(run);
  PrometheusText stopped;
  WaitUntil([&] {
    stopped = ReadPrometheus(Scrape(address));
    return stopped.Of("stemtap_recording_enabled") == 0.0;
  });
  CHECK(stopped.Of("stemtap_recording_enabled") == 0.0);
  CheckMonotonic(text, stopped);
  scratch.Write("go", "");
  CHECK(run.Wait().exit_code == 0);
}

TEST_CASE("an address that cannot be used ends the command before the program starts") {
  TempDir scratch;
  const auto run = [&](const std::string& address) {
    return RunProcess({StemtapProgram().string(), "run", "-o", "session", "--metrics-address",
                       address, "--", TestProgram("exit_return").string(), "10"},
                      OnFakeGpu(scratch));
  };
  CheckFailure(run("9464"), 2, {"--metrics-address", "is '9464'", "expected HOST:PORT"});
  CheckFailure(run("192.0.2.1:9464"), 1,
               {"--metrics-address 192.0.2.1:9464: cannot be opened: Cannot assign requested"});
  CheckFailure(run("no.such.host.invalid:1"), 1, {"no.such.host.invalid:1: the host is not known"});
  CHECK_FALSE(std::filesystem::exists(scratch / "session"));
}

TEST_CASE("a quiet run prints no address, and its files contain it") {
  TempDir scratch;
  const auto run = RunProcess(RunCommand({"-q"}, {TestProgram("exit_return").string(), "100"}),
                              OnFakeGpu(scratch));
  CHECK(run.exit_code ==
        RunProcess({TestProgram("exit_return").string(), "100"}, OnFakeGpu(scratch)).exit_code);
  CHECK(run.err == "");
  const auto session = ReadJson(scratch / "session/session.json");
  const auto address = session["options"]["metrics_address"].get<std::string>();
  CHECK(address.starts_with("127.0.0.1:"));
  CHECK_FALSE(address.ends_with(":0"));
  CHECK(ReadFile(scratch / "session/stemtap.log").find(address) != std::string::npos);
}

std::string UrlEncoded(const std::string& text) {
  std::string encoded;
  for (const char c : text) {
    char bytes[4];
    std::snprintf(bytes, sizeof bytes, "%%%02X", static_cast<unsigned char>(c));
    encoded += bytes;
  }
  return encoded;
}

// Returns the queries of the dashboard, with the values that Grafana would insert.
std::vector<std::string> DashboardQueries() {
  std::vector<std::string> queries;
  const auto dashboard = ReadJson(SourceDir() / "examples/grafana/dashboard.json");
  for (const auto& panel : dashboard["panels"]) {
    for (const auto& target : panel["targets"]) {
      std::string query = target["expr"];
      for (const auto& [variable, value] :
           {std::pair("$__rate_interval", "4s"), std::pair("$job", "stemtap"),
            std::pair("$instance", ".*")}) {
        for (std::size_t at; (at = query.find(variable)) != std::string::npos;) {
          query.replace(at, std::string(variable).size(), value);
        }
      }
      queries.push_back(query);
    }
  }
  return queries;
}

bool IsInstalled(const std::string& program) {
  return RunProcess({program, "--version"}).exit_code == 0;
}

TEST_CASE("promtool accepts the metrics, and Prometheus scrapes them") {
  if (!IsInstalled("promtool") || !IsInstalled("prometheus")) {
    MESSAGE("SKIPPED: Prometheus is not installed");
    return;
  }
  TempDir scratch;
  const std::string profile = PlayedProfile(scratch, "20000");
  Process run(
      RunCommand({"--level", "gate"}, AndWait({(FakeGpuDir() / "stemtap_play").string(), profile})),
      OnFakeGpu(scratch));
  const std::string address = AddressOf(run);
  const PrometheusText text = ScrapeAll(address, 20000, scratch);
  const std::string scraped = scratch.Write("scraped", Scrape(address)).string();
  const auto checked = RunProcess({"/bin/sh", "-c", "promtool check metrics < \"$0\"", scraped});
  CAPTURE(checked.err);
  CHECK(checked.exit_code == 0);
  CHECK(checked.out + checked.err == "");

  // The configuration of the example, with this address.
  std::string config = ReadFile(SourceDir() / "examples/grafana/prometheus.yml");
  const std::string target = "'localhost:9464'";
  const std::size_t at = config.find(target);
  REQUIRE(at != std::string::npos);
  config.replace(at, target.size(), "'" + address + "'");
  const std::string file = scratch.Write("prometheus.yml", config).string();
  CHECK(RunProcess({"promtool", "check", "config", file}).exit_code == 0);
  Process server({"prometheus", "--config.file=" + file,
                  "--storage.tsdb.path=" + (scratch / "data").string(),
                  "--web.listen-address=127.0.0.1:0"});
  REQUIRE(server.WaitForError("Server is ready"));
  const std::string listening = "msg=\"Listening on\" address=";
  const std::size_t begin = server.err().find(listening);
  REQUIRE(begin != std::string::npos);
  const std::size_t from = begin + listening.size();
  const std::string api = server.err().substr(from, server.err().find('\n', from) - from);
  const auto query = [&](const std::string& expression) {
    return nlohmann::json::parse(BodyOf(HttpGet(api, "/api/v1/query?query=" + expression)), nullptr,
                                 false);
  };
  WaitUntil([&] {
    const auto found = query("stemtap_launches_observed_total");
    return found.is_object() && !found["data"]["result"].empty();
  });
  const auto found = query("stemtap_launches_observed_total");
  REQUIRE(found["data"]["result"].size() == 1);
  CHECK(found["data"]["result"][0]["value"][1] == "20000");
  CHECK(query("count({__name__=~%22stemtap_.%2B%22})")["data"]["result"][0]["value"][1] ==
        std::to_string(text.values.size()));
  // A rate needs two scrapes.
  WaitUntil([&] {
    const auto rate = query(UrlEncoded("rate(stemtap_launches_observed_total[4s])"));
    return rate.is_object() && !rate["data"]["result"].empty();
  });
  for (const std::string& expression : DashboardQueries()) {
    CAPTURE(expression);
    const auto result = query(UrlEncoded(expression));
    REQUIRE(result.is_object());
    CHECK(result["status"] == "success");
    CHECK_FALSE(result["data"]["result"].empty());
  }
  server.Signal(SIGTERM);
  CHECK(server.Wait().exit_code == 0);
  scratch.Write("go", "");
  CHECK(run.Wait().exit_code == 0);
}

TEST_CASE("the dashboard and the guide use only metrics that exist, and show each of them") {
  TempDir scratch;
  Process run(
      RunCommand({"--level", "gate"}, AndWait({TestProgram("exit_return").string(), "2000"})),
      OnFakeGpu(scratch));
  const PrometheusText text = ScrapeAll(AddressOf(run), 2000, scratch);
  scratch.Write("go", "");
  run.Wait();
  const std::string dashboard = ReadFile(SourceDir() / "examples/grafana/dashboard.json");
  const auto parsed = nlohmann::json::parse(dashboard, nullptr, false);
  REQUIRE(parsed.is_object());
  CHECK(parsed["panels"].size() >= 10);
  const std::string page = ReadFile(SourceDir() / "docs/formats/prometheus.md");
  const std::regex name("stemtap_[a-z_]*[a-z]");
  for (const std::string& content : {dashboard, page}) {
    std::set<std::string> used;
    for (auto found = std::sregex_iterator(content.begin(), content.end(), name);
         found != std::sregex_iterator(); ++found) {
      used.insert(found->str());
    }
    for (const std::string& metric : used) {
      CAPTURE(metric);
      CHECK(text.types.contains(metric));
    }
    for (const auto& [metric, type] : text.types) {
      CAPTURE(metric);
      CHECK(used.contains(metric));
    }
  }
}

}  // namespace
}  // namespace stemtap::test
