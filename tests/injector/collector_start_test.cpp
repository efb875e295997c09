// SPDX-License-Identifier: Apache-2.0
//
// Tests programs with the library and without a session: the library starts a collector, and the
// program is not affected.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "injector/injected.h"
#include "injector/wait_until.h"
#include "shm/session_env.h"
#include "support/paths.h"
#include "support/small_disk.h"

namespace stemtap::test {
namespace {

constexpr const char* kUnnoticed = "sigchld 0 children 0 handler 1 mask 0 files 0\n";

// Returns options of a run in `folder` with the library preloaded and without a session.
ProcessOptions Preloaded(const TempDir& folder, const Variables& more = {}) {
  Variables variables = {{"LD_PRELOAD", InjectorLibrary().string()},
                         {"STEMTAP_COLLECTOR", STEMTAP_TEST_RECORD_START}};
  variables.insert(variables.end(), more.begin(), more.end());
  ProcessOptions options = BareOptions(variables);
  options.cwd = folder.path();
  return options;
}

std::filesystem::path SessionOf(const TempDir& folder, pid_t pid,
                                const std::string& program = "watch_children") {
  return folder / ("stemtap-" + program + "-" + std::to_string(pid));
}

// Returns the only ring in `session`.
std::filesystem::path RingIn(const std::filesystem::path& session) {
  std::vector<std::filesystem::path> rings;
  for (const auto& entry : std::filesystem::directory_iterator(session)) {
    if (shm::IsRingName(entry.path().filename().c_str())) rings.push_back(entry.path());
  }
  REQUIRE(rings.size() == 1);
  return rings[0];
}

std::vector<std::string> Lines(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  std::istringstream in(ReadFile(file));
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool Exists(const std::filesystem::path& file) {
  return std::filesystem::exists(file);
}

// Lets the collector of `session` continue and waits until it has ended.
void Dismiss(const std::filesystem::path& session) {
  std::ofstream(session / "leave") << "leave";
  CHECK(WaitUntil([&] { return Exists(session / "left"); }));
}

TEST_CASE("the program does not see its collector") {
  const TempDir folder;
  const std::string go = (folder / "go").string();
  Process child({STEMTAP_TEST_WATCH_CHILDREN, go}, Preloaded(folder));
  const std::filesystem::path session = SessionOf(folder, child.pid());
  REQUIRE(child.WaitForOutput("waiting\n"));
  REQUIRE(WaitUntil([&] { return Exists(session / "started"); }));
  SUBCASE("the collector keeps running") {}
  SUBCASE("the collector ends first") {
    Dismiss(session);
  }
  std::ofstream(go) << "go";
  const ProcessResult& result = child.Wait();
  CHECK(result.exit_code == 0);
  CHECK(result.out == std::string("waiting\n") + kUnnoticed);
  CHECK(std::filesystem::equivalent(session.parent_path(), folder.path()));
  Ring ring(RingIn(session));
  ring.Drain();
  CHECK(ring.state() == shm::RingState::kClosed);
  CHECK(ring.kernels().size() == 1000);
  if (!Exists(session / "left")) Dismiss(session);
}

TEST_CASE("stdout closes with the program, and the collector inherits stderr") {
  const TempDir folder;
  // This includes a descriptor that the program left open for its children.
  int extra[2];
  REQUIRE(pipe(extra) == 0);
  const std::string go = (folder / "go").string();
  Process child({STEMTAP_TEST_WATCH_CHILDREN, go}, Preloaded(folder));
  close(extra[1]);
  const std::filesystem::path session = SessionOf(folder, child.pid());
  REQUIRE(child.WaitForError("collector was here\n"));
  REQUIRE(WaitUntil([&] { return Exists(session / "started"); }));
  std::ofstream(go) << "go";
  CHECK(child.Wait().exit_code == 0);
  CHECK(child.out() == std::string("waiting\n") + kUnnoticed);
  CHECK(child.err() == "collector was here\n");
  // The reader sees the end of the pipe while the collector runs, because the collector closed it.
  pollfd end = {extra[0], POLLIN, 0};
  CHECK(poll(&end, 1, 60'000) == 1);
  CHECK((end.revents & POLLHUP) != 0);
  close(extra[0]);
  CHECK_FALSE(Exists(session / "left"));
  Dismiss(session);
}

// The reader of a pipe sees the end only after every holder of the write end has closed it.
TEST_CASE("a reader of the program's output does not wait for the collector") {
  const TempDir folder;
  ProcessOptions options = Preloaded(folder);
  // The shell ends after `cat` has seen the end of the program's stdout.
  const ProcessResult result =
      RunProcess({"/bin/sh", "-c", "{ env -u STEMTAP_DISABLE \"$0\" 2>/dev/null; } | cat",
                  STEMTAP_TEST_WATCH_CHILDREN},
                 options);
  CHECK(result.out == kUnnoticed);
  CHECK_FALSE(result.timed_out);
  std::filesystem::path session;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    session = entry.path();
  REQUIRE_FALSE(session.empty());
  REQUIRE(WaitUntil([&] { return Exists(session / "started"); }));
  CHECK_FALSE(Exists(session / "left"));
  Dismiss(session);
}

// Reports are off: the simulated libraries are built without the sanitizer, so it would report
// their locks as races.
const Variables kSanitizer = {{"TSAN_OPTIONS", "report_bugs=0"}};

// Builds watch_children with a compiler's thread sanitizer. Returns false if the program cannot be
// built or run.
bool BuildWithThreadSanitizer(const std::string& compiler, const std::filesystem::path& program) {
  const std::string tests = (SourceDir() / "tests").string();
  return RunProcess({compiler, "-fsanitize=thread", "-O1", "-D_GNU_SOURCE", "-I", tests, "-isystem",
                     STEMTAP_TEST_CUDA_INCLUDE, tests + "/injector/watch_children.c", "-o",
                     program.string(), "-L", FakeGpuDir().string(), "-l:libcuda.so.1"})
                 .exit_code == 0 &&
         RunProcess({program.string()}, BareOptions(kSanitizer)).exit_code == 0;
}

TEST_CASE("a program under a thread sanitizer does not see its collector") {
  for (const std::string compiler : {"clang", "gcc"}) {
    CAPTURE(compiler);
    const TempDir folder;
    const auto program = folder / "watch_children";
    if (!BuildWithThreadSanitizer(compiler, program)) {
      MESSAGE("SKIPPED: no " << compiler << " with a working thread sanitizer");
      continue;
    }
    // Clang links its runtime into the program, while GCC's runtime is a shared library.
    for (const char* way : {"LD_PRELOAD", "CUDA_INJECTION64_PATH"}) {
      CAPTURE(std::string(way));
      ProcessOptions options = BareOptions({{way, InjectorLibrary().string()},
                                            {"STEMTAP_COLLECTOR", STEMTAP_TEST_RECORD_START},
                                            kSanitizer[0]});
      options.cwd = folder.path();
      Process child({program.string()}, options);
      const ProcessResult& result = child.Wait();
      CHECK(result.exit_code == 0);
      CHECK(result.out == kUnnoticed);
      CHECK(result.err.find("ThreadSanitizer") == std::string::npos);
      const std::filesystem::path session = SessionOf(folder, child.pid());
      REQUIRE(WaitUntil([&] { return Exists(session / "started"); }));
      const Ring ring(RingIn(session));
      CHECK(ring.state() == shm::RingState::kClosed);
      CHECK(ring.seen() == 1000);
      Dismiss(session);
    }
  }
}

struct Started {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
  std::vector<std::string> files;
  std::string self;
  pid_t program = 0;
  std::filesystem::path session;
};

// `session` is the expected session directory, or empty for the default.
Started Start(const TempDir& folder, const Variables& more, std::filesystem::path session = {}) {
  Process child({STEMTAP_TEST_WATCH_CHILDREN}, Preloaded(folder, more));
  Started started;
  started.program = child.pid();
  started.session = session.empty() ? SessionOf(folder, child.pid()) : std::move(session);
  REQUIRE(WaitUntil([&] { return Exists(started.session / "started"); }));
  CHECK(child.Wait().exit_code == 0);
  CHECK(child.out() == kUnnoticed);
  started.argv = Lines(started.session / "argv");
  for (const std::string& line : Lines(started.session / "environ")) {
    const std::size_t equals = line.find('=');
    started.environment[line.substr(0, equals)] = line.substr(equals + 1);
  }
  started.files = Lines(started.session / "fds");
  started.self = ReadFile(started.session / "self");
  Dismiss(started.session);
  return started;
}

TEST_CASE("the collector receives the pid to watch, the session directory and its options") {
  const TempDir folder;
  {
    const Started started = Start(folder, {});
    const std::string real = std::filesystem::canonical(folder.path()).string();
    CHECK(started.argv ==
          std::vector<std::string>{
              "stemtap", "run", "--attach", std::to_string(started.program), "--output",
              real + "/stemtap-watch_children-" + std::to_string(started.program), "--level",
              "kernels", "--actuator", "log", "--max-captures-per-second", "0"});
  }
  {
    const Started started = Start(folder, {{"STEMTAP_LEVEL", "gate"},
                                           {"STEMTAP_ACTUATOR", "profiler"},
                                           {"STEMTAP_OPTIONS", "  --epsilon 0.02   --quiet "}});
    REQUIRE(started.argv.size() == 15);
    CHECK(std::vector<std::string>(started.argv.begin() + 6, started.argv.end()) ==
          std::vector<std::string>{"--level", "gate", "--actuator", "profiler", "--epsilon", "0.02",
                                   "--quiet", "--max-captures-per-second", "100"});
  }
}

TEST_CASE("STEMTAP_OPTIONS can set the session directory") {
  for (const char* option :
       {"-o out", "-oout", "--output out", "--output=out", "-o x -o ./out/", "--output \"out\""}) {
    CAPTURE(std::string(option));
    const TempDir folder;
    const std::string real = std::filesystem::canonical(folder.path()).string();
    const Variables variables = {
        {"STEMTAP_OPTIONS", "-q " + std::string(option) + " --exclude \"a b\""}};
    const std::vector<std::string> argv = Start(folder, variables, folder / "out").argv;
    REQUIRE(argv.size() == 15);
    CHECK(std::filesystem::path(argv[5]).lexically_normal() == real + "/out");
    CHECK(std::vector<std::string>(argv.begin() + 10, argv.end()) ==
          std::vector<std::string>{"-q", "--exclude", "a b", "--max-captures-per-second", "0"});
    // A second process with these options gets its own directory.
    const Started second = Start(folder, variables, folder / "out-2");
    CHECK(std::filesystem::path(second.argv.at(5)).lexically_normal() == real + "/out-2");
  }
}

TEST_CASE(
    "a session directory that cannot be created is reported, and the program is not affected") {
  const TempDir folder;
  const std::string nowhere = (folder / "none/x").string();
  const ProcessResult result = RunProcess(
      {STEMTAP_TEST_WATCH_CHILDREN}, Preloaded(folder, {{"STEMTAP_OPTIONS", "-o " + nowhere}}));
  CHECK(result.exit_code == 0);
  CHECK(result.out == kUnnoticed);
  CHECK(result.err == "stemtap: nothing will be recorded: " + nowhere +
                          ": cannot be made: No such file or directory\n");
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("the collector inherits the environment without the variables that inject the library") {
  const TempDir folder;
  const Started started = Start(folder, {{"SOME_VARIABLE", "a b=c"}, {"STEMTAP_LEVEL", "gate"}});
  CHECK(started.environment.at("SOME_VARIABLE") == "a b=c");
  CHECK(started.environment.count("PATH") == 1);
  for (const char* name : {"LD_PRELOAD", "CUDA_INJECTION64_PATH", "STEMTAP_SESSION"}) {
    CAPTURE(std::string(name));
    CHECK(started.environment.count(name) == 0);
  }
}

TEST_CASE("the collector inherits only stderr, has a different parent, and blocks all signals") {
  const TempDir folder;
  int pipes[2];
  REQUIRE(pipe(pipes) == 0);  // inherited by the program, but not by its children
  const Started started = Start(folder, {});
  close(pipes[0]);
  close(pipes[1]);
  REQUIRE(started.files.size() == 3);
  CHECK(started.files[0] == "0 /dev/null");
  CHECK(started.files[1].starts_with("1 pipe:"));
  CHECK(started.files[1].substr(2) == started.files[2].substr(2));
  std::istringstream words(started.self);
  std::string word;
  pid_t pid = 0, parent = 0, session = 0;
  int blocked = -1;
  words >> word >> pid >> word >> parent >> word >> session >> word >> blocked;
  CHECK(parent != started.program);
  CHECK(parent > 0);
  CHECK(session == pid);
  CHECK(blocked == 29);  // of 31, until it handles them; SIGKILL and SIGSTOP cannot be blocked
}

TEST_CASE("a missing collector is reported on stderr, and no file is left behind") {
  const TempDir folder;
  const std::string text = folder.Write("not-a-program", "text").string();
  for (const std::string& collector : {std::string("/no/such/stemtap"), text}) {
    CAPTURE(collector);
    Process child({STEMTAP_TEST_WATCH_CHILDREN},
                  Preloaded(folder, {{"STEMTAP_COLLECTOR", collector}}));
    const ProcessResult& result = child.Wait();
    CHECK(result.exit_code == 0);
    CHECK(result.out == kUnnoticed);
    CHECK(result.err == "stemtap: nothing will be recorded: " + collector +
                            ": collector not found; set STEMTAP_COLLECTOR to its path\n");
    CHECK_FALSE(Exists(SessionOf(folder, child.pid())));
  }
}

TEST_CASE("no directory is left behind if the ring cannot be created") {
  const TempDir folder;
  Process child({"/bin/sh", "-c", "ulimit -f 1024; exec \"$0\"", STEMTAP_TEST_WATCH_CHILDREN},
                Preloaded(folder));
  const ProcessResult& result = child.Wait();
  CHECK(result.exit_code == 0);
  CHECK(result.out == kUnnoticed);
  CHECK(result.err.find("cannot be made: File too large") != std::string::npos);
  CHECK_FALSE(Exists(SessionOf(folder, child.pid())));
}

TEST_CASE("an existing directory is not used, and the session gets a different name") {
  const TempDir folder;
  // The directory name contains the pid, so a shell creates the directory and then becomes the
  // program.
  Process child({"/bin/sh", "-c", "mkdir stemtap-watch_children-$$ && exec \"$0\"",
                 STEMTAP_TEST_WATCH_CHILDREN},
                Preloaded(folder));
  const std::filesystem::path first = SessionOf(folder, child.pid());
  const std::filesystem::path second = first.string() + "-2";
  CHECK(child.Wait().out == kUnnoticed);
  CHECK(std::filesystem::is_empty(first));
  REQUIRE(WaitUntil([&] { return Exists(second / "started"); }));
  const Ring ring(RingIn(second));
  CHECK(ring.state() == shm::RingState::kClosed);
  Dismiss(second);
}

TEST_CASE("a collector that cannot be executed is reported") {
  const TempDir folder;
  const std::filesystem::path broken = folder.Write("broken",
                                                    "\x7f"
                                                    "ELF, but not really");
  std::filesystem::permissions(broken, std::filesystem::perms::owner_all);
  const ProcessResult result =
      RunProcess({STEMTAP_TEST_WATCH_CHILDREN}, Preloaded(folder, {{"STEMTAP_COLLECTOR", broken}}));
  CHECK(result.exit_code == 0);
  CHECK(result.out == kUnnoticed);
  CHECK(result.err == "stemtap: nothing will be recorded: " + broken.string() +
                          ": collector cannot be started: Exec format error\n");
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    CHECK(entry.path() == broken);
  }
}

TEST_CASE("the session of a program is private, whatever the umask") {
  for (const std::string umask : {"0777", "0277", "000"}) {
    CAPTURE(umask);
    const TempDir folder;
    Process child(
        {"/bin/sh", "-c", "umask " + umask + "; exec \"$0\"", STEMTAP_TEST_WATCH_CHILDREN},
        Preloaded(folder));
    CHECK(child.Wait().out == kUnnoticed);
    const std::filesystem::path session = SessionOf(folder, child.pid());
    using std::filesystem::perms;
    CHECK(std::filesystem::status(session).permissions() == perms::owner_all);
    CHECK(std::filesystem::status(RingIn(session)).permissions() ==
          (perms::owner_read | perms::owner_write));
    REQUIRE(WaitUntil([&] { return Exists(session / "started"); }));
    Dismiss(session);
  }
}

TEST_CASE("a collector that cannot begin the session leaves nothing behind and says why") {
  for (const std::string options : {"--no-such-option", "--error-bound 7", "--exclude ("}) {
    CAPTURE(options);
    const TempDir folder;
    ProcessOptions run = Preloaded(
        folder, {{"STEMTAP_COLLECTOR", StemtapProgram().string()}, {"STEMTAP_OPTIONS", options}});
    run.until_closed = true;
    const ProcessResult result = RunProcess({STEMTAP_TEST_WATCH_CHILDREN}, run);
    CAPTURE(result.err);
    CHECK(result.exit_code == 0);
    CHECK(result.out == kUnnoticed);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK(result.err.starts_with("stemtap: "));
    CHECK(std::filesystem::is_empty(folder.path()));
  }
}

TEST_CASE("a collector that has no room for its files leaves nothing behind and says why") {
  const TempDir folder;
  // Room for the ring, but not for the gate table.
  const SmallDisk disk(folder / "disk", "17500k");
  STEMTAP_SKIP_WITHOUT_DISK(disk);
  // `cat` ends when the collector has closed stderr.
  const ProcessResult result = RunProcess(
      disk.Command("cd \"$1\" && { LD_PRELOAD=\"$3\" \"$2\" 2>&1 >&3 | cat >&2; } 3>&1; ls -A",
                   {STEMTAP_TEST_WATCH_CHILDREN, InjectorLibrary().string()}),
      BareOptions({{"STEMTAP_COLLECTOR", StemtapProgram().string()}, {"STEMTAP_LEVEL", "gate"}}));
  CAPTURE(result.err);
  CHECK(result.out == kUnnoticed);
  CHECK(result.err.find("gate.table: cannot be made: No space left on device") !=
        std::string::npos);
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
}

TEST_CASE("a collector that crashes at its start leaves nothing behind, and the program continues") {
  const TempDir folder;
  const std::filesystem::path crashes = folder.Write("crashes", "#!/bin/sh\nkill -SEGV $$\n");
  std::filesystem::permissions(crashes, std::filesystem::perms::owner_all);
  const std::string go = (folder / "go").string();
  Process child({STEMTAP_TEST_WATCH_CHILDREN, go},
                Preloaded(folder, {{"STEMTAP_COLLECTOR", crashes}, {"STEMTAP_FLUSH_MS", "10"}}));
  REQUIRE(child.WaitForError("\n"));
  CHECK(WaitUntil([&] { return !Exists(SessionOf(folder, child.pid())); }));
  std::ofstream(go) << "go";
  CHECK(child.Wait().exit_code == 0);
  CHECK(child.out() == std::string("waiting\n") + kUnnoticed);
  CHECK(child.err() ==
        "stemtap: nothing will be recorded: the collector ended before it began the session\n");
}

TEST_CASE("a directory that cannot be created is reported on stderr") {
  const ProcessResult bare = RunProcess({STEMTAP_TEST_WATCH_CHILDREN}, BareOptions());
  const TempDir folder;
  ProcessOptions options = Preloaded(folder);
  options.cwd = "/proc";
  const ProcessResult result = RunProcess({STEMTAP_TEST_WATCH_CHILDREN}, options);
  CHECK(result.exit_code == 0);
  CHECK(result.out == bare.out);
  CHECK(result.err.starts_with("stemtap: nothing will be recorded: /proc/stemtap-watch_children-"));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
}

TEST_CASE("a program that ignores SIGCHLD gets a collector") {
  const TempDir folder;
  const ProcessResult result =
      RunProcess({"/bin/sh", "-c", "trap '' CHLD; exec \"$0\"", STEMTAP_TEST_WATCH_CHILDREN},
                 Preloaded(folder));
  CHECK(result.out == kUnnoticed);
  std::filesystem::path session;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    session = entry.path();
  REQUIRE_FALSE(session.empty());
  REQUIRE(WaitUntil([&] { return Exists(session / "started"); }));
  Dismiss(session);
}

}  // namespace
}  // namespace stemtap::test
