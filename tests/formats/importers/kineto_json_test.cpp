// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/importers/importers.h"
#include "formats/importers/registry.h"
#include "model/profile.h"
#include "parse_text.h"
#include "start_order.h"
#include "support/shared_data.h"

namespace stemtap::formats {
namespace {

void CheckError(std::string_view text, std::string_view part) {
  const std::string message = ErrorOf(text);
  CAPTURE(message);
  CAPTURE(part);
  CHECK(message.starts_with("t.csv: "));  // no line number: JSON may be on a single line
  CHECK(message.find(part) != std::string::npos);
}

bool Has(const std::vector<std::string>& warnings, std::string_view part) {
  for (const std::string& warning : warnings) {
    if (warning.find(part) != std::string::npos) return true;
  }
  return false;
}

const std::string& NameOf(const model::Profile& profile, std::size_t row) {
  return profile.names.name(profile.records[row].name_id);
}

// Returns a kernel event that starts `ts` microseconds after the base.
std::string Kernel(std::string_view ts, std::string_view dur = "1", std::string_view args = "",
                   std::string_view name = "k") {
  return std::string(R"({"ph":"X","cat":"kernel","name":")")
      .append(name)
      .append(R"(","pid":0,"tid":7,"ts":)")
      .append(ts)
      .append(R"(,"dur":)")
      .append(dur)
      .append(R"(,"args":{)")
      .append(args)
      .append("}}");
}

constexpr std::string_view kRuntime =
    R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":1,"dur":1,"args":{}})";

// A trace as written by Kineto, with all kinds of events between the kernels.
constexpr std::string_view kTrace = R"json(
{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "GPU", "totalGlobalMem": 34079637504
    }
  ],
  "distributedInfo": {"backend": "nccl", "rank": 0, "traceEvents": [1, 2]},
  "traceEvents": [
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::add, \"kernel\" ]}", "pid": 1, "tid": 1,
    "ts": 6024880621705.100, "dur": 20.000,
    "args": {
      "Input Dims": [[], [], [1, 2]], "cat": "kernel"
    }
  },
  {
    "name": "process_name", "ph": "M", "ts": 6024880621700.000, "pid": 1, "tid": 0,
    "args": {
      "name": "python"
    }
  },
  {
    "ph": "X", "cat": "kernel", "name": "gemm<float>(int)", "pid": 0, "tid": 20,
    "ts": 6024880621709.997, "dur": 10.144,
    "args": {
      "External id": 4,
      "queued": 0, "device": 1, "context": 1,
      "stream": 20, "correlation": 8,
      "registers per thread": 32,
      "shared memory": 16384,
      "blocks per SM": 0.009259,
      "warps per SM": 0.037037,
      "grid": [4, 106, 2],
      "block": [128, 2, 1],
      "est. achieved occupancy %": 0,
      "graph id": 5, "graph node id": 21474836487
    }
  },
  {
    "ph": "f", "id": 8, "pid": 0, "tid": 20, "ts": 6024880621709.997,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  },
  {
    "ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7,
    "ts": 6024880621708.000, "dur": 1.000, "args": {"device": 0}
  },
  {
    "ph": "X", "cat": "gpu_memset", "name": "Memset", "pid": 0, "tid": 7,
    "ts": 6024880621708.500, "dur": 1.000, "args": {"device": 0}
  },
  {
    "ph": "X", "cat": "gpu_user_annotation", "name": "step", "pid": 0, "tid": 7,
    "ts": 6024880621708.500, "dur": 1.000, "args": {"device": 0}
  },
  {
    "ph": "X", "cat": "kernel", "name": "axpy", "pid": 0, "tid": 7,
    "ts": 6024880621705.997, "dur": 0, "args": {"device": 0, "stream": "7"}
  },
  {
    "name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g",
    "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": 1.0
  }
  ],
  "traceName": "/tmp/x.json",
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1727743122000000000
}
)json";

TEST_CASE("kineto: a trace with every kind of event is read") {
  const model::Profile profile = MustParse(kTrace);
  CHECK(profile.warnings.empty());
  REQUIRE(profile.records.size() == 2);
  const shm::KernelRecord& axpy = profile.records[0];
  CHECK(NameOf(profile, 0) == "axpy");
  CHECK(axpy.start_ns == 0);
  CHECK(axpy.duration_ns == 0);
  CHECK(axpy.device == 0);
  CHECK(axpy.stream == 7);
  CHECK(axpy.grid[0] == shm::kUnknownExtent);
  CHECK(axpy.block[2] == shm::kUnknownExtent);
  CHECK(axpy.shared_bytes == shm::kUnknown32);
  CHECK(axpy.graph_id == 0);
  const shm::KernelRecord& gemm = profile.records[1];
  CHECK(NameOf(profile, 1) == "gemm<float>(int)");
  CHECK(gemm.start_ns == 4000);
  CHECK(gemm.duration_ns == 10144);
  CHECK(gemm.device == 1);
  CHECK(gemm.stream == 20);
  CHECK(gemm.correlation_id == 8);
  CHECK(gemm.grid[0] == 4);
  CHECK(gemm.grid[1] == 106);
  CHECK(gemm.grid[2] == 2);
  CHECK(gemm.block[0] == 128);
  CHECK(gemm.block[1] == 2);
  CHECK(gemm.block[2] == 1);
  CHECK(gemm.shared_bytes == 16384);
  CHECK(gemm.graph_id == 5);
  CHECK(gemm.graph_node == 7);  // the low half of 5 << 32 | 7
}

TEST_CASE("kineto: bare arrays, old categories and keys in any order are read") {
  const model::Profile profile = MustParse(
      "[\n" + std::string(kRuntime) +
      R"(, {"args":{"grid":["3","2",1],"block":[64.0,1,1],"stream":7},"dur":"2","ts":"5.5",)"
      R"("name":"a\u0062c","cat":"Kernel","ph":"X"} ])");
  REQUIRE(profile.records.size() == 1);
  CHECK(profile.warnings.empty());
  CHECK(NameOf(profile, 0) == "abc");
  CHECK(profile.records[0].duration_ns == 2000);
  CHECK(profile.records[0].stream == 7);
  CHECK(profile.records[0].device == shm::kUnknown16);
  CHECK(profile.records[0].grid[0] == 3);
  CHECK(profile.records[0].grid[1] == 2);
  CHECK(profile.records[0].block[0] == 64);
}

TEST_CASE("kineto: keys and categories with escapes are recognized") {
  const model::Profile profile = MustParse(
      R"({"trace\u0045vents":[{"\u0070h":"X","c\u0061t":"k\u0065rnel","name":"q\"\\","ts":1,)"
      R"("d\u0075r":2,"args":{"devic\u0065":3}}],"x\\\"]":"}]\\"})");
  REQUIRE(profile.records.size() == 1);
  CHECK(NameOf(profile, 0) == "q\"\\");
  CHECK(profile.records[0].duration_ns == 2000);
  CHECK(profile.records[0].device == 3);
}

