// SPDX-License-Identifier: Apache-2.0
// Tests `stemtap run` and the injected library on the simulated GPU.
#include <doctest/doctest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "e2e/session.h"
#include "support/check_failure.h"
#include "support/paths.h"
#include "support/process.h"

namespace stemtap::test {
namespace {

std::vector<std::string> RunCommand(const std::vector<std::string>& options,
                                    const std::vector<std::string>& program) {
  std::vector<std::string> argv = {StemtapProgram().string(), "run", "-o", "session"};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.push_back("--");
  argv.insert(argv.end(), program.begin(), program.end());
  return argv;
}

std::uint64_t Kept(const nlohmann::json& session) {
  return session["counters"]["kept"];
}

TEST_CASE("a program that exits normally is recorded completely at both levels") {
  for (const std::string level : {"kernels", "gate"}) {
    CAPTURE(level);
    TempDir scratch;
    const auto options = OnFakeGpu(scratch);
    const std::string program = TestProgram("exit_return").string();
    const auto bare = RunProcess({program, "20000"}, options);
    const auto run = RunProcess(RunCommand({"--level", level}, {program, "20000"}), options);
    CAPTURE(run.err);
    CHECK(run.exit_code == bare.exit_code);
    CHECK(run.out == bare.out);
    const auto session = ReadJson(scratch / "session/session.json");
    CHECK(Kept(session) == 20000);
    CHECK(session["counters"]["dropped"] == 0);
    CHECK(session["processes"][0]["state"] == "closed");
    CHECK(session["counters"]["captured"].get<int>() >= 1);
    const auto gated = session["processes"][0]["launches_gated"].get<std::uint64_t>();
    CHECK(gated == (level == "gate" ? 20000u : 0u));
    const auto completeness = session["completeness"].get<std::string>();
    CHECK(completeness.starts_with(level == "gate" ? "all 20000 launches were recorded"
                                                   : "20000 kernel records were received"));
    CHECK(ReadFile(scratch / "session/summary.txt").find(completeness) != std::string::npos);
    CHECK(OverviewDiffers(scratch / "session") == "");
    CHECK(ReadJson(scratch / "session/overview.json")["level"] == level);
    // Rings and gate are removed; the results exist.
    std::vector<std::string> files;
    for (const auto& f : std::filesystem::directory_iterator(scratch / "session")) {
      files.push_back(f.path().filename());
    }
    std::sort(files.begin(), files.end());
    CHECK(files == std::vector<std::string>{"cells.json", "mask.ndjson", "overview.json",
                                            "plan.json", "session.json", "stemtap.log",
                                            "summary.txt"});
  }
}

TEST_CASE("launches that build a graph need no record") {
  TempDir scratch;
  const std::string program = TestProgram("graph").string();
  const auto run =
      RunProcess(RunCommand({"--level", "gate"}, {program, "1000"}), OnFakeGpu(scratch));
  CHECK(run.exit_code == 0);
  const auto session = ReadJson(scratch / "session/session.json");
  const auto& process = session["processes"][0];
  CHECK(process["launches_added"] == 10);
  CHECK(process["graph_records"] == 1000);
  CHECK(process["launches_gated"] == 0);
  CHECK(session["completeness"].get<std::string>().starts_with("no kernel was launched outside"));
  CHECK(session["devices"][0]["graph_duration_ns"] == session["devices"][0]["duration_ns"]);
  const std::string line =
      "kernels of 100 graph launches (100.00 % of the time) cannot be captured one by one, and the "
      "bound counts those without another sample in full: use --level graph";
  CHECK(ReadFile(scratch / "session/summary.txt").find(line) != std::string::npos);
  CHECK(run.err.find(line) != std::string::npos);
}

TEST_CASE("a graph is one kernel in two runs, and in their merged session") {
  TempDir scratch;
  const std::string program = TestProgram("graph_list").string();
  // The second run has another graph before it, so its number differs.
  const std::vector<std::vector<std::string>> graphs = {{"a1,b2,b2/01,02", "again:"},
                                                        {"c1,m64/", "b2,a1,b2/10,12", "again:"}};
  for (const std::string run : {"0", "1"}) {
    std::vector<std::string> argv = {
        StemtapProgram().string(), "run", "-q", "-o", run, "--level", "graph", "--", program};
    const std::vector<std::string>& more = graphs[run == "1"];
    argv.insert(argv.end(), more.begin(), more.end());
    REQUIRE(RunProcess(argv, OnFakeGpu(scratch)).exit_code == 0);
  }
  const auto plan = ReadJson(scratch / "0/plan.json");
  REQUIRE(plan["kernels"].size() == 1);
  const std::string name = plan["kernels"][0]["name"];
  CHECK(name.starts_with("graph of 3 kernels, 2 x kernel_b #"));
  const auto run = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = {StemtapProgram().string()};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    const auto result = RunProcess(argv, OnFakeGpu(scratch));
    CAPTURE(result.err);
    CHECK(result.exit_code == 0);
    return result.out;
  };
  run({"merge", "0", "1", "-o", "both"});
  const auto merged = ReadJson(scratch / "both/plan.json");
  REQUIRE(merged["kernels"].size() == 2);
  for (const auto& kernel : merged["kernels"]) {
    CHECK(kernel["invocations"] == (kernel["name"] == name ? 4 : 1));
  }
  const auto diff = nlohmann::json::parse(run({"diff", "0", "1", "--json"}));
  bool found = false;
  for (const auto& kernel : diff["kernels"]) found = found || kernel["name"] == name;
  CHECK(found);
  const std::string brief = "graph of 3: 2 x kernel_b #" + name.substr(name.find('#') + 1, 8);
  CHECK(run({"stats", "both"}).find(brief) != std::string::npos);
  CHECK(ReadFile(scratch / "0/summary.txt").find(brief) != std::string::npos);
}

TEST_CASE("launches whose records a killed process did not deliver are stated as missing") {
  const std::string program = TestProgram("exit_sigkill").string();
  // On a busy machine, a flush right before the kill may deliver every record. Not five times.
  for (int attempt = 0; attempt < 5; ++attempt) {
    TempDir scratch;
    RunProcess(RunCommand({"--level", "gate"}, {program, "20000"}), OnFakeGpu(scratch));
    const auto session = ReadJson(scratch / "session/session.json");
    const auto seen = session["processes"][0]["seen"].get<std::uint64_t>();
    const auto gated = session["processes"][0]["launches_gated"].get<std::uint64_t>();
    REQUIRE(seen <= gated);
    if (seen == gated) continue;
    CHECK(session["completeness"] ==
          std::to_string(gated - seen) + " of " + std::to_string(gated) +
              " launches have no record (a process did not shut down cleanly)");
    return;
  }
  FAIL("every run delivered all records");
}

TEST_CASE(
    "level graph records one launch per graph launch, and export formats that count kernels reject "
    "it") {
  TempDir scratch;
  const auto run =
      RunProcess(RunCommand({"--level", "graph"}, {TestProgram("graph").string(), "20000"}),
                 OnFakeGpu(scratch));
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  const auto plan = ReadJson(scratch / "session/plan.json");
  CHECK(plan["totals"]["invocations"] == 2000);
  CHECK(plan["totals"]["graph_launches"] == 2000);
  CHECK(plan["totals"]["samples"].get<int>() >= 2);
  CHECK(plan["kernels"][0]["name"].get<std::string>().starts_with("graph of 10 kernels, "));
  CHECK(run.err.find("2000 launches are whole graphs") != std::string::npos);
  const auto exported =
      RunProcess({StemtapProgram().string(), "export", "--plan", scratch / "session/plan.json",
                  "--to", "accelsim", "--plain-launches"});
  CHECK(exported.exit_code == 1);
  CHECK(exported.err.find("--level kernels") != std::string::npos);
}

TEST_CASE("a session with one process, one device and no graphs is exported without a profile") {
  const auto exports = [](const TempDir& scratch, const std::string& to,
                          std::vector<std::string> more = {}) {
    more.insert(more.begin(), {StemtapProgram().string(), "export", "--plan",
                               (scratch / "session/plan.json").string(), "--to", to});
    return RunProcess(more);
  };
  TempDir plain;
  REQUIRE(RunProcess({StemtapProgram().string(), "generate", "llm-decode", "--launches", "3000",
                      "-o", (plain / "p.csv").string()})
              .exit_code == 0);
  REQUIRE(RunProcess(RunCommand({}, {(FakeGpuDir() / "stemtap_play").string(),
                                     (plain / "p.csv").string()}),
                     OnFakeGpu(plain))
              .exit_code == 0);
  const auto said = exports(plain, "accelsim", {"--plain-launches"});
  const auto known = exports(plain, "accelsim");
  CAPTURE(known.err);
  CHECK(known.exit_code == 0);
  CHECK(known.out == said.out);
  CHECK(known.out.find("DYNAMIC_KERNEL_RANGE") != std::string::npos);
  CheckFailure(exports(plain, "perfetto"), 1, {"live session", "--profile FILE"});
  // Without session.json, or with the session.json of a different run, nothing confirms that the
  // launches are plain.
  const std::string session = ReadFile(plain / "session/session.json");
  std::filesystem::remove(plain / "session/session.json");
  CheckFailure(exports(plain, "accelsim"), 1, {"live session", "session.json", "--plain-launches"});
  for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{
           {"\"launches\": 3000", "\"launches\": 2999"},
           {"\"graph_kernels\": 0", "\"graph_kernels\": 5"},
           {"\"state\": \"closed\"", "\"state\": \"disabled\""},
           {"\"device\": 0", "\"device\": null"},
           {"\"mode\": \"live\"", "\"mode\": 7"}}) {
    CAPTURE(after);
    std::string other = session;
    REQUIRE(other.find(before) != std::string::npos);
    other.replace(other.find(before), before.size(), after);
    plain.Write("session/session.json", other);
    const auto refused = exports(plain, "accelsim");
    CheckFailure(refused, 1, {"live session", "--profile FILE"});
    // The message does not suggest to assert what the session contradicts.
    const bool is_of_other_run = after.ends_with("2999") || after.ends_with("7");
    CHECK((refused.err.find("--plain-launches") != std::string::npos) == is_of_other_run);
    CHECK((exports(plain, "ncu").exit_code == 0) == after.ends_with("5"));  // counts graphs, too
  }

