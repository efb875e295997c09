// SPDX-License-Identifier: Apache-2.0
// Tests that outputs are written completely or not at all, and that no input is overwritten.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/check_failure.h"
#include "support/stemtap.h"

namespace stemtap::test {
namespace {

TEST_CASE("an output that cannot be written is reported, and no partial file is left") {
  TempDir scratch;
  const auto profile = (SourceDir() / "tests/data/tiny.csv").string();
  CheckFailure(RunStemtap({"replay", "-q", profile, "-o", (scratch / "no/such/folder").string()}),
               1, {"no/such/folder"});
  scratch.Write("full/x", "x");
  CheckFailure(RunStemtap({"replay", "-q", profile, "-o", (scratch / "full").string()}), 1,
               {"not empty; expected a new or empty directory"});
  CheckFailure(RunStemtap({"plan", profile, "-o", (scratch / "no/plan.json").string()}), 1,
               {"no/plan.json"});
  if (::geteuid() != 0) {
    std::filesystem::create_directory(scratch / "locked");
    std::filesystem::permissions(scratch / "locked", std::filesystem::perms::owner_read);
    CheckFailure(RunStemtap({"replay", "-q", profile, "-o", (scratch / "locked").string()}), 1,
                 {"locked"});
  }
  const auto full = RunProcess(
      {"/bin/sh", "-c", "exec \"$0\" plan \"$1\" > /dev/full", StemtapProgram().string(), profile});
  CheckFailure(full, 1, {"standard output cannot be written", "No space left"});
}

TEST_CASE("a device or pipe is written directly and not replaced") {
  TempDir scratch;
  const ProcessOptions options{.cwd = scratch.path()};
  const auto profile = (SourceDir() / "tests/data/tiny.csv").string();
  REQUIRE(RunStemtap(scratch, {"plan", profile, "-o", "plan.json"}).exit_code == 0);
  for (const std::string& command : std::vector<std::string>{
           "plan \"$1\" -o pipe", "align \"$1\" \"$1\" --plan plan.json -o pipe",
           "evaluate \"$1\" --methods stem --runs 2 --csv pipe"}) {
    CAPTURE(command);
    std::filesystem::remove(scratch / "pipe");
    const auto result = RunProcess({"/bin/sh", "-c",
                                    "mkfifo pipe && { cat pipe & } && \"$0\" " + command +
                                        " >/dev/null && wait && test -p pipe",
                                    StemtapProgram().string(), profile},
                                   options);
    CHECK(result.exit_code == 0);
    CHECK(result.out.size() > 100);
  }
}

TEST_CASE("inputs are not overwritten, and standard output receives one result") {
  TempDir scratch;
  std::filesystem::copy_file(SourceDir() / "tests/data/tiny.csv", scratch / "p.csv");
  const std::string before = ReadFile(scratch / "p.csv");
  REQUIRE(RunStemtap(scratch, {"plan", "p.csv", "-o", "plan.json"}).exit_code == 0);
  const std::string plan = ReadFile(scratch / "plan.json");
  const std::vector<std::string> made_of = {"is the input"};
  CheckUsageError(scratch, {"plan", "p.csv", "-o", "./p.csv"}, made_of);
  CheckUsageError(scratch, {"evaluate", "p.csv", "--csv", "p.csv"}, made_of);
  CheckUsageError(scratch, {"align", "p.csv", "p.csv", "--plan", "plan.json", "-o", "p.csv"},
                  made_of);
  CheckUsageError(scratch, {"export", "--plan", "plan.json", "--to", "csv", "-o", "plan.json"},
                  made_of);
  CheckUsageError(scratch,
                  {"export", "--plan", "plan.json", "--to", "csv", "-o", "x", "--weights-csv",
                   "p.csv", "--profile", "p.csv"},
                  made_of);
  CheckUsageError(scratch,
                  {"export", "--plan", "plan.json", "--to", "csv", "-o", "x", "--weights-csv", "x"},
                  {"x: is to be written twice; expected a file for each output"});
  const std::vector<std::string> one = {"standard output; expected a file"};
  CheckUsageError(scratch, {"plan", "p.csv", "-o", "-"}, one);
  CheckUsageError(scratch, {"evaluate", "p.csv", "--csv", "-"}, one);
  CheckUsageError(scratch, {"align", "p.csv", "p.csv", "--plan", "plan.json", "-o", "-"}, one);
  CheckUsageError(scratch, {"export", "--plan", "plan.json", "--to", "csv", "--weights-csv", "-"},
                  one);
  CHECK(ReadFile(scratch / "p.csv") == before);
  CHECK(ReadFile(scratch / "plan.json") == plan);
}

TEST_CASE("an input is not overwritten under another name, and no output is written twice") {
  TempDir scratch;
  const auto refused = [&](const std::vector<std::string>& arguments, const char* expected) {
    CAPTURE(arguments);
    CheckUsageError(scratch, arguments, {expected});
  };
  std::filesystem::copy_file(SourceDir() / "tests/data/tiny.csv", scratch / "p.csv");
  std::filesystem::copy_file(SourceDir() / "tests/data/tiny.csv", scratch / "q.csv");
  std::filesystem::create_symlink("p.csv", scratch / "soft.csv");
  std::filesystem::create_hard_link(scratch / "p.csv", scratch / "hard.csv");
  std::filesystem::create_symlink(".", scratch / "here");
  const std::string profile = ReadFile(scratch / "p.csv");
  refused({"convert", "q.csv", "p.csv", "-o", "p.csv"}, "p.csv: is the input p.csv");
  refused({"convert", "p.csv", "-o", "./p.csv"}, "./p.csv: is the input p.csv");
  refused({"convert", "p.csv", "-o", "soft.csv"}, "soft.csv: is the input p.csv");
  refused({"convert", "soft.csv", "-o", "p.csv"}, "p.csv: is the input soft.csv");
  refused({"convert", "p.csv", "-o", "hard.csv"}, "hard.csv: is the input p.csv");
  refused({"convert", "p.csv", "-o", "here/p.csv"}, "here/p.csv: is the input p.csv");
  refused({"convert", "p.csv", "--metrics", "q.csv", "-o", "q.csv"}, "q.csv: is the input q.csv");
  CHECK(ReadFile(scratch / "p.csv") == profile);
  CHECK(ReadFile(scratch / "q.csv") == profile);

  REQUIRE(RunStemtap(scratch, {"plan", "p.csv", "-o", "plan.json"}).exit_code == 0);
  const auto export_to = [](const std::string& output, const std::string& weights) {
    return std::vector<std::string>{"export", "--plan", "plan.json",     "--to", "csv",
                                    "-o",     output,   "--weights-csv", weights};
  };
  refused(export_to("o.csv", "./o.csv"), "o.csv: is to be written twice");
  refused(export_to("o.csv", "here/o.csv"), "o.csv: is to be written twice");
  CHECK_FALSE(std::filesystem::exists(scratch / "o.csv"));
  // Without an explicit profile, export reads the profile that the plan names.
  refused({"export", "--plan", "plan.json", "--to", "csv", "-o", "hard.csv"},
          "hard.csv: is the input p.csv");
  CHECK(ReadFile(scratch / "p.csv") == profile);
  CHECK(RunStemtap(scratch, export_to("o.csv", "w.csv")).exit_code == 0);

  // No file of a session is overwritten if one of its files is an input.
  REQUIRE(RunStemtap(scratch, {"replay", "p.csv", "-o", "s"}).exit_code == 0);
  const std::string cells = ReadFile(scratch / "s/cells.json");
  refused({"export", "--plan", "s/plan.json", "--to", "csv", "-o", "here/s/cells.json"},
          "here/s/cells.json: is the input s/cells.json");
  CHECK(ReadFile(scratch / "s/cells.json") == cells);
}

TEST_CASE("an export of several files leaves no file if one cannot be written") {
  TempDir scratch;
  REQUIRE(RunStemtap(scratch, {"generate", "llm-decode", "--launches", "500", "-o", "p.csv"})
              .exit_code == 0);
  REQUIRE(RunStemtap(scratch, {"plan", "p.csv", "-o", "plan.json"}).exit_code == 0);
  const std::vector<std::string> ncu = {"export", "--plan", "plan.json",      "--to",
                                        "ncu",    "-o",     "out/profile.sh", "--plain-launches"};
  std::filesystem::create_directory(scratch / "out");
  REQUIRE(RunStemtap(scratch, ncu).exit_code == 0);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(scratch / "out")) {
    files.push_back(entry.path());
  }
  REQUIRE(files.size() > 1);
  // Replaces one of the other files with a directory.
  std::filesystem::remove_all(scratch / "out");
  std::filesystem::create_directories(*std::max_element(files.begin(), files.end()));
  CheckFailure(RunStemtap(scratch, ncu), 1, {"is a directory; expected a file"});
  CHECK_FALSE(std::filesystem::exists(scratch / "out/profile.sh"));
}

TEST_CASE("a failed replay leaves no session directory") {
  TempDir scratch;
  scratch.Write("bad.csv", std::string(kProfileHeader) +
                               "0,0,5,0,7,1,1,1,1,1,1,0,,k\n1,0,x,0,7,1,1,1,1,1,1,0,,k\n");
  scratch.Write("empty.csv", kProfileHeader);
  CHECK(RunStemtap(scratch, {"replay", "-q", "bad.csv", "-o", "session"}).exit_code == 1);
  CHECK_FALSE(std::filesystem::exists(scratch / "session"));
  CHECK(RunStemtap(scratch, {"replay", "-q", "empty.csv", "-o", "session"}).exit_code == 1);
  CHECK_FALSE(std::filesystem::exists(scratch / "session"));
}

TEST_CASE("stderr that cannot be written does not change the result") {
  TempDir scratch;
  const ProcessOptions options{.cwd = scratch.path()};
  scratch.Write("p.csv", std::string(kProfileHeader) + "0,0,5,0,7,1,1,1,1,1,1,0,,k\n");
  const std::string command = StemtapProgram().string() + " replay p.csv -o ";
  const auto full = RunProcess({"sh", "-c", command + "full 2>/dev/full"}, options);
  CHECK(full.exit_code == 0);
  const auto closed = RunProcess({"sh", "-c", command + "closed 2>&-"}, options);
  CHECK(closed.exit_code == 0);
  CHECK(full.out == closed.out);
  CHECK(ReadFile(scratch / "full/mask.ndjson") == ReadFile(scratch / "closed/mask.ndjson"));
}

TEST_CASE("a missing temporary directory is reported in one line") {
  TempDir scratch;
  ProcessOptions options;
  options.cwd = scratch.path();
  options.env = {{"TMPDIR", "/nonexistent"}};
  CheckFailure(RunStemtap({"demo", "--launches", "10"}, options), 1, {"temp_directory_path"});
}

TEST_CASE("a session on a full disk reports this and leaves no partial plan") {
  TempDir scratch;
  std::filesystem::create_directory(scratch / "small");
  const auto result = RunProcess(
      {"unshare", "-m", "/bin/sh", "-c",
       "mount -t tmpfs -o size=16k none \"$1\" || exit 77; "
       "\"$0\" generate llm-decode --launches 200000 -o \"$2\" >/dev/null 2>&1 || exit 3; "
       "\"$0\" replay -q \"$2\" -o \"$1/session\" >/dev/null; code=$?; ls \"$1/session\"; exit "
       "$code",
       StemtapProgram().string(), (scratch / "small").string(), (scratch / "p.stemtap").string()});
  if (result.exit_code == 77 || result.exit_code == 127 || result.exit_code == 1) {
    if (result.err.rfind("stemtap: ", 0) != 0) {
      MESSAGE("SKIPPED: this system cannot mount a small file system: " << result.err);
      return;
    }
  }
  CheckFailure({.exit_code = result.exit_code, .out = "", .err = result.err}, 1,
               {"/session/", "cannot be written: No space left on device"});
  CHECK(result.out.find("plan.json") == std::string::npos);
}

}  // namespace
}  // namespace stemtap::test
