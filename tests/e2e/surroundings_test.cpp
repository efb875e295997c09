// SPDX-License-Identifier: Apache-2.0
// Tests `stemtap run` and the readers of sessions in unusual surroundings: one true line, a defined
// exit code, and the exit code of the program if it ran.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "e2e/session.h"
#include "support/stemtap.h"

namespace stemtap::test {
namespace {

std::string ExitReturn() {
  return TestProgram("exit_return").string();
}

// Runs a shell script whose $0 is stemtap and whose $1 is a program that launches kernels.
ProcessResult RunScript(const TempDir& scratch, const std::string& script) {
  return RunProcess({"/bin/sh", "-c", script, StemtapProgram().string(), ExitReturn()},
                    OnFakeGpu(scratch));
}

// Returns the only directory in `scratch` whose name begins with `prefix`.
std::filesystem::path DirectoryIn(const TempDir& scratch, const std::string& prefix) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path())) {
    if (entry.is_directory() && entry.path().filename().string().starts_with(prefix)) {
      found.push_back(entry.path());
    }
  }
  REQUIRE(found.size() == 1);
  return found[0];
}

TEST_CASE("the name of a program may have 250 bytes, and its session has a shorter one") {
  TempDir scratch;
  // 125 characters of two bytes: a cut at any odd byte would leave half a character.
  std::string name;
  for (int i = 0; i < 125; ++i) name += "\xc3\xa9";
  std::filesystem::copy(ExitReturn(), scratch / name);
  const auto run = RunProcess({StemtapProgram().string(), "run", "-q", "--", "./" + name, "100"},
                              OnFakeGpu(scratch));
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  CHECK(run.err.empty());
  const auto session = DirectoryIn(scratch, "stemtap-");
  CHECK(session.filename().string().starts_with("stemtap-" + name.substr(0, 200) + "-"));
  CHECK(ReadJson(session / "session.json")["counters"]["kept"] == 100);
}

TEST_CASE("a run without /proc records the program") {
  TempDir scratch;
  const std::string unmount = "umount -l /proc && ! [ -e /proc/self ] && ";
  const auto without_proc = [&](const std::string& script) {
    return RunProcess(
        {"unshare", "-m", "/bin/sh", "-c", script, StemtapProgram().string(), ExitReturn()},
        OnFakeGpu(scratch));
  };
  if (without_proc(unmount + "true").exit_code != 0) {
    MESSAGE("SKIPPED: this machine does not allow to unmount /proc");
    return;
  }
  const auto run = without_proc(unmount + "exec \"$0\" run -q -o session -- \"$1\" 100");
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  CHECK(run.err.empty());
  CHECK(ReadJson(scratch / "session/session.json")["counters"]["kept"] == 100);
}

TEST_CASE("a removed current directory is named as the reason, and an absolute path works") {
  TempDir scratch;
  const std::string in_removed = "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" run -q ";
  CheckFailure(RunScript(scratch, in_removed + "-- \"$1\" 100"), 1,
               {"stemtap-exit_return-", "the current directory cannot be found: No such file"});
  CheckFailure(RunScript(scratch, in_removed + "-o here -- \"$1\" 100"), 1,
               {"here: the current directory cannot be found: No such file"});
  const auto run =
      RunScript(scratch, in_removed + "-o '" + (scratch / "s").string() + "' -- \"$1\" 100");
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  CHECK(run.err.empty());
  CHECK(ReadJson(scratch / "s/session.json")["counters"]["kept"] == 100);
}

TEST_CASE("a script without #! runs in /bin/sh, as with env") {
  TempDir scratch;
  const auto script = scratch.Write("bin/script", "echo \"$0 $1 $#\"; exit 7\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  auto options = OnFakeGpu(scratch);
  options.env.emplace_back("PATH", script.parent_path().string() + ":/usr/bin:/bin");
  for (const std::string& name : {script.string(), std::string("bin/script"), std::string("script")}) {
    CAPTURE(name);
    const auto bare = RunProcess({"env", name, "a b"}, options);
    const auto run = RunProcess({StemtapProgram().string(), "run", "-q", "--", name, "a b"}, options);
    CAPTURE(run.err);
    CHECK(bare.exit_code == 7);
    CHECK(run.exit_code == bare.exit_code);
    CHECK(run.out == bare.out);
    CHECK(run.err.empty());
  }
}

TEST_CASE("the session of another user is refused with the reason") {
  if (::geteuid() != 0 || RunProcess({"setpriv", "--version"}).exit_code != 0) {
    MESSAGE("SKIPPED: needs root and setpriv");
    return;
  }
  TempDir scratch;
  std::filesystem::permissions(scratch.path(), std::filesystem::perms(0755));
  REQUIRE(RunScript(scratch, "\"$0\" run -q -o session -- \"$1\" 100").exit_code == 0);
  // A copy, because the other user may not be allowed to open the directory of this build.
  const auto library = scratch / "lib" / InjectorLibrary().filename();
  std::filesystem::create_directories(library.parent_path());
  std::filesystem::create_directory(scratch / "bin");
  std::filesystem::copy(StemtapProgram(), scratch / "bin/stemtap");
  std::filesystem::copy(InjectorLibrary(), library);
  const std::string session = (scratch / "session").string();
  const auto as_other = [&](std::vector<std::string> arguments) {
    std::vector<std::string> command = {"setpriv", "--reuid=65534", "--regid=65534",
                                        "--clear-groups", (scratch / "bin/stemtap").string()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return RunProcess(command, OnFakeGpu(scratch));
  };
  REQUIRE(as_other({"--version"}).exit_code == 0);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"top", "--json", session}, {"report", session},
        {"stats", session}, {"merge", session, "-o", "/nonexistent/m"},
        {"diff", session, session}, {"run", "-q", "-o", session, "--", "/bin/true"}}) {
    CAPTURE(command.front());
    CheckFailure(as_other(command), 1, {session + ": ", "Permission denied"});
  }
  std::filesystem::permissions(library, std::filesystem::perms::none);
  CheckFailure(as_other({"run", "-q", "--", "/bin/true"}), 1,
               {library.string() + ": cannot be read: Permission denied"});
}

TEST_CASE("a collector that may open too few files says so and keeps the program's exit code") {
  int started = 0;
  int unread = 0;
  int recorded = 0;
  // How many files are open at the start depends on the environment of the test.
  for (int files = 4; recorded == 0 && files < 100; ++files) {
    CAPTURE(files);
    TempDir scratch;
    const auto run = RunScript(
        scratch, "ulimit -n " + std::to_string(files) +
                     "; exec \"$0\" run -q -o session -- sh -c '\"$0\" 100; exit 9' \"$1\"");
    CAPTURE(run.err);
    if (started == 0 && run.exit_code != 9) {
      // The session cannot begin, or even the loader of the program fails.
      CHECK((run.exit_code == 1 || run.exit_code == 127));
      CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
      CHECK_FALSE(std::filesystem::exists(scratch / "session"));
      continue;
    }
    ++started;
    CHECK(run.exit_code == 9);
    const auto session = ReadJson(scratch / "session/session.json");
    REQUIRE(session.is_object());
    if (session["counters"]["kept"] == 100) {
      CHECK(run.err.empty());
      ++recorded;
      continue;
    }
    ++unread;
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    CHECK(run.err.starts_with("stemtap: "));
    CHECK(run.err.find("Too many open files") != std::string::npos);
  }
  CHECK(unread > 0);
  CHECK(recorded == 1);
}

}  // namespace
}  // namespace stemtap::test
