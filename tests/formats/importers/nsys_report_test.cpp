// SPDX-License-Identifier: Apache-2.0
// Tests reports of `nsys stats` as JSON and as tab-separated values. nsys_csv_test.cpp tests what
// their rows mean.
#include "formats/importers/nsys_report.h"

#include <doctest/doctest.h>

#include <string>

#include "model/profile.h"
#include "parse_text.h"

namespace stemtap::formats {
namespace {

const std::string kPreamble =
    "Generating SQLite file r.sqlite from r.nsys-rep\n"
    "Processing [r.sqlite] with [/opt/cuda_gpu_trace.py]... \n";

std::string Row(const std::string& start, const std::string& duration, const std::string& grid,
                const std::string& name) {
  return "  {\n    \"Start (ns)\": " + start + ",\n    \"Duration (ns)\": " + duration +
         ",\n    \"CorrId\": 7,\n    \"GrdX\": " + grid + ",\n    \"Strm\": 13,\n    \"Name\": \"" +
         name + "\"\n  }";
}
const std::string kRow = Row("433636156", "5184", "8", "gemm<1, 2>(char const*)");

TEST_CASE("nsys JSON: every row is an object, after output of nsys") {
  const std::string text =
      kPreamble + "[\n" + kRow + ",\n" + Row("433636000", "100", "\"\"", "[CUDA memset]") + ",\n" +
      Row("18446744073709", "4611686018427387903", "4294967295", "a\\\"b\\n\\u00e4") + "\n]\n";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, kReadBytes}) {
    const model::Profile p = MustParse(text, piece);
    REQUIRE(p.records.size() == 2);
    CHECK(p.names.name(p.records[0].name_id) == "gemm<1, 2>(char const*)");
    CHECK(p.records[0].duration_ns == 5184);
    CHECK(p.records[0].grid[0] == 8);
    CHECK(p.records[0].stream == 13);
    CHECK(p.records[0].correlation_id == 7);
    CHECK(p.names.name(p.records[1].name_id) == "a\"b\n\xC3\xA4");
    CHECK(p.records[1].start_ns == 18446744073709 - 433636156);
    CHECK(p.records[1].duration_ns == 4611686018427387903);
    CHECK(p.records[1].grid[0] == 4294967295);
  }
}

TEST_CASE("nsys JSON: numbers keep their digits, and null is an empty cell") {
  const model::Profile p = MustParse(
      "[{\"Start (us)\": 1.0, \"Duration (us)\": 0.07300, \"CorrId\": null, \"GrdX\": 1, "
      "\"Name\": \"k\"}]");
  REQUIRE(p.records.size() == 1);
  CHECK(p.records[0].duration_ns == 73);
  CHECK(p.records[0].correlation_id == 0);
}

TEST_CASE("nsys JSON: errors contain the line of the object") {
  const std::string head = kPreamble + "[\n" + kRow + ",\n";  // the second object is in line 12
  CHECK(ErrorOf(head + Row("1", "\"x\"", "8", "k") + "\n]\n") ==
        "t.csv:12: Duration is 'x'; expected a time of at most 2^62 ns");
  CHECK(ErrorOf(head + Row("1", "-5", "8", "k") + "\n]\n").starts_with("t.csv:12: Duration is"));
  CHECK(ErrorOf(head + Row("1", "\"\"", "8", "k") + "\n]\n").starts_with("t.csv:12: Duration is"));
  CHECK(ErrorOf(head + Row("1", "1e3", "8", "k") + "\n]\n").starts_with("t.csv:12: Duration is"));
  CHECK(ErrorOf(head + Row("1", "99999999999999999999", "8", "k") + "\n]\n").starts_with("t.csv:"));
  CHECK(ErrorOf(head + Row("1", "[1]", "8", "k") + "\n]\n") ==
        "t.csv:12: 'Duration (ns)' is neither a number nor a text; expected one");
  CHECK(
      ErrorOf(head + Row("1", "true", "8", "k") + "\n]\n").find("is neither a number nor a text") !=
      std::string::npos);
  CHECK(ErrorOf(head + "  7\n]\n").starts_with("t.csv:12: a row is not an object; expected"));
  const std::string other = "  {\"Start (ns)\": 1}";
  CHECK(ErrorOf(head + other + "\n]\n") ==
        "t.csv:12: a row has other columns than the first; expected the same, in one order");
  CHECK(ErrorOf(kPreamble + "[\n" + kRow + "\n]\n[1]").find("text after the report") !=
        std::string::npos);
  // Names with line ends do not move later rows.
  CHECK(ErrorOf("[\n" + Row("1", "2", "3", "a\\nb\\nc") + ",\n" + Row("1", "x", "3", "k") + "\n]\n")
            .starts_with("t.csv:"));
  CHECK(ErrorOf("[\n" + Row("1", "2", "3", "a\\nb\\nc") + ",\n" + Row("1", "\"x\"", "3", "k") +
                "\n]\n")
            .starts_with("t.csv:10: Duration is 'x'"));
}

TEST_CASE("nsys JSON: a truncated file is an error") {
  const std::string text = kPreamble + "[\n" + kRow + ",\n" + kRow + "\n]\n";
  REQUIRE(Parse(text).ok());
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    CAPTURE(size);
    const Result<model::Profile> profile = Parse(text.substr(0, size));
    CHECK_FALSE(profile.ok());
  }
  std::string damaged = text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char byte : {'\0', '"', ',', '{', ']', '9', '\\', '\xFF'}) {
      damaged[i] = byte;
      const Result<model::Profile> profile = Parse(damaged);
      if (!profile.ok()) CHECK(profile.error().message.find('\n') == std::string::npos);
    }
    damaged[i] = text[i];
  }
}

TEST_CASE("nsys TSV: cells are separated by tabs") {
  const std::string head = kPreamble + "Start (ns)\tDuration (ns)\tGrdX\tStrm\tName\n";
  const model::Profile p =
      MustParse(head + "9\t5\t8\t7\tgemm<1, 2>(int)\n4\t5\t\t7\t[CUDA memset]\n");
  REQUIRE(p.records.size() == 1);
  CHECK(p.names.name(p.records[0].name_id) == "gemm<1, 2>(int)");
  CHECK(p.records[0].duration_ns == 5);
  CHECK(p.records[0].stream == 7);
  CHECK(ErrorOf(head + "9\t5\t8\t7\n") == "t.csv:4: 4 cells; expected 5");
  CHECK(ErrorOf(head + "9\t-\t8\t7\tk\n").starts_with("t.csv:4: Duration is '-'; expected"));
  CHECK(ErrorOf(head + "9\t5\t8\t7\tk").find("has no end and may be cut") != std::string::npos);
}

}  // namespace
}  // namespace stemtap::formats
