// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <clocale>
#include <cmath>
#include <string>
#include <vector>

#include "ui/top/canvas.h"
#include "ui/top/figures.h"

using namespace stemtap;
using namespace stemtap::ui;

namespace {

// Column widths require a locale with Unicode support.
bool HaveUnicode() {
  return std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr;
}

}  // namespace

TEST_CASE("text contains no terminal control sequence") {
  REQUIRE(HaveUnicode());
  CHECK(ShownText("a\x1B[31mb\n\x7F", true, 100) == "a\\x1B[31mb\\x0A\\x7F");
  CHECK(ShownText("\xC2\x9B", true, 100) == "\\u{9B}");              // C1: CSI
  CHECK(ShownText("\xE2\x80\xAE", true, 100) == "\\u{202E}");        // changes the text direction
  CHECK(ShownText("e\xCC\x81", true, 100) == "e\\u{301}");           // does not have its own column
  CHECK(ShownText("\xFF\xC3(", true, 100) == "\\xFF\\xC3(");         // invalid UTF-8
  CHECK(ShownText("\xED\xA0\x80", true, 100) == "\\xED\\xA0\\x80");  // a surrogate
  CHECK(ShownText("\xC0\xAF", true, 100) == "\\xC0\\xAF");           // overlong
  CHECK(ShownText("\xE4\xB8\xAD\xC3\xA9", true, 100) == "\xE4\xB8\xAD\xC3\xA9");
  CHECK(ShownText("\xC3\xA9x", false, 100) == "\\xC3\\xA9x");
  CHECK(ShownText(std::string("\0a", 2), true, 100) == "\\x00a");
}

TEST_CASE("only the visible part of a long text is processed") {
  CHECK(ShownText(std::string(1000000, 'x'), true, 10).size() <= 12);
}

TEST_CASE("text is truncated and padded by columns") {
  REQUIRE(HaveUnicode());
  const std::string wide = "\xE4\xB8\xAD\xE6\x96\x87";  // two characters, four columns
  CHECK(ColumnsOf(wide) == 4);
  CHECK(Cut(wide, 4, true) == wide);
  CHECK(Cut(wide, 3, true) == "\xE4\xB8\xAD\u2026");
  CHECK(ColumnsOf(Cut(wide, 2, true)) <= 2);
  CHECK(Cut("abc", 2, false) == "a~");
  CHECK(Cut("abc", 0, true).empty());
  CHECK(FitLeft("ab", 4, true) == "ab  ");
  CHECK(FitRight("ab", 4, true) == "  ab");
  for (int columns = 0; columns < 9; ++columns) {
    CAPTURE(columns);
    CHECK(ColumnsOf(FitLeft(wide + "x" + wide, columns, true)) == columns);
    CHECK(ColumnsOf(FitRight("a" + wide + wide, columns, true)) == columns);
  }
}

TEST_CASE("the last columns of a text can be selected") {
  REQUIRE(HaveUnicode());
  CHECK(LastColumns("abc", 3) == "abc");
  CHECK(LastColumns("abc", 2) == "bc");
  CHECK(LastColumns("abc", 0).empty());
  CHECK(LastColumns("\xE4\xB8\xAD\xE6\x96\x87", 3) == "\xE6\x96\x87");  // two columns each
}

TEST_CASE("text that is longer than a line continues on the next line") {
  REQUIRE(HaveUnicode());
  using Lines = std::vector<std::string>;
  CHECK(Wrapped("abcdef", 4, 9, true) == Lines{"abcd", "ef"});
  CHECK(Wrapped("abcd", 4, 1, true) == Lines{"abcd"});
  CHECK(Wrapped("abcdefghi", 4, 2, true) == Lines{"abcd", "efg\u2026"});
  CHECK(Wrapped("a\xE4\xB8\xAD\xE6\x96\x87", 2, 9, true) ==
        Lines{"a", "\xE4\xB8\xAD", "\xE6\x96\x87"});
  CHECK(Wrapped("\xE4\xB8\xAD", 1, 9, false) == Lines{"~"});  // wider than any line
  CHECK(Wrapped("", 4, 1, true).empty());
}

TEST_CASE("a character is encoded as UTF-8, and an invalid character is empty") {
  CHECK(Utf8('a') == "a");
  CHECK(Utf8(0xE9) == "\xC3\xA9");
  CHECK(Utf8(0x4E2D) == "\xE4\xB8\xAD");
  CHECK(Utf8(0x1F600) == "\xF0\x9F\x98\x80");
  CHECK(Utf8(0xD800).empty());
  CHECK(Utf8(0x110000).empty());
}

