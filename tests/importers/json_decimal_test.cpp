// SPDX-License-Identifier: Apache-2.0
#include "importers/json_decimal.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>

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

TEST_CASE("decimals are exact where a double is not") {
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

TEST_CASE("exponents move the point") {
  CheckDecimal("5e-05", 3, 0, false);
  CheckDecimal("1e-3", 3, 1);
  CheckDecimal("1.7121954955055829E15", 3, 1712195495505582900);
  CheckDecimal("12e+2", 0, 1200);
  CheckDecimal("0e999999999999999999999", 3, 0);
  CheckDecimal("1e-999999999999999999999", 3, 0, false);
  CheckDecimal("0.0000000000000000000000000000001e34", 0, 1000);
}

TEST_CASE("what is finer is rounded, halves away from zero") {
  CheckDecimal("4.9284", 3, 4928, false);
  CheckDecimal("4.9285", 3, 4929, false);
  CheckDecimal("4.9280000000001", 3, 4928, false);
  CheckDecimal("4.928000000000", 3, 4928);
  CheckDecimal("0.0005", 3, 1, false);
  CheckDecimal("0.00049", 3, 0, false);
  CheckDecimal("0.9999", 3, 1000, false);
  CheckDecimal("-0.0015", 3, 2, false, true);
}

TEST_CASE("what is no JSON number, or too large, is nothing") {
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

}  // namespace
}  // namespace stemtap
