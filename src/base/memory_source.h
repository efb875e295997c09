// SPDX-License-Identifier: Apache-2.0
//
// MemorySource is a ByteSource over bytes in memory, which the caller owns and which must outlive
// it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_source.h"

namespace stemtap {

class MemorySource : public ByteSource {
 public:
  // Each read returns at most `piece` bytes, like a slow pipe. REQUIRES: piece > 0.
  MemorySource(std::string name, std::string_view content, std::size_t piece = kReadBytes)
      : ByteSource(std::move(name)), rest_(content), piece_(piece) {}

 private:
  Result<std::size_t> ReadSome(char* data, std::size_t size) override {
    const std::size_t count = std::min({size, piece_, rest_.size()});
    if (count > 0) std::memcpy(data, rest_.data(), count);
    rest_.remove_prefix(count);
    return count;
  }

  std::string_view rest_;
  std::size_t piece_;
};

}  // namespace stemtap
