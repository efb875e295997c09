// SPDX-License-Identifier: Apache-2.0
//
// Which part of a range's name the path of its launches contains.
//
// Used by the injected library: needs libc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stemtap::shm {

// Returns the length of the name before the numbers that PyTorch's emit_nvtx appends to it:
// "aten::add" of "aten::add, seq = 12, op_id = 34". They differ in every call, so every launch
// would have its own path. Returns `bytes` if there are none, or nothing precedes them.
inline std::uint32_t StableLength(const char* text, std::uint32_t bytes) noexcept {
  constexpr std::uint32_t kWord = sizeof(std::uint64_t);
  const auto word_at = [](const char* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, kWord);
    return word;
  };
  for (std::uint32_t length = 1; length + kWord < bytes; ++length) {
    const void* comma = std::memchr(text + length, ',', bytes - kWord - length);
    if (comma == nullptr) break;
    length = static_cast<std::uint32_t>(static_cast<const char*>(comma) - text);
    const std::uint64_t word = word_at(text + length);
    if (word == word_at(", seq = ")) return length;
    if (word == word_at(", op_id ") && text[length + kWord] == '=') return length;
  }
  return bytes;
}

}  // namespace stemtap::shm
