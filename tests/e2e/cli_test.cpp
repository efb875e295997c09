// SPDX-License-Identifier: Apache-2.0
// Tests that usage errors and bad input print one clear line and exit with the documented code.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/check_failure.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace stemtap::test {
namespace {

constexpr const char* kHeader =
    "index,start_ns,duration_ns,device,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,"
    "shared_bytes,graph_id,name\n";

ProcessResult Run(std::vector<std::string> arguments, ProcessOptions options = {}) {
  arguments.insert(arguments.begin(), StemtapProgram().string());
  return RunProcess(arguments, options);
}

TEST_CASE("an unknown command or option names the nearest one") {
  CheckFailure(Run({"replya"}), 2, {"unknown command 'replya'", "did you mean replay?"});
  CheckFailure(Run({"xyzzy"}), 2, {"unknown command 'xyzzy'"});
  CheckFailure(Run({"replya", "--help"}), 2, {"unknown command 'replya'", "did you mean replay?"});
  CheckFailure(Run({"plan", "--error-bound", "nan", "x"}), 2, {"--error-bound", "nan"});
  CheckFailure(Run({"--versoin"}), 2, {"unknown option '--versoin'", "--version"});
  CheckFailure(Run({"plan", "--erorr-bound", "0.1", "x.csv"}), 2,
               {"unknown option '--erorr-bound'", "did you mean --error-bound?"});
  CheckFailure(Run({"replay", "x.csv", "--sed=3"}), 2, {"--seed"});
  CheckFailure(Run({"run", "--levle", "gate", "--", "true"}), 2, {"--level"});
  CHECK(Run({}).exit_code == 2);
}

TEST_CASE("an option that may be the program's is not taken for one of run's") {
  const std::vector<std::string> expected = {"expected stemtap run [options] -- PROGRAM"};
  CheckFailure(Run({"run", "echo", "--seed", "4"}), 2, expected);
  CheckFailure(Run({"run", "echo", "-q"}), 2, expected);
  CheckFailure(Run({"run", "-q", "sh", "-c", "true"}), 2, expected);
}

TEST_CASE("values out of range are wrong use") {
  CheckFailure(Run({"plan", "--error-bound", "0", "x.csv"}), 2, {"--error-bound"});
  CheckFailure(Run({"plan", "--error-bound", "much", "x.csv"}), 2, {"--error-bound"});
  CheckFailure(Run({"plan", "--confidence", "1.5", "x.csv"}), 2, {"--confidence"});
  CheckFailure(Run({"plan", "--method", "guess", "x.csv"}), 2, {"--method"});
  CheckFailure(Run({"replay", "--lag", "-1", "x.csv"}), 2, {"--lag"});
  CheckFailure(Run({"plan"}), 2, {"profile"});
  CheckFailure(Run({"run"}), 2, {"stemtap run"});
}

TEST_CASE("an option that would change nothing is wrong use") {
  const std::vector<std::string> two_pass = {"--selection first", "two-pass plan"};
  CheckFailure(Run({"run", "--selection", "first", "--", "true"}), 2, two_pass);
  CheckFailure(Run({"replay", "x.csv", "--selection", "first"}), 2, two_pass);
  CheckFailure(Run({"demo", "--selection", "first"}), 2, two_pass);
  CheckFailure(Run({"demo", "--profile", "x.csv", "--launches", "5"}), 2,
               {"--launches", "--profile"});
  CheckFailure(Run({"plan", "x.csv", "--bbv", "y"}), 2, {"--bbv applies to --method photon"});
  CheckFailure(Run({"evaluate", "x.csv", "--method", "root"}), 2, {"--online", "--methods"});
  CheckFailure(Run({"evaluate", "x.csv", "--error-bound", "0.1", "--error-bounds", "0.1,0.2"}), 2,
               {"--error-bounds", "--error-bound;"});
}

TEST_CASE("numbers are decimal, whole words and within 64 bits") {
  TempDir scratch;
  ProcessOptions options;
  options.cwd = scratch.path();
  for (const std::string word : {"", "-1", "5x", "0x10", "1e3", "1.0", "+5", " 5", "5 ", "0b11",
                                 "18446744073709551616", "nan", "\xC2\xB9"}) {
    CAPTURE(word);
    CheckFailure(Run({"plan", "x.csv", "--seed", word}), 2, {"--seed", "expected a whole number"});
    CheckFailure(Run({"replay", "x.csv", "--lag", word}), 2, {"--lag", "0 to 100000000"});
  }
  for (const std::string word : {"", "5%", "0,05", "0x1p-4", "1e400", "nan", "0.05 "}) {
    CAPTURE(word);
    CheckFailure(Run({"plan", "x.csv", "--error-bound", word}), 2,
                 {"--error-bound", "expected a number of 1e-06 to 1", "found '" + word + "'"});
  }
  CheckFailure(Run({"extrapolate", "--plan", "x", "--results", "y", "--device", "65535"}), 2,
               {"--device", "0 to 65534"});
  CheckFailure(Run({"generate", "llm-decode", "-o", "x.csv", "--layers", "-1"}), 2, {"--layers"});
  CheckFailure(Run({"export", "--plan", "x", "--to", "perfetto", "--timeline-launches", "-1"}), 2,
               {"--timeline-launches"});
  // A leading 0 does not make the number octal.
  const auto made = Run({"generate", "llm-decode", "-o", "x.csv", "--launches", "0100"}, options);
  CHECK(made.err.find("stemtap: 100 launches") == 0);
}

TEST_CASE("a word that is none of an option's names the nearest, and an empty path is none") {
  CheckFailure(Run({"plan", "--method", "optimla", "x.csv"}), 2,
               {"--method: expected one of optimal, root", "'optimla', did you mean optimal?"});
  CheckFailure(Run({"generate", "llm-decod", "-o", "x.csv"}), 2, {"did you mean llm-decode?"});
  CheckFailure(Run({"run", "--actuator", "profilr", "--", "true"}), 2, {"--actuator", "'profilr'"});
  // An empty argument, as from "$UNSET", must fail instead of changing or omitting the output.
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"plan", "x.csv", "-o", ""},
           {"plan", "x.csv", "--metrics", ""},
           {"plan", ""},
           {"run", "-o", "", "--", "true"},
           {"replay", "x.csv", "-o", ""},
           {"evaluate", "x.csv", "--csv", ""},
           {"export", "--plan", "x", "--to", "csv", "--weights-csv", ""},
           {"align", "a", "b", "--plan", "", "-o", ""},
           {"demo", "--profile", ""}}) {
    CAPTURE(words);
    CheckFailure(Run(words), 2, {"is empty; expected a path"});
  }
}

