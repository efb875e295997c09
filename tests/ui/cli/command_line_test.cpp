// SPDX-License-Identifier: Apache-2.0
// Tests that usage errors print one clear line and exit with 2.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/check_failure.h"
#include "support/stemtap.h"

namespace stemtap::test {
namespace {

TEST_CASE("a usage error without a nearest name points to the help of the command") {
  CheckUsageError({}, {"stemtap: a command is required, see 'stemtap help'\n"});
  CheckUsageError({"xyzzy"}, {"unknown command 'xyzzy', see 'stemtap help'\n"});
  CheckUsageError({"--xyzzy"}, {"unknown option '--xyzzy', see 'stemtap help'\n"});
  CheckUsageError({"stats", "a.csv", "-q"}, {"unknown option '-q', see 'stemtap help stats'\n"});
  CheckUsageError({"report", "a", "b"}, {"unexpected argument 'b', see 'stemtap help report'\n"});
  CheckUsageError({"plan"}, {"profile is required, see 'stemtap help plan'\n"});
  CheckUsageError({"plan", "x.csv", "--seed"},
                  {"--seed: expected a value, see 'stemtap help plan'"});
}

TEST_CASE("an unknown command or option names the nearest one") {
  CheckUsageError({"replya"}, {"unknown command 'replya'", "did you mean replay?"});
  CheckUsageError({"xyzzy"}, {"unknown command 'xyzzy'"});
  CheckUsageError({"replya", "--help"}, {"unknown command 'replya'", "did you mean replay?"});
  CheckUsageError({"plan", "--error-bound", "nan", "x"}, {"--error-bound", "nan"});
  CheckUsageError({"--versoin"}, {"unknown option '--versoin'", "--version"});
  CheckUsageError({"plan", "--erorr-bound", "0.1", "x.csv"},
                  {"unknown option '--erorr-bound'", "did you mean --error-bound?"});
  CheckUsageError({"replay", "x.csv", "--sed=3"}, {"--seed"});
  CheckUsageError({"run", "--levle", "gate", "--", "true"}, {"--level"});
}

TEST_CASE("all words after the program belong to it, with or without --") {
  const std::string show = "printf '<%s>' \"$@\"; exit 7";
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{}, {"--seed", "4"}, {"--error-bound=0.1", "-osession"}}) {
    for (const bool marked : {false, true}) {
      TempDir scratch;
      std::vector<std::string> words = {"run", "-q"};
      words.insert(words.end(), options.begin(), options.end());
      if (marked) words.emplace_back("--");
      const std::vector<std::string> program = {"sh", "-c",   show,      "x",      "--seed",
                                                "5",  "-o",   "other",   "--",     "--attach",
                                                "-h", "plan", "--levle", "--force"};
      words.insert(words.end(), program.begin(), program.end());
      const ProcessResult result = RunStemtap(scratch, words);
      CAPTURE(result.err);
      if (result.err.find("this build has no injector") != std::string::npos) {
        MESSAGE("SKIPPED: this build has no injector");
        return;
      }
      CHECK(result.exit_code == 7);
      CHECK(result.out == "<--seed><5><-o><other><--><--attach><-h><plan><--levle><--force>");
      CHECK_FALSE(std::filesystem::exists(scratch / "other"));
    }
  }
}

TEST_CASE("the plan of export and extrapolate is an argument or an option") {
  const TempDir scratch;
  REQUIRE(RunStemtap(scratch, {"generate", "phases", "--launches", "500", "-o", "p.csv", "-q"})
              .exit_code == 0);
  REQUIRE(RunStemtap(scratch, {"replay", "p.csv", "-q", "-o", "s"}).exit_code == 0);
  const ProcessResult option = RunStemtap(scratch, {"export", "--plan", "s", "--to", "csv"});
  REQUIRE(option.exit_code == 0);
  scratch.Write("r.csv", option.out);
  for (const std::string plan : {"s", "s/plan.json"}) {
    CHECK(RunStemtap(scratch, {"export", plan, "--to", "csv"}).out == option.out);
    CHECK(RunStemtap(scratch, {"export", "--to", "csv", plan}).out == option.out);
    CHECK(RunStemtap(scratch, {"extrapolate", plan, "--results", "r.csv"}).out ==
          RunStemtap(scratch, {"extrapolate", "--plan", plan, "--results", "r.csv"}).out);
  }
  CheckUsageError(scratch, {"export", "--to", "csv"}, {"expected stemtap export PLAN --to TOOL"});
  CheckUsageError(scratch, {"extrapolate", "--results", "r.csv"},
                  {"expected stemtap extrapolate PLAN --results FILE"});
  CheckUsageError(scratch, {"export", "s", "--plan", "s", "--to", "csv"}, {"plan excludes --plan"});
}

