// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/temp_dir.h"
#include "ui/top/made_overview.h"
#include "ui/top/session_finder.h"
#include "ui/top/session_watch.h"

using namespace stemtap;
using namespace stemtap::ui;
using test::JsonOf;
using test::MadeOverview;
using test::TempDir;
using test::WriteOverview;
using namespace std::chrono_literals;

namespace {

namespace fs = std::filesystem;

// Returns places that contain only files that the test creates.
FinderPlaces PlacesIn(const TempDir& dir) {
  fs::create_directories(dir / "here");
  fs::create_directories(dir / "other");
  fs::create_directories(dir / "proc");
  return {(dir / "here").string(), (dir / "other").string(), (dir / "proc").string()};
}

void Age(const fs::path& file, int seconds) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
}

fs::path MakeSession(const fs::path& directory, const MadeOverview& made, int age) {
  fs::create_directories(directory);
  WriteOverview(directory, JsonOf(made));
  Age(directory / "overview.json", age);
  return directory;
}

fs::path EndedSession(const fs::path& directory, int age) {
  MadeOverview made;
  made.state = "ended";
  MakeSession(directory, made, age);
  for (const char* name : {"plan.json", "session.json"}) std::ofstream(directory / name) << "{}";
  return directory;
}

// Returns an unused process id.
std::int32_t DeadPid() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

}  // namespace

TEST_CASE("the newest session is searched only below the current directory") {
  const TempDir dir;
  const FinderPlaces places = PlacesIn(dir);
  const auto newest = [&](Newest wanted) { return NewestSession(wanted, places); };
  // Sessions next to or above `here`, in `other`, or of a running process are not found.
  EndedSession(dir / "other/stemtap-x-1", 0);
  EndedSession(dir / "stemtap-above", 0);
  MakeSession(dir / "beside/s", {}, 0);
  fs::create_directories(dir / "proc/55/fd");
  fs::create_symlink(dir / "beside/s/mask.ndjson", dir / "proc/55/fd/7");
  for (const Newest wanted : {Newest::kEnded, Newest::kRunningFirst}) {
    const Result<std::string> none = newest(wanted);
    REQUIRE(!none.ok());
    CHECK(none.error().message.starts_with("no session below the current directory; name a"));
  }
  EndedSession(dir / "here/stemtap-a-1", 100);
  CHECK(newest(Newest::kEnded).value() == (dir / "here/stemtap-a-1").string());
  CHECK(newest(Newest::kRunningFirst).value() == (dir / "here/stemtap-a-1").string());
  EndedSession(dir / "here/runs/today/out", 60);
  CHECK(newest(Newest::kEnded).value() == (dir / "here/runs/today/out").string());
  EndedSession(dir / "here/runs/today/too/deep", 50);
  CHECK(newest(Newest::kEnded).value() == (dir / "here/runs/today/out").string());
  // The current directory itself can be a session.
  EndedSession(dir / "here", 40);
  CHECK(newest(Newest::kEnded).value() + "/" == (dir / "here/").string());
}

TEST_CASE("report ignores running sessions, and top prefers them") {
  const TempDir dir;
  const FinderPlaces places = PlacesIn(dir);
  MakeSession(dir / "here/running", {}, 1);
  const Result<std::string> none = NewestSession(Newest::kEnded, places);
  REQUIRE(!none.ok());
  CHECK(none.error().message ==
        "no session below the current directory has ended, 1 of 1 still run; name a session "
        "directory");
  EndedSession(dir / "here/ended", 20);
  CHECK(NewestSession(Newest::kEnded, places).value() == (dir / "here/ended").string());
  CHECK(NewestSession(Newest::kRunningFirst, places).value() == (dir / "here/running").string());
  // A killed session does not count as running.
  MadeOverview killed;
  killed.pid = DeadPid();
  MakeSession(dir / "here/running", killed, 60);
  CHECK(NewestSession(Newest::kRunningFirst, places).value() == (dir / "here/ended").string());
  MakeSession(dir / "here/killed", killed, 10);
  CHECK(NewestSession(Newest::kRunningFirst, places).value() == (dir / "here/killed").string());
  CHECK(NewestSession(Newest::kEnded, places).value() == (dir / "here/ended").string());
  // A new session has a ring but no overview yet.
  dir.Write("here/began/ring." + std::to_string(::getpid()), "");
  Age(dir / ("here/began/ring." + std::to_string(::getpid())), 90);
  CHECK(NewestSession(Newest::kRunningFirst, places).value() == (dir / "here/began").string());
}

