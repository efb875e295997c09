// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "damage.h"
#include "formats/importers/importers.h"
#include "model/profile.h"
#include "parse_text.h"

namespace stemtap::formats {
namespace {

// As torch_npu writes it. Times of op_summary end in a tab.
const std::string kHeader =
    "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,"
    "Start Time(us),Duration(us),Wait Time(us),Block Dim,Mix Block Dim,Input Shapes\n";
const std::string kRow =
    "3,1,4294967295,39,2,aclnnMatmul_MatMulV2,MatMulV2,dynamic,AI_CORE,1790000000123456.789\t,"
    "12.341,0.5,24,0,\"\"\"4,8;8,2\"\"\"\n";

TEST_CASE("ascend: every cell of a row is read") {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, kReadBytes}) {
    const model::Profile p = MustParse(kHeader + kRow, piece);
    REQUIRE(p.records.size() == 1);
    const shm::KernelRecord& r = p.records[0];
    CHECK(p.names.name(r.name_id) == "aclnnMatmul_MatMulV2");
    CHECK(r.start_ns == 0);
    CHECK(r.duration_ns == 12341);
    CHECK(r.device == 1);
    CHECK(r.stream == 2);
    CHECK(r.grid[0] == 24);
    CHECK(r.grid[1] == 1);
    CHECK(r.block[0] == shm::kUnknownExtent);
    CHECK(r.shared_bytes == shm::kUnknown32);
    CHECK(p.warnings.empty());
  }
}

TEST_CASE("ascend: starts in us are exact to the ns, and rows need not be in order") {
  const auto row = [](const std::string& name, const std::string& start) {
    return name + ",T,AI_VECTOR_CORE," + start + ",1,0\n";
  };
  const model::Profile p =
      MustParse("Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)\n" +
                row("b", "1790000000123456.790") + row("a", "1790000000123456.789"));
  REQUIRE(p.records.size() == 2);
  CHECK(p.names.name(p.records[0].name_id) == "a");
  CHECK(p.records[1].start_ns == 1);
  CHECK(p.records[1].device == shm::kUnknown16);
  CHECK(p.records[1].stream == shm::kUnknown32);
  CHECK(p.records[1].grid[0] == shm::kUnknownExtent);
}

TEST_CASE("ascend: op_summary of msprof has other names of columns") {
  const model::Profile p = MustParse(
      "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,"
      "Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Num\n"
      "0,1,2,5,add,Add,static,MIX_AIV,\"1000.5\t\",2.25,0,48\n"
      "0,1,2,5,hcom_allReduce_,hcom_allReduce_,N/A,HCCL,\"1010.5\t\",2.25,0,N/A\n");
  REQUIRE(p.records.size() == 2);
  CHECK(p.records[0].duration_ns == 2250);
  CHECK(p.records[0].stream == 5);
  CHECK(p.records[0].grid[0] == 48);
  CHECK(p.records[1].grid[0] == shm::kUnknownExtent);
  CHECK(p.records[1].start_ns == 10'000);
}

TEST_CASE("ascend: rows without times are counted, and bad cells are errors with their line") {
  const auto with = [](const std::string& what, const std::string& by) {
    std::string row = kRow;
    return row.replace(row.find(what), what.size(), by);
  };
  const model::Profile p =
      MustParse(kHeader + kRow + with("1790000000123456.789\t", "N/A") + with("12.341", "") + kRow);
  CHECK(p.records.size() == 2);
  REQUIRE(!p.warnings.empty());
  CHECK(p.warnings[0] == "t.csv:3: a row has no start or no duration (2 such rows); skipped");
  CHECK(ErrorOf(kHeader + kRow + with("12.341", "x")) ==
        "t.csv:3: Duration(us) is 'x'; expected a time in us from 0");
  CHECK(ErrorOf(kHeader + with("12.341", "-1")) ==
        "t.csv:2: Duration(us) is '-1'; expected a time in us from 0");
  CHECK(ErrorOf(kHeader + with("1790000000123456.789", "99999999999999999999"))
            .starts_with("t.csv:2: Start Time(us) is '99999999999999999999'; expected"));
  CHECK(ErrorOf(kHeader + with(",24,", ",2.5,")) ==
        "t.csv:2: Block Dim is '2.5'; expected a whole number from 0 to 4294967295");
  CHECK(ErrorOf(kHeader + with(",39,2,", ",39,4294967295,"))
            .starts_with("t.csv:2: Stream ID is '4294967295'; expected"));
  CHECK(ErrorOf(kHeader + with("3,1,", "3,65535,")).starts_with("t.csv:2: Device_id is '65535'"));
  CHECK(ErrorOf(kHeader + with("aclnnMatmul_MatMulV2", "")) ==
        "t.csv:2: Name is ''; expected the name of an operator");
  CHECK(ErrorOf(kHeader + "1,2\n") == "t.csv:2: 2 cells; expected 15");
}

TEST_CASE("ascend: damaged files are read or rejected") {
  test::CheckDamage(
      "Name,Accelerator Core,Start Time(us),Duration(us)\na,AI_CORE,1,2\nb,AI_CPU,3,4\n");
}

}  // namespace
}  // namespace stemtap::formats