TEST_CASE("only commands that accept a selection offer it") {
  for (const std::string command : {"run", "replay", "demo", "plan", "evaluate"}) {
    CAPTURE(command);
    const bool two_pass = command == "plan" || command == "evaluate";
    CHECK((RunStemtap({command, "--help"}).out.find("--selection") != std::string::npos) ==
          two_pass);
  }
  // Scripts may give the only selection that is possible online.
  const TempDir scratch;
  REQUIRE(RunStemtap(scratch, {"generate", "phases", "--launches", "500", "-o", "p.csv", "-q"})
              .exit_code == 0);
  CHECK(RunStemtap(scratch, {"replay", "p.csv", "-q", "-o", "s", "--selection", "random"})
            .exit_code == 0);
}

TEST_CASE("values out of range are usage errors") {
  CheckUsageError({"plan", "--error-bound", "0", "x.csv"}, {"--error-bound"});
  CheckUsageError({"plan", "--error-bound", "much", "x.csv"}, {"--error-bound"});
  CheckUsageError({"plan", "--confidence", "1.5", "x.csv"}, {"--confidence"});
  CheckUsageError({"plan", "--method", "guess", "x.csv"}, {"--method"});
  CheckUsageError({"replay", "--lag", "-1", "x.csv"}, {"--lag"});
  CheckUsageError({"plan"}, {"profile"});
  CheckUsageError({"run"}, {"stemtap run"});
}

TEST_CASE("an option without effect is a usage error") {
  const std::vector<std::string> two_pass = {"--selection first", "two-pass plan"};
  CheckUsageError({"run", "--selection", "first", "--", "true"}, two_pass);
  CheckUsageError({"replay", "x.csv", "--selection", "first"}, two_pass);
  CheckUsageError({"demo", "--selection", "first"}, two_pass);
  CheckUsageError({"demo", "--profile", "x.csv", "--launches", "5"}, {"--launches", "--profile"});
  CheckUsageError({"plan", "x.csv", "--bbv", "y"}, {"--bbv applies to --method photon"});
  CheckUsageError({"evaluate", "x.csv", "--method", "root"}, {"--online", "--methods"});
  CheckUsageError({"evaluate", "x.csv", "--error-bound", "0.1", "--error-bounds", "0.1,0.2"},
                  {"--error-bounds", "--error-bound;"});
}

TEST_CASE("numbers are decimal, entire words, and fit 64 bits") {
  TempDir scratch;
  for (const std::string word : {"", "-1", "5x", "0x10", "1e3", "1.0", "+5", " 5", "5 ", "0b11",
                                 "18446744073709551616", "nan", "\xC2\xB9"}) {
    CAPTURE(word);
    CheckUsageError({"plan", "x.csv", "--seed", word}, {"--seed", "expected a whole number"});
    CheckUsageError({"replay", "x.csv", "--lag", word}, {"--lag", "0 to 100000000"});
  }
  for (const std::string word :
       {"", "5%%", "%", "5 %", "0,05", "0x1p-4", "1e400", "nan", "0.05 "}) {
    CAPTURE(word);
    CheckUsageError({"plan", "x.csv", "--error-bound", word},
                    {"--error-bound", "expected a share from 0.0001% to 99%, such as 0.05 or 5%",
                     "found '" + word + "'"});
  }
  CheckUsageError({"extrapolate", "--plan", "x", "--results", "y", "--device", "65535"},
                  {"--device", "0 to 65534"});
  CheckUsageError({"generate", "llm-decode", "-o", "x.csv", "--layers", "-1"}, {"--layers"});
  CheckUsageError({"export", "--plan", "x", "--to", "perfetto", "--timeline-launches", "-1"},
                  {"--timeline-launches"});
  // A leading 0 does not make the number octal.
  const auto made =
      RunStemtap(scratch, {"generate", "llm-decode", "-o", "x.csv", "--launches", "0100"});
  CHECK(made.err.find("stemtap: 100 launches") == 0);
}

