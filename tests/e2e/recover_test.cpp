// SPDX-License-Identifier: Apache-2.0
//
// Kills the collector of a running session at random moments, and recovers the session.
//
//   STEMTAP_RECOVER_KILLS=100 tests/recover_test
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "base/rng.h"
#include "e2e/session.h"
#include "shm/ring.h"
#include "shm/session_env.h"
#include "support/paths.h"
#include "support/process.h"

namespace stemtap::test {
namespace {

constexpr double kRate = 20'000;  // launches per second
// A loss of more than a second is a failure. Half a second more, because a busy machine delays the
// threads of the program and of the collector.
constexpr double kMaxLostS = 1.5;

int Kills() {
  const char* kills = std::getenv("STEMTAP_RECOVER_KILLS");
  return kills == nullptr ? 6 : std::atoi(kills);
}

std::optional<std::filesystem::path> RingIn(const std::filesystem::path& session) {
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator(session, ignored)) {
    if (shm::IsRingName(file.path().filename().c_str())) return file.path();
  }
  return std::nullopt;
}

// Returns the number of launches that the process of a ring has recorded.
std::uint64_t SeenIn(const std::filesystem::path& ring) {
  const int file = ::open(ring.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  void* memory = ::mmap(nullptr, sizeof(shm::RingFile), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  REQUIRE(memory != MAP_FAILED);
  const std::uint64_t seen = static_cast<const shm::RingFile*>(memory)->header.seen.load();
  ::munmap(memory, sizeof(shm::RingFile));
  return seen;
}

TEST_CASE("a session whose collector is killed is recovered, up to its last second") {
  TempDir scratch;
  const std::string profile = (scratch / "run.stemtap").string();
  REQUIRE(RunProcess({StemtapProgram().string(), "generate", "llm-serve", "--launches", "200000",
                      "-q", "-o", profile})
              .exit_code == 0);
  Rng rng(static_cast<std::uint64_t>(::getpid()));
  double most_lost_s = 0.0;
  int from_rings = 0;
  for (int kill = 0; kill < Kills(); ++kill) {
    const std::filesystem::path session = scratch / "session";
    const char* const level = kill % 2 == 0 ? "kernels" : "gate";
    const auto delay = std::chrono::milliseconds(static_cast<int>(2500 * rng.Uniform()));
    CAPTURE(level);
    CAPTURE(delay.count());
    ProcessOptions options = OnFakeGpu(scratch);
    options.env.emplace_back("FAKE_GPU_CLOCK", "real");
    Process run({StemtapProgram().string(), "run", "-q", "--force", "-o", session.string(),
                 "--level", level, "--", (FakeGpuDir() / "stemtap_play").string(), profile,
                 "--rate", std::to_string(kRate)},
                options);
    std::optional<std::filesystem::path> ring;
    while (!ring) ring = RingIn(session);
    std::this_thread::sleep_for(delay);
    run.Signal(SIGKILL);
    CHECK(run.Wait().signal == SIGKILL);
    shm::ProcessImage program;
    REQUIRE(shm::ParseImageFileName(ring->filename().c_str(), shm::kRingPrefix, program));
    ::kill(static_cast<pid_t>(program.pid), SIGKILL);
    while (::kill(static_cast<pid_t>(program.pid), 0) == 0) std::this_thread::yield();

    const std::uint64_t seen = SeenIn(*ring);
    const auto recovered = RunProcess({StemtapProgram().string(), "recover", session.string()});
    CAPTURE(recovered.err);
    REQUIRE(recovered.exit_code == 0);
    const auto report = ReadJson(session / "session.json");
    CHECK(report["recovered"] == true);
    CHECK_FALSE(report.contains("snapshot"));
    const std::uint64_t kept = report["counters"]["kept"];
    REQUIRE(kept <= seen);
    const std::uint64_t missing = seen - kept;
    CHECK(recovered.err.find("; " + std::to_string(missing) + " launch") != std::string::npos);
    CHECK(report["warnings"].dump().find(" " + std::to_string(missing) + " launch") !=
          std::string::npos);
    // Launches are made at this rate at most.
    const double lost_s = static_cast<double>(missing) / kRate;
    CHECK(lost_s < kMaxLostS);
    most_lost_s = std::max(most_lost_s, lost_s);
    from_rings += recovered.err.find("left in rings") != std::string::npos;
    CHECK(OverviewDiffers(session) == "");
    for (const char* command : {"stats", "report"}) {
      CHECK(RunProcess({StemtapProgram().string(), command, session.string()}).exit_code == 0);
    }
    for (const char* gone : {"checkpoint", "control", "gate.table"}) {
      CHECK_FALSE(std::filesystem::exists(session / gone));
    }
    CHECK_FALSE(RingIn(session).has_value());
  }
  MESSAGE(Kills() << " kills, " << from_rings << " before the first checkpoint; at most "
                  << most_lost_s << " s of launches are missing");
}

TEST_CASE("only the session of a killed collector can be recovered") {
  TempDir scratch;
  const auto run =
      RunProcess({StemtapProgram().string(), "run", "-q", "-o", "session", "--", "/bin/sh", "-c",
                  "\"$0\" recover session; echo $?", StemtapProgram().string()},
                 OnFakeGpu(scratch));
  CHECK(run.out == "1\n");
  CHECK(run.err.find("session: its session runs; 'stemtap snapshot' writes its results so far") !=
        std::string::npos);
  const auto recover = [&](const std::filesystem::path& path) {
    return RunProcess({StemtapProgram().string(), "recover", path.string()});
  };
  CHECK(recover(scratch / "session")
            .err.ends_with("its session has ended; there is nothing to "
                           "recover\n"));
  CHECK(recover(scratch.path())
            .err.ends_with("contains no session; expected a session "
                           "directory\n"));
  CHECK(recover(scratch / "none").exit_code == 1);
}

}  // namespace
}  // namespace stemtap::test