  TempDir graphs;
  REQUIRE(RunProcess(RunCommand({}, {TestProgram("graph").string(), "2000"}), OnFakeGpu(graphs))
              .exit_code == 0);
  CheckFailure(exports(graphs, "macsim"), 1, {"made by CUDA graphs", "MacSim"});
}

TEST_CASE("a recording that exceeds --max-overhead stops and reports why") {
  TempDir scratch;
  auto options = OnFakeGpu(scratch);
  options.env.emplace_back("FAKE_GPU_CLOCK", "real");
  options.env.emplace_back("FAKE_CUPTI_OVERHEAD_NS", "2000");
  const auto run = RunProcess(
      RunCommand({"--max-overhead", "1.5"}, {TestProgram("exit_return").string(), "500000"}),
      options);
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  const std::size_t first = run.err.find("recording stopped: it cost ");
  REQUIRE(first != std::string::npos);  // reported immediately
  CHECK(run.err.find("more than the 1.500 % of --max-overhead", first) != std::string::npos);
  CHECK(run.err.find("recording stopped", first + 1) != std::string::npos);  // and again at the end
  const auto session = ReadJson(scratch / "session/session.json");
  CHECK(session["counters"]["gaps"] == 1);
  CHECK(session["counters"]["dropped"] == 0);
  CHECK(session["options"]["max_overhead"] == 1.5);
  CHECK(session["processes"][0]["cost"]["cupti_ns"].get<std::uint64_t>() > 0);
  CHECK(session["processes"][0]["cost"]["background_ns"].get<std::uint64_t>() > 0);
}

// This is like a container with the collector outside.
TEST_CASE("a program in another PID namespace is recorded completely") {
  TempDir scratch;
  auto options = OnFakeGpu(scratch);
  options.env.emplace_back("FAKE_GPU_CLOCK", "real");  // runs for a second, to be read
  const std::string high_id =                          // not used outside
      "echo $(($(cat /proc/sys/kernel/pid_max) - 10)) >/proc/sys/kernel/ns_last_pid && ";
  const auto inside = [&](const std::string& script) {
    return std::vector<std::string>{
        "unshare", "--pid", "--fork",         "--mount-proc",
        "sh",      "-c",    high_id + script, TestProgram("exit_return").string()};
  };
  if (RunProcess(inside("true"), options).exit_code != 0) {
    MESSAGE("SKIPPED: this system does not allow a PID namespace");
    return;
  }
  const auto run = RunProcess(RunCommand({}, inside("{ \"$0\" 200000 & wait; }")), options);
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  const auto session = ReadJson(scratch / "session/session.json");
  CHECK(Kept(session) == 200000);
  CHECK(session["counters"]["dropped"] == 0);
  CHECK(session["processes"][0]["state"] == "closed");
  CHECK(session["warnings"].empty());
}

TEST_CASE("the exit code of run is the exit code of the program") {
  TempDir scratch;
  const auto run = RunProcess(RunCommand({}, {"/bin/sh", "-c", "exit 42"}), OnFakeGpu(scratch));
  CHECK(run.exit_code == 42);
  CHECK(run.err.find("no process initialized CUDA") != std::string::npos);
}

TEST_CASE(
    "a missing program exits with 127, a non-executable one with 126, and no directory is left") {
  TempDir scratch;
  const auto missing = RunProcess(RunCommand({}, {"no-such-program"}), OnFakeGpu(scratch));
  CHECK(missing.exit_code == 127);
  CHECK(missing.err == "stemtap: no-such-program: cannot be started: No such file or directory\n");
  const auto text = scratch.Write("text", "no program");
  const auto denied = RunProcess(RunCommand({}, {text.string()}), OnFakeGpu(scratch));
  CHECK(denied.exit_code == 126);
  CHECK_FALSE(std::filesystem::exists(scratch / "session"));
}

void CheckPrivate(const std::string& umask) {
  CAPTURE(umask);
  TempDir scratch;
  std::vector<std::string> command = {"/bin/sh", "-c", "umask " + umask + "; exec \"$0\" \"$@\""};
  for (std::string& word :
       RunCommand({"--level", "gate"}, {"/bin/sh", "-c", "\"$0\" 1000 && ls -l session",
                                        TestProgram("exit_return").string()})) {
    command.push_back(std::move(word));
  }
  const auto run = RunProcess(command, OnFakeGpu(scratch));
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.out.find("gate.table") != std::string::npos);
  CHECK(run.out.find("mask.ndjson") != std::string::npos);
  std::istringstream listed(run.out);
  for (std::string line; std::getline(listed, line);) {
    if (line.starts_with("-")) CHECK(line.starts_with("-rw------- "));
  }
  using std::filesystem::perms;
  CHECK(std::filesystem::status(scratch / "session").permissions() == perms::owner_all);
  for (const auto& file : std::filesystem::directory_iterator(scratch / "session")) {
    CAPTURE(file.path().filename());
    CHECK(file.status().permissions() == (perms::owner_read | perms::owner_write));
  }
  CHECK(std::distance(std::filesystem::directory_iterator(scratch / "session"), {}) == 7);
}

TEST_CASE("only its owner can read a session, during and after the run, whatever the umask") {
  for (const char* umask : {"022", "0777", "0277", "000"}) CheckPrivate(umask);
}

TEST_CASE("every program of a fast chain of exec is listed, and its records are counted") {
  TempDir scratch;
  auto options = OnFakeGpu(scratch);
  options.env.emplace_back("STEMTAP_FLUSH_MS", "10");
  const auto run =
      RunProcess(RunCommand({"-q"}, {TestProgram("exec_chain").string(), "100"}), options);
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  CHECK(run.out == "end\n");
  CHECK(run.err.empty());
  const auto session = ReadJson(scratch / "session/session.json");
  REQUIRE(session["processes"].size() == 101);
  std::uint64_t kept = 0;
  for (const auto& process : session["processes"]) {
    const std::uint64_t own = process["kept"];
    // exec ends a program before its last flush.
    CHECK(own <= 50);
    CHECK(process["pid"] == session["processes"][0]["pid"]);
    kept += own;
  }
  CHECK(session["processes"][100]["state"] == "closed");
  CHECK(session["processes"][100]["kept"] == 50);
  CHECK(Kept(session) == kept);
  CHECK(session["counters"]["dropped"] == 0);
  CHECK(ReadJson(scratch / "session/plan.json")["totals"]["invocations"] == kept);
  CHECK(OverviewDiffers(scratch / "session") == "");
  for (const auto& file : std::filesystem::directory_iterator(scratch / "session")) {
    CHECK(file.path().filename().string().find("ring.") == std::string::npos);
  }
}

TEST_CASE("an injection library that the user has set is not replaced") {
  TempDir scratch;
  auto options = OnFakeGpu(scratch);
  options.env.emplace_back("CUDA_INJECTION64_PATH", "/another/tool.so");
  const auto program = TestProgram("exit_return").string();
  const auto bare = RunProcess({program, "1000"}, options);
  const auto left = RunProcess(RunCommand({}, {program, "1000"}), options);
  CHECK(left.exit_code == 0);
  CHECK(left.out == bare.out);
  CHECK(left.err.find(
            "nothing was recorded: CUDA loads one library, and CUDA_INJECTION64_PATH is set "
            "to '/another/tool.so'; --chain loads both") != std::string::npos);
  CHECK(Kept(ReadJson(scratch / "session/session.json")) == 0);
  std::filesystem::remove_all(scratch / "session");
  const auto quiet = RunProcess(RunCommand({"-q"}, {program, "1000"}), options);
  CHECK(quiet.err.starts_with("stemtap: nothing was recorded: CUDA loads one library"));
  std::filesystem::remove_all(scratch / "session");
  auto occupied = OnFakeGpu(scratch);
  occupied.env.emplace_back("FAKE_CUPTI_OCCUPIED", "Nsight Systems");
  const auto alone = RunProcess(RunCommand({"-q"}, {program, "1000"}), occupied);
  CHECK(alone.exit_code == 0);
  CHECK(alone.err.starts_with("stemtap: nothing was recorded: CUPTI is in use by another tool"));
  std::filesystem::remove_all(scratch / "session");
  const auto chained = RunProcess(RunCommand({"--chain"}, {program, "1000"}), options);
  CHECK(chained.exit_code == 0);
  CHECK(chained.err.find("stemtap: cannot be loaded: /another/tool.so\n") != std::string::npos);
  CHECK(Kept(ReadJson(scratch / "session/session.json")) == 1000);
}

