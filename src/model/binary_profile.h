// SPDX-License-Identifier: Apache-2.0
//
// The frame around the records of a binary profile (.stemtap): one header, then shm::Records as in
// the ring, then one end record, which tells a whole file from a cut one. Each is 64 bytes, little
// endian. See docs/formats/profile-binary.md.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "shm/record.h"

namespace stemtap {

inline constexpr std::array<char, 8> kBinaryProfileMagic = {'S', 'T', 'E', 'M',
                                                            'T', 'A', 'P', '\n'};
inline constexpr std::uint32_t kBinaryProfileVersion = 1;
inline constexpr std::uint8_t kBinaryProfileEndKind = 0xFF;

struct BinaryProfileHeader {
  std::array<char, 8> magic = kBinaryProfileMagic;
  std::uint32_t version = kBinaryProfileVersion;
  std::uint32_t record_bytes = shm::kRecordBytes;
  char reserved[48] = {};
};

struct BinaryProfileEnd {
  std::uint8_t kind = kBinaryProfileEndKind;  // where a shm::Record has its kind
  std::uint8_t reserved[7] = {};
  std::uint64_t invocations = 0;  // KernelRecords before it
  std::uint64_t names = 0;        // names defined before it
  char reserved2[40] = {};
};

static_assert(sizeof(BinaryProfileHeader) == shm::kRecordBytes);
static_assert(sizeof(BinaryProfileEnd) == shm::kRecordBytes);
static_assert(std::is_trivially_copyable_v<BinaryProfileHeader>);
static_assert(std::is_trivially_copyable_v<BinaryProfileEnd>);

}  // namespace stemtap
