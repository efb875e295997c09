// SPDX-License-Identifier: Apache-2.0
#include "support/process.h"

#include <doctest/doctest.h>
#include <signal.h>

#include "support/real_nvidia.h"
#include "support/shared_data.h"
#include "support/temp_dir.h"

namespace stemtap::test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("exit code, stdout and stderr of a child are reported separately") {
  const ProcessResult result = RunProcess({"sh", "-c", "echo out; echo err >&2; exit 3"});
  CHECK(result.exit_code == 3);
  CHECK(result.signal == 0);
  CHECK_FALSE(result.timed_out);
  CHECK(result.out == "out\n");
  CHECK(result.err == "err\n");
}

TEST_CASE("a child that a signal killed reports the signal and no exit code") {
  const ProcessResult result = RunProcess({"sh", "-c", "kill -SEGV $$"});
  CHECK(result.signal == SIGSEGV);
  CHECK(result.exit_code == -1);
}

TEST_CASE("a program that cannot be started exits with 127") {
  const ProcessResult result = RunProcess({"/no/such/program"});
  CHECK(result.exit_code == 127);
  CHECK(result.err.find("could not be started") != std::string::npos);
}

TEST_CASE("output larger than a pipe is complete on stdout and stderr") {
  const ProcessResult result = RunProcess(
      {"sh", "-c", "head -c 1000000 /dev/zero; head -c 2000000 /dev/zero >&2; printf end"});
  CHECK(result.out.size() == 1'000'003);
  CHECK(result.err.size() == 2'000'000);
  CHECK(result.out.substr(1'000'000) == "end");
}

TEST_CASE("a child has its own environment and working directory") {
  const TempDir dir;
  ProcessOptions options;
  options.env = {{"STEMTAP_TEST_VALUE", "a b=c"}};
  options.unset_env = {"HOME"};
  options.cwd = dir.path();
  const ProcessResult result =
      RunProcess({"sh", "-c", "echo \"$STEMTAP_TEST_VALUE|${HOME-none}\"; pwd -P"}, options);
  CHECK(result.out == "a b=c|none\n" + std::filesystem::canonical(dir.path()).string() + "\n");
}

TEST_CASE("a child that exceeds its deadline is killed with its descendants") {
  ProcessOptions options;
  options.timeout = 200ms;
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult result =
      RunProcess({"sh", "-c", "echo begun; sleep 100 & sleep 100"}, options);
  CHECK(result.timed_out);
  CHECK(result.signal == SIGKILL);
  CHECK(result.out == "begun\n");
  CHECK(std::chrono::steady_clock::now() - begin < 50s);
}

TEST_CASE("a test can wait for output of a running child and signal the child") {
  Process child({"sh", "-c",
                 "trap 'echo caught; exit 5' TERM; echo ready; while :; do read x < "
                 "/dev/null; done"});
  REQUIRE(child.WaitForOutput("ready\n"));
  child.Signal(SIGTERM);
  CHECK(child.WaitForOutput("caught\n"));
  CHECK(child.Wait().exit_code == 5);
  CHECK(child.Wait().exit_code == 5);
}

TEST_CASE("a wait for output that never arrives ends with the child") {
  Process child({"sh", "-c", "echo something else"});
  CHECK_FALSE(child.WaitForOutput("ready"));
  CHECK(child.Wait().exit_code == 0);
}

TEST_CASE("a background process is awaited only on request") {
  // The background reader keeps stdout open until the test writes to its FIFO. Each child has its
  // own FIFO, because the reader of the first FIFO may still be open when the second child starts.
  const TempDir dir;
  const auto make_fifo = [&](const char* name) {
    const std::string fifo = (dir / name).string();
    REQUIRE(RunProcess({"mkfifo", fifo}).exit_code == 0);
    return fifo;
  };
  const auto script = [](const std::string& fifo) {
    return "(read x < '" + fifo + "'; echo late $x) & echo early";
  };
  const auto write = [](const std::string& fifo) {
    REQUIRE(RunProcess({"sh", "-c", "echo go > '" + fifo + "'"}).exit_code == 0);
  };

  const std::string first = make_fifo("first");
  Process quick({"sh", "-c", script(first)});
  CHECK(quick.Wait().out == "early\n");
  write(first);

  const std::string second = make_fifo("second");
  ProcessOptions options;
  options.until_closed = true;
  Process patient({"sh", "-c", script(second)}, options);
  write(second);
  CHECK(patient.Wait().out.find("late go\n") != std::string::npos);
}

TEST_CASE("a scratch directory is removed with its owner") {
  std::filesystem::path path;
  {
    const TempDir dir;
    path = dir.path();
    CHECK(ReadFile(dir.Write("a/b.txt", "content")) == "content");
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("absent shared data has an empty path") {
  CHECK(SharedPath("no/such/file").empty());
  const auto file = SharedPath("no/such/file");
  STEMTAP_SKIP_WITHOUT(file);
  FAIL("the macro returns");
}

TEST_CASE("a test without the real NVIDIA software that it needs is skipped") {
  const std::optional<std::filesystem::path> none;
  STEMTAP_SKIP_WITHOUT_REAL(none);
  FAIL("the macro returns");
}

}  // namespace
}  // namespace stemtap::test
