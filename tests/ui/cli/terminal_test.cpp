// SPDX-License-Identifier: Apache-2.0
// Tests that no control sequence or invisible character in kernel names, file names or command-line
// words is printed to the terminal.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/check_failure.h"
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

}  // namespace
}  // namespace stemtap::test
