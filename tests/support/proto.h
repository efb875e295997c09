// SPDX-License-Identifier: Apache-2.0
//
// Builds serialized protocol buffer messages for tests.
#pragma once

#include <cstdint>
#include <string>

namespace stemtap::test {

inline std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

// Fields of a message.
inline std::string Number(std::uint64_t field, std::uint64_t value) {
  return Varint(field << 3) + Varint(value);
}
inline std::string Bytes(std::uint64_t field, const std::string& bytes) {
  return Varint(field << 3 | 2) + Varint(bytes.size()) + bytes;
}

}  // namespace stemtap::test
