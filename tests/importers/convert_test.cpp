// SPDX-License-Identifier: Apache-2.0
// convert and generate, run as a user does: what goes to which stream.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/paths.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace stemtap {
namespace {

using test::RunProcess;
using test::TempDir;

std::string Stemtap() {
  return test::StemtapProgram().string();
}

TEST_CASE("a profile on standard output is nothing but the profile") {
  TempDir folder;
  const auto made = RunProcess({Stemtap(), "generate", "llm-decode", "--launches", "5", "-o", "-"});
  REQUIRE(made.exit_code == 0);
  CHECK(made.err.find("5 launches") != std::string::npos);
  const std::string generated = folder.Write("generated.csv", made.out).string();
  const auto converted = RunProcess({Stemtap(), "convert", generated, "-o", "-"});
  REQUIRE(converted.exit_code == 0);
  CHECK(converted.out == made.out);
  CHECK(converted.err.find("5 invocations") != std::string::npos);
}

TEST_CASE("counts are on stderr, and as JSON on stdout when asked for") {
  TempDir folder;
  const std::string csv = folder.Write("a.csv", "duration_ns,name\n0,a\n7,b\n0,b\n").string();
  const std::string output = (folder / "b.stemtap").string();
  const auto plain = RunProcess({Stemtap(), "convert", csv, "-o", output});
  CHECK(plain.exit_code == 0);
  CHECK(plain.out.empty());
  CHECK(plain.err.find("3 invocations of 2 kernels, 2 of duration 0") != std::string::npos);

  const auto converted = RunProcess({Stemtap(), "convert", csv, "-o", output, "--json"});
  REQUIRE(converted.exit_code == 0);
  const auto counts = nlohmann::json::parse(converted.out);
  CHECK(counts.at("invocations") == 3);
  CHECK(counts.at("kernels") == 2);
  CHECK(counts.at("zero_duration") == 2);

  const auto made = RunProcess({Stemtap(), "generate", "llm-decode", "--launches", "5", "-o",
                                (folder / "c.csv").string(), "--json"});
  REQUIRE(made.exit_code == 0);
  CHECK(nlohmann::json::parse(made.out).at("invocations") == 5);
}

TEST_CASE("JSON and the profile do not share standard output") {
  TempDir folder;
  const std::string csv = folder.Write("a.csv", "duration_ns,name\n5,a\n").string();
  const auto converted = RunProcess({Stemtap(), "convert", csv, "-o", "-", "--json"});
  CHECK(converted.exit_code == 2);
  CHECK(converted.out.empty());
  const auto made = RunProcess({Stemtap(), "generate", "llm-decode", "-o", "-", "--json"});
  CHECK(made.exit_code == 2);
  CHECK(made.out.empty());
}

}  // namespace
}  // namespace stemtap
