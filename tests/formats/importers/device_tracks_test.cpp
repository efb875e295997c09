// SPDX-License-Identifier: Apache-2.0
// Tests Chrome traces of Intel's unitrace, of Ascend's profilers and of torch.profiler on an Intel
// GPU.
#include "formats/importers/device_tracks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "model/profile.h"
#include "parse_text.h"

namespace stemtap::formats {
namespace {

std::string Unitrace(const std::string& name, const std::string& times,
                     const std::string& place = R"("tid": 91, "pid": 90)",
                     const std::string& args = R"({"id": "7"})") {
  return R"({"ph": "X", )" + place + R"(, "name": ")" + name + R"(", "cat": "gpu_op", )" + times +
         R"(, "args": )" + args + "}";
}
std::string Ascend(const std::string& name, const std::string& type, const std::string& times,
                   const std::string& place = R"("pid": 424, "tid": 3)") {
  return R"({"name": ")" + name + "\", " + place + ", " + times +
         R"(, "ph": "X", "args": {"Task Type": ")" + type + R"(", "connection_id": 12}})";
}
std::string Trace(const std::string& events) {
  return "{ \"traceEvents\":[\n" + events + "\n]\n}\n";
}
bool HasWarning(const model::Profile& profile, const std::string& part) {
  return std::any_of(profile.warnings.begin(), profile.warnings.end(),
                     [&](const std::string& w) { return w.find(part) != std::string::npos; });
}

TEST_CASE("unitrace: names contain grid and block") {
  shm::KernelRecord record;
  CHECK(TakeUnitraceExtents("gemm<float>(int)[SIMD32 {8; 4; 1} {128; 2; 1}]", record) ==
        "gemm<float>(int)");
  CHECK(record.grid[0] == 8);
  CHECK(record.grid[1] == 4);
  CHECK(record.block[0] == 128);
  CHECK(record.block[1] == 2);
  CHECK(TakeUnitraceExtents("f[SIMD_ANY {1; 1; 1} {16; 1; 1}]", record) == "f");
  CHECK(TakeUnitraceExtents("f {4294967295; 1; 1} {65535; 1; 1}]", record) == "f");
  CHECK(record.grid[0] == 4294967295);
  for (const std::string_view name :
       {"f", "f[64]", "f}]", "{1; 1; 1} {1; 1; 1}]", "f[SIMD32 {1; 1} {1; 1; 1}]",
        "f[SIMD32 {1; 1; 1; 1} {1; 1; 1}]", "f[SIMD32 {0; 1; 1} {1; 1; 1}]",
        "f[SIMD32 {-1; 1; 1} {1; 1; 1}]", "f[SIMD32 {1; 1; 1} {65536; 1; 1}]",
        "f[SIMD32 {4294967296; 1; 1} {1; 1; 1}]", "f[SIMD32 {;;} {;;}]"}) {
    CAPTURE(name);
    CHECK(TakeUnitraceExtents(name, record) == name);
  }
}

TEST_CASE("unitrace: events of category gpu_op are kernels") {
  const model::Profile p = MustParse(Trace(
      Unitrace("gemm[SIMD32 {8; 4; 1} {128; 1; 1}]", R"("ts": 1790000000123456, "dur": 12)") + "," +
      Unitrace("add", R"("ts": 1790000000123470.250000, "dur": 0.480000)",
               R"("tid": 92, "pid": 90)", R"({"id": "8"})") +
      "," + Unitrace("zeCommandListAppendMemoryCopy(M2D)[64]", R"("ts": 1, "dur": 2)") + "," +
      R"({"ph": "X", "tid": 5, "pid": 4, "name": "zeInit", "cat": "cpu_op", "ts": 1, "dur": 2}, )"
      R"({"ph": "t", "tid": 91, "pid": 90, "name": "dep", "cat": "Flow_H2D_7_0", "ts": 9, "id": 7})"));
  REQUIRE(p.records.size() == 2);
  CHECK(p.names.name(p.records[0].name_id) == "gemm");
  CHECK(p.records[0].duration_ns == 12'000);
  CHECK(p.records[0].grid[1] == 4);
  CHECK(p.records[0].device == 0);
  CHECK(p.records[0].stream == 0);
  CHECK(p.records[0].correlation_id == 7);
  CHECK(p.records[1].start_ns == 14'250);
  CHECK(p.records[1].duration_ns == 480);
  CHECK(p.records[1].stream == 1);
  REQUIRE(p.warnings.size() == 1);
  CHECK(p.warnings[0] ==
        "t.csv: 1 event of a device is a copy, a wait or another command; skipped");
}

TEST_CASE("unitrace: a launch on several tiles is one launch") {
  const std::string times = R"("ts": 5, "dur": 2)";
  const model::Profile p = MustParse(
      Trace(Unitrace("Tile #0: f[SIMD16 {1; 1; 1} {16; 1; 1}]", times) + "," +
            Unitrace("Tile #1: f[SIMD16 {1; 1; 1} {16; 1; 1}]", times, R"("tid": 8, "pid": 9)")));
  REQUIRE(p.records.size() == 1);
  CHECK(p.names.name(0) == "f");
  CHECK(HasWarning(p, "1 event is of another tile of a GPU; skipped, as the event of tile 0"));
}

TEST_CASE("ascend: tasks that run code are kernels, waits and copies are counted") {
  const std::string times = R"("ts": "1790000000123456.789", "dur": 12.341)";
  std::string events;
  for (const char* type : {"AI_CORE", "AI_VECTOR_CORE", "MIX_AIC", "MIX_AIV", "AI_CPU",
                           "KERNEL_AICORE", "KERNEL_AIVEC"}) {
    events += Ascend(type, type, times, R"("pid": 424, "tid": 3)") + ",";
  }
  for (const char* type : {"EVENT_WAIT", "NOTIFY_WAIT_SQE", "SDMA_SQE", "MEMCPY_ASYNC"}) {
    events += Ascend(type, type, times) + ",";
  }
  events += Ascend("other", "AI_CORE", R"("ts": "1790000000123457.789", "dur": 1)",
                   R"("pid": 425, "tid": 4)");
  const model::Profile p = MustParse("[" + events + R"(, {"name": "process_name", "pid": 424,
    "tid": 0, "args": {"name": "Ascend Hardware"}, "ph": "M"}])");
  REQUIRE(p.records.size() == 8);
  CHECK(p.records[0].duration_ns == 12'341);
  CHECK(p.records[0].device == 0);
  CHECK(p.records[0].stream == 3);
  CHECK(p.records[0].correlation_id == 12);
  CHECK(p.records[7].start_ns == 1000);
  CHECK(p.records[7].device == 1);
  CHECK(HasWarning(p, "4 events of devices are copies, waits and other commands; skipped"));
}

TEST_CASE("torch.profiler on an Intel GPU: the SYCL queue is the stream") {
  const auto event = [](const std::string& queue) {
    return R"({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 3, "ts": 5.125, )"
           R"("dur": 2.5, "args": {"appended": "1.000", "device": 1, "correlation": 9, )"
           R"("sycl queue": )" +
           queue + R"(, "l0 queue": "0x0000000000000001", "kernel_id": 4}})";
  };
  const model::Profile p = MustParse(R"({"schemaVersion": 1, "traceEvents": [)" + event("3") + "," +
                                     event("18446744073709551615") + "]}");
  REQUIRE(p.records.size() == 2);
  CHECK(p.records[0].device == 1);
  CHECK(p.records[0].correlation_id == 9);
  CHECK(std::min(p.records[0].stream, p.records[1].stream) == 3);
  CHECK(std::max(p.records[0].stream, p.records[1].stream) == shm::kUnknown32);
  CHECK(HasWarning(p, "'stream' of a kernel is not from 0 to"));
}

TEST_CASE("events of devices that cannot be read are counted") {
  for (const auto& [times, what] :
       {std::pair(R"("ts": 5)", "has no number as 'dur'"),
        std::pair(R"("dur": 5)", "has no number as 'ts'"),
        std::pair(R"("ts": "x", "dur": 5)", "has a 'ts' that is not a time"),
        std::pair(R"("ts": 5, "dur": -1)", "has a 'dur' that is not a duration"),
        std::pair(R"("ts": 5, "dur": 1e30)", "has a 'dur' that is not a duration")}) {
    CAPTURE(what);
    for (const std::string& bad : {Unitrace("f", times), Ascend("f", "AI_CORE", times)}) {
      const model::Profile p = MustParse(Trace(bad + "," + Unitrace("g", R"("ts": 5, "dur": 1)")));
      CHECK(p.records.size() == 1);
      REQUIRE(p.warnings.size() == 1);
      CHECK(p.warnings[0].find(std::string("byte 18: a kernel event ") + what +
                               " and is skipped "
                               "(1 such events") != std::string::npos);
      CHECK(ErrorOf(Trace(bad)).find("none of 1 kernel events is complete") != std::string::npos);
    }
  }
  // Places of a wrong type are unknown.
  const model::Profile p = MustParse(
      Trace(Unitrace("f", R"("ts": 5, "dur": 1)", R"("tid": "a", "pid": {})", R"({"id": "x"})") +
            "," + Ascend("g", "AI_CORE", R"("ts": 7, "dur": 1)", R"("tid": -4, "pid": null)")));
  REQUIRE(p.records.size() == 2);
  for (const shm::KernelRecord& r : p.records) {
    CHECK(r.device == shm::kUnknown16);
    CHECK(r.stream == shm::kUnknown32);
  }
  CHECK_FALSE(Parse(Trace(Unitrace("f", R"("ts": 5, "dur": 1)")).substr(0, 90)).ok());
  CHECK(ErrorOf(Trace(Unitrace("", R"("ts": 5, "dur": 1)"))).find("has no name") !=
        std::string::npos);
}

TEST_CASE("more devices than numbers are unknown") {
  std::string events;
  for (int i = 0; i <= 65536; ++i) {
    events += (i == 0 ? "" : ",") +
              Unitrace("f", R"("ts": 5, "dur": 1)", R"("tid": 1, "pid": )" + std::to_string(i));
  }
  const model::Profile p = MustParse(Trace(events));
  CHECK(p.records[65534].device == 65534);
  CHECK(p.records[65535].device == shm::kUnknown16);
  CHECK(p.records[65536].device == shm::kUnknown16);
}

}  // namespace
}  // namespace stemtap::formats
