// SPDX-License-Identifier: Apache-2.0
//
// BasicBlockVectors contains the basic blocks that the warps of each launch executed and how often,
// as recorded by a binary instrumentation tool in a separate file. Warps that executed the same
// blocks equally often form one kind and one row.
//
//   index,warps,instructions,blocks
//   0,512,151552,0:1 3:36 4:1
//   0,8,640,0:1 7:2
//
// Launch 0 ran 520 warps of two kinds; each of the first 512 executed block 3 exactly 36 times, and
// together they executed 151,552 instructions.
//
// The output of Photon's own tool is read too and is recognized by its header. It counts blocks for
// the whole launch, so each launch has one kind:
//
//   Warp ID,Basic Block Counts
//   Kernel0,3,520,_Z4axpyPfS_f
//   520,18720,520,
//
// THREADS: const methods may be called concurrently.  SOURCE: docs/formats/metrics.md; Photon
// (MICRO 2023), whose GPU basic-block vector is computed from this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"

namespace stemtap::research {

struct BlockCount {
  std::uint32_t block = 0;  // number of the block, unique in its kernel or, better, in the program
  std::uint64_t count = 0;  // executions by one warp, > 0
};

struct WarpKind {
  std::uint64_t warps = 0;   // > 0
  double instructions = 0;   // executed by all of these warps together; NaN if unknown
  std::uint32_t vector = 0;  // BasicBlockVectors::vector
};

struct BasicBlockVectors {
  // The distinct vectors; blocks ascend, at least one each. Vector v is [starts[v], starts[v + 1]).
  std::vector<BlockCount> counts;
  std::vector<std::size_t> starts = {0};

  // The kinds of each launch that the file describes; `index` ascends.
  struct Invocation {
    std::uint64_t index = 0;  // of the launch, 0-based
    std::size_t first = 0;    // [first, end) of kinds
    std::size_t end = 0;
  };
  std::vector<WarpKind> kinds;
  std::vector<Invocation> invocations;

  std::size_t size() const { return starts.size() - 1; }
  std::span<const BlockCount> vector(std::size_t v) const {
    return std::span(counts).subspan(starts[v], starts[v + 1] - starts[v]);
  }
};

// Errors are "file:row: what; expected what"; the row is the line of the file.
Result<BasicBlockVectors> ReadBasicBlockVectors(std::unique_ptr<ByteSource> source);
Result<BasicBlockVectors> ReadBasicBlockVectors(const std::string& path);

}  // namespace stemtap::research
