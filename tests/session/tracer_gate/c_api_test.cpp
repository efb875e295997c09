// SPDX-License-Identifier: Apache-2.0
// Tests libstemtap_gate.so as a C tool uses it.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "stemtap/gate.h"
#include "support/temp_dir.h"

namespace stemtap::session {
namespace {

stemtap_launch Launch(const char* name, std::uint32_t grid = 1) {
  stemtap_launch launch = {};
  launch.struct_size = sizeof launch;
  launch.name = name;
  launch.grid[0] = grid;
  launch.grid[1] = launch.grid[2] = 1;
  launch.block[0] = 64;
  launch.block[1] = launch.block[2] = 1;
  launch.shared_bytes = STEMTAP_UNKNOWN_32;
  return launch;
}

stemtap_gate* Open(const std::string& session, const char* options = nullptr) {
  stemtap_gate_options given = {};
  given.struct_size = sizeof given;
  given.flags = STEMTAP_GATE_QUIET;
  given.session = session.c_str();
  given.options = options;
  return stemtap_gate_open(&given);
}

TEST_CASE("a session can be recorded through the C interface") {
  const test::TempDir folder;
  const std::string session = (folder / "session").string();
  stemtap_gate* gate = Open(session, "--error-bound 0.02 --seed 7 --exclude \"nccl all\"");
  REQUIRE(gate != nullptr);
  CHECK(std::string(stemtap_gate_message(gate)).empty());
  std::uint64_t captured = 0;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    stemtap_launch launch = i % 4 == 0 ? Launch("gemm", 8) : Launch("add");
    launch.stream = 0x7F0000001000u + i % 2 * 64;
    launch.context = 0x55AA00000000u;
    const stemtap_answer answer = stemtap_gate_should_capture(gate, &launch);
    REQUIRE(answer.id == i + 1);
    captured += answer.capture;
    const std::uint64_t duration = (i % 4 == 0 ? 9000u : 1500u) + i * 31 % 100;
    CHECK(stemtap_gate_observe(gate, answer.id,
                               answer.capture != 0 ? STEMTAP_UNKNOWN_DURATION : duration) ==
          STEMTAP_GATE_OK);
  }
  CHECK(stemtap_gate_observe(gate, 3, 1) == STEMTAP_GATE_UNKNOWN_ID);
  CHECK(stemtap_gate_observe(gate, 0, 1) == STEMTAP_GATE_OK);
  CHECK(stemtap_gate_close(gate) == STEMTAP_GATE_OK);
  const auto plan = nlohmann::json::parse(test::ReadFile(folder / "session/plan.json"));
  CHECK(plan["options"]["error_bound"] == 0.02);
  CHECK(plan["options"]["seed"] == 7);
  CHECK(plan["options"]["exclude"] == "nccl all");
  CHECK(plan["totals"]["invocations"] == 20'000);
  CHECK(plan["totals"]["samples"] == captured);
  CHECK(captured >= 2);
  CHECK(captured < 200);
  CHECK(plan["totals"]["bound"].get<double>() <= 0.02);
}

TEST_CASE("kernels that wait for other GPUs and excluded kernels are not captured") {
  const test::TempDir folder;
  stemtap_gate* gate = Open((folder / "session").string(), "--exclude ^copy");
  const char* const names[] = {"gemm", "ncclDevKernel_AllReduce", "copy", "oneShotAllReduceKernel"};
  std::uint64_t captured[4] = {};
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const stemtap_launch launch = Launch(names[i % 4]);
    const stemtap_answer answer = stemtap_gate_should_capture(gate, &launch);
    REQUIRE(answer.id == i + 1);
    captured[i % 4] += answer.capture;
    REQUIRE(stemtap_gate_observe(gate, answer.id, 1000 + i * 31 % 100) == STEMTAP_GATE_OK);
  }
  CHECK(stemtap_gate_close(gate) == STEMTAP_GATE_OK);
  CHECK(captured[0] >= 2);
  CHECK(captured[1] == 0);
  CHECK(captured[2] == 0);
  CHECK(captured[3] == 0);
  const auto plan = nlohmann::json::parse(test::ReadFile(folder / "session/plan.json"));
  CHECK(plan["totals"]["invocations"] == 15'000);
  CHECK(plan["totals"]["excluded_invocations"] == 5000);
  CHECK(plan["totals"]["samples"] == captured[0]);
  CHECK(plan["totals"]["uncovered_fraction"].get<double>() ==
        doctest::Approx(2.0 / 3.0).epsilon(0.001));
  CHECK(test::ReadFile(folder / "session/summary.txt")
            .find("warning: never captured: ncclDevKernel_AllReduce (NCCL: it waits for other "
                  "GPUs)\n") != std::string::npos);
}

TEST_CASE("a gate that cannot be opened reports why and rejects all calls safely") {
  const test::TempDir folder;
  const std::string session = (folder / "session").string();
  const auto why = [&](stemtap_gate* gate) {
    REQUIRE(gate != nullptr);
    const stemtap_launch launch = Launch("k");
    const stemtap_answer answer = stemtap_gate_should_capture(gate, &launch);
    CHECK(answer.id == 0);
    CHECK(answer.capture == 0);
    CHECK(stemtap_gate_observe(gate, 1, 1) == STEMTAP_GATE_FAILED);
    CHECK(stemtap_gate_abandon(gate, 1) == STEMTAP_GATE_FAILED);
    std::string message = stemtap_gate_message(gate);
    CHECK(stemtap_gate_close(gate) == STEMTAP_GATE_FAILED);
    return message;
  };
  CHECK(why(Open(session, "--error-bound 7")).find("--error-bound") != std::string::npos);
  CHECK(why(Open(session, "--no-such-option 1")).find("no-such-option") != std::string::npos);
  CHECK(why(Open(session, "--exclude (")).find("(") != std::string::npos);
  CHECK(why(Open((folder / "no/such/parent").string())).find("no/such/parent") !=
        std::string::npos);
  folder.Write("session/plan.json", "{}");  // not written by stemtap
  CHECK(why(Open(session)).find("session") != std::string::npos);
  stemtap_gate_options small = {};
  small.struct_size = 8;
  small.flags = STEMTAP_GATE_QUIET;
  CHECK(why(stemtap_gate_open(&small)).find("struct_size") != std::string::npos);

  CHECK(stemtap_gate_close(nullptr) == STEMTAP_GATE_OK);
  CHECK(stemtap_gate_observe(nullptr, 1, 1) == STEMTAP_GATE_FAILED);
  CHECK(stemtap_gate_should_capture(nullptr, nullptr).id == 0);
  CHECK_FALSE(std::string(stemtap_gate_message(nullptr)).empty());
}

TEST_CASE("unknown fields of later struct versions are ignored") {
  const test::TempDir folder;
  struct LaterOptions {
    stemtap_gate_options known;
    std::uint64_t later = ~std::uint64_t{0};
  } options = {};
  const std::string session = (folder / "session").string();
  options.known.struct_size = sizeof options;
  options.known.session = session.c_str();
  options.known.flags = STEMTAP_GATE_QUIET | 0x80000000u;
  stemtap_gate* gate = stemtap_gate_open(&options.known);
  struct LaterLaunch {
    stemtap_launch known;
    std::uint64_t later = ~std::uint64_t{0};
  } launch;
  launch.known = Launch("k");
  launch.known.struct_size = sizeof launch;
  CHECK(stemtap_gate_should_capture(gate, &launch.known).id == 1);
  launch.known.struct_size = sizeof(stemtap_launch) - 8;
  CHECK(stemtap_gate_should_capture(gate, &launch.known).id == 0);
  CHECK(stemtap_gate_close(gate) == STEMTAP_GATE_OK);
  CHECK(stemtap_gate_version() == STEMTAP_GATE_VERSION);
}

TEST_CASE("environment variables set session and options if the tool does not") {
  const test::TempDir folder;
  const std::string session = (folder / "from-environment").string();
  setenv("STEMTAP_SESSION", session.c_str(), 1);
  setenv("STEMTAP_OPTIONS", "--seed 42", 1);
  stemtap_gate* gate = stemtap_gate_open(nullptr);
  unsetenv("STEMTAP_SESSION");
  unsetenv("STEMTAP_OPTIONS");
  CHECK(stemtap_gate_close(gate) == STEMTAP_GATE_OK);
  CHECK(test::ReadFile(folder / "from-environment/plan.json").find("\"seed\": 42") !=
        std::string::npos);
}

TEST_CASE("the gate of a forked child fails, and the gate of the parent continues") {
  const test::TempDir folder;
  stemtap_gate* gate = Open((folder / "session").string());
  stemtap_launch launch = Launch("k");
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool failed = stemtap_gate_should_capture(gate, &launch).id == 0 &&
                        stemtap_gate_close(gate) == STEMTAP_GATE_FAILED;
    _exit(failed ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(stemtap_gate_should_capture(gate, &launch).id == 1);
  CHECK(stemtap_gate_close(gate) == STEMTAP_GATE_OK);
  CHECK(std::filesystem::exists(folder / "session/plan.json"));
}

}  // namespace
}  // namespace stemtap::session
