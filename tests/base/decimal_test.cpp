// SPDX-License-Identifier: Apache-2.0
#include "base/decimal.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stemtap {
namespace {

void CheckDecimal(std::string_view text, int shift, std::uint64_t magnitude, bool exact = true,
                  bool negative = false) {
  CAPTURE(text);
  const auto parsed = ParseDecimal(text, shift);
  REQUIRE(parsed.has_value());
  CHECK(parsed->magnitude == magnitude);
  CHECK(parsed->exact == exact);
  CHECK(parsed->negative == negative);
}

TEST_CASE("decimals are exact for values that a double cannot represent") {
  CheckDecimal("1712195495505582.988", 3, 1712195495505582988);
  CheckDecimal("1712195495505583.0", 3, 1712195495505583000);
  CheckDecimal("1606911006433250", 3, 1606911006433250000);
  CheckDecimal("18446744073709551.615", 3, 18446744073709551615u);
  CheckDecimal("18446744073709551615", 0, 18446744073709551615u);
  CheckDecimal("0", 3, 0);
  CheckDecimal("-12.5", 3, 12500, true, true);
  CheckDecimal("0.001", 3, 1);
  CheckDecimal("7.0", 0, 7);
}

TEST_CASE("exponents move the decimal point") {
  CheckDecimal("5e-05", 3, 0, false);
  CheckDecimal("1e-3", 3, 1);
  CheckDecimal("1.7121954955055829E15", 3, 1712195495505582900);
  CheckDecimal("12e+2", 0, 1200);
  CheckDecimal("0e999999999999999999999", 3, 0);
  CheckDecimal("1e-999999999999999999999", 3, 0, false);
  CheckDecimal("0.0000000000000000000000000000001e34", 0, 1000);
}

TEST_CASE("values that are too precise are rounded, halves away from zero") {
  CheckDecimal("4.9284", 3, 4928, false);
  CheckDecimal("4.9285", 3, 4929, false);
  CheckDecimal("4.9280000000001", 3, 4928, false);
  CheckDecimal("4.928000000000", 3, 4928);
  CheckDecimal("0.0005", 3, 1, false);
  CheckDecimal("0.00049", 3, 0, false);
  CheckDecimal("0.9999", 3, 1000, false);
  CheckDecimal("-0.0015", 3, 2, false, true);
}

TEST_CASE("text that is not a JSON number, or is too large, has no value") {
  for (const std::string_view text :
       {"", "-", "+1", "01", "1.", ".5", "1e", "1e+", "1 ", " 1", "NaN", "Infinity", "0x10", "1,5",
        "18446744073709551616", "1e20", "1e999999999999999999999", "--1", "1e5.0"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseDecimal(text, 0).has_value());
  }
  CHECK_FALSE(ParseDecimal("18446744073709551.616", 3).has_value());
  CHECK_FALSE(ParseDecimal("18446744073709551615.5", 0).has_value());
  CHECK_FALSE(ParseDecimal(std::string(1000, '9'), 3).has_value());
  CHECK_FALSE(ParseDecimal(std::string_view("1\0", 2), 0).has_value());
}

TEST_CASE("decimal numbers are scaled exactly and rounded half up") {
  CHECK(ScaledDecimal("0.148007", 6) == 148007);
  CHECK(ScaledDecimal("69.994444", 6) == 69994444);
  CHECK(ScaledDecimal("0.0000005", 6) == 1);
  CHECK(ScaledDecimal("0.00000049", 6) == 0);
  CHECK(ScaledDecimal("0.00000005", 6) == 0);
  CHECK(ScaledDecimal("1.5", 0) == 2);
  CHECK(ScaledDecimal("2", 9) == 2'000'000'000);
  CHECK(ScaledDecimal("4.0e-05", 9) == 40000);
  CHECK(ScaledDecimal("1e+3", 0) == 1000);
  CHECK(ScaledDecimal(".5", 1) == 5);
  CHECK(ScaledDecimal("9223372036854775807", 0) == 9223372036854775807U);
  CHECK(ScaledDecimal("007.", 0) == 7);
  CHECK_FALSE(ScaledDecimal("9223372036854775808", 0));
  CHECK_FALSE(ScaledDecimal("9223372036854775807.5", 0));
  CHECK_FALSE(ScaledDecimal("1e400", 0));
  CHECK_FALSE(ScaledDecimal("1e99999999999", 0));
  for (const char* bad : {"", ".", "-1", "+1", "1.2.3", "1,5", " 1", "1e", "nan", "0x1"}) {
    CAPTURE(bad);
    CHECK_FALSE(ScaledDecimal(bad, 3));
  }
}

TEST_CASE("a whole number must be the entire text") {
  CHECK(WholeNumber("0") == 0);
  CHECK(WholeNumber("007") == 7);
  CHECK(WholeNumber("18446744073709551615") == 18446744073709551615u);
  for (const char* bad :
       {"", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "18446744073709551616"}) {
    CAPTURE(bad);
    CHECK_FALSE(WholeNumber(bad));
  }
}

TEST_CASE("cells are numbers as printed by tools, missing values, or text") {
  CHECK(CellNumber(" 12,345,678.5\t") == 12345678.5);
  CHECK(CellNumber("-1,000") == -1000.0);
  CHECK(CellNumber("1e3") == 1000.0);
  for (const char* none : {"", " ", "n/a", "N/A", "nan", "NaN", "-nan", "-", "(!) n/a"}) {
    CAPTURE(none);
    REQUIRE(CellNumber(none));
    CHECK(std::isnan(*CellNumber(none)));
  }
  for (const char* text : {"a", "1,00", "1000,000", ",100", "1.000,5", "1,000,00", "inf", "1e999",
                           "1 2", "+1", "0x1"}) {
    CAPTURE(text);
    CHECK_FALSE(CellNumber(text));
  }
}

TEST_CASE("a share is a number or a percentage of the same value") {
  for (const auto& [percent, number] :
       std::vector<std::pair<const char*, double>>{{"5%", 0.05},
                                                   {"0.1%", 0.001},
                                                   {"99.9%", 0.999},
                                                   {"1e-1%", 0.001},
                                                   {"250%", 2.5},
                                                   {"-3%", -0.03},
                                                   {".5%", 0.005}}) {
    CAPTURE(percent);
    REQUIRE(ParseShare(percent));
    CHECK(ParseShare(percent)->value == number);
    CHECK(ParseShare(percent)->is_percent);
  }
  CHECK(ParseShare("0.05")->value == 0.05);
  CHECK(!ParseShare("0.05")->is_percent);
  for (const char* text : {"", "%", "5%%", "5 %", "5% ", "+5%", "e2", "-", ".", "0,05", "nan",
                           "inf", "1e999", "0x1", "5percent"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseShare(text));
  }
}

TEST_CASE("times in any unit are converted to ns") {
  CHECK(TimeExponent("s") == 9);
  CHECK(TimeExponent("second") == 9);
  CHECK(TimeExponent("msecond") == 6);
  CHECK(TimeExponent("us") == 3);
  CHECK(TimeExponent("nsecond") == 0);
  CHECK_FALSE(TimeExponent("h"));
  CHECK_FALSE(TimeExponent(""));
}

}  // namespace
}  // namespace stemtap
