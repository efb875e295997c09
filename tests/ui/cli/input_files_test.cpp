// SPDX-License-Identifier: Apache-2.0
// Tests how commands read profiles, plans and sessions.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "support/check_failure.h"
#include "support/stemtap.h"

namespace stemtap::test {
namespace {

TEST_CASE("a profile that cannot be read is reported") {
  TempDir scratch;
  for (const std::string command : {"plan", "replay"}) {
    CAPTURE(command);
    CheckFailure(RunStemtap(scratch, {command, (scratch / "missing.csv").string()}), 1,
                 {"missing.csv", "No such file"});
    CheckFailure(RunStemtap(scratch, {command, scratch.path().string()}), 1,
                 {scratch.path().string()});
    CheckFailure(RunStemtap(scratch, {command, scratch.Write("empty.csv", "").string()}), 1,
                 {"empty.csv"});
    CheckFailure(RunStemtap(scratch, {command, scratch.Write("none.csv", kProfileHeader).string()}),
                 1, {"none.csv", "no kernel launch"});
    CheckFailure(
        RunStemtap(scratch,
                   {command, scratch.Write("noise.csv", "\x01\x02\x03 what is this").string()}),
        1, {"noise.csv"});
  }
  if (::geteuid() != 0) {
    const auto file = scratch.Write("secret.csv", kProfileHeader);
    std::filesystem::permissions(file, std::filesystem::perms::none);
    CheckFailure(RunStemtap({"plan", file.string()}), 1, {"secret.csv", "Permission denied"});
  } else {
    MESSAGE("SKIPPED: root can read every file");
  }
}

TEST_CASE("a plan or a session in place of a recorded run is named as what it is") {
  TempDir scratch;
  std::filesystem::copy_file(SourceDir() / "tests/data/tiny.csv", scratch / "p.csv");
  REQUIRE(RunStemtap(scratch, {"plan", "p.csv", "-o", "plan.json"}).exit_code == 0);
  REQUIRE(RunStemtap(scratch, {"plan", "p.csv", "-o", "plan.json.gz"}).exit_code == 0);
  REQUIRE(RunStemtap(scratch, {"replay", "p.csv", "-q", "-o", "session"}).exit_code == 0);
  // A session that still runs has no session.json.
  std::filesystem::create_directory(scratch / "running");
  scratch.Write("running/mask.ndjson", "");
  std::filesystem::create_directory(scratch / "other");
  const std::vector<std::vector<std::string>> commands = {{"plan", "%"},
                                                          {"plan", "--method", "random", "%"},
                                                          {"plan", "p.csv", "%"},
                                                          {"replay", "%"},
                                                          {"convert", "%", "-o", "c.csv"},
                                                          {"evaluate", "%"},
                                                          {"align", "%", "p.csv"},
                                                          {"align", "p.csv", "%"}};
  for (const std::vector<std::string>& command : commands) {
    CAPTURE(command);
    const auto fails = [&](const std::string& input, const std::string& what) {
      std::vector<std::string> words = command;
      std::replace(words.begin(), words.end(), std::string("%"), input);
      CheckFailure(RunStemtap(scratch, words), 1, {"stemtap: " + input + ": is " + what + "\n"});
    };
    fails("plan.json", "a plan; expected a recorded run");
    fails("plan.json.gz", "a plan; expected a recorded run");
    fails("session/plan.json", "a plan; expected a recorded run");
    fails("session", "a session directory; expected a recorded run");
    fails("running", "a session directory; expected a recorded run");
    fails("other", "a directory; expected a file");
  }
  CHECK_FALSE(std::filesystem::exists(scratch / "c.csv"));
}

TEST_CASE("errors name standard input") {
  TempDir scratch;
  scratch.Write("none.csv", kProfileHeader);
  for (const char* command : {"plan -", "plan - --method random", "replay -", "evaluate -",
                              "stats -", "stats - --by shape", "diff - none.csv"}) {
    CAPTURE(command);
    CheckFailure(RunProcess({"sh", "-c", std::string("exec \"$0\" ") + command + " < none.csv",
                             StemtapProgram().string()},
                            {.cwd = scratch.path()}),
                 1, {"stemtap: standard input: contains no kernel launch; expected"});
  }
}

TEST_CASE("a damaged profile is reported with the file, row and expected value") {
  TempDir scratch;
  const auto row = [](const char* duration) {
    return std::string(kProfileHeader) + "0,0,100,0,7,1,1,1,32,1,1,0,,k\n1,200," + duration +
           ",0,7,1,1,1,32,1,1,0,,k\n";
  };
  struct Damage {
    const char* name;
    std::string content;
    std::vector<std::string> words;
  };
  const Damage damages[] = {
      {"negative.csv", row("-5"), {"negative.csv:3", "duration_ns", "-5"}},
      {"letters.csv", row("fast"), {"letters.csv:3", "duration_ns", "fast"}},
      {"missing.csv", row(""), {"missing.csv:3", "duration_ns"}},
      {"huge.csv", row("99999999999999999999999"), {"huge.csv:3", "duration_ns"}},
      {"short.csv", std::string(kProfileHeader) + "0,0,100\n", {"short.csv:2", "14"}},
      {"quote.csv",
       std::string(kProfileHeader) + "0,0,100,0,7,1,1,1,32,1,1,0,,\"k\n",
       {"quote.csv:2"}},
      {"columns.csv", "a,b,c\n1,2,3\n", {"columns.csv"}},
  };
  for (const Damage& damage : damages) {
    const auto file = scratch.Write(damage.name, damage.content);
    for (const std::string command : {"plan", "replay"}) {
      CAPTURE(command);
      CheckFailure(RunStemtap(scratch, {command, "--seed", "1", file.string()}), 1, damage.words);
    }
  }
}

TEST_CASE("plans and sessions cannot be named pipes, but profiles can") {
  TempDir scratch;
  ProcessOptions options;
  options.cwd = scratch.path();
  options.timeout = std::chrono::seconds(20);
  const auto profile = (SourceDir() / "tests/data/tiny.csv").string();
  REQUIRE(RunStemtap({"plan", profile, "-o", "plan.json"}, options).exit_code == 0);
  REQUIRE(RunStemtap({"replay", "-q", profile, "-o", "session"}, options).exit_code == 0);
  const std::vector<std::string> refused = {"is a named pipe or a device"};
  REQUIRE(RunProcess({"mkfifo", "fifo"}, options).exit_code == 0);
  CheckFailure(RunStemtap({"export", "--plan", "fifo", "--to", "csv"}, options), 1, refused);
  for (const std::string file : {"session.json", "plan.json", "mask.ndjson", "overview.json"}) {
    CAPTURE(file);
    std::filesystem::remove_all(scratch / "copy");
    std::filesystem::copy(scratch / "session", scratch / "copy");
    REQUIRE(std::filesystem::remove(scratch / "copy" / file));
    REQUIRE(RunProcess({"mkfifo", "copy/" + file}, options).exit_code == 0);
    const auto report = RunStemtap({"report", "copy", "-o", "report.html"}, options);
    CAPTURE(report.err);
    CHECK_FALSE(report.timed_out);
    CHECK(report.err.find(refused.front()) != std::string::npos);
  }
  const auto plan = RunProcess(
      {"/bin/bash", "-c",
       "{ cat \"$1\" > fifo & } && \"$0\" plan fifo -o a.json >/dev/null && \"$0\" export "
       "--plan <(cat a.json) --to csv --plain-launches | head -n 1",
       StemtapProgram().string(), profile},
      options);
  CAPTURE(plan.err);
  CHECK(plan.exit_code == 0);
  CHECK(plan.out.starts_with("id,index,"));
}

TEST_CASE("durations whose sum exceeds 64 bits are rejected by every command that adds them") {
  TempDir scratch;
  std::string csv = "duration_ns,name\n100,k\n";
  for (int i = 0; i < 4; ++i) csv += "4611686018427387904,k\n";
  scratch.Write("p.csv", csv + "200,k\n");
  const std::vector<std::vector<std::string>> commands = {{"plan", "p.csv"},
                                                          {"plan", "p.csv", "--method", "random"},
                                                          {"replay", "p.csv", "-o", "s"},
                                                          {"evaluate", "p.csv"},
                                                          {"convert", "p.csv", "-o", "c.csv"},
                                                          {"align", "p.csv", "p.csv"}};
  for (const std::vector<std::string>& command : commands) {
    CAPTURE(command);
    CheckFailure(RunStemtap(scratch, command), 1,
                 {"p.csv: launch 2: duration_ns is 4611686018427387904", "expected times in ns"});
  }
  CHECK_FALSE(std::filesystem::exists(scratch / "s"));
  CHECK_FALSE(std::filesystem::exists(scratch / "c.csv"));
}

TEST_CASE("a session directory is accepted as a plan, and a session file as a session") {
  TempDir scratch;
  std::filesystem::copy_file(SourceDir() / "tests/data/tiny.csv", scratch / "p.csv");
  for (const char* session : {"s", "t"}) {
    REQUIRE(RunStemtap(scratch, {"replay", "p.csv", "-q", "-o", session}).exit_code == 0);
  }
  const auto same = [&](std::vector<std::string> one, std::vector<std::string> other) {
    const auto expected = RunStemtap(scratch, std::move(one));
    CAPTURE(expected.err);
    CHECK(expected.exit_code == 0);
    CHECK(!expected.out.empty());
    const auto got = RunStemtap(scratch, std::move(other));
    CAPTURE(got.err);
    CHECK(got.exit_code == 0);
    CHECK(got.out == expected.out);
  };
  same({"export", "--plan", "s/plan.json", "--to", "csv"},
       {"export", "--plan", "s", "--to", "csv"});
  same({"export", "--plan", "s/plan.json", "--to", "csv"},
       {"export", "--plan", "./s/", "--to", "csv"});
  scratch.Write("r.csv", "id,cycles\n0,10\n1,20\n2,0\n3,10\n4,20\n");
  same({"extrapolate", "--plan", "s/plan.json", "--results", "r.csv"},
       {"extrapolate", "--plan", "s", "--results", "r.csv"});
  same({"align", "p.csv", "p.csv", "--plan", "s/plan.json", "-o", "new.json"},
       {"align", "p.csv", "p.csv", "--plan", "s", "-o", "new.json"});
  same({"top", "s", "--json"}, {"top", "s/plan.json", "--json"});
  same({"top", "s", "--json"}, {"top", "s/session.json", "--json"});
  same({"merge", "s", "t", "-q", "--json", "-o", "m1"},
       {"merge", "s/plan.json", "t/session.json", "-q", "--json", "-o", "m2"});
  // The plan is not overwritten even if it was given by its session.
  CheckUsageError(scratch, {"export", "--plan", "s", "--to", "csv", "-o", "s/plan.json"},
                  {"s/plan.json: is the input"});
  std::filesystem::create_directory(scratch / "empty");
  CheckFailure(RunStemtap(scratch, {"export", "--plan", "empty", "--to", "csv"}), 1,
               {"empty/plan.json: ", "No such file"});
}

TEST_CASE("a long name is truncated between characters in the summary") {
  TempDir scratch;
  for (const std::string before : {"", "x"}) {
    std::string name = before;
    for (int i = 0; i < 70; ++i) name += "\xC3\xA4";
    const std::string csv =
        scratch
            .Write("p.csv", std::string(kProfileHeader) + "0,0,5,0,7,1,1,1,1,1,1,0,," + name + "\n")
            .string();
    const auto run = RunStemtap({"plan", csv});
    REQUIRE(run.exit_code == 0);
    const std::size_t dots = run.out.find("..\n");
    REQUIRE(dots != std::string::npos);
    CHECK(run.out.substr(dots - 2, 2) == "\xC3\xA4");
  }
}

}  // namespace
}  // namespace stemtap::test