TEST_CASE("kineto: starts keep their nanoseconds and their order") {
  const model::Profile profile =
      MustParse("[" + Kernel("1712195495505582.989", "4.928", "", "b") + "," +
                Kernel("1712195495505582.988", "0.001", "", "a") + "," +
                Kernel("1712195495505582.990", "1e-3", "", "c") + "," +
                Kernel("1712195495505582.989", "3", "", "b2") + "," +
                Kernel("1.712195495505583E15", "3", "", "d") + "]");
  CHECK(profile.warnings.empty());
  REQUIRE(profile.records.size() == 5);
  const std::array<std::string_view, 5> names = {"a", "b", "b2", "c", "d"};
  const std::array<std::uint64_t, 5> starts = {0, 1, 1, 2, 12};
  const std::array<std::uint64_t, 5> durations = {1, 4928, 3000, 1, 3000};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(NameOf(profile, i) == names[i]);
    CHECK(profile.records[i].start_ns == starts[i]);
    CHECK(profile.records[i].duration_ns == durations[i]);
  }
}

TEST_CASE("kineto: starts before the base and fractions of a nanosecond are converted") {
  const model::Profile profile =
      MustParse("[" + Kernel("2", "1.00049") + "," + Kernel("-1.5", "0.9999") + "]");
  REQUIRE(profile.records.size() == 2);
  CHECK(profile.records[0].start_ns == 0);
  CHECK(profile.records[0].duration_ns == 1000);
  CHECK(profile.records[1].start_ns == 3500);
  CHECK(profile.records[1].duration_ns == 1000);
  CHECK(Has(profile.warnings, "finer than 1 ns (2 such"));
}

TEST_CASE("kineto: unreadable kernels are counted") {
  const std::string good = Kernel("1");
  for (const auto& [bad, why] : std::vector<std::pair<std::string, std::string>>{
           {R"({"ph":"B","cat":"kernel","name":"k","ts":1})", "'ph'"},
           {R"({"cat":"kernel","name":"k","ts":1,"dur":1})", "'ph'"},
           {R"({"ph":"X","cat":"kernel","ts":1,"dur":1})", "no name"},
           {R"({"ph":"X","cat":"kernel","name":"","ts":1,"dur":1})", "no name"},
           {R"({"ph":"X","cat":"kernel","name":7,"ts":1,"dur":1})", "no name"},
           {R"({"ph":"X","cat":"kernel","name":"k","dur":1})", "'ts'"},
           {R"({"ph":"X","cat":"kernel","name":"k","ts":1})", "'dur'"},
           {Kernel("null"), "'ts'"},
           {Kernel("\"NaN\""), "'ts'"},
           {Kernel("1e30"), "'ts'"},
           {Kernel("4611686018427387.904"), "'ts'"},
           {Kernel("1", "-1"), "'dur'"},
           {Kernel("1", "9223372036854775.808"), "'dur'"},
           {Kernel("1", "[1]"), "'dur'"},
       }) {
    CAPTURE(bad);
    const model::Profile profile = MustParse("[" + good + "," + bad + "," + bad + "]");
    CHECK(profile.records.size() == 1);
    REQUIRE(profile.warnings.size() == 1);
    CHECK(Has(profile.warnings, why));
    CHECK(Has(profile.warnings, "(2 such events"));
    CHECK(Has(profile.warnings, "byte " + std::to_string(good.size() + 2) + ":"));
  }
  CHECK(MustParse("[" + Kernel("4611686018427387.903", "9223372036854775.807") + "]")
            .records.size() == 1);
  CHECK(MustParse("[" + Kernel("1", "-0.0") + "]").warnings.empty());
}

TEST_CASE("kineto: impossible cells are unknown and counted") {
  for (const auto& [cell, key] : std::vector<std::pair<std::string, std::string>>{
           {R"("device":-1)", "device"},
           {R"("device":65535)", "device"},
           {R"("device":true)", "device"},
           {R"("stream":4294967295)", "stream"},
           {R"("stream":"stream 7")", "stream"},
           {R"("stream":1.5)", "stream"},
           {R"("shared memory":4294967295)", "shared memory"},
           {R"("shared memory":{})", "shared memory"},
           {R"("correlation":[])", "correlation"},
           {R"("graph id":4294967296)", "graph id"},
           {R"("graph node id":-1)", "graph node id"},
           {R"("grid":[0,1,1])", "grid"},
           {R"("grid":[1,1])", "grid"},
           {R"("grid":[1,1,1,1])", "grid"},
           {R"("grid":[1,1,4294967296])", "grid"},
           {R"("grid":"1")", "grid"},
           {R"("block":[1,1,65536])", "block"},
       }) {
    CAPTURE(cell);
    const model::Profile profile = MustParse("[" + Kernel("1", "1", cell) + "]");
    REQUIRE(profile.records.size() == 1);
    const shm::KernelRecord& record = profile.records[0];
    CHECK(record.device == shm::kUnknown16);
    CHECK(record.stream == shm::kUnknown32);
    CHECK(record.shared_bytes == shm::kUnknown32);
    CHECK(record.grid[0] == shm::kUnknownExtent);
    CHECK(record.block[0] == shm::kUnknownExtent);
    CHECK(record.graph_id == 0);
    REQUIRE(profile.warnings.size() == 1);
    CHECK(Has(profile.warnings, "'" + key + "' of a kernel"));
  }
  CHECK(MustParse("[" + Kernel("1", "1", R"("device":null,"grid":null)") + "]").warnings.empty());
  const model::Profile most = MustParse(
      "[" + Kernel("1", "1", R"("device":65534,"stream":4294967294,"block":[1,1,65535])") + "]");
  CHECK(most.warnings.empty());
  CHECK(most.records[0].device == 65534);
  CHECK(most.records[0].stream == 4294967294u);
  CHECK(most.records[0].block[2] == 65535);
}

TEST_CASE("kineto: a skipped value does not affect the next values") {
  const model::Profile profile = MustParse(
      R"([{"args":{"grid":[1,[2,{"device":9}],3],"block":[1,2,3,4,5],"stream":{"device":8},"device":2},)"
      R"("x":[{"ts":9}],"cat":"kernel","ts":1,"name":"k","ph":"X","dur":4}])");
  REQUIRE(profile.records.size() == 1);
  CHECK(profile.records[0].device == 2);
  CHECK(profile.records[0].duration_ns == 4000);
  CHECK(profile.records[0].grid[0] == shm::kUnknownExtent);
  CHECK(profile.warnings.size() == 3);
}

TEST_CASE("kineto: a name that is too long is truncated and counted") {
  const model::Profile profile =
      MustParse("[" + Kernel("1", "1", "", std::string(shm::kMaxNameBytes + 1, 'n')) + "]");
  REQUIRE(profile.records.size() == 1);
  CHECK(NameOf(profile, 0) == std::string(shm::kMaxNameBytes, 'n'));
  CHECK(Has(profile.warnings, "it is truncated"));
}

TEST_CASE("kineto: a trace without kernels is accepted with a warning") {
  for (const std::string& text : {std::string("[]"), std::string(R"({"traceEvents":[]})"),
                                  std::string(R"({"schemaVersion":1, "traceEvents" : [ ] })"),
                                  "{\"traceEvents\":[" + std::string(kRuntime) + "]}"}) {
    CAPTURE(text);
    const model::Profile profile = MustParse(text);
    CHECK(profile.records.empty());
    CHECK(Has(profile.warnings, "ProfilerActivity.CUDA"));
  }
}