TEST_CASE("sessions of other users and behind symbolic links are ignored") {
  const TempDir dir;
  FinderPlaces places = PlacesIn(dir);
  EndedSession(dir / "here/s", 0);
  EndedSession(dir / "elsewhere", 0);
  fs::create_directory_symlink(dir / "elsewhere", dir / "here/link");
  CHECK(NewestSession(Newest::kEnded, places).value() == (dir / "here/s").string());
  ++places.user;
  CHECK(!NewestSession(Newest::kEnded, places).ok());
  CHECK(!NewestSession(Newest::kRunningFirst, places).ok());
  --places.user;
  fs::remove_all(dir / "here/s");
  CHECK(!NewestSession(Newest::kEnded, places).ok());
  // Adds a session of another user if this test is allowed to create it.
  EndedSession(dir / "here/theirs", 0);
  if (::geteuid() != 0 || ::chown((dir / "here/theirs").c_str(), 65534, 65534) != 0) {
    MESSAGE("SKIPPED: only root can give a directory to another user");
    return;
  }
  CHECK(!NewestSession(Newest::kEnded, places).ok());
}

TEST_CASE("an unreadable directory is reported as unreadable") {
  const TempDir dir;
  const FinderPlaces places = PlacesIn(dir);
  const fs::path session = MakeSession(dir / "here/s", {}, 0);
  const fs::path overview = session / "overview.json";
  fs::permissions(session, fs::perms::none);
  const uid_t before = ::geteuid();
  if (before == 0) {  // root ignores permissions
    fs::permissions(dir.path(), fs::perms::all);
    REQUIRE(::seteuid(65534) == 0);
  }
  const Result<std::string> directory = FindSession(session.string(), places);
  const Result<std::string> file = FindSession(overview.string(), places);
  REQUIRE(::seteuid(before) == 0);
  fs::permissions(session, fs::perms::owner_all);
  REQUIRE(!directory.ok());
  CHECK(directory.error().message ==
        session.string() + ": Permission denied; expected a session directory");
  REQUIRE(!file.ok());
  CHECK(file.error().message ==
        overview.string() + ": Permission denied; expected a session directory");
}

TEST_CASE("a session is found by its directory") {
  const TempDir dir;
  const FinderPlaces places = PlacesIn(dir);
  const fs::path session = MakeSession(dir / "here/s", {}, 0);
  CHECK(FindSession(session.string(), places).value() == session.string());
  CHECK(FindSession(session.string() + "/", places).value() == session.string());
  CHECK(FindSession("s", places).value() == session.string());
  CHECK(FindSession((session / "overview.json").string(), places).value() == session.string());
  const Result<std::string> empty = FindSession((dir / "other").string(), places);
  REQUIRE(!empty.ok());
  CHECK(empty.error().message.find("contains no overview.json") != std::string::npos);
  const Result<std::string> none = FindSession("no\x1Bne", places);
  REQUIRE(!none.ok());
  CHECK(none.error().message ==
        "no\\x1Bne: no such directory; expected a session directory or a pid");
  dir.Write("here/new/mask.ndjson", "");
  CHECK(FindSession("new", places).ok());
}