TEST_CASE("a program killed by signal n exits with 128 + n, and flushed records are kept") {
  TempDir scratch;
  const auto run = RunProcess(RunCommand({}, {TestProgram("exit_sigkill").string(), "10000"}),
                              OnFakeGpu(scratch));
  CAPTURE(run.err);
  CHECK(run.exit_code == 128 + SIGKILL);
  const auto session = ReadJson(scratch / "session/session.json");
  CHECK(session["signal"] == SIGKILL);
  CHECK(Kept(session) > 0);
  CHECK(ReadJson(scratch / "session/plan.json")["totals"]["invocations"] ==
        session["counters"]["kept"]);
}

TEST_CASE("a program that never uses CUDA behaves the same with stemtap") {
  TempDir scratch;
  const auto options = OnFakeGpu(scratch);
  const auto bare = RunProcess({TestProgram("no_cuda").string()}, options);
  for (const bool preload : {false, true}) {
    const auto run = RunProcess(RunCommand(preload ? std::vector<std::string>{"--preload", "-q"}
                                                   : std::vector<std::string>{"-q"},
                                           {TestProgram("no_cuda").string()}),
                                options);
    CHECK(run.out == bare.out);
    CHECK(run.err == bare.err);
    CHECK(run.exit_code == bare.exit_code);
    std::filesystem::remove_all(scratch / "session");
  }
}

TEST_CASE("if recording is impossible, the program runs normally and one line reports why") {
  struct Trouble {
    std::vector<std::pair<std::string, std::string>> env;
    const char* reason;
  };
  const Trouble troubles[] = {
      {{{"FAKE_CUPTI_OCCUPIED", "Nsight Systems"}}, "CUPTI is in use by another tool"},
      {{{"FAKE_CUPTI_VERSION", "11"}}, "CUPTI version 11 is not supported"},
      {{{"FAKE_CUPTI_FAIL", "cuptiActivityEnable=999"}}, "cuptiActivityEnable failed: error 999"},
  };
  for (const Trouble& trouble : troubles) {
    CAPTURE(trouble.reason);
    TempDir scratch;
    auto options = OnFakeGpu(scratch);
    options.env.insert(options.env.end(), trouble.env.begin(), trouble.env.end());
    const std::string program = TestProgram("exit_return").string();
    const auto bare = RunProcess({program, "1000"}, options);
    const auto run = RunProcess(RunCommand({}, {program, "1000"}), options);
    CAPTURE(run.err);
    CHECK(run.exit_code == bare.exit_code);
    CHECK(run.out == bare.out);
    CHECK(run.err.find(std::string("nothing was recorded: ") + trouble.reason) !=
          std::string::npos);
    CHECK(ReadJson(scratch / "session/session.json")["processes"][0]["state"] == "disabled");
  }
}

TEST_CASE("a hostile program name or session directory is escaped on the terminal") {
  TempDir scratch;
  const auto options = OnFakeGpu(scratch);
  const std::string hostile = "x\x1B[31m\xE2\x80\xAE\n";
  const std::string escaped = "x\\x1B[31m\\u{202E}\\x0A";
  const auto check = [&](const std::string& text, const std::string& expected) {
    CAPTURE(text);
    CHECK(text.find('\x1B') == std::string::npos);
    CHECK(text.find("\xE2\x80\xAE") == std::string::npos);
    CHECK(text.find(expected) != std::string::npos);
  };
  std::filesystem::copy_file(TestProgram("exit_return"), scratch / hostile);
  const std::vector<std::string> program = {(scratch / hostile).string(), "1000"};
  std::vector<std::string> command = {StemtapProgram().string(), "run", "--level", "gate", "--"};
  command.insert(command.end(), program.begin(), program.end());
  const auto named = RunProcess(command, options);
  CHECK(named.exit_code == 0);
  check(named.err, "stemtap: session in stemtap-" + escaped + "-");
  check(named.err, "next: stemtap report $'stemtap-x\\033[31m\\342\\200\\256\\012-");
  // The process reports why it is disabled; here, CUPTI is missing.
  auto without = options;
  without.env = {{"LD_LIBRARY_PATH", (scratch / "driver").string()},
                 {"STEMTAP_CUPTI", "/nonexistent/libcupti.so.13"}};
  std::filesystem::create_directory(scratch / "driver");
  std::filesystem::copy(FakeGpuDir() / "libcuda.so.1", scratch / "driver/libcuda.so.1");
  check(RunProcess(RunCommand({}, program), without).err, "(x\\x1B[31m");
  const std::string none = (scratch / (hostile + "-none")).string();
  check(RunProcess({StemtapProgram().string(), "run", "--", none}, options).err, escaped + "-none");
}

TEST_CASE("without libcupti, the program runs normally and one line reports it") {
  TempDir scratch;
  auto options = OnFakeGpu(scratch);
  // Only the simulated driver is available, and CUPTI cannot be found anywhere else.
  std::filesystem::create_directory(scratch / "driver");
  std::filesystem::copy(FakeGpuDir() / "libcuda.so.1", scratch / "driver/libcuda.so.1");
  options.env = {{"LD_LIBRARY_PATH", (scratch / "driver").string()},
                 {"STEMTAP_CUPTI", "/nonexistent/libcupti.so.13"}};
  const auto run =
      RunProcess(RunCommand({}, {TestProgram("exit_return").string(), "1000"}), options);
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  CHECK(run.err.find("nothing was recorded: CUPTI not found") != std::string::npos);
}

TEST_CASE("the library without stemtap run starts a collector and writes the same session") {
  TempDir scratch;
  auto options = OnFakeGpu(scratch);
  options.env.emplace_back("LD_PRELOAD", InjectorLibrary().string());
  options.env.emplace_back("STEMTAP_OPTIONS", "--error-bound 0.02 -q");
  options.until_closed = true;  // the collector keeps stderr open until it is done
  const auto bare = RunProcess({TestProgram("exit_return").string(), "5000"}, OnFakeGpu(scratch));
  const auto run = RunProcess({TestProgram("exit_return").string(), "5000"}, options);
  CHECK(run.exit_code == bare.exit_code);
  CHECK(run.out == bare.out);
  CHECK_FALSE(run.timed_out);
  std::filesystem::path folder;
  for (const auto& f : std::filesystem::directory_iterator(scratch.path())) {
    if (f.path().filename().string().rfind("stemtap-exit_return-", 0) == 0) folder = f.path();
  }
  REQUIRE_FALSE(folder.empty());
  const auto session = ReadJson(folder / "session.json");
  REQUIRE(session.is_object());
  CHECK(Kept(session) == 5000);
  CHECK(session["options"]["error_bound"] == 0.02);
  CHECK(ReadJson(folder / "plan.json")["totals"]["invocations"] == 5000);
  CHECK(OverviewDiffers(folder) == "");
}

TEST_CASE("the library without stemtap run records into the directory in STEMTAP_OPTIONS") {
  TempDir scratch;
  auto options = OnFakeGpu(scratch);
  options.env.emplace_back("LD_PRELOAD", InjectorLibrary().string());
  options.env.emplace_back("STEMTAP_OPTIONS", "-o x -q");
  options.until_closed = true;  // the collector keeps stderr open until it is done
  for (const char* name : {"x", "x-2"}) {
    const auto run = RunProcess({TestProgram("exit_return").string(), "5000"}, options);
    CAPTURE(run.err);
    CHECK(run.err.empty());
    const auto session = ReadJson(scratch / name / "session.json");
    REQUIRE(session.is_object());
    CHECK(Kept(session) == 5000);
  }
}

TEST_CASE("with --require-kernels, a session without kernel launches exits with code 3") {
  const std::string none = TestProgram("no_cuda").string();
  const std::string some = TestProgram("exit_return").string();
  const std::vector<std::string> words = {"--require-kernels: no kernel launch was recorded",
                                          "no process initialized CUDA"};
  for (const bool quiet : {true, false}) {
    CAPTURE(quiet);
    const std::vector<std::string> more =
        quiet ? std::vector<std::string>{"-q"} : std::vector<std::string>{};
    const auto with = [&](std::vector<std::string> program, bool required) {
      TempDir scratch;
      std::vector<std::string> flags = more;
      if (required) flags.emplace_back("--require-kernels");
      return RunProcess(RunCommand(flags, program), OnFakeGpu(scratch));
    };
    const auto plain = with({none}, false);
    CHECK(plain.exit_code == 0);
    for (const std::vector<std::string>& program :
         std::vector<std::vector<std::string>>{{none}, {"sh", "-c", "exit 5"}}) {
      const auto required = with(program, true);
      CAPTURE(required.err);
      CHECK(required.exit_code == 3);
      for (const std::string& word : words) CHECK(required.err.find(word) != std::string::npos);
    }
    const auto recorded = with({some, "100"}, true);
    CAPTURE(recorded.err);
    CHECK(recorded.exit_code == with({some, "100"}, false).exit_code);
    CHECK(recorded.err.find("--require-kernels") == std::string::npos);
    CHECK(with({"sh", "-c", "\"$0\" 100; exit 5", some}, true).exit_code == 5);
  }
}

