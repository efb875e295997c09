// SPDX-License-Identifier: Apache-2.0
//
// Record is the 64-byte unit of data that a traced process sends to the collector, and the unit of
// a binary profile. See docs/formats/ring.md.
//
//   kind 1  KernelRecord  one launch
//   kind 2  NameRecord    begins the definition of a kernel name
//   kind 3  NameBytes     continues a definition, up to 62 bytes each
//   kind 4  NameRecord    begins the definition of a range path
//   kind 5  MarkRecord    range and step of the captured launch in the following KernelRecord
//   kind 6  RangedName    defines a further id of a kernel name: for its launches in a range
//
// In a profile, a name is defined before its first use. In a ring file, the definitions have a
// separate part, and only kinds 1 and 5 are in the queue. Kinds 4 and 5 have another meaning in a
// profile (docs/formats/profile-binary.md), and kind 6 occurs only in ring files.
//
// Used by the injected library: needs libc only, plain data only.
#pragma once

#include <cstdint>
#include <type_traits>

namespace stemtap::shm {

enum class RecordKind : std::uint8_t {
  kNone = 0,
  kKernel = 1,
  kName = 2,
  kNameBytes = 3,
  kRange = 4,
  kMark = 5,
  kRangedName = 6
};

// Bits of KernelRecord::flags.
inline constexpr std::uint8_t kFlagCaptured = 1;     // the gate selected this launch for capture
inline constexpr std::uint8_t kFlagExploratory = 2;  // ... as an exploratory capture
inline constexpr std::uint8_t kFlagGraph = 4;  // a whole graph launch, timed as one (level graph)
// The launch is outside of the ranges or steps that the user selected (shm/launch_selection.h).
inline constexpr std::uint8_t kFlagOutside = 16;
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

// Defines the name of a kernel or, with kind kRange, the path of a range.
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

// The launch was made outside of all ranges. Ids of ranges begin at 1.
inline constexpr std::uint32_t kNoRange = 0;
// The program has not begun a step.
inline constexpr std::uint64_t kNoStep = ~std::uint64_t{0};

// LaunchMark is where in the program a launch was made, as the program reports it
// (stemtap/control.h).
struct LaunchMark {
  std::uint32_t range_id = kNoRange;  // innermost open range of the launching thread
  std::uint64_t step = kNoStep;

  bool empty() const { return range_id == kNoRange && step == kNoStep; }
};

struct MarkRecord {
  RecordKind kind = RecordKind::kMark;
  std::uint8_t reserved[3] = {};
  std::uint32_t range_id = kNoRange;  // defined by a NameRecord of kind kRange
  std::uint64_t step = kNoStep;
  std::uint32_t correlation_id = 0;  // of the launch
  std::uint8_t reserved2[44] = {};
};

// Defines `name_id` as the kernel name `base_id` in the range `range_id`.
struct RangedName {
  RecordKind kind = RecordKind::kRangedName;
  std::uint8_t reserved[3] = {};
  std::uint32_t name_id = 0;
  std::uint32_t base_id = 0;          // defined by a NameRecord of kind kName
  std::uint32_t range_id = kNoRange;  // defined by a NameRecord of kind kRange
  std::uint8_t reserved2[48] = {};
};

union Record {
  RecordKind kind;  // the first member of every alternative
  KernelRecord kernel;
  NameRecord name;
  NameBytes name_bytes;
  MarkRecord mark;
  RangedName ranged_name;

  Record() : kernel{} {}
  Record(const KernelRecord& r) : kernel(r) {}
  Record(const NameRecord& r) : name(r) {}
  Record(const NameBytes& r) : name_bytes(r) {}
  Record(const MarkRecord& r) : mark(r) {}
  Record(const RangedName& r) : ranged_name(r) {}
};

inline constexpr std::uint32_t kRecordBytes = 64;
static_assert(sizeof(KernelRecord) == kRecordBytes);
static_assert(sizeof(NameRecord) == kRecordBytes);
static_assert(sizeof(NameBytes) == kRecordBytes);
static_assert(sizeof(MarkRecord) == kRecordBytes);
static_assert(sizeof(RangedName) == kRecordBytes);
static_assert(sizeof(Record) == kRecordBytes && std::is_trivially_copyable_v<Record>);

// Maximum bytes of a kernel name. Template-heavy libraries reach about 5,000 bytes. The sender
// truncates longer names and counts them (Loss::kNamesCut).
inline constexpr std::uint32_t kMaxNameBytes = 16384;

// Maximum kernel names of a process, each counted once for each range with launches of it: more
// than any program has.
inline constexpr std::uint32_t kMaxNames = 1u << 16;

// Maximum distinct range paths of a process, and bytes of a path. A program has as many ranges as
// places in its code, unless it puts numbers into their names, which steps are for. Further ranges
// are reported as kOtherRangePath.
inline constexpr std::uint32_t kMaxRanges = 4096;
inline constexpr std::uint32_t kMaxRangeBytes = 1024;
inline constexpr char kOtherRangePath[] = "(other)";

// Returns the number of records that define a name of `length` bytes.
constexpr std::uint32_t NameRecordCount(std::uint32_t length) {
  return length <= sizeof(NameRecord::bytes)
             ? 1
             : 1 + (length - static_cast<std::uint32_t>(sizeof(NameRecord::bytes)) +
                    static_cast<std::uint32_t>(sizeof(NameBytes::bytes)) - 1) /
                       static_cast<std::uint32_t>(sizeof(NameBytes::bytes));
}

}  // namespace stemtap::shm
