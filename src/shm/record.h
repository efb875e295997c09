// SPDX-License-Identifier: Apache-2.0
//
// Record is the 64-byte unit of data that a traced process sends to the collector, and the unit of
// a binary profile. See docs/formats/ring.md.
//
//   kind 1  KernelRecord  one launch
//   kind 2  NameRecord    begins the definition of a kernel name, sent once, before its first use
//   kind 3  NameBytes     continues the definition, up to 62 bytes each
//
// Used by the injected library: needs libc only, plain data only.
#pragma once

#include <cstdint>
#include <type_traits>

namespace stemtap::shm {

enum class RecordKind : std::uint8_t { kNone = 0, kKernel = 1, kName = 2, kNameBytes = 3 };

// Bits of KernelRecord::flags.
inline constexpr std::uint8_t kFlagCaptured = 1;     // the gate selected this launch for capture
inline constexpr std::uint8_t kFlagExploratory = 2;  // ... as an exploratory capture
inline constexpr std::uint8_t kFlagGraph = 4;  // a whole graph launch, timed as one (level graph)
// Set only by the collector: the launch was slowed by a tracer, so duration_ns is not native.
inline constexpr std::uint8_t kFlagPerturbed = 8;

// Values of fields that are unknown to the source. Names and durations are always known.
inline constexpr std::uint64_t kUnknownTime = ~std::uint64_t{0};
inline constexpr std::uint32_t kUnknown32 = ~std::uint32_t{0};
inline constexpr std::uint16_t kUnknown16 = 0xFFFF;
inline constexpr std::uint32_t kUnknownExtent = 0;  // for grid and block, which are never 0

struct KernelRecord {
  RecordKind kind = RecordKind::kKernel;
  std::uint8_t flags = 0;
  std::uint16_t device = 0;          // ordinal inside the process, or kUnknown16
  std::uint32_t name_id = 0;         // dense, per stream of records, defined by a NameRecord
  std::uint64_t start_ns = 0;        // in the clock of the recorder, or kUnknownTime
  std::uint64_t duration_ns = 0;     // end - start; some profilers round to 0
  std::uint32_t correlation_id = 0;  // from CUPTI: grows with every API call, wraps at 2^32
  std::uint32_t stream = 0;          // or kUnknown32
  std::uint32_t grid[3] = {0, 0, 0};
  std::uint16_t block[3] = {0, 0, 0};
  std::uint16_t credit_slot = 0;   // slot whose credit the capture spent, or 0
  std::uint32_t shared_bytes = 0;  // static + dynamic, or kUnknown32
  std::uint32_t graph_id = 0;      // 0 if not launched by a graph
  std::uint32_t graph_node = 0;    // low 32 bits of CUPTI's graphNodeId
};

struct NameRecord {
  RecordKind kind = RecordKind::kName;
  std::uint8_t reserved[3] = {};
  std::uint32_t name_id = 0;
  std::uint32_t length = 0;  // bytes in the name, without a terminating 0
  std::uint32_t reserved2 = 0;
  std::uint64_t hash = 0;  // NameHash() of the name, see context_key.h
  char bytes[40] = {};     // the first 40 bytes of the name
};

struct NameBytes {
  RecordKind kind = RecordKind::kNameBytes;
  std::uint8_t count = 0;  // bytes used, 1..62
  char bytes[62] = {};
};

union Record {
  RecordKind kind;  // the first member of every alternative
  KernelRecord kernel;
  NameRecord name;
  NameBytes name_bytes;

  Record() : kernel{} {}
  Record(const KernelRecord& r) : kernel(r) {}
  Record(const NameRecord& r) : name(r) {}
  Record(const NameBytes& r) : name_bytes(r) {}
};

inline constexpr std::uint32_t kRecordBytes = 64;
static_assert(sizeof(KernelRecord) == kRecordBytes);
static_assert(sizeof(NameRecord) == kRecordBytes);
static_assert(sizeof(NameBytes) == kRecordBytes);
static_assert(sizeof(Record) == kRecordBytes && std::is_trivially_copyable_v<Record>);

// Maximum bytes of a kernel name. Template-heavy libraries reach about 5,000 bytes. The sender
// truncates longer names and counts them (Loss::kNamesCut).
inline constexpr std::uint32_t kMaxNameBytes = 16384;

// Returns the number of records that define a name of `length` bytes.
constexpr std::uint32_t NameRecordCount(std::uint32_t length) {
  return length <= sizeof(NameRecord::bytes)
             ? 1
             : 1 + (length - static_cast<std::uint32_t>(sizeof(NameRecord::bytes)) +
                    static_cast<std::uint32_t>(sizeof(NameBytes::bytes)) - 1) /
                       static_cast<std::uint32_t>(sizeof(NameBytes::bytes));
}

}  // namespace stemtap::shm