TEST_CASE("a session is found by the id of one of its processes") {
  const TempDir dir;
  const FinderPlaces places = PlacesIn(dir);
  MadeOverview made;
  made.pid = 777;
  MakeSession(dir / "here/s", made, 0);
  MakeSession(dir / "here/older", made, 90);
  CHECK(FindSession("777", places).value() == (dir / "here/s").string());
  CHECK(FindSession("4242", places).value() == (dir / "here/s").string());  // a traced process
  dir.Write("here/r/ring.888", "");
  CHECK(FindSession("888", places).value() == (dir / "here/r").string());
  // A merged session does not belong to a local process, because its pids are from other machines.
  std::string merged = JsonOf(made);
  merged.replace(merged.find("\"live\""), 6, "\"merged\"");
  dir.Write("here/job/overview.json", merged);
  Age(dir / "here/job/overview.json", -90);
  CHECK(FindSession("4242", places).value() == (dir / "here/s").string());
  CHECK(!FindSession("77", places).ok());
  CHECK(!FindSession("99999999999999999999", places).ok());
  // The open files of a process identify its session in any location.
  fs::create_directories(dir / "proc/55/fd");
  fs::create_symlink("/far/away/mask.ndjson", dir / "proc/55/fd/7");
  CHECK(FindSession("55", places).value() == "/far/away");
  dir.Write("proc/56/maps", "7f00-7f01 rw-s 00000000 08:01 12   /far/of f/ring.56\n");
  CHECK(FindSession("56", places).value() == "/far/of f");
  // In a container, the path refers to the container's file system, even if it also exists here.
  const fs::path inner = dir / "here/s";
  dir.Write("proc/57/maps", "7f00-7f01 rw-s 00000000 08:01 12   " + inner.string() + "/ring.57\n");
  CHECK(FindSession("57", places).value() == inner.string());
  const fs::path outer = dir / "proc/57/root" / inner.relative_path();
  MakeSession(outer, {}, 0);
  CHECK(FindSession("57", places).value() == outer.string());
}

TEST_CASE("an overview is read again only when it has changed") {
  const TempDir dir;
  SessionWatch watch(dir.path().string());
  CHECK(watch.Refresh());  // reports that there is no overview
  CHECK(watch.state() == SessionState::kWaiting);
  CHECK(watch.overview() == nullptr);
  CHECK(watch.problem().find("overview.json: No such file") != std::string::npos);
  CHECK(!watch.Refresh());

  MadeOverview made;
  WriteOverview(dir.path(), JsonOf(made));
  CHECK(watch.Refresh());
  REQUIRE(watch.overview() != nullptr);
  CHECK(watch.overview()->kernels.size() == 3);
  CHECK(watch.problem().empty());
  CHECK(watch.state() == SessionState::kRunning);
  CHECK(watch.text() == JsonOf(made));
  CHECK(!watch.Refresh());

  // If the file is unreadable, the previous overview is kept and a problem is reported.
  dir.Write("overview.json", "{\"sche");
  CHECK(watch.Refresh());
  CHECK(watch.overview()->kernels.size() == 3);
  CHECK(watch.problem().find("expected an overview.json") != std::string::npos);
  CHECK(!watch.Refresh());
  WriteOverview(dir.path(), JsonOf(made));
  CHECK(watch.Refresh());
  CHECK(watch.problem().empty());
}

TEST_CASE("a session that is no longer updated was killed if its collector does not exist") {
  const TempDir dir;
  MadeOverview made;
  made.pid = DeadPid();
  WriteOverview(dir.path(), JsonOf(made));
  SessionWatch watch(dir.path().string());
  auto now = SessionWatch::Clock::now();
  watch.Refresh(now);
  CHECK(watch.state() == SessionState::kRunning);  // possibly on another machine
  CHECK(watch.Refresh(now += 4s));
  CHECK(watch.state() == SessionState::kKilled);
  CHECK(watch.overdue_s() == 0);
  // The session runs on another machine, or a new session started in the same directory. Then it
  // is killed again.
  made.elapsed_s += 1;
  WriteOverview(dir.path(), JsonOf(made));
  watch.Refresh(now);
  CHECK(watch.state() == SessionState::kRunning);
  watch.Refresh(now += 4s);
  CHECK(watch.state() == SessionState::kKilled);
  made.state = "ended";
  WriteOverview(dir.path(), JsonOf(made));
  watch.Refresh(now);
  CHECK(watch.state() == SessionState::kEnded);
}

TEST_CASE("an old overview of an ended collector is reported as killed without waiting") {
  const TempDir dir;
  MadeOverview made;
  made.pid = DeadPid();
  MakeSession(dir.path(), made, 60);
  SessionWatch watch(dir.path().string());
  watch.Refresh();
  CHECK(watch.state() == SessionState::kKilled);
}

