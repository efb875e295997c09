// SPDX-License-Identifier: Apache-2.0
//
// Layout of a binary profile (.stemtap): one header, shm::Records as in the ring, and one end
// record, which distinguishes complete files from truncated ones. Each part is 64 bytes, little
// endian. See docs/formats/profile-binary.md.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "shm/record.h"

namespace stemtap::model {

inline constexpr std::array<char, 8> kBinaryProfileMagic = {'S', 'T', 'E', 'M',
                                                            'T', 'A', 'P', '\n'};
// Files with ranges or steps have the second version, which readers of the first do not know.
inline constexpr std::uint32_t kBinaryProfileVersion = 1;
inline constexpr std::uint32_t kMarkedProfileVersion = 2;
// Bits of BinaryProfileHeader::marks.
inline constexpr std::uint32_t kBinaryProfileRanges = 1;
inline constexpr std::uint32_t kBinaryProfileSteps = 2;
inline constexpr std::uint8_t kBinaryProfileEndKind = 0xFF;

struct BinaryProfileHeader {
  std::array<char, 8> magic = kBinaryProfileMagic;
  std::uint32_t version = kBinaryProfileVersion;
  std::uint32_t record_bytes = shm::kRecordBytes;
  std::uint32_t marks = 0;  // 0 and ignored in the first version
  char reserved[44] = {};
};

struct BinaryProfileEnd {
  std::uint8_t kind = kBinaryProfileEndKind;  // same offset as shm::Record::kind
  std::uint8_t reserved[7] = {};
  std::uint64_t invocations = 0;  // number of KernelRecords in the file
  std::uint64_t names = 0;        // number of names defined in the file
  char reserved2[40] = {};
};

static_assert(sizeof(BinaryProfileHeader) == shm::kRecordBytes);
static_assert(sizeof(BinaryProfileEnd) == shm::kRecordBytes);
static_assert(std::is_trivially_copyable_v<BinaryProfileHeader>);
static_assert(std::is_trivially_copyable_v<BinaryProfileEnd>);

}  // namespace stemtap::model
