// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/rocprof_csv.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/memory_source.h"
#include "damage.h"
#include "formats/importers/registry.h"
#include "model/profile.h"
#include "parse_text.h"

namespace stemtap::formats {
namespace {

// The headers of ROCm 6.2, 6.4 and 7, and the header that rocpd writes.
const std::string kHeader62 =
    "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\","
    "\"Start_Timestamp\",\"End_Timestamp\",\"Private_Segment_Size\",\"Group_Segment_Size\","
    "\"Workgroup_Size_X\",\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\","
    "\"Grid_Size_Y\",\"Grid_Size_Z\"\n";
const std::string kHeader =
    "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\",\"Kernel_Id\","
    "\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\",\"LDS_Block_Size\","
    "\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\",\"SGPR_Count\",\"Workgroup_Size_X\","
    "\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_Size_Z\"\n";

std::string Row(const std::string& agent, const std::string& id, const std::string& name,
                const std::string& start, const std::string& end,
                const std::string& sizes = "64,1,1,1024,1024,1") {
  return "\"KERNEL_DISPATCH\"," + agent + ",17,26,847809,101," + id + ",\"" + name + "\",103," +
         start + "," + end + ",512,0,8,0,16," + sizes + "\n";
}

TEST_CASE("rocprofv3: every cell of a row is read for all versions") {
  const std::string name = "void add<float>(float*, float const*, int)";
  for (const std::size_t piece : {std::size_t{1}, kReadBytes}) {
    const model::Profile p = MustParse(
        kHeader + Row("\"Agent 7\"", "49", name, "1551401624448706", "1551401624459226"), piece);
    REQUIRE(p.records.size() == 1);
    const shm::KernelRecord& r = p.records[0];
    CHECK(r.start_ns == 0);
    CHECK(r.duration_ns == 10520);
    CHECK(r.device == 0);
    CHECK(r.stream == 26);
    CHECK(r.grid[0] == 16);
    CHECK(r.grid[1] == 1024);
    CHECK(r.grid[2] == 1);
    CHECK(r.block[0] == 64);
    CHECK(r.shared_bytes == 512);
    CHECK(r.correlation_id == 103);
    CHECK(p.names.name(0) == name);
    CHECK(p.warnings.empty());
  }
  const model::Profile old = MustParse(
      kHeader62 +
      "\"KERNEL_DISPATCH\",1,139690710949888,15,\"t(float*)\",0,671599758568,671599825328,0,1024,"
      "4,4,1,1024,1024,1\n");
  CHECK(old.records[0].grid[1] == 256);
  CHECK(old.records[0].shared_bytes == 1024);
  CHECK(old.records[0].stream == 0);
  REQUIRE(old.warnings.size() == 1);
  CHECK(old.warnings[0] == "t.csv: queues are addresses; they are numbered 0 to 0");
  const model::Profile rocpd = MustParse(
      "\"Guid\",\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Name\",\"Start_Timestamp\","
      "\"End_Timestamp\",\"Lds_Block_Size\",\"Vgpr_Count\",\"Workgroup_Size_X\",\"Grid_Size_X\"\n"
      "\"0-1\",\"KERNEL_DISPATCH\",\"Agent 4\",3,\"k\",100,150,8456,16,256,233472\n");
  CHECK(rocpd.records[0].duration_ns == 50);
  CHECK(rocpd.records[0].shared_bytes == 8456);
  CHECK(rocpd.records[0].grid[0] == 912);
  CHECK(rocpd.records[0].grid[1] == shm::kUnknownExtent);
  CHECK(rocpd.records[0].stream == 3);
}

TEST_CASE("rocprofv3: rows are in start order, and other kinds are counted") {
  const model::Profile p =
      MustParse(kHeader + Row("1", "1", "b()", "200", "201") +
                "\"SCRATCH_MEMORY\",1,1,1,1,1,1,\"x\",1,1,1,1,1,1,1,1,1,1,1,1,1,1\n" +
                Row("1", "2", "a()", "100", "130") + "\n");
  REQUIRE(p.records.size() == 2);
  CHECK(p.names.name(p.records[0].name_id) == "a()");
  CHECK(p.records[1].start_ns == 100);
  REQUIRE(p.warnings.size() == 1);
  CHECK(p.warnings[0] == "t.csv: 1 row is not a kernel; skipped");
}

TEST_CASE("rocprofv3: a grid that is not a multiple of the work-group is rounded up") {
  const model::Profile p = MustParse(kHeader + Row("1", "1", "a()", "1", "2", "256,2,1,1000,4,1") +
                                     Row("1", "1", "a()", "3", "4", "256,2,1,1024,4,1"));
  CHECK(p.records[0].grid[0] == 4);
  CHECK(p.records[0].grid[1] == 2);
  CHECK(p.records[1].grid[0] == 4);
  REQUIRE(p.warnings.size() == 1);
  CHECK(p.warnings[0] ==
        "t.csv: 1 launch has a grid that is not a multiple of the work-group; rounded up");
}

TEST_CASE("rocprofv3: agents become device ordinals") {
  // If agent numbers include CPUs, the ordinal is the position among the agents that ran a kernel.
  const model::Profile p = MustParse(kHeader + Row("\"Agent 9\"", "1", "a()", "1", "2") +
                                     Row("\"Agent 4\"", "2", "a()", "3", "4"));
  CHECK(p.records[0].device == 1);
  CHECK(p.records[1].device == 0);
  REQUIRE(p.warnings.size() == 1);
  CHECK(p.warnings[0] ==
        "t.csv: agent numbers include CPUs, so devices are renumbered: 4 as 0, 9 as 1");
  // If agents are numbered by type, the number is the ordinal.
  const model::Profile typed = MustParse(kHeader + Row("\"GPU 3\"", "1", "a()", "1", "2") +
                                         Row("\"GPU 1\"", "1", "a()", "3", "4"));
  CHECK(typed.records[0].device == 3);
  CHECK(typed.records[1].device == 1);
  CHECK(typed.warnings.empty());
}

TEST_CASE("rocprofv3: truncated names are detected if several kernels have them") {
  const model::Profile p =
      MustParse(kHeader + Row("1", "1", "gemm", "1", "2") + Row("1", "2", "gemm", "3", "4") +
                Row("1", "3", "copy", "5", "6") + Row("1", "3", "copy", "7", "8") +
                Row("1", "4", "f(int)", "9", "9") + Row("1", "5", "f(int)", "10", "11"));
  REQUIRE(p.warnings.size() == 1);
  CHECK(p.warnings[0].starts_with(
      "t.csv: 1 names look truncated and each may cover several kernels, such as 'gemm'"));
  // Ids are per device.
  CHECK(MustParse(kHeader + Row("\"GPU 0\"", "1", "gemm", "1", "2") +
                  Row("\"GPU 1\"", "2", "gemm", "3", "4"))
            .warnings.empty());
  CHECK(MustParse(kHeader + Row("1", "1", "_Z3addPf.kd", "1", "2")).names.name(0) == "_Z3addPf");
}

TEST_CASE("rocprofv3: damage is an error with its line") {
  const std::string head = kHeader + Row("1", "1", "a()", "1", "2");
  CHECK(ErrorOf(head + "\"KERNEL_DISPATCH\",1\n") == "t.csv:3: 2 cells; expected 22");
  CHECK(ErrorOf(head + "\"KERNEL_DISPATCH\",1,\"a\n") ==
        "t.csv:3: a quote is not closed; expected '\"'");
  CHECK(ErrorOf(head.substr(0, head.size() - 1)) ==
        "t.csv:2: no line end after the last row; expected a complete file");
  CHECK(ErrorOf(head + Row("1", "1", "a()", "5", "4")) ==
        "t.csv:3: End_Timestamp is '4'; expected at least the start, 5");
  CHECK(ErrorOf(head + Row("1", "1", "a()", "", "4")) ==
        "t.csv:3: Start_Timestamp is ''; expected a whole number of ns");
  CHECK(ErrorOf(head + Row("1", "1", "a()", "1", "99999999999999999999"))
            .starts_with("t.csv:3: End_Timestamp is '99999999999999999999'; expected a whole"));
  CHECK(ErrorOf(head + Row("CPU", "1", "a()", "1", "2")).starts_with("t.csv:3: Agent_Id is 'CPU'"));
  // Agent numbers with and without CPUs cannot be mixed, even if the numbers are equal.
  for (const char* number : {"1", "0"}) {
    CHECK(ErrorOf(head + Row(fmt::format("\"GPU {}\"", number), "1", "a()", "1", "2")) ==
          fmt::format("t.csv:3: Agent_Id is 'GPU {}'; expected either 'Agent 1' or 'GPU 0' in the "
                      "whole file",
                      number));
  }
  CHECK(ErrorOf(head + Row("1", "1", "", "1", "2")) ==
        "t.csv:3: Kernel_Name is ''; expected the name of a kernel");
  CHECK(ErrorOf(head + Row("1", "1", "a()", "1", "2", "0,1,1,1,1,1"))
            .starts_with("t.csv:3: Workgroup_Size_X is '0'; expected a whole number from 1"));
  CHECK(ErrorOf(head + Row("1", "1", "a()", "1", "2", "1,1,1,281474976710656,1,1")) ==
        "t.csv:3: Grid_Size_X is '281474976710656'; expected fewer work-groups");
  CHECK(MustParse(kHeader).records.empty());
}

TEST_CASE("rocprofv3: other files are not recognized as a trace") {
  CHECK_FALSE(LooksLikeRocprofCsv("\"Name\",\"Calls\",\"TotalDurationNs\"\n"));
  CHECK_FALSE(
      LooksLikeRocprofCsv("\"Domain\",\"Function\",\"Start_Timestamp\",\"End_Timestamp\"\n"));
  CHECK_FALSE(LooksLikeRocprofCsv("\"Kernel_Name\",\"Counter_Name\",\"Counter_Value\"\n"));
  CHECK_FALSE(LooksLikeRocprofCsv(""));
}

TEST_CASE("rocprofv3: a damaged file is read or rejected") {
  test::CheckDamage(kHeader + Row("\"Agent 7\"", "49", "f(int)", "15", "25") +
                    Row("\"Agent 8\"", "49", "g", "17", "27"));
}

}  // namespace
}  // namespace stemtap::formats
