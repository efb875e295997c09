// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_source.h"

namespace stemtap {
namespace {

using Cells = std::vector<std::string_view>;

CsvReader Open(std::string_view text, std::size_t piece = kReadBytes) {
  return CsvReader(std::make_unique<MemorySource>("t", text, piece));
}

TEST_CASE("each line is counted once for any content") {
  const std::string text = "a,\"b\n\n\"\r\n\r\n\"\n\"\nlast,";
  CsvReader csv = Open(text, 1);
  REQUIRE(csv.NextRow().value());
  CHECK(csv.line() == 1);
  CHECK(csv.cells() == Cells{"a", "b\n\n"});
  REQUIRE(csv.NextRow().value());
  CHECK(csv.line() == 5);
  CHECK(csv.cells() == Cells{"\n"});
  REQUIRE(csv.NextRow().value());
  CHECK(csv.line() == 7);
  CHECK(csv.cells() == Cells{"last", ""});
  CHECK_FALSE(csv.NextRow().value());
}

TEST_CASE("a one-line row is split at commas outside quotes") {
  struct {
    const char* line;
    Cells cells;
  } const cases[] = {
      {"a", {"a"}},
      {"a,", {"a", ""}},
      {",", {"", ""}},
      {"\"\"", {""}},
      {"\"\",\"\"", {"", ""}},
      {"\"a,b\",c", {"a,b", "c"}},
      {"\"a\"\"b\",\"\"\"\",c", {"a\"b", "\"", "c"}},
      {"\"\"\"a\"\"b\"\"c\"\"\"", {"\"a\"b\"c\""}},
      {"a\"b\",\"c", {}},
      {"a\"b\",c\"", {"a\"b\"", "c\""}},
      {"\"a\" ,b", {}},
      {"\"a\"\"", {}},
  };
  for (const auto& one : cases) {
    CAPTURE(one.line);
    CsvReader line = Open(one.line);
    REQUIRE(line.NextLine().value());
    CHECK(line.SplitLine() == !one.cells.empty());
    if (!one.cells.empty()) CHECK(line.cells() == one.cells);
    CsvReader row = Open(one.line);
    const Result<bool> more = row.NextRow();
    CHECK(more.ok() == !one.cells.empty());
    if (more.ok()) CHECK(row.cells() == one.cells);
  }
}

TEST_CASE("a line is split from the first column of its table") {
  CsvReader csv = Open("no line end\"a\",\"b,c\"\n");
  REQUIRE(csv.NextLine().value());
  REQUIRE(csv.SplitLine(11));
  CHECK(csv.cells() == Cells{"a", "b,c"});
}

TEST_CASE("a quote must end on its line, or can span lines of a row") {
  const std::string text = "a,\"b\nc\",\"\"\"d\n\n\"\"\",e\nf\n";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, kReadBytes}) {
    CAPTURE(piece);
    CsvReader csv = Open(text, piece);
    REQUIRE(csv.NextLine().value());
    CHECK_FALSE(csv.SplitLine());
    REQUIRE(csv.NextLine().value());
    CHECK(csv.text() == "c\",\"\"\"d");
    csv = Open(text, piece);
    REQUIRE(csv.NextLine().value());
    REQUIRE(csv.SplitRow().ok());
    CHECK(csv.cells() == Cells{"a", "b\nc", "\"d\n\n\"", "e"});
    CHECK(csv.line() == 1);
    REQUIRE(csv.NextLine().value());
    CHECK(csv.text() == "f");
    CHECK(csv.line() == 5);
  }
}

TEST_CASE("rows do not depend on read boundaries or line endings") {
  for (const std::string end : {"\n", "\r\n"}) {
    std::string text = "\xEF\xBB\xBF\"head\"" + end;
    for (int i = 0; i < 3; ++i) {
      text += "1,,\"a,b\"" + end + end + "x" + end + "\"a\"\"b\"," + end + "\"\",2" + end;
    }
    for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{13}, kReadBytes}) {
      CAPTURE(piece);
      CsvReader csv = Open(text, piece);
      REQUIRE(csv.NextRow().value());
      CHECK(csv.cells() == Cells{"head"});
      for (std::uint64_t line = 2; line < 17; line += 5) {
        REQUIRE(csv.NextRow().value());
        CHECK(csv.cells() == Cells{"1", "", "a,b"});
        CHECK(csv.line() == line);
        REQUIRE(csv.NextRow().value());
        CHECK(csv.cells() == Cells{"x"});
        CHECK(csv.line() == line + 2);
        REQUIRE(csv.NextRow().value());
        CHECK(csv.cells() == Cells{"a\"b", ""});
        REQUIRE(csv.NextRow().value());
        CHECK(csv.cells() == Cells{"", "2"});
        CHECK(csv.line() == line + 4);
        CHECK_FALSE(csv.MayBeCut());
      }
      CHECK_FALSE(csv.NextRow().value());
      CHECK(csv.line() == 17);
    }
  }
}

TEST_CASE("a row with a NUL byte is an error, and the rows before it are read") {
  const std::string text("a,b\n1,2\n3,\0\n", 13);
  for (const std::size_t piece : {std::size_t{1}, kReadBytes}) {
    CsvReader csv = Open(text, piece);
    REQUIRE(csv.NextRow().value());
    REQUIRE(csv.NextRow().value());
    const Result<bool> more = csv.NextRow();
    REQUIRE_FALSE(more.ok());
    CHECK(more.error().message.starts_with("t:3: contains NUL bytes"));
  }
}

