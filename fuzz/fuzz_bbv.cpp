// SPDX-License-Identifier: Apache-2.0
// Reads arbitrary bytes as the basic-block vectors of --bbv, twice with different read sizes. Both
// results must be equal and consistent, or both must fail with the same one-line error.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/memory_source.h"
#include "fuzz/expect.h"
#include "research/baselines/basic_block_vectors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stemtap;
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  const auto read =
      research::ReadBasicBlockVectors(std::make_unique<MemorySource>("input", content));
  const auto again =
      research::ReadBasicBlockVectors(std::make_unique<MemorySource>("input", content, 7));
  EXPECT(read.ok() == again.ok());
  if (!read.ok()) {
    ExpectOneLine(read.error(), "input");
    EXPECT(read.error().message == again.error().message);
    return 0;
  }
  EXPECT(content.back() == '\n');
  const research::BasicBlockVectors& vectors = read.value();
  EXPECT(vectors.starts == again.value().starts);
  EXPECT(vectors.starts.back() == vectors.counts.size());
  for (std::size_t v = 0; v < vectors.size(); ++v) {
    EXPECT(!vectors.vector(v).empty());
    for (std::size_t i = 0; i < vectors.vector(v).size(); ++i) {
      EXPECT(vectors.vector(v)[i].count > 0);
      EXPECT(i == 0 || vectors.vector(v)[i - 1].block < vectors.vector(v)[i].block);
    }
  }
  std::size_t kinds = 0;
  for (const research::BasicBlockVectors::Invocation& invocation : vectors.invocations) {
    EXPECT(invocation.first == kinds && invocation.end > kinds);
    kinds = invocation.end;
  }
  EXPECT(kinds == vectors.kinds.size());
  for (const research::WarpKind& kind : vectors.kinds) {
    EXPECT(kind.warps > 0 && kind.vector < vectors.size());
  }
  return 0;
}