TEST_CASE("outdated figures of a running collector are reported") {
  const TempDir dir;
  MadeOverview made;
  WriteOverview(dir.path(), JsonOf(made));
  SessionWatch watch(dir.path().string());
  auto now = SessionWatch::Clock::now();
  watch.Refresh(now);
  CHECK(!watch.Refresh(now += 2s));
  CHECK(watch.overdue_s() == 0);
  CHECK(watch.Refresh(now += 8s));
  CHECK(watch.state() == SessionState::kRunning);
  CHECK(watch.overdue_s() == 10);
  // A session with a period of 30 seconds is not overdue yet.
  std::string json = JsonOf(made);
  json.replace(json.find("\"period_ms\":1000"), 16, "\"period_ms\":30000");
  WriteOverview(dir.path(), json);
  CHECK(watch.Refresh(now));
  CHECK(watch.overdue_s() == 0);
  CHECK(!watch.Refresh(now += 40s));
  CHECK(watch.overdue_s() == 0);
}

TEST_CASE("a session has ended if its plan exists or its collector does not") {
  const TempDir dir;
  MadeOverview made;
  made.state = "ended";
  WriteOverview(dir.path(), JsonOf(made));
  SessionWatch watch(dir.path().string());
  watch.Refresh();
  CHECK(watch.state() == SessionState::kRunning);  // the plan is being written
  CHECK(!watch.plan());
  dir.Write("plan.json", "{}");
  CHECK(watch.Refresh());
  CHECK(watch.state() == SessionState::kEnded);
  CHECK(watch.plan());

  const TempDir other;
  made.pid = DeadPid();
  WriteOverview(other.path(), JsonOf(made));
  SessionWatch without(other.path().string());
  without.Refresh();
  CHECK(without.state() == SessionState::kEnded);
  CHECK(!without.plan());
}

TEST_CASE("the rate covers the last seconds for any resolution of the timeline") {
  const TempDir dir;
  SessionWatch watch(dir.path().string());
  CHECK(std::isnan(watch.launches_per_s()));
  MadeOverview made;
  made.kernels = {{"k", 10000, 1}};
  // Observed launches grow in steps of a thousand, so this test counts the remaining launches as
  // dropped.
  const auto show = [&](double elapsed_s, std::uint64_t seen) {
    made.elapsed_s = elapsed_s;
    made.dropped = seen - made.kernels[0].invocations;
    WriteOverview(dir.path(), JsonOf(made));
    watch.Refresh();
  };
  // The latest point that is at least two seconds old has 2000 launches at 10 s.
  show(14.0, 10000);
  CHECK(watch.launches_per_s() == doctest::Approx(2000));
  show(15.0, 10500);
  CHECK(watch.launches_per_s() == doctest::Approx(500));
  show(16.0, 11500);
  CHECK(watch.launches_per_s() == doctest::Approx(750));
  show(17.0, 11500);
  CHECK(watch.launches_per_s() == doctest::Approx(500));
  for (int second = 18; second < 25; ++second) show(second, 11500);
  CHECK(watch.launches_per_s() == 0.0);  // the program makes no launches
  show(24.0, 11600);
  CHECK(watch.launches_per_s() == doctest::Approx(8000.0 / 14));  // from the timeline
  // A new session starts in the same directory.
  made.kernels[0].invocations = 300;
  show(1.0, 300);
  CHECK(watch.launches_per_s() == doctest::Approx(300));
  // If the session has ended, the rate covers the entire run.
  dir.Write("plan.json", "{}");
  made.state = "ended";
  made.kernels[0].invocations = 400;
  show(4.0, 400);
  CHECK(watch.launches_per_s() == doctest::Approx(100));
}

TEST_CASE("a process that reuses a process id is not the previous process") {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  CHECK(!ProcessIsGone(::getpid(), static_cast<std::uint64_t>(now)));
  CHECK(!ProcessIsGone(::getpid(), 0));
  CHECK(ProcessIsGone(::getpid(), 1000000000000));  // a session of 2001
  CHECK(ProcessIsGone(DeadPid(), 0));
  CHECK(!ProcessIsGone(0, 0));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info = {};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  CHECK(ProcessIsGone(child, 0));  // a zombie
  ::waitpid(child, nullptr, 0);
}