TEST_CASE("every command has --help that fits a terminal") {
  const auto program = Run({"--help"});
  std::vector<std::string> commands = {""};
  std::istringstream lines(program.out.substr(program.out.find("\nCommands:\n") + 11));
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    if (line.size() > 3 && line[2] != ' ')
      commands.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  CHECK(commands.size() > 14);
  for (const std::string& command : commands) {
    CAPTURE(command);
    const auto help = command.empty() ? program : Run({command, "--help"});
    CHECK(help.exit_code == 0);
    CHECK(help.err.empty());
    CHECK(help.out.find("\nUsage: stemtap " + command) != std::string::npos);
    CHECK(help.out.find("\n  -h, --help ") != std::string::npos);
    std::istringstream text(help.out);
    for (std::string line; std::getline(text, line);) {
      CAPTURE(line);
      CHECK(line.size() <= 80);
      CHECK_FALSE(line.ends_with(' '));
    }
  }
  const std::string plan = Run({"plan", "--help"}).out;
  for (const char* words : {"  --seed N  ", "(default: 1)", "  --exclude REGEX  ", " default: 2)",
                            "\n                          random: ", "-o, --output FILE  "}) {
    CAPTURE(words);
    CHECK(plan.find(words) != std::string::npos);
  }
}

TEST_CASE("help and version are commands too") {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--version"}, {"-V"}, {"version"}}) {
    const auto version = Run(words);
    CHECK(version.exit_code == 0);
    CHECK(version.out == "stemtap 0.1.0\n");
  }
  CHECK(Run({"help"}).out == Run({"--help"}).out);
  CHECK(Run({"--help"}).out.find("\n  help ") != std::string::npos);
  for (const std::string command : {"run", "report", "help"}) {
    const auto help = Run({"help", command});
    CHECK(help.exit_code == 0);
    CHECK(help.out == Run({command, "--help"}).out);
    CHECK(help.out.find("\nUsage: stemtap " + command + " [options]") != std::string::npos);
  }
  CheckFailure(Run({"help", "replya"}), 2, {"'replya', did you mean replay?"});
  CheckFailure(Run({"help", "run", "plan"}), 2, {"unexpected argument 'plan'"});
}

