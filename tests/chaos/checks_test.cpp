// SPDX-License-Identifier: Apache-2.0
// Tests that every check of the chaos test finds its breach, and that rounds depend only on the
// seed.
#include "chaos/checks.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>

#include "chaos/draw.h"
#include "chaos/host.h"
#include "shm/ring.h"
#include "support/temp_dir.h"

namespace stemtap::chaos {
namespace {

using test::TempDir;

bool Finds(const Breaches& breaches, const std::string& what) {
  for (const std::string& breach : breaches) {
    if (breach.find(what) != std::string::npos) return true;
  }
  return false;
}

constexpr int kExit7 = 7 << 8;
constexpr int kKilled = SIGKILL;
constexpr int kExit137 = (128 + SIGKILL) << 8;

TEST_CASE("a different exit status is found") {
  CHECK(CheckStatus(kExit7, kExit7, true).empty());
  CHECK(CheckStatus(kKilled, kKilled, false).empty());
  CHECK(CheckStatus(kKilled, kExit137, true).empty());
  CHECK(Finds(CheckStatus(kKilled, kExit137, false), "status"));
  CHECK(Finds(CheckStatus(kExit7, 0, true), "status"));
  CHECK(Finds(CheckStatus(0, SIGSEGV, true), "signal 11"));
}

TEST_CASE("a different output is found") {
  CHECK(CheckOutput("begin\nend\n", "begin\nend\n").empty());
  CHECK(Finds(CheckOutput("begin\nend\n", "begin\n"), "output"));
  CHECK(Finds(CheckOutput("begin\n", "begin\nstemtap: hello\n"), "output"));
}

TEST_CASE("unexpected output on stderr is found") {
  const std::string bare = "sh: line 1: 4711 Killed\n";
  CHECK(CheckErrors(bare, "sh: line 1: 815 Killed\n", true).empty());
  CHECK(CheckErrors(bare, "stemtap: nothing: no\n" + bare, true).empty());
  CHECK(Finds(CheckErrors(bare, "", true), "missing"));
  CHECK(Finds(CheckErrors(bare, bare + "ring\n", true), "unexpected"));
  CHECK(CheckErrors(bare, bare + "a summary\n", false).empty());
  CHECK(Finds(CheckErrors("", "terminate called after\n", false), "terminate"));
  CHECK(Finds(CheckErrors("", "fake CUPTI: no buffer\n", false), "fake CUPTI"));
  CHECK(Finds(CheckErrors("", "a: a.c:1: f: Assertion `n > 0' failed.\n", false), "n > 0"));
  CHECK(Finds(CheckErrors("", "vector:9: f: Assertion 'n < size()' failed.\n", false), "size"));
  CHECK(CheckErrors("", "    raise AssertionError(\nAssertionError: Len is 7\n", false).empty());
}

const char* kSessionJson =
    R"({"counters":{"seen":10,"kept":9,"dropped":1,"captured":1},"warnings":[],"processes":[{"pid":77,
        "state":"closed","reason":"","seen":10,"kept":9,"losses":{"ring_full":1}}]})";
const char* kPlanJson =
    R"({"totals":{"invocations":9,"samples":1},"kernels":[{"name":"k","invocations":9,
        "duration_ns":90}]})";
const char* kOverviewJson = R"({"state":"ended","seen":10,"kept":9,"dropped":1,
    "captured":1,"observed":9,"kernels":[{"name":"k","invocations":9}]})";

// Example is a session directory without breaches.
struct Example {
  TempDir scratch;
  Example() {
    scratch.Write("session/session.json", kSessionJson);
    scratch.Write("session/plan.json", kPlanJson);
    scratch.Write("session/overview.json", kOverviewJson);
    scratch.Write("session/summary.txt", "text\n");
    scratch.Write("session/mask.ndjson", "{\"event\":\"capture\"}\n");
  }
  Session Read(Breaches& breaches, const Circumstances& about = {}) const {
    return ReadSession(scratch / "session", about, breaches);
  }
  Breaches Breached(const Circumstances& about = {}) const {
    Breaches breaches;
    Read(breaches, about);
    return breaches;
  }
};

