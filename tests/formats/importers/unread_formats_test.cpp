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
#include "formats/importers/registry.h"
#include "support/paths.h"
#include "support/proto.h"
#include "support/temp_dir.h"

namespace stemtap::formats {
namespace {

using test::Bytes;
using test::Number;
using test::Varint;

std::string Sized(const std::string& message) {
  return Varint(message.size()) + message;
}

std::string ErrorOf(std::string_view content) {
  const auto opened = OpenProfile(std::make_unique<MemorySource>("file", content));
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().exit_code == 1);
  CHECK(opened.error().message.find('\n') == std::string::npos);
  return opened.error().message;
}

const std::string kPerfetto =
    Bytes(1, Bytes(6, Bytes(1, Number(1, 6) + Number(2, 99))) + Number(10, 1)) +
    Bytes(1, Number(8, 123456789) + Bytes(11, Number(9, 1)));
const std::string kChakra =
    Sized(Bytes(1, "0.0.4") + Bytes(2, Bytes(1, "schema"))) +
    Sized(Number(1, 7) + Bytes(2, "aten::mm") + Number(3, 4) + Number(7, 12));

TEST_CASE("the error for an unsupported format names its tool and a command") {
  struct Case {
    std::string content;
    std::string_view tool;
    std::string_view command;
  };
  const std::vector<Case> cases = {
      {"U3w[END]NVIDIA Tegra Profiler Report 2024.2.3!", "Nsight Systems (.nsys-rep)",
       "nsys export --type sqlite FILE"},
      {"U3w[END]NVIDIA Nsight Systems Stream 2024.2.3.38!\n", "Nsight Systems (.qdstrm)",
       "QdstrmImporter -i FILE"},
      {std::string("NVR\0\2\0\0\0", 8), "Nsight Compute (.ncu-rep)",
       "ncu --import FILE --page raw --csv"},
      {"{\n \"rocprofiler-sdk-tool\": [{\"metadata\": {}}]}", "rocprofv3",
       "rocprofv3 --kernel-trace --output-format csv"},
      {"{ \"traceEvents\":[{}\n,{\"args\":{\"name\":\"GPU0\"},\"ph\":\"M\",\"pid\":6,"
       "\"name\":\"process_name\",\"sort_index\":0}\n",
       "rocprof or rocprofv2", "rocprof --timestamp on"},
      {"{\n  \"traceEvents\": [\n    {\n      \"args\": {\n        \"name\": \"GPU\"\n      },\n"
       "      \"name\": \"process_name\",\n      \"ph\": \"M\",\n      \"pid\": 2,\n"
       "      \"sort_index\": 1\n    },",
       "rocprof or rocprofv2", "rocprofv2 --kernel-trace"},
      {"Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr\n",
       "table of rocprof without times", "rocprof --timestamp on"},
      {"Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,obj\n",
       "table of rocprof without times", "rocprof --timestamp on"},
      {"\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Kernel_Name\",\"Counter_Name\","
       "\"Counter_Value\",\"Start_Timestamp\",\"End_Timestamp\"\n",
       "rocprofv3's counters", "rocprofv3 --kernel-trace --output-format csv"},
      {"Domain,Function,Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID\n",
       "API calls of rocprof", "rocprofv3 --kernel-trace --output-format csv"},
      {"\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n",
       "a summary of rocprof", "rocprofv3 --kernel-trace --output-format csv"},
      {R"({"data":["[Unknown]","[Unknown kernel module]","gemm"]})"
       "\n"
       R"({"Type":79,"CudaEvent":{"startNs":"1"}})",
       "Nsight Systems as JSON", "nsys export --type sqlite report.nsys-rep"},
      {R"({"Type":48,"TraceProcessEvent":{"startNs":"1"}})", "Nsight Systems as JSON",
       "nsys export --type sqlite report.nsys-rep"},
      {"PAR1\x15\x04", "Parquet, Arrow or HDF5", "nsys export --type sqlite report.nsys-rep"},
      {std::string("ARROW1\0\0", 8), "Parquet, Arrow or HDF5", "nsys export --type sqlite"},
      {std::string("\xFF\xFF\xFF\xFF\x78\x02\0\0\x10", 9), "Parquet, Arrow or HDF5",
       "nsys export --type sqlite"},
      {"\x89HDF\r\n\x1A\n", "Parquet, Arrow or HDF5", "nsys export --type sqlite"},
      {"Processing [r.sqlite] with [/opt/cuda_gpu_kern_sum.py]... \n"
       "Time (%),Total Time (ns),Instances,Avg (ns),Name\n44.4,6888832,3203,2150.7,k\n",
       "summary of 'nsys stats'", "nsys stats --report cuda_gpu_trace --format csv --output ."},
      {"[\n  {\n    \"Time (%)\": 44.4,\n    \"Total Time (ns)\": 6888832,\n    \"Instances\": "
       "3203,\n",
       "summary of 'nsys stats'", "nsys stats --report cuda_gpu_trace"},
      {" ** CUDA API Summary (cuda_api_sum):\n\n Time (%)  Total Time (ns)  Num Calls  Avg (ns)\n",
       "summary of 'nsys stats'", "nsys stats --report cuda_gpu_trace"},
      {"==7== Profiling "
       "result:\n\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n",
       "summary of nvprof", "nvprof --csv --print-gpu-trace --log-file trace.csv PROGRAM"},
      {"[\n  { \"count\" : 12 }\n, { \"name\" : \"conv\", \"timeMs\" : 1.5, \"averageMs\" : 0.1",
       "trtexec", "nsys profile --trace=cuda -o report trtexec ARGUMENTS"},
      {"[\n  { \"startEnqMs\" : 1.5  , \"endEnqMs\" : 2", "trtexec", "nsys profile --trace=cuda"},
      {kPerfetto, "Perfetto trace (.pftrace)", "trace_processor -Q \"select ts start_ns, dur"},
      {kPerfetto, "Perfetto trace (.pftrace)", "rocprofv3 --kernel-trace --output-format csv"},
      {kChakra, "Chakra execution trace (.et)", "prof.export_chrome_trace"},
      {"{\n  \"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 1, \"nodes\": [",
       "execution trace of PyTorch", "prof.export_chrome_trace"},
      {R"({"schema": "1.0.1", "pid": 1, "time": "x", "start_ts": 5, "nodes": []})",
       "execution trace of PyTorch", "prof.export_chrome_trace"},
      {R"json([{"children":[{"children":[],"frame":{"name":"k"},"metrics":{}}],)json"
       R"json("frame":{"name":"ROOT"},"metrics":{"time (ns)":0}},{"CUDA":{}}])json",
       "Proton", "data=\"trace\""},
  };
  for (const Case& c : cases) {
    const std::string message = ErrorOf(c.content);
    CAPTURE(message);
    CHECK(message.starts_with("file: is "));
    CHECK(message.find(c.tool) != std::string::npos);
    CHECK(message.find(c.command) != std::string::npos);
  }
  // The test covers every entry of the table.
  for (const UnreadFormat& format : UnreadFormats()) {
    CAPTURE(format.name);
    CHECK(std::any_of(cases.begin(), cases.end(),
                      [&](const Case& c) { return format.detect(c.content); }));
  }
}

TEST_CASE("supported profiles are not recognized as unsupported formats") {
  const auto samples = test::SourceDir() / "tests/data/formats";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(samples)) {
    if (!entry.is_regular_file()) continue;
    CAPTURE(entry.path());
    CHECK_FALSE(RefuseUnread("file", test::ReadFile(entry.path())).has_value());
    ++files;
  }
  CHECK(files > 10);
  for (const std::string_view text :
       {"",
        "\n",
        "\n\n\n",
        "\nStart (ns),Duration (ns)\n1,2\n",
        "{",
        "[",
        "[{",
        "{\"schema\"",
        "{\"schema\": 1}",
        "[{\"frame\":",
        "{\"schemaVersion\": 1, \"traceEvents\": []}",
        "[{\"name\": \"frame\", \"ph\": \"X\"}]",
        "{\"traceEvents\":[{\"name\":\"process_name\",\"ph\":\"M\",\"args\":{\"name\":\"a\"}},{"
        "\"name\":"
        "\"process_sort_index\",\"args\":{\"sort_index\":5}}]}",
        "{\"data\": [1]}",
        "[{\"count\": 1}]",
        "{\"Type\": 1}",
        "PAR",
        "\xFF\xFF\xFF\xFF",
        "\x0A",
        "\x0A\xFF\xFF"}) {
    CAPTURE(text);
    CHECK_FALSE(RefuseUnread("file", text).has_value());
  }
}

