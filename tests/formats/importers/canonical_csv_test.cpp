// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_source.h"
#include "formats/importers/importers.h"
#include "formats/importers/registry.h"
#include "model/canonical_columns.h"
#include "model/profile.h"
#include "parse_text.h"
#include "support/paths.h"
#include "support/temp_dir.h"

namespace stemtap::formats {
namespace {

const std::string& NameOf(const model::Profile& profile, std::size_t row) {
  return profile.names.name(profile.records[row].name_id);
}

TEST_CASE("a small profile with every kind of cell is read") {
  const auto file = test::SourceDir() / "tests/data/tiny.csv";
  Result<std::unique_ptr<model::ProfileReader>> reader = OpenProfile(file.string());
  REQUIRE(reader.ok());
  const Result<model::Profile> loaded = model::LoadProfile(*reader.value());
  REQUIRE(loaded.ok());
  const model::Profile& profile = loaded.value();
  CHECK(profile.warnings.empty());
  CHECK(profile.names.size() == 3);
  REQUIRE(profile.records.size() == 5);
  const shm::KernelRecord& full = profile.records[1];
  CHECK(full.start_ns == 4000);
  CHECK(full.duration_ns == 91200);
  CHECK(full.device == 0);
  CHECK(full.stream == 7);
  CHECK(full.grid[0] == 128);
  CHECK(full.grid[1] == 128);
  CHECK(full.grid[2] == 1);
  CHECK(full.block[0] == 16);
  CHECK(full.block[1] == 16);
  CHECK(full.block[2] == 1);
  CHECK(full.shared_bytes == 8192);
  CHECK(full.graph_id == 0);
  CHECK(full.correlation_id == 1);
  CHECK(NameOf(profile, 1) == "matmul(float const*, float const*, float*, int)");
  CHECK(profile.records[2].graph_id == 5);
  CHECK(profile.records[2].duration_ns == 0);
  CHECK(NameOf(profile, 2) == "say \"hello\", world");
  CHECK(profile.records[3].name_id == profile.records[0].name_id);
  const shm::KernelRecord& bare = profile.records[4];
  CHECK(bare.start_ns == shm::kUnknownTime);
  CHECK(bare.duration_ns == 90800);
  CHECK(bare.device == shm::kUnknown16);
  CHECK(bare.stream == shm::kUnknown32);
  CHECK(bare.grid[0] == shm::kUnknownExtent);
  CHECK(bare.block[2] == shm::kUnknownExtent);
  CHECK(bare.shared_bytes == shm::kUnknown32);
  CHECK(bare.graph_id == 0);
}

TEST_CASE("columns are found by name in any order, and most may be missing") {
  const model::Profile profile = MustParse("name,duration_ns\na,1\nb,2\n");
  REQUIRE(profile.records.size() == 2);
  CHECK(NameOf(profile, 1) == "b");
  CHECK(profile.records[1].duration_ns == 2);
  CHECK(profile.records[1].start_ns == shm::kUnknownTime);
  CHECK(profile.records[1].device == shm::kUnknown16);
  CHECK(profile.warnings.empty());
}

TEST_CASE("quotes, line endings and a byte order mark are accepted") {
  const model::Profile profile = MustParse(
      "\xEF\xBB\xBF\"duration_ns\",name\r\n"
      "1,\"two\r\nlines, and \"\"quotes\"\"\"\r\n"
      "\r\n"
      "\"2\",a \"loose\" quote\r\n"
      "3,\"\"\"\"\n"
      "4,last");
  REQUIRE(profile.records.size() == 4);
  CHECK(NameOf(profile, 0) == "two\r\nlines, and \"quotes\"");
  CHECK(NameOf(profile, 1) == "a \"loose\" quote");
  CHECK(profile.records[1].duration_ns == 2);
  CHECK(NameOf(profile, 2) == "\"");
  CHECK(NameOf(profile, 3) == "last");
}

TEST_CASE("reading in tiny pieces gives the same rows") {
  std::string text = "duration_ns,name,metric\r\n";
  for (int i = 0; i < 200; ++i) {
    text += std::to_string(i) + ",\"k" + std::to_string(i % 7) + "\"\",\n(x)\"," +
            std::to_string(i) + ".5\r\n";
  }
  const model::Profile whole = MustParse(text);
  REQUIRE(whole.records.size() == 200);
  for (const std::size_t piece : {1, 2, 3, 5, 61}) {
    const model::Profile pieces = MustParse(text, piece);
    REQUIRE(pieces.records.size() == 200);
    for (std::size_t row = 0; row < 200; ++row) {
      CHECK(pieces.records[row].duration_ns == row);
      CHECK(pieces.metrics[0][row] == static_cast<double>(row) + 0.5);
      CHECK(NameOf(pieces, row) == NameOf(whole, row));
    }
  }
}

TEST_CASE("rows that cross the end of the buffer are complete") {
  // Each row has 67 bytes. As the head grows, the 256 KiB boundary falls on every byte of a row.
  const std::string name(57, 'n');
  for (std::size_t shift = 0; shift < 70; ++shift) {
    std::string text = "duration_ns,name\n1," + std::string(1 + shift, 'x') + "\r\n";
    const std::size_t rows = 8000;
    for (std::size_t i = 0; i < rows; ++i) text += "12345,\"" + name + "\"\r\n";
    const model::Profile profile = MustParse(text);
    REQUIRE(profile.records.size() == rows + 1);
    CHECK(profile.names.size() == 2);
  }
}

TEST_CASE("rows longer than the buffer are complete") {
  const std::string note(700000, 'x');
  const model::Profile profile =
      MustParse("duration_ns,note,name\n1,\"" + note + "\",a\n2,\"" + note + "\",b\n");
  REQUIRE(profile.records.size() == 2);
  CHECK(NameOf(profile, 1) == "b");
}

TEST_CASE("a read of a CSV returns at most as many rows as its limit") {
  const std::string text = "duration_ns,name\n1,a\n2,b\n3,c\n";
  auto reader = OpenProfile(std::make_unique<MemorySource>("t.csv", text));
  REQUIRE(reader.ok());
  model::ProfileBatch batch;
  CHECK(reader.value()->Read(batch, 2).value() == 2);
  CHECK(batch.records[1].duration_ns == 2);
  CHECK(reader.value()->Read(batch, 2).value() == 1);
  CHECK(batch.records.size() == 1);
  CHECK(reader.value()->Read(batch, 2).value() == 0);
  CHECK(batch.records.empty());
  CHECK(reader.value()->Read(batch, 2).value() == 0);
}

TEST_CASE("a last row without a line ending gives a warning that it may be truncated") {
  CHECK(MustParse("duration_ns,name\n5,k\n").warnings.empty());
  const model::Profile cut = MustParse("duration_ns,name\n5,k\n7,ke");
  CHECK(cut.records.size() == 2);
  REQUIRE(cut.warnings.size() == 1);
  CHECK(cut.warnings[0] == "t.csv:3: the last row has no line end; it may be incomplete");
}

TEST_CASE("a file truncated within a row is rejected or gives a warning at any position") {
  const std::string header = "duration_ns,m,name\n";
  const std::string text = header + "5,0.25,\"k,1\"\n12,,\"a\nb\"\r\n77,3,last\n";
  REQUIRE(MustParse(text).warnings.empty());
  for (std::size_t size = header.size() + 1; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    CAPTURE(cut);
    const Result<model::Profile> read = Parse(cut);
    const bool between_rows = cut.ends_with("\"\n") || cut.ends_with("\"\r\n");
    if (between_rows) {
      REQUIRE(read.ok());
      CHECK(read.value().warnings.empty());
    } else if (read.ok()) {
      REQUIRE(read.value().warnings.size() == 1);
      CHECK(read.value().warnings[0].find("the last row has no line end") != std::string::npos);
    }
  }
}

TEST_CASE("a header without rows is an empty profile") {
  CHECK(MustParse("duration_ns,name\n").records.empty());
  CHECK(MustParse("duration_ns,name").records.empty());
}

TEST_CASE("columns of numbers are metrics, and other columns are ignored with a warning") {
  const model::Profile profile = MustParse(
      "duration_ns,cycles,device_name,name,ipc\n"
      "1,,H200,a,1.5\n"
      "2,17,H200,b,-2e3\n"
      "3,oops,7,c,inf\n");
  REQUIRE(profile.metric_names == std::vector<std::string>{"cycles", "ipc"});
  CHECK(std::isnan(profile.metrics[0][0]));
  CHECK(profile.metrics[0][1] == 17.0);
  CHECK(std::isnan(profile.metrics[0][2]));
  CHECK(profile.metrics[1][0] == 1.5);
  CHECK(profile.metrics[1][1] == -2000.0);
  CHECK(std::isnan(profile.metrics[1][2]));
  REQUIRE(profile.warnings.size() == 3);
  CHECK(profile.warnings[0] ==
        "t.csv: the column 'device_name' contains no numbers and is ignored");
  CHECK(profile.warnings[1] ==
        "t.csv:4: a cell of the column 'cycles' is not a number (1 such rows); treated as empty");
  CHECK(profile.warnings[2] ==
        "t.csv:4: a cell of the column 'ipc' is not a number (1 such rows); treated as empty");
}

TEST_CASE("ranges and steps are read from any column, and may be empty") {
  const model::Profile profile =
      MustParse("step,name,ipc,range,duration_ns\n3,k,1.5,a/b,1\n,k,2.5,,2\n3,k,3.5,a/b,3\n");
  CHECK(profile.marks == model::ProfileMarks{true, true});
  CHECK(profile.warnings.empty());
  CHECK(profile.metric_names == std::vector<std::string>{"ipc"});
  CHECK(profile.steps == std::vector<std::uint64_t>{3, shm::kNoStep, 3});
  REQUIRE(profile.records.size() == 3);
  CHECK(profile.names.range(profile.records[0].name_id) == "a/b");
  CHECK(profile.names.range(profile.records[1].name_id).empty());
  CHECK(profile.records[2].name_id == profile.records[0].name_id);
  CHECK(NameOf(profile, 1) == "k");
}

TEST_CASE("bad ranges and steps are errors with their line") {
  const std::string header = "name,duration_ns,range,step\nk,1,r,1\n";
  for (const std::string step : {"-1", "1.5", "x", "9223372036854775808", "99999999999999999999"}) {
    CHECK(ErrorOf(header + "k,1,r," + step + "\n") ==
          "t.csv:3: step is '" + step +
              "'; expected a whole number from 0 to 9223372036854775807, or an empty cell");
  }
  CHECK(ErrorOf(header + "k,1," + std::string(1025, 'r') + ",1\n") ==
        "t.csv:3: a range of 1025 bytes; expected at most 1024");
  CHECK(ErrorOf("name,duration_ns,step,step\n").find("occurs twice") != std::string::npos);
}

TEST_CASE("a table with a step or a range is not a canonical CSV for that reason") {
  CHECK_FALSE(LooksLikeCanonicalCsv("step,range,loss\n1,a,2\n"));
}

TEST_CASE("a column without a name is ignored") {
  const model::Profile profile = MustParse("duration_ns,name,\n1,a,\n");
  CHECK(profile.metric_names.empty());
  REQUIRE(profile.warnings.size() == 1);
  CHECK(profile.warnings[0] == "t.csv: column 3 has no name and is ignored");
}

TEST_CASE("an index that does not increase is a warning") {
  CHECK(MustParse("index,duration_ns,name\n3,1,a\n9,1,a\n,1,a\n10,1,a\n").warnings.empty());
  const model::Profile profile = MustParse("index,duration_ns,name\n3,1,a\n3,1,a\n2,1,a\n");
  REQUIRE(profile.warnings.size() == 1);
  CHECK(profile.warnings[0].starts_with("t.csv:3: index does not increase (2 such rows)"));
  CHECK(profile.records.size() == 3);
}

TEST_CASE("bad cells are errors with the line on which the row starts") {
  const std::string head = "duration_ns,name,grid_x,device\n";
  const std::string fine = "1,\"two\nlines\",1,0\n";
  const std::string duration =
      "t.csv:4: duration_ns is '{}'; expected a whole number from 0 to 9223372036854775807";
  for (const char* bad : {"", "-1", "1.5", "1e3", "x", " 1", "+1", "0x10", "9223372036854775808",
                          "18446744073709551616", "99999999999999999999999999"}) {
    CAPTURE(bad);
    std::string expected = duration;
    expected.replace(expected.find("{}"), 2, bad);
    CHECK(ErrorOf(head + fine + bad + ",a,1,0\n") == expected);
  }
  CHECK(MustParse(head + "9223372036854775807,a,4294967295,65534\n").records[0].duration_ns ==
        model::kMaxTime);
  for (const char* bad : {"0", "-1", "4294967296", "a"}) {
    CHECK(ErrorOf(head + fine + "1,a," + bad + ",0\n") ==
          std::string("t.csv:4: grid_x is '") + bad +
              "'; expected a whole number from 1 to 4294967295, or an empty cell");
  }
  CHECK(ErrorOf(head + fine + "1,a,1,65535\n").starts_with("t.csv:4: device is '65535'; expected"));
  CHECK(ErrorOf(head + "\n\n" + "1,,1,1\n") ==
        "t.csv:4: name is empty; expected the name of a kernel");
  CHECK(ErrorOf(head + "1,\"" + std::string(shm::kMaxNameBytes + 1, 'x') + "\",1,1\n") ==
        "t.csv:2: a name of 16385 bytes; expected at most 16384");
  CHECK(MustParse(head + "1," + std::string(shm::kMaxNameBytes, 'x') + ",1,1\n").names.size() == 1);
}

TEST_CASE("bad rows are errors") {
  const std::string head = "duration_ns,name,grid_x\n";
  CHECK(ErrorOf(head + "1,a,1\n1,a\n") == "t.csv:3: 2 cells; expected 3");
  CHECK(ErrorOf(head + "1,a,1,9\n") == "t.csv:2: 4 cells; expected 3");
  CHECK(ErrorOf(head + "1,\"a,1\n") == "t.csv:2: a quote is not closed; expected '\"'");
  CHECK(ErrorOf(head + "1,\"") == "t.csv:2: a quote is not closed; expected '\"'");
  CHECK(ErrorOf(head + "1,\"a\"b,1\n") ==
        "t.csv:2: text after a closing quote; expected a comma or a line end");
  CHECK(ErrorOf(head + "1,\"a" + std::string(9'000'000, '\n')) ==
        "t.csv:2: a row of more than 4194304 bytes; expected a closing quote or a line end");
}

TEST_CASE("bad headers are errors") {
  const std::string columns =
      "expected the columns index,start_ns,duration_ns,device,stream,grid_x,grid_y,grid_z,"
      "block_x,block_y,block_z,shared_bytes,graph_id,name";
  CHECK(ErrorOf("index,name\n1,a\n") == "t.csv:1: no column 'duration_ns'; " + columns);
  CHECK(ErrorOf("index,duration_ns\n1,1\n") == "t.csv:1: no column 'name'; " + columns);
  CHECK(ErrorOf("name,duration_ns,name\n") ==
        "t.csv:1: the column 'name' occurs twice; expected once");
  CHECK(ErrorOf("") == "t.csv: empty file; expected a profile");
  CHECK(ErrorOf("\xEF\xBB\xBF").starts_with("t.csv: not a known profile format; expected one of"));
  CHECK(ErrorOf("hello, world\n").starts_with("t.csv: not a known profile format"));
}

TEST_CASE("hostile characters in a cell are escaped on the terminal") {
  CHECK(ErrorOf("duration_ns,name\n\x1B[2J,a\n").find('\x1B') == std::string::npos);
  CHECK(ErrorOf("duration_ns,name\n" + std::string(5000, '7') + ",a\n").size() < 200);
}

}  // namespace
}  // namespace stemtap::formats
