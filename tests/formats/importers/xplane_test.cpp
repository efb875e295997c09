// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_source.h"
#include "formats/importers/importers.h"
#include "formats/importers/registry.h"
#include "model/profile.h"
#include "parse_text.h"
#include "support/paths.h"
#include "support/proto.h"
#include "support/temp_dir.h"

namespace stemtap::formats {
namespace {

using test::Bytes;
using test::Number;
using test::Varint;

// Builders of the messages of xplane.proto.
std::string Name(std::uint64_t field, std::uint64_t id, const std::string& name) {
  return Bytes(field, Number(1, id) + Bytes(2, Number(1, id) + Bytes(2, name)));
}
std::string EventName(std::uint64_t id, const std::string& name) {
  return Name(4, id, name);
}
std::string StatName(std::uint64_t id, const std::string& name) {
  return Name(5, id, name);
}
std::string Event(std::uint64_t name, std::uint64_t offset_ps, std::uint64_t duration_ps,
                  const std::string& stats = {}) {
  return Bytes(4, Number(1, name) + Number(2, offset_ps) + Number(3, duration_ps) + stats);
}
std::string Line(const std::string& name, std::uint64_t start_ns, const std::string& events) {
  return Bytes(3, Number(1, 1) + Bytes(2, name) + Number(3, start_ns) + events);
}
std::string Plane(const std::string& name, const std::string& rest) {
  return Bytes(1, Number(1, 1) + Bytes(2, name) + rest);
}

const std::string kNames = EventName(1, "gemm") + EventName(2, "add") + EventName(3, "MemcpyD2H") +
                           EventName(4, "CudaGraphExec:7");
const std::string kStatNames =
    StatName(1, "correlation_id") + StatName(2, "kernel_details") + StatName(3, "memcpy_details") +
    StatName(4, "cuda_graph_id") + StatName(5, "cuda_graph_node_id") +
    StatName(9, "regs:32 static_shared:1024 dynamic_shared:512 grid:8,4,2 block:128,2,1 occ_pct:5");
const std::uint64_t kEpoch = 1'790'000'000'000'000'000;

std::string Gpu(const std::string& lines) {
  return Plane("/device:GPU:0", lines + kNames + kStatNames);
}

TEST_CASE("xplane: every field of a launch is read") {
  const std::string stats =
      Bytes(4, Number(1, 1) + Number(4, 77)) + Bytes(4, Number(1, 2) + Number(7, 9)) +
      Bytes(4, Number(1, 4) + Number(3, 5)) + Bytes(4, Number(1, 5) + Number(3, 0x500000003));
  const std::string file = Plane("/host:CPU", Bytes(3, std::string(100'000, 'x'))) +
                           Plane("/device:GPU:3", Line("Stream #14(Compute,MemcpyH2D)", kEpoch,
                                                       Event(1, 2'000'000, 1'500'000, stats)) +
                                                      kNames + kStatNames);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, kReadBytes}) {
    const model::Profile p = MustParse(file, piece);
    REQUIRE(p.records.size() == 1);
    const shm::KernelRecord& r = p.records[0];
    CHECK(p.names.name(r.name_id) == "gemm");
    CHECK(r.start_ns == 0);
    CHECK(r.duration_ns == 1500);
    CHECK(r.device == 3);
    CHECK(r.stream == 14);
    CHECK(r.grid[0] == 8);
    CHECK(r.grid[2] == 2);
    CHECK(r.block[0] == 128);
    CHECK(r.block[1] == 2);
    CHECK(r.shared_bytes == 1536);
    CHECK(r.graph_id == 5);
    CHECK(r.graph_node == 3);
    CHECK(r.correlation_id == 77);
    CHECK(p.warnings.empty());
  }
}

TEST_CASE("xplane: starts of several lines share one clock, and negative offsets are earlier") {
  const model::Profile p = MustParse(
      Gpu(Line("Stream #1", kEpoch + 1000, Event(1, 0, 10'000)) +
          Line("Stream #2", kEpoch + 5000, Event(2, ~std::uint64_t{0} - 4'500'000 + 1, 20'000))));
  REQUIRE(p.records.size() == 2);
  CHECK(p.names.name(p.records[0].name_id) == "add");
  CHECK(p.records[0].start_ns == 0);
  CHECK(p.records[1].start_ns == 500);
}

TEST_CASE("xplane: kernels without details are read, and lines that repeat them are not") {
  const model::Profile p = MustParse(
      Gpu(Line("Stream #1", 0, Event(1, 1000, 5000) + Event(3, 2000, 1000)) +
          Line("XLA Ops", 0, Event(1, 1000, 5000)) + Line("Steps", 0, Event(2, 0, 9000))));
  REQUIRE(p.records.size() == 1);
  CHECK(p.records[0].grid[0] == shm::kUnknownExtent);
  CHECK(p.records[0].shared_bytes == shm::kUnknown32);
  REQUIRE(p.warnings.size() == 1);
  CHECK(p.warnings[0] == "t.csv: 1 event is a copy, a set or memory; skipped");
}

TEST_CASE("xplane: streams given by address are numbered in order of appearance") {
  const model::Profile p =
      MustParse(Gpu(Line("Stream #94384723984016(Compute)", 0, Event(1, 1000, 5000)) +
                    Line("Stream #94384723990000(Compute)", 0,
                         Event(1, 2000, 5000, Bytes(4, Number(1, 1) + Number(3, 9)))) +
                    Line("Stream #7", 0, Event(1, 9'000'000, 5000)) +
                    Line("Stream #0x7f", 0, Event(1, 18'000'000, 5000))));
  REQUIRE(p.records.size() == 4);
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(p.records[i].stream == i);
  REQUIRE(!p.warnings.empty());
  CHECK(p.warnings[0] ==
        "t.csv: stream ids such as '94384723984016' are not small whole numbers; streams are "
        "numbered 0 to 3 in order of appearance");
}

TEST_CASE("xplane: events that cannot be read are counted with the place of the first") {
  const std::string negative = Event(1, 1000, ~std::uint64_t{0});
  const std::string no_start = Bytes(4, Number(1, 1) + Number(5, 3));
  const std::string no_name = Event(99, 1000, 1000);
  const std::string text_as_start = Bytes(4, Number(1, 1) + Bytes(2, "abc") + Number(3, 1000));
  for (const auto& [event, what] :
       {std::pair(negative, "has a negative duration"), std::pair(no_start, "has no start"),
        std::pair(no_name, "has no name"), std::pair(text_as_start, "has no start")}) {
    CAPTURE(what);
    const std::string file = Gpu(Line("Stream #1", 0, Event(1, 1000, 5000) + event + event));
    const model::Profile p = MustParse(file);
    CHECK(p.records.size() == 1);
    REQUIRE(p.warnings.size() == 1);
    const std::uint64_t offset = file.find(event) + 2;  // the event follows its tag and its size
    CHECK(p.warnings[0] == "t.csv: byte " + std::to_string(offset) + ": a kernel event " + what +
                               " and is skipped (2 such events, for any reason)");
    CHECK(ErrorOf(Gpu(Line("Stream #1", 0, event))).find(what) != std::string::npos);
  }
  CHECK(ErrorOf(Gpu(Line("Stream #1", ~std::uint64_t{0} >> 1, Event(1, 0, 1))))
            .find("has a start out of range") != std::string::npos);
}

TEST_CASE("xplane: large numbers are exact, and ps are rounded to ns with a warning") {
  const std::uint64_t longest = (std::uint64_t{1} << 63) - 808;  // 2^63 - 808 is a multiple of 1000
  const model::Profile p = MustParse(
      Gpu(Line("Stream #2147483647", (std::uint64_t{1} << 62) - (std::uint64_t{1} << 54) - 1,
               Event(1, 0, longest) + Event(2, longest, 0) + Event(2, longest + 1, 1499) +
                   Event(2, longest + 500, 1500))));
  REQUIRE(p.records.size() == 4);
  CHECK(p.records[0].duration_ns == longest / 1000);
  CHECK(p.records[0].stream == 2147483647);
  CHECK(p.records[1].start_ns == longest / 1000);
  CHECK(p.records[1].duration_ns == 0);
  CHECK(p.records[2].duration_ns == 1);
  CHECK(p.records[3].start_ns == longest / 1000 + 1);
  CHECK(p.records[3].duration_ns == 2);
  REQUIRE(p.warnings.size() == 1);
  CHECK(p.warnings[0].find("a time is finer than 1 ns (2 such events; rounded)") !=
        std::string::npos);
  CHECK(MustParse(Plane("/device:GPU:65535", Line("Stream #1", 0, Event(1, 0, 1000)) + kNames))
            .records[0]
            .device == shm::kUnknown16);
}

TEST_CASE("xplane: graphs as a whole, problems of the profiler and bad details are reported") {
  const std::string bad = Bytes(4, Number(1, 2) + Bytes(5, "grid:0,0,0"));
  std::string file = Gpu(Line("Stream #1", 0, Event(4, 0, 1000) + Event(1, 0, 1000, bad)));
  for (int i = 0; i < 12; ++i) file += Bytes(2, "dropped 5\nevents");
  const model::Profile p = MustParse(file);
  CHECK(p.records.size() == 1);
  REQUIRE(p.warnings.size() == 13);
  CHECK(p.warnings[0] == "t.csv: the profiler reports 'dropped 5\\x0Aevents'");
  CHECK(p.warnings[10] == "t.csv: the profiler reports 2 problems more");
  CHECK(p.warnings[11].find("'kernel_details' of a kernel have no grid and block (1 such") !=
        std::string::npos);
  CHECK(p.warnings[12].find("1 launch of a CUDA graph was recorded as a whole") !=
        std::string::npos);
  CHECK(ErrorOf(Gpu(Line("Stream #1", 0, Event(4, 0, 1000))))
            .find("1 launch of whole CUDA graphs and no kernels") != std::string::npos);
}

TEST_CASE("xplane: a profile without kernels of a GPU is an error") {
  CHECK(ErrorOf(Plane("/host:CPU", "") + Plane("/device:TPU:0", Bytes(3, "x"))) ==
        "t.csv: 2 planes ('/host:CPU', ...), none of a GPU; expected a plane '/device:GPU:N', as "
        "JAX and TensorFlow write it if a GPU runs kernels");
  CHECK(
      ErrorOf(Gpu(Line("XLA Ops", 0, Event(1, 0, 1)))) ==
      "t.csv: no kernel on a line 'Stream #N' of 1 GPU; expected a profile of a program that runs "
      "kernels");
}

TEST_CASE("xplane: damage is an error with its place, or is read without a failure") {
  const std::string file =
      test::ReadFile(test::SourceDir() / "tests/data/formats/xplane/sample.xplane.pb");
  const auto read = [](const std::string& text) {
    auto reader = OpenXplane(std::make_unique<MemorySource>("t.csv", text));
    const std::string message = reader.ok() ? "" : reader.error().message;
    CHECK((reader.ok() || message.starts_with("t.csv:")));
    CHECK((reader.ok() || message.find("expected") != std::string::npos));
    CHECK(message.find('\n') == std::string::npos);
    return reader.ok();
  };
  REQUIRE(read(file));
  const std::size_t last_field = file.size() - 6;  // hostnames = "host"
  for (std::size_t size = 0; size < file.size(); ++size) {
    CAPTURE(size);
    CHECK(read(file.substr(0, size)) == (size == last_field));
  }
  std::string damaged = file;
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (const char byte : {'\0', '\x7F', '\x80', '\xFF'}) {
      damaged[i] = byte;
      read(damaged);
    }
    damaged[i] = file[i];
  }
  CHECK(ErrorOf(file.substr(0, 200)).find("bytes early; expected a whole file") !=
        std::string::npos);
  // A length of a plane is not trusted.
  CHECK(ErrorOf(Plane("/host:CPU", "") + Varint(10) + Varint(std::uint64_t{1} << 40) +
                Bytes(2, "/device:GPU:0"))
            .find("a plane of 1099511627776 bytes; expected at most 2^31") != std::string::npos);
  CHECK(ErrorOf(Plane("/host:CPU", "") + Varint(10) + Varint(std::uint64_t{1} << 30) +
                Bytes(2, "/device:GPU:0"))
            .find("the file ends 1073741809 bytes early") != std::string::npos);
}

TEST_CASE("xplane: small planes in front are recognized") {
  for (const std::string name : {"/host:metadata", "/host:CPU", "Task Environment"}) {
    CAPTURE(name);
    CHECK(
        MustParse(Plane(name, "") + Gpu(Line("Stream #1", 0, Event(1, 0, 1000)))).records.size() ==
        1);
    CHECK(MustParse(Bytes(1, Bytes(2, name)) + Gpu(Line("Stream #1", 0, Event(1, 0, 1000))))
              .records.size() == 1);
  }
}

}  // namespace
}  // namespace stemtap::formats