void MakeRing(const std::filesystem::path& path, std::uint64_t seen, std::uint64_t kept) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(::ftruncate(fd, sizeof(shm::RingFile)) == 0);
  void* memory = ::mmap(nullptr, sizeof(shm::RingFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  REQUIRE(memory != MAP_FAILED);
  ::close(fd);
  auto* ring = new (memory) shm::RingFile;
  ring->header.file_bytes = sizeof(shm::RingFile);
  ring->header.pid = 77;
  ring->header.seen = seen;
  ring->header.kept = kept;
  ring->header.state = static_cast<std::uint32_t>(shm::RingState::kClosed);
  ::munmap(memory, sizeof(shm::RingFile));
}

TEST_CASE("unreadable files are found") {
  const Example example;
  CHECK(example.Breached().empty());
  for (const char* name : {"session.json", "plan.json", "overview.json"}) {
    const Example cut;
    cut.scratch.Write(std::string("session/") + name, "{\"totals\":");
    CHECK(Finds(cut.Breached(), "unreadable"));
  }
  example.scratch.Write("session/mask.ndjson", "{\"event\":\"capt\n{\"event\":\"capture\"}\n");
  CHECK(Finds(example.Breached(), "unreadable"));
  example.scratch.Write("session/mask.ndjson", "{\"event\":\"capture\"}\n{\"event\":\"capt");
  CHECK(Finds(example.Breached(), "unreadable"));
  CHECK(example.Breached({.collector_killed = true}).empty());
  example.scratch.Write("session/summary.txt", "");
  CHECK(Finds(example.Breached(), "summary.txt"));
}

TEST_CASE("leftover rings and invalid rings are found") {
  const Example example;
  MakeRing(example.scratch / "session/ring.77", 5, 5);
  CHECK(Finds(example.Breached(), "left over"));
  CHECK(example.Breached({.collector_killed = true}).empty());
  example.scratch.Write("session/ring.78", "no ring");
  CHECK(Finds(example.Breached({.collector_killed = true}), "unreadable"));
}

TEST_CASE("leftover temporary files are found") {
  for (const char* name : {"plan.json.tmp.77", "overview.json.tmp.77", "summary.txt.tmp.77",
                           "new.ring.77", "gate.table", "control"}) {
    const Example example;
    example.scratch.Write(std::string("session/") + name, "x");
    CHECK(Finds(example.Breached(), "left over"));
  }
  const TempDir work;
  work.Write("stemtap-python3-77/plan.json", kPlanJson);
  CHECK(CheckNothingElse(work.path()).empty());
  work.Write("core", "x");
  CHECK(Finds(CheckNothingElse(work.path()), "left over"));
}

TEST_CASE("an incomplete file is allowed only if its writer was killed or may not remove it") {
  for (const char* name :
       {"overview.json", "plan.json", "session.json", "cells.json", "summary.txt"}) {
    CAPTURE(std::string(name));
    const Example example;
    example.scratch.Write("session/" + std::string(name) + ".tmp.77.0", "{");
    CHECK(Finds(example.Breached({.folder_touched = true}), "left over"));
    CHECK(example.Breached({.collector_killed = true}).empty());
    CHECK(example.Breached({.nothing_is_removed = true}).empty());
  }
  const Example example;
  example.scratch.Write("session/other.txt.tmp.77.0", "{");
  CHECK(Finds(example.Breached({.collector_killed = true}), "left over"));
}

TEST_CASE("an overview that differs from the session or is missing is found") {
  const std::string good = kOverviewJson;
  for (const auto& [from, to] :
       {std::pair("\"seen\":10", "\"seen\":9"), std::pair("\"kept\":9", "\"kept\":8"),
        std::pair("\"dropped\":1", "\"dropped\":0"), std::pair("\"captured\":1", "\"captured\":2"),
        std::pair("ended", "running"), std::pair("\"observed\":9", "\"observed\":8")}) {
    CAPTURE(to);
    const Example example;
    std::string wrong = good;
    wrong.replace(wrong.find(from), std::string(from).size(), to);
    example.scratch.Write("session/overview.json", wrong);
    CHECK(Finds(example.Breached(), "accounts: the overview"));
  }
  const Example example;
  std::filesystem::remove(example.scratch / "session/overview.json");
  CHECK(Finds(example.Breached(), "missing: "));
  CHECK(example.Breached({.folder_deleted = true}).empty());
  std::string said = kSessionJson;
  said.insert(said.find("\"warnings\":[") + 12, R"("overview.json could not be written 1 time")");
  example.scratch.Write("session/session.json", said);
  CHECK(example.Breached({.folder_touched = true}).empty());
  CHECK(Finds(example.Breached(), "missing: "));  // no fault affected the directory
  // A session that did not complete is not checked.
  const Example killed;
  std::filesystem::remove(killed.scratch / "session/session.json");
  std::filesystem::remove(killed.scratch / "session/overview.json");
  CHECK(killed.Breached({.collector_killed = true}).empty());
}

TEST_CASE("inconsistent sums are found") {
  const Example example;
  Breaches breaches;
  Session session = example.Read(breaches);
  const Truths truths = {{77, {10, {{"k", {10, 100}}}}}};
  CHECK(CheckAccounts({session}, truths, "", {}).empty());
  // Launches while recording was off are known to the truth, and only to it.
  const Truths with_off = {{77, {12, {{"k", {12, 120}}}, 2}}};
  CHECK(Finds(CheckAccounts({session}, with_off, "", {}), "silent: process 77 launched 12"));
  CHECK(CheckAccounts({session}, with_off, "", {.controlled = true}).empty());
  CHECK(Finds(CheckAccounts({session}, {{77, {13, {}, 2}}}, "", {.controlled = true}), "silent: "));
  Session wrong = session;
  wrong.processes[0].kept = 8;
  CHECK(Finds(CheckAccounts({wrong}, truths, "", {}), "accounts: process 77"));
  CHECK(Finds(CheckAccounts({session}, {{77, {9, {}}}}, "", {}), "was seen to launch 10"));
  example.scratch.Write("session/session.json",
                        R"({"counters":{"seen":11,"kept":9,"dropped":1},"processes":[]})");
  CHECK(Finds(example.Breached(), "the session has seen 11"));
  example.scratch.Write("session/plan.json", R"({"totals":{"invocations":9},"kernels":[]})");
  CHECK(Finds(example.Breached(), "the plan has 9"));
}

TEST_CASE("counts of a ring may differ only by records that a killed process had not yet flushed") {
  const Example example;
  MakeRing(example.scratch / "session/ring.77", 5, 6);
  Breaches breaches;
  const Session closed = example.Read(breaches, {.collector_killed = true});
  CHECK(Finds(CheckAccounts({closed}, {}, "", {}), "accounts"));
  Session killed = closed;
  killed.processes.back().state = "recording";
  killed.processes.erase(killed.processes.begin());
  CHECK(CheckAccounts({killed}, {}, "", {}).empty());
  killed.processes.back().kept = 300;
  CHECK(Finds(CheckAccounts({killed}, {}, "", {}), "accounts"));
}

TEST_CASE("losses that are not reported are found") {
  const Example example;
  Breaches breaches;
  const Session session = example.Read(breaches);
  const Truths more = {{77, {12, {}}}};
  CHECK(Finds(CheckAccounts({session}, more, "", {}), "silent: process 77 launched 12"));
  CHECK(CheckAccounts({session}, more, "", {.unheard_launches = true}).empty());
  Session spoken = session;
  spoken.processes[0].gone_astray = 1;
  CHECK(CheckAccounts({spoken}, more, "", {}).empty());
  Session mute = session;
  mute.processes[0].state = "disabled";
  CHECK(Finds(CheckAccounts({mute}, more, "", {}), "for no reason"));
  const Truths other = {{78, {5, {}}}};
  CHECK(Finds(CheckAccounts({session}, other, "", {}), "nothing is known of process 78"));
  CHECK(CheckAccounts({session}, other, "stemtap: no ring\n", {}).empty());
  Session unfinished = session;
  unfinished.finished = false;
  CHECK(Finds(CheckAccounts({unfinished}, {}, "", {}), "without session.json"));
  CHECK(CheckAccounts({unfinished}, {}, "stemtap: disk full\n", {}).empty());
}

TEST_CASE("a plan that differs from the launches is found") {
  Session session;
  session.finished = true;
  session.processes = {{.pid = 77, .state = "closed", .seen = 9, .kept = 9}};
  session.plan = {{"k", {9, 90}}};
  CHECK(CheckAccounts({session}, {{77, {9, {{"k", {9, 90}}}}}}, "", {}).empty());
  CHECK(
      Finds(CheckAccounts({session}, {{77, {9, {{"k", {9, 91}}}}}}, "", {}), "the plan's kernels"));
  CHECK(
      Finds(CheckAccounts({session}, {{77, {9, {{"l", {9, 90}}}}}}, "", {}), "the plan's kernels"));
  // The durations of perturbed launches are imputed, so only the number of launches is exact.
  session.slowed = 1;
  CHECK(CheckAccounts({session}, {{77, {9, {{"k", {9, 91}}}}}}, "", {}).empty());
  CHECK(
      Finds(CheckAccounts({session}, {{77, {9, {{"l", {9, 90}}}}}}, "", {}), "the plan's kernels"));
}

// Returns a finished window of process 77, whose launches are all of one kernel.
Session Window(std::uint64_t number, std::uint64_t launches) {
  Session session;
  session.folder = "session/window-000" + std::to_string(number);
  session.finished = true;
  session.window = number;
  session.kept = launches;
  session.processes = {{.pid = 77, .state = "closed", .seen = launches, .kept = launches}};
  session.plan = {{"k", {launches, 10 * launches}}};
  return session;
}

TEST_CASE("windows that are missing, left over or not finished are found") {
  const Circumstances about = {.windows = true};
  const Session last = Window(3, 1);
  const std::map<std::uint64_t, Session> all = {{1, Window(1, 5)}, {2, Window(2, 4)}};
  const std::map<std::uint64_t, Session> second = {{2, Window(2, 4)}};
  CHECK(CheckWindows(last, all, about).empty());
  CHECK(CheckWindows(Window(0, 1), {}, about).empty());
  CHECK(Finds(CheckWindows(last, second, about), "windows: 1 of 2 is missing"));
  CHECK(CheckWindows(last, second, {.windows = true, .keep = 1}).empty());
  CHECK(Finds(CheckWindows(last, all, {.windows = true, .keep = 1}), "left over"));
  CHECK(CheckWindows(last, second, {.folder_touched = true, .windows = true}).empty());
  std::map<std::uint64_t, Session> wrong = all;
  wrong[2].window = 1;
  CHECK(Finds(CheckWindows(last, wrong, about), "is of window 1"));
  wrong[2].finished = false;
  CHECK(Finds(CheckWindows(last, wrong, about), "unreadable: session/window-0002"));
  CHECK(CheckWindows(last, wrong, {.collector_killed = true, .windows = true}).empty());
  Session spoken = last;
  spoken.warnings = {"window 2 could not be written: the disk is full"};
  CHECK(CheckWindows(spoken, wrong, about).empty());
  wrong.erase(2);
  CHECK(CheckWindows(spoken, wrong, about).empty());
  CHECK(Finds(CheckWindows(last, wrong, about), "windows: 2 of 2 is missing"));
  spoken.warnings = {"2 more windows could not be written"};
  CHECK(CheckWindows(spoken, wrong, about).empty());

  const Example example;
  example.scratch.Write("session/window-0001/session.json", kSessionJson);
  CHECK(example.Breached(about).empty());
  CHECK(Finds(example.Breached(), "left over"));  // no windows are expected
  CHECK(WindowFolders(example.scratch / "session").size() == 1);
}

TEST_CASE("launches that no window or two windows contain are found") {
  const Circumstances about = {.windows = true};
  const Truths truths = {{77, {10, {{"k", {10, 100}}}}}};
  std::map<std::uint64_t, Session> parts = {{1, Window(1, 5)}, {2, Window(2, 4)}};
  const Session last = Window(3, 1);
  CHECK(CheckAccounts({Joined(parts, last, about)}, truths, "", about).empty());
  // Without the first window, the others are only known not to contain too much.
  const std::map<std::uint64_t, Session> second = {{2, Window(2, 4)}};
  CHECK(CheckAccounts({Joined(second, last, about)}, truths, "", about).empty());
  CHECK(Finds(CheckAccounts({Joined(second, Window(3, 7), about)}, truths, "", about),
              "was seen to launch 11"));
  parts[2] = Window(2, 3);
  CHECK(Finds(CheckAccounts({Joined(parts, last, about)}, truths, "", about), "silent: "));
  parts[2] = Window(2, 5);
  CHECK(Finds(CheckAccounts({Joined(parts, last, about)}, truths, "", about),
              "was seen to launch 11"));
  // The process delivered all launches, but a window lost one.
  parts[2] = Window(2, 4);
  parts[2].kept = 3;
  CHECK(Finds(CheckAccounts({Joined(parts, last, about)}, truths, "", about),
              "all windows have kept 9"));
  parts[2] = Window(2, 4);
  parts[2].plan["k"].duration_ns = 41;
  CHECK(
      Finds(CheckAccounts({Joined(parts, last, about)}, truths, "", about), "the plan's kernels"));
  // A ring has the counts of all windows.
  parts[2] = Window(2, 4);
  Session killed;
  killed.processes = {{.pid = 77, .state = "closed", .seen = 10, .kept = 10, .from_ring = true}};
  const Circumstances ends = {.collector_killed = true, .windows = true};
  CHECK(CheckAccounts({Joined(parts, killed, ends)}, truths, "", ends).empty());
}

TEST_CASE("excluded launches are kept and not in the plan") {
  const Example example;
  example.scratch.Write("session/plan.json",
                        R"({"totals":{"invocations":8,"excluded_invocations":1},
                            "kernels":[{"name":"k","invocations":8,"duration_ns":80}]})");
  CHECK(example.Breached().empty());
  example.scratch.Write("session/plan.json",
                        R"({"totals":{"invocations":8},
                            "kernels":[{"name":"k","invocations":8,"duration_ns":80}]})");
  CHECK(Finds(example.Breached(), "accounts: 9 kept, 8 in the plan"));
}

