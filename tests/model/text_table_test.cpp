// SPDX-License-Identifier: Apache-2.0
#include "model/text_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/wrap.h"
#include "model/row_view.h"

namespace stemtap::model {
namespace {

std::string Table(std::size_t width) {
  return TableText({{"verdict", {"slower", "same"}, 0, true},
                    {"time ms", {"1234.567", "8"}, 2},
                    {"mean us", {"12.50", "1"}, 1},
                    {"unknown", {"", ""}}},
                   {"kernel",
                    {"kernel<128, 4, MulFunctor>", "kernel<128, 4, AddFunctor>"},
                    {"7 ", ""},
                    {"", " #1"}},
                   width);
}

std::size_t WidestLine(const std::string& text) {
  std::istringstream lines(text);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, line.size());
  return width;
}

TEST_CASE("a table of unlimited width has all columns that have values, and whole names") {
  CHECK(Table(kUnlimitedWidth) ==
        "verdict   time ms  mean us  kernel\n"
        "slower   1234.567    12.50  7 kernel<128, 4, MulFunctor>\n"
        "same            8        1  kernel<128, 4, AddFunctor> #1\n");
}

TEST_CASE("a table that is too wide cuts names, then leaves out columns and names them") {
  for (std::size_t width = 32; width <= 90; ++width) {
    CAPTURE(width);
    const std::string table = Table(width);
    CAPTURE(table);
    CHECK(WidestLine(table) <= width);
    // Names stay different: by what distinguishes them, or numbered.
    for (const auto& [part, number] : {std::pair("Mul", "(1)"), std::pair("Add", "(2)")}) {
      const bool is_told_apart =
          table.find(part) != std::string::npos || table.find(number) != std::string::npos;
      CHECK(is_told_apart);
    }
    const bool has_time = table.find("1234.567") != std::string::npos;
    const bool has_mean = table.find("12.50") != std::string::npos;
    CHECK(has_mean >= has_time);  // the column of higher rank goes first
    CHECK((table.find("columns are too few for: ") == std::string::npos) == has_time);
  }
  CHECK(Table(45).ends_with("45 columns are too few for: time ms\n"));
  CHECK(Table(38).ends_with("38 columns are too few for: time ms,\nmean us\n"));
}

TEST_CASE("a table without rows has its heading") {
  CHECK(TableText({{"time %"}, {"launches", {}, 1}}, {"kernel"}, 80) ==
        "time %  launches  kernel\n");
}

TEST_CASE("text is wrapped between words") {
  CHECK(WrappedLines("one two three\n\nfour\n", 8) == "one two\nthree\n\nfour\n");
  CHECK(WrappedLines("a-word-that-is-too-long b", 8) == "a-word-that-is-too-long\nb\n");
  CHECK(WrappedLines("one two three\n", kUnlimitedWidth) == "one two three\n");
  CHECK(WrappedLines("", 8).empty());
}

const std::vector<std::string_view> kNames = {"void a::gemm<float>()", "_Z4normv",
                                              "void b::gemm<int>()"};
const std::vector<std::string> kBrief = {"gemm<float>", "norm()", "gemm<int>"};

RowView Rows(const RowChoice& choice) {
  static const std::vector<double> values = {2.0, NAN, 3.0};
  return ChooseRows(choice, kNames, kBrief, [](std::size_t i) { return values[i]; });
}

TEST_CASE("rows are sorted by value, largest first, with unknown values last") {
  CHECK(Rows({}).rows == std::vector<std::size_t>{2, 0, 1});
  CHECK(ChooseRows({}, kNames, kBrief, nullptr).rows == std::vector<std::size_t>{0, 1, 2});
  CHECK(ChooseRowsByName({}, kNames, kBrief).rows == std::vector<std::size_t>{0, 2, 1});
}

TEST_CASE("a filter matches names and brief names, and rows that are left out are counted") {
  const auto filtered = [](const char* pattern) {
    RowChoice choice;
    choice.filter = pattern;
    return Rows(choice);
  };
  CHECK(filtered("gemm").rows == std::vector<std::size_t>{2, 0});
  CHECK(filtered("^void b").rows == std::vector<std::size_t>{2});
  CHECK(filtered("^norm").rows == std::vector<std::size_t>{1});
  CHECK(filtered("softmax").filtered == 3);
  RowChoice choice;
  choice.filter = "gemm";
  choice.top = 1;
  const RowView view = Rows(choice);
  CHECK(view.rows == std::vector<std::size_t>{2});
  CHECK(LeftOutLine(view, "kernel") ==
        "... and 1 more kernel, and 1 kernel not matched by --filter\n");
  CHECK(LeftOutLine(filtered("norm"), "row") == "... and 2 rows not matched by --filter\n");
  CHECK(LeftOutLine(Rows({}), "row").empty());
}

}  // namespace
}  // namespace stemtap::model
