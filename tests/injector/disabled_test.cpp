// SPDX-License-Identifier: Apache-2.0
//
// Tests conditions under which nothing can be recorded: the program is not affected, and the reason
// is in the ring or, without a ring, in a line on stderr.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "injector/injected.h"
#include "support/paths.h"
#include "support/small_disk.h"

namespace stemtap::test {
namespace {

constexpr std::uint64_t kLaunches = 2000;
constexpr unsigned kNobody = 65534;
const std::vector<std::string> kArguments = {"2000", "print"};

const ProcessResult& Bare() {
  static const ProcessResult result = RunProcess(Command("exit_return", kArguments), BareOptions());
  return result;
}

// Runs exit_return and checks that its behavior matches a run without the library.
std::unique_ptr<Ring> RunUndisturbed(const Injected& injected, const Variables& variables) {
  const ProcessResult result = injected.Run("exit_return", kArguments, variables);
  CHECK(result.exit_code == 0);
  CHECK(result.out == Bare().out);
  CHECK(result.err.empty());
  auto ring = std::make_unique<Ring>(injected.RingFile());
  ring->Drain();
  return ring;
}

// Returns the reason why recording is disabled, or "recorded".
std::string ReasonFor(const Variables& variables) {
  const Injected injected;
  const auto ring = RunUndisturbed(injected, variables);
  if (ring->state() != shm::RingState::kDisabled) return "recorded";
  CHECK(ring->seen() == 0);
  CHECK(ring->kernels().empty());
  return ring->header().reason;
}

bool Holds(const std::string& text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

TEST_CASE("recording is disabled without CUPTI") {
  // CUPTI is not installed: this path does not exist on any machine.
  CHECK(Holds(ReasonFor({{"STEMTAP_CUPTI", "/no/such/libcupti.so"}}), "CUPTI not found"));
  // The driver is too old for CUPTI, so no CUPTI is searched for.
  CHECK(Holds(ReasonFor({{"FAKE_GPU_DRIVER_VERSION", "9020"}}), "CUPTI not found"));
}

TEST_CASE("recording is disabled if the directory contains only the driver") {
  const TempDir dir;
  std::filesystem::create_symlink(FakeGpuDir() / "libcuda.so.1", dir / "libcuda.so.1");
  // The driver has an unreleased CUDA version: no library on this machine can be its CUPTI.
  const std::string reason = ReasonFor({{"LD_LIBRARY_PATH", dir.path().string()},
                                        {"CUDA_HOME", dir.path().string()},
                                        {"STEMTAP_CUPTI", (dir / "libcupti.so.13").string()}});
  CHECK(Holds(reason, "CUPTI not found"));
  CHECK(Holds(reason, "STEMTAP_CUPTI"));
}

TEST_CASE("recording is disabled if the library is not CUPTI") {
  CHECK(ReasonFor({{"STEMTAP_CUPTI", "libm.so.6"}}) == "this libcupti lacks cuptiGetVersion");
}

TEST_CASE("CUPTI is found by STEMTAP_CUPTI and CUDA_HOME") {
  const TempDir dir;
  std::filesystem::create_symlink(FakeGpuDir() / "libcuda.so.1", dir / "libcuda.so.1");
  std::filesystem::create_directories(dir / "home/extras/CUPTI/lib64");
  // The driver has CUDA 12, whose CUPTI is least likely to be on the loader's path.
  const std::filesystem::path cupti = dir / "home/extras/CUPTI/lib64/libcupti.so.12";
  std::filesystem::create_symlink(FakeGpuDir() / "libcupti.so.13", cupti);
  const Variables common = {{"LD_LIBRARY_PATH", dir.path().string()},
                            {"FAKE_GPU_DRIVER_VERSION", "12040"}};
  Variables named = common;
  named.emplace_back("STEMTAP_CUPTI", cupti.string());
  CHECK(ReasonFor(named) == "recorded");

  // The loader's path takes precedence.
  if (RunProcess({"sh", "-c", "ldconfig -p | grep -q 'libcupti.so.12 '"}).exit_code == 0) {
    MESSAGE("SKIPPED in part: the loader's cache contains libcupti.so.12");
    return;
  }
  Variables home = common;
  home.emplace_back("CUDA_HOME", (dir / "home").string());
  CHECK(ReasonFor(home) == "recorded");
}

TEST_CASE("another tool that uses CUPTI is reported by name") {
  for (const char* level : {"kernels", "gate"}) {
    CAPTURE(level);
    const std::string reason =
        ReasonFor({{"FAKE_CUPTI_OCCUPIED", "Nsight"}, {"STEMTAP_LEVEL", level}});
    CHECK(reason == "CUPTI is in use by another tool: Nsight");
  }
}

TEST_CASE("another tool is recognized by its environment variables") {
  CHECK(ReasonFor({{"NSYS_PROFILING_SESSION_ID", "1"}}) ==
        "Nsight Systems (nsys) is in this process");
  CHECK(ReasonFor({{"NV_SANITIZER_INJECTION_TRANSPORT_TYPE", "1"}}) ==
        "compute-sanitizer is in this process");
}

TEST_CASE("a profiler that uses CUDA is not recorded and starts no collector") {
  const TempDir dir;
  const auto nsys = dir / "nsys";
  std::filesystem::copy_file(TestProgram("exit_return"), nsys);
  const Injected injected;
  const ProcessResult in_session = injected.Run(nsys.string(), kArguments);
  CHECK(in_session.exit_code == 0);
  CHECK(in_session.out == Bare().out);
  const Ring ring(injected.RingFile());
  CHECK(ring.state() == shm::RingState::kDisabled);
  CHECK(std::string(ring.header().reason) == "this process is Nsight Systems (nsys) itself");

  std::filesystem::create_directory(dir / "empty");
  ProcessOptions options = BareOptions({{"CUDA_INJECTION64_PATH", InjectorLibrary().string()}});
  options.cwd = dir / "empty";
  const ProcessResult alone = RunProcess({nsys.string(), kArguments[0], kArguments[1]}, options);
  CHECK(alone.exit_code == 0);
  CHECK(alone.out == Bare().out);
  CHECK(alone.err.empty());
  CHECK(std::filesystem::is_empty(dir / "empty"));
}

TEST_CASE("another injection library is loaded after this library, and both work") {
  const Injected injected;
  const ProcessResult result =
      injected.Run("exit_return", kArguments, {{"STEMTAP_CHAIN", STEMTAP_TEST_OTHER_LIBRARY}});
  CHECK(result.exit_code == 0);
  CHECK(result.out == Bare().out);
  CHECK(result.err == "other tool: here\n");
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.kept() == kLaunches);

  // Neither library depends on the other: this library may be disabled, and the other may fail.
  const Injected off;
  CHECK(off.Run("exit_return", kArguments,
                {{"STEMTAP_CHAIN", STEMTAP_TEST_OTHER_LIBRARY}, {"STEMTAP_DISABLE", "1"}})
            .err == "other tool: here\n");
  CHECK(off.RingFiles().empty());
  const Injected missing;
  CHECK(missing.Run("exit_return", kArguments, {{"STEMTAP_CHAIN", "/no/such.so"}}).err ==
        "stemtap: cannot be loaded: /no/such.so\n");
  CHECK(Ring(missing.RingFile()).seen() == kLaunches);
  const Injected no_entry;
  CHECK(no_entry.Run("exit_return", kArguments, {{"STEMTAP_CHAIN", STEMTAP_TEST_EMPTY_LIBRARY}})
            .err.empty());
}

TEST_CASE("recording is disabled if an NVBit tool is loaded") {
  const std::string reason = "an NVBit tool is loaded in this process";
  for (const std::string how : {"STEMTAP_CHAIN", "LD_PRELOAD"}) {
    CAPTURE(how);
    const Injected injected;
    const ProcessResult result =
        injected.Run("exit_return", kArguments, {{how, STEMTAP_TEST_NVBIT_LIBRARY}});
    CHECK(result.exit_code == 0);
    CHECK(result.out == Bare().out);
    const Ring ring(injected.RingFile());
    CHECK(ring.state() == shm::RingState::kDisabled);
    CHECK(std::string(ring.header().reason) == reason);
  }
}

TEST_CASE("recording is disabled for CUPTI versions with unknown records") {
  CHECK(Holds(ReasonFor({{"FAKE_CUPTI_VERSION", "11"}}), "CUPTI version 11 is not supported"));
}

TEST_CASE("the failure of a required call is reported with the call or the cause") {
  const auto reason = [](const char* script, const char* level = "kernels") {
    return ReasonFor({{"FAKE_CUPTI_FAIL", script}, {"STEMTAP_LEVEL", level}});
  };
  CHECK(Holds(reason("cuptiGetVersion=999"), "CUPTI version"));
  CHECK(Holds(reason("cuptiSubscribe_v2=999"), "CUPTI cannot be used: error 999"));
  CHECK(Holds(reason("cuptiSubscribe_v2=35"), "CUPTI cannot be used: error 35 CUPTI_ERROR_"));
  CHECK(Holds(reason("cuptiSubscribe_v2=39"), "CUPTI is in use by another tool"));
  for (const char* level : {"kernels", "gate"}) {
    CHECK(Holds(reason("cuptiActivityRegisterCallbacks=999", level),
                "cuptiActivityRegisterCallbacks failed: error 999"));
    CHECK(Holds(reason("cuptiActivityEnable=1", level), "cuptiActivityEnable failed: error 1"));
  }
}

TEST_CASE("the failure of an optional call does not affect the recording") {
  for (const char* script :
       {"cuptiActivitySetAttribute=999", "cuptiActivityGetNumDroppedRecords=999",
        "cuptiGetResultString=999", "cuptiActivityEnable@2=999,cuptiActivityEnable@3=999",
        "cuptiUnsubscribe=999", "cuptiEnableCallback=999", "cuptiActivityFlushAll@1=999"}) {
    for (const char* level : {"kernels", "gate"}) {
      CAPTURE(script);
      CAPTURE(level);
      const Injected injected;
      const auto ring =
          RunUndisturbed(injected, {{"FAKE_CUPTI_FAIL", script}, {"STEMTAP_LEVEL", level}});
      CHECK(ring->state() == shm::RingState::kClosed);
      CHECK(ring->kept() == kLaunches);
      CHECK(SumByName(*ring) == injected.ReadTruth().by_name);
    }
  }
}

TEST_CASE("if launch callbacks are refused, the header reports that no launch is gated") {
  const Injected injected;
  const auto ring = RunUndisturbed(
      injected, {{"FAKE_CUPTI_FAIL", "cuptiEnableCallback=999"}, {"STEMTAP_LEVEL", "gate"}});
  CHECK(Holds(ring->header().reason, "CUPTI refused launch callback"));
  CHECK(ring->gated() == 0);
}

TEST_CASE("records that cannot be fetched are not counted as seen") {
  {
    const Injected injected;
    const auto ring =
        RunUndisturbed(injected, {{"FAKE_CUPTI_FAIL", "cuptiActivityGetNextRecord=999"}});
    CHECK(ring->seen() == 0);
    CHECK(ring->header().buffers.load() > 0);
    CHECK(ring->lost(shm::Loss::kUnreadBuffers) == ring->header().buffers.load());
  }
  {
    const Injected injected;
    const auto ring = RunUndisturbed(injected, {{"FAKE_CUPTI_FAIL", "cuptiActivityFlushAll=999"}});
    CHECK(ring->seen() == ring->kept() + ring->lost_records());
    CHECK(ring->kept() == ring->kernels().size());
    CHECK(ring->kept() < kLaunches);
    // The buffer that was never returned is counted.
    CHECK(ring->lost(shm::Loss::kForeignBuffers) == 1);
  }
}

TEST_CASE("a setuid program is not recorded") {
  const Injected injected;
  const auto run = [&](bool secure) {
    const std::string program = injected.scratch(secure ? "secure" : "plain").string();
    std::filesystem::copy_file(STEMTAP_TEST_SECURE_START, program);
    // Only root can change the owner of the program, which then runs with its owner's rights.
    if (secure) {
      REQUIRE(chown(program.c_str(), kNobody, kNobody) == 0);
      REQUIRE(chmod(program.c_str(), 04755) == 0);
    }
    return RunProcess({program, STEMTAP_TEST_FAKE_CUDA}, injected.Options());
  };
  if (geteuid() != 0) {
    MESSAGE("SKIPPED: only root can change the owner of a program");
    return;
  }
  CHECK(run(false).out == "secure 0\n");
  const std::size_t rings = injected.RingFiles().size();
  CHECK(rings == 1);
  const ProcessResult secure = run(true);
  if (secure.out != "secure 1\n") {
    MESSAGE("SKIPPED: setuid programs are not supported on this file system");
    return;
  }
  CHECK(secure.err.empty());
  CHECK(injected.RingFiles().size() == rings);
}

TEST_CASE("a ring that cannot be created is reported in one line on stderr") {
  const TempDir dir;
  const std::string file = dir.Write("file", "").string();
  for (const std::string& session : {std::string("/no/such/folder"), file, std::string("/proc")}) {
    CAPTURE(session);
    const Injected injected;
    const ProcessResult result =
        injected.Run("exit_return", kArguments, {{"STEMTAP_SESSION", session}});
    CHECK(result.exit_code == 0);
    CHECK(result.out == Bare().out);
    CHECK(result.err.starts_with("stemtap: nothing will be recorded: " + session + "/"));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
}

TEST_CASE("a path in a message cannot control the terminal") {
  const Injected injected;
  const ProcessResult result = injected.Run(
      "exit_return", kArguments, {{"STEMTAP_SESSION", "/no/\x1B[31m\xE2\x80\xAE\n\x7Fsuch"}});
  CHECK(result.exit_code == 0);
  CHECK(result.err.starts_with(
      "stemtap: nothing will be recorded: /no/\\x1B[31m\\xE2\\x80\\xAE\\x0A\\x7Fsuch/"));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);

  const ProcessResult cut = injected.Run(
      "exit_return", kArguments, {{"STEMTAP_SESSION", "/" + std::string(600, '\x1B')}});
  CHECK(cut.err.starts_with("stemtap: nothing will be recorded: /\\x1B\\x1B"));
  CHECK(cut.err.ends_with("\\x1B\n"));
}

TEST_CASE("a full disk is reported in one line on stderr, and no file is left behind") {
  const Injected injected;
  const SmallDisk disk(injected.scratch("disk"), "4M");
  STEMTAP_SKIP_WITHOUT_DISK(disk);
  const ProcessResult result =
      RunProcess(disk.Command("\"$2\" 2000 print && ls -A \"$1\"", {Command("exit_return", {})[0]}),
                 injected.Options({{"STEMTAP_SESSION", injected.scratch("disk").string()}}));
  CHECK(result.exit_code == 0);
  CHECK(result.out == Bare().out);
  CHECK(Holds(result.err, "stemtap: nothing will be recorded: "));
  CHECK(Holds(result.err, "No space left on device"));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
}

TEST_CASE("a limit on file sizes does not kill the program") {
  const Injected injected;
  const ProcessResult result = RunProcess(
      {"sh", "-c", "ulimit -f 100; exec \"$0\" 2000 print", Command("exit_return", {})[0]},
      injected.Options());
  CHECK(result.signal == 0);
  CHECK(result.exit_code == 0);
  CHECK(result.out == Bare().out);
  CHECK(result.err.starts_with("stemtap: nothing will be recorded: "));
  CHECK(Holds(result.err, "File too large"));
  CHECK(injected.RingFiles().empty());
}

TEST_CASE("a lack of memory for buffers is reported as the reason") {
  const Injected injected;
  // This is enough for the program, but a sixteenth of it is less than eight buffers of 16 MiB.
  ProcessOptions options =
      injected.Options({{"STEMTAP_BUFFER_KB", "16384"}, {"MALLOC_ARENA_MAX", "1"}});
  const ProcessResult result = RunProcess(
      {"sh", "-c", "ulimit -v 1500000; exec \"$0\" 2000 print", Command("exit_return", {})[0]},
      options);
  CHECK(result.exit_code == 0);
  CHECK(result.out == Bare().out);
  const Ring ring(injected.RingFile());
  CHECK(ring.state() == shm::RingState::kDisabled);
  CHECK(std::string(ring.header().reason) == "no memory for activity buffers");
}

TEST_CASE("with an address space limit, the program keeps most of the address space") {
  const std::string command = "ulimit -v $1; exec \"$0\" launches=20000 threads=200";
  const std::string program = TestProgram("chaos_victim").string();
  // 512 MiB for 1,024 buffers would leave too little for 200 threads.
  for (const char* kib : {"573440", "600000"}) {
    CAPTURE(kib);
    const Injected injected;
    // The arenas of the C library would also use all available address space.
    const ProcessResult result =
        injected.Run("/bin/sh", {"-c", command, program, kib}, {{"MALLOC_ARENA_MAX", "1"}});
    CHECK(result.exit_code == 0);
    Ring ring(injected.RingFile());
    ring.Drain();
    CHECK(ring.seen() == ring.kept() + ring.lost_records());
    CHECK(ring.kept() != 0);
  }
  const Injected injected;
  const ProcessResult result = injected.Run("/bin/sh", {"-c", command, program, "200000"});
  CHECK(result.exit_code == 0);
  CHECK(Holds(result.err, "nothing will be recorded: the address space limit"));
  CHECK(injected.RingFiles().empty());
  // This is 1 MiB less than eight arenas of 64 MiB per core require.
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  const std::string little = std::to_string((256 + 512 * cores - 1) * 1024);
  const ProcessResult arenas = injected.Run("/bin/sh", {"-c", command, program, little});
  CHECK(arenas.exit_code == 0);
  CHECK(
      Holds(arenas.err, "arenas; expected " + std::to_string(256 + 512 * cores) + " MiB or more"));
  CHECK(injected.RingFiles().empty());
}

TEST_CASE("a session that has ended is reported in a line on stderr, and no ring is created") {
  const Injected injected;
  std::ofstream(injected.session() / "session.json") << "{}";
  const ProcessResult result = injected.Run("exit_return", {"1000"});
  CHECK(result.exit_code == 0);
  CHECK(result.err == "stemtap: nothing will be recorded: " + injected.session().string() +
                          ": the session has ended\n");
  CHECK(injected.RingFiles().empty());
}

TEST_CASE("a closed stderr pipe does not end the program") {
  const Injected injected;
  // The only reader of the pipe ends before the program starts.
  const ProcessResult result =
      injected.Run("/bin/sh",
                   {"-c", "mkfifo \"$1\" && exec 3<>\"$1\" 2>\"$1\" 3<&- && exec \"$0\" 1000",
                    TestProgram("exit_return").string(), injected.scratch("pipe").string()},
                   {{"STEMTAP_SESSION", "/nonexistent/session"}});
  CHECK(result.signal == 0);
  CHECK(result.exit_code == 0);
}

}  // namespace
}  // namespace stemtap::test