TEST_CASE("a report with launches is read although a summary precedes it") {
  const std::string sums = "Time (%),Total Time (ns),Instances,Name\n100,5,1,k\n\n";
  const std::string trace = "Start (ns),Duration (ns),GrdX,Name\n1,5,1,k\n";
  CHECK(RefuseUnread("file", sums).has_value());
  CHECK_FALSE(RefuseUnread("file", sums + trace).has_value());
  CHECK(OpenProfile(std::make_unique<MemorySource>("file", sums + trace)).ok());
  const std::string nvprof = "\"Type\",\"Time(%)\",\"Time\",\"Calls\"\n";
  CHECK(RefuseUnread("file", nvprof).has_value());
  CHECK_FALSE(
      RefuseUnread("file", nvprof + "\"Start\",\"Duration\",\"Name\"\nus,us,\n1,1,\"a [1]\"\n"));
}

TEST_CASE("a table of Perfetto's trace_processor is a canonical profile") {
  CHECK(OpenProfile(std::make_unique<MemorySource>(
                        "file", "\"start_ns\",\"duration_ns\",\"name\"\n5,7,\"gemm<a, b>(int)\"\n"))
            .ok());
}

TEST_CASE("detection of protocol buffers terminates for any damage") {
  for (const std::string& whole : {kPerfetto, kChakra}) {
    for (std::size_t size = 0; size < whole.size(); ++size)
      RefuseUnread("f", whole.substr(0, size));
    std::string damaged = whole;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (const char byte : {'\0', '\x7F', '\x80', '\xFF'}) {
        damaged[i] = byte;
        RefuseUnread("f", damaged);
      }
      damaged[i] = whole[i];
    }
  }
}

