// SPDX-License-Identifier: Apache-2.0
//
// Tests DecodeKernel on records written byte by byte, at the offsets that CUPTI documents for
// CUpti_ActivityKernel4 (CUDA 10.1) to Kernel10 (CUDA 13).
#include "recording/decoder.h"

#include <doctest/doctest.h>

#include <array>
#include <cstring>

namespace stemtap::inject {
namespace {

// Bytes is a kernel record of CUDA 13. Every byte that a test does not set contains junk.
class Bytes {
 public:
  Bytes() {
    bytes_.fill(0xA5);
    Set(16, std::uint64_t{1'000});       // start
    Set(24, std::uint64_t{1'250});       // end
    Set(40, std::uint32_t{3});           // deviceId
    Set(48, std::uint32_t{17});          // streamId
    Set(52, std::uint32_t{2147483647});  // gridX .. gridZ
    Set(56, std::uint32_t{65535});
    Set(60, std::uint32_t{7});
    Set(64, std::uint32_t{1024});  // blockX .. blockZ
    Set(68, std::uint32_t{5});
    Set(72, std::uint32_t{64});
    Set(76, std::uint32_t{4'096});       // staticSharedMemory
    Set(80, std::uint32_t{131'072});     // dynamicSharedMemory
    Set(92, std::uint32_t{0xFFFFFFF0});  // correlationId
    Set(104, kName);
    Set(144, std::uint64_t{0x0000000900000008});  // graphNodeId
    Set(156, std::uint32_t{77});                  // graphId
  }
  template <typename T>
  void Set(std::size_t offset, const T& value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof(value));
  }
  Decoded Decode(bool has_graph = true) {
    return DecodeKernel(bytes_.data(), has_graph, record, name);
  }

  static constexpr const char* kName = "void kernel<float>(float*)";
  shm::KernelRecord record;
  const char* name = nullptr;

 private:
  alignas(8) std::array<unsigned char, 216> bytes_;
};

TEST_CASE("every field is read from its documented offset") {
  Bytes bytes;
  REQUIRE(bytes.Decode() == Decoded::kKernel);
  const shm::KernelRecord& r = bytes.record;
  CHECK(r.kind == shm::RecordKind::kKernel);
  CHECK(r.flags == 0);
  CHECK(r.start_ns == 1'000);
  CHECK(r.duration_ns == 250);
  CHECK(r.device == 3);
  CHECK(r.stream == 17);
  CHECK(r.grid[0] == 2147483647);
  CHECK(r.grid[1] == 65535);
  CHECK(r.grid[2] == 7);
  CHECK(r.block[0] == 1024);
  CHECK(r.block[1] == 5);
  CHECK(r.block[2] == 64);
  CHECK(r.shared_bytes == 135'168);
  CHECK(r.correlation_id == 0xFFFFFFF0);
  CHECK(r.graph_id == 77);
  CHECK(r.graph_node == 8);
  CHECK(r.credit_slot == 0);
  CHECK(bytes.name == Bytes::kName);
}

TEST_CASE("versions without graph fields ignore the bytes at their offsets") {
  Bytes bytes;
  bytes.record.graph_id = 5;
  bytes.record.graph_node = 6;
  REQUIRE(bytes.Decode(false) == Decoded::kKernel);
  CHECK(bytes.record.graph_id == 0);
  CHECK(bytes.record.graph_node == 0);
}

TEST_CASE("a record without usable times is classified by reason") {
  struct Case {
    std::uint64_t start, end;
    Decoded expected;
  };
  constexpr std::uint64_t kMax = ~std::uint64_t{0};
  for (const Case& c : {Case{0, 0, Decoded::kNoTimestamps}, Case{10, 0, Decoded::kIncomplete},
                        Case{kMax, 0, Decoded::kIncomplete}, Case{10, 9, Decoded::kBadTimestamps},
                        Case{kMax, 1, Decoded::kBadTimestamps}}) {
    Bytes bytes;
    bytes.Set(16, c.start);
    bytes.Set(24, c.end);
    CAPTURE(c.start);
    CAPTURE(c.end);
    CHECK(bytes.Decode() == c.expected);
    // The record is decoded anyway, because its launch must leave the pending captures.
    CHECK(bytes.record.correlation_id == 0xFFFFFFF0);
  }
}

TEST_CASE("a duration of zero is kept, because clocks round") {
  Bytes bytes;
  bytes.Set(24, std::uint64_t{1'000});
  REQUIRE(bytes.Decode() == Decoded::kKernel);
  CHECK(bytes.record.duration_ns == 0);
  CHECK(bytes.record.start_ns == 1'000);
}

TEST_CASE("a device number that does not fit becomes unknown") {
  for (const std::uint32_t device : {65'535u, 65'536u, 65'539u, 0xFFFFFFFFu}) {
    Bytes bytes;
    bytes.Set(40, device);
    REQUIRE(bytes.Decode() == Decoded::kKernel);
    CHECK(bytes.record.device == shm::kUnknown16);
  }
  Bytes last;
  last.Set(40, std::uint32_t{65'534});
  REQUIRE(last.Decode() == Decoded::kKernel);
  CHECK(last.record.device == 65'534);
}

}  // namespace
}  // namespace stemtap::inject
