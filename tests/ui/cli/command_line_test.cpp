// SPDX-License-Identifier: Apache-2.0
// Tests that usage errors print one clear line and exit with 2.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/check_failure.h"
#include "support/stemtap.h"

namespace stemtap::test {
namespace {

TEST_CASE("an unknown command or option names the nearest one") {
  CheckFailure(RunStemtap({"replya"}), 2, {"unknown command 'replya'", "did you mean replay?"});
  CheckFailure(RunStemtap({"xyzzy"}), 2, {"unknown command 'xyzzy'"});
  CheckFailure(RunStemtap({"replya", "--help"}), 2,
               {"unknown command 'replya'", "did you mean replay?"});
  CheckFailure(RunStemtap({"plan", "--error-bound", "nan", "x"}), 2, {"--error-bound", "nan"});
  CheckFailure(RunStemtap({"--versoin"}), 2, {"unknown option '--versoin'", "--version"});
  CheckFailure(RunStemtap({"plan", "--erorr-bound", "0.1", "x.csv"}), 2,
               {"unknown option '--erorr-bound'", "did you mean --error-bound?"});
  CheckFailure(RunStemtap({"replay", "x.csv", "--sed=3"}), 2, {"--seed"});
  CheckFailure(RunStemtap({"run", "--levle", "gate", "--", "true"}), 2, {"--level"});
  CHECK(RunStemtap({}).exit_code == 2);
}

TEST_CASE("an option after the program is rejected instead of being read as an option of run") {
  const std::vector<std::string> expected = {"expected stemtap run [options] -- PROGRAM"};
  CheckFailure(RunStemtap({"run", "echo", "--seed", "4"}), 2, expected);
  CheckFailure(RunStemtap({"run", "echo", "-q"}), 2, expected);
  CheckFailure(RunStemtap({"run", "-q", "sh", "-c", "true"}), 2, expected);
}

TEST_CASE("values out of range are usage errors") {
  CheckFailure(RunStemtap({"plan", "--error-bound", "0", "x.csv"}), 2, {"--error-bound"});
  CheckFailure(RunStemtap({"plan", "--error-bound", "much", "x.csv"}), 2, {"--error-bound"});
  CheckFailure(RunStemtap({"plan", "--confidence", "1.5", "x.csv"}), 2, {"--confidence"});
  CheckFailure(RunStemtap({"plan", "--method", "guess", "x.csv"}), 2, {"--method"});
  CheckFailure(RunStemtap({"replay", "--lag", "-1", "x.csv"}), 2, {"--lag"});
  CheckFailure(RunStemtap({"plan"}), 2, {"profile"});
  CheckFailure(RunStemtap({"run"}), 2, {"stemtap run"});
}

TEST_CASE("an option without effect is a usage error") {
  const std::vector<std::string> two_pass = {"--selection first", "two-pass plan"};
  CheckFailure(RunStemtap({"run", "--selection", "first", "--", "true"}), 2, two_pass);
  CheckFailure(RunStemtap({"replay", "x.csv", "--selection", "first"}), 2, two_pass);
  CheckFailure(RunStemtap({"demo", "--selection", "first"}), 2, two_pass);
  CheckFailure(RunStemtap({"demo", "--profile", "x.csv", "--launches", "5"}), 2,
               {"--launches", "--profile"});
  CheckFailure(RunStemtap({"plan", "x.csv", "--bbv", "y"}), 2,
               {"--bbv applies to --method photon"});
  CheckFailure(RunStemtap({"evaluate", "x.csv", "--method", "root"}), 2, {"--online", "--methods"});
  CheckFailure(
      RunStemtap({"evaluate", "x.csv", "--error-bound", "0.1", "--error-bounds", "0.1,0.2"}), 2,
      {"--error-bounds", "--error-bound;"});
}

TEST_CASE("numbers are decimal, whole words and within 64 bits") {
  TempDir scratch;
  for (const std::string word : {"", "-1", "5x", "0x10", "1e3", "1.0", "+5", " 5", "5 ", "0b11",
                                 "18446744073709551616", "nan", "\xC2\xB9"}) {
    CAPTURE(word);
    CheckFailure(RunStemtap({"plan", "x.csv", "--seed", word}), 2,
                 {"--seed", "expected a whole number"});
    CheckFailure(RunStemtap({"replay", "x.csv", "--lag", word}), 2, {"--lag", "0 to 100000000"});
  }
  for (const std::string word : {"", "5%", "0,05", "0x1p-4", "1e400", "nan", "0.05 "}) {
    CAPTURE(word);
    CheckFailure(RunStemtap({"plan", "x.csv", "--error-bound", word}), 2,
                 {"--error-bound", "expected a number of 1e-06 to 1", "found '" + word + "'"});
  }
  CheckFailure(RunStemtap({"extrapolate", "--plan", "x", "--results", "y", "--device", "65535"}), 2,
               {"--device", "0 to 65534"});
  CheckFailure(RunStemtap({"generate", "llm-decode", "-o", "x.csv", "--layers", "-1"}), 2,
               {"--layers"});
  CheckFailure(
      RunStemtap({"export", "--plan", "x", "--to", "perfetto", "--timeline-launches", "-1"}), 2,
      {"--timeline-launches"});
  // A leading 0 does not make the number octal.
  const auto made =
      RunStemtap(scratch, {"generate", "llm-decode", "-o", "x.csv", "--launches", "0100"});
  CHECK(made.err.find("stemtap: 100 launches") == 0);
}

TEST_CASE("an unknown value names the nearest one, and an empty path is rejected") {
  CheckFailure(RunStemtap({"plan", "--method", "optimla", "x.csv"}), 2,
               {"--method: expected one of optimal, root", "'optimla', did you mean optimal?"});
  CheckFailure(RunStemtap({"generate", "llm-decod", "-o", "x.csv"}), 2,
               {"did you mean llm-decode?"});
  CheckFailure(RunStemtap({"run", "--actuator", "profilr", "--", "true"}), 2,
               {"--actuator", "'profilr'"});
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
    CheckFailure(RunStemtap(words), 2, {"is empty; expected a path"});
  }
}

}  // namespace
}  // namespace stemtap::test
