// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/memory_source.h"
#include "damage.h"
#include "formats/importers/importers.h"
#include "formats/importers/registry.h"
#include "model/profile.h"
#include "parse_text.h"

namespace stemtap::formats {
namespace {

const std::string kHead =
    "\xEF\xBB\xBFmax_pool,sgemm_128x64_nn,\"f(int, int)\"\r\n"
    "19712,11968,1\r\n"
    "19423,30752.0,2\r\n"
    "18912,,3\r\n"
    ",,4\r\n";

TEST_CASE("columns of durations: rows are read in order, from left to right") {
  for (const std::size_t piece : {std::size_t{1}, kReadBytes}) {
    const Result<model::Profile> parsed = Parse(kHead + ",,5", piece);
    CHECK_FALSE(parsed.ok());  // the last duration may be truncated
    const Result<model::Profile> whole = Parse(kHead + ",,5\n\n", piece);
    REQUIRE(whole.ok());
    const model::Profile& p = whole.value();
    REQUIRE(p.records.size() == 10);
    const std::uint64_t durations[] = {19712, 11968, 1, 19423, 30752, 2, 18912, 3, 4, 5};
    const char* const names[] = {"max_pool",        "sgemm_128x64_nn", "f(int, int)", "max_pool",
                                 "sgemm_128x64_nn", "f(int, int)",     "max_pool",    "f(int, int)",
                                 "f(int, int)",     "f(int, int)"};
    for (std::size_t i = 0; i < 10; ++i) {
      CHECK(p.records[i].duration_ns == durations[i]);
      CHECK(p.names.name(p.records[i].name_id) == names[i]);
      CHECK(p.records[i].start_ns == shm::kUnknownTime);
      CHECK(p.records[i].device == shm::kUnknown16);
    }
    REQUIRE(p.warnings.size() == 1);
    CHECK(p.warnings[0].starts_with(
        "t.csv: read as durations in ns, one column for each of 3 kernels; "));
  }
}

TEST_CASE("columns of durations: irregular cells are counted") {
  const Result<model::Profile> p = Parse("ka,kb\n1,2\n,2.5\n3,4\n5,6\n");
  REQUIRE(p.ok());
  CHECK(p.value().records[2].duration_ns == 3);
  REQUIRE(p.value().warnings.size() == 3);
  CHECK(p.value().warnings[1].starts_with("t.csv: 2 durations are below an empty cell"));
  CHECK(p.value().warnings[2] == "t.csv: 1 durations rounded to whole ns");
}

TEST_CASE("columns of durations: the limit of a read applies within a row") {
  const std::string text = kHead;
  auto reader = OpenProfile(std::make_unique<MemorySource>("t.csv", text));
  REQUIRE(reader.ok());
  model::ProfileBatch batch;
  CHECK(reader.value()->Read(batch, 2).value() == 2);
  CHECK(reader.value()->Read(batch, 2).value() == 2);
  CHECK(batch.records[0].duration_ns == 1);
  CHECK(batch.records[1].duration_ns == 19423);
}

TEST_CASE("columns of durations: damage after the first lines is an error with its line") {
  std::string text = "ka,kb\n";
  for (int i = 0; i < 20000; ++i) text += "100,2000\n";
  CHECK(ErrorOf(text + "1,x\n") ==
        "t.csv:20002: the duration of 'kb' is 'x'; expected a number of ns from 0");
  CHECK(ErrorOf(text + "1,-5\n").starts_with("t.csv:20002: the duration of 'kb' is '-5'"));
  CHECK(ErrorOf(text + "1,99999999999999999999\n").starts_with("t.csv:20002: the duration"));
  CHECK(ErrorOf(text + "1\n") == "t.csv:20002: 1 cells; expected 2");
  CHECK(ErrorOf(text + "1,\"2\n") == "t.csv:20002: a quote is not closed; expected '\"'");
  CHECK(ErrorOf(text + "1,2") ==
        "t.csv:20002: no line end after the last row; expected a complete file");
}

TEST_CASE("other tables are not recognized as columns of durations") {
  const std::string rows = "1,2\n3,4\n5,6\n7,8\n";
  CHECK(LooksLikeStemColumnsCsv("ka,kb\n" + rows));
  CHECK(LooksLikeStemColumnsCsv("Cluster 0 of PKA,Cluster1 of PKA\n" + rows));
  // Typos in a canonical CSV header
  for (const char* header :
       {"duration,kernel", "durationns,foo", "Duration_ns,foo", "duration_n,name1", "foo,nmae",
        "start_ns,foo", "foo,gird_x", "blockx,foo", "foo,shared_byte", "idx,foo_ns", "index,foo"}) {
    CAPTURE(header);
    CHECK_FALSE(LooksLikeStemColumnsCsv(std::string(header) + "\n" + rows));
    const Result<model::Profile> profile = Parse(std::string(header) + "\n" + rows);
    CHECK_FALSE(profile.ok());
  }
  // Other tables of numbers
  for (const char* header : {"x,y", "time,foo", "Cycles,Instructions", "foo,latency", "foo (%),bar",
                             "1,2", ",foo", "foo,foo", "foo,"}) {
    CAPTURE(header);
    CHECK_FALSE(LooksLikeStemColumnsCsv(std::string(header) + "\n" + rows));
  }
  CHECK_FALSE(LooksLikeStemColumnsCsv("ka\n1\n2\n3\n4\n"));
  CHECK_FALSE(LooksLikeStemColumnsCsv("ka,kb\n1,2\n3,4\n5,6\n"));
  CHECK_FALSE(LooksLikeStemColumnsCsv("ka,kb\n1,2\n3,4\n5,6\n7,x\n"));
  CHECK_FALSE(LooksLikeStemColumnsCsv("ka,kb\n1,2\n3,4,4\n5,6\n7,8\n9,9\n"));
  CHECK_FALSE(LooksLikeStemColumnsCsv("ka,kb\n1,2\n3\n5,6\n7,8\n9,9\n"));
  CHECK_FALSE(LooksLikeStemColumnsCsv("hello, world\n"));
  CHECK_FALSE(LooksLikeStemColumnsCsv(""));
  CHECK(ErrorOf("ka,kb\n1,2\n").starts_with("t.csv: not a known profile format"));
}

TEST_CASE("columns of durations: a damaged file is read or rejected") {
  test::CheckDamage("ka,kb\n1,2\n3,4\n5,6\n7,8\n9,10\n");
}

}  // namespace
}  // namespace stemtap::formats
