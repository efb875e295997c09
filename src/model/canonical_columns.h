// SPDX-License-Identifier: Apache-2.0
//
// The columns of the canonical profile CSV, in the order in which they are written. The reader and
// the writer share this table. See docs/formats/canonical-csv.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "shm/record.h"

namespace stemtap::model {

enum class CanonicalColumn : std::uint8_t {
  kIndex,
  kStart,
  kDuration,
  kDevice,
  kStream,
  kGridX,
  kGridY,
  kGridZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kSharedBytes,
  kGraphId,
  kName,
};

struct CanonicalColumnInfo {
  std::string_view name;
  // A cell that is not empty contains an integer in [least, most]. Not used for the name.
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  bool required = false;
  // Value in the record if the cell is empty.
  std::uint64_t unknown = 0;
};

inline constexpr std::uint64_t kMaxTime = std::numeric_limits<std::int64_t>::max();

inline constexpr std::array<CanonicalColumnInfo, 14> kCanonicalColumns = {{
    {"index", 0, kMaxTime, false, 0},
    {"start_ns", 0, kMaxTime, false, shm::kUnknownTime},
    {"duration_ns", 0, kMaxTime, true, 0},
    {"device", 0, shm::kUnknown16 - 1, false, shm::kUnknown16},
    {"stream", 0, shm::kUnknown32 - 1, false, shm::kUnknown32},
    {"grid_x", 1, 0xFFFFFFFF, false, shm::kUnknownExtent},
    {"grid_y", 1, 0xFFFFFFFF, false, shm::kUnknownExtent},
    {"grid_z", 1, 0xFFFFFFFF, false, shm::kUnknownExtent},
    {"block_x", 1, 0xFFFF, false, shm::kUnknownExtent},
    {"block_y", 1, 0xFFFF, false, shm::kUnknownExtent},
    {"block_z", 1, 0xFFFF, false, shm::kUnknownExtent},
    {"shared_bytes", 0, shm::kUnknown32 - 1, false, shm::kUnknown32},
    {"graph_id", 0, 0xFFFFFFFF, false, 0},
    {"name", 0, 0, true, 0},
}};

// Optional columns between the name and the metrics, for the marks of the program. They are written
// only if the run has them, and do not identify a canonical CSV.
inline constexpr std::string_view kRangeColumn = "range";  // at most shm::kMaxRangeBytes
inline constexpr std::string_view kStepColumn = "step";    // at most kMaxTime

constexpr const CanonicalColumnInfo& InfoOf(CanonicalColumn column) {
  return kCanonicalColumns[static_cast<std::size_t>(column)];
}

// Calls use(field) with the field of `record` for `column`. REQUIRES: `column` is neither the index
// nor the name.
template <typename Record, typename Use>
constexpr void VisitCell(Record& record, CanonicalColumn column, Use use) {
  switch (column) {
    case CanonicalColumn::kStart:
      return use(record.start_ns);
    case CanonicalColumn::kDuration:
      return use(record.duration_ns);
    case CanonicalColumn::kDevice:
      return use(record.device);
    case CanonicalColumn::kStream:
      return use(record.stream);
    case CanonicalColumn::kGridX:
      return use(record.grid[0]);
    case CanonicalColumn::kGridY:
      return use(record.grid[1]);
    case CanonicalColumn::kGridZ:
      return use(record.grid[2]);
    case CanonicalColumn::kBlockX:
      return use(record.block[0]);
    case CanonicalColumn::kBlockY:
      return use(record.block[1]);
    case CanonicalColumn::kBlockZ:
      return use(record.block[2]);
    case CanonicalColumn::kSharedBytes:
      return use(record.shared_bytes);
    case CanonicalColumn::kGraphId:
      return use(record.graph_id);
    case CanonicalColumn::kIndex:
    case CanonicalColumn::kName:
      break;
  }
}

// Return and set the field of `record` for `column`. REQUIRES: as VisitCell.
constexpr std::uint64_t CellOf(const shm::KernelRecord& record, CanonicalColumn column) {
  std::uint64_t value = 0;
  VisitCell(record, column, [&](const auto& field) { value = field; });
  return value;
}
constexpr void SetCell(shm::KernelRecord& record, CanonicalColumn column, std::uint64_t value) {
  VisitCell(record, column, [=](auto& field) {
    field = static_cast<std::remove_reference_t<decltype(field)>>(value);
  });
}

}  // namespace stemtap::model