// Returns a complete XLA event on thread `tid` of process `pid`, `ts` microseconds after the base.
std::string Xla(int pid, int tid, std::string_view ts, std::string_view name,
                std::string_view args) {
  return R"({"ph":"X","pid":)" + std::to_string(pid) + R"(,"tid":)" + std::to_string(tid) +
         R"(,"ts":)" + std::string(ts) + R"(,"dur":1.5,"name":")" + std::string(name) +
         R"(","args":{)" + std::string(args) + "}}";
}

std::string Named(int pid, std::string_view what, std::string_view name, int tid = 0) {
  return R"({"ph":"M","pid":)" + std::to_string(pid) + R"(,"tid":)" + std::to_string(tid) +
         R"(,"name":")" + std::string(what) + R"(","args":{"name":")" + std::string(name) + "\"}}";
}

const std::string kXlaNames =
    Named(1, "process_name", "/device:GPU:0") + "," + Named(2, "process_name", "/device:GPU:3") +
    "," + Named(1, "thread_name", "Stream #14(Compute,MemcpyD2D)", 7) + "," +
    Named(2, "thread_name", "Stream #15", 8) + "," + Named(1, "thread_name", "XLA Ops", 9) + "," +
    Named(701, "process_name", "/host:CPU") + "," + Named(701, "thread_name", "Stream #1", 1);

const std::string kDetails =
    R"("kernel_details":"regs:32 static_shared:16 dynamic_shared:32 grid:4,5,6 block:64,2,1 occ_pct:50")";

TEST_CASE("jax: names, durations, devices, streams, extents and launch order are read") {
  const model::Profile profile = MustParse(
      R"({"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[)" + kXlaNames +
      "," + Xla(701, 1, "1", "on the host", "") + "," + Xla(1, 9, "2", "fusion", "") + "," +
      Xla(1, 7, "3", "second", R"("correlation_id":"9",)" + kDetails) + "," +
      Xla(2, 8, "4.25", "first", R"("cuda_graph_id":"5","correlation_id":"8",)" + kDetails) + "," +
      Xla(1, 7, "5", "MemcpyD2D", R"("memcpy_details":"size:4")") + "," +
      Xla(1, 7, "6", "Memset", R"("Memset_details":"size:4")") + "," +
      Xla(1, 7, "7", "without details", R"("correlation_id":"10")") + ",{}]}");
  CHECK(profile.warnings.empty());
  REQUIRE(profile.records.size() == 3);
  const shm::KernelRecord& first = profile.records[0];
  CHECK(NameOf(profile, 0) == "first");
  CHECK(first.start_ns == 1250);
  CHECK(first.duration_ns == 1500);
  CHECK(first.device == 3);
  CHECK(first.stream == 15);
  CHECK(first.grid[0] == 4);
  CHECK(first.grid[2] == 6);
  CHECK(first.block[0] == 64);
  CHECK(first.block[1] == 2);
  CHECK(first.shared_bytes == 48);
  CHECK(first.correlation_id == 8);
  CHECK(first.graph_id == 5);
  CHECK(NameOf(profile, 1) == "second");
  CHECK(profile.records[1].device == 0);
  CHECK(profile.records[1].stream == 14);
  CHECK(NameOf(profile, 2) == "without details");
  CHECK(profile.records[2].grid[0] == shm::kUnknownExtent);
}

// Returns a trace of process "/device:GPU:0" with one kernel per name of a stream.
std::string OnStreams(const std::vector<std::string>& threads) {
  std::string names = Named(1, "process_name", "/device:GPU:0");
  std::string kernels;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const int tid = static_cast<int>(i) + 1;
    names += "," + Named(1, "thread_name", threads[i], tid);
    kernels += "," + Xla(1, tid, std::to_string(2 * i), "k" + std::to_string(i), kDetails);
  }
  return "[" + names + kernels + "]";
}

TEST_CASE("jax: a kernel is read whatever the id of its stream is") {
  for (const char* const id : {"94384723984016", "18446744073709551615", "4294967295", "-1",
                               "0x7f21c0", "99999999999999999999", "default", ""}) {
    CAPTURE(id);
    const model::Profile profile =
        MustParse(OnStreams({"Stream #7(Compute)", "Stream #" + std::string(id) + "(Compute)"}));
    REQUIRE(profile.records.size() == 2);
    CHECK(profile.records[0].stream == 0);
    CHECK(profile.records[1].stream == 1);
    CHECK(Has(profile.warnings, "streams are numbered 0 to 1 in order of appearance"));
  }
  const model::Profile pointers =
      MustParse(OnStreams({"Stream #94384723990000(Compute)", "Stream #94384723984016(Compute)"}));
  CHECK(pointers.records[0].stream == 0);
  CHECK(pointers.records[1].stream == 1);
}

TEST_CASE("jax: a kernel is read whatever the ids of its process and thread are") {
  for (const char* const id : {"-1", "18446744073709551615", "\"7\"", "7.0", "\"gpu\"", "1e3"}) {
    CAPTURE(id);
    const auto named = [&](const char* what, const char* name) {
      return std::string(R"({"ph":"M","pid":)") + id + R"(,"tid":)" + id + R"(,"name":")" + what +
             R"(","args":{"name":")" + name + "\"}}";
    };
    const model::Profile profile = MustParse(
        "[" + named("process_name", "/device:GPU:0") + "," + named("thread_name", "Stream #7") +
        R"(,{"ph":"X","pid":)" + id + R"(,"tid":)" + id + R"(,"ts":1,"dur":2,"name":"k"}])");
    REQUIRE(profile.records.size() == 1);
    CHECK(profile.records[0].device == 0);
    CHECK(profile.records[0].stream == 7);
    CHECK(profile.warnings.empty());
  }
}

TEST_CASE("jax: a GPU with an unusual number is unknown, with a warning") {
  for (const char* const number : {"65535", "99999999999999999999", "-1", "0:1"}) {
    CAPTURE(number);
    const std::string process = "/device:GPU:" + std::string(number);
    const model::Profile profile =
        MustParse("[" + Named(1, "process_name", process) + "," +
                  Named(1, "thread_name", "Stream #7", 7) + "," + Xla(1, 7, "1", "k", "") + "]");
    REQUIRE(profile.records.size() == 1);
    const bool fits = process == "/device:GPU:0:1";  // the number ends at the colon
    CHECK(profile.records[0].device == (fits ? 0 : shm::kUnknown16));
    CHECK(Has(profile.warnings, "has no device number from 0 to 65534") != fits);
  }
}

TEST_CASE("jax: malformed details leave the extents unknown and are counted") {
  for (const std::string_view details :
       {"regs:32", "grid:1,1,1", "grid:1,1 block:1,1,1", "grid:1,1,1,1 block:1,1,1",
        "grid:0,1,1 block:1,1,1", "grid:1,1,1 block:65536,1,1", "grid:,, block:,,", ""}) {
    CAPTURE(details);
    const model::Profile profile =
        MustParse("[" + kXlaNames + "," +
                  Xla(1, 7, "1", "k", R"("kernel_details":")" + std::string(details) + "\"") + "]");
    REQUIRE(profile.records.size() == 1);
    CHECK(profile.records[0].grid[0] == shm::kUnknownExtent);
    CHECK(profile.records[0].block[0] == shm::kUnknownExtent);
    CHECK(Has(profile.warnings, "'kernel_details' of a kernel have no grid and block (1 such"));
  }
}