TEST_CASE("--min-samples and --captured-times do what their help says") {
  TempDir scratch;
  const ProcessOptions options{.cwd = scratch.path()};
  // Clusters with fewer samples than the minimum exist; the help explains which.
  const auto words = [](const std::string& text) {
    std::istringstream in(text);
    std::string all;
    for (std::string word; in >> word;) all += word + " ";
    return all;
  };
  const std::string help = words(Run({"run", "--help"}).out);
  for (const char* sentence :
       {"minimum samples per cluster; a cluster with fewer launches is sampled whole.",
        "exploratory captures do not count toward the minimum",
        "slowed: captures slow their launches and concurrent ones, which count with the mean"}) {
    CAPTURE(sentence);
    CHECK(help.find(sentence) != std::string::npos);
  }
  REQUIRE(Run({"generate", "llm-decode", "--launches", "300000", "-o", "p.stemtap"}, options)
              .exit_code == 0);
  REQUIRE(Run({"plan", "p.stemtap", "--min-samples", "4", "-o", "plan.json"}, options).exit_code ==
          0);
  REQUIRE(Run({"replay", "p.stemtap", "--min-samples", "4", "-q", "-o", "s"}, options).exit_code ==
          0);
  int single = 0;
  for (const char* file : {"plan.json", "s/plan.json"}) {
    const bool online = std::string(file) != "plan.json";
    const auto plan = nlohmann::json::parse(ReadFile(scratch / file));
    for (const auto& kernel : plan["kernels"]) {
      std::size_t wanted = 0;
      for (const auto& cluster : kernel["clusters"]) {
        const std::size_t least = std::min<std::size_t>(4, cluster["count"]);
        if (!online) CHECK(cluster["samples"].size() >= least);
        single += online && least == 4 && cluster["samples"].size() < 4;
        wanted += cluster["target"].get<std::size_t>();
      }
      CHECK(wanted >= std::min<std::size_t>(4, kernel["invocations"]));
    }
  }
  CHECK(single > 0);
}

TEST_CASE("help that cannot be written is a failure") {
  for (const std::string words : {"--help", "--version", "plan --help"}) {
    CAPTURE(words);
    CheckFailure(RunProcess({"/bin/sh", "-c", "exec \"$0\" " + words + " > /dev/full",
                             StemtapProgram().string()}),
                 1, {"standard output cannot be written", "No space left"});
  }
}

TEST_CASE("a profile that cannot be read") {
  TempDir scratch;
  for (const std::string command : {"plan", "replay"}) {
    CAPTURE(command);
    CheckFailure(Run({command, (scratch / "missing.csv").string()}, {.cwd = scratch.path()}), 1,
                 {"missing.csv", "No such file"});
    CheckFailure(Run({command, scratch.path().string()}, {.cwd = scratch.path()}), 1,
                 {scratch.path().string()});
    CheckFailure(Run({command, scratch.Write("empty.csv", "").string()}, {.cwd = scratch.path()}),
                 1, {"empty.csv"});
    CheckFailure(
        Run({command, scratch.Write("none.csv", kHeader).string()}, {.cwd = scratch.path()}), 1,
        {"none.csv", "no kernel invocation"});
    CheckFailure(Run({command, scratch.Write("noise.csv", "\x01\x02\x03 what is this").string()},
                     {.cwd = scratch.path()}),
                 1, {"noise.csv"});
  }
  if (::geteuid() != 0) {
    const auto file = scratch.Write("secret.csv", kHeader);
    std::filesystem::permissions(file, std::filesystem::perms::none);
    CheckFailure(Run({"plan", file.string()}), 1, {"secret.csv", "Permission denied"});
  } else {
    MESSAGE("SKIPPED: root can read every file");
  }
}

