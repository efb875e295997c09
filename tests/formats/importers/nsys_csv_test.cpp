// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_source.h"
#include "formats/importers/importers.h"
#include "model/profile.h"
#include "parse_text.h"
#include "support/shared_data.h"

namespace stemtap::formats {
namespace {

const std::string kTrace =
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),"
    "DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n";
const std::string kExec =
    "API Start (ns),API Dur (ns),Queue Start (ns),Queue Dur (ns),Kernel Start (ns),Kernel Dur (ns),"
    "Total Dur (ns),PID,TID,DevId,API Function,GridXYZ,BlockXYZ,Kernel Name\n";

// The required columns
const std::string kShort = "Start (ns),Duration (ns),GrdX,Name\n";

const std::string& NameOf(const model::Profile& profile, std::size_t row) {
  return profile.names.name(profile.records[row].name_id);
}

const std::string kRounded =
    "t.csv: shared memory is rounded (to 1000 bytes if it is in MB); the SQLite export is exact";
const std::string kDrops =
    "t.csv: the report cuda_kern_exec_trace omits streams, shared memory, and kernels whose launch "
    "call was not recorded; use cuda_gpu_trace or the SQLite export";

TEST_CASE("cuda_gpu_trace: kernels are read in start order, and copies and sets are skipped") {
  const model::Profile profile = MustParse(
      kTrace +
      "900,50,249,1,2,3,64,4,2,16,0.000,0.001,,,,,NVIDIA H100 (PCIe) (3),1,,13,\"k<1, 2>(int)\"\n"
      "100,5184,237,,,,,,,,,,0.090,17361.090,Pageable,Device,GPU (0),1,,7,[CUDA memcpy "
      "Host-to-Device]\n"
      "400,1952,247,10,11,12,16,8,1,16,0.002,0.010,,,,,GPU (0),1,,7,axpy\n"
      "500,10,248,,,,,,,,,,0.090,1,,Device,GPU (0),1,,7,[CUDA memset]\n");
  REQUIRE(profile.records.size() == 2);
  const shm::KernelRecord& first = profile.records[0];
  CHECK(NameOf(profile, 0) == "axpy");
  CHECK(first.start_ns == 0);
  CHECK(first.duration_ns == 1952);
  CHECK(first.correlation_id == 247);
  CHECK(first.grid[0] == 10);
  CHECK(first.grid[1] == 11);
  CHECK(first.grid[2] == 12);
  CHECK(first.block[0] == 16);
  CHECK(first.block[1] == 8);
  CHECK(first.block[2] == 1);
  CHECK(first.shared_bytes == 12000);
  CHECK(first.device == 0);
  CHECK(first.stream == 7);
  CHECK(first.graph_id == 0);
  CHECK(NameOf(profile, 1) == "k<1, 2>(int)");
  CHECK(profile.records[1].start_ns == 500);
  CHECK(profile.records[1].device == 3);
  CHECK(profile.records[1].stream == 13);
  CHECK(profile.records[1].shared_bytes == 1000);
  REQUIRE(profile.warnings.size() == 3);
  CHECK(profile.warnings[2].find("does not distinguish processes") != std::string::npos);
  CHECK(profile.warnings[0] == "t.csv: 2 rows are memory copies and sets; skipped");
  CHECK(profile.warnings[1] == kRounded);
}

TEST_CASE(
    "cuda_kern_exec_trace: padded extents and the order of launch calls are read with a warning") {
  const model::Profile profile = MustParse(
      kExec +
      "30,10,60,1,900,40,90,7,7,1,cudaLaunchKernel,  16    1    2, 256    8    4,\"k(int, "
      "int)\"\n"
      "40,10,,,100,30,90,7,7,0,cudaLaunchKernel,4294967295 65535 1,1024 1 1,axpy\n");
  REQUIRE(profile.records.size() == 2);
  const shm::KernelRecord& first = profile.records[0];
  CHECK(NameOf(profile, 0) == "k(int, int)");
  CHECK(first.start_ns == 800);
  CHECK(first.duration_ns == 40);
  CHECK(first.device == 1);
  CHECK(first.grid[0] == 16);
  CHECK(first.grid[1] == 1);
  CHECK(first.grid[2] == 2);
  CHECK(first.block[0] == 256);
  CHECK(first.block[1] == 8);
  CHECK(first.block[2] == 4);
  CHECK(first.stream == shm::kUnknown32);
  CHECK(first.shared_bytes == shm::kUnknown32);
  CHECK(NameOf(profile, 1) == "axpy");
  CHECK(profile.records[1].start_ns == 0);
  CHECK(profile.records[1].duration_ns == 30);
  CHECK(profile.records[1].grid[0] == 4294967295);
  CHECK(profile.records[1].grid[1] == 65535);
  CHECK(profile.warnings == std::vector<std::string>{kDrops});
}

TEST_CASE("cuda_kern_exec_trace in a different order is rejected") {
  const std::string first = "10,1,11,1,300,5,300,7,7,0,cudaLaunchKernel,1 1 1,32 1 1,a\n";
  const std::string second = "20,1,21,1,100,5,300,7,7,0,cudaLaunchKernel,1 1 1,32 1 1,b\n";
  CHECK(NameOf(MustParse(kExec + first + second), 0) == "a");
  CHECK(ErrorOf(kExec + second + first).find("API Start") != std::string::npos);
}

TEST_CASE("cuda_gpu_trace: ids of different devices may belong to different processes") {
  // Two programs wrote the report, each with its own counter.
  const model::Profile profile = MustParse(
      "Start (ns),Duration (ns),CorrId,GrdX,Device,Strm,Name\n"
      "10,1,900,1,0,7,a\n20,1,5,1,1,7,b\n30,1,800,1,0,8,c\n40,1,6,1,1,7,d\n");
  CHECK(NameOf(profile, 0) == "c");
  CHECK(NameOf(profile, 1) == "b");
  CHECK(NameOf(profile, 2) == "a");
  CHECK(NameOf(profile, 3) == "d");
}

TEST_CASE("a stream may have any id") {
  const model::Profile profile = MustParse(
      "Start (ns),Duration (ns),CorrId,GrdX,Device,Strm,Name\n"
      "10,1,1,1,0,\"1,024\",a\n20,1,2,1,0,94384723984016,b\n30,1,3,1,0,-1,c\n");
  REQUIRE(profile.records.size() == 3);
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(profile.records[i].stream == i);
  CHECK(profile.warnings[0].find("stream ids such as '94384723984016'") != std::string::npos);
}

TEST_CASE("columns are found by name, and most may be missing") {
  const model::Profile profile =
      MustParse("Row#,Name,GrdX,Duration (ns),Start (ns),\n1,k,4,20,10,\n");
  REQUIRE(profile.records.size() == 1);
  CHECK(profile.records[0].duration_ns == 20);
  CHECK(profile.records[0].grid[0] == 4);
  CHECK(profile.records[0].grid[1] == shm::kUnknownExtent);
  CHECK(profile.records[0].device == shm::kUnknown16);
  CHECK(profile.records[0].shared_bytes == shm::kUnknown32);
  CHECK(profile.warnings.empty());
}

TEST_CASE("time units are read in every form of the header") {
  const auto duration = [](const std::string& start, const std::string& heading,
                           const std::string& cell) {
    const model::Profile profile =
        MustParse(start + "," + heading + ",GrdX,Name\n0," + cell + ",1,k\n");
    REQUIRE(profile.records.size() == 1);
    CHECK(profile.warnings.empty());
    return profile.records[0].duration_ns;
  };
  CHECK(duration("Start (ns)", "Duration (ns)", "1234") == 1234);
  CHECK(duration("Start(nsec)", "Duration(nsec)", "1234") == 1234);
  CHECK(duration("Start:ts_ns", "Duration:dur_ns", "1234") == 1234);
  CHECK(duration("Start (ns)", "Duration (us)", "1.234") == 1234);
  CHECK(duration("Start (ns)", "Duration (μs)", "0.001") == 1);
  CHECK(duration("Start (ns)", "Duration (usec)", "17.000") == 17000);
  CHECK(duration("Start (ns)", "Duration (ms)", "1.234567") == 1234567);
  CHECK(duration("Start (ns)", "Duration (msec)", "1.000002") == 1000002);
  CHECK(duration("Start (ns)", "Duration (s)", "2.000000003") == 2000000003);
  CHECK(duration("Start (ns)", "Duration (sec)", "2.000000003999") == 2000000004);
  CHECK(duration("Start (ns)", "Duration (us)", "1.2345") == 1235);
  CHECK(duration("Start (ns)", "Duration (s)", "\"4,611,686,018.427387903\"") ==
        4611686018427387903);  // 2^62 - 1
  const model::Profile starts =
      MustParse("Start (us),Duration (ns),GrdX,Name\n-1.500,1,1,a\n\"1,000.250\",2,1,b\n");
  CHECK(starts.records[1].start_ns == 1001750);
}

TEST_CASE("units coarser than a nanosecond are reported") {
  const model::Profile profile =
      MustParse("Start (ms),Duration (us),GrdX,Name\n1.234,5,1,k\n2.5,6,1,k\n");
  REQUIRE(profile.warnings.size() == 2);
  CHECK(profile.warnings[0] ==
        "t.csv: the column Start is rounded to 1000 ns; expected 'nsys stats --timeunit nsec'");
  CHECK(profile.warnings[1] ==
        "t.csv: the column Duration is rounded to 1000 ns; expected 'nsys stats --timeunit nsec'");
  CHECK(profile.records[1].start_ns == 1266000);
  CHECK(profile.records[1].duration_ns == 6000);
}

TEST_CASE("a unit that is missing or unknown is an error") {
  CHECK(ErrorOf("Start,Duration (ns),GrdX,Name\n1,1,1,k\n") ==
        "t.csv:1: the column 'Start' has no known unit; expected one as in 'Start (ns)'");
  CHECK(ErrorOf("Start (ns),Duration (h),GrdX,Name\n1,1,1,k\n") ==
        "t.csv:1: the column 'Duration (h)' has no known unit; expected one as in 'Duration (ns)'");
  CHECK(ErrorOf("Start (ns),Duration (ns),GrdX,StcSMem (lb),Name\n1,1,1,1,k\n") ==
        "t.csv:1: the column 'StcSMem (lb)' has no known unit; expected one as in 'StcSMem (MB)'");
}

TEST_CASE("units of shared memory are read") {
  const auto shared = [](const std::string& fixed, const std::string& dynamic,
                         const std::string& cells, std::size_t warnings) {
    const model::Profile profile =
        MustParse("Start (ns),Duration (ns),GrdX,StcSMem" + fixed + ",DymSMem" + dynamic +
                  ",Name\n1,2,3," + cells + ",k\n");
    CHECK(profile.warnings.size() == warnings);
    return profile.records[0].shared_bytes;
  };
  CHECK(shared(" (byte)", " (bytes)", "2048,1", 0) == 2049);
  CHECK(shared(":mem_B", ":mem_B", "2048,1", 0) == 2049);
  CHECK(shared(" (B)", " (KiB)", "1,2.000", 1) == 2049);
  CHECK(shared(" (KB)", " (MB)", "2.048,0.001", 1) == 3048);
  CHECK(shared(" (MB)", " (MB)", "0.000,0.000", 1) == 0);
  CHECK(shared(" (B)", " (B)", ",1", 0) == shm::kUnknown32);
}

TEST_CASE("text before the header is skipped, and lines keep their numbers") {
  const std::string text =
      "Generating SQLite file r.sqlite from r.nsys-rep\n"
      "the \"program says, Start (ns)\n"
      "Processing [r.sqlite] with [/opt/nsys/reports/cuda_gpu_trace.py]... \n\n";
  const model::Profile profile = MustParse(text + kShort + "1,2,3,k\n");
  REQUIRE(profile.records.size() == 1);
  CHECK(ErrorOf(text + kShort + "1,2,3,k\n1,x,3,k\n").starts_with("t.csv:7: Duration is 'x';"));
  for (const std::size_t piece : {1, 2, 7}) {
    CHECK(MustParse(text + kShort + "1,2,3,k\n5,6,7,k\n", piece).records.size() == 2);
  }
}

TEST_CASE("reports after the first report are skipped and counted") {
  const model::Profile profile = MustParse(
      kShort + "1,2,3,k\n\nProcessing [r.sqlite] with [cuda_api_sum.py]...\nTime (%),Name\n5,x\n");
  CHECK(profile.records.size() == 1);
  REQUIRE(profile.warnings.size() == 1);
  CHECK(profile.warnings[0] ==
        "t.csv:4: another report begins; it and later ones are skipped (3 lines)");
}

TEST_CASE("line endings, a byte order mark, quotes and digit groups are accepted") {
  const model::Profile profile = MustParse(
      "\xEF\xBB\xBFStart (ns),Duration (ns),GrdX,Name\r\n"
      "\"1,234,567\",\"12,345\",\"65,536\",\"k<1, 2>\"\r\n"
      "1234568,7,3,\"say \"\"hello\"\"\"\r\n");
  REQUIRE(profile.records.size() == 2);
  CHECK(profile.records[0].duration_ns == 12345);
  CHECK(profile.records[0].grid[0] == 65536);
  CHECK(NameOf(profile, 0) == "k<1, 2>");
  CHECK(profile.records[1].start_ns == 1);
  CHECK(NameOf(profile, 1) == "say \"hello\"");
}

TEST_CASE("rows without a grid that are not memory operations are counted separately") {
  const model::Profile profile =
      MustParse(kShort + "1,2,,k\n1,2,3,k\n1,2,,[CUDA memset]\n1,2,0,x\n");
  CHECK(profile.records.size() == 1);
  REQUIRE(profile.warnings.size() == 2);
  CHECK(profile.warnings[0] == "t.csv: 1 row is a memory copy or set; skipped");
  CHECK(profile.warnings[1] ==
        "t.csv:2: a row without a grid is not a kernel (2 such rows); skipped");
}

TEST_CASE("devices are numbers in parentheses or bare numbers, and other cells are unknown") {
  const model::Profile profile = MustParse(
      "Start (ns),Duration (ns),GrdX,Device,Name\n1,1,1,A (B) (2),k\n2,1,1,5,k\n3,1,1,GPU,k\n"
      "4,1,1,X (65535),k\n5,1,1,,k\n6,1,1,(x),k\n");
  CHECK(profile.records[0].device == 2);
  CHECK(profile.records[1].device == 5);
  for (std::size_t i = 2; i < 6; ++i) CHECK(profile.records[i].device == shm::kUnknown16);
  REQUIRE(profile.warnings.size() == 2);
  CHECK(profile.warnings[0] ==
        "t.csv:4: a cell of the column Device contains no device number (4 such rows); treated as "
        "unknown");
}

TEST_CASE("bad cells are errors with their line") {
  const std::string fine = kShort + "1,2,3,k\n";
  for (const char* bad :
       {"", "x", "1e3", "0x1", "1.2.3", "1 2", "\"1,2\"", "\"1,2345\"", "\",123\"", "\"1234,567\"",
        "\"1,234,\"", ".5", "+1", "-", "4611686018427387904", "18446744073709551616",
        "99999999999999999999999999", "nan"}) {
    CAPTURE(bad);
    CHECK(ErrorOf(fine + bad + ",2,3,k\n").starts_with("t.csv:3: Start is '"));
    CHECK(ErrorOf(fine + "1," + bad + ",3,k\n").starts_with("t.csv:3: Duration is '"));
  }
  CHECK(ErrorOf(fine + "1,-2,3,k\n") == "t.csv:3: Duration is '-2'; expected a time of at least 0");
  CHECK(MustParse(fine + "1,4611686018427387903,3,k\n").records[1].duration_ns ==
        4611686018427387903);
  for (const char* bad : {"x", "-1", "1.5", "4294967296", "99999999999999999999999"}) {
    CAPTURE(bad);
    CHECK(ErrorOf(fine + "1,2," + bad + ",k\n") ==
          std::string("t.csv:3: GrdX is '") + bad +
              "'; expected a whole number from 0 to 4294967295");
  }
  CHECK(ErrorOf(fine + "1,2,3,\n") == "t.csv:3: Name is ''; expected the name of a kernel");
  CHECK(ErrorOf(fine + "1,2,3\n") == "t.csv:3: 3 cells; expected 4");
  CHECK(ErrorOf(fine + "1,2,3,k,5\n") == "t.csv:3: 5 cells; expected 4");
  CHECK(ErrorOf("Start (ns),Duration (ns),Start (us),GrdX,Name\n") ==
        "t.csv:1: the column 'Start' occurs twice; expected once");
  const auto extents = [](const std::string& block) {
    return ErrorOf("Kernel Start (ns),Kernel Dur (ns),GridXYZ,BlockXYZ,Kernel Name\n1,2,1 1 1," +
                   block + ",k\n");
  };
  for (const char* bad : {"1 2", "1 2 3 4", "1 2 x", "1 2 65536", "1,2,3", "-1 1 1", "1 2 3x"}) {
    CHECK(extents('"' + std::string(bad) + '"') ==
          std::string("t.csv:2: BlockXYZ is '") + bad +
              "'; expected three whole numbers from 0 to 65535");
  }
  CHECK(ErrorOf("Start (ns),Duration (ns),GrdX,StcSMem (GB),DymSMem (B),Name\n1,2,3,2.2,0,k\n") ==
        "t.csv:2: StcSMem is '2.2'; expected an amount of shared memory below 2 GiB");
}

TEST_CASE("a truncated file is an error unless it ends at a line") {
  const std::string text = kShort + "1,2,3,\"k\"\n4,5,6,kernel\n";
  for (std::size_t size = kShort.size() + 1; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    if (cut.back() == '\n') continue;
    CAPTURE(cut);
    CHECK_FALSE(Parse(cut).ok());
  }
  CHECK(ErrorOf(text.substr(0, text.size() - 2)) ==
        "t.csv: the last line has no end and may be cut; expected a complete file");
  CHECK(MustParse(kShort).records.empty());
}

TEST_CASE("damaged text gives an error or other numbers and does not crash") {
  const std::string texts[] = {
      kTrace + "1,5184,7,,,,,,,,,,0.090,17,Pageable,Device,GPU (0),1,,7,[CUDA memset]\n" +
          "400,1952,247,10,11,12,16,8,1,16,0.002,0.010,,,,,GPU (0),1,,7,\"axpy<1, 2>\"\n",
      kExec + "50,10,60,1,900,40,90,7,7,1,cudaLaunchKernel,  16  1  2, 256  8  4,\"k(a, b)\"\n"};
  std::uint64_t state = 1;
  const auto random = [&] {
    return (state = state * 6364136223846793005U + 1442695040888963407U) >> 33;
  };
  const std::string_view bytes("\0\"\n\r,.-9( :\xFF", 12);
  for (int run = 0; run < 1000; ++run) {
    std::string damaged = texts[run % 2];
    const std::size_t header = run % 2 == 0 ? kTrace.size() : kExec.size();
    const std::size_t from = run % 4 < 2 ? 0 : header;  // anywhere, or only after the header
    for (int i = 0; i < 3; ++i) {
      damaged[from + random() % (damaged.size() - from)] = bytes[random() % bytes.size()];
    }
    Result<std::unique_ptr<model::ProfileReader>> reader =
        OpenNsysCsv(std::make_unique<MemorySource>("t.csv", damaged));
    if (reader.ok()) {
      CHECK(model::LoadProfile(*reader.value()).ok());
    } else {
      CHECK(reader.error().message.find('\n') == std::string::npos);
    }
  }
}

TEST_CASE("a report is recognized by a header within the first 64 KiB") {
  CHECK(LooksLikeNsysCsv(kTrace));
  CHECK(LooksLikeNsysCsv(kExec));
  CHECK(LooksLikeNsysCsv("\xEF\xBB\xBF" + kTrace));
  CHECK(LooksLikeNsysCsv("Start(nsec),Duration(nsec),CorrId,GrdX,Name\r\n"));
  std::string far(60000, '\n');
  CHECK(LooksLikeNsysCsv(far + kTrace));
  CHECK_FALSE(LooksLikeNsysCsv(far + far + kTrace));
  CHECK_FALSE(LooksLikeNsysCsv(""));
  CHECK_FALSE(LooksLikeNsysCsv("index,start_ns,duration_ns,grid_x,name\n0,1,2,1,GrdX\n"));
  CHECK_FALSE(LooksLikeNsysCsv("duration_ns,name\n1,\"Start (ns),Duration (ns),GrdX,Name\"\n"));
  CHECK_FALSE(LooksLikeNsysCsv(
      "\"Start\",\"Duration\",\"Grid X\",\"Grid Y\",\"Grid Z\",\"Block X\",\"Device\",\"Name\"\n"));
  CHECK_FALSE(LooksLikeNsysCsv("\"ID\",\"Process ID\",\"Kernel Name\",\"Grid Size\"\n"));
  CHECK_FALSE(LooksLikeNsysCsv("\"Kind\",\"Kernel_Name\",\"Start_Timestamp\",\"Grid_Size_X\"\n"));
  CHECK_FALSE(
      LooksLikeNsysCsv("Time (%),Total Time (ns),Instances,Avg (ns),Name,GridXYZ,BlockXYZ\n"));
  const Result<std::unique_ptr<model::ProfileReader>> none =
      OpenNsysCsv(std::make_unique<MemorySource>("t.csv", "a,b\n"));
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().message.starts_with("t.csv: no header of cuda_gpu_trace"));
}