TEST_CASE("a share is a number or has a percent sign") {
  TempDir scratch;
  REQUIRE(RunStemtap(scratch, {"generate", "llm-decode", "-o", "x.csv", "--launches", "1000"})
              .exit_code == 0);
  const auto plan = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"plan", "x.csv", "--json"});
    const auto made = RunStemtap(scratch, options);
    CHECK_MESSAGE(made.exit_code == 0, made.err);
    return made.out;
  };
  CHECK(plan({"--error-bound", "0.1%"}) == plan({"--error-bound", "0.001"}));
  CHECK(plan({"--confidence", "99%"}) == plan({"--confidence", "0.99"}));
  CHECK(plan({"--pool-small", "2%", "--max-uncovered", "1%"}) ==
        plan({"--pool-small", "0.02", "--max-uncovered", "1e-2"}));
  CHECK(plan({"--max-uncovered", "100%"}) == plan({"--max-uncovered", "1"}));
  const auto bounds = RunStemtap(scratch, {"evaluate", "x.csv", "--methods", "root", "--runs", "2",
                                           "--error-bounds", "5%,0.1", "--json"});
  CHECK(bounds.out.find("\"error_bound\": 0.05,") != std::string::npos);
  CHECK(bounds.out.find("\"error_bound\": 0.1,") != std::string::npos);
  const auto diff =
      RunStemtap(scratch, {"diff", "x.csv", "x.csv", "--threshold", "250%", "--json"});
  CHECK(diff.out.find("\"threshold\":2.5,") != std::string::npos);
}

TEST_CASE("a share that is out of range says what was understood and what to write") {
  CheckUsageError({"plan", "x.csv", "--error-bound", "5"},
                  {"found '5', which is 500%; write 5% or 0.05 for 5%"});
  CheckUsageError({"run", "--error-bound", "1", "--", "true"},
                  {"found '1', which is 100%; write 1% or 0.01 for 1%"});
  CheckUsageError({"evaluate", "x.csv", "--error-bounds", "0.1,1"}, {"--error-bounds", "100%"});
  CheckUsageError({"plan", "x.csv", "--error-bound", "100%"}, {"found '100%', which is 100%"});
  CheckUsageError({"plan", "x.csv", "--confidence", "95"},
                  {"such as 0.95 or 95%, found '95', which is 9500%; write 95% or 0.95 for 95%"});
  CheckUsageError({"plan", "x.csv", "--pool-small", "2"}, {"write 2% or 0.02 for 2%"});
  CheckUsageError({"diff", "a", "b", "--threshold", "2"},
                  {"found '2', which is 200%; write 2% or 0.02 for 2%, 200% for 200%"});
  CheckUsageError({"diff", "a", "b", "--confidence", "40%"}, {"--confidence", "50% to 99.9999%"});
  CheckUsageError({"run", "--max-overhead", "101%", "--", "true"},
                  {"--max-overhead", "expected a number from 0.001 to 100, found '101%'"});
}

TEST_CASE("an unknown value names the nearest one, and an empty path is rejected") {
  CheckUsageError({"plan", "--method", "optimla", "x.csv"},
                  {"--method: expected one of optimal, root", "'optimla', did you mean optimal?"});
  CheckUsageError({"generate", "llm-decod", "-o", "x.csv"}, {"did you mean llm-decode?"});
  CheckUsageError({"run", "--actuator", "profilr", "--", "true"}, {"--actuator", "'profilr'"});
  // An empty argument, as from "$UNSET", must fail and must not change or omit the output.
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
    CheckUsageError(words, {"is empty; expected a path"});
  }
}

}  // namespace
}  // namespace stemtap::test
