// SPDX-License-Identifier: Apache-2.0
// Tests that no control sequence or invisible character in kernel names, file names or command-line
// words is printed to the terminal.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/check_failure.h"
#include "support/pseudo_terminal.h"
#include "support/stemtap.h"

namespace stemtap::test {
namespace {

// An escape sequence, its one-byte form, a right-to-left override, a zero-width space, a byte order
// mark, a line separator, an Arabic letter mark, a tag character, an invalid byte, and a line
// break
constexpr std::string_view kHostile =
    "bad\x1B["
    "31m\xC2\x9B\xE2\x80\xAE\xE2\x80\x8B\xEF\xBB\xBF\xE2\x80\xA8\xD8\x9C\xF3\xA0\x81\x81\xFF"
    "\r\nname";
constexpr std::string_view kEscaped =
    "bad\\x1B[31m\\u{9B}\\u{202E}\\u{200B}\\u{FEFF}\\u{2028}\\u{61C}\\u{E0041}\\xFF\\x0D\\x0Aname";
// Long names are cut in tables.
constexpr std::string_view kEscapedStart = "bad\\x1B[31m";

void CheckSafe(std::string_view text) {
  CAPTURE(text);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool safe = (byte >= 0x20 || c == '\n') && byte != 0x7F && byte != 0xFF;
    CHECK(safe);
    if (!safe) return;
  }
  for (const char* hidden : {"\xC2\x9B", "\xE2\x80\xAE", "\xE2\x80\x8B", "\xEF\xBB\xBF",
                             "\xE2\x80\xA8", "\xD8\x9C", "\xF3\xA0\x81\x81"}) {
    CHECK(text.find(hidden) == std::string_view::npos);
  }
}

struct Scratch {
  TempDir directory;
  std::string file{kHostile};  // name of a profile that contains a kernel of the same name
  ProcessOptions options;

  Scratch() {
    options.cwd = directory.path();
    options.env = {{"LC_ALL", "C.UTF-8"}};
    directory.Write(file, kProfileHeader + ("0,0,100,0,7,1,1,1,32,1,1,0,,\"" + file + "\"\n") +
                              "1,200,150,0,7,1,1,1,32,1,1,0,,other\n");
  }
  ProcessResult Run(const std::vector<std::string>& arguments) const {
    return RunStemtap(arguments, options);
  }
  // Runs a command with a terminal as its stdout.
  std::string OnTerminal(std::vector<std::string> arguments) const {
    CAPTURE(arguments[0]);
    arguments.insert(arguments.begin(), StemtapProgram().string());
    const ProcessResult result = RunOnTerminal(arguments, options);
    CHECK_MESSAGE(result.exit_code == 0, result.err);
    CheckSafe(result.out);
    CheckSafe(result.err);
    return result.out;
  }
  // Runs a command that prints the hostile name to stdout or stderr.
  ProcessResult Shows(const std::vector<std::string>& arguments, int code = 0,
                      std::string_view escaped = kEscapedStart) const {
    CAPTURE(arguments);
    ProcessResult result = Run(arguments);
    CAPTURE(result.err);
    CHECK(result.exit_code == code);
    CheckSafe(result.out);
    CheckSafe(result.err);
    CHECK((result.out + result.err).find(escaped) != std::string::npos);
    return result;
  }
};

TEST_CASE("summaries and tables escape kernel and file names") {
  const Scratch scratch;
  const std::string& file = scratch.file;
  scratch.Shows({"plan", file, "-o", "plan.json"});
  scratch.Shows({"replay", file, "-q", "-o", "s"});
  const std::string summary = ReadFile(scratch.directory / "s/summary.txt");
  CheckSafe(summary);
  CHECK(summary.find(kEscapedStart) != std::string::npos);
  const auto replayed = scratch.Run({"replay", file, "-o", file + "-s"});
  CheckSafe(replayed.err);
  CHECK(replayed.err.find(std::string(kEscaped) + "-s\n") != std::string::npos);
  scratch.Shows({"convert", file, "-o", file + ".stemtap"}, 0, kEscaped);
  scratch.Shows({"evaluate", file, "--methods", "stem", "--runs", "2"}, 0, "\\xFF\\x0D\\x0Aname: ");
  scratch.directory.Write("fewer.csv", "index,start_ns,duration_ns,name\n0,0,100,other\n");
  scratch.Shows({"align", file, "fewer.csv"}, 0, kEscaped);
  scratch.Shows({"export", "--plan", "plan.json", "--to", "nvbit", "--plain-launches", "--explain",
                 "-o", file + ".txt"});
  const std::string metric = "\"" + file + "\"";
  scratch.directory.Write("results.csv", "id," + metric + "\n0,200\n1,300\n");
  scratch.Shows({"extrapolate", "--plan", "plan.json", "--results", "results.csv"});
  scratch.Shows({"merge", "s", file + "-s", "-o", file + "-m"}, 0, kEscaped);
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// JSON contains no invalid bytes.
std::string WithoutInvalidBytes(std::string text) {
  return text.replace(text.find('\xFF'), 1, "\xEF\xBF\xBD");
}

TEST_CASE("data is escaped on a terminal and exact elsewhere") {
  const Scratch scratch;
  const std::string& file = scratch.file;
  REQUIRE(scratch.Run({"replay", file, "-q", "-o", "s"}).exit_code == 0);
  const auto exported = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"export", "--plan", "s", "--profile", file, "--to"});
    return more;
  };
  // Rows end with a line feed, so a line feed in a name remains.
  const std::string escaped(kEscaped.substr(0, kEscaped.find("\\xFF")));
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"stats", file, "--csv"},
        {"stats", "s", "--csv"},
        {"diff", file, "s", "--csv"},
        {"convert", file, "-o", "-"},
        exported({"csv"}),
        exported({"csv", "-o", "/dev/stdout"})}) {
    CAPTURE(command[0]);
    CHECK(Has(scratch.OnTerminal(command), escaped));
    const std::string out = scratch.Run(command).out;
    const bool is_exact = Has(out, file) || Has(out, WithoutInvalidBytes(file));
    CHECK(is_exact);
  }
  for (const char* consumer : {"accelsim", "macsim", "nvbit", "sieve"}) {
    scratch.OnTerminal(exported({consumer}));
  }
}