// --- Recorded reports, compared with the canonical profiles of the same runs ---------------------

struct Pair {
  model::Profile report;
  model::Profile expected;
};

model::Profile LoadShared(
    const std::filesystem::path& path,
    Result<std::unique_ptr<model::ProfileReader>> (*open)(std::unique_ptr<ByteSource>)) {
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path.string());
  REQUIRE(source.ok());
  Result<std::unique_ptr<model::ProfileReader>> reader = open(std::move(source).value());
  if (!reader.ok()) FAIL(reader.error().message);
  Result<model::Profile> profile = model::LoadProfile(*reader.value());
  REQUIRE(profile.ok());
  return std::move(profile).value();
}

// Compares the fields that both reports contain. Starts are relative to `first`.
bool SameKernel(const Pair& pair, std::size_t row, std::size_t expected_row, std::uint64_t first) {
  const shm::KernelRecord& a = pair.report.records[row];
  const shm::KernelRecord& b = pair.expected.records[expected_row];
  return a.start_ns + first == b.start_ns && a.duration_ns == b.duration_ns &&
         a.device == b.device && std::equal(a.grid, a.grid + 3, b.grid) &&
         std::equal(a.block, a.block + 3, b.block) && b.graph_id == 0 && a.graph_id == 0 &&
         pair.report.names.name(a.name_id) == pair.expected.names.name(b.name_id);
}

