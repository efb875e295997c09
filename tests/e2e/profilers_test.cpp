// SPDX-License-Identifier: Apache-2.0
//
// Tests ncu, nsys and compute-sanitizer inside and around stemtap, with small stand-ins and, if
// available, with the real tools.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "e2e/session.h"
#include "support/check_failure.h"
#include "support/real_driver.h"

namespace stemtap::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;

Words Joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Returns options without environment variables of tools and without library injection.
ProcessOptions Clean(const TempDir& scratch, const Variables& more = {}) {
  ProcessOptions options = OnFakeGpu(scratch);
  options.unset_env = {"LD_PRELOAD", "CUDA_INJECTION64_PATH"};
  options.env.insert(options.env.end(), more.begin(), more.end());
  return options;
}

// Writes an executable script `name` that creates the file `started` and runs its arguments.
fs::path StandIn(const TempDir& dir, const std::string& name) {
  const fs::path file =
      dir.Write(name, "#!/bin/sh\n: > \"${0%/*}/started\"\n[ $# = 0 ] || exec \"$@\"\n");
  fs::permissions(file, fs::perms::owner_all);
  return file;
}

const Words kRun = {StemtapProgram().string(), "run", "-o", "session"};

TEST_CASE("a profiler as the program is a usage error, and no process is started") {
  const std::pair<const char*, const char*> tools[] = {
      {"ncu", "stemtap export --to ncu"},
      {"nsys", "stemtap plan"},
      {"compute-sanitizer", "record the program alone"}};
  for (const auto& [name, instead] : tools) {
    CAPTURE(std::string(name));
    const TempDir bin;
    const std::string tool = StandIn(bin, name).string();
    fs::create_symlink(tool, bin / "link");
    const std::string found = bin.path().string() + ":" + ::getenv("PATH");
    for (const Words& program :
         {Words{tool, "true"}, Words{(bin / "link").string()}, Words{name, "-o", "x", "true"},
          Words{"env", name}, Words{"env", "-u", "HOME", "A=b", name, "true"},
          Words{"timeout", "-s", "INT", "10", "nice", "-n", "1", tool, "true"}}) {
      CAPTURE(program[0]);
      const TempDir scratch;
      const ProcessResult result =
          RunProcess(Joined(Joined(kRun, {"--"}), program), Clean(scratch, {{"PATH", found}}));
      CheckFailure(result, 2, {name, "does not work under stemtap", instead});
      CHECK_FALSE(fs::exists(bin / "started"));
      CHECK(fs::is_empty(scratch.path()));
    }
  }
}

TEST_CASE("a program with the name of a profiler as an argument is recorded") {
  const TempDir bin;
  StandIn(bin, "ncu");
  const std::string found = bin.path().string() + ":" + ::getenv("PATH");
  for (const Words& program : {Words{"echo", "ncu"}, Words{"env", "A=b", "echo", "ncu"}}) {
    const TempDir scratch;
    const ProcessResult result =
        RunProcess(Joined(Joined(kRun, {"-q", "--"}), program), Clean(scratch, {{"PATH", found}}));
    CHECK(result.exit_code == 0);
    CHECK(result.out == "ncu\n");
  }
  const TempDir scratch;
  CHECK(
      RunProcess(Joined(kRun, {"--", "no-such-program", "ncu"}), Clean(scratch, {{"PATH", found}}))
          .exit_code == 127);
}

TEST_CASE(
    "under a profiler, the program runs without the library, and this is reported immediately") {
  const std::pair<const char*, const char*> marks[] = {
      {"NSYS_PROFILING_SESSION_ID", "Nsight Systems (nsys)"},
      {"QUADD_INJECTION_CONFIG", "Nsight Systems (nsys)"},
      {"NV_NSIGHT_INJECTION_PORT_BASE", "Nsight Compute (ncu)"},
      {"NV_SANITIZER_INJECTION_PORT_BASE", "compute-sanitizer"}};
  const Words program = {"/bin/sh", "-c",
                         "printf '%s %s' \"${CUDA_INJECTION64_PATH-none}\" \"${LD_PRELOAD-none}\"; "
                         "\"$0\" 10; exit 7",
                         TestProgram("exit_return").string()};
  for (const auto& [variable, tool] : marks) {
    for (const Words& options : {Words{}, Words{"-q"}, Words{"--preload", "--level", "gate"}}) {
      CAPTURE(std::string(variable));
      const TempDir scratch;
      const auto environment = Clean(scratch, {{variable, "1"}});
      const ProcessResult bare = RunProcess(program, environment);
      const ProcessResult result =
          RunProcess(Joined(Joined(kRun, options), Joined({"--"}, program)), environment);
      CAPTURE(result.err);
      CHECK(result.exit_code == 7);
      CHECK(result.out == bare.out);
      CHECK(result.out.starts_with("none none"));
      const std::string why = std::string(variable) + " is set, so " + tool +
                              " profiles the program; run one of them at a time";
      CHECK(result.err.starts_with("stemtap: warning: nothing will be recorded: " + why + "\n"));
      const auto session = ReadJson(scratch / "session/session.json");
      CHECK(session["processes"].empty());
      CHECK(session["warnings"].dump().find("nothing was recorded: " + why) != std::string::npos);
    }
  }
}