TEST_CASE("an overview exists from the start and is updated during the session") {
  TempDir scratch;
  const std::string launch = TestProgram("exit_return").string() + " 20000 > out";
  const auto until = [](const std::string& seen) {
    return "i=0; until grep -q '\"seen\": " + seen +
           ",' session/overview.json; do sleep 0.02; i=$((i + 1)); [ $i -lt 1500 ] || exit 9; "
           "done; ";
  };
  const auto run = RunProcess(
      RunCommand({"-q"}, {"/bin/sh", "-c",
                          "sleep 2; cp session/overview.json first; " + launch + "; " +
                              until("20000") + "cp session/overview.json second; " + launch + "; " +
                              until("40000") + "cp session/overview.json third"}),
      OnFakeGpu(scratch));
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  std::uint64_t seen = 0;
  double elapsed_s = 0.0;
  for (const char* name : {"first", "second", "third"}) {
    CAPTURE(name);
    const auto overview = ReadJson(scratch / name);
    REQUIRE(overview.is_object());
    CHECK(overview["mode"] == "live");
    CHECK(overview["state"] == "running");
    CHECK(overview["seen"] == seen);
    CHECK(overview["processes"].size() == seen / 20000);
    CHECK(overview["elapsed_s"].get<double>() > elapsed_s);
    seen += 20000;
    elapsed_s = overview["elapsed_s"];
  }
  CHECK(OverviewDiffers(scratch / "session") == "");
}

TEST_CASE("a snapshot of a running session is a finished session, and the session goes on") {
  TempDir scratch;
  const std::string launch = "\"$1\" 20000 > out; ";
  // Takes snapshots until one contains all launches so far.
  const auto until = [](const std::string& launches, const std::string& to) {
    return "i=0; until \"$0\" snapshot session -q --force -o " + to +
           " && grep -q '\"invocations\": " + launches + ",' " + to +
           "/plan.json; do sleep 0.02; i=$((i + 1)); [ $i -lt 500 ] || exit 9; done; ";
  };
  const auto run = RunProcess(
      RunCommand({"-q"}, {"/bin/sh", "-c",
                          launch + until("20000", "first") + "\"$0\" snapshot session 2> said; " +
                              launch + until("40000", "second") + "\"$0\" snapshot session -q; " +
                              "\"$0\" stats session --json > stats && \"$0\" report session && "
                              "\"$0\" merge session first -o merged -q > /dev/null && "
                              "\"$0\" export session --to csv -o exported.csv -q",
                          StemtapProgram().string(), TestProgram("exit_return").string()}),
      OnFakeGpu(scratch));
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  for (const auto& [name, launches] :
       {std::pair("first", 20000), std::pair("session-snapshot", 20000), std::pair("second", 40000),
        std::pair("session-snapshot-2", 40000), std::pair("session", 40000)}) {
    CAPTURE(name);
    CHECK(OverviewDiffers(scratch / name) == "");
    CHECK(Kept(ReadJson(scratch / name / "session.json")) == launches);
    const bool is_snapshot = std::string(name) != "session";
    CHECK(ReadJson(scratch / name / "session.json").value("snapshot", false) == is_snapshot);
    CHECK(ReadFile(scratch / name / "summary.txt").find("not shut down") == std::string::npos);
    const auto report =
        RunProcess({StemtapProgram().string(), "report", (scratch / name).string()});
    CHECK(report.exit_code == 0);
    CHECK(report.err.find("warning") == std::string::npos);
  }
  CHECK(ReadJson(scratch / "stats")["launches"] == 40000);
  CHECK(ReadJson(scratch / "stats")["source"] == "session");
  CHECK(std::filesystem::exists(scratch / "session/report.html"));
  CHECK(ReadJson(scratch / "merged/plan.json")["totals"]["invocations"] == 60000);
  CHECK(std::filesystem::exists(scratch / "exported.csv"));
  CHECK(ReadFile(scratch / "said").find("stemtap: snapshot of 20000 launches in ") == 0);
  // The end of the program adds only what it launched since.
  CHECK(TotalsOfPlan(ReadJson(scratch / "second/plan.json")) ==
        TotalsOfPlan(ReadJson(scratch / "session/plan.json")));
  CHECK_FALSE(std::filesystem::exists(scratch / "session/control"));
  const auto late =
      RunProcess({StemtapProgram().string(), "snapshot", (scratch / "session").string()});
  CHECK(late.exit_code == 1);
  CHECK(
      late.err.ends_with("session: no session runs in it (it has ended); expected the directory of "
                         "a running 'stemtap run'\n"));
}

// Returns a number of the first line of the ground truth of the only process.
std::uint64_t OfTruth(const TempDir& scratch, const std::string& name) {
  std::string text = ReadFile(scratch / "truth");
  text.resize(text.find('\n'));
  const std::size_t at = text.find(" " + name + " ");
  REQUIRE(at != std::string::npos);
  return std::stoull(text.substr(at + name.size() + 2));
}

TEST_CASE("recording can be stopped and started while the program runs") {
  for (const char* level : {"kernels", "gate"}) {
    CAPTURE(level);
    TempDir scratch;
    const std::string profile = (scratch / "run.stemtap").string();
    REQUIRE(RunProcess({StemtapProgram().string(), "generate", "llm-serve", "--launches", "60000",
                        "-q", "-o", profile})
                .exit_code == 0);
    ProcessOptions options = OnFakeGpu(scratch);
    options.env.emplace_back("FAKE_GPU_TRUTH", (scratch / "truth").string());
    options.env.emplace_back("FAKE_GPU_CLOCK", "real");
    // Two seconds; recording is off for half a second of them.
    Process run(RunCommand({"-q", "--level", level},
                           {(FakeGpuDir() / "stemtap_play").string(), profile, "--rate", "30000"}),
                options);
    const std::string session = (scratch / "session").string();
    const auto command = [&](const std::vector<std::string>& words) {
      std::vector<std::string> argv = {StemtapProgram().string()};
      argv.insert(argv.end(), words.begin(), words.end());
      return RunProcess(argv);
    };
    // Until the process has joined, and launches kernels.
    const auto processes = [&]() -> nlohmann::json {
      const auto overview = ReadJson(scratch / "session/overview.json");
      return overview.is_object() ? overview["processes"] : nlohmann::json::array();
    };
    for (int i = 0; i < 500 && (processes().empty() || processes()[0]["kept"] == 0); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    const ProcessResult stopped = command({"stop", session});
    CAPTURE(stopped.err);
    CHECK(stopped.exit_code == 0);
    CHECK(stopped.err == "stemtap: recording of " + session + ": off on 0 off 1\n");
    CHECK(std::filesystem::exists(scratch / "session/recording"));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const std::string pid = std::to_string(processes().at(0).at("pid").get<int>());
    CHECK(command({"start", pid}).err == "stemtap: recording of " + pid + ": off on 1 off 0\n");
    CHECK(run.Wait().exit_code == 0);

    const auto report = ReadJson(scratch / "session/session.json");
    const std::uint64_t launches = OfTruth(scratch, "launches");
    const std::uint64_t unrecorded = OfTruth(scratch, "unrecorded");
    CHECK(launches == 60000);
    CHECK(unrecorded > 5000);
    CHECK(Kept(report) == launches - unrecorded);
    CHECK(report["counters"]["dropped"] == 0);
    if (std::string(level) == "gate") {
      // A launch between the start of CUPTI's records and of the launch callback has only a record.
      CHECK(report["completeness"].get<std::string>().starts_with("all "));
    }
    REQUIRE(report["unobserved"].size() == 1);
    const auto& off = report["unobserved"][0];
    CHECK(off["pid"] == std::stoi(pid));
    CHECK(off["launches"].is_null());
    const double off_s = (off["end_ns"].get<double>() - off["begin_ns"].get<double>()) * 1e-9;
    CHECK(off_s > 0.3);
    // The rate of launches is constant.
    CHECK(off_s * 30000 == doctest::Approx(static_cast<double>(unrecorded)).epsilon(0.35));
    CHECK(ReadJson(scratch / "session/plan.json")["totals"]["unobserved_intervals"] == 1);
    CHECK_FALSE(std::filesystem::exists(scratch / "session/recording"));
    // The time without recording is no idle time.
    const auto& device = report["devices"][0];
    CHECK(device["span_ns"].get<double>() * 1e-9 < report["elapsed_s"].get<double>() - off_s + 0.1);
    for (const auto& gap : device["longest_gaps"]) {
      const std::uint64_t begin = gap[0];
      const std::uint64_t end = begin + gap[1].get<std::uint64_t>();
      CHECK((end <= off["begin_ns"] || begin >= off["end_ns"]));
    }
    CHECK(OverviewDiffers(scratch / "session") == "");
    // Launches before the interval have a number, later ones do not.
    const auto exported = command({"export", session, "--to", "nvbit", "--plain-launches"});
    CHECK(exported.exit_code == 1);
    CHECK(exported.err.find("recording was off in 1 interval") != std::string::npos);
    CHECK(command({"export", session, "--to", "csv", "-q"}).exit_code == 0);
  }
}

TEST_CASE("processes that join while recording is off do not record") {
  TempDir scratch;
  const auto run = RunProcess(
      RunCommand({"-q", "--paused"},
                 {"/bin/sh", "-c",
                  "\"$1\" 1000 && \"$0\" start session -q && \"$1\" 200 && \"$0\" stop session -q "
                  "&& \"$1\" 30 && \"$0\" start session",
                  StemtapProgram().string(), TestProgram("exit_return").string()}),
      OnFakeGpu(scratch));
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.err == "stemtap: recording of session: on on 0 off 0\n");
  const auto report = ReadJson(scratch / "session/session.json");
  CHECK(Kept(report) == 200);
  CHECK(report["processes"].size() == 3);
  REQUIRE(report["unobserved"].size() == 2);
  for (const auto& off : report["unobserved"]) CHECK(off["end_ns"].is_number());
  const auto none = RunProcess({StemtapProgram().string(), "stop", "1"});
  CHECK(none.exit_code == 1);
}

