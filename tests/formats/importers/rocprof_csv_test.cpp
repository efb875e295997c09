// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fmt/format.h>

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
    CHECK(r.correlation_id == 102);  // Dispatch_Id, counted from 1
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
  CHECK(old.warnings[0] ==
        "t.csv: stream ids such as '139690710949888' are not small whole numbers; streams are "
        "numbered 0 to 0 in order of appearance");
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

TEST_CASE("rocprofv3: rows without usable times are skipped and counted with the first line") {
  const std::string start = "1551401624448706";
  const std::string end = "1551401624529066";
  const model::Profile p =
      MustParse(kHeader + Row("1", "1", "k", start, end) + Row("1", "1", "k", "0", "0") +
                Row("1", "1", "k", "0", end) + Row("1", "1", "k", start, "0") +
                Row("1", "1", "k", "", end) + Row("1", "1", "k", start, "") +
                Row("1", "1", "k", end, start) + Row("1", "1", "k", end, end));
  REQUIRE(p.records.size() == 2);
  CHECK(p.records[0].start_ns == 0);
  CHECK(p.records[0].duration_ns == 80360);
  CHECK(p.records[1].start_ns == 80360);
  CHECK(p.records[1].duration_ns == 0);
  REQUIRE(p.warnings.size() == 2);
  CHECK(p.warnings[0] == "t.csv:3: no start or no end (5 such rows); skipped");
  CHECK(p.warnings[1] == "t.csv:8: the end is before the start (1 such row); skipped");
}

// Returns a row of a HIP graph, whose kernels share a correlation id, on queue `queue`.
std::string OfGraph(const std::string& queue, const std::string& dispatch, const std::string& name,
                    const std::string& start) {
  return "\"KERNEL_DISPATCH\",1," + queue + "," + queue + ",1," + dispatch + ",1,\"" + name +
         "\",103," + start + "," + start + "9,0,0,8,0,16,64,1,1,64,1,1\n";
}

TEST_CASE("rocprofv3: Dispatch_Id orders kernels that share a correlation id") {
  const model::Profile p =
      MustParse(kHeader + OfGraph("1", "12", "c()", "30") + OfGraph("2", "10", "a()", "50") +
                OfGraph("1", "11", "b()", "10"));
  REQUIRE(p.records.size() == 3);
  CHECK(p.names.name(p.records[0].name_id) == "a()");
  CHECK(p.names.name(p.records[1].name_id) == "b()");
  CHECK(p.names.name(p.records[2].name_id) == "c()");
  CHECK(p.warnings.empty());
  // Versions without the column use the correlation id.
  const std::string row = ",15,\"t(float*)\",";
  const std::string rest = ",0,0,64,1,1,64,1,1\n";
  const model::Profile old = MustParse(kHeader62 + "\"KERNEL_DISPATCH\",1,5" + row + "9,20,30" +
                                       rest + "\"KERNEL_DISPATCH\",1,6" + row + "8,40,50" + rest);
  CHECK(old.records[0].correlation_id == 8);
}

TEST_CASE("rocprofv3: a queue may have any id, and no two queues share a number") {
  for (const std::string id : {"139690710949888", "4294967295", "-1", "0x7f21", "default"}) {
    CAPTURE(id);
    const auto row = [](const std::string& queue, const std::string& start) {
      return "\"KERNEL_DISPATCH\",1," + queue + ",15,\"t(float*)\",0," + start + "," + start +
             "1,0,0,64,1,1,64,1,1\n";
    };
    const model::Profile p =
        MustParse(kHeader62 + row("2", "10") + row(id, "20") + row("0", "30") + row(id, "40"));
    REQUIRE(p.records.size() == 4);
    CHECK(p.records[0].stream == 0);
    CHECK(p.records[1].stream == 1);
    CHECK(p.records[2].stream == 2);
    CHECK(p.records[3].stream == 1);
    CHECK(p.warnings[0].starts_with("t.csv: stream ids such as '" + id + "' are not small whole"));
  }
}

TEST_CASE("rocprofv3: an agent may have any number or name") {
  for (const std::string id : {"Agent 65535", "18446744073709551615", "-1", "0x7f21", "CPU"}) {
    CAPTURE(id);
    const model::Profile p = MustParse(kHeader + Row("\"" + id + "\"", "1", "a()", "1", "2") +
                                       Row("\"Agent 4\"", "1", "a()", "3", "4"));
    REQUIRE(p.records.size() == 2);
    CHECK(p.records[0].device == 1);  // larger numbers and names are last
    CHECK(p.records[1].device == 0);
    REQUIRE(p.warnings.size() == 1);
    CHECK(p.warnings[0].starts_with(
        "t.csv: agents are not device numbers, so devices are renumbered: 4 as 0, "));
  }
  const model::Profile ordinals = MustParse(kHeader + Row("\"GPU 70000\"", "1", "a()", "1", "2") +
                                            Row("\"GPU 3\"", "1", "a()", "3", "4"));
  CHECK(ordinals.records[0].device == 1);
  CHECK(ordinals.records[1].device == 0);
}