TEST_CASE("jax: whole graphs are counted, and a trace with only graphs is an error") {
  const std::string graph = Xla(1, 7, "1", "CudaGraphExec:5", R"("correlation_id":"1")");
  const model::Profile profile =
      MustParse("[" + kXlaNames + "," + graph + "," + Xla(1, 7, "2", "k", kDetails) + "]");
  CHECK(profile.records.size() == 1);
  CHECK(Has(profile.warnings, "1 launch of a CUDA graph was recorded as a whole"));
  CheckError("[" + kXlaNames + "," + graph + "]", "1 launch of whole CUDA graphs");
}

TEST_CASE("jax: stream names that follow the events are an error") {
  CheckError("[" + Xla(1, 7, "1", "k", kDetails) + "," + kXlaNames + "]",
             "is after events of its process");
}

TEST_CASE("jax: a trace with the maximum number of events is reported as possibly truncated") {
  std::string text = "[" + kXlaNames;
  for (int i = 0; i < 999'999; ++i) text += R"(,{"ph":"X"})";
  const std::string kernel = "," + Xla(1, 7, "1", "k", kDetails);
  CHECK(Has(MustParse(text + kernel + "]").warnings, "exactly 1000000 events"));
  CHECK_FALSE(Has(MustParse(text + kernel + kernel + "]").warnings, "exactly"));
}

TEST_CASE("a trace with other categories of GPU events is read or rejected") {
  // nsys2json writes names instead of ids.
  const std::string converted =
      R"({"ph":"X","cat":"cuda","name":"k","pid":"a.sqlite Device 2","tid":"Stream 7","ts":1,"dur":2})";
  const model::Profile profile = MustParse("[" + converted + "]");
  CHECK(profile.warnings.empty());
  REQUIRE(profile.records.size() == 1);
  CHECK(profile.records[0].device == 2);
  CHECK(profile.records[0].stream == 7);
  CHECK(profile.records[0].duration_ns == 2000);
  const model::Profile pointer = MustParse(
      R"([{"ph":"X","cat":"cuda","name":"k","pid":"Device 99999","tid":"Stream 140234567890123",)"
      R"("ts":1,"dur":2}])");
  REQUIRE(pointer.records.size() == 1);
  CHECK(pointer.records[0].device == shm::kUnknown16);
  CHECK(pointer.records[0].stream == 0);
  CHECK(Has(pointer.warnings, "'Device 99999' has no device number"));
  CHECK(Has(pointer.warnings, "stream ids such as '140234567890123'"));

  const model::Profile guessed = MustParse(
      R"([{"ph":"X","cat":"cuda","name":"k","pid":0,"tid":7,"ts":1,"dur":2,"args":{"stream":3}},)"
      R"({"ph":"X","cat":"cuda","name":"cudaMemcpyAsync","pid":0,"tid":7,"ts":1,"dur":2}])");
  REQUIRE(guessed.records.size() == 1);
  CHECK(guessed.records[0].stream == 3);
  CHECK(Has(guessed.warnings, "1 event of category 'cuda' is on no known stream"));

  for (
      const std::string_view refused :
      {R"({"ph":"X","cat":"gpu_op","name":"k","pid":0,"tid":7,"ts":1,"dur":2})",
       R"({"ph":"X","name":"k","pid":"CUDA functions","tid":0,"ts":1,"dur":2})",
       R"({"ph":"X","cat":"cuda","name":"Memcpy HtoD","pid":"Device 0","tid":"Stream 7","ts":1,"dur":2})",
       R"({"ph":"B","cat":"cuda","name":"k","pid":0,"tid":7,"ts":1})"}) {
    CheckError("[" + std::string(refused) + "]", "1 events, none of them a kernel");
  }
  CheckError(R"([{"ph":"X","cat":"cuda","pid":0,"tid":7,"ts":1,"dur":2}])", "has no name");
  CheckError(R"([{"ph":"X","cat":"cuda","name":"k","pid":0,"tid":7,"ts":1}])", "as 'dur'");
  CheckError("[" + Kernel("null") + "]", "a kernel event has no number as 'ts', and none of 1");
  CheckError("[" + kXlaNames + "," + Xla(701, 1, "1", "on the host", "") + "]",
             "none of them a kernel");
}

// Returns an event of Proton on thread `tid`.
std::string Proton(std::string_view name, std::string_view ts, std::string_view tid,
                   std::string_view category = "kernel") {
  return std::string(R"({"args":{"call_stack":["ROOT",")")
      .append(name)
      .append(R"("]},"cat":")")
      .append(category)
      .append(R"(","dur":1.5,"name":")")
      .append(name)
      .append(R"(","ph":"X","tid":)")
      .append(tid)
      .append(R"(,"ts":)")
      .append(ts)
      .append("}");
}

std::string ProtonObject(const std::string& events) {
  return R"({"displayTimeUnit":"us","traceEvents":[)" + events + "]}\n";
}

TEST_CASE("proton: a file with one object per stream is one trace") {
  const std::string text = ProtonObject(Proton("foo", "0.0", "7") + "," + Proton("foo", "9", "7")) +
                           ProtonObject(Proton("bar", "3.125", "13")) + "\n";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{64}, kReadBytes}) {
    const model::Profile profile = MustParse(text, piece);
    REQUIRE(profile.records.size() == 3);
    CHECK(NameOf(profile, 0) == "foo");
    CHECK(profile.records[0].stream == 7);
    CHECK(NameOf(profile, 1) == "bar");
    CHECK(profile.records[1].stream == 13);
    CHECK(profile.records[1].start_ns == 3125);
    CHECK(profile.records[1].duration_ns == 1500);
    CHECK(profile.records[2].start_ns == 9000);
    REQUIRE(profile.warnings.size() == 1);
    CHECK(Has(profile.warnings, "no correlation ids"));
  }
}

TEST_CASE("proton: the stream is in the name of the thread, or else its id") {
  const model::Profile lanes = MustParse(
      ProtonObject(Named(0, "thread_name", "CPU Thread 5", 5) + "," +
                   Named(0, "thread_name", "GPU Stream 7", 200007) + "," +
                   R"({"args":{"call_stack":[]},"cat":"kernel","dur":1,"name":"k","ph":"X",)"
                   R"("pid":0,"tid":200007,"ts":1})"));
  REQUIRE(lanes.records.size() == 1);
  CHECK(lanes.records[0].stream == 7);
  CHECK(lanes.warnings.empty());
  const model::Profile pointers = MustParse(
      ProtonObject(Proton("a", "1", "18446744073709551615") + "," + Proton("b", "2", "7") + "," +
                   Proton("c", "3", "\"0x7f21\"") + "," + Proton("d", "4", "null")));
  REQUIRE(pointers.records.size() == 4);
  CHECK(pointers.records[0].stream == 0);
  CHECK(pointers.records[1].stream == 1);
  CHECK(pointers.records[2].stream == 2);
  CHECK(pointers.records[3].stream == shm::kUnknown32);
  // A kernel may have the name of a copy: the category identifies it.
  CHECK(MustParse(ProtonObject(Proton("memcpy_kernel", "1", "7"))).records.size() == 1);
}

TEST_CASE("proton: what warps do inside a kernel is not a launch") {
  const std::string part = Proton("load", "1", "\"warp 0 (line 0)\"");
  const model::Profile profile = MustParse(ProtonObject(Proton("k", "1", "7") + "," + part));
  CHECK(profile.records.size() == 1);
  CHECK(Has(profile.warnings, "an event is inside a kernel (1 such events; skipped)"));
  CheckError(ProtonObject(part), "1 event inside kernels and no launches; expected a trace");
}