TEST_CASE("a delay and a duration in launches are exact, and launches are counted in the delay") {
  for (const char* level : {"kernels", "gate"}) {
    CAPTURE(level);
    TempDir scratch;
    const auto run = RunProcess(RunCommand({"-q", "--level", level, "--delay", "3000launches",
                                            "--duration", "5000launches"},
                                           {TestProgram("exit_return").string(), "20000"}),
                                OnFakeGpu(scratch));
    CAPTURE(run.err);
    REQUIRE(run.exit_code == 0);
    const auto plan = ReadJson(scratch / "session/plan.json");
    CHECK(plan["totals"]["invocations"] == 5000);
    const std::uint64_t counted = plan["totals"]["unobserved_launches"];
    CHECK(counted >= 3000);
    std::uint64_t first = ~std::uint64_t{0};
    std::uint64_t last = 0;
    for (const auto& kernel : plan["kernels"]) {
      for (const auto& cluster : kernel["clusters"]) {
        for (const auto& sample : cluster["samples"]) {
          first = std::min<std::uint64_t>(first, sample["index"]);
          last = std::max<std::uint64_t>(last, sample["index"]);
        }
      }
    }
    CHECK(first >= 3000);
    CHECK(last < 8000);
    const auto report = ReadJson(scratch / "session/session.json");
    REQUIRE(report["unobserved"].size() >= 1);
    CHECK(report["unobserved"][0]["launches"] == 3000);
    CHECK(report["unobserved"][0]["pid"].is_null());
    CHECK(RunProcess({StemtapProgram().string(), "stats", (scratch / "session").string()})
              .exit_code == 0);
  }
}

TEST_CASE("launches are counted while recording is off, so exports number launches") {
  TempDir scratch;
  const auto run = RunProcess(
      RunCommand({"-q", "--paused", "--count-while-off"},
                 {"/bin/sh", "-c", "\"$1\" 500 && \"$0\" start session -q && exec \"$1\" 7000",
                  StemtapProgram().string(), TestProgram("exit_return").string()}),
      OnFakeGpu(scratch));
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  const auto plan = ReadJson(scratch / "session/plan.json");
  CHECK(plan["totals"]["invocations"] == 7000);
  CHECK(plan["totals"]["unobserved_launches"] == 500);
  CHECK_FALSE(plan["totals"].contains("unobserved_intervals"));
}

TEST_CASE("a run is divided into windows, which together contain every launch once") {
  for (const char* level : {"kernels", "gate"}) {
    CAPTURE(level);
    TempDir scratch;
    const auto run =
        RunProcess(RunCommand({"--level", level, "--window", "6000launches", "--keep", "3"},
                              {TestProgram("exit_return").string(), "32000"}),
                   OnFakeGpu(scratch));
    CAPTURE(run.err);
    REQUIRE(run.exit_code == 0);
    CHECK(run.err.find("window 1: 6000 launches, ") != std::string::npos);
    CHECK(run.err.find("in all windows: ") != std::string::npos);
    for (const int number : {1, 2}) {
      CHECK_FALSE(
          std::filesystem::exists(scratch / ("session/window-000" + std::to_string(number))));
    }
    for (const int number : {3, 4, 5, 6}) {
      const std::filesystem::path window =
          number == 6 ? scratch / "session"
                      : scratch / ("session/window-000" + std::to_string(number));
      CAPTURE(window.string());
      const auto plan = ReadJson(window / "plan.json");
      CHECK(plan["totals"]["invocations"] == (number == 6 ? 2000 : 6000));
      // Launches keep their numbers in the run.
      CHECK(plan["totals"]["unobserved_launches"] == 6000 * (number - 1));
      CHECK_FALSE(plan["totals"].contains("unobserved_intervals"));
      const auto report = ReadJson(window / "session.json");
      CHECK(report["window"] == number);
      CHECK(Kept(report) == (number == 6 ? 2000 : 6000));
      CHECK(OverviewDiffers(window) == "");
      if (std::string(level) == "gate") continue;
      for (const auto& kernel : plan["kernels"]) {
        CHECK(kernel["clusters"].size() >= 1);
        // Each window explores and samples by itself.
        CHECK(kernel["clusters"][0]["captured"].get<int>() >= 1);
        for (const auto& sample : kernel["clusters"][0]["samples"]) {
          CHECK(sample["index"].get<int>() >= 6000 * (number - 1));
          CHECK(sample["index"].get<int>() < 6000 * number);
          // Step i launches kernel i % 3.
          CHECK(sample["occurrence"].get<int>() == sample["index"].get<int>() / 3);
        }
      }
      for (const char* command : {"stats", "report"}) {
        CHECK(RunProcess({StemtapProgram().string(), command, window.string()}).exit_code == 0);
      }
      const auto exported = RunProcess({StemtapProgram().string(), "export", window.string(),
                                        "--to", "nvbit", "-q", "-o", (scratch / "ids").string()});
      CAPTURE(exported.err);
      CHECK(exported.exit_code == 0);
    }
    // A window without --keep is merged with others.
    const auto merged = RunProcess(
        {StemtapProgram().string(), "merge", (scratch / "session/window-0004").string(),
         (scratch / "session/window-0005").string(), "-q", "-o", (scratch / "merged").string()});
    CAPTURE(merged.err);
    CHECK(merged.exit_code == 0);
    CHECK(ReadJson(scratch / "merged/plan.json")["totals"]["invocations"] == 12000);
    // The directory can be replaced.
    CHECK(RunProcess(RunCommand({"-q", "--force"}, {TestProgram("exit_return").string(), "10"}),
                     OnFakeGpu(scratch))
              .exit_code == 0);
    CHECK_FALSE(std::filesystem::exists(scratch / "session/window-0005"));
  }
}

TEST_CASE("a window that cannot be written is lost, and the next one is not affected") {
  TempDir scratch;
  const std::string program = TestProgram("exit_return").string();
  // The name of the second window is taken by a file of the user.
  const auto run = RunProcess(
      RunCommand({"--window", "5000launches"},
                 {"/bin/sh", "-c", "touch session/window-0002; exec \"$0\" 18000", program}),
      OnFakeGpu(scratch));
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.err.find("window 2 could not be written: ") != std::string::npos);
  for (const char* window : {"session/window-0001", "session/window-0003", "session"}) {
    CAPTURE(window);
    const auto plan = ReadJson(scratch / window / "plan.json");
    CHECK(plan["totals"]["invocations"] == (std::string(window) == "session" ? 3000 : 5000));
    CHECK(OverviewDiffers(scratch / window) == "");
  }
  const std::string warnings = ReadJson(scratch / "session/session.json")["warnings"].dump();
  CHECK(warnings.find("window 2 could not be written") != std::string::npos);
}

TEST_CASE("windows of a running time are snapshots of what was recorded, also while it is off") {
  TempDir scratch;
  const auto run = RunProcess(
      RunCommand({"-q", "--window", "300ms"},
                 {"/bin/sh", "-c",
                  "\"$1\" 1000 && sleep 0.5 && \"$0\" stop session -q && sleep 0.5 && \"$0\" start "
                  "session -q && \"$1\" 2000",
                  StemtapProgram().string(), TestProgram("exit_return").string()}),
      OnFakeGpu(scratch));
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.err == "");
  std::uint64_t launches = 0;
  int windows = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scratch / "session")) {
    if (!entry.is_directory()) continue;
    ++windows;
    launches += Kept(ReadJson(entry.path() / "session.json"));
  }
  CHECK(windows >= 3);
  CHECK(launches + Kept(ReadJson(scratch / "session/session.json")) == 3000);
}

TEST_CASE("recording stops when the error bound is met and has stayed met") {
  TempDir scratch;
  const std::string program = TestProgram("exit_return").string();
  const auto run =
      RunProcess(RunCommand({"--until-bound"},
                            {"/bin/sh", "-c", "\"$0\" 20000; sleep 0.5; \"$0\" 20000", program}),
                 OnFakeGpu(scratch));
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.err.find("the error bound of 5 % is met and has stayed met: ") != std::string::npos);
  CHECK(run.err.find("recording is off") != std::string::npos);
  CHECK(Kept(ReadJson(scratch / "session/session.json")) == 20000);

  const auto windows =
      RunProcess({StemtapProgram().string(), "run", "-q", "-o", "windows", "--until-bound",
                  "--then", "window", "--", "/bin/sh", "-c", "\"$0\" 40000; sleep 0.5", program},
                 OnFakeGpu(scratch));
  CAPTURE(windows.err);
  CHECK(windows.exit_code == 0);
  CHECK(std::filesystem::exists(scratch / "windows/window-0001/plan.json"));

  const auto command = RunProcess(
      {StemtapProgram().string(), "run", "-q", "-o", "commanded", "--until-bound", "--then",
       "echo \"$1\" >> reached", "--", "/bin/sh", "-c", "\"$0\" 40000; sleep 0.5", program},
      OnFakeGpu(scratch));
  CAPTURE(command.err);
  CHECK(command.exit_code == 0);
  CHECK(ReadFile(scratch / "reached") == "commanded\n");
  CHECK(Kept(ReadJson(scratch / "commanded/session.json")) == 40000);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--then", "window"},
                                                {"--until-bound", "--then", ""},
                                                {"--keep", "3"}}) {
    CHECK(RunProcess(RunCommand(wrong, {program}), OnFakeGpu(scratch)).exit_code == 2);
  }
}

TEST_CASE("excluded launches count as seen and kept") {
  TempDir scratch;
  const std::string program = TestProgram("exit_return").string();
  const auto run =
      RunProcess(RunCommand({"-q", "--exclude", "."}, {program, "20000"}), OnFakeGpu(scratch));
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  const auto session = ReadJson(scratch / "session/session.json");
  CHECK(session["counters"]["seen"] == 20000);
  CHECK(Kept(session) == 20000);
  CHECK(ReadJson(scratch / "session/overview.json")["excluded"] == 20000);
  CHECK(OverviewDiffers(scratch / "session") == "");
}