TEST_CASE("JSON has invisible characters as escapes of JSON, everywhere") {
  const Scratch scratch;
  const std::string& file = scratch.file;
  for (const char* session : {"s", "other"}) {
    REQUIRE(scratch.Run({"replay", file, "-q", "-o", session}).exit_code == 0);
  }
  scratch.directory.Write("results.csv", "id,\"" + file + "\"\n0,200\n1,300\n");
  const auto check = [&](const std::string& text) {
    CheckSafe(text);
    CHECK(Has(text, "bad\\u001b[31m\\u009b\\u202e\\u200b\\ufeff\\u2028\\u061c\\udb40\\udc41"));
    const auto json = nlohmann::json::parse(text, nullptr, false);
    REQUIRE_FALSE(json.is_discarded());
    CHECK(Has(json.dump(), nlohmann::json(WithoutInvalidBytes(file)).dump()));
  };
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"plan", file, "--json"},
        {"stats", file, "--json"},
        {"diff", file, "s", "--json"},
        {"align", file, file, "--json"},
        {"top", "s", "--json"},
        {"convert", file, "-o", "c.csv", "--json"},
        {"evaluate", file, "--methods", "stem", "--runs", "2", "--json"},
        {"export", "--plan", "s", "--profile", file, "--to", "csv", "-o", "e.csv", "--json"},
        {"export", "--plan", "s", "--profile", file, "--to", "perfetto"},
        {"extrapolate", "--plan", "s", "--results", "results.csv", "--json"}}) {
    CAPTURE(command[0]);
    check(scratch.OnTerminal(command));
    check(scratch.Run(command).out);
  }
  check(ReadFile(scratch.directory / "s/plan.json"));
  CheckSafe(ReadFile(scratch.directory / "s/mask.ndjson"));
  REQUIRE(scratch.Run({"merge", "s", "other", "-q", "-o", "m"}).exit_code == 0);
  CheckSafe(ReadFile(scratch.directory / "m/mask.ndjson"));
  check(ReadFile(scratch.directory / "m/plan.json"));
}

TEST_CASE("no table contains a name that a spreadsheet would evaluate") {
  const TempDir directory;
  std::string rows = kProfileHeader;
  std::string results = "index";
  const std::vector<std::string> names = {"=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\n=1"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    rows += std::to_string(i) + ",0,100,0,7,1,1,1,32,1,1,0,,\"" + names[i] + "\"\n";
    results += ",\"" + names[i] + "\"";
  }
  results += '\n';
  for (std::size_t i = 0; i < names.size(); ++i) results += std::to_string(i) + ",1,1,1,1,1,1,1\n";
  directory.Write("=1", rows);
  directory.Write("results.csv", results);
  const auto run = [&](const std::vector<std::string>& arguments) {
    CAPTURE(arguments[0]);
    const ProcessResult result = RunStemtap(directory, arguments);
    CHECK_MESSAGE(result.exit_code == 0, result.err);
    return result.out;
  };
  run({"plan", "=1", "-o", "plan.json"});
  run({"export", "--plan", "plan.json", "--to", "macsim", "-o", "x.txt", "--weights-csv", "w.csv"});
  run({"extrapolate", "--plan", "plan.json", "--results", "results.csv", "--by", "kernel", "--csv",
       "by.csv"});
  for (const std::string& table :
       {run({"stats", "=1", "--csv"}), run({"diff", "=1", "=1", "--csv"}),
        run({"export", "--plan", "plan.json", "--to", "csv"}), ReadFile(directory / "w.csv"),
        ReadFile(directory / "by.csv")}) {
    CAPTURE(table);
    for (const std::string& name : names) {
      CHECK(Has(table, "'" + name));
      for (const char* before : {"\n", ",", "\""}) CHECK_FALSE(Has(table, before + name));
    }
  }
  run({"evaluate", "=1", "--methods", "stem", "--runs", "2", "--csv", "evaluation.csv"});
  CHECK(Has(ReadFile(directory / "evaluation.csv"), "\n'=1,"));
}

