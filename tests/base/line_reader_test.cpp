// SPDX-License-Identifier: Apache-2.0
#include "base/line_reader.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_source.h"

namespace stemtap {
namespace {

LineReader Open(std::string_view text, std::size_t piece = kReadBytes,
                std::size_t max_bytes = kMaxLineBytes) {
  return LineReader(std::make_unique<MemorySource>("t", text, piece), max_bytes);
}

TEST_CASE("lines end in LF, CRLF or the end of the content, and keep their numbers") {
  const std::string text =
      "\xEF\xBB\xBF"
      "a\n\r\n\nb\rc\r\n\xEF\xBB\xBFlast";
  const std::vector<std::string> expected = {"a", "", "", "b\rc", "\xEF\xBB\xBFlast"};
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, kReadBytes}) {
    CAPTURE(piece);
    LineReader lines = Open(text, piece);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      REQUIRE(lines.Next().value());
      CHECK(lines.text() == expected[i]);
      CHECK(lines.number() == i + 1);
      CHECK(lines.ended() == (i + 1 < expected.size()));
    }
    CHECK_FALSE(lines.Next().value());
    CHECK_FALSE(lines.Next().value());
    CHECK(lines.number() == 6);
    CHECK(lines.Where() == "t:6");
    CHECK(lines.At("what").message == "t:6: what");
  }
}

TEST_CASE("empty content has no lines, and its errors refer to the first line") {
  LineReader lines = Open("");
  CHECK_FALSE(lines.Next().value());
  CHECK(lines.Where() == "t:1");
  CHECK(lines.text().empty());
}

TEST_CASE("a line can be extended by the next lines") {
  for (const std::size_t piece : {std::size_t{1}, kReadBytes}) {
    CAPTURE(piece);
    LineReader lines = Open("a\nb\r\nc\n\nd", piece);
    REQUIRE(lines.Next().value());
    REQUIRE(lines.Next().value());
    REQUIRE(lines.Extend().value());
    CHECK(lines.text() == "b\r\nc");
    REQUIRE(lines.Extend().value());
    CHECK(lines.text() == "b\r\nc\n");
    CHECK(lines.number() == 2);
    REQUIRE(lines.Next().value());
    CHECK(lines.text() == "d");
    CHECK(lines.number() == 5);
    CHECK_FALSE(lines.Extend().value());
    CHECK(lines.text() == "d");
    CHECK_FALSE(lines.ended());
  }
}

TEST_CASE("a line without a continuation is unchanged, including its ending") {
  for (const std::size_t piece : {std::size_t{1}, kReadBytes}) {
    CAPTURE(piece);
    LineReader lines = Open("a\nb\r\n", piece);
    REQUIRE(lines.Next().value());
    REQUIRE(lines.Next().value());
    for (int i = 0; i < 2; ++i) {
      CHECK_FALSE(lines.Extend().value());
      CHECK(lines.text() == "b");
      CHECK(lines.ended());
      CHECK(lines.number() == 2);
    }
    CHECK_FALSE(lines.Next().value());
    CHECK(lines.ended());
  }
}

TEST_CASE("lines longer than the limit are errors, and lines as long as the limit are not") {
  const std::string fits(10, 'x');
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, kReadBytes}) {
    for (const char* end : {"", "\n"}) {
      CAPTURE(piece);
      const std::string short_text = "a\n" + fits + end;
      LineReader lines = Open(short_text, piece, 10);
      REQUIRE(lines.Next().value());
      REQUIRE(lines.Next().value());
      CHECK(lines.text() == fits);
      const std::string long_text = "a\n" + fits + "x" + end;
      LineReader longer = Open(long_text, piece, 10);
      REQUIRE(longer.Next().value());
      const Result<bool> more = longer.Next();
      REQUIRE_FALSE(more.ok());
      CHECK(more.error().message == "t:2: a line of more than 10 bytes; expected text");
    }
  }
  LineReader row = Open("12345\n1234\n1\n", 1, 10);
  REQUIRE(row.Next().value());
  REQUIRE(row.Extend().value());
  CHECK(row.Extend().error().message ==
        "t:1: a row of more than 10 bytes; expected a closing quote or a line end");
}

TEST_CASE("NUL bytes are an error at the line of the first NUL byte") {
  const std::string text("a\nb\n\0c\nd\0\n", 9);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, kReadBytes}) {
    CAPTURE(piece);
    LineReader lines = Open(text, piece);
    REQUIRE(lines.Next().value());
    REQUIRE(lines.Next().value());
    const Result<bool> more = lines.Next();
    REQUIRE_FALSE(more.ok());
    CHECK(more.error().message ==
          "t:3: contains NUL bytes (UTF-16 or a binary file); expected text in UTF-8");
  }
}

}  // namespace
}  // namespace stemtap