TEST_CASE("a killed collector does not affect the program") {
  TempDir scratch;
  Process run(RunCommand({"-q"}, {TestProgram("exit_sigkill").string(), "10000"}),
              OnFakeGpu(scratch));
  run.Signal(SIGKILL);
  CHECK(run.Wait().signal == SIGKILL);
}

TEST_CASE("if the session cannot be written, the exit code is still the exit code of the program") {
  TempDir scratch;
  const std::string program = TestProgram("exit_return").string();
  const auto gone = RunProcess(
      RunCommand({"-q"}, {"/bin/sh", "-c", program + " 1000; rm -r session"}), OnFakeGpu(scratch));
  CHECK(gone.exit_code == 0);
  CHECK(gone.err.find("stemtap: session/plan.json: cannot be written") != std::string::npos);
  // The signal at the file size limit must not end the session.
  const auto limited = RunProcess(
      {"/bin/sh", "-c", "ulimit -f 8; exec \"$0\" run -q -o limited -- \"$1\" 1000; exit $?",
       StemtapProgram().string(), TestProgram("exit_sigkill").string()},
      OnFakeGpu(scratch));
  CHECK(limited.exit_code == 128 + SIGKILL);
}

TEST_CASE("a collector that runs out of memory stops recording and waits for the program") {
  TempDir scratch;
  // The collector's limit suffices for the ring but not for 3,000 kernels with names of 16 kB.
  std::string profile =
      "index,start_ns,duration_ns,device,stream,grid_x,grid_y,grid_z,block_x,"
      "block_y,block_z,shared_bytes,graph_id,name\n";
  for (int i = 0; i < 3000; ++i) {
    profile += std::to_string(i) + ",,5,0,7,1,1,1,1,1,1,0,," + std::to_string(i) +
               std::string(16000, 'k') + "\n";
  }
  scratch.Write("p.csv", profile);
  const std::string player = (FakeGpuDir() / "stemtap_play").string();
  const auto run = RunProcess(
      RunCommand({}, {"/bin/sh", "-c",
                      "command -v prlimit >/dev/null || exit 77; "
                      "prlimit --pid $PPID --as=$(awk '/^VmSize/ {printf \"%.0f\", ($2 + 24000) "
                      "* 1024}' /proc/$PPID/status); " +
                          player + " p.csv >/dev/null; exit 5"}),
      OnFakeGpu(scratch));
  if (run.exit_code == 77) {
    MESSAGE("SKIPPED: prlimit is not installed");
    return;
  }
  CHECK(run.exit_code == 5);
  CHECK(run.err.find("stemtap: session given up: out of memory") != std::string::npos);
  CHECK(run.err.find("no kernel was recorded") == std::string::npos);
}

// For /bin/sh: closes the inherited descriptors except stdin, stdout and stderr.
constexpr const char* kCloseOthers = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ";

TEST_CASE("a collector without free descriptors reports the rings that it could not read") {
  TempDir scratch;
  const auto run = RunProcess(
      {"/bin/sh", "-c",
       std::string(kCloseOthers) + "ulimit -n 5; exec \"$0\" run -o session -- \"$1\" 1000",
       StemtapProgram().string(), TestProgram("exit_call").string()},
      OnFakeGpu(scratch));
  CHECK(run.exit_code == 7);
  // Nothing was read, but the report must not claim that there was nothing to read.
  const auto warnings = ReadJson(scratch / "session/session.json")["warnings"];
  REQUIRE(warnings.size() == 3);
  const char* const kBegins[] = {"not read: session", "session/control: cannot be created: ",
                                 "overview.json could not be written "};
  for (std::size_t i = 0; i < warnings.size(); ++i) {
    const std::string warning = warnings[i];
    const char* const begin = kBegins[i];
    CAPTURE(warning);
    CHECK(warning.find(begin) == 0);
    CHECK(warning.find("Too many open files") != std::string::npos);
  }
  // A descriptor is available again at the end.
  CHECK(OverviewDiffers(scratch / "session") == "");
}

TEST_CASE("a session with a gate needs at most five descriptors") {
  TempDir scratch;
  const auto run =
      RunProcess({"/bin/sh", "-c",
                  std::string(kCloseOthers) +
                      "ulimit -n 5; exec \"$0\" run --level gate -o session -- /bin/true",
                  StemtapProgram().string()},
                 OnFakeGpu(scratch));
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
}

TEST_CASE("a collector without a signalfd forwards signals") {
  // Five descriptors are enough for the session directory and the mask.
  for (const auto& [name, signal] : {std::pair("TERM", SIGTERM), std::pair("HUP", SIGHUP)}) {
    CAPTURE(name);
    TempDir scratch;
    const auto run = RunProcess(
        {"/bin/sh", "-c",
         std::string(kCloseOthers) + "ulimit -n 5; exec \"$0\" run -o session -- /bin/sh -c "
                                     "'kill -$0 $PPID; exec sleep 10' \"$1\"",
         StemtapProgram().string(), name},
        OnFakeGpu(scratch));
    CAPTURE(run.err);
    CHECK(run.exit_code == 128 + signal);
    CHECK(ReadJson(scratch / "session/session.json")["signal"] == signal);
  }
}

// For /bin/sh: prints which signals of $SIGNALS it received, and exits with code 5 on SIGTERM.
constexpr const char* kSaySignals =
    "for s in $SIGNALS; do trap \"echo got $s.\" $s; done; trap 'kill $!; exit 5' TERM; "
    "sleep 60 & echo ready; while kill -0 $! 2>/dev/null; do wait $!; done";

TEST_CASE("every catchable signal reaches the program and does not end the session") {
  TempDir scratch;
  std::vector<int> signals;
  std::string list;
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    // Excludes uncatchable signals, fault signals, libc's two internal signals, SIGCHLD, and
    // SIGTERM, because it ends the program.
    const bool left_out = signal == SIGKILL || signal == SIGSTOP || signal == SIGSEGV ||
                          signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
                          signal == SIGTRAP || signal == SIGSYS || signal == SIGCHLD ||
                          signal == SIGTERM || (signal > 31 && signal < SIGRTMIN);
    if (left_out) continue;
    signals.push_back(signal);
    list += std::to_string(signal) + " ";
  }
  REQUIRE(signals.size() > 40);
  auto options = OnFakeGpu(scratch);
  options.env.emplace_back("SIGNALS", list);
  Process run(RunCommand({"-q"}, {"/bin/sh", "-c", kSaySignals}), options);
  REQUIRE(run.WaitForOutput("ready\n"));
  for (const int signal : signals) {
    CAPTURE(signal);
    run.Signal(signal);
    REQUIRE(run.WaitForOutput("got " + std::to_string(signal) + ".\n"));
  }
  run.Signal(SIGTERM);
  CHECK(run.Wait().exit_code == 5);
  CHECK(run.err() == "");
  CHECK(ReadJson(scratch / "session/session.json")["exit_code"] == 5);
}

TEST_CASE("a session continues while SIGSTOP stops its program, even after other stop signals") {
  TempDir scratch;
  // SIGTSTP reaches the program, which ignores it. Then only the program is stopped and continued,
  // not the session.
  const auto run = RunProcess(
      RunCommand(
          {"-q"},
          {"/bin/sh", "-c",
           "trap '' TSTP; trap 'go=1' USR1; kill -TSTP $PPID; kill -USR1 $PPID; "
           "until [ -n \"$go\" ]; do sleep 0.01; done; p=$$; "
           "(until grep -q '^State:.T' /proc/$p/status; do sleep 0.01; done; kill -CONT $p) & "
           "kill -STOP $$; wait; exit 5"}),
      [&] {
        auto options = OnFakeGpu(scratch);
        options.timeout = std::chrono::seconds(20);
        return options;
      }());
  CHECK_FALSE(run.timed_out);
  CHECK(run.exit_code == 5);
}

// Returns the output of `argv` on its own terminal. Types `typed` after the program prints
// `prompt`. Stores the wait status in `status`.
std::string OnTerminal(const std::vector<std::string>& argv, const ProcessOptions& options,
                       const std::string& prompt, const std::string& typed, int& status) {
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const auto& [name, value] : options.env) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> words;
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    if (::chdir(options.cwd.c_str()) == 0) ::execv(words[0], words.data());
    ::_exit(127);
  }
  std::string out;
  bool done = false;
  pollfd ready{terminal, POLLIN, 0};
  while (::poll(&ready, 1, 60'000) > 0) {
    char buffer[4096];
    const ssize_t count = ::read(terminal, buffer, sizeof(buffer));
    if (count <= 0) break;
    out.append(buffer, static_cast<std::size_t>(count));
    if (done || out.find(prompt) == std::string::npos) continue;
    done = true;
    CHECK(::write(terminal, typed.data(), typed.size()) == static_cast<ssize_t>(typed.size()));
  }
  ::kill(child, SIGKILL);  // no effect if it has already ended
  ::waitpid(child, &status, 0);
  ::close(terminal);
  return out;
}