TEST_CASE("rocpd as CSV: each recording is a process with its own counter") {
  const std::string header =
      "\"Guid\",\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\","
      "\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n";
  const auto row = [](const std::string& guid, const std::string& dispatch, const std::string& name,
                      const std::string& start) {
    return "\"" + guid + "\",\"KERNEL_DISPATCH\",\"Agent 4\",1,1,7," + dispatch + ",1,\"" + name +
           "\",0," + start + "," + start + "5\n";
  };
  const model::Profile p =
      MustParse(header + row("00-a", "900", "a1()", "10") + row("00-b", "1", "b1()", "20") +
                row("00-a", "901", "a2()", "30") + row("00-b", "2", "b2()", "40"));
  REQUIRE(p.records.size() == 4);
  CHECK(p.names.name(p.records[1].name_id) == "b1()");
  CHECK(p.names.name(p.records[2].name_id) == "a2()");
  CHECK(p.records[0].device == 0);
  CHECK(p.records[1].device == 1);  // each recording may have its own GPU 4
}

TEST_CASE("rocprofv2: every cell of a row is read") {
  const std::string header =
      "Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,"
      "Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Wave_Size,Kernel_Name,Start_Timestamp,"
      "End_Timestamp,Correlation_ID";
  const auto row = [](const std::string& dispatch, const std::string& times,
                      const std::string& rest) {
    return dispatch + ",4,1,1584730,1584731,1000,256,512,0,8,0,16,64,\"f(char*, char*) (.kd)\"," +
           times + ",0" + rest + "\n";
  };
  const model::Profile p =
      MustParse(header + ",GRBM_COUNT\n\n" + row("2", "300,400", ",12637.000000") +
                row("1", "100,250", ",5.000000") + row("3", "0,140469300947216", ",1.0"));
  REQUIRE(p.records.size() == 2);
  const shm::KernelRecord& r = p.records[0];
  CHECK(p.names.name(r.name_id) == "f(char*, char*)");
  CHECK(r.duration_ns == 150);
  CHECK(r.device == 0);
  CHECK(r.stream == 1);
  CHECK(r.grid[0] == 4);
  CHECK(r.grid[1] == 1);
  CHECK(r.grid[2] == 1);
  CHECK(r.block[0] == 256);
  CHECK(r.block[1] == 1);
  CHECK(r.shared_bytes == 512);
  CHECK(r.correlation_id == 2);
  REQUIRE(p.warnings.size() == 3);
  CHECK(p.warnings[0] == "t.csv:5: no start or no end (1 such row); skipped");
  CHECK(p.warnings[1] ==
        "t.csv: 2 launches have a grid that is not a multiple of the work-group; rounded up");
  CHECK(p.warnings[2] ==
        "t.csv: 2 launches have only total sizes of the grid and the work-group; they are in "
        "grid_x and block_x");

  // MI300 with counters per XCC: one row per XCC of a launch.
  const model::Profile xcc =
      MustParse(header + ",XCC_Index,GRBM_COUNT\n\n" + row("1", "100,250", ",0,5.0") +
                row("1", "100,250", ",1,6.0"));
  CHECK(xcc.records.size() == 1);
  CHECK(xcc.warnings[0] == "t.csv: 1 row repeats a launch for another XCC; skipped");
}

TEST_CASE("rocprofv2: kernels are read from a trace of HIP operations") {
  const model::Profile p = MustParse(
      "Domain,Operation,Kernel_Name,Start_Timestamp,Stop_Timestamp,Correlation_ID\n\n"
      "HIP_OPS_DOMAIN,\"CopyHostToDevice\",,100,200,1\n"
      "HIP_OPS_DOMAIN,\"KernelExecution\",\"f(int)\",300,450,2\n");
  REQUIRE(p.records.size() == 1);
  CHECK(p.names.name(0) == "f(int)");
  CHECK(p.records[0].duration_ns == 150);
  CHECK(p.records[0].correlation_id == 2);
  REQUIRE(p.warnings.size() == 1);
  CHECK(p.warnings[0] == "t.csv: 1 row is not a kernel; skipped");
}

