// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/memory_source.h"
#include "damage.h"
#include "formats/importers/importers.h"
#include "formats/importers/registry.h"
#include "model/profile.h"
#include "parse_text.h"
#include "start_order.h"
#include "support/shared_data.h"

namespace stemtap::formats {
namespace {

const std::string kPreamble =
    "==7== NVPROF is profiling process 7, command: ./a \"x\n"
    "==7== Profiling application: ./a\n"
    "==7== Profiling result:\n";
const std::string kHeader =
    "\"Start\",\"Duration\",\"Grid X\",\"Grid Y\",\"Grid Z\",\"Block X\",\"Block Y\",\"Block Z\","
    "\"Registers Per Thread\",\"Static SMem\",\"Dynamic SMem\",\"Size\",\"Throughput\","
    "\"Device\",\"Context\",\"Stream\",\"Name\"\n";
const std::string kUnits = "s,ms,,,,,,,,KB,B,MB,MB/s,,,,\n";
const std::string kRow =
    "1.500001,0.148007,6656,2,1,256,1,1,14,2.128906,16,,,\"GeForce GTX 1080 Ti (1)\",\"1\",\"7\","
    "\"scan(uint4*, int [4]) [1167]\"\n";

TEST_CASE("nvprof: every cell of a row is read") {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, kReadBytes}) {
    const model::Profile p = MustParse(kPreamble + kHeader + kUnits + kRow, piece);
    REQUIRE(p.records.size() == 1);
    const shm::KernelRecord& r = p.records[0];
    CHECK(r.start_ns == 0);
    CHECK(r.duration_ns == 148007);
    CHECK(r.grid[0] == 6656);
    CHECK(r.grid[1] == 2);
    CHECK(r.block[0] == 256);
    CHECK(r.shared_bytes == 2180 + 16);
    CHECK(r.device == 1);
    CHECK(r.stream == 7);
    CHECK(r.correlation_id == 1167);
    CHECK(p.names.name(0) == "scan(uint4*, int [4])");
    CHECK(p.warnings.empty());
  }
}

TEST_CASE("nvprof: a stream may have any number") {
  for (const std::string id : {"94384723984016", "4294967295", "-1", "0x7f21"}) {
    CAPTURE(id);
    std::string row = kRow;
    row.replace(row.find("\"7\""), 3, "\"" + id + "\"");
    const model::Profile p = MustParse(kHeader + kUnits + kRow + row);
    REQUIRE(p.records.size() == 2);
    CHECK(p.records[0].stream != p.records[1].stream);
    CHECK(p.records[1].stream < 2);
    CHECK(p.warnings[0].find("stream ids such as '" + id + "'") != std::string::npos);
  }
}

TEST_CASE("nvprof: each column has its unit") {
  for (const auto& [units, start, duration, shared] :
       {std::tuple("s,s", 2'000'000'000ULL, 3'000'000'000ULL, 4096U),
        std::tuple("ms,us", 2'000'000ULL, 3000ULL, 4096U),
        std::tuple("us,ns", 2000ULL, 3ULL, 4096U),
        std::tuple("ns,ms", 2ULL, 3'000'000ULL, 4096U)}) {
    CAPTURE(units);
    const model::Profile p =
        MustParse("\"Start\",\"Duration\",\"Static SMem\",\"Name\"\n" + std::string(units) +
                  ",KB,\n0,3,4,\"a [1]\"\n2,3,4,\"a [2]\"\n");
    REQUIRE(p.records.size() == 2);
    CHECK(p.records[1].start_ns == start);
    CHECK(p.records[1].duration_ns == duration);
    CHECK(p.records[1].shared_bytes == shared);
    CHECK(p.records[1].grid[0] == shm::kUnknownExtent);
    CHECK(p.records[1].device == shm::kUnknown16);
    CHECK(p.records[1].stream == shm::kUnknown32);
  }
  CHECK(MustParse("\"Start\",\"Duration\",\"Static SMem\",\"Name\"\ns,s,MB,\n1,1,0.5,\"a [1]\"\n")
            .records[0]
            .shared_bytes == 524288);
}

