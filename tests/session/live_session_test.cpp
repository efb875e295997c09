// SPDX-License-Identifier: Apache-2.0
// Tests the collector without a GPU: a shell copies ring files into the session directory.
#include "session/live_session.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "session/traced_processes.h"
#include "session/written_ring.h"
#include "shm/gate_table.h"
#include "shm/ring.h"
#include "support/temp_dir.h"

namespace stemtap::session {
namespace {

using test::TempDir;

// Creates a ring that contains `kernels` launches of the kernel "k".
void MakeRing(const std::string& path, std::int32_t pid, shm::RingState state, int kernels,
              int seen_more = 0, int kept_less = 0) {
  WrittenRing writer(path, pid);
  writer.ring->header.pid_namespace = shm::PidNamespace();
  writer.ring->header.seen = static_cast<std::uint64_t>(kernels + seen_more);
  writer.ring->header.kept = static_cast<std::uint64_t>(kernels - kept_less);
  writer.Define(0, "k");
  for (int i = 0; i < kernels; ++i) {
    shm::KernelRecord kernel;
    kernel.correlation_id = static_cast<std::uint32_t>(i);
    kernel.duration_ns = 1000;
    writer.ring->queue.push(shm::Record(kernel));
  }
  writer.ring->header.state = static_cast<std::uint32_t>(state);
}

SessionResult RunShell(const TempDir& scratch, const std::string& script,
                       TraceLevel level = TraceLevel::kKernels) {
  LiveOptions options;
  options.level = level;
  options.command = {"/bin/sh", "-c", "cd '" + scratch.path().string() + "'; " + script};
  options.folder = (scratch / "session").string();
  options.threads = 1;
  options.quiet = true;
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  auto outcome = RunLive(options);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);  // inherited by the next program
  REQUIRE(outcome.ok());
  return std::move(outcome).value();
}

TEST_CASE("a process may reuse the pid of an ended process, and ended rings are removed") {
  TempDir scratch;
  MakeRing((scratch / "first").string(), 0x7FFFFFF0, shm::RingState::kRecording, 10);
  MakeRing((scratch / "second").string(), 0x7FFFFFF0, shm::RingState::kClosed, 7);
  const SessionResult outcome =
      RunShell(scratch,
               "mv first session/ring.77; i=0; "
               "while [ -e session/ring.77 ] && [ $i -lt 200 ]; do sleep 0.02; i=$((i + 1)); done; "
               "[ $i -lt 200 ] || exit 9; mv second session/ring.77");
  CHECK(outcome.session.exit_code == 0);
  REQUIRE(outcome.session.processes.size() == 2);
  CHECK(outcome.session.processes[0].read == 10);
  CHECK(outcome.session.processes[1].read == 7);
  CHECK(outcome.plan.totals.invocations == 17);
  CHECK_FALSE(std::filesystem::exists(scratch / "session/ring.77"));
}

TEST_CASE("a process that executes another program has a second ring, and both are read") {
  TempDir scratch;
  MakeRing((scratch / "first").string(), ::getpid(), shm::RingState::kRecording, 10);
  MakeRing((scratch / "second").string(), ::getpid(), shm::RingState::kClosed, 7);
  const SessionResult outcome =
      RunShell(scratch, "mv first session/ring.77.1; sleep 0.2; mv second session/ring.77.2");
  REQUIRE(outcome.session.processes.size() == 2);
  CHECK(outcome.plan.totals.invocations == 17);
  CHECK_FALSE(std::filesystem::exists(scratch / "session/ring.77.1"));
  CHECK_FALSE(std::filesystem::exists(scratch / "session/ring.77.2"));
}

TEST_CASE(
    "programs of one process that join at once are all read, and only the latest still runs") {
  TempDir scratch;
  std::string script;
  for (int i = 0; i < 8; ++i) {
    const std::string name = "ring.77." + std::to_string(9 + i);  // 9 is before 10
    MakeRing((scratch / name).string(), ::getpid(), shm::RingState::kRecording, 10 + i);
    script += "mv " + name + " session/; ";
  }
  const SessionResult outcome = RunShell(scratch, script);
  REQUIRE(outcome.session.processes.size() == 8);
  CHECK(outcome.plan.totals.invocations == 80 + 28);
  CHECK(outcome.session.warnings.size() == 1);
  CHECK(outcome.session.warnings[0].ends_with("was still running when the session ended"));
  CHECK(outcome.session.processes[7].read == 17);
  for (const auto& file : std::filesystem::directory_iterator(scratch / "session")) {
    CHECK_FALSE(file.path().filename().string().starts_with("ring."));
  }
}

TEST_CASE("a signal that is ignored, as under nohup, stays ignored in the program") {
  TempDir scratch;
  const auto before = ::signal(SIGHUP, SIG_IGN);
  const SessionResult outcome = RunShell(scratch, "kill -HUP $$; exit 5");
  ::signal(SIGHUP, before);
  CHECK(outcome.session.exit_code == 5);
}

TEST_CASE("the exit code of a program is known even if SIGCHLD is ignored") {
  TempDir scratch;
  ::signal(SIGCHLD, SIG_IGN);
  const SessionResult outcome = RunShell(scratch, "exit 6");
  ::signal(SIGCHLD, SIG_DFL);
  CHECK(outcome.session.exit_code == 6);
}

TEST_CASE("SIGPIPE and SIGXFSZ end the program but not the session") {
  for (const int signal : {SIGPIPE, SIGXFSZ}) {
    TempDir scratch;
    const auto before = ::signal(signal, SIG_DFL);
    const SessionResult outcome =
        RunShell(scratch, "kill -" + std::to_string(signal) + " $$; exit 5");
    CHECK(outcome.session.signal == signal);
    const bool ignored = ::signal(signal, before) == SIG_IGN;
    CHECK(ignored);
  }
}

TEST_CASE("SIGPIPE stays ignored after a session cannot start") {
  const auto before = ::signal(SIGPIPE, SIG_DFL);
  LiveOptions options;
  options.command = {"/bin/true"};
  options.folder = "/nonexistent/session";
  CHECK_FALSE(RunLive(options).ok());
  const bool ignored = ::signal(SIGPIPE, before) == SIG_IGN;
  CHECK(ignored);
}

TEST_CASE("an incomplete ring of an ended process is removed") {
  TempDir scratch;
  const SessionResult outcome = RunShell(scratch, "echo half > session/new.ring.77; exit 3");
  CHECK(outcome.session.exit_code == 3);
  CHECK_FALSE(std::filesystem::exists(scratch / "session/new.ring.77"));
}

TEST_CASE("the gate table is renamed when it is complete, and an existing table is not replaced") {
  TempDir scratch;
  scratch.Write("new.gate.table", "left over");
  const int events = ::inotify_init1(IN_NONBLOCK);
  REQUIRE(events >= 0);
  REQUIRE(::inotify_add_watch(events, scratch.path().c_str(), IN_CREATE | IN_MOVED_TO) >= 0);
  LiveOptions options;
  options.attach_pid = 0x7FFFFFF0;  // no such process, so the session ends immediately
  options.folder = scratch.path().string();
  options.level = TraceLevel::kGate;
  options.threads = 1;
  options.quiet = true;
  CHECK(RunLive(options).ok());
  alignas(inotify_event) char buffer[8192];
  const ssize_t length = ::read(events, buffer, sizeof(buffer));
  ::close(events);
  int appeared = 0;
  for (ssize_t at = 0; at < length;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
    if (event->len != 0 && std::string(event->name) == "gate.table") {
      CHECK((event->mask & IN_MOVED_TO) != 0);
      ++appeared;
    }
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
  }
  CHECK(appeared == 1);
  CHECK_FALSE(std::filesystem::exists(scratch / "gate.table"));
  CHECK_FALSE(std::filesystem::exists(scratch / "new.gate.table"));

  std::filesystem::remove(scratch / "mask.ndjson");
  scratch.Write("gate.table", "of another collector");
  const auto refused = RunLive(options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("gate.table: cannot be made: ") != std::string::npos);
  CHECK(std::filesystem::file_size(scratch / "gate.table") == 20);
  CHECK_FALSE(std::filesystem::exists(scratch / "new.gate.table"));
}

TEST_CASE("the gate table contains the seed of the sampling options") {
  TempDir scratch;
  LiveOptions options;
  options.command = {"/bin/sh", "-c",
                     "cp '" + (scratch / "session/gate.table").string() + "' '" +
                         (scratch / "copy").string() + "'"};
  options.folder = (scratch / "session").string();
  options.level = TraceLevel::kGate;
  options.threads = 1;
  options.quiet = true;
  options.sampling.seed = 0x123456789ABCDEF0;
  REQUIRE(RunLive(options).ok());
  std::ifstream copy(scratch / "copy", std::ios::binary);
  auto file = std::make_unique<shm::GateFile>();
  copy.read(reinterpret_cast<char*>(file.get()), sizeof(*file));
  REQUIRE(copy.gcount() == std::streamsize{sizeof(*file)});
  CHECK(file->version == shm::kGateVersion);
  CHECK(file->seed == 0x123456789ABCDEF0);
}

TEST_CASE("a session whose shared files are truncated continues and reports this") {
  TempDir scratch;
  MakeRing((scratch / "cut").string(), ::getpid(), shm::RingState::kRecording, 10);
  MakeRing((scratch / "fake").string(), ::getpid(), shm::RingState::kRecording, 0);
  MakeRing((scratch / "whole").string(), 0x7FFFFFF0, shm::RingState::kClosed, 7);
  LiveOptions options;
  // The overview appears after both rings are mapped and the first ring has been read.
  options.command = {
      "/bin/sh", "-c",
      "cd '" + scratch.path().string() +
          "'; mv cut session/ring.77; mv fake session/ring.78; i=0; "
          "until grep -q '\"seen\": 10,' session/overview.json && "
          "[ $(grep -o '\"reason\"' session/overview.json | wc -l) = 2 ]; do sleep 0.02; i=$((i + "
          "1)); "
          "[ $i -lt 1500 ] || exit 9; done; truncate -s 0 session/ring.77 session/ring.78 "
          "session/gate.table; mv whole session/ring.79; exit 5"};
  options.folder = (scratch / "session").string();
  options.level = TraceLevel::kGate;
  options.threads = 1;
  options.quiet = true;
  const auto outcome = RunLive(options);
  REQUIRE(outcome.ok());
  const model::RecordedSession& report = outcome.value().session;
  CHECK(report.exit_code == 5);
  CHECK(outcome.value().failure == "");
  REQUIRE(report.processes.size() == 3);
  int truncated = 0;
  for (const ProcessReport& process : report.processes) {
    CHECK(process.seen == process.kept + process.dropped() - process.malformed);
    truncated += process.reason == "its ring was truncated";
  }
  CHECK(truncated == 2);
  CHECK(outcome.value().plan.totals.invocations == 17);
  REQUIRE(report.warnings.size() == 1);
  CHECK(report.warnings[0].find("gate.table was truncated") == 0);
  CHECK(SessionSummary(report, outcome.value().plan).find("its ring was truncated") !=
        std::string::npos);
}

TEST_CASE("the counters of a killed process add up") {
  for (const auto& [seen_more, kept_less] : {std::pair(1, 0), std::pair(0, 7), std::pair(-7, 7)}) {
    TempDir scratch;
    MakeRing((scratch / "first").string(), 0x7FFFFFF0, shm::RingState::kRecording, 10, seen_more,
             kept_less);
    const SessionResult outcome = RunShell(scratch, "mv first session/ring.77");
    REQUIRE(outcome.session.processes.size() == 1);
    const ProcessReport& process = outcome.session.processes[0];
    CHECK(process.kept == 10);
    CHECK(process.seen == process.kept + process.dropped());
    CHECK(outcome.plan.totals.invocations == 10);
  }
}

TEST_CASE("a ring that cannot be removed is not read twice") {
  TempDir scratch;
  MakeRing((scratch / "first").string(), 0x7FFFFFF0, shm::RingState::kClosed, 10);
  // Root can write into any directory that is not immutable.
  const SessionResult outcome =
      RunShell(scratch,
               "mv first session/ring.77; chmod 500 session; "
               "[ $(id -u) = 0 ] && chattr +i session 2>/dev/null; sleep 0.2; "
               "[ $(id -u) = 0 ] && chattr -i session 2>/dev/null; chmod 700 session; exit 0");
  CHECK(outcome.plan.totals.invocations == 10);
  CHECK(outcome.session.processes.size() == 1);
}

TEST_CASE("a ring that cannot be opened is retried and reported at the end") {
  TempDir scratch;
  MakeRing((scratch / "first").string(), 0x7FFFFFF0, shm::RingState::kClosed, 10);
  const SessionResult outcome =
      RunShell(scratch,
               "mkdir session/ring.77 session/ring.78; "
               "sleep 0.2; rmdir session/ring.77; mv first session/ring.77");
  CHECK(outcome.plan.totals.invocations == 10);
  CHECK_FALSE(std::filesystem::exists(scratch / "session/ring.77"));
  REQUIRE(outcome.session.warnings.size() == 1);
  const std::string& warning = outcome.session.warnings[0];
  CHECK(warning.find("not read: ") == 0);
  CHECK(warning.find("ring.78: cannot be opened: Is a directory") != std::string::npos);
}

TEST_CASE("an overview that cannot be written is reported once, and the session is complete") {
  TempDir scratch;
  MakeRing((scratch / "first").string(), 0x7FFFFFF0, shm::RingState::kClosed, 10);
  // A directory has the name of the file. Next to it is a temporary file that was not removed.
  const SessionResult outcome = RunShell(
      scratch,
      "until rm session/overview.json; do sleep 0.01; done; mkdir -p session/overview.json/x; "
      "touch session/overview.json.tmp.1; mv first session/ring.77; sleep 1.2");
  CHECK(outcome.session.exit_code == 0);
  CHECK(outcome.failure.empty());
  CHECK(outcome.plan.totals.invocations == 10);
  REQUIRE(outcome.session.warnings.size() == 1);
  CHECK(outcome.session.warnings[0].find("overview.json could not be written ") == 0);
  CHECK(std::filesystem::exists(scratch / "session/session.json"));
  CHECK_FALSE(std::filesystem::exists(scratch / "session/overview.json.tmp.1"));
}

TEST_CASE("the summary lists a process that did not shut down cleanly") {
  TempDir scratch;
  MakeRing((scratch / "first").string(), 0x7FFFFFF0, shm::RingState::kRecording, 10);
  const SessionResult killed = RunShell(scratch, "mv first session/ring.77");
  const char* said = "did not shut down cleanly";
  CHECK(SessionSummary(killed.session, killed.plan).find(said) != std::string::npos);
  TempDir other;
  MakeRing((other / "first").string(), 0x7FFFFFF0, shm::RingState::kClosed, 10);
  const SessionResult closed = RunShell(other, "mv first session/ring.77");
  CHECK(SessionSummary(closed.session, closed.plan).find(said) == std::string::npos);
}

TEST_CASE("captures that were not requested are not in the plan, and are reported") {
  TempDir scratch;
  {
    WrittenRing ring((scratch / "first").string(), 0x7FFFFFF0);
    ring.Define(0, "k");
    for (std::uint32_t i = 0; i < 500; ++i) {
      ring.Captured(0, 2 * i, shm::kFlagCaptured | shm::kFlagExploratory);
      ring.Captured(0, 2 * i + 1);
    }
    ring.ring->header.state = static_cast<std::uint32_t>(shm::RingState::kClosed);
  }
  const SessionResult outcome = RunShell(scratch, "mv first session/ring.77", TraceLevel::kGate);
  CHECK(outcome.plan.totals.invocations == 1000);
  CHECK(outcome.sampler.captured == 1);
  CHECK(outcome.sampler.explored == 1);
  REQUIRE(outcome.session.warnings.size() == 1);
  CHECK(
      outcome.session.warnings[0].starts_with("999 launches that processes reported as captured"));
}

TEST_CASE("any number of files that are named like rings is one line, and their number") {
  TempDir scratch;
  const SessionResult outcome = RunShell(
      scratch, "i=0; while [ $i -lt 300 ]; do i=$((i + 1)); echo > session/ring.$i; done; exit 5");
  CHECK(outcome.session.exit_code == 5);
  CHECK(outcome.session.processes.empty());
  REQUIRE(outcome.session.warnings.size() == TracedProcesses::kMaxUnread + 1);
  CHECK(outcome.session.warnings.back() ==
        "300 files named like rings were not read; 16 of them are listed");
}

TEST_CASE("kernel names beyond the limit of the session are refused, and their launches counted") {
  TempDir scratch;
  constexpr std::uint32_t kNames = 1u << 16;
  for (std::uint32_t r = 0; r < 3; ++r) {
    WrittenRing ring((scratch / ("written." + std::to_string(r))).string(), 0x7FFFFFF0);
    for (std::uint32_t id = 0; id < kNames; ++id) ring.Define(id, std::to_string(r * kNames + id));
    const std::uint32_t launched = r < 2 ? kNames : 10;
    for (std::uint32_t id = 0; id < launched; ++id) ring.Kernel(id, 5);
    ring.ring->header.seen = ring.ring->header.kept = launched;
    ring.ring->header.state = static_cast<std::uint32_t>(shm::RingState::kClosed);
  }
  const SessionResult outcome =
      RunShell(scratch,
               "for r in 0 1 2; do mv written.$r session/ring.7$r; i=0; "
               "while [ -e session/ring.7$r ] && [ $i -lt 1000 ]; do sleep 0.02; i=$((i + 1)); "
               "done; done");
  CHECK(outcome.plan.totals.invocations == 2 * kNames);
  std::uint64_t refused = 0;
  for (const ProcessReport& process : outcome.session.processes) {
    refused += process.losses[static_cast<std::uint32_t>(shm::Loss::kTooManyNames)];
  }
  CHECK(refused == 10);
}

// Writes the indices of the queue, as a damaged or hostile process can.
struct Indices : shm::RecordQueue {
  static auto& Write(shm::RecordQueue& queue) { return queue.*&Indices::write_index_; }
  static auto& Read(shm::RecordQueue& queue) { return queue.*&Indices::read_index_; }
};

TEST_CASE("a process that never stops recording does not keep the session from ending") {
  TempDir scratch;
  WrittenRing ring((scratch / "first").string());
  ring.Define(0, "k");
  shm::RecordQueue& queue = ring.ring->queue;
  while (queue.write_available() != 0) ring.Kernel(0, 5);
  std::atomic<bool> stop{false};
  std::thread daemon([&] {
    // The queue is always full.
    while (!stop.load(std::memory_order_relaxed)) {
      const std::size_t begin = Indices::Read(queue).load();
      Indices::Write(queue).store((begin + shm::kRingCapacity) % (shm::kRingCapacity + 1));
    }
  });
  const SessionResult outcome = RunShell(scratch, "mv first session/ring.77; exit 5");
  stop = true;
  daemon.join();
  CHECK(outcome.session.exit_code == 5);
  CHECK(outcome.plan.totals.invocations >= shm::kRingCapacity / 2);
}

}  // namespace
}  // namespace stemtap::session
