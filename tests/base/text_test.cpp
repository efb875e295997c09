// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace stemtap {
namespace {

TEST_CASE("the nearest name forgives a slip") {
  const std::array<std::string, 3> names = {"random", "balanced", "first"};
  CHECK(NearestName("randon", names) == "random");
  CHECK(NearestName("frist", names) == "first");
  CHECK(NearestName("balance", names) == "balanced");
  CHECK(NearestName("xyzzyx", names).empty());
}

TEST_CASE("a terminal obeys nothing") {
  CHECK(EscapeForTerminal("plain text") == "plain text");
  CHECK(EscapeForTerminal("a\x13[31mb\t") == "a\\x13[31mb\\x09");
  CHECK(EscapeForTerminal("\x81") == "\\x81");
  CHECK(EscapeForTerminal("\xC3\xA4") == "\xC3\xA4");
}

TEST_CASE("spaces and tabs around a text are trimmed") {
  CHECK(Trimmed("\t a b \t") == "a b");
  CHECK(Trimmed(" \t ").empty());
  CHECK(Trimmed("\na\r") == "\na\r");
}

TEST_CASE("how deep a JSON text nests, quotes left out") {
  CHECK_FALSE(NestsDeeper("", 0));
  CHECK_FALSE(NestsDeeper("7", 0));
  CHECK(NestsDeeper("[]", 0));
  CHECK_FALSE(NestsDeeper("[[], {\"a\": []}, []]", 3));
  CHECK(NestsDeeper("[[], {\"a\": []}, []]", 2));
  CHECK_FALSE(NestsDeeper(R"(["[[[[", "\"[[[["])", 1));
  CHECK_FALSE(NestsDeeper("]]]][", 1));
}

}  // namespace
}  // namespace stemtap