TEST_CASE("nvprof: other rows are counted, and launches are in start order") {
  const model::Profile p = MustParse(
      "======== Warning: 3 records have invalid timestamps\n"
      "hello\n" +
      kHeader +
      "us,us,,,,,,,,B,B,MB,GB/s,,,,\n"
      "9,5,,,,,,,,,,20.9,0.3,\"G (0)\",\"1\",\"7\",\"[CUDA memcpy HtoD]\"\n"
      "8,5,1,1,1,1,1,1,1,0,0,,,\"G (0)\",\"1\",\"7\",\"b [2]\"\n"
      "==7== Generated result\n"
      "printed by the program\n"
      "7,-,,,,,,,,,,4,,\"G (0)\",,,\"[Unified Memory GPU page faults]\"\n"
      "7,5,1,1,1,1,1,1,1,0,0,,,\"G (0)\",\"1\",\"7\",\"a [1]\"\n");
  REQUIRE(p.records.size() == 2);
  CHECK(p.names.name(p.records[0].name_id) == "a");
  CHECK(p.records[1].start_ns == 1000);
  REQUIRE(p.warnings.size() == 3);
  CHECK(p.warnings[0] ==
        "t.csv:1: nvprof reports '======== Warning: 3 records have invalid timestamps'");
  CHECK(p.warnings[1] == "t.csv: 2 rows are copies, sets and unified memory; skipped");
  CHECK(p.warnings[2] == "t.csv: 2 lines are outside the trace; skipped");
}

TEST_CASE("nvprof: a column of correlation ids does not change names") {
  const model::Profile p =
      MustParse("\"Start\",\"Duration\",\"Name\",\"Correlation_ID\"\nus,us,,\n1,1,\"a [4]\",17\n");
  CHECK(p.names.name(0) == "a [4]");
  CHECK(p.records[0].correlation_id == 17);
  // Without the column and without a numeric suffix, there is no correlation id.
  const model::Profile bare = MustParse("\"Start\",\"Duration\",\"Name\"\nus,us,\n1,1,\"a [x]\"\n");
  CHECK(bare.names.name(0) == "a [x]");
  REQUIRE(bare.warnings.size() == 1);
  CHECK(bare.warnings[0] == "t.csv: 1 launch has no correlation id");
}

TEST_CASE("nvprof: bad rows are errors with their line") {
  const std::string head = kHeader + kUnits + kRow;
  CHECK(ErrorOf(head + "1.5,0.1,1\n") == "t.csv:4: 3 cells; expected 17");
  CHECK(ErrorOf(head + "1.5,0.1,1,1,1,\"a\n") == "t.csv:4: a quote is not closed; expected '\"'");
  CHECK(ErrorOf(head.substr(0, head.size() - 10)) ==
        "t.csv:3: a quote is not closed; expected '\"'");
  CHECK(MustParse(head.substr(0, head.size() - 1)).records.size() == 1);
  const auto with = [&](const std::string& what, const std::string& by) {
    std::string row = kRow;
    row.replace(row.find(what), what.size(), by);
    return ErrorOf(kHeader + kUnits + row);
  };
  CHECK(with("0.148007", "x") == "t.csv:3: Duration is 'x'; expected a decimal number from 0");
  CHECK(with("0.148007", "") == "t.csv:3: Duration is ''; expected a decimal number from 0");
  CHECK(with("0.148007", "-1").starts_with("t.csv:3: Duration is '-1'"));
  CHECK(with("0.148007", "99999999999999999999").starts_with("t.csv:3: Duration is"));
  CHECK(with("1.500001", "1e").starts_with("t.csv:3: Start is '1e'"));
  CHECK(with("6656", "0") ==
        "t.csv:3: Grid X is '0'; expected a whole number from 1 to 4294967295");
  CHECK(with(",256,", ",65536,").starts_with("t.csv:3: Block X is '65536'"));
  CHECK(with("2.128906", "99999999").starts_with("t.csv:3: Static SMem is '99999999'; expected"));
  CHECK(with("Ti (1)", "Ti").starts_with("t.csv:3: Device is 'GeForce GTX 1080 Ti'; expected"));
  CHECK(with("\"7\"", "\"-\"").starts_with("t.csv:3: Stream is '-'"));
  CHECK(with("scan(uint4*, int [4]) [1167]", "") ==
        "t.csv:3: Name is ''; expected the name of a kernel");
}