TEST_CASE("top escapes kernel names even without a UTF-8 locale") {
  Scratch scratch;
  REQUIRE(scratch.Run({"replay", scratch.file, "-q", "-o", "s"}).exit_code == 0);
  scratch.Shows({"top", "s", "--once"});
  scratch.options.env = {{"LC_ALL", "C"}};
  scratch.Shows({"top", "s", "--once"}, 0, "bad\\x1B[31m\\xC2\\x9B\\xE2\\x80\\xAE");
}

TEST_CASE("error messages escape names and stay on one line") {
  const Scratch scratch;
  const std::string none = scratch.file + "-none";
  const auto fails = [&](const std::vector<std::string>& arguments, int code) {
    CheckFailure(scratch.Shows(arguments, code, kEscaped), code, {});
  };
  fails({none}, 2);
  fails({"plan", "x", "--" + none}, 2);
  fails({"plan", none}, 1);
  fails({"plan", scratch.file, "-o", none + "/x/plan.json"}, 1);
  fails({"replay", scratch.file, "-q", "-o", none + "/x"}, 1);
  fails({"evaluate", none}, 1);
  fails({"convert", none, "-o", "x"}, 1);
  fails({"align", none, none}, 1);
  fails({"export", "--plan", none, "--to", "csv"}, 1);
  fails({"extrapolate", "--plan", none, "--results", none}, 1);
  fails({"merge", none, none, "-o", "x"}, 1);
  fails({"top", none}, 1);
  // Command-line words and file content are cut.
  CheckFailure(scratch.Shows({"plan", "--method", none, "x"}, 2), 2, {"--method"});
  scratch.directory.Write("cell.csv",
                          "index,start_ns,duration_ns,name\n0,0,\"" + scratch.file + "\",k\n");
  CheckFailure(scratch.Shows({"plan", "cell.csv"}, 1), 1, {"cell.csv:2", "duration_ns"});
}

// Returns the number of columns of the widest line. Counts characters, not bytes.
std::size_t WidestLine(const std::string& text) {
  std::size_t widest = 0;
  std::size_t width = 0;
  for (const char c : text) {
    width = c == '\n' ? 0 : width + ((static_cast<unsigned char>(c) & 0xC0) == 0x80 ? 0 : 1);
    widest = std::max(widest, width);
  }
  return widest;
}

TEST_CASE("tables and summaries fit the terminal, and are whole elsewhere") {
  TempDir scratch;
  ProcessOptions options;
  options.cwd = scratch.path();
  options.env = {{"LC_ALL", "C.UTF-8"}, {"COLUMNS", "70"}};
  for (const char* seed : {"1", "2"}) {
    const std::string profile = std::string("run") + seed + ".csv";
    const std::vector<std::vector<std::string>> commands = {
        {"generate", "llm-serve", "--launches", "5000", "--seed", seed, "-o", profile},
        {"replay", profile, "-q", "-o", std::string("s") + seed}};
    for (const auto& command : commands) {
      REQUIRE(RunStemtap(command, options).exit_code == 0);
    }
  }
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"stats", "run1.csv"},
        {"stats", "s1", "--by", "cluster"},
        {"diff", "run1.csv", "run2.csv"},
        {"plan", "run1.csv", "-q"},
        {"top", "--once", "s1"}}) {
    CAPTURE(command);
    std::vector<std::string> words = command;
    words.insert(words.begin(), StemtapProgram().string());
    for (const unsigned short columns : {80, 100, 160}) {
      const std::string text = RunOnTerminal(words, options, columns).out;
      CAPTURE(text);
      CHECK(WidestLine(text) <= columns);
      CHECK(WidestLine(text) + 30 > columns);
      CHECK(text.find("SkinnyKernel") != std::string::npos);
    }
    // A terminal that does not report its width has the columns of the variable.
    const std::size_t widest = WidestLine(RunOnTerminal(words, options).out);
    CHECK(widest <= 70);
    CHECK(widest > 40);
    // A pipe is no terminal, whatever the variable is.
    CHECK(WidestLine(RunStemtap(command, options).out) > 100);
  }
}

}  // namespace
}  // namespace stemtap::test
