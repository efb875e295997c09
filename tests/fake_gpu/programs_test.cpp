// SPDX-License-Identifier: Apache-2.0
//
// Runs the programs of tests/programs without injection. They must end as documented, and the
// simulated driver driver's ground truth must match their launches.
#include <doctest/doctest.h>
#include <signal.h>

#include <sstream>

#include "support/paths.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace stemtap::test {
namespace {

struct Truth {
  std::uint64_t launches = 0;
  std::uint64_t duration_ns = 0;
  std::size_t names = 0;
};

Truth ReadTruth(const std::filesystem::path& file) {
  Truth truth;
  std::istringstream lines(ReadFile(file));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::uint64_t count = 0, sum = 0;
    std::istringstream(line) >> count >> sum;
    truth.launches += count;
    truth.duration_ns += sum;
    ++truth.names;
  }
  return truth;
}

struct Ended {
  ProcessResult result;
  Truth truth;
};

Ended Run(const char* program, const std::vector<std::string>& arguments = {"1000"}) {
  const TempDir dir;
  ProcessOptions options;
  options.env = {{"FAKE_GPU_TRUTH", (dir / "truth").string()}};
  std::vector<std::string> argv = {TestProgram(program).string()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  Ended ended;
  ended.result = RunProcess(argv, options);
  ended.truth = ReadTruth(dir / "truth");
  return ended;
}

TEST_CASE("the truth file contains the launches by kernel name") {
  const Ended ended = Run("exit_return", {"1000", "print"});
  REQUIRE(ended.result.exit_code == 0);
  CHECK(ended.truth.names == 3);
  std::ostringstream expected;
  expected << ended.truth.launches << ' ' << ended.truth.duration_ns << '\n';
  CHECK(ended.result.out == expected.str());
  CHECK(ended.truth.launches == 1000);
}

TEST_CASE("each test program ends as its name specifies") {
  CHECK(Run("exit_return").result.exit_code == 0);
  CHECK(Run("exit_call").result.exit_code == 7);
  CHECK(Run("abort_me").result.signal == SIGABRT);
  CHECK(Run("no_cuda", {}).result.out == "hello\n");
  const TempDir dir;
  const std::string word = dir.Write("go", "").string();
  CHECK(Run("exit_underscore", {"1000", word}).result.exit_code == 9);
  CHECK(Run("exit_sigkill", {"1000", word}).result.signal == SIGKILL);
}

TEST_CASE(
    "test programs with threads, forks, graphs and reloaded modules launch the requested kernels") {
  CHECK(Run("threads").truth.launches == 1000);
  CHECK(Run("graph").truth.launches == 1000);
  CHECK(Run("reload_modules").truth.launches == 1000);
  const Ended forked = Run("fork_child", {"1000", "check"});
  CHECK(forked.result.exit_code == 0);
  CHECK(forked.truth.launches == 1000);  // the child does not overwrite its parent's
  CHECK(Run("fork_cuda").result.exit_code == 0);
}

TEST_CASE("a program with a profiler client receives its records") {
  CHECK(Run("profiler_client", {"900", "before"}).result.out == "subscribe=0 records=900\n");
  CHECK(Run("profiler_client", {"900", "after"}).result.out == "subscribe=0 records=450\n");
  CHECK(Run("profiler_client", {"900", "between"}).result.out == "subscribe=0 records=300\n");
}

TEST_CASE("the player launches every row of a profile with its duration") {
  const TempDir dir;
  const std::string profile =
      dir.Write("small.csv",
                "index,start_ns,duration_ns,device,stream,grid_x,grid_y,grid_z,block_x,block_y,"
                "block_z,shared_bytes,graph_id,name\n"
                "0,100,5000,0,7,1,1,1,32,1,1,0,0,first\n"
                "1,6000,7000,1,13,1,1,1,32,1,1,0,0,\"void second<int, float>(int*)\"\n"
                "2,14000,9000,,,,,,,,,,,first\n")
          .string();
  ProcessOptions options;
  options.env = {{"FAKE_GPU_TRUTH", (dir / "truth").string()}};
  const std::string play = (FakeGpuDir() / "stemtap_play").string();
  const ProcessResult once = RunProcess({play, profile}, options);
  INFO(once.err);
  REQUIRE(once.exit_code == 0);
  CHECK(once.out.starts_with("launches 3 duration_ns 21000 wall_ms "));
  CHECK(once.out.find(" captured 0 capture_ms 0.000\n") != std::string::npos);
  CHECK(ReadTruth(dir / "truth").duration_ns == 21000);
  const ProcessResult thrice =
      RunProcess({play, profile, "--repeat", "3", "--threads", "2", "--real-time"}, options);
  CHECK(thrice.out.starts_with("launches 9 duration_ns 63000 "));
  CHECK(RunProcess({play}).exit_code == 2);
  CHECK(RunProcess({play, (dir / "absent.csv").string()}).exit_code == 1);
}

}  // namespace
}  // namespace stemtap::test