TEST_CASE("an attempt to attach that fails without a reason, or records nothing, is found") {
  const Circumstances about = {.controlled = true, .attached = true};
  const std::string warning = "stemtap: warning: the main thread is stopped\n";
  const Session session = Window(0, 5);
  CHECK(CheckAttempt({77, 0, ""}, {session}, about).empty());
  CHECK(Finds(CheckAttempt({78, 0, ""}, {session}, about), "nothing is known of process 78"));
  CHECK(
      CheckAttempt({77, 1 << 8, warning + "stemtap: there is no process 77\n"}, {}, about).empty());
  CHECK(Finds(CheckAttempt({77, 1 << 8, ""}, {}, about), "attach: exit 1"));
  CHECK(Finds(CheckAttempt({77, 1 << 8, warning}, {}, about), "attach: exit 1"));
  CHECK(Finds(CheckAttempt({77, SIGSEGV, ""}, {}, about), "attach: signal 11"));
  CHECK(Finds(CheckAttempt({77, std::nullopt, ""}, {}, about), "attach: still runs"));
  // What the process launched before is known to the truth, and only to it.
  CHECK(CheckAccounts({session}, {{77, {9, {}, 4}}}, "", about).empty());
  CHECK(Finds(CheckAccounts({session}, {{77, {9, {}, 3}}}, "", about), "silent: "));
  CHECK(Finds(CheckAccounts({session}, {{77, {4, {}, 0}}}, "", about), "was seen to launch 5"));
  // Other processes are not attached to.
  CHECK(CheckAccounts({session}, {{78, {9, {}}}}, "", about).empty());
}

