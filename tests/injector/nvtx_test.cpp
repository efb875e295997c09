// SPDX-License-Identifier: Apache-2.0
//
// Tests NVTX ranges of programs that were built with NVIDIA's headers: captured launches have them.
// In tests/programs/nvtx_*, the name of a kernel is the range in which it is launched.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "injector/injected.h"
#include "injector/wait_until.h"
#include "support/paths.h"

namespace stemtap::test {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

std::vector<Json> Captures(const std::filesystem::path& session) {
  std::vector<Json> captures;
  std::istringstream lines(ReadFile(session / "mask.ndjson"));
  for (std::string line; std::getline(lines, line);) {
    Json event = Json::parse(line);
    if (event["event"] == "capture") captures.push_back(std::move(event));
  }
  return captures;
}

// Checks that captured launches are in the ranges that their kernels name. Returns the kernels. The
// first launch of every kernel is captured.
std::set<std::string> CheckSession(const std::filesystem::path& session) {
  std::set<std::string> kernels;
  for (const Json& event : Captures(session)) {
    CAPTURE(event.dump());
    const std::string kernel = event["kernel"];
    const std::string range = kernel.substr(0, kernel.find('@'));
    CHECK(event.value("range", "none") == range);
    const std::string step =
        kernel.find('@') == std::string::npos ? "none" : kernel.substr(kernel.find('@') + 1);
    CHECK((event.contains("step") ? event["step"].dump() : "none") == step);
    kernels.insert(kernel);
  }
  return kernels;
}

// Run is a program under `stemtap run`.
struct Run {
  explicit Run(const std::string& program, Words arguments, const Words& options = {},
               const Variables& variables = {}, const std::string& level = "gate") {
    Words argv = {StemtapProgram(), "run", "--level", level, "-o", session().string()};
    argv.insert(argv.end(), options.begin(), options.end());
    argv.emplace_back("--");
    for (const std::string& word : Command(program, arguments)) argv.push_back(word);
    ProcessOptions process = BareOptions(variables);
    process.cwd = dir.path();
    result = RunProcess(argv, process);
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
  }
  std::filesystem::path session() const { return dir / "session"; }
  Json report() const { return Json::parse(ReadFile(session() / "session.json")); }
  std::string log() const { return ReadFile(session() / "stemtap.log"); }