TEST_CASE("only Proton writes several objects to a file") {
  const std::string proton = ProtonObject(Proton("k", "1", "7"));
  CheckError(proton + proton + "x", "text after the trace");
  CheckError(proton + "[]", "text after the trace");
  CheckError(proton + R"({"displayTimeUnit":"us"})", "without traceEvents");
  CheckError(proton + R"({"traceEvents":[],"traceEvents":[]})", "a second traceEvents");
  CheckError(proton + proton.substr(0, proton.size() - 5), "the content ends inside");
  const std::string kineto = "{\"traceEvents\":[" + Kernel("1") + "]}";
  CheckError(kineto + kineto, "text after the trace");
}

TEST_CASE("kineto: events that are not objects are counted") {
  const model::Profile profile = MustParse("[{},7,[\"a\"]," + Kernel("1") + "]");
  CHECK(profile.records.size() == 1);
  CHECK(Has(profile.warnings, "byte 4: an event is not an object (2 such"));
}

TEST_CASE("kineto: JSON that is not a trace is an error") {
  CheckError("{}", "expected traceEvents");
  CheckError(R"({"format":"stemtap plan"})", "expected traceEvents");
  CheckError(R"({"nested":{"traceEvents":[]}})", "expected traceEvents");
  CheckError(R"({"traceEvents":{}})", "traceEvents is not an array");
  CheckError(R"({"traceEvents":[],"traceEvents":[]})", "byte 32: a second traceEvents");
  CheckError(R"([{"a":1}])", "expected the traceEvents");
  CheckError(R"({"traceEvents":[1,2]})", "expected the traceEvents");
}

TEST_CASE("kineto: invalid JSON is an error with its position") {
  const std::string good = Kernel("1");
  const std::string at = "byte " + std::to_string(good.size() + 2) + ":";
  for (const std::string bad :
       {"{\"a\":1]}", "{\"a\" 1}", "{\"a\":01}", "{\"a\":tru}", "{\"a\":NaN}", "{\"a\":\"\\x\"}",
        "{\"a\":\"\\ud800\"}", "{\"a\":\"\n\"}", "{\"a\":\"\xFF\"}", "{\"a\":1,}", "{a:1}", "[1 2]",
        "{} {}", "\"a\":1", "{\"a\":1e999}", "{\"a\":123456789012345678901}"}) {
    CheckError("[" + good + "," + bad + "]", at);
    CheckError("[" + good + "," + bad + "," + good + "]", at);
  }
  CheckError(std::string("[") + good + "," + std::string("\0", 1) + "]", at);
  CheckError("[" + good + ",]", at);
  CheckError("[" + good + ",," + good + "]", at);
  CheckError("[" + good + "}", "wrong bracket '}'; expected ']'");
  CheckError("[" + good + "] x", "byte " + std::to_string(good.size() + 3) + ": text after");
  CheckError("[" + good + "][]", "text after");
  CheckError(std::string("[]\0", 3), "text after");
  CheckError(R"({"a":1 "b":2})", "byte 5:");
  CheckError(R"({"a":1]})", "wrong bracket");
  CheckError(R"({"a":,"traceEvents":[]})", "byte 5:");
  CheckError(R"({"a":})", "byte 5:");
  CheckError(R"({"a" 1})", "expected ':'");
  CheckError(R"({"a":[1] "b":2})", "expected ',' or '}'");
  CheckError(R"({"a":[1,],"traceEvents":[]})", "byte 8:");
  CheckError(R"({"traceEvents":[],})", "expected a key");
  CheckError(R"({"traceEvents":[],b:1})", "byte 18: not a string; expected a key");
  CheckError(R"({"\q":1})", "byte 1:");
}

TEST_CASE("kineto: a trace truncated at any byte is an error") {
  const std::string_view text = kTrace.substr(0, kTrace.find_last_of('}') + 1);
  for (std::size_t size = 2; size < text.size(); ++size) {
    CAPTURE(size);
    ErrorOf(text.substr(0, size));
  }
  const std::string array = "[" + Kernel("1") + "," + Kernel("2") + "]";
  for (std::size_t size = 1; size < array.size(); ++size) ErrorOf(array.substr(0, size));
  CheckError(array.substr(0, array.size() - 1), "byte " + std::to_string(array.size() - 1) + ":");
}

TEST_CASE("kineto: a damaged trace is read or rejected") {
  // Replaces every byte of a trace with syntactically relevant bytes. The result is an error or a
  // profile with at most as many kernels as the trace.
  const std::string text = "{\"x\":[1,{}],\"traceEvents\":[" +
                           Kernel("1", "2", R"("grid":[1,2,3])") + "," + Kernel("3") +
                           "],\"y\":\"\\\\\"}";
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'\0', '"', '\\', '{', '}', '[', ']', ',', ':', '\xFF', '9', ' '}) {
      std::string damaged = text;
      damaged[i] = c;
      const Result<model::Profile> profile = Parse(damaged, 7);
      if (profile.ok()) CHECK(profile.value().records.size() <= 2);
    }
  }
}

TEST_CASE("kineto: reading in tiny pieces returns the same rows") {
  for (const std::size_t piece : {1, 2, 3, 7, 64}) {
    const model::Profile profile = MustParse(kTrace, piece);
    CHECK(profile.warnings.empty());
    REQUIRE(profile.records.size() == 2);
    CHECK(profile.records[1].start_ns == 4000);
    CHECK(profile.records[1].graph_node == 7);
  }
}

TEST_CASE("kineto: events that cross the end of the window are complete") {
  // As the head grows, the read boundary falls on every byte of an event.
  const std::string event = Kernel("1", "2", R"("device":3,"x":"\\\"]")");
  const std::string runtime(kRuntime);
  for (std::size_t shift = 0; shift < event.size() + runtime.size() + 4; ++shift) {
    std::string text = "{\"a\":\"" + std::string(shift, 'x') + "\",\"traceEvents\":[";
    std::size_t count = 0;
    while (text.size() < std::size_t{300} * 1024) {
      text += event + ", " + runtime + ",\n";
      ++count;
    }
    text += event + "]}";
    const model::Profile profile = MustParse(text);
    REQUIRE(profile.records.size() == count + 1);
    CHECK(profile.records.back().device == 3);
    REQUIRE(profile.warnings.size() == 1);
    CHECK(Has(profile.warnings, std::to_string(count) + " launches equal another launch"));
  }
}

TEST_CASE("kineto: values larger than the window are skipped or rejected") {
  const std::string megabyte(std::size_t{1} << 20, 'x');
  const model::Profile profile =
      MustParse("{\"a\":\"" + megabyte + "\",\"" + megabyte + "\":1,\"traceEvents\":[" +
                Kernel("1") + ",{\"ph\":\"M\",\"x\":\"" + megabyte + "\"}," + Kernel("2") +
                "],\"b\":[\"" + megabyte + "\"]}");
  CHECK(profile.records.size() == 2);
  // Many small elements follow a large one, so the window has already grown.
  std::string many = "{\"a\":[\"" + megabyte + "\"";
  for (int i = 0; i < 1000000; ++i) many += ",1";
  CHECK(MustParse(many + "],\"traceEvents\":[" + Kernel("1") + "]}").records.size() == 1);
  CheckError(many + ",]}", "byte " + std::to_string(many.size() + 1) + ":");
  std::string large = "[" + Kernel("1") + ",{\"ph\":\"M\",\"x\":\"";
  const std::size_t begin = Kernel("1").size() + 2;
  // The values are one byte below the limit of 16 MiB, at the limit, and one byte above.
  large.append(begin + (std::size_t{16} << 20) - 3 - large.size(), 'x');
  CHECK(MustParse(large + "\"}]").records.size() == 1);
  CHECK(MustParse(large + "x\"}]").records.size() == 1);
  CheckError(large + "xx\"}]", "byte " + std::to_string(begin) + ": a value of more than 16777216");
}

