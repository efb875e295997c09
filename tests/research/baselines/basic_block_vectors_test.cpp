// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/basic_block_vectors.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/memory_source.h"
#include "base/rng.h"

namespace stemtap::research {
namespace {

Result<BasicBlockVectors> Read(const std::string& text) {
  return ReadBasicBlockVectors(std::make_unique<MemorySource>("bbv.csv", text));
}

std::string MessageOf(const std::string& text) {
  const auto read = Read(text);
  REQUIRE(!read.ok());
  return read.error().message;
}

TEST_CASE("rows become kinds of warps, and equal vectors are stored once") {
  const auto read = Read(
      "index,warps,instructions,blocks\n"
      "0,512,151552,0:1 3:36 4:1\n"
      "0,8,640,0:1 7:2\r\n"
      "\n"
      "2,16,,0:1 3:36 4:1\n");
  REQUIRE(read.ok());
  const BasicBlockVectors& v = read.value();
  CHECK(v.size() == 2);
  REQUIRE(v.vector(0).size() == 3);
  CHECK(v.vector(0)[1].block == 3);
  CHECK(v.vector(0)[1].count == 36);
  REQUIRE(v.vector(1).size() == 2);
  REQUIRE(v.invocations.size() == 2);
  CHECK(v.invocations[0].index == 0);
  CHECK(v.invocations[0].end - v.invocations[0].first == 2);
  CHECK(v.invocations[1].index == 2);
  REQUIRE(v.kinds.size() == 3);
  CHECK(v.kinds[0].warps == 512);
  CHECK(v.kinds[0].instructions == 151552.0);
  CHECK(std::isnan(v.kinds[2].instructions));
  CHECK(v.kinds[2].vector == v.kinds[0].vector);
}

TEST_CASE("a header without rows describes no launches") {
  const auto read = Read("index,warps,instructions,blocks\n");
  REQUIRE(read.ok());
  CHECK(read.value().invocations.empty());
}

TEST_CASE("errors contain position, problem and expectation") {
  const std::string header = "index,warps,instructions,blocks\n";
  CHECK(MessageOf("") ==
        "bbv.csv:1: ''; expected the header 'index,warps,instructions,blocks' or Photon's, "
        "'Warp ID,Basic Block Counts'");
  CHECK(
      MessageOf("index,name\n") ==
      "bbv.csv:1: 'index,name'; expected the header 'index,warps,instructions,blocks' or Photon's, "
      "'Warp ID,Basic Block Counts'");
  CHECK(MessageOf(header + "0,1\n") ==
        "bbv.csv:2: '0,1'; expected index,warps,instructions,blocks");
  CHECK(MessageOf(header + "x,1,,0:1\n") == "bbv.csv:2: index 'x'; expected a number from 0");
  for (const std::string warps : {"0", "-1", "1099511627777", "99999999999999999999"}) {
    CHECK(MessageOf(header + "0," + warps + ",,0:1\n") ==
          "bbv.csv:2: warps '" + warps + "'; expected a number from 1 to 2^40");
  }
  CHECK(MessageOf(header + "0,1,1.5,0:1\n") ==
        "bbv.csv:2: instructions '1.5'; expected a number from 0, or nothing");
  CHECK(MessageOf(header + "0,1,,\n") == "bbv.csv:2: no blocks; expected at least one block:count");
  CHECK(MessageOf(header + "0,1,,0:1 1\n") ==
        "bbv.csv:2: '1'; expected block:count with a count from 1");
  CHECK(MessageOf(header + "0,1,,0:0\n") ==
        "bbv.csv:2: '0:0'; expected block:count with a count from 1");
  CHECK(MessageOf(header + "0,1,,5:1 5:2\n") ==
        "bbv.csv:2: block 5 after 5; expected ascending numbers");
  CHECK(MessageOf(header + "3,1,,0:1\n1,1,,0:1\n") ==
        "bbv.csv:3: index 1 after 3; expected rows in launch order");
  CHECK(!ReadBasicBlockVectors(std::string("no/such/file")).ok());
}

TEST_CASE("rows do not depend on the number of bytes per read") {
  const std::string text = "index,warps,instructions,blocks\n0,1,5,0:1 2:3\n\n7,2,,4:4\n";
  for (std::size_t piece = 1; piece < 20; ++piece) {
    const auto read = ReadBasicBlockVectors(std::make_unique<MemorySource>("bbv.csv", text, piece));
    REQUIRE(read.ok());
    REQUIRE(read.value().invocations.size() == 2);
    CHECK(read.value().invocations[1].index == 7);
    CHECK(read.value().vector(1)[0].count == 4);
  }
}

TEST_CASE("a file truncated within a row is rejected at any position") {
  struct {
    std::string header;
    std::vector<std::string> launches;
  } const files[] = {
      {"index,warps,instructions,blocks\n",
       {"0,512,151552,0:1 3:36\n", "0,8,,0:1 7:2\r\n", "1,1,5,3:36\n"}},
      {"Warp ID,Basic Block Counts\n", {"Kernel0,2,4,a\n11,22,\n", "Kernel1,2,4,a\r\n11,22,\r\n"}},
  };
  for (const auto& file : files) {
    std::string whole = file.header;
    std::set<std::size_t> ends = {whole.size()};
    for (const std::string& launch : file.launches) ends.insert((whole += launch).size());
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      CAPTURE(whole.substr(0, size));
      CHECK(Read(whole.substr(0, size)).ok() == ends.contains(size));
    }
  }
  CHECK(MessageOf("index,warps,instructions,blocks\n0,8,,3:3") ==
        "bbv.csv:2: no line end after the last row; expected a complete file");
  CHECK(MessageOf("Warp ID,Basic Block Counts\nKernel0,2,4,a\n11,22,") ==
        "bbv.csv:3: no line end after the last row; expected a complete file");
}

TEST_CASE("any input gives a result or a one-line error with its position") {
  const std::string good =
      "index,warps,instructions,blocks\n0,512,151552,0:1 3:36 4:1\n0,8,,0:1 7:2\n1,1,5,3:4\n";
  const std::string bytes = "0123456789,:- \n\r\"x\xff";
  Rng rng(1);
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    for (std::uint64_t change = 0; change <= rng.Below(4); ++change) {
      const std::size_t at = rng.Below(text.size());
      const char byte = bytes[rng.Below(bytes.size())];
      if (rng.Below(3) == 0) {
        text.erase(at, 1);
      } else if (rng.Below(2) == 0) {
        text.insert(at, 1, byte);
      } else {
        text[at] = byte;
      }
    }
    const auto read = Read(text);
    if (read.ok()) continue;
    ++refused;
    REQUIRE(read.error().message.starts_with("bbv.csv:"));
    REQUIRE(read.error().message.find('\n') == std::string::npos);
  }
  CHECK(refused > 5'000);
  CHECK(refused < 20'000);
}

TEST_CASE("rows longer than one read are complete") {
  std::string row = "0,1,,";
  for (int b = 0; b < 100'000; ++b) row += std::to_string(b) + ":7 ";
  REQUIRE(row.size() > 2 * kReadBytes);
  const auto read = Read("index,warps,instructions,blocks\n" + row + "\n1,2,,3:4\n");
  REQUIRE(read.ok());
  CHECK(read.value().vector(0).size() == 100'000);
  CHECK(read.value().vector(1).size() == 1);
}

TEST_CASE("a file from Photon's tool has one kind per launch and separate blocks per kernel") {
  const auto read = Read(
      "Warp ID,Basic Block Counts\n"
      "Kernel0,3,520,_Z1aPf\n520,0,1040,\n"
      "Kernel1,2,16,_Z1bPf\r\n16,32,\r\n"
      "Kernel3,3,520,_Z1aPf\n520,0,1040,\n"
      "Kernel4,3,8,_Z1aPf\n1,2,18446744073709551615,\n");
  REQUIRE(read.ok());
  const BasicBlockVectors& v = read.value();
  REQUIRE(v.invocations.size() == 4);
  CHECK(v.invocations[2].index == 3);
  REQUIRE(v.kinds.size() == 4);
  CHECK(v.kinds[0].warps == 520);
  CHECK(std::isnan(v.kinds[0].instructions));
  CHECK(v.kinds[2].vector == v.kinds[0].vector);
  CHECK(v.size() == 3);
  REQUIRE(v.vector(0).size() == 2);
  CHECK(v.vector(0)[0].block == 0);
  CHECK(v.vector(0)[1].block == 2);
  CHECK(v.vector(0)[1].count == 1040);
  REQUIRE(v.vector(1).size() == 2);
  CHECK(v.vector(1)[0].block == 3);
  CHECK(v.vector(1)[1].block == 4);
  CHECK(v.vector(2)[2].count == 18446744073709551615U);
}

TEST_CASE("kernels with equal counts stay separate in a file from Photon's tool") {
  const auto read = Read("Warp ID,Basic Block Counts\nKernel0,1,1,a\n5,\nKernel1,1,1,b\n5,\n");
  REQUIRE(read.ok());
  CHECK(read.value().kinds[0].vector != read.value().kinds[1].vector);
}

TEST_CASE("a damaged file from Photon's tool is an error") {
  const std::string header = "Warp ID,Basic Block Counts\n";
  const std::string first = "Kernel0,2,4,a\n1,2,\n";
  CHECK(Read(header).ok());
  CHECK(MessageOf(header + "Kernel0,2,4,a\n") ==
        "bbv.csv:2: the end; expected the counts of 2 blocks");
  CHECK(MessageOf(header + "Kernel0,2,4,a\n1,2") == "bbv.csv:3: '2'; expected a count and a comma");
  CHECK(MessageOf(header + "Kernel0,2,4,a\n1,\n") ==
        "bbv.csv:3: 1 counts; expected 2, one for each block");
  CHECK(MessageOf(header + "Kernel0,2,4,a\n1,2,3,\n") ==
        "bbv.csv:3: more than 2 counts; expected one for each block");
  CHECK(MessageOf(header + "Kernel0,2,4,a\n1,-2,\n") ==
        "bbv.csv:3: '-2'; expected a count and a comma");
  CHECK(MessageOf(header + "Kernel0,2,4,a\n0,0,\n") ==
        "bbv.csv:3: no block was counted; expected a launch that was instrumented");
  CHECK(MessageOf(header + "Kernel0,2,0,a\n1,2,\n") ==
        "bbv.csv:2: warps '0'; expected a number from 1 to 2^40");
  for (const char* bad : {"Kernel0,2,4", "Kernel,2,4,a", "Kernelx,2,4,a", "Kernel0,,4,a", "1,2,"}) {
    CAPTURE(bad);
    CHECK(MessageOf(header + bad + "\n1,2,\n") ==
          std::string("bbv.csv:2: '") + bad + "'; expected Kernel<index>,<blocks>,<warps>,<name>");
  }
  CHECK(MessageOf(header + first + first) ==
        "bbv.csv:4: index 0 after 0; expected launches in order, once each");
  CHECK(MessageOf(header + first + "Kernel1,3,4,a\n1,2,3,\n") ==
        "bbv.csv:4: 3 blocks; expected 2 as in the kernel's first launch");
  CHECK(MessageOf(header + first + "Kernel1,4294967295,4,b\n1,\n")
            .starts_with("bbv.csv:4: 4294967295 blocks; expected at most"));
  CHECK(MessageOf(header + first + header) ==
        "bbv.csv:4: a second header; expected the launches of one run");
  CHECK(MessageOf(header + "Kernel3,2,4,a\n1,2,\n" + first)
            .starts_with("bbv.csv:4: index 0 after 3"));
}

}  // namespace
}  // namespace stemtap::research
