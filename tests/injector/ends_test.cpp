// SPDX-License-Identifier: Apache-2.0
//
// Runs the programs of tests/programs with the library: their output and exit status do not change,
// and their launches are in the ring, however they end.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>

#include "injector/injected.h"
#include "injector/wait_until.h"
#include "shm/session_env.h"
#include "support/paths.h"

namespace stemtap::test {
namespace {

void CheckSame(const ProcessResult& injected, const ProcessResult& bare) {
  CHECK(injected.exit_code == bare.exit_code);
  CHECK(injected.signal == bare.signal);
  CHECK_FALSE(injected.timed_out);
  CHECK(injected.out == bare.out);
  CHECK(injected.err == bare.err);
}

void CheckAccounts(const Ring& ring) {
  CHECK(ring.seen() == ring.kept() + ring.lost_records());
  CHECK(ring.kernels().size() == ring.kept());
}

// Returns the launches of tests/programs/victim.h: kernel i % 3 at step i.
ByName VictimTruth(std::uint64_t launches) {
  static const char* const kNames[] = {"gemm_tile_128", "_Z9softmax_fPKfPfi",
                                       "void reduce<float, 256>(float const*, float*, int)"};
  ByName sums;
  for (std::uint64_t step = 0; step < launches; ++step) {
    Launched& launched = sums[kNames[step % 3]];
    ++launched.count;
    launched.duration_ns += 2000 + step % 3 * 10000 + step * 37 % 500;
  }
  return sums;
}

TEST_CASE("all launches of programs that exit cleanly are kept with their exact durations") {
  struct Case {
    const char* program;
    std::vector<std::string> arguments;
  };
  for (const char* clock : {"virtual", "real"}) {
    for (const Case& c :
         {Case{"exit_return", {"10000", "print"}}, Case{"exit_call", {"10000"}},
          Case{"threads", {"20000"}}, Case{"graph", {"10000"}},
          Case{"fork_child", {"2000", "check"}}, Case{"reload_modules", {"5000"}}}) {
      // If kernels are still running at the end, some of their records are lost (see below).
      if (clock[0] == 'r' && c.program == std::string("exit_call")) continue;
      CAPTURE(c.program);
      CAPTURE(clock);
      const Variables variables = {{"FAKE_GPU_CLOCK", clock}};
      const Injected injected;
      const ProcessResult bare =
          RunProcess(Command(c.program, c.arguments), BareOptions(variables));
      CheckSame(injected.Run(c.program, c.arguments, variables), bare);
      Ring ring(injected.RingFile());
      ring.Drain();
      CheckAccounts(ring);
      CHECK(ring.state() == shm::RingState::kClosed);
      CHECK(ring.lost_records() == 0);
      const Truth truth = injected.ReadTruth();
      REQUIRE(truth.launches >= 2000);
      CHECK(ring.kept() == truth.launches);
      CHECK(SumByName(ring) == truth.by_name);
      CHECK(ring.names().size() == truth.by_name.size());
    }
  }
}

TEST_CASE("the header identifies the recorded process") {
  const Injected injected;
  REQUIRE(injected.Run("exit_return").exit_code == 0);
  const Ring ring(injected.RingFile());
  CHECK(std::string(ring.header().program) == "exit_return");
  using std::filesystem::perms;  // only the owner may read kernel names
  CHECK(std::filesystem::status(injected.RingFile()).permissions() ==
        (perms::owner_read | perms::owner_write));
  shm::ProcessImage image;
  REQUIRE(shm::ParseImageFileName(injected.RingFile().filename().c_str(), shm::kRingPrefix,
                                  image));
  CHECK(image.pid == static_cast<std::uint64_t>(ring.header().pid));
  CHECK(image.start_ns > 0);
  CHECK(ring.header().pid_namespace == shm::PidNamespace());
  CHECK(ring.header().driver_version == 13000);
  CHECK(ring.header().cupti_version >= 130000);
  CHECK(std::string(ring.header().reason).empty());
  CHECK(ring.header().buffers.load() > 0);
  CHECK(ring.gated() == 0);
}

TEST_CASE("kernels that run at exit() are counted as incomplete") {
  const Injected injected;
  const Variables variables = {{"FAKE_GPU_CLOCK", "real"}};
  CheckSame(injected.Run("exit_call", {"10000"}, variables),
            RunProcess(Command("exit_call", {"10000"}), BareOptions(variables)));
  Ring ring(injected.RingFile());
  ring.Drain();
  CheckAccounts(ring);
  CHECK(ring.state() == shm::RingState::kClosed);
  CHECK(ring.seen() == 10000);
  const std::uint64_t cut = ring.lost(shm::Loss::kIncomplete) + ring.lost(shm::Loss::kNoTimestamps);
  CHECK(ring.kept() + cut == 10000);
  // Up to 1,024 launches may be unfinished; see docs/design/fake-gpu.md.
  CHECK(ring.kept() >= 10000 - 1024);
}

TEST_CASE("records contain device, stream, configuration and correlation id") {
  const Injected injected;
  REQUIRE(injected.Run("exit_return", {"1000"}).exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  REQUIRE(ring.kernels().size() == 1000);
  std::uint64_t end = 0;
  for (std::size_t step = 0; step < 1000; ++step) {
    const shm::KernelRecord& r = ring.kernels()[step].record;
    REQUIRE(r.duration_ns == 2000 + step % 3 * 10000 + step * 37 % 500);
    REQUIRE(r.start_ns >= end);
    end = r.start_ns + r.duration_ns;
    REQUIRE(r.device == 0);
    REQUIRE(r.stream == ring.kernels()[0].record.stream);
    REQUIRE(r.grid[0] == 1 + step % 4);
    REQUIRE(r.grid[1] == 2);
    REQUIRE(r.grid[2] == 1);
    REQUIRE(r.block[0] == 128);
    REQUIRE(r.block[1] == 1);
    REQUIRE(r.block[2] == 1);
    REQUIRE(r.shared_bytes == 0);
    REQUIRE(r.flags == 0);
    REQUIRE(r.credit_slot == 0);
    REQUIRE(r.graph_id == 0);
    if (step > 0) REQUIRE(r.correlation_id == ring.kernels()[step - 1].record.correlation_id + 1);
  }
}

TEST_CASE("records of graph kernels contain the graph id") {
  const Injected injected;
  REQUIRE(injected.Run("graph", {"1000"}).exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  REQUIRE(ring.kernels().size() == 1000);
  for (const Ring::Kernel& kernel : ring.kernels()) {
    REQUIRE(kernel.record.graph_id != 0);
    REQUIRE(kernel.record.graph_id == ring.kernels()[0].record.graph_id);
  }
  CHECK(ring.kernels()[0].record.graph_node != ring.kernels()[1].record.graph_node);
  CHECK(ring.kernels()[0].record.graph_node == ring.kernels()[10].record.graph_node);
}

// The program ends without atexit handlers: the ring contains the records that the flusher fetched.
void CheckAbruptEnd(const char* program) {
  CAPTURE(program);
  const Injected injected;
  const std::filesystem::path go = injected.scratch("go");
  Process child(Command(program, {"10000", go.string()}), injected.Options());
  REQUIRE(child.WaitForOutput("launched\n"));
  Ring ring(injected.RingFile());
  // All kernels have ended; the flusher runs every 200 ms.
  CHECK(WaitUntil([&] { return ring.kept() == 10000; }));
  std::ofstream(go) << "go";
  const ProcessResult injected_result = child.Wait();
  CheckSame(injected_result, RunProcess(Command(program, {"10000", go.string()}), BareOptions()));
  ring.Drain();
  CheckAccounts(ring);
  CHECK(ring.state() == shm::RingState::kRecording);
  CHECK(SumByName(ring) == VictimTruth(10000));
}

TEST_CASE("flushed records are in the ring after _exit") {
  CheckAbruptEnd("exit_underscore");
}
TEST_CASE("flushed records are in the ring after SIGKILL") {
  CheckAbruptEnd("exit_sigkill");
}

TEST_CASE("the ring is consistent after _exit without a wait") {
  const Injected injected;
  CheckSame(injected.Run("exit_underscore", {"50000"}),
            RunProcess(Command("exit_underscore", {"50000"}), BareOptions()));
  Ring ring(injected.RingFile());
  ring.Drain();  // throws if a record is inconsistent
  CHECK(ring.kernels().size() >= ring.kept());
  CHECK(ring.kernels().size() <= 50000);
}

TEST_CASE("abort ends the program with its signal, and the ring is consistent") {
  const Injected injected;
  CheckSame(injected.Run("abort_me"), RunProcess(Command("abort_me", {"1000"}), BareOptions()));
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.kernels().size() >= ring.kept());
}

TEST_CASE("all records that are counted as kept are in the ring of a killed process") {
  int recorded = 0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const Injected injected;
    Process child(Command("exit_return", {"3000000"}), injected.Options());
    REQUIRE(WaitUntil([&] { return injected.RingFiles().size() == 1; }));
    Ring ring(injected.RingFile());
    // Each attempt ends at a different point during decoding.
    const std::uint64_t enough = 3000 + static_cast<std::uint64_t>(attempt) * 1777;
    REQUIRE(WaitUntil([&] { return ring.kept() >= enough; }));
    child.Signal(SIGKILL);
    REQUIRE(child.Wait().signal == SIGKILL);
    ring.Drain();
    CHECK(ring.kernels().size() >= ring.kept());
    CHECK(ring.kernels().size() <= ring.kept() + 256);
    // The program may have ended between the push and one of the two counts.
    CHECK(ring.seen() <= ring.kept() + ring.lost_records());
    CHECK(ring.seen() + 256 >= ring.kept() + ring.lost_records());
    recorded += ring.state() == shm::RingState::kRecording;
  }
  CHECK(recorded > 0);
}

TEST_CASE("launches of other threads after the ring is closed change no count") {
  int seen_closed = 0;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const Injected injected;
    Process child(Command("chaos_victim", {"launches=3000", "threads=64", "end=storm"}),
                  injected.Options({{"STEMTAP_BUFFER_KB", "16"}}));
    REQUIRE(WaitUntil([&] { return injected.RingFiles().size() == 1; }));
    Ring ring(injected.RingFile());
    REQUIRE(WaitUntil([&] { return ring.state() == shm::RingState::kClosed; }));
    const std::uint64_t seen = ring.seen();
    const std::uint64_t kept = ring.kept();
    CHECK(child.Wait().exit_code == 8);
    CHECK(ring.seen() == seen);
    CHECK(ring.kept() == kept);
    ring.Drain();
    CHECK(ring.kernels().size() == kept);
    CheckAccounts(ring);
    seen_closed += seen != 0;
  }
  CHECK(seen_closed > 0);
}

TEST_CASE("a program without a main thread is recorded, and ends by exit or with its last thread") {
  for (const char* how : {"exit", "return"}) {
    for (const char* level : {"kernels", "gate"}) {
      CAPTURE(how);
      CAPTURE(level);
      const Injected injected;
      // Long enough for several periods of the flusher.
      const std::vector<std::string> arguments = {"200000", how};
      const Variables variables = {{"STEMTAP_FLUSH_MS", "10"}, {"STEMTAP_LEVEL", level}};
      CheckSame(injected.Run("main_thread_gone", arguments, variables),
                RunProcess(Command("main_thread_gone", arguments), BareOptions()));
      Ring ring(injected.RingFile());
      ring.Drain();
      CheckAccounts(ring);
      CHECK(ring.state() == shm::RingState::kClosed);
      CHECK(ring.lost_records() == 0);
      CHECK(SumByName(ring) == VictimTruth(200000));
      CHECK(std::string(ring.header().program) == "main_thread_gon");
      CHECK(ring.header().pid_namespace == shm::PidNamespace());
    }
  }
}

TEST_CASE("an exit handler that runs after the last thread receives signals") {
  const Injected injected;
  Process child(Command("main_thread_gone", {"100", "stay"}), injected.Options());
  REQUIRE(child.WaitForOutput("exiting\n"));
  child.Signal(SIGTERM);
  CHECK(child.Wait().signal == SIGTERM);
}

TEST_CASE("two processes that fork before cuInit have a ring each") {
  const Injected injected;
  CheckSame(injected.Run("fork_cuda", {"3000"}),
            RunProcess(Command("fork_cuda", {"3000"}), BareOptions()));
  const auto files = injected.RingFiles();
  REQUIRE(files.size() == 2);
  for (const auto& file : files) {
    Ring ring(file);
    ring.Drain();
    CheckAccounts(ring);
    CHECK(ring.state() == shm::RingState::kClosed);
    CHECK(SumByName(ring) == VictimTruth(3000));
  }
}

TEST_CASE("a forked child ends without waiting for a thread that it does not have") {
  // At the end, the library waits up to 500 ms for its flusher.
  std::chrono::steady_clock::duration best = std::chrono::hours(1);
  for (int attempt = 0; attempt < 5; ++attempt) {
    const Injected injected;
    const auto begin = std::chrono::steady_clock::now();
    CHECK(injected.Run("fork_child", {"100"}).exit_code == 0);
    best = std::min(best, std::chrono::steady_clock::now() - begin);
    const Ring ring(injected.RingFile());
    CHECK(ring.kept() == 100);
  }
  CHECK(best < std::chrono::milliseconds(400));
}

TEST_CASE("a program without CUDA has no ring") {
  const Injected injected;
  CHECK(injected.Run("no_cuda", {}).out == "hello\n");
  CHECK(injected.RingFiles().empty());
  CHECK(injected.Run("no_cuda", {}, {{"LD_PRELOAD", InjectorLibrary().string()}}).out == "hello\n");
  CHECK(injected.RingFiles().empty());
}

TEST_CASE("a preloaded library records") {
  const Injected injected;
  ProcessOptions options = injected.Options({{"LD_PRELOAD", InjectorLibrary().string()}});
  std::erase_if(options.env, [](const auto& v) { return v.first == "CUDA_INJECTION64_PATH"; });
  CHECK(RunProcess(Command("exit_return", {"1000"}), options).exit_code == 0);
  const Ring ring(injected.RingFile());
  CHECK(ring.kept() == 1000);
}

TEST_CASE("STEMTAP_DISABLE prevents the ring") {
  const Injected injected;
  CHECK(injected.Run("exit_return", {"1000"}, {{"STEMTAP_DISABLE", "1"}}).exit_code == 0);
  CHECK(injected.RingFiles().empty());
}

TEST_CASE("records that do not fit into a full ring are counted as dropped") {
  const Injected injected;
  CHECK(injected.Run("exit_return", {"400000"}).exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  CheckAccounts(ring);
  CHECK(ring.seen() == 400000);
  CHECK(ring.kept() == shm::kRingCapacity);
  CHECK(ring.lost(shm::Loss::kRingFull) == 400000 - ring.kept());
}

TEST_CASE("no record is dropped if the ring is emptied while the program runs") {
  const Injected injected;
  Process child(Command("exit_return", {"1000000"}), injected.Options());
  REQUIRE(WaitUntil([&] { return injected.RingFiles().size() == 1; }));
  Ring ring(injected.RingFile());
  REQUIRE(WaitUntil([&] {
    ring.Drain();
    return ring.state() == shm::RingState::kClosed;
  }));
  CHECK(child.Wait().exit_code == 0);
  ring.Drain();
  CheckAccounts(ring);
  CHECK(ring.seen() == 1000000);
  CHECK(ring.kept() + ring.lost(shm::Loss::kRingFull) == 1000000);
  if (ring.lost_records() == 0) CHECK(SumByName(ring) == VictimTruth(1000000));
}

}  // namespace
}  // namespace stemtap::test