TEST_CASE("rocprof: every cell of a row is read") {
  const std::string header =
      "Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,"
      "sgpr,wave_size,sig,obj,Wavefronts,DispatchNs,BeginNs,EndNs,CompleteNs,DurationNs\n";
  const auto row = [](const std::string& index, const std::string& queue, const std::string& pid,
                      const std::string& begin, const std::string& end) {
    return index + ",\"vecCopy(double*, int) [clone .kd]\",2," + queue + ",0," + pid + "," + pid +
           ",1048576,256,1024,0,8,8,16,64,0x0,0x7facae2fcec0,None,1," + begin + "," + end +
           ",9,9\n";
  };
  const model::Profile p =
      MustParse(header + row("0", "1", "70", "1000", "1500") + row("1", "0", "70", "900", "950") +
                row("2", "0", "70", "None", "None"));
  REQUIRE(p.records.size() == 2);
  const shm::KernelRecord& r = p.records[0];  // index 0 is the first launch but starts later
  CHECK(p.names.name(r.name_id) == "vecCopy(double*, int)");
  CHECK(r.start_ns == 100);
  CHECK(r.duration_ns == 500);
  CHECK(r.device == 0);
  CHECK(r.stream == 1);
  CHECK(r.grid[0] == 4096);
  CHECK(r.block[0] == 256);
  CHECK(r.shared_bytes == 1024);
  CHECK(p.records[1].stream == 0);
  CHECK(p.warnings[0] == "t.csv:4: no start or no end (1 such row); skipped");
  // One file may contain several processes, each with its own index.
  const model::Profile two =
      MustParse(header + row("0", "0", "70", "100", "150") + row("1", "0", "70", "300", "350") +
                row("0", "0", "71", "200", "250") + row("1", "0", "71", "400", "450"));
  REQUIRE(two.records.size() == 4);
  CHECK(two.records[1].device == 1);
  CHECK(two.records[2].device == 0);
}

TEST_CASE("Omniperf: every cell of a row is read") {
  const model::Profile p = MustParse(
      "Dispatch_ID,Kernel_Name,GPU_ID,queue-id,queue-index,pid,tid,Grid_Size,Workgroup_Size,"
      "LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,wave_size,sig,obj,"
      "DispatchNs,Start_Timestamp,End_Timestamp,CompleteNs\n"
      "0,\"f(int) [clone .kd]\",2,3,0,71,71,1024,256,0,0,8,8,16,64,0x0,0x7f,1,"
      "1410204895308401,1410204895332881,9\n"
      "1,\"f(int) [clone .kd]\",2,3,0,71,71,1024,256,0,0,8,8,16,64,0x0,0x7f,1,"
      "1410204895408401.0,1410204895408501.5,9\n");
  REQUIRE(p.records.size() == 2);
  CHECK(p.names.name(0) == "f(int)");
  CHECK(p.records[0].duration_ns == 24480);
  CHECK(p.records[0].device == 0);
  CHECK(p.records[0].stream == 3);
  CHECK(p.records[0].grid[0] == 4);
  CHECK(p.records[1].start_ns == 100000);
  CHECK(p.records[1].duration_ns == 101);
  CHECK(p.warnings[0] == "t.csv: 1 time is finer than 1 ns; rounded");
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
  CHECK(ErrorOf(head + Row("1", "1", "a()", "abc", "4")) ==
        "t.csv:3: Start_Timestamp is 'abc'; expected a whole number of ns, at most 2^62");
  CHECK(ErrorOf(head + Row("1", "1", "a()", "-5", "4"))
            .starts_with("t.csv:3: Start_Timestamp is '-5'; expected a whole number of ns"));
  CHECK(ErrorOf(head + Row("1", "1", "a()", "5", "4611686018427387904"))
            .starts_with("t.csv:3: End_Timestamp is '4611686018427387904'; expected"));
  CHECK(ErrorOf(head + Row("1", "1", "a()", "1", "99999999999999999999"))
            .starts_with("t.csv:3: End_Timestamp is '99999999999999999999'; expected a whole"));
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
  CHECK_FALSE(LooksLikeRocprofCsv(
      "Domain,Function,Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID\n"));
}

TEST_CASE("rocprofv3: a damaged file is read or rejected") {
  test::CheckDamage(kHeader + Row("\"Agent 7\"", "49", "f(int)", "15", "25") +
                    Row("\"Agent 8\"", "49", "g", "17", "27"));
}

}  // namespace
}  // namespace stemtap::formats