TEST_CASE("the advice about a file names it") {
  const test::TempDir directory;
  const std::string path =
      directory.Write("it's a.nsys-rep", "NVIDIA Nsight Systems Report").string();
  const auto opened = OpenProfile(path);
  REQUIRE(!opened.ok());
  CHECK(opened.error().message.ends_with("'nsys export --type sqlite '" +
                                         directory.path().string() + "/it'\\''s a.nsys-rep''"));
}

TEST_CASE("text in UTF-16 and cells with semicolons are refused with the reason") {
  const auto utf16 = [](std::string_view text, bool big) {
    std::string bytes;
    for (const char c : text) bytes += big ? std::string{'\0', c} : std::string{c, '\0'};
    return bytes;
  };
  const std::string csv = "start_ns,duration_ns,name\n1,2,k\n";
  for (const std::string& text : {"\xFF\xFE" + utf16(csv, false), "\xFE\xFF" + utf16(csv, true),
                                  utf16(csv, false), utf16("[{\"ph\":1}]", true)}) {
    const std::string error = ErrorOf(text);
    CHECK(error.find("is text in UTF-16") != std::string::npos);
    CHECK(error.find("iconv -f UTF-16 -t UTF-8") != std::string::npos);
  }
  const std::string semicolons =
      ErrorOf("\"Kind\";\"Kernel_Name\";\"Start_Timestamp\";\"End_Timestamp\"\n");
  CHECK(semicolons.find("separated by semicolons") != std::string::npos);
  CHECK(semicolons.find("rocprofv3-csv") != std::string::npos);
  CHECK(ErrorOf("Start (ns);Duration (ns);GrdX;Name\n1;2;3;k\n").find("nsys-csv") !=
        std::string::npos);
}

}  // namespace
}  // namespace stemtap::formats
