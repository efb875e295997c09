// SPDX-License-Identifier: Apache-2.0
// Reads arbitrary bytes as the table of --ids, twice with different read sizes. Both results must
// be equal and non-empty, or the error must be one line.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "analysis/extrapolation/match.h"
#include "base/memory_source.h"
#include "fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stemtap;
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  const auto ids = analysis::ReadIds(std::make_unique<MemorySource>("input", content));
  const auto again = analysis::ReadIds(std::make_unique<MemorySource>("input", content, 7));
  EXPECT(ids.ok() == again.ok());
  if (!ids.ok()) {
    ExpectOneLine(ids.error(), "input");
    EXPECT(ids.error().message == again.error().message);
    return 0;
  }
  EXPECT(!ids.value().empty());
  EXPECT(ids.value() == again.value());
  return 0;
}