TEST_CASE("a profiler that a shell starts is not recorded, and the summary reports it") {
  const TempDir scratch;
  fs::copy_file(TestProgram("exit_return"), scratch / "nsys");
  const ProcessResult result =
      RunProcess(Joined(kRun, {"--", "/bin/sh", "-c", "./nsys 10; exit 5"}), Clean(scratch));
  CHECK(result.exit_code == 5);
  CHECK(result.err.find("this process is Nsight Systems (nsys) itself") != std::string::npos);
}

// The real tools

fs::path FileIn(const fs::path& directory, const char* name) {
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.path().filename() == name && entry.is_regular_file()) return entry.path();
  }
  return {};
}

// Runs a tool. On a busy machine, nsys sometimes loses the connection to its own agent and does not
// run the program; in this case, it is started again.
ProcessResult RunTool(const Words& command, const ProcessOptions& options) {
  constexpr int kMaxRuns = 3;
  ProcessResult result = RunProcess(command, options);
  for (int run = 1; run < kMaxRuns; ++run) {
    if (result.err.find("Connection to Agent lost") == std::string::npos) break;
    result = RunProcess(command, options);
  }
  return result;
}

// Checks that a tool and its profiled program behave the same alone, with the library preloaded,
// and with `stemtap run` around the program.
void CheckUndisturbed(const Words& tool, const Words& program, const std::string& libraries) {
  const TempDir scratch;
  ProcessOptions options = Clean(scratch, {{"LD_LIBRARY_PATH", libraries}});
  const ProcessResult bare = RunTool(Joined(tool, program), options);
  CAPTURE(bare.err);
  REQUIRE(bare.exit_code == 7);
  REQUIRE(bare.out.find("the program's line\n") != std::string::npos);

  ProcessOptions preloaded = options;
  preloaded.env.emplace_back("LD_PRELOAD", InjectorLibrary().string());
  for (const Words& shell : {Words{}, Words{"/bin/sh", "-c", "\"$0\" \"$@\""}}) {
    const ProcessResult result = RunTool(Joined(shell, Joined(tool, program)), preloaded);
    CAPTURE(result.err);
    CHECK(result.exit_code == 7);
    CHECK(result.out.find("the program's line\n") != std::string::npos);
  }

  const ProcessResult around = RunProcess(
      Joined(Joined(tool, Joined(kRun, {"--level", "gate", "--preload", "--"})), program), options);
  CAPTURE(around.err);
  CHECK(around.exit_code == 7);
  CHECK(around.out.find("the program's line\n") != std::string::npos);
  CHECK((around.err + around.out).find("nothing will be recorded") != std::string::npos);

  const TempDir other;
  options.cwd = other.path();
  const ProcessResult below =
      RunProcess(Joined(Joined(kRun, {"--"}), Joined(tool, program)), options);
  CheckFailure(below, 2, {"does not work under stemtap"});
  CHECK(fs::is_empty(other.path()));
  for (const auto& entry : fs::directory_iterator(scratch.path())) {
    CHECK_FALSE(entry.path().filename().string().starts_with("stemtap-"));
  }
}

TEST_CASE("the real ncu profiles a program the same with and without the library") {
  const RealDrivers drivers;
  STEMTAP_SKIP_WITHOUT_DRIVERS(drivers);
  const auto ncu = RealNvidia("ncu");
  STEMTAP_SKIP_WITHOUT_REAL(ncu);
  // The launcher script starts the binary of the same name.
  const fs::path tool = *ncu / "usr/lib/nsight-compute/ncu";
  REQUIRE(fs::exists(tool));
  // Calls cuInit of the first driver on the library path.
  const Words program = {"/bin/sh", "-c",
                         "\"$0\" libcuda.so.1 cuInit 1 && echo \"the program's line\"; exit 7",
                         STEMTAP_TEST_DRIVER_ANSWERS};
  CheckUndisturbed({tool.string(), "--target-processes", "all"}, program,
                   drivers.directories().front().string());
}

TEST_CASE("the real nsys profiles a program the same with and without the library") {
  const RealDrivers drivers;
  STEMTAP_SKIP_WITHOUT_DRIVERS(drivers);
  const auto nsys = RealNvidia("nsys");
  STEMTAP_SKIP_WITHOUT_REAL(nsys);
  const fs::path tool = FileIn(*nsys, "nsys");
  REQUIRE(fs::exists(tool));
  const std::string libraries =
      drivers.directories().front().string() + ":" + (*nsys / "usr/lib/x86_64-linux-gnu").string();
  // Without a device, nsys's library crashes when the program calls cuInit.
  CheckUndisturbed(
      {tool.string(), "profile", "--trace=cuda", "--force-overwrite=true", "-o", "report"},
      {"/bin/sh", "-c", "echo \"the program's line\"; exit 7"}, libraries);
}

}  // namespace
}  // namespace stemtap::test