TEST_CASE("kineto: deep nesting is an error, not a crash") {
  const std::string open(100000, '[');
  const std::string close(100000, ']');
  CheckError("[{\"ph\":\"M\",\"x\":" + open + close + "}]",
             "byte 1: the value that begins here nests");
  CheckError("{\"x\":" + open + close + ",\"traceEvents\":[]}", "nests");
  ErrorOf(std::string(1000000, '{'));
  ErrorOf("[{" + open);
}

TEST_CASE("kineto: a byte order mark and white space before the trace are accepted") {
  CHECK(MustParse("\xEF\xBB\xBF \r\n\t" + std::string(kTrace)).records.size() == 2);
  CheckError("\xEF\xBB\xBF[{\"a\":x}]", "byte 4:");
}

TEST_CASE("kineto: traces are detected") {
  CHECK(LooksLikeKinetoJson("{\"schemaVersion\""));
  CHECK(LooksLikeKinetoJson("\n[\n\n  {\n"));
  CHECK(LooksLikeKinetoJson("\xEF\xBB\xBF{ \"a\""));
  CHECK(LooksLikeKinetoJson("{"));
  CHECK_FALSE(LooksLikeKinetoJson(""));
  CHECK_FALSE(LooksLikeKinetoJson("name,duration_ns\n"));
  CHECK_FALSE(LooksLikeKinetoJson("\"name\",duration_ns\n"));
  CHECK_FALSE(LooksLikeKinetoJson("[0],duration_ns\n"));
  CHECK_FALSE(LooksLikeKinetoJson("{a},duration_ns\n"));
}

// A recorded trace in shared/ and its profile. The test compares every row. The profile of two
// ranks contains the rows of both ranks, distinguished by device, with the clock of the first rank.
// The profile of 128 windows begins with the window that is available as a trace.
struct Recorded {
  std::string_view trace;
  std::string_view profile;
  std::size_t kernels;
  int device;   // only the rows of this device; -1 means all
  bool prefix;  // the profile has more rows
};

constexpr std::array kRecorded = {
    Recorded{"hta_ns_resolution_v100", "hta_ns_resolution_v100", 4350, -1, false},
    Recorded{"hta_sampled_2rank.000", "hta_sampled_2rank", 1154, 0, false},
    Recorded{"hta_sampled_2rank.001", "hta_sampled_2rank", 1104, 1, false},
    Recorded{"kineto_resnet50_num_workers_4_oldb", "kineto_resnet50_num_workers_4_oldb", 9484, -1,
             false},
    Recorded{"kineto_resnet50_v100_w0_a", "kineto_resnet50_v100_w0_a", 8772, -1, false},
    Recorded{"particle_transformer_bs4.000", "particle_transformer_bs4", 558, -1, true},
    Recorded{"tracelens_qwen15_05b_h100", "tracelens_qwen15_05b_h100", 1465, -1, false},
    Recorded{"tracelens_qwen15_05b_mi300x", "tracelens_qwen15_05b_mi300x", 1516, -1, false},
    Recorded{"tracelens_sglang_qwen3_decode_mi300x", "tracelens_sglang_qwen3_decode_mi300x", 555,
             -1, false},
    Recorded{"tracelens_vllm_prefilldecode_mi300x", "tracelens_vllm_prefilldecode_mi300x", 413, -1,
             false},
};

model::Profile Load(const std::filesystem::path& path) {
  Result<std::unique_ptr<model::ProfileReader>> reader = OpenProfile(path.string());
  if (!reader.ok()) FAIL(reader.error().message);
  Result<model::Profile> profile = model::LoadProfile(*reader.value());
  if (!profile.ok()) FAIL(profile.error().message);
  return std::move(profile).value();
}

TEST_CASE("kineto: recorded traces equal the profiles converted from them") {
  const auto directory = SharedPath("data/native/kineto");
  STEMTAP_SKIP_WITHOUT(directory);
  for (const Recorded& recorded : kRecorded) {
    CAPTURE(recorded.trace);
    const auto trace_path = directory / (std::string(recorded.trace) + ".json.gz");
    const auto profile_path =
        SharedPath("data/profiles/" + std::string(recorded.profile) + ".csv.gz");
    REQUIRE(std::filesystem::exists(trace_path));
    REQUIRE_FALSE(profile_path.empty());
    const model::Profile trace = Load(trace_path);
    CHECK(trace.warnings.empty());
    REQUIRE(trace.records.size() == recorded.kernels);
    const model::Profile whole = Load(profile_path);
    std::vector<shm::KernelRecord> rows;
    for (const shm::KernelRecord& row : whole.records) {
      if (recorded.device < 0 || row.device == recorded.device) rows.push_back(row);
    }
    if (recorded.prefix) {
      REQUIRE(rows.size() > recorded.kernels);
      rows.resize(recorded.kernels);
    }
    REQUIRE(rows.size() == recorded.kernels);
    const std::vector<shm::KernelRecord> records = InStartOrder(trace);
    std::size_t different = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const shm::KernelRecord& a = records[i];
      const shm::KernelRecord& b = rows[i];
      const bool same = trace.names.name(a.name_id) == whole.names.name(b.name_id) &&
                        a.start_ns == b.start_ns - rows[0].start_ns &&
                        a.duration_ns == b.duration_ns && a.device == b.device &&
                        a.stream == b.stream && std::equal(a.grid, a.grid + 3, b.grid) &&
                        std::equal(a.block, a.block + 3, b.block) &&
                        a.shared_bytes == b.shared_bytes && a.graph_id == b.graph_id;
      if (!same && different++ == 0) MESSAGE("the first row that differs is ", i);
    }
    CHECK(different == 0);
    CHECK(std::is_sorted(
        trace.records.begin(), trace.records.end(),
        [](const auto& a, const auto& b) { return a.correlation_id < b.correlation_id; }));
  }
}

// Returns a complete event of a thread; `ts` and `dur` in microseconds.
std::string HostEvent(std::string_view category, std::string_view name, std::string_view ts,
                      std::string_view dur, std::string_view args = "",
                      std::string_view thread = R"("pid":1,"tid":1)") {
  return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}",{},"ts":{},"dur":{},"args":{{{}}}}})",
                     category, name, thread, ts, dur, args);
}

// A launch call at `ts`, and its kernel.
std::string Launch(int id, std::string_view ts, std::string_view thread = R"("pid":1,"tid":1)",
                   std::string_view category = "cuda_runtime",
                   std::string_view call = "cudaLaunchKernel") {
  const std::string correlation = fmt::format(R"("correlation":{})", id);
  return Kernel(std::to_string(1000 + id), "1", correlation) + "," +
         HostEvent(category, call, ts, "1", correlation, thread);
}