TEST_CASE("Ctrl-C sends the program one SIGINT") {
  TempDir scratch;
  int status = 0;
  // The session is stopped until the program has handled the first SIGINT, so a second SIGINT would
  // be counted separately. Pending signals are delivered in numeric order: SIGINT, then SIGTERM.
  const std::string script =
      "n=0; trap 'n=$((n + 1))' INT; trap 'kill $!; echo last $n; exit 5' TERM; "
      "kill -STOP $PPID; sleep 60 & echo ready; while [ $n = 0 ]; do wait $!; done; "
      "kill -TERM $PPID; kill -CONT $PPID; i=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); "
      "done";
  const std::string out = OnTerminal(RunCommand({"-q"}, {"/bin/sh", "-c", script}),
                                     OnFakeGpu(scratch), "ready", "\x03", status);
  CAPTURE(out);
  CHECK(out.find("last 1") != std::string::npos);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 5);
}

TEST_CASE("if the terminal stops the program, the session stops and later continues with it") {
  TempDir scratch;
  int status = 0;
  // Like an interactive shell, the outer shell notices that its job stopped and continues it.
  const std::string out =
      OnTerminal({"/bin/bash", "-c",
                  "set -m; \"$0\" run -q -o session -- /bin/sh -c 'echo ready; exec sleep 60'; "
                  "echo stopped with $?; jobs -r; kill -TERM %1; fg; echo ended with $?",
                  StemtapProgram().string()},
                 OnFakeGpu(scratch), "ready", "\x1a", status);
  CAPTURE(out);
  CHECK(out.find("stopped with " + std::to_string(128 + SIGTSTP)) != std::string::npos);
  CHECK(out.find("ended with " + std::to_string(128 + SIGTERM)) != std::string::npos);
}

TEST_CASE("if two runs use one directory, the second fails and the first completes") {
  TempDir scratch;
  const auto options = OnFakeGpu(scratch);
  const std::string program = TestProgram("exit_return").string();
  Process first(RunCommand({"-q"}, {"/bin/sh", "-c",
                                    "trap 'kill $!; exec \"$0\" 3000' USR1; sleep 60 & echo ready; "
                                    "while kill -0 $! 2>/dev/null; do wait $!; done",
                                    program}),
                options);
  REQUIRE(first.WaitForOutput("ready\n"));
  const auto second = RunProcess(RunCommand({}, {program, "1000"}), options);
  CheckFailure(second, 1,
               {"session: is not empty: another run started a session there",
                "expected a new or empty directory"});
  CHECK(second.out == "");  // the program did not run
  first.Signal(SIGUSR1);
  CHECK(first.Wait().exit_code == 0);
  CHECK(Kept(ReadJson(scratch / "session/session.json")) == 3000);
  CHECK(ReadJson(scratch / "session/session.json")["counters"]["dropped"] == 0);
}

TEST_CASE("without -o, a run uses the next free default name") {
  TempDir scratch;
  // The shell becomes the run by exec, so $$ is the process id of the run.
  const auto run =
      RunProcess({"/bin/sh", "-c", "mkdir stemtap-true-$$; exec \"$0\" run -- /bin/true",
                  StemtapProgram().string()},
                 OnFakeGpu(scratch));
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  const std::size_t at = run.err.find("stemtap: session in stemtap-true-");
  REQUIRE(at != std::string::npos);
  const std::string name = run.err.substr(at + 20, run.err.find('\n', at) - at - 20);
  CHECK(name.ends_with("-2"));
  CHECK(std::filesystem::exists(scratch / name / "session.json"));
}

TEST_CASE("a directory that other users can write is rejected for a session") {
  TempDir scratch;
  std::filesystem::create_directory(scratch / "session");
  std::filesystem::permissions(scratch / "session", std::filesystem::perms::all);
  CheckFailure(RunProcess(RunCommand({}, {"/bin/true"}), OnFakeGpu(scratch)), 1,
               {"session: can be written by other users"});
  scratch.Write("p.csv", "name,duration_ns\nk,5\n");
  CheckFailure(RunProcess({StemtapProgram().string(), "replay", "p.csv", "-o", "session"},
                          OnFakeGpu(scratch)),
               1, {"session: can be written by other users"});
  CHECK(std::filesystem::is_empty(scratch / "session"));
}

TEST_CASE("a report is not written into a directory that other users can write") {
  TempDir scratch;
  const auto options = OnFakeGpu(scratch);
  REQUIRE(RunProcess(RunCommand({"-q"}, {TestProgram("exit_return").string(), "1000"}), options)
              .exit_code == 0);
  std::filesystem::permissions(scratch / "session", std::filesystem::perms::all);
  const auto target = scratch.Write("target", "precious");
  std::filesystem::create_symlink(target, scratch / "session/report.html");
  const std::string stemtap = StemtapProgram().string();
  const auto refused = RunProcess({stemtap, "report", "session"}, options);
  if (refused.err.find("without the page of its reports") == std::string::npos) {
    CheckFailure(refused, 1, {"session: other users can write there", "expected -o FILE"});
    CHECK(RunProcess({stemtap, "report", "session", "-o", "r.html"}, options).exit_code == 0);
  }
  const bool untouched = ReadFile(target) == "precious";  // does not print a long text on failure
  CHECK(untouched);
}

TEST_CASE("a collector that cannot start leaves no ring file") {
  TempDir scratch;
  auto options = OnFakeGpu(scratch);
  options.until_closed = true;
  options.env.emplace_back("CUDA_INJECTION64_PATH", InjectorLibrary().string());
  const auto run =
      RunProcess({"/bin/sh", "-c", std::string(kCloseOthers) + "ulimit -n 4; exec \"$0\" 1000",
                  TestProgram("exit_return").string()},
                 options);
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  CHECK(run.err.find("Too many open files") != std::string::npos);
  CHECK(std::filesystem::is_empty(scratch.path()));
}

