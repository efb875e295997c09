// SPDX-License-Identifier: Apache-2.0
// Tests the text that is generated from the table of options.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/check_failure.h"
#include "support/stemtap.h"

namespace stemtap::test {
namespace {

TEST_CASE("every command has --help that fits a terminal") {
  const auto program = RunStemtap({"--help"});
  std::vector<std::string> commands = {""};
  std::istringstream lines(program.out.substr(program.out.find("\nCommands:\n") + 11));
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    if (line.size() > 3 && line[2] != ' ')
      commands.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  CHECK(commands.size() > 14);
  for (const std::string& command : commands) {
    CAPTURE(command);
    const auto help = command.empty() ? program : RunStemtap({command, "--help"});
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
  const std::string plan = RunStemtap({"plan", "--help"}).out;
  for (const char* words : {"  --seed N  ", "(default: 1)", "  --exclude REGEX  ", " default: 1)",
                            "\n                          random: ", "-o, --output FILE  "}) {
    CAPTURE(words);
    CHECK(plan.find(words) != std::string::npos);
  }
}

TEST_CASE("help and version are also commands") {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--version"}, {"-V"}, {"version"}}) {
    const auto version = RunStemtap(words);
    CHECK(version.exit_code == 0);
    CHECK(version.out.starts_with("stemtap 0.1.0\ncommit "));
    CHECK(version.out.find(" build\nCUPTI versions 12 (CUDA 10.1) to ") != std::string::npos);
  }
  CHECK(RunStemtap({"help"}).out == RunStemtap({"--help"}).out);
  CHECK(RunStemtap({"--help"}).out.find("\n  help ") != std::string::npos);
  for (const std::string command : {"run", "report", "help"}) {
    const auto help = RunStemtap({"help", command});
    CHECK(help.exit_code == 0);
    CHECK(help.out == RunStemtap({command, "--help"}).out);
    CHECK(help.out.find("\nUsage: stemtap " + command + " [options]") != std::string::npos);
  }
  CheckUsageError({"help", "replya"}, {"'replya', did you mean replay?"});
  CheckUsageError({"help", "run", "plan"}, {"unexpected argument 'plan'"});
  CheckUsageError({"report", "--", "-odd", "x"}, {"unexpected argument 'x'"});
}

TEST_CASE("--min-samples and --captured-times behave as their help text states") {
  TempDir scratch;
  // Some clusters have fewer samples than the minimum. The help explains which.
  const auto words = [](const std::string& text) {
    std::istringstream in(text);
    std::string all;
    for (std::string word; in >> word;) all += word + " ";
    return all;
  };
  const std::string help = words(RunStemtap({"run", "--help"}).out);
  for (const char* sentence :
       {"minimum samples per cluster; a cluster with fewer launches is sampled whole.",
        "exploratory captures do not count toward the minimum",
        "slowed: captures slow their launches and concurrent ones, which are imputed with the "
        "mean"}) {
    CAPTURE(sentence);
    CHECK(help.find(sentence) != std::string::npos);
  }
  REQUIRE(RunStemtap(scratch, {"generate", "llm-decode", "--launches", "300000", "-o", "p.stemtap"})
              .exit_code == 0);
  REQUIRE(RunStemtap(scratch, {"plan", "p.stemtap", "--min-samples", "4", "-o", "plan.json"})
              .exit_code == 0);
  REQUIRE(RunStemtap(scratch, {"replay", "p.stemtap", "--min-samples", "4", "-q", "-o", "s"})
              .exit_code == 0);
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

TEST_CASE("--capture-cost plans by launch, and methods that ignore a price refuse it") {
  TempDir scratch;
  REQUIRE(RunStemtap(scratch, {"generate", "llm-serve", "--launches", "20000", "-o", "p.stemtap"})
              .exit_code == 0);
  const auto samples = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"plan", "p.stemtap", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto run = RunStemtap(scratch, words);
    REQUIRE(run.exit_code == 0);
    return nlohmann::json::parse(run.out)["totals"]["samples"].get<int>();
  };
  CHECK(samples({"--capture-cost", "ncu"}) < samples({}));
  CHECK(samples({"--capture-cost", "accel-sim"}) == samples({}));
  const auto text = RunStemtap(scratch, {"plan", "p.stemtap", "--capture-cost", "100ms"});
  CHECK(text.out.find("\ncapturing costs about ") != std::string::npos);
  for (const std::string method : {"root", "stem", "allegro"}) {
    CAPTURE(method);
    CheckFailure(RunStemtap(scratch, {"plan", "p.stemtap", "--capture-cost", "ncu", "--method",
                                      method}),
                 2, {"--capture-cost: a fixed time is not supported by --method " + method});
  }
}

TEST_CASE("help that cannot be written is a failure") {
  for (const std::string words : {"--help", "--version", "plan --help"}) {
    CAPTURE(words);
    CheckFailure(RunProcess({"/bin/sh", "-c", "exec \"$0\" " + words + " > /dev/full",
                             StemtapProgram().string()}),
                 1, {"standard output cannot be written", "No space left"});
  }
}

TEST_CASE(
    "formats lists readable formats and, with a command to convert them, recognized formats") {
  const auto text = RunStemtap({"formats"});
  CHECK(text.exit_code == 0);
  const auto json = RunStemtap({"formats", "--json"});
  CHECK(json.exit_code == 0);
  for (const std::string word : {"rocpd", "nsys export --type sqlite FILE", "(.ncu-rep)"}) {
    CAPTURE(word);
    CHECK(text.out.find(word) != std::string::npos);
    CHECK(json.out.find(word) != std::string::npos);
  }
}

}  // namespace
}  // namespace stemtap::test