TEST_CASE("nvprof: bad tables are errors") {
  CHECK(ErrorOf(kHeader) == "t.csv:2: expected the units of 17 columns below the header");
  CHECK(ErrorOf(kHeader + kRow) ==
        "t.csv:2: Start is '1.500001'; expected its unit: s, ms, us or ns");
  CHECK(ErrorOf(kHeader + "s,h,,,,,,,,KB,B,MB,MB/s,,,,\n") ==
        "t.csv:2: Duration is 'h'; expected its unit: s, ms, us or ns");
  CHECK(ErrorOf(kHeader + "s,ms,,,,,,,,kilo,B,MB,MB/s,,,,\n") ==
        "t.csv:2: Static SMem is 'kilo'; expected its unit: B, KB, MB or GB");
  CHECK(ErrorOf(kHeader + "s,ms\n") ==
        "t.csv:2: expected the units of 17 columns below the header");
  CHECK(ErrorOf(kHeader + kUnits + kRow + kHeader + kUnits)
            .starts_with("t.csv:4: a second table; expected"));
  CHECK(ErrorOf(kHeader + kUnits + std::string(5'000'000, '1'))
            .starts_with("t.csv:3: a line of more than 4194304 bytes; expected"));
  CHECK(MustParse(kHeader + kUnits).records.empty());
  // No closing quote shows that the last cell is complete.
  CHECK(ErrorOf("\"Start\",\"Duration\",\"Name\",\"Correlation_ID\"\nus,us,,\n1,1,\"a\",17")
            .starts_with("t.csv:3: no line end after the last row"));
}

TEST_CASE("nvprof: other files are not recognized as a trace") {
  CHECK_FALSE(LooksLikeNvprofCsv("Start (ns),Duration (ns),Name\n"));
  CHECK_FALSE(LooksLikeNvprofCsv("index,start_ns,duration_ns,name\n0,1,2,\"Start\"\n"));
  CHECK_FALSE(LooksLikeNvprofCsv("\"Start\",\"Duration\"\n"));
  CHECK_FALSE(LooksLikeNvprofCsv(""));
}

// Compares each row with a profile that a different reader made from the same file.
TEST_CASE("nvprof: recorded files equal the profiles with the same name") {
  struct File {
    const char* name;
    std::size_t kernels;
    std::uint64_t copies;
    // Shared bytes here and in the reference profile. This reader rounds, and the reference profile
    // truncates: 2.128906 KB is 2179.9997 bytes, which can only be 2180.
    std::set<std::pair<std::uint32_t, std::uint32_t>> shared;
  };
  const File files[] = {{"magus_cudasdk_scan", 3300, 18, {{4, 3}}},
                        {"magus_lonestar_dmr", 258, 662, {}},
                        {"magus_lonestar_sssp", 2150, 4309, {}},
                        {"magus_rodinia_needle", 382, 3, {{2180, 2179}}}};
  for (const File& file : files) {
    CAPTURE(file.name);
    const auto native = SharedPath(std::string("data/native/nvprof-csv/") + file.name + ".csv.gz");
    const auto canonical = SharedPath(std::string("data/profiles/") + file.name + ".csv.gz");
    STEMTAP_SKIP_WITHOUT(native);
    STEMTAP_SKIP_WITHOUT(canonical);
    auto reader = OpenProfile(native.string());
    REQUIRE(reader.ok());
    const model::Profile ours = model::LoadProfile(*reader.value()).value();
    reader = OpenProfile(canonical.string());
    REQUIRE(reader.ok());
    const model::Profile theirs = model::LoadProfile(*reader.value()).value();
    REQUIRE(ours.records.size() == file.kernels);
    REQUIRE(theirs.records.size() == file.kernels);
    const std::vector<shm::KernelRecord> records = InStartOrder(ours);
    std::size_t different = 0;
    std::set<std::pair<std::uint32_t, std::uint32_t>> shared;
    for (std::size_t i = 0; i < file.kernels; ++i) {
      const shm::KernelRecord& a = records[i];
      const shm::KernelRecord& b = theirs.records[i];
      bool same = ours.names.name(a.name_id) == theirs.names.name(b.name_id) &&
                  a.start_ns == b.start_ns && a.duration_ns == b.duration_ns &&
                  a.device == b.device && a.stream == b.stream;
      for (std::size_t d = 0; d < 3; ++d) {
        same = same && a.grid[d] == b.grid[d] && a.block[d] == b.block[d];
      }
      different += same ? 0 : 1;
      if (a.shared_bytes != b.shared_bytes) shared.emplace(a.shared_bytes, b.shared_bytes);
    }
    CHECK(different == 0);
    CHECK(std::is_sorted(
        ours.records.begin(), ours.records.end(),
        [](const auto& a, const auto& b) { return a.correlation_id < b.correlation_id; }));
    CHECK(shared == file.shared);
    REQUIRE(ours.warnings.size() == 1);
    CHECK(ours.warnings[0].find(std::to_string(file.copies) + " rows are copies") !=
          std::string::npos);
  }
}

TEST_CASE("nvprof: a damaged file is read or rejected") {
  test::CheckDamage(kPreamble + kHeader + kUnits + kRow + kRow);
}

}  // namespace
}  // namespace stemtap::formats