TEST_CASE("recorded cuda_gpu_trace equals the canonical profile except for rounded shared memory") {
  struct Case {
    std::string name;
    std::size_t kernels;
    std::string left_out;
  };
  for (const Case& run :
       {Case{"assignment_bg_r19", 9359, "3836 rows are memory copies and sets; skipped"},
        Case{"cloverleaf_nsys", 1312, "279 rows are memory copies and sets; skipped"}}) {
    CAPTURE(run.name);
    const auto native = SharedPath("data/native/nsys-csv/" + run.name + ".cuda_gpu_trace.csv.gz");
    const auto canonical = SharedPath("data/profiles/" + run.name + ".csv.gz");
    STEMTAP_SKIP_WITHOUT(native);
    STEMTAP_SKIP_WITHOUT(canonical);
    const Pair pair = {LoadShared(native, OpenNsysCsv), LoadShared(canonical, OpenCanonicalCsv)};
    REQUIRE(pair.report.records.size() == run.kernels);
    REQUIRE(pair.expected.records.size() == run.kernels);
    REQUIRE(pair.report.warnings.size() == 2);
    CHECK(pair.report.warnings[0].ends_with(run.left_out));
    CHECK(pair.report.warnings[1].find("shared memory is rounded") != std::string::npos);
    std::size_t different = 0;
    for (std::size_t i = 0; i < run.kernels; ++i) {
      const shm::KernelRecord& a = pair.report.records[i];
      const shm::KernelRecord& b = pair.expected.records[i];
      const std::uint32_t rounded = (b.shared_bytes + 500) / 1000 * 1000;
      different +=
          !(SameKernel(pair, i, i, 0) && a.stream == b.stream && a.shared_bytes == rounded);
    }
    CHECK(different == 0);
  }
}