// Covers rows longer than one read, and cells that were split before the buffer moved.
TEST_CASE("cells stay complete while their row is read in several pieces") {
  std::string text;
  for (int i = 0; i < 5; ++i) {
    text += "first,\"" + std::string(kReadBytes, static_cast<char>('a' + i)) + "\n\",\"" +
            std::string(kReadBytes, '\n') + "\",last\n";
  }
  CsvReader csv = Open(text);
  for (int i = 0; i < 5; ++i) {
    REQUIRE(csv.NextRow().value());
    REQUIRE(csv.cells().size() == 4);
    CHECK(csv.cells()[0] == "first");
    CHECK((csv.cells()[1] == std::string(kReadBytes, static_cast<char>('a' + i)) + '\n'));
    CHECK((csv.cells()[2] == std::string(kReadBytes, '\n')));
    CHECK(csv.cells()[3] == "last");
    CHECK(csv.line() == 1 + static_cast<std::uint64_t>(i) * (kReadBytes + 2));
  }
  CHECK_FALSE(csv.NextRow().value());
}

TEST_CASE("a row of many lines needs only as much memory as its size") {
  std::string text = std::string(1 << 19, ',') + '"';
  for (int i = 0; i < (1 << 19); ++i) text += "\"\"\n";
  text += "\"\n";
  CsvReader csv = Open(text);
  REQUIRE(csv.NextRow().value());
  CHECK(csv.cells().size() == (1 << 19) + 1);
  CHECK(csv.cells().back().size() == 2 << 19);
}

TEST_CASE("a line may be truncated if neither its end nor a quote proves it complete") {
  struct {
    const char* text;
    bool may_be_cut;
  } const cases[] = {{"a,b\n", false}, {"a,b", true}, {"a,\"b\"", false}, {"\"\",", true}};
  for (const auto& one : cases) {
    CAPTURE(one.text);
    CsvReader csv = Open(one.text);
    REQUIRE(csv.NextLine().value());
    CHECK(csv.MayBeCut() == one.may_be_cut);
    REQUIRE(csv.SplitLine());
    CHECK(csv.MayBeCut() == one.may_be_cut);
  }
}

TEST_CASE("a row may be truncated in its last line, however its first lines end") {
  struct {
    const char* text;
    bool may_be_cut;
  } const cases[] = {
      {"\"a\nb\",1\n", false},
      {"\"a\nb\",1", true},
      {"\"a\nb\",\"1\"", false},
      {"\"a\"\n", false},
      {"\"a\"\"\n\"\"\",\"\"\"\"", false},
      {"\"\"\"\n\"\"\",1", true},
      {"\"a\"\"b\",\"\"\"1\"\"\"", false},
      {"\"\"\"\",\"\"\"\",1", true},
  };
  for (const auto& one : cases) {
    for (const std::size_t piece : {std::size_t{1}, kReadBytes}) {
      CAPTURE(one.text);
      CsvReader split = Open(one.text, piece);
      REQUIRE(split.NextLine().value());
      REQUIRE(split.SplitRow().ok());
      CHECK(split.MayBeCut() == one.may_be_cut);
      CsvReader row = Open(one.text, piece);
      REQUIRE(row.NextRow().value());
      CHECK(row.MayBeCut() == one.may_be_cut);
    }
  }
}

TEST_CASE("a cell that a spreadsheet would evaluate gets an apostrophe, unless it must be exact") {
  for (const std::string text : {"=1", "+1", "-1", "@a", "\tb"}) {
    CHECK(CsvCell(text) == "'" + text);
    CHECK(ExactCsvCell(text) == text);
  }
  CHECK(CsvCell("\r=1") == "\"'\r=1\"");
  CHECK(CsvCell("\n=1") == "\"'\n=1\"");
  CHECK(CsvCell("") == "");
  CHECK(CsvCell("a=1") == "a=1");
  CHECK(CsvCell("=\"a\",b") == "\"'=\"\"a\"\",b\"");
  CHECK(ExactCsvCell("=\"a\",b") == "\"=\"\"a\"\",b\"");
}

TEST_CASE("if several columns have the same name, the last one is found") {
  const Cells cells = {"a", "b", "a"};
  CHECK(FindCell(cells, "a") == 2);
  CHECK(FindCell(cells, "b") == 1);
  CHECK_FALSE(FindCell(cells, "c"));
}

TEST_CASE("csv: cells can be separated by tabs") {
  const std::string_view text = "a,b\t\"c\td\"\t\ne\t\"f\ng\"\th\n";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{100}}) {
    CsvReader csv(std::make_unique<MemorySource>("t", text, piece), '\t');
    REQUIRE(csv.NextRow().value());
    CHECK(csv.cells() == Cells{"a,b", "c\td", ""});
    REQUIRE(csv.NextRow().value());
    CHECK(csv.cells() == Cells{"e", "f\ng", "h"});
    CHECK_FALSE(csv.NextRow().value());
  }
}

}  // namespace
}  // namespace stemtap