// Returns "range step" of each launch; '-' is an unknown step.
std::vector<std::string> MarksOf(const std::string& events) {
  const model::Profile profile = MustParse("{\"traceEvents\":[" + events + "]}");
  std::vector<std::string> marks;
  for (std::size_t i = 0; i < profile.records.size(); ++i) {
    const std::uint64_t step = i < profile.steps.size() ? profile.steps[i] : shm::kNoStep;
    marks.push_back(fmt::format("{} {}", profile.names.range(profile.records[i].name_id),
                                step == shm::kNoStep ? "-" : std::to_string(step)));
  }
  return marks;
}

using Marks = std::vector<std::string>;

TEST_CASE("kineto: annotations of the thread of the launch call are its ranges") {
  const std::string annotations =
      HostEvent("user_annotation", "inner", "2.5", "2") + "," +
      HostEvent("user_annotation", "outer", "1", "5.25") + "," +
      HostEvent("user_annotation", "elsewhere", "0", "100", "", R"("pid":1,"tid":2)") + "," +
      HostEvent("gpu_user_annotation", "outer", "0", "100") + "," +
      HostEvent("cpu_op", "aten::mm", "0", "100") + "," +
      HostEvent("user_annotation", "negative", "0", "-1");
  CHECK(MarksOf(Launch(1, "0.5") + "," + annotations + "," + Launch(2, "2") + "," + Launch(3, "3") +
                "," + Launch(4, "4.5") + "," + Launch(5, "6.25") + "," +
                Launch(6, "3", R"("pid":1,"tid":2)") + "," +
                Launch(7, "3", R"("pid":1,"tid":1)", "cuda_driver", "cuLaunchKernelEx") + "," +
                Launch(8, "3", R"("pid":1,"tid":1)", "cuda_runtime", "cudaMemcpyAsync")) ==
        Marks{" -", "outer -", "outer/inner -", "outer -", " -", "elsewhere -", "outer/inner -",
              " -"});
}

TEST_CASE("kineto: a trace is read without its ranges and steps if they are not wanted") {
  const std::string trace =
      "{\"traceEvents\":[" + HostEvent("user_annotation", "ProfilerStep#1", "0", "9") + "," +
      HostEvent("user_annotation", "r, seq = 1", "1", "5") + "," + Launch(1, "2") + "]}";
  for (const bool is_wanted : {false, true}) {
    const auto reader = OpenKinetoJson(std::make_unique<MemorySource>("t.json", trace),
                                       is_wanted ? formats::Marks::kRead : formats::Marks::kSkip);
    REQUIRE(reader.ok());
    CHECK(reader.value()->marks() == model::ProfileMarks{is_wanted, is_wanted});
    const Result<model::Profile> profile = model::LoadProfile(*reader.value());
    REQUIRE(profile.ok());
    REQUIRE(profile.value().records.size() == 1);
    CHECK(profile.value().names.range(0) == (is_wanted ? "r" : ""));
  }
}

TEST_CASE("kineto: a kernel has the external id of the operator that launched it") {
  const auto op = [](std::string_view name, int id, std::string_view category = "cpu_op") {
    return HostEvent(category, name, "0", "100", fmt::format(R"("External id":{})", id));
  };
  const auto kernel = [](std::string_view start, std::string_view id) {
    return Kernel(start, "1", id);
  };
  const std::string events =
      kernel("10", R"("External id":3)") + "," + op("aten::linear", 2) + "," +
      op("aten::addmm", 3) + "," + kernel("11", R"("External id":2)") + "," +
      op("aten::old", 4, "Operator") + "," + kernel("12", R"("external id":4)") + "," +
      kernel("13", R"("External id":9)") + "," + kernel("14", R"("correlation":5)") + "," +
      // Of two ranks in one file.
      op("aten::mm", 7) + "," + op("aten::add", 7) + "," + kernel("15", R"("External id":7)") +
      "," + op("aten::mm", 8) + "," + op("aten::mm", 8) + "," + kernel("16", R"("External id":8)") +
      "," + HostEvent("cpu_op", "no id", "0", "1") + "," +
      HostEvent("user_annotation", "range", "0", "100", R"("External id":9)");
  const auto reader =
      OpenKinetoJson(std::make_unique<MemorySource>("t.json", "{\"traceEvents\":[" + events + "]}"),
                     formats::Marks::kOperators);
  REQUIRE(reader.ok());
  const Result<model::Profile> read = model::LoadProfile(*reader.value());
  REQUIRE(read.ok());
  std::vector<std::string> operators;
  for (const shm::KernelRecord& record : InStartOrder(read.value())) {
    operators.emplace_back(read.value().names.range(record.name_id));
  }
  CHECK(operators == std::vector<std::string>{"aten::addmm", "aten::linear", "aten::old", "", "",
                                              "", "aten::mm"});
}

TEST_CASE("kineto: steps of the process are numbered from 0 in order of their starts") {
  const std::string steps =
      HostEvent("user_annotation", "ProfilerStep#12", "200", "99") + "," +
      HostEvent("user_annotation", "ProfilerStep#11", "100", "100") + "," +
      HostEvent("Operator", "ProfilerStep#13", "300", "100") + "," +
      HostEvent("gpu_user_annotation", "ProfilerStep#11", "0", "1000", "", R"("pid":0,"tid":7)") +
      "," + HostEvent("user_annotation", "ProfilerStep#11", "0", "1000", "", R"("pid":2,"tid":1)");
  CHECK(MarksOf(steps + "," + Launch(1, "50") + "," + Launch(2, "100") + "," +
                Launch(3, "150", R"("pid":1,"tid":"backward")") + "," + Launch(4, "200") + "," +
                Launch(5, "299.5") + "," + Launch(6, "300", R"("pid":1,"tid":1)", "Runtime") + "," +
                Launch(7, "400")) == Marks{" -", " 0", " 0", " 1", " -", " 2", " -"});
}

TEST_CASE("kineto: kernels of one call share its ranges, and unclear calls have none") {
  const std::string range = HostEvent("user_annotation", "r", "0", "100");
  const std::string graph = R"("correlation":5,"graph node id":)";
  CHECK(MarksOf(range + "," + Kernel("10", "1", graph + "1") + "," +
                Kernel("11", "1", graph + "2") + "," +
                HostEvent("cuda_runtime", "cudaGraphLaunch", "5", "1", R"("correlation":5)")) ==
        Marks{"r -", "r -"});
  // Two ranks have a call with this id.
  CHECK(MarksOf(range + "," + Launch(1, "5") + "," +
                HostEvent("cuda_runtime", "cudaLaunchKernel", "6", "1", R"("correlation":1)",
                          R"("pid":2,"tid":2)")) == Marks{" -"});
  CHECK(MarksOf(range + "," + Kernel("10", "1", R"("correlation":3)")) == Marks{" -"});
}