TEST_CASE("a signal before the library's collector handles signals does not end the collector") {
  TempDir scratch;
  const auto script = scratch.Write(
      "collector", "#!/bin/bash\nkill -USR1 $$\nexec '" + StemtapProgram().string() + "' \"$@\"\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  auto options = OnFakeGpu(scratch);
  options.until_closed = true;
  options.env.emplace_back("CUDA_INJECTION64_PATH", InjectorLibrary().string());
  options.env.emplace_back("STEMTAP_COLLECTOR", script.string());
  const auto run = RunProcess({TestProgram("exit_return").string(), "1000"}, options);
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  CHECK(run.err.find("stemtap: session in ") != std::string::npos);
}

TEST_CASE("a symbolic link at the path of a new ring is not followed") {
  TempDir scratch;
  const auto target = scratch.Write("target", "precious");
  const auto run =
      RunProcess(RunCommand({"-q"}, {"/bin/sh", "-c",
                                     "ln -s \"$PWD/target\" session/new.ring.$$.$(readlink "
                                     "/proc/self/ns/pid | tr -dc 0-9); exec \"$0\" 1000",
                                     TestProgram("exit_return").string()}),
                 OnFakeGpu(scratch));
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  CHECK(ReadFile(target) == "precious");
  CHECK(Kept(ReadJson(scratch / "session/session.json")) == 1000);
}

TEST_CASE("a file whose name only starts like a ring name is neither printed nor removed") {
  TempDir scratch;
  const auto run =
      RunProcess(RunCommand({}, {"/bin/sh", "-c",
                                 "for n in ring. new.ring. overview.json. ; do "
                                 "echo x > \"session/$n$(printf '\\033[31m')\"; done"}),
                 OnFakeGpu(scratch));
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  CHECK(run.err.find('\x1b') == std::string::npos);
  for (const std::string name : {"ring.", "new.ring.", "overview.json."}) {
    CHECK(std::filesystem::exists(scratch / ("session/" + name + "\x1b[31m")));
  }
}

TEST_CASE("a session path that is too long for the names of its files is rejected") {
  TempDir scratch;
  std::filesystem::path deep = scratch.path();
  auto options = OnFakeGpu(scratch);
  const std::string part(200, 'd');
  for (int i = 0; i < 21; ++i) deep /= part;
  const auto run = RunProcess(
      {StemtapProgram().string(), "run", "-o", deep.string(), "--", "/bin/true"}, options);
  CheckFailure(run, 1, {"the path of the session directory has ", "expected at most 4000"});
  // The library gets the path from its environment.
  options.env.emplace_back("CUDA_INJECTION64_PATH", InjectorLibrary().string());
  options.env.emplace_back("STEMTAP_SESSION", deep.string());
  const auto alone = RunProcess({TestProgram("exit_return").string(), "1000"}, options);
  CHECK(alone.exit_code == 0);
  CHECK(alone.err.find("stemtap: nothing will be recorded: ") == 0);
  CHECK(alone.err.find("the path of the session directory is longer than 4000 bytes") !=
        std::string::npos);
}

TEST_CASE("all processes of a run are recorded") {
  TempDir scratch;
  const std::string program = TestProgram("exit_return").string();
  const auto run =
      RunProcess(RunCommand({}, {"/bin/sh", "-c", program + " 3000 & " + program + " 4000 & wait"}),
                 OnFakeGpu(scratch));
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  const auto session = ReadJson(scratch / "session/session.json");
  CHECK(session["processes"].size() == 2);
  CHECK(Kept(session) == 7000);
}

TEST_CASE("a program that damages its ring neither ends the collector nor changes its exit code") {
  for (const std::string what : {"indices", "records", "header", "state", "gate", "all"}) {
    CAPTURE(what);
    TempDir scratch;
    const auto run = RunProcess(
        RunCommand({"--level", "gate"}, {TestProgram("hostile").string(), what, "300000"}),
        OnFakeGpu(scratch));
    CAPTURE(run.err);
    CHECK(run.exit_code == 7);
    const auto session = ReadJson(scratch / "session/session.json");
    REQUIRE(session["processes"].size() == 1);
    const auto& process = session["processes"][0];
    if (what == "indices") CHECK(process["reason"] == "its ring is damaged");
    if (what == "header") CHECK(process["reason"] == "its counters are damaged");
    if (what == "records") CHECK(process["malformed"] >= 900);
    const auto& counters = session["counters"];
    CHECK(counters["seen"] ==
          counters["kept"].get<std::uint64_t>() + counters["dropped"].get<std::uint64_t>());
  }
}

// Plays 20,000 launches of a language model at 8,000 per second so that feedback arrives in time.
std::vector<std::string> PlayDecode(const TempDir& scratch) {
  const auto made = RunProcess({StemtapProgram().string(), "generate", "llm-decode", "--launches",
                                "20000", "--seed", "3", "-o", (scratch / "p.csv").string()});
  REQUIRE(made.exit_code == 0);
  return {(FakeGpuDir() / "stemtap_play").string(), "p.csv", "--rate", "8000"};
}

TEST_CASE("with --captured-times native, captured launches keep their recorded durations") {
  TempDir scratch;
  const auto run = RunProcess(
      RunCommand({"-q", "--level", "gate", "--actuator", "profiler", "--captured-times", "native"},
                 PlayDecode(scratch)),
      OnFakeGpu(scratch));
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  const auto session = ReadJson(scratch / "session/session.json");
  const auto totals = ReadJson(scratch / "session/plan.json")["totals"];
  CHECK(session["counters"]["captured"].get<int>() >= 10);
  CHECK(session["counters"]["slowed"] == 0);
  CHECK_FALSE(totals.contains("imputed"));
  CHECK(totals["observed_error"].is_number());
  CHECK(session["options"]["captured_times"] == "native");
}

TEST_CASE("the overhead of captures is not part of totals, clusters and the bound") {
  // With recorded durations, the total was 5.7 times the native total, and the bound was 62 %.
  TempDir scratch;
  const auto player = PlayDecode(scratch);
  const auto bare = RunProcess(player, OnFakeGpu(scratch));
  const double truth = std::stod(bare.out.substr(bare.out.find("duration_ns ") + 12));
  REQUIRE(truth > 1e8);
  std::uint64_t clusters[2] = {};
  for (const bool slow : {false, true}) {
    CAPTURE(slow);
    auto options = OnFakeGpu(scratch);
    options.env.emplace_back("FAKE_GPU_CAPTURE_SLOWS_RECORDS", slow ? "1" : "0");
    const auto run = RunProcess(
        RunCommand({"-q", "--level", "gate", "--actuator", "profiler"}, player), options);
    CAPTURE(run.err);
    REQUIRE(run.exit_code == 0);
    const auto session = ReadJson(scratch / "session/session.json");
    const auto totals = ReadJson(scratch / "session/plan.json")["totals"];
    const std::uint64_t captured = session["counters"]["captured"];
    CHECK(captured >= 20);
    CHECK(session["counters"]["slowed"].get<std::uint64_t>() == captured);
    CHECK(totals["invocations"] == 20000);
    CHECK(totals["imputed"].get<std::uint64_t>() == captured);
    // About forty captures make up 0.3 % of the time. Even if each were imputed as zero or as twice
    // its duration, the total would not differ by more.
    CHECK(totals["duration_ns"].get<double>() == doctest::Approx(truth).epsilon(0.004));
    // This is a quarter of the bound with recorded durations. The bound is usually 0.05. In 1 of 30
    // runs of this length, a cluster with 2 to 6 % of the time has no capture; the bound includes
    // that time in full.
    CHECK(totals["bound"].get<double>() <= 0.15);
    CHECK(totals["uncovered_fraction"].get<double>() < totals["bound"].get<double>());
    CHECK(totals["observed_error"].is_null());
    clusters[slow] = totals["clusters"];
    // Device totals contain measured durations: forty captures take a thousand times their native
    // duration.
    const double measured = session["devices"][0]["duration_ns"];
    if (slow) {
      CHECK(measured > 2 * truth);
    } else {
      CHECK(measured == truth);
    }
    std::filesystem::remove_all(scratch / "session");
  }
  // Captured launches depend on timing, and cluster boundaries depend on captured launches.
  CHECK(clusters[1] <= clusters[0] + 8);
  CHECK(clusters[0] <= clusters[1] + 8);
}

TEST_CASE("limits in the environment apply, and options override them") {
  TempDir scratch;
  auto options = OnFakeGpu(scratch);
  options.env.emplace_back("STEMTAP_MAX_CAPTURES_PER_SECOND", "7");
  options.env.emplace_back("STEMTAP_MAX_OVERHEAD", "33");
  const std::vector<std::string> show = {
      "/bin/sh", "-c", "echo $STEMTAP_MAX_CAPTURES_PER_SECOND $STEMTAP_MAX_OVERHEAD"};
  auto run = RunProcess(RunCommand({"-q"}, show), options);
  CHECK(run.exit_code == 0);
  CHECK(run.out == "7 33.000\n");
  auto session = ReadJson(scratch / "session/session.json");
  CHECK(session["options"]["max_captures_per_second"] == 7);
  CHECK(session["options"]["max_overhead"] == 33);
  std::filesystem::remove_all(scratch / "session");

  run = RunProcess(
      RunCommand({"-q", "--max-captures-per-second", "9", "--max-overhead", "5"}, show), options);
  CHECK(run.out == "9 5.000\n");
  session = ReadJson(scratch / "session/session.json");
  CHECK(session["options"]["max_captures_per_second"] == 9);
  CHECK(session["options"]["max_overhead"] == 5);
  std::filesystem::remove_all(scratch / "session");

  options.env.back().second = "much";
  CHECK(RunProcess(RunCommand({"-q"}, show), options).exit_code == 2);
}

TEST_CASE("ranks share captures, or each rank has its own with --share-captures off") {
  TempDir scratch;
  const auto player = PlayDecode(scratch);
  std::string rank;
  for (const std::string& word : player) rank += word + " ";
  // The number of captures in each mode depends on timing; engine_test checks it.
  for (const std::string mode : {"on", "off"}) {
    CAPTURE(mode);
    const auto run = RunProcess(
        RunCommand({"-q", "--level", "gate", "--share-captures", mode},
                   {"/bin/sh", "-c", rank + "& " + rank + "& " + rank + "& " + rank + "& wait"}),
        OnFakeGpu(scratch));
    CAPTURE(run.err);
    REQUIRE(run.exit_code == 0);
    const auto session = ReadJson(scratch / "session/session.json");
    const auto plan = ReadJson(scratch / "session/plan.json");
    CHECK(session["processes"].size() == 4);
    CHECK(session["counters"]["dropped"] == 0);
    CHECK(plan["totals"]["invocations"] == 80000);
    std::map<std::int64_t, std::uint64_t> samples;  // by process
    std::map<std::int64_t, std::uint64_t> launches;
    for (const auto& kernel : plan["kernels"]) {
      const std::int64_t process = kernel.value("process", std::int64_t{0});
      launches[process] += kernel["invocations"].get<std::uint64_t>();
      for (const auto& cluster : kernel["clusters"]) {
        samples[process] += cluster["samples"].size();
        for (const auto& sample : cluster["samples"]) {
          CHECK(sample["occurrence"].get<std::uint64_t>() <
                kernel["invocations"].get<std::uint64_t>());
        }
      }
    }
    if (mode == "off") {
      CHECK(launches.size() == 4);
      for (const auto& process : session["processes"]) {
        const std::int64_t pid = process["pid"];
        CHECK(launches[pid] == 20000);
        CHECK(samples[pid] > 0);
      }
    } else {
      CHECK(launches.size() == 1);
      CHECK(launches[0] == 80000);
    }
    std::filesystem::remove_all(scratch / "session");
  }
}

TEST_CASE("standard descriptors that are closed stay closed in the program") {
  TempDir scratch;
  const auto run = RunProcess({"/bin/sh", "-c",
                               "\"$0\" run -q -o session -- /bin/sh -c "
                               "'test ! -e /proc/$$/fd/0 && test ! -e /proc/$$/fd/2' <&- 2>&-",
                               StemtapProgram().string()},
                              OnFakeGpu(scratch));
  CHECK(run.exit_code == 0);
}

TEST_CASE("demo runs the full workflow and prints the estimated tracing cost") {
  TempDir scratch;
  const auto run = RunProcess({StemtapProgram().string(), "demo", "--launches", "20000", "-q", "-o",
                               (scratch / "demo").string()});
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("tracing every kernel would have cost") != std::string::npos);
  CHECK(ReadJson(scratch / "demo/plan.json")["totals"]["invocations"] == 20000);
  CHECK(OverviewDiffers(scratch / "demo") == "");
}

// Durations arrive while even a short program runs. If they arrived every 200 ms from the start,
// this run of half a second would have no captures besides one per kernel, and a bound of 24 %.
TEST_CASE("a short run of a real program is sampled while it runs") {
  TempDir scratch;
  const auto profile = SourceDir() / "docs/measurements/h100-2026-11-27/profile-eager.json.gz";
  const auto run = RunProcess({StemtapProgram().string(), "demo", "--profile", profile.string(),
                               "--speed", "real", "-q", "-o", (scratch / "demo").string()});
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  const auto plan = ReadJson(scratch / "demo/plan.json");
  CHECK(plan["totals"]["invocations"] == 44509);
  CHECK(plan["totals"]["bound"].get<double>() < 0.15);
}

}  // namespace
}  // namespace stemtap::test
