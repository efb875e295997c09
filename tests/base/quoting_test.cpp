// SPDX-License-Identifier: Apache-2.0
#include "base/quoting.h"

#include <doctest/doctest.h>

namespace stemtap {
namespace {

TEST_CASE("JSON keeps its value when invisible characters are escaped") {
  CHECK(EscapeJson("{\"a\":[1,\"b\\n\"]}\n") == "{\"a\":[1,\"b\\n\"]}\n");
  CHECK(EscapeJson("\"\x7F\xC2\x9B\xE2\x80\xAE\xC3\xA4\"") == "\"\\u007f\\u009b\\u202e\xC3\xA4\"");
  CHECK(EscapeJson("\"\xF3\xA0\x81\x81\"") == "\"\\udb40\\udc41\"");  // U+E0041
}

TEST_CASE("a shell word is one word for any content") {
  CHECK(ShellWord("stemtap-decode/plan.json") == "stemtap-decode/plan.json");
  CHECK(ShellWord("--option") == "--option");
  CHECK(ShellWord("") == "''");
  CHECK(ShellWord("a b") == "'a b'");
  CHECK(ShellWord("it's $(x)") == "'it'\\''s $(x)'");
  CHECK(ShellWord("=a") == "'=a'");  // zsh replaces it by the path of the program a
  CHECK(ShellWord("~") == "'~'");
  CHECK(ShellWord("\\") == "'\\'");
  CHECK(ShellWord("\xC3\xA4") == "'\xC3\xA4'");
  CHECK(ShellPath("-rf") == "./-rf");
  CHECK(ShellPath("-") == "./-");
  CHECK(ShellPath("a b") == "'a b'");
  // A terminal would interpret control characters, and run what follows a line end.
  CHECK(ShellWord("a\x03touch x\n'\\\xE2\x80\xAE!\xFF") ==
        "$'a\\003touch x\\012\\'\\\\\\342\\200\\256\\041\\377'");
  CHECK(ShellPath("-\x1B") == "$'./-\\033'");
}

}  // namespace
}  // namespace stemtap