TEST_CASE("kineto: annotations with impossible cells are not ranges") {
  const std::string launch = Launch(1, "5");
  for (const std::string bad :
       {R"({"ph":"X","cat":"user_annotation","name":"r","pid":1,"tid":1,"ts":0})",
        R"({"ph":"X","cat":"user_annotation","name":"r","pid":1,"tid":1,"ts":"0","dur":9})",
        R"({"ph":"B","cat":"user_annotation","name":"r","pid":1,"tid":1,"ts":0,"dur":9})",
        R"({"ph":"X","cat":"user_annotation","name":"r","pid":1,"tid":1,"ts":-1e300,"dur":1e301})",
        R"({"cat":"user_annotation"})"}) {
    CHECK(MarksOf(launch + "," + bad) == Marks{" -"});
  }
  CHECK(MarksOf(launch + "," + HostEvent("user_annotation", "", "0", "9")) == Marks{"(unnamed) -"});
  CHECK(MarksOf(launch + "," +
                R"({"ph":"X","cat":"user_annotation","pid":1,"tid":1,"ts":0,"dur":9})") ==
        Marks{"(unnamed) -"});
}

TEST_CASE("kineto: errors in JSON name the mistake") {
  const auto message = [](const std::string& args) {
    return ErrorOf("[" + Kernel("1") + "," + Kernel("2", "1", args) + "]");
  };
  const auto has = [](const std::string& text, std::string_view part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(message(R"("a":NaN)"), "contains the word NaN");
  has(message(R"("a":[1, -Infinity])"), "contains the word Infinity");
  has(message(R"("a":None)"), "contains the word None");
  has(message(R"("a":"C:\x")"), "contains an invalid escape");
  has(message(R"("a":1,)"), "contains a stray comma");
  has(message(R"("a":[1,,2])"), "contains a stray comma");
  has(message(R"('a':1)"), "contains a single quote");
  has(ErrorOf("[" + Kernel("1") + ",]"), "a stray comma");
  has(ErrorOf("[" + Kernel("1") + ",," + Kernel("2") + "]"), "a stray comma");
}

TEST_CASE("kineto: the ranks of a merged trace are processes") {
  const auto kernel = [](std::string_view process, int device, int ts, int id) {
    return R"({"ph":"X","cat":"kernel","name":"k","pid":)" + std::string(process) + R"(,"ts":)" +
           std::to_string(ts) + R"(,"dur":1,"args":{"device":)" + std::to_string(device) +
           R"(,"stream":7,"correlation":)" + std::to_string(id) + "}}";
  };
  const auto devices = [](const std::string& text) {
    const model::Profile profile = MustParse("[" + text + "]");
    std::string found;
    for (const shm::KernelRecord& record : profile.records) {
      found += std::to_string(record.device) + ":" + std::to_string(record.correlation_id) + " ";
    }
    return found;
  };
  // sglang: both ranks have ids of their own, and the second one's clock or program is ahead.
  CHECK(devices(kernel("\"[TP00] 0\"", 0, 10, 50) + "," + kernel("\"[TP01] 0\"", 0, 20, 9) + "," +
                kernel("\"[TP00] 0\"", 0, 30, 60) + "," + kernel("\"[TP01] 0\"", 0, 40, 10)) ==
        "0:50 1:9 0:60 1:10 ");
  CHECK(devices(kernel("1000", 0, 10, 50) + "," + kernel("2000", 0, 20, 9)) == "0:50 1:9 ");
  // A process that uses two GPUs; ids give the order.
  CHECK(devices(kernel("0", 0, 10, 50) + "," + kernel("1", 1, 20, 9)) == "1:9 0:50 ");
  CHECK(devices(kernel("\"[TP00] 0\"", 0, 10, 50) + "," + kernel("\"[TP00] 1\"", 1, 20, 9)) ==
        "1:9 0:50 ");
}

TEST_CASE("kineto: kernels of PaddlePaddle have names without durations, and their ids") {
  const auto kernel = [](std::string_view name, int ts, int id) {
    return R"({"name":")" + std::string(name) + R"(","pid":0,"tid":7,"ts":)" + std::to_string(ts) +
           R"(,"dur":1244.019,"ph":"X","cat":"Kernel","cname":"rail_animation","args":{)" +
           R"("start_time":"0.000 us","end_time":"1244.019 us","device":0,"context":1,"stream":)" +
           std::to_string(id % 2) + R"(,"correlation id":)" + std::to_string(id) +
           R"(,"shared memory":1024,"grid":[8,1,1],"block":[256,1,1]}})";
  };
  const model::Profile profile =
      MustParse(R"({"schemaVersion":"1.0.0","traceEvents":[)" + kernel("gemm[1.244 ms]", 50, 2) +
                "," + kernel("gemm[12.256 ms]", 90, 1) + "," + kernel("k[4 ms][0.001 ms]", 95, 3) +
                "," + kernel("k[a ms]", 99, 4) + "]}");
  REQUIRE(profile.records.size() == 4);
  CHECK(profile.warnings.empty());
  CHECK(profile.records[0].correlation_id == 1);  // launched first, started later
  CHECK(profile.records[0].duration_ns == 1'244'019);
  CHECK(profile.records[0].grid[0] == 8);
  CHECK(NameOf(profile, 0) == "gemm");
  CHECK(NameOf(profile, 1) == "gemm");
  CHECK(NameOf(profile, 2) == "k[4 ms]");
  CHECK(NameOf(profile, 3) == "k[a ms]");
  // Other tools do not append durations.
  CHECK(NameOf(MustParse("[" + Kernel("1", "1", "", "k[1.0 ms]") + "]"), 0) == "k[1.0 ms]");
}

TEST_CASE("kineto: copies of ONNX Runtime are not kernels, and its extents are read") {
  const auto event = [](std::string_view name, std::string_view args) {
    return R"({"cat" : "Kernel","pid" :-1,"tid" :-1,"dur" :5,"ts" :9,"ph" : "X","name" :")" +
           std::string(name) + R"(","args" : {)" + std::string(args) + "}}";
  };
  const model::Profile profile = MustParse(
      "[\n" +
      event("gemm", R"("stream" : "7","grid_x" : "4","grid_y" : "5","grid_z" : "6",)"
                    R"("block_x" : "32","block_y" : "2","block_z" : "1","op_name" : "MatMul")") +
      ",\n" +
      event("MemcpyHostToDevice", R"("stream" : "7","grid_x" : "-1","grid_y" : "-1",)"
                                  R"("grid_z" : "-1","block_x" : "-1")") +
      ",\n" + event("hipMemcpyAsync", R"("stream" : "0","dst" : "0x1","src" : "0x2")") + "\n]\n");
  REQUIRE(profile.records.size() == 1);
  CHECK(NameOf(profile, 0) == "gemm");
  CHECK(profile.records[0].stream == 7);
  CHECK(profile.records[0].grid[0] == 4);
  CHECK(profile.records[0].grid[2] == 6);
  CHECK(profile.records[0].block[0] == 32);
  CHECK(profile.records[0].block[1] == 2);
  CHECK(Has(profile.warnings, "2 events are copies with the category of kernels; skipped"));
  CHECK(Has(MustParse("[" + event("k", R"("grid_x":"0")") + "]").warnings, "'grid' of a kernel"));
}

TEST_CASE("kineto: every recorded trace is compared") {
  const auto directory = SharedPath("data/native/kineto");
  STEMTAP_SKIP_WITHOUT(directory);
  std::set<std::string> expected;
  for (const Recorded& recorded : kRecorded) {
    expected.insert(std::string(recorded.trace) + ".json.gz");
  }
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    found.insert(entry.path().filename().string());
  }
  CHECK(found == expected);
}

}  // namespace
}  // namespace stemtap::formats
