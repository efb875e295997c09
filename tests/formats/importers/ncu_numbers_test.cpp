// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>

#include "formats/importers/ncu_page.h"

namespace stemtap::formats {
namespace {

TEST_CASE("ncu: a number is read with either decimal mark") {
  CHECK(ReadNcuNumber("1,234.5").point == 1234.5);
  CHECK(std::isnan(ReadNcuNumber("1,234.5").comma));
  CHECK(ReadNcuNumber("1.024").point == 1.024);
  CHECK(ReadNcuNumber("1.024").comma == 1024.0);
  CHECK(ReadNcuNumber("-7e+2").point == -700.0);
  CHECK(ReadNcuNumber("1'024,5").comma == 1024.5);
  for (const char* text : {"", "a", "1,2,3", "0,123.5x", "--1", "nan"}) {
    CAPTURE(text);
    CHECK(ReadNcuNumber(text).IsText());
  }
}

TEST_CASE("ncu: units are factors to a base unit") {
  CHECK(ParseNcuUnit("usecond").factor == 1000.0);
  CHECK(ParseNcuUnit("usecond").base == "ns");
  CHECK(ParseNcuUnit("Kbyte").factor == 1000.0);
  CHECK(ParseNcuUnit("byte/second").base == "byte/s");
  CHECK(ParseNcuUnit("%").base == "%");
}

TEST_CASE("ncu: the decimal mark is detected from the numbers of a file") {
  const auto note = [](NcuDecimalMark& mark, const char* text, NcuValues values = NcuValues::kAny) {
    mark.Note(ReadNcuNumber(text), values, text, 7);
  };
  NcuDecimalMark nothing;
  CHECK_FALSE(nothing.IsComma("t").value());
  NcuDecimalMark comma;
  note(comma, "1.024");
  note(comma, "0,5");
  CHECK(comma.IsComma("t").value());
  NcuDecimalMark point;
  note(point, "1,024", NcuValues::kWhole);
  CHECK_FALSE(point.IsComma("t").value());
  NcuDecimalMark thousands;
  note(thousands, "12,000", NcuValues::kCounts);
  CHECK_FALSE(thousands.IsComma("t").value());
  NcuDecimalMark thousands_with_points;
  note(thousands_with_points, "12.000", NcuValues::kCounts);
  CHECK(thousands_with_points.IsComma("t").value());
  NcuDecimalMark open;
  note(open, "1.024");
  CHECK(open.IsComma("t").error().message.starts_with(
      "t:7: '1.024' has a decimal mark or a thousands"));
  note(open, "0.5");
  CHECK_FALSE(open.IsComma("t").value());
  note(open, "0,5");
  CHECK(open.IsComma("t").error().message.starts_with("t:7: '0,5' has a decimal comma, but '0.5'"));
}

}  // namespace
}  // namespace stemtap::formats