TEST_CASE("a damaged profile is told by file and row, and what was expected") {
  TempDir scratch;
  const auto row = [](const char* duration) {
    return std::string(kHeader) + "0,0,100,0,7,1,1,1,32,1,1,0,,k\n1,200," + duration +
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
      {"short.csv", std::string(kHeader) + "0,0,100\n", {"short.csv:2", "14"}},
      {"quote.csv", std::string(kHeader) + "0,0,100,0,7,1,1,1,32,1,1,0,,\"k\n", {"quote.csv:2"}},
      {"columns.csv", "a,b,c\n1,2,3\n", {"columns.csv"}},
  };
  for (const Damage& damage : damages) {
    const auto file = scratch.Write(damage.name, damage.content);
    for (const std::string command : {"plan", "replay"}) {
      CAPTURE(command);
      CheckFailure(Run({command, "--seed", "1", file.string()}, {.cwd = scratch.path()}), 1,
                   damage.words);
    }
  }
}

TEST_CASE("what cannot be written is told, and no half file is left") {
  TempDir scratch;
  const auto profile = (SourceDir() / "tests/data/tiny.csv").string();
  CheckFailure(Run({"replay", "-q", profile, "-o", (scratch / "no/such/folder").string()}), 1,
               {"no/such/folder"});
  scratch.Write("full/x", "x");
  CheckFailure(Run({"replay", "-q", profile, "-o", (scratch / "full").string()}), 1,
               {"not empty, expected a new or empty folder"});
  CheckFailure(Run({"plan", profile, "-o", (scratch / "no/plan.json").string()}), 1,
               {"no/plan.json"});
  if (::geteuid() != 0) {
    std::filesystem::create_directory(scratch / "locked");
    std::filesystem::permissions(scratch / "locked", std::filesystem::perms::owner_read);
    CheckFailure(Run({"replay", "-q", profile, "-o", (scratch / "locked").string()}), 1,
                 {"locked"});
  }
  const auto full = RunProcess(
      {"/bin/sh", "-c", "exec \"$0\" plan \"$1\" > /dev/full", StemtapProgram().string(), profile});
  CheckFailure(full, 1, {"standard output cannot be written", "No space left"});
}

