// SPDX-License-Identifier: Apache-2.0
//
// A Record is the 64-byte unit in which everything crosses from the traced process to the collector,
// and in which a binary profile is stored. See docs/formats/ring.md.
//
//   kind 1  KernelRecord  one kernel invocation
//   kind 2  NameRecord    begins the definition of a kernel name, sent once, before its first use
//   kind 3  NameBytes     continues it: 62 bytes each, as many as the length asks for
//
// Used by the injected library: needs libc alone, plain data only.
#pragma once

#include <cstdint>
#include <type_traits>

namespace stemtap::shm {

enum class RecordKind : std::uint8_t { kNone = 0, kKernel = 1, kName = 2, kNameBytes = 3 };

// Bits of KernelRecord::flags.
inline constexpr std::uint8_t kFlagCaptured = 1;     // the gate let the tracer capture this launch
inline constexpr std::uint8_t kFlagExploratory = 2;  // ... as the first sight of its name
inline constexpr std::uint8_t kFlagGraph = 4;  // a whole graph launch, timed as one (level graph)
// Set by the collector alone: duration_ns is not native, a tracer was at work.
inline constexpr std::uint8_t kFlagPerturbed = 8;

// What stands in a cell that the source does not know. Names and durations are always known.
inline constexpr std::uint64_t kUnknownTime = ~std::uint64_t{0};
inline constexpr std::uint32_t kUnknown32 = ~std::uint32_t{0};
inline constexpr std::uint16_t kUnknown16 = 0xFFFF;
inline constexpr std::uint32_t kUnknownExtent = 0;  // grid and block: no launch has extent 0

struct KernelRecord {
  RecordKind kind = RecordKind::kKernel;
  std::uint8_t flags = 0;
  std::uint16_t device = 0;          // ordinal inside the process; kUnknown16
  std::uint32_t name_id = 0;         // dense, per stream of records, defined by a NameRecord
  std::uint64_t start_ns = 0;        // the recorder's clock; kUnknownTime
  std::uint64_t duration_ns = 0;     // end - start; 0 is a profiler's rounding and is kept
  std::uint32_t correlation_id = 0;  // CUPTI's: grows with every API call, wraps at 2^32
  std::uint32_t stream = 0;          // kUnknown32
  std::uint32_t grid[3] = {0, 0, 0};
  std::uint16_t block[3] = {0, 0, 0};
  std::uint16_t credit_slot = 0;   // slot whose credit paid for the capture; 0: none
  std::uint32_t shared_bytes = 0;  // static + dynamic; kUnknown32
  std::uint32_t graph_id = 0;      // 0: not launched by a graph
  std::uint32_t graph_node = 0;    // low 32 bits of CUPTI's graphNodeId
};

struct NameRecord {
  RecordKind kind = RecordKind::kName;
  std::uint8_t reserved[3] = {};
  std::uint32_t name_id = 0;
  std::uint32_t length = 0;  // bytes of the name, without a terminating 0
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
  RecordKind kind;  // every alternative begins with it
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

// The longest name that is carried whole. Template-heavy libraries reach about 5,000 bytes; a longer
// name is cut here, by the sender, and counted (Loss::kNamesCut).
inline constexpr std::uint32_t kMaxNameBytes = 16384;

// How many records the definition of a name of `length` bytes takes.
constexpr std::uint32_t NameRecordCount(std::uint32_t length) {
  return length <= sizeof(NameRecord::bytes)
             ? 1
             : 1 + (length - static_cast<std::uint32_t>(sizeof(NameRecord::bytes)) +
                    static_cast<std::uint32_t>(sizeof(NameBytes::bytes)) - 1) /
                       static_cast<std::uint32_t>(sizeof(NameBytes::bytes));
}

}  // namespace stemtap::shm
