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

constexpr const CanonicalColumnInfo& InfoOf(CanonicalColumn column) {
  return kCanonicalColumns[static_cast<std::size_t>(column)];
}

// CellOf returns and SetCell sets the field of `record` for `column`.
// REQUIRES: `column` is neither the index nor the name.
constexpr std::uint64_t CellOf(const shm::KernelRecord& record, CanonicalColumn column) {
  switch (column) {
    case CanonicalColumn::kStart:
      return record.start_ns;
    case CanonicalColumn::kDuration:
      return record.duration_ns;
    case CanonicalColumn::kDevice:
      return record.device;
    case CanonicalColumn::kStream:
      return record.stream;
    case CanonicalColumn::kGridX:
      return record.grid[0];
    case CanonicalColumn::kGridY:
      return record.grid[1];
    case CanonicalColumn::kGridZ:
      return record.grid[2];
    case CanonicalColumn::kBlockX:
      return record.block[0];
    case CanonicalColumn::kBlockY:
      return record.block[1];
    case CanonicalColumn::kBlockZ:
      return record.block[2];
    case CanonicalColumn::kSharedBytes:
      return record.shared_bytes;
    case CanonicalColumn::kGraphId:
      return record.graph_id;
    case CanonicalColumn::kIndex:
    case CanonicalColumn::kName:
      break;
  }
  return 0;
}

constexpr void SetCell(shm::KernelRecord& record, CanonicalColumn column, std::uint64_t value) {
  switch (column) {
    case CanonicalColumn::kStart:
      record.start_ns = value;
      break;
    case CanonicalColumn::kDuration:
      record.duration_ns = value;
      break;
    case CanonicalColumn::kDevice:
      record.device = static_cast<std::uint16_t>(value);
      break;
    case CanonicalColumn::kStream:
      record.stream = static_cast<std::uint32_t>(value);
      break;
    case CanonicalColumn::kGridX:
      record.grid[0] = static_cast<std::uint32_t>(value);
      break;
    case CanonicalColumn::kGridY:
      record.grid[1] = static_cast<std::uint32_t>(value);
      break;
    case CanonicalColumn::kGridZ:
      record.grid[2] = static_cast<std::uint32_t>(value);
      break;
    case CanonicalColumn::kBlockX:
      record.block[0] = static_cast<std::uint16_t>(value);
      break;
    case CanonicalColumn::kBlockY:
      record.block[1] = static_cast<std::uint16_t>(value);
      break;
    case CanonicalColumn::kBlockZ:
      record.block[2] = static_cast<std::uint16_t>(value);
      break;
    case CanonicalColumn::kSharedBytes:
      record.shared_bytes = static_cast<std::uint32_t>(value);
      break;
    case CanonicalColumn::kGraphId:
      record.graph_id = static_cast<std::uint32_t>(value);
      break;
    case CanonicalColumn::kIndex:
    case CanonicalColumn::kName:
      break;
  }
}

}  // namespace stemtap::model