TEST_CASE(
    "recorded cuda_kern_exec_trace equals it except for streams, shared memory and lost rows") {
  struct Case {
    std::string name;
    std::size_t kernels;
    std::size_t lost;
  };
  for (const Case& run : {Case{"assignment_bg_r19", 9359, 0}, Case{"cloverleaf_nsys", 1312, 0},
                          Case{"nsysai_mfu_2gpu_before", 4010, 24}}) {
    CAPTURE(run.name);
    const auto native =
        SharedPath("data/native/nsys-csv/" + run.name + ".cuda_kern_exec_trace.csv.gz");
    const auto canonical = SharedPath("data/profiles/" + run.name + ".csv.gz");
    STEMTAP_SKIP_WITHOUT(native);
    STEMTAP_SKIP_WITHOUT(canonical);
    const Pair pair = {LoadShared(native, OpenNsysCsv), LoadShared(canonical, OpenCanonicalCsv)};
    REQUIRE(pair.expected.records.size() == run.kernels);
    REQUIRE(pair.report.records.size() == run.kernels - run.lost);
    REQUIRE(pair.report.warnings.size() == 1);
    CHECK(pair.report.warnings[0].find("omits streams") != std::string::npos);
    // The missing kernels were launched before the capture began. Every other row is at its
    // expected position.
    std::size_t row = 0;
    std::size_t lost = 0;
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < run.kernels; ++i) {
      if (row == 0) first = pair.expected.records[i].start_ns;
      if (row < pair.report.records.size() && SameKernel(pair, row, i, first)) {
        CHECK(pair.report.records[row].stream == shm::kUnknown32);
        CHECK(pair.report.records[row].shared_bytes == shm::kUnknown32);
        ++row;
      } else {
        ++lost;
      }
    }
    CHECK(row == pair.report.records.size());
    CHECK(lost == run.lost);
  }
}

}  // namespace
}  // namespace stemtap::formats
