// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace stemtap {
namespace {

TEST_CASE("the nearest name is found despite a typing error") {
  const std::array<std::string, 3> names = {"random", "balanced", "first"};
  CHECK(NearestName("randon", names) == "random");
  CHECK(NearestName("frist", names) == "first");
  CHECK(NearestName("balance", names) == "balanced");
  CHECK(NearestName("xyzzyx", names).empty());
}

TEST_CASE("escaped text contains no terminal control sequence") {
  CHECK(EscapeForTerminal("plain text") == "plain text");
  CHECK(EscapeForTerminal("a\x13[31mb\t") == "a\\x13[31mb\\x09");
  CHECK(EscapeForTerminal("\x81") == "\\x81");
  CHECK(EscapeForTerminal("\xC3\xA4") == "\xC3\xA4");
  CHECK(EscapeForTerminal("a\nb\x7F") == "a\\x0Ab\\x7F");
  CHECK(EscapeForTerminal(std::string_view("\0", 1)) == "\\x00");
}

TEST_CASE("characters that hide or reorder text are escaped, and visible ones are not") {
  const auto utf8 = [](const char8_t* text) {
    return std::string(reinterpret_cast<const char*>(text));
  };
  CHECK(EscapeForTerminal(utf8(u8"\u0080\u009F")) == "\\u{80}\\u{9F}");
  for (const auto& [text, escaped] : {
           std::pair{u8"\u202A\u202E", "\\u{202A}\\u{202E}"},  // bidirectional embedding, override
           {u8"\u2066\u2069", "\\u{2066}\\u{2069}"},           // isolates
           {u8"\u200E\u200F\u061C", "\\u{200E}\\u{200F}\\u{61C}"},  // marks
           {u8"\u200B\u200C\u200D\u2060\uFEFF",
            "\\u{200B}\\u{200C}\\u{200D}\\u{2060}\\u{FEFF}"},      // zero width
           {u8"\u2028\u2029", "\\u{2028}\\u{2029}"},               // line, paragraph separator
           {u8"\u00AD\u3164\uFE0F", "\\u{AD}\\u{3164}\\u{FE0F}"},  // invisible
           {u8"\U000E0041", "\\u{E0041}"},                         // tag
       }) {
    CHECK(EscapeForTerminal(utf8(text)) == escaped);
    CHECK(EscapeForTerminal(escaped) == escaped);
  }
  const std::string visible =
      utf8(u8" ~\u00A0\u00AE\u0391\u05D0\u200A\u2010\u2027\u202F\u205F\u4E2D\uFFFD\U0001F600");
  CHECK(EscapeForTerminal(visible) == visible);
}

TEST_CASE("bytes that are not UTF-8 are escaped one by one") {
  CHECK(EscapeForTerminal("\xC3") == "\\xC3");
  CHECK(EscapeForTerminal("\xC3(") == "\\xC3(");
  CHECK(EscapeForTerminal("\xC0\xAF") == "\\xC0\\xAF");                    // overlong
  CHECK(EscapeForTerminal("\xE0\x80\x9B") == "\\xE0\\x80\\x9B");           // overlong
  CHECK(EscapeForTerminal("\xED\xA0\x80") == "\\xED\\xA0\\x80");           // a surrogate
  CHECK(EscapeForTerminal("\xF4\x90\x80\x80") == "\\xF4\\x90\\x80\\x80");  // above 10FFFF
}

TEST_CASE("text of several lines keeps its line feeds") {
  CHECK(EscapeLines("a\r\n\x1B[b\n") == "a\\x0D\n\\x1B[b\n");
}

TEST_CASE("spaces and tabs around a text are trimmed") {
  CHECK(Trimmed("\t a b \t") == "a b");
  CHECK(Trimmed(" \t ").empty());
  CHECK(Trimmed("\na\r") == "\na\r");
}

TEST_CASE("the nesting depth of JSON ignores brackets in strings") {
  CHECK_FALSE(NestsDeeper("", 0));
  CHECK_FALSE(NestsDeeper("7", 0));
  CHECK(NestsDeeper("[]", 0));
  CHECK_FALSE(NestsDeeper("[[], {\"a\": []}, []]", 3));
  CHECK(NestsDeeper("[[], {\"a\": []}, []]", 2));
  CHECK_FALSE(NestsDeeper(R"(["[[[[", "\"[[[["])", 1));
  CHECK_FALSE(NestsDeeper("]]]][", 1));
}

TEST_CASE("times and sizes are shown in a suitable unit") {
  CHECK(ShownSeconds(0.0) == "0.0 s");
  CHECK(ShownSeconds(119.9) == "119.9 s");
  CHECK(ShownSeconds(2520.0) == "42 min");
  CHECK(ShownSeconds(27000.0) == "7.5 h");
  CHECK(ShownSeconds(2522880.0) == "29.2 days");
  CHECK(ShownBytes(0.0) == "0 B");
  CHECK(ShownBytes(512.0) == "512 B");
  CHECK(ShownBytes(999.4) == "999 B");
  CHECK(ShownBytes(999.6) == "1.00 kB");
  CHECK(ShownBytes(45'120'000.0) == "45.1 MB");
  CHECK(ShownBytes(2.542e12) == "2.54 TB");
  CHECK(ShownBytes(5e18) == "5000 PB");
}

TEST_CASE("a count of one has a singular noun") {
  CHECK(Plural(0, "kernel") == "0 kernels");
  CHECK(Plural(1, "kernel") == "1 kernel");
  CHECK(Plural(2, "kernel") == "2 kernels");
  CHECK(Plural(1, "launch", "launches") == "1 launch");
  CHECK(Plural(18'446'744'073'709'551'615u, "launch", "launches") ==
        "18446744073709551615 launches");
}

}  // namespace
}  // namespace stemtap