TEST_CASE("a device or pipe that is named for a result is written to and stays one") {
  TempDir scratch;
  ProcessOptions options;
  options.cwd = scratch.path();
  const auto profile = (SourceDir() / "tests/data/tiny.csv").string();
  REQUIRE(Run({"plan", profile, "-o", "plan.json"}, options).exit_code == 0);
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

TEST_CASE("formats lists what is read, and what is recognized with the command that helps") {
  const auto text = Run({"formats"});
  CHECK(text.exit_code == 0);
  const auto json = Run({"formats", "--json"});
  CHECK(json.exit_code == 0);
  for (const std::string word : {"rocpd", "nsys export --type sqlite FILE", "(.ncu-rep)"}) {
    CAPTURE(word);
    CHECK(text.out.find(word) != std::string::npos);
    CHECK(json.out.find(word) != std::string::npos);
  }
}

TEST_CASE("a plan or a session that is a named pipe is refused, and a profile may be one") {
  TempDir scratch;
  ProcessOptions options;
  options.cwd = scratch.path();
  options.timeout = std::chrono::seconds(20);
  const auto profile = (SourceDir() / "tests/data/tiny.csv").string();
  REQUIRE(Run({"plan", profile, "-o", "plan.json"}, options).exit_code == 0);
  REQUIRE(Run({"replay", "-q", profile, "-o", "session"}, options).exit_code == 0);
  const std::vector<std::string> refused = {"is a named pipe or a device"};
  REQUIRE(RunProcess({"mkfifo", "fifo"}, options).exit_code == 0);
  CheckFailure(Run({"export", "--plan", "fifo", "--to", "csv"}, options), 1, refused);
  for (const std::string file : {"session.json", "plan.json", "mask.ndjson", "overview.json"}) {
    CAPTURE(file);
    std::filesystem::remove_all(scratch / "copy");
    std::filesystem::copy(scratch / "session", scratch / "copy");
    REQUIRE(std::filesystem::remove(scratch / "copy" / file));
    REQUIRE(RunProcess({"mkfifo", "copy/" + file}, options).exit_code == 0);
    const auto report = Run({"report", "copy", "-o", "report.html"}, options);
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

TEST_CASE("what a result is made of is not written over, and standard output holds one thing") {
  TempDir scratch;
  ProcessOptions options;
  options.cwd = scratch.path();
  std::filesystem::copy_file(SourceDir() / "tests/data/tiny.csv", scratch / "p.csv");
  const std::string before = ReadFile(scratch / "p.csv");
  REQUIRE(Run({"plan", "p.csv", "-o", "plan.json"}, options).exit_code == 0);
  const std::string plan = ReadFile(scratch / "plan.json");
  const std::vector<std::string> made_of = {"is the input"};
  CheckFailure(Run({"plan", "p.csv", "-o", "./p.csv"}, options), 2, made_of);
  CheckFailure(Run({"evaluate", "p.csv", "--csv", "p.csv"}, options), 2, made_of);
  CheckFailure(Run({"align", "p.csv", "p.csv", "--plan", "plan.json", "-o", "p.csv"}, options), 2,
               made_of);
  CheckFailure(Run({"export", "--plan", "plan.json", "--to", "csv", "-o", "plan.json"}, options), 2,
               made_of);
  CheckFailure(Run({"export", "--plan", "plan.json", "--to", "csv", "-o", "x", "--weights-csv",
                    "p.csv", "--profile", "p.csv"},
                   options),
               2, made_of);
  CheckFailure(
      Run({"export", "--plan", "plan.json", "--to", "csv", "-o", "x", "--weights-csv", "x"},
          options),
      2, {"x: is to be written twice; expected a file for each output"});
  const std::vector<std::string> one = {"standard output; expected a file"};
  CheckFailure(Run({"plan", "p.csv", "-o", "-"}, options), 2, one);
  CheckFailure(Run({"evaluate", "p.csv", "--csv", "-"}, options), 2, one);
  CheckFailure(Run({"align", "p.csv", "p.csv", "--plan", "plan.json", "-o", "-"}, options), 2, one);
  CheckFailure(Run({"export", "--plan", "plan.json", "--to", "csv", "--weights-csv", "-"}, options),
               2, one);
  CHECK(ReadFile(scratch / "p.csv") == before);
  CHECK(ReadFile(scratch / "plan.json") == plan);
}

TEST_CASE(
    "an input is not written over under another name either, nor is an output written twice") {
  TempDir scratch;
  ProcessOptions options;
  options.cwd = scratch.path();
  const auto refused = [&](const std::vector<std::string>& arguments, const char* expected) {
    CAPTURE(arguments);
    CheckFailure(Run(arguments, options), 2, {expected});
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

  REQUIRE(Run({"plan", "p.csv", "-o", "plan.json"}, options).exit_code == 0);
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
  CHECK(Run(export_to("o.csv", "w.csv"), options).exit_code == 0);

  // Naming one file of a session protects all of its files.
  REQUIRE(Run({"replay", "p.csv", "-o", "s"}, options).exit_code == 0);
  const std::string cells = ReadFile(scratch / "s/cells.json");
  refused({"export", "--plan", "s/plan.json", "--to", "csv", "-o", "here/s/cells.json"},
          "here/s/cells.json: is the input s/cells.json");
  CHECK(ReadFile(scratch / "s/cells.json") == cells);
}

TEST_CASE("durations that wrap 64 bits are refused by every command that adds them up") {
  TempDir scratch;
  ProcessOptions options;
  options.cwd = scratch.path();
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
    CheckFailure(Run(command, options), 1,
                 {"p.csv: launch 2: duration_ns is 4611686018427387904", "expected times in ns"});
  }
  CHECK_FALSE(std::filesystem::exists(scratch / "s"));
  CHECK_FALSE(std::filesystem::exists(scratch / "c.csv"));
}

TEST_CASE(
    "a session directory is taken where a plan is meant, and a file of it where a session is") {
  TempDir scratch;
  const ProcessOptions options{.cwd = scratch.path()};
  std::filesystem::copy_file(SourceDir() / "tests/data/tiny.csv", scratch / "p.csv");
  for (const char* session : {"s", "t"}) {
    REQUIRE(Run({"replay", "p.csv", "-q", "-o", session}, options).exit_code == 0);
  }
  const auto same = [&](std::vector<std::string> one, std::vector<std::string> other) {
    const auto expected = Run(std::move(one), options);
    CAPTURE(expected.err);
    CHECK(expected.exit_code == 0);
    CHECK(!expected.out.empty());
    const auto got = Run(std::move(other), options);
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
  // The plan is protected even if it was named through its session.
  CheckFailure(Run({"export", "--plan", "s", "--to", "csv", "-o", "s/plan.json"}, options), 2,
               {"s/plan.json: is the input"});
  std::filesystem::create_directory(scratch / "empty");
  CheckFailure(Run({"export", "--plan", "empty", "--to", "csv"}, options), 1,
               {"empty/plan.json: ", "No such file"});
}

TEST_CASE("an export of several files that could not all be written leaves none") {
  TempDir scratch;
  ProcessOptions options;
  options.cwd = scratch.path();
  REQUIRE(Run({"generate", "llm-decode", "--launches", "500", "-o", "p.csv"}, options).exit_code ==
          0);
  REQUIRE(Run({"plan", "p.csv", "-o", "plan.json"}, options).exit_code == 0);
  const std::vector<std::string> ncu = {"export", "--plan", "plan.json",      "--to",
                                        "ncu",    "-o",     "out/profile.sh", "--plain-launches"};
  std::filesystem::create_directory(scratch / "out");
  REQUIRE(Run(ncu, options).exit_code == 0);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(scratch / "out")) {
    files.push_back(entry.path());
  }
  REQUIRE(files.size() > 1);
  // Put a directory in place of one of the other files.
  std::filesystem::remove_all(scratch / "out");
  std::filesystem::create_directories(*std::max_element(files.begin(), files.end()));
  CheckFailure(Run(ncu, options), 1, {"is a folder, expected a file"});
  CHECK_FALSE(std::filesystem::exists(scratch / "out/profile.sh"));
}

TEST_CASE("a replay of which nothing came leaves no folder in the way of the next") {
  TempDir scratch;
  ProcessOptions options;
  options.cwd = scratch.path();
  scratch.Write("bad.csv",
                std::string(kHeader) + "0,0,5,0,7,1,1,1,1,1,1,0,,k\n1,0,x,0,7,1,1,1,1,1,1,0,,k\n");
  scratch.Write("empty.csv", kHeader);
  CHECK(Run({"replay", "-q", "bad.csv", "-o", "session"}, options).exit_code == 1);
  CHECK_FALSE(std::filesystem::exists(scratch / "session"));
  CHECK(Run({"replay", "-q", "empty.csv", "-o", "session"}, options).exit_code == 1);
  CHECK_FALSE(std::filesystem::exists(scratch / "session"));
}

TEST_CASE("stderr that cannot be written changes nothing") {
  TempDir scratch;
  ProcessOptions options;
  options.cwd = scratch.path();
  scratch.Write("p.csv", std::string(kHeader) + "0,0,5,0,7,1,1,1,1,1,1,0,,k\n");
  const std::string command = StemtapProgram().string() + " replay p.csv -o ";
  const auto full = RunProcess({"sh", "-c", command + "full 2>/dev/full"}, options);
  CHECK(full.exit_code == 0);
  const auto closed = RunProcess({"sh", "-c", command + "closed 2>&-"}, options);
  CHECK(closed.exit_code == 0);
  CHECK(full.out == closed.out);
  CHECK(ReadFile(scratch / "full/mask.ndjson") == ReadFile(scratch / "closed/mask.ndjson"));
}

TEST_CASE("a long name is cut in the summary between characters") {
  TempDir scratch;
  for (const std::string before : {"", "x"}) {
    std::string name = before;
    for (int i = 0; i < 50; ++i) name += "\xC3\xA4";
    const std::string csv =
        scratch.Write("p.csv", std::string(kHeader) + "0,0,5,0,7,1,1,1,1,1,1,0,," + name + "\n")
            .string();
    const auto run = Run({"plan", csv});
    REQUIRE(run.exit_code == 0);
    const std::size_t dots = run.out.find("...");
    REQUIRE(dots != std::string::npos);
    CHECK(run.out.substr(dots - 2, 2) == "\xC3\xA4");
  }
}

TEST_CASE("a temporary folder that is none is told in one line") {
  TempDir scratch;
  ProcessOptions options;
  options.cwd = scratch.path();
  options.env = {{"TMPDIR", "/nonexistent"}};
  CheckFailure(Run({"demo", "--launches", "10"}, options), 1, {"temp_directory_path"});
}

TEST_CASE("a session on a full disk says so and leaves no half plan") {
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
      MESSAGE("SKIPPED: no small file system can be mounted here: " << result.err);
      return;
    }
  }
  CheckFailure({.exit_code = result.exit_code, .out = "", .err = result.err}, 1,
               {"/session/", "cannot be written: No space left on device"});
  CHECK(result.out.find("plan.json") == std::string::npos);
}

}  // namespace
}  // namespace stemtap::test
