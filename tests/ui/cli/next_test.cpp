// SPDX-License-Identifier: Apache-2.0
// Tests the commands that commands suggest as the next one: what a user pastes runs, whatever the
// names are.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "support/stemtap.h"
#include "ui/cli/two_runs.h"

namespace stemtap::ui {
namespace {

namespace fs = std::filesystem;

using test::ProcessResult;
using test::RunStemtap;
using test::TempDir;

// Not quoted, each would create the file `x`, or would be no word, several words or an option.
const std::vector<std::string> kNames = {
    "$(touch x)", "`touch x`", "a;touch x;b", "a\ntouch x\n", "a b",  "it's", "-x", "--help",
    "!!",         "~",         "*",           "=a",           "a\\b", "\x03", "#a",
    "\x1B[31m\xE2\x80\xAE\xFF"};

// Returns the suggested command, which is the last line on stderr; empty if there is none.
std::string NextOf(const ProcessResult& result) {
  constexpr std::string_view kNext = "next: ";
  CAPTURE(result.err);
  CHECK(result.exit_code == 0);
  const std::size_t at = result.err.rfind(kNext);
  if (at == std::string::npos) return "";
  CHECK((at == 0 || result.err[at - 1] == '\n'));
  const std::string line = result.err.substr(at + kNext.size());
  CHECK(line.find('\n') == line.size() - 1);
  return line.substr(0, line.size() - 1);
}

class Scratch {
 public:
  Scratch() { Run({"generate", "phases", "--launches", "2000", "-o", "run.stemtap"}); }

  ProcessResult Run(const std::vector<std::string>& arguments) const {
    return RunStemtap(directory_, arguments);
  }
  // Runs the suggested command in a shell, as if a user pasted it.
  void Paste(const std::string& command) const {
    CAPTURE(command);
    const std::string path = test::StemtapProgram().parent_path().string() + ":/usr/bin:/bin";
    const ProcessResult result = test::RunProcess(
        {"bash", "-c", command}, {.env = {{"PATH", path}}, .cwd = directory_.path()});
    CHECK_MESSAGE(result.exit_code == 0, result.err);
    CHECK_FALSE(fs::exists(directory_ / "x"));
  }
  fs::path operator/(const std::string& name) const { return directory_ / name; }
  bool Has(const std::string& name) const { return fs::exists(directory_ / name); }

 private:
  TempDir directory_;
};

TEST_CASE("a suggested report is of the session or plan that was written, whatever its name is") {
  STEMTAP_SKIP_WITHOUT_PAGE();
  for (const std::string& name : kNames) {
    CAPTURE(name);
    const Scratch scratch;
    const auto report_of = [&](const std::vector<std::string>& command, const std::string& report) {
      scratch.Paste(NextOf(scratch.Run(command)));
      CHECK(scratch.Has(report));
    };
    report_of({"replay", "run.stemtap", "--output=" + name}, name + "/report.html");
    REQUIRE(scratch.Run({"replay", "run.stemtap", "-q", "-o", "other"}).exit_code == 0);
    report_of({"merge", "./" + name, "other", "--output=" + name + "m"}, name + "m/report.html");
    report_of({"plan", "run.stemtap", "--output=" + name + "p"}, "report.html");
  }
}

TEST_CASE("a suggested plan is of the profile that was written, whatever its name is") {
  for (const std::string& name : kNames) {
    CAPTURE(name);
    const Scratch scratch;
    scratch.Paste(NextOf(scratch.Run({"convert", "run.stemtap", "--output=" + name + ".csv"})));
    CHECK(scratch.Has("plan.json"));
    const ProcessResult generated =
        scratch.Run({"generate", "phases", "--launches", "2000", "--output=" + name + ".stemtap"});
    scratch.Paste(NextOf(generated));
  }
}

TEST_CASE("an export for a tool suggests how to use its results") {
  const Scratch scratch;
  scratch.Run({"plan", "run.stemtap", "-o", "$(touch x).json"});
  CHECK(NextOf(scratch.Run({"export", "$(touch x).json", "--to", "macsim", "-o", "n.txt"})) ==
        "stemtap extrapolate '$(touch x).json' --results RESULTS");
  CHECK(NextOf(scratch.Run({"export", "$(touch x).json", "--to", "ncu", "-o", "n.sh"})) ==
        "stemtap extrapolate '$(touch x).json' --results stemtap.*.csv");
  CHECK(test::ReadFile(scratch / "n.sh")
            .find("\n# stemtap extrapolate '$(touch x).json' --results stemtap.*.csv\n") !=
        std::string::npos);
  CHECK(NextOf(scratch.Run({"export", "--plan", "$(touch x).json", "--to", "csv"})) == "");
}

TEST_CASE("the demo suggests its report") {
  const Scratch scratch;
  CHECK(NextOf(scratch.Run({"demo", "--profile", "run.stemtap", "-o", "a b"})) ==
        "stemtap report 'a b'");
}

TEST_CASE("nothing is suggested in quiet mode, or if the output cannot be read again") {
  const Scratch scratch;
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"plan", "run.stemtap"},
        {"plan", "run.stemtap", "-o", "/dev/null"},
        {"convert", "run.stemtap", "-o", "-"},
        {"plan", "run.stemtap", "-q", "-o", "plan.json"},
        {"convert", "run.stemtap", "-q", "-o", "run.csv"},
        {"generate", "phases", "--launches", "2000", "-q", "-o", "other.csv"},
        {"export", "--plan", "plan.json", "--to", "ncu", "-q", "-o", "n.sh"},
        {"replay", "run.stemtap", "-q", "-o", "s"},
        {"replay", "run.stemtap", "-q", "-o", "other"},
        {"merge", "s", "other", "-q", "-o", "m"},
        {"demo", "--profile", "run.stemtap", "-q", "-o", "d"}}) {
    CAPTURE(command[0]);
    CHECK(NextOf(scratch.Run(command)) == "");
  }
}

}  // namespace
}  // namespace stemtap::ui