  TempDir dir;
  ProcessResult result;
};

const std::set<std::string> kAll = {"setup",
                                    "none",
                                    "decode",
                                    "decode/event",
                                    "decode/(unnamed)",
                                    "gr\u00F6\u00DFe \U0001F600",
                                    "one:event",
                                    "one:event/default",
                                    "one:event/default/two:w\u00EFde",
                                    "default/two:w\u00EFde",
                                    "two:w\u00EFde",
                                    "two:w\u00EFde/one:string",
                                    "one:string",
                                    "no domain",
                                    "worker",
                                    "outer",
                                    "one:request",
                                    "first",
                                    "wide",
                                    "request",
                                    "program/inside",
                                    "inside"};

TEST_CASE("captured launches have the NVTX ranges of the program") {
  const Run run("nvtx_ranges", {"all", "recorded"});
  CHECK(CheckSession(run.session()) == kAll);
  CHECK(run.result.err.find("warning") == std::string::npos);
}

TEST_CASE("the C++ interface of NVTX is recorded") {
  const Run run("nvtx_scopes", {});
  CHECK(CheckSession(run.session()) ==
        std::set<std::string>{"text", "text/w\u00EFde", "engine:forward", "Decode",
                              "Decode/engine:layer", "Decode/engine:layer/engine:Attend",
                              "engine:request", "none"});
}

TEST_CASE("ten shared libraries use NVTX for the first time at once") {
  const TempDir dir;
  std::set<std::string> expected = {"setup", "none"};
  for (int i = 0; i < 10; ++i) {
    const std::string number = std::to_string(i);
    std::filesystem::copy_file(STEMTAP_TEST_NVTX_LIBRARY, dir / ("copy." + number));
    expected.insert("shared:copy " + number);
    for (int inner = 0; inner < 10; ++inner) {
      expected.insert("shared:copy " + number + "/shared:copy " + std::to_string(inner));
    }
  }
  for (int round = 0; round < 5; ++round) {
    const Run run("nvtx_ranges", {"copies", (dir / "copy").string(), "recorded"});
    CHECK(CheckSession(run.session()) == expected);
  }
}

TEST_CASE("10,000 names, registered strings and domains are safe") {
  const Run run("nvtx_ranges", {"many", "recorded"});
  std::uint64_t others = 0;
  std::set<std::string> kernels;
  for (const Json& event : Captures(run.session())) {
    CAPTURE(event.dump());
    const std::string kernel = event["kernel"];
    kernels.insert(kernel);
    CHECK(event.value("range", "none") == kernel.substr(0, kernel.find('@')));
    others += event.value("range", "none") == "(other)";
  }
  CHECK(kernels == std::set<std::string>{"setup", "none", "known", "(other)", "(other)@none"});
  CHECK(run.report()["counters"]["losses"]["ranges_refused"] == others);
}

TEST_CASE("ranges with the name of the step range are steps") {
  std::set<std::string> expected = {"setup"};
  for (int i = 0; i < 8; ++i) {
    expected.insert("ProfilerStep@" + std::to_string(i));
    expected.insert("ProfilerStep/ProfilerSteps@" + std::to_string(i));
  }
  const Run option("nvtx_ranges", {"steps"}, {"--step-range", "ProfilerStep"});
  CHECK(CheckSession(option.session()) == expected);
  const Run variable("nvtx_ranges", {"steps"}, {}, {{"STEMTAP_STEP_RANGE", "ProfilerStep"}});
  CHECK(CheckSession(variable.session()) == expected);
  // Without a name, no range is a step.
  const Run none("nvtx_ranges", {"steps"});
  for (const Json& event : Captures(none.session())) {
    CAPTURE(event.dump());
    CHECK_FALSE(event.contains("step"));
    if (event["kernel"] == "ProfilerStep@3") CHECK(event["range"] == "ProfilerStep#103");
  }
}

TEST_CASE("the NVTX calls of a forked child have no effect") {
  const Run run("nvtx_ranges", {"fork", "recorded"});
  CHECK(CheckSession(run.session()) == std::set<std::string>{"setup", "parent"});
}

TEST_CASE("with only LD_PRELOAD, NVTX ranges are also recorded") {
  const TempDir dir;
  ProcessOptions process = BareOptions({{"LD_PRELOAD", InjectorLibrary().string()},
                                        {"STEMTAP_LEVEL", "gate"},
                                        {"STEMTAP_COLLECTOR", StemtapProgram().string()},
                                        {"STEMTAP_OPTIONS", "-o session"}});
  process.cwd = dir.path();
  process.until_closed = true;
  const ProcessResult result = RunProcess(Command("nvtx_ranges", {"all", "recorded"}), process);
  INFO(result.err);
  CHECK(result.exit_code == 0);
  REQUIRE(WaitUntil([&] { return std::filesystem::exists(dir / "session/summary.txt"); }));
  CheckSession(dir / "session");
}

TEST_CASE("at the other levels, NVTX calls have no effect") {
  for (const std::string level : {"kernels", "graph"}) {
    const Run run("nvtx_ranges", {"all"}, {}, {}, level);
    for (const Json& event : Captures(run.session())) CHECK_FALSE(event.contains("range"));
  }
}

TEST_CASE("the NVTX library of another tool is kept, and this is reported") {
  const std::string other = STEMTAP_TEST_EMPTY_LIBRARY;
  const Variables variables = {{"NVTX_INJECTION64_PATH", other}};
  const std::string message = "NVTX ranges are not recorded: NVTX_INJECTION64_PATH is set to '" +
                              other + "'; unset it to record them";
  const Run run("nvtx_ranges", {"all"}, {"-q"}, variables);
  CHECK(run.result.err == "stemtap: warning: " + message + "\n");
  CHECK(run.log().find(message) != std::string::npos);
  for (const Json& event : Captures(run.session())) {
    // The range of stemtap/control.h is recorded.
    const bool in_program = event["kernel"] == "program/inside";
    CHECK(event.value("range", "none") == (in_program ? "program" : "none"));
  }
  // The other levels record no ranges anyway.
  CHECK(Run("nvtx_ranges", {"all"}, {"-q"}, variables, "kernels").result.err.empty());
  // The library reports it if there is no `stemtap run`.
  const TempDir dir;
  ProcessOptions process = BareOptions({{"CUDA_INJECTION64_PATH", InjectorLibrary().string()},
                                        {"NVTX_INJECTION64_PATH", other},
                                        {"STEMTAP_LEVEL", "gate"},
                                        {"STEMTAP_COLLECTOR", StemtapProgram().string()},
                                        {"STEMTAP_OPTIONS", "-o session"}});
  process.cwd = dir.path();
  process.until_closed = true;
  CHECK(RunProcess(Command("nvtx_ranges", {"all"}), process).exit_code == 0);
  REQUIRE(WaitUntil([&] { return std::filesystem::exists(dir / "session/summary.txt"); }));
  CHECK(ReadFile(dir / "session/summary.txt")
            .find("NVTX ranges are not recorded: NVTX_INJECTION64_PATH is set to another library; "
                  "unset it to record them") != std::string::npos);
}

TEST_CASE("CUPTI as the NVTX library is replaced, and this is reported") {
  const std::string cupti = (FakeGpuDir() / "libcupti.so.13").string();
  for (const std::string level : {"gate", "kernels"}) {
    const Run run("nvtx_ranges", {"all"}, {"-q"}, {{"NVTX_INJECTION64_PATH", cupti}}, level);
    CHECK(run.result.err.empty());
    CHECK(run.log().find("NVTX_INJECTION64_PATH is set to '" + cupti +
                         "', which would take CUPTI from stemtap; the program gets stemtap's "
                         "library instead") != std::string::npos);
    if (level == "gate") CHECK(CheckSession(run.session()) == kAll);
  }
  const TempDir dir;
  ProcessOptions process = BareOptions({{"LD_PRELOAD", InjectorLibrary().string()},
                                        {"NVTX_INJECTION64_PATH", cupti},
                                        {"STEMTAP_LEVEL", "gate"},
                                        {"STEMTAP_COLLECTOR", StemtapProgram().string()},
                                        {"STEMTAP_OPTIONS", "-o session"}});
  process.cwd = dir.path();
  process.until_closed = true;
  CHECK(RunProcess(Command("nvtx_ranges", {"all"}), process).exit_code == 0);
  REQUIRE(WaitUntil([&] { return std::filesystem::exists(dir / "session/summary.txt"); }));
  CHECK(
      ReadFile(dir / "session/summary.txt")
          .find("NVTX_INJECTION64_PATH was CUPTI, which takes one client; it is stemtap's library "
                "now") != std::string::npos);
}

TEST_CASE("NVTX may load the library under another path") {
  const TempDir dir;
  // The loader compares files, not paths.
  const std::filesystem::path hard_link = InjectorLibrary().string() + ".nvtx_test";
  std::filesystem::remove(hard_link);
  std::filesystem::create_hard_link(InjectorLibrary(), hard_link);
  std::filesystem::create_symlink(InjectorLibrary(), dir / "link.so");
  for (const std::filesystem::path& path : {dir / "link.so", hard_link}) {
    const Words program = Command("nvtx_ranges", {"all", "recorded"});
    Words words = {"NVTX_INJECTION64_PATH=" + path.string()};
    words.insert(words.end(), program.begin(), program.end());
    CHECK(CheckSession(Run("/usr/bin/env", words).session()) == kAll);
    // The variable may have such a path before `stemtap run`.
    const Run run("nvtx_ranges", {"all", "recorded"}, {"-q"},
                  {{"NVTX_INJECTION64_PATH", path.string()}});
    CHECK(run.result.err.empty());
    CHECK(CheckSession(run.session()) == kAll);
  }
  std::filesystem::remove(hard_link);
}

TEST_CASE("a disabled library has no effect on NVTX") {
  for (const Variables& variables :
       {Variables{{"STEMTAP_DISABLE", "1"}}, Variables{{"NSYS_PROFILING_SESSION_ID", "7"}},
        Variables{{"STEMTAP_LEVEL", "kernels"}}}) {
    const Injected injected;
    Variables all = {{"STEMTAP_LEVEL", "gate"},
                     {"NVTX_INJECTION64_PATH", InjectorLibrary().string()}};
    all.insert(all.end(), variables.begin(), variables.end());
    // The first function whose result is checked has another one.
    const ProcessResult result = injected.Run("nvtx_ranges", {"all", "recorded"}, all);
    CHECK(result.exit_code == 7);
    CHECK(injected.Run("nvtx_ranges", {"all"}, all).exit_code == 0);
  }
}

TEST_CASE("in a setuid program, NVTX calls have no effect") {
  constexpr uid_t kNobody = 65534;
  const TempDir dir;
  const std::string program = (dir / "program").string();
  std::filesystem::copy_file(STEMTAP_TEST_NVTX_PUSH, program);
  const ProcessOptions options = BareOptions(
      {{"STEMTAP_LEVEL", "gate"}, {"NVTX_INJECTION64_PATH", InjectorLibrary().string()}});
  CHECK(RunProcess({program}, options).out == "secure 0 push 0\n");
  // Only root can change the owner of the program, which then runs with its owner's rights.
  if (geteuid() != 0) {
    MESSAGE("SKIPPED: only root can change the owner of a program");
    return;
  }
  std::filesystem::permissions(
      dir.path(), std::filesystem::perms::others_exec | std::filesystem::perms::owner_all);
  REQUIRE(chown(program.c_str(), kNobody, kNobody) == 0);
  REQUIRE(chmod(program.c_str(), 04755) == 0);
  const ProcessResult secure = RunProcess({program}, options);
  if (!secure.out.starts_with("secure 1")) {
    MESSAGE("SKIPPED: setuid programs are not supported on this file system");
    return;
  }
  CHECK(secure.out == "secure 1 push -2\n");
  CHECK(secure.err.empty());
}

}  // namespace
}  // namespace stemtap::test