TEST_CASE("numbers are short and keep their significant digits") {
  CHECK(Count(0) == "0");
  CHECK(Count(999) == "999");
  CHECK(Count(1000) == "1,000");
  CHECK(Count(816000) == "816,000");
  CHECK(Count(1234567, 7) == "1.23M");
  CHECK(Count(18446744073709551615u) == "18.4E");
  CHECK(Rate(66341.2) == "66.3k");
  CHECK(Rate(1234.4) == "1,234");
  CHECK(Rate(std::nan("")) == "-");
  CHECK(Duration(0) == "0 ns");
  CHECK(Duration(812) == "812 ns");
  CHECK(Duration(6100.5) == "6.10 us");
  CHECK(Duration(999499) == "999 us");
  CHECK(Duration(999501) == "1.00 ms");
  CHECK(Duration(3644973152.0) == "3.64 s");
  CHECK(Duration(std::nan("")) == "-");
  CHECK(Percent(0.061) == "6.10 %");
  CHECK(Percent(1.0) == "100 %");
  CHECK(Percent(0.00008) == "0.0080 %");
  CHECK(Percent(0.0) == "0 %");
  CHECK(Percent(99.99) == "9999 %");
  CHECK(Percent(1e300) == ">9999 %");
  CHECK(Percent(1e-9) == "<0.0001 %");
  CHECK(Percent(std::nan("")) == "-");
  CHECK(Elapsed(12.9) == "0:12");
  CHECK(Elapsed(3723) == "1:02:03");
  CHECK(Elapsed(-1) == "-");
}

TEST_CASE("the largest value has a full bar, and every other nonzero value has a visible bar") {
  const std::vector<double> values = {0, 1, 50, 100, std::nan("")};
  CHECK(Bars(values, true) == " \u2581\u2584\u2588 ");
  CHECK(Bars(values, false) == " .=@ ");
  CHECK(Bars({}, true).empty());
}

TEST_CASE("durations are on a log axis") {
  model::OverviewKernel kernel;
  kernel.histogram = {{1000, 2000, 10}, {8000, 16000, 30}};
  const model::OverviewKernel* const kernels[] = {&kernel};
  const DurationAxis axis = DurationsOf(kernels, 4, false);
  CHECK(axis.lower_ns == doctest::Approx(1000));
  CHECK(axis.upper_ns == doctest::Approx(16000));
  REQUIRE(axis.launches.size() == 4);  // each spans a factor of two
  CHECK(axis.launches[0] == doctest::Approx(10));
  CHECK(axis.launches[1] == doctest::Approx(0));
  CHECK(axis.launches[2] == doctest::Approx(0));
  CHECK(axis.launches[3] == doctest::Approx(30));
}

TEST_CASE("an outlier does not stretch the axis unless it has most of the time") {
  model::OverviewKernel kernel;
  kernel.histogram = {{1, 2, 1}, {1000, 2000, 5000}, {2000, 4000, 5000}, {64000, 128000, 1}};
  const model::OverviewKernel* const kernels[] = {&kernel};
  const DurationAxis axis = DurationsOf(kernels, 2, true);
  CHECK(axis.lower_ns == doctest::Approx(1000));
  CHECK(axis.upper_ns == doctest::Approx(4000));
  CHECK(axis.launches[0] == doctest::Approx(5001));
  CHECK(axis.launches[1] == doctest::Approx(5001));
  CHECK(DurationsOf(kernels, 2, false).upper_ns == doctest::Approx(128000));
  kernel.histogram.back() = {64000000, 128000000, 1};
  CHECK(DurationsOf(kernels, 2, true).upper_ns == doctest::Approx(128000000));
  kernel.histogram = {{1000, 2000, 0}};
  CHECK(DurationsOf(kernels, 2, true).launches.size() == 2);
}

TEST_CASE("a narrow peak is narrow, and an empty histogram is empty") {
  model::OverviewKernel kernel;
  const model::OverviewKernel* const kernels[] = {&kernel};
  CHECK(DurationsOf(kernels, 8, false).launches.empty());
  CHECK(DurationsOf({}, 8, false).launches.empty());
  kernel.histogram = {{5760, 5761, 120}};
  const DurationAxis axis = DurationsOf(kernels, 9, false);
  REQUIRE(axis.launches.size() == 9);
  CHECK(axis.launches[4] == doctest::Approx(120));
  // Invalid bins must not cause reads or writes out of bounds.
  kernel.histogram = {{0, 0, 1}, {18446744073709551615u, 0, 2}, {5, 18446744073709551615u, 3}};
  double sum = 0;
  for (const double count : DurationsOf(kernels, 5, false).launches) sum += count;
  CHECK(sum == doctest::Approx(6));
}

TEST_CASE("the bound over time continues if it does not change") {
  model::Overview o;
  o.elapsed_s = 10;
  o.error_bound = 0.05;
  o.bound = 0.05;
  o.timeline = {
      {1, 0, 0, 0, 0, 0, std::nan(""), 0}, {3, 0, 0, 0, 0, 0, 1.6, 0}, {5, 0, 0, 0, 0, 0, 0.4, 0}};
  const std::vector<double> bounds = BoundOverTime(o, 5);
  REQUIRE(bounds.size() == 5);
  CHECK(std::isnan(bounds[0]));
  CHECK(bounds[1] == doctest::Approx(6));  // 1.6 is 64 times half of 0.05
  CHECK(bounds[2] == doctest::Approx(4));
  CHECK(bounds[3] == doctest::Approx(4));
  CHECK(bounds[4] == doctest::Approx(1));
  o.timeline[0].elapsed_s = -1e300;
  o.timeline[1].elapsed_s = 1e300;
  CHECK(BoundOverTime(o, 5).size() == 5);
}