TEST_CASE("a leftover process is found by its mark") {
  const TempDir folder;
  Start start;
  start.argv = {"/bin/sh", "-c", "sleep 60 & exec sleep 60"};
  start.environment = {"CHAOS_MARK=of-this-test", "PATH=/usr/bin:/bin"};
  start.cwd = folder.path();
  start.out = folder / "out";
  start.err = folder / "err";
  const pid_t pid = StartProcess(start);
  std::vector<pid_t> left;
  for (int waited = 0; left.size() != 2 && waited < 5000; ++waited) {
    ::poll(nullptr, 0, 2);
    left = Marked("CHAOS_MARK=of-this-test");
  }
  CHECK(left.size() == 2);
  CHECK(Finds(CheckProcesses(left), "process left"));
  CHECK(Marked("CHAOS_MARK=of-this-tes").empty());
  ::kill(-pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  for (int waited = 0; !left.empty() && waited < 5000; ++waited) {
    ::poll(nullptr, 0, 2);
    left = Marked("CHAOS_MARK=of-this-test");
  }
  CHECK(CheckProcesses(left).empty());
}

TEST_CASE("leftover shared memory is found") {
  const std::string name = "/stemtap-chaos-test-" + std::to_string(::getpid());
  const std::set<std::string> before = SharedMemory();
  const int fd = ::shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
  if (fd < 0) return;  // /dev/shm is not available
  ::close(fd);
  CHECK(Finds(CheckSharedMemory(before, SharedMemory()), name));
  ::shm_unlink(name.c_str());
}

TEST_CASE("a round depends only on its seed and number, and every choice occurs") {
  const Machine machine{true, true, true};
  std::set<Ending> endings;
  std::set<Way> ways;
  std::set<Wrapper> wrappers;
  std::set<FaultKind> faults;
  for (int number = 0; number < 2000; ++number) {
    const Round round = Draw(5, number, machine);
    CHECK(Describe(round) == Describe(Draw(5, number, machine)));
    CHECK(round.faults.size() <= 3);
    endings.insert(round.ending);
    ways.insert(round.way);
    wrappers.insert(round.wrapper);
    for (const Fault& fault : round.faults) faults.insert(fault.kind);
  }
  CHECK(endings.size() == static_cast<std::size_t>(Ending::kCount));
  CHECK(ways.size() == static_cast<std::size_t>(Way::kCount));
  CHECK(wrappers.size() == static_cast<std::size_t>(Wrapper::kCount));
  CHECK(faults.size() == static_cast<std::size_t>(FaultKind::kCount));
  CHECK(Describe(Draw(5, 0, machine)) != Describe(Draw(6, 0, machine)));
}

}  // namespace
}  // namespace stemtap::chaos
