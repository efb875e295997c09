// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "formats/importers/database.h"

namespace stemtap::formats {
namespace {

constexpr const char* kKernelTable = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr const char* kGraphTable = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr const char* kNameTable = "StringIds";

// The columns that are read, in the order of the query.
enum Column : int {
  kStart,
  kEnd,
  kDemangledName,
  kShortName,
  kMangledName,
  kDevice,
  kStream,
  kGridX,
  kGridY,
  kGridZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kStaticShared,
  kDynamicShared,
  kCorrelation,
  kProcess,
  kGraphNode,
  kGraph,
  kColumns
};

constexpr std::array<const char*, kColumns> kColumnNames = {"start",
                                                            "end",
                                                            "demangledName",
                                                            "shortName",
                                                            "mangledName",
                                                            "deviceId",
                                                            "streamId",
                                                            "gridX",
                                                            "gridY",
                                                            "gridZ",
                                                            "blockX",
                                                            "blockY",
                                                            "blockZ",
                                                            "staticSharedMemory",
                                                            "dynamicSharedMemory",
                                                            "correlationId",
                                                            "globalPid",
                                                            "graphNodeId",
                                                            "graphId"};

class KernelTable {
 public:
  KernelTable(Database& database, std::int64_t file_bytes, RecordedLaunches& launches)
      : database_(database), file_bytes_(file_bytes), launches_(launches) {}

  Status Read();

 private:
  Status Check();
  Status CheckColumns(const TableRows& rows);
  Status AddRow(const TableRows& rows);
  Result<std::uint32_t> NameId(const TableRows& rows);
  Status WarnOfGraphs();

  Database& database_;
  std::int64_t file_bytes_;
  RecordedLaunches& launches_;
  Statement find_name_;
  std::unordered_map<std::int64_t, std::uint32_t> name_ids_;  // by StringIds.id
  RowTimes times_;
};

// Checks that there is a table of kernels; the error describes how to get one.
Status KernelTable::Check() {
  for (const char* table : {kKernelTable, kNameTable}) {
    const std::string kind = STEMTAP_TRY(database_.KindOf(table));
    if (kind == "table") continue;
    if (!kind.empty()) {
      return Error{fmt::format(
          "{}: {} is a view or a virtual table; expected a table as 'nsys export' writes it",
          database_.name(), table)};
    }
    if (table == kNameTable) {
      return Error{fmt::format("{}: no table {}; expected the names of the kernels in it",
                               database_.name(), table)};
    }
    const std::string graphs = STEMTAP_TRY(database_.KindOf(kGraphTable));
    if (!graphs.empty()) {
      return Error{
          fmt::format("{}: contains launches of CUDA graphs as a whole ({}) and no kernels; "
                      "expected a capture by 'nsys profile --trace=cuda --cuda-graph-trace=node'",
                      database_.name(), kGraphTable)};
    }
    return Error{
        fmt::format("{}: an Nsight Systems export without kernels (no table {}); expected a "
                    "capture by 'nsys profile --trace=cuda' of a program that runs kernels",
                    database_.name(), table)};
  }
  return Success{};
}

Status KernelTable::CheckColumns(const TableRows& rows) {
  STEMTAP_TRY(database_.Columns(kNameTable));
  for (const Column column : {kStart, kEnd}) {
    if (rows.Has(column)) continue;
    return Error{fmt::format("{}: no column {} in {}; expected a table as 'nsys export' writes it",
                             database_.name(), kColumnNames[column], kKernelTable)};
  }
  if (rows.Has(kDemangledName) || rows.Has(kShortName) || rows.Has(kMangledName)) return Success{};
  return Error{
      fmt::format("{}: no column demangledName in {}; expected a table as 'nsys export' writes it",
                  database_.name(), kKernelTable)};
}

// Returns the id of the current row's name, with template arguments and parameters if available.
Result<std::uint32_t> KernelTable::NameId(const TableRows& rows) {
  constexpr std::int64_t kNone = -1;
  for (const Column column : {kDemangledName, kShortName, kMangledName}) {
    const std::int64_t id =
        STEMTAP_TRY(rows.Number(column, 0, std::numeric_limits<std::int64_t>::max(), kNone));
    if (id == kNone) continue;
    const auto [known, is_new] = name_ids_.try_emplace(id, 0);
    if (!is_new) return known->second;
    const std::optional<std::string_view> name = STEMTAP_TRY(database_.FindText(find_name_, id));
    if (!name) {
      return rows.At(
          fmt::format("{} is {}; expected an id in {}", kColumnNames[column], id, kNameTable));
    }
    if (name->empty()) {
      return rows.At(fmt::format("{} is {}, which has no text in {}; expected the name of a kernel",
                                 kColumnNames[column], id, kNameTable));
    }
    return known->second = launches_.Name(*name);
  }
  return rows.At("no name; expected demangledName to be an id in StringIds");
}

Status KernelTable::AddRow(const TableRows& rows) {
  constexpr std::int64_t kNone = RowTimes::kNone;
  shm::KernelRecord record = RecordedLaunches::Unknown();
  STEMTAP_TRY(rows.Times(kStart, kEnd, times_, record));

  const std::uint32_t name = STEMTAP_TRY(NameId(rows));
  record.device = static_cast<std::uint16_t>(
      STEMTAP_TRY(rows.Number(kDevice, 0, shm::kUnknown16 - 1, shm::kUnknown16)));
  record.stream = static_cast<std::uint32_t>(
      STEMTAP_TRY(rows.Number(kStream, 0, shm::kUnknown32 - 1, shm::kUnknown32)));
  for (int axis = 0; axis < 3; ++axis) {
    record.grid[axis] = static_cast<std::uint32_t>(
        STEMTAP_TRY(rows.Number(kGridX + axis, 0, 0xFFFFFFFF, shm::kUnknownExtent)));
    record.block[axis] = static_cast<std::uint16_t>(
        STEMTAP_TRY(rows.Number(kBlockX + axis, 0, 0xFFFF, shm::kUnknownExtent)));
  }
  constexpr std::int64_t kMaxShared = 0x7FFFFFFE;  // of each kind, so the sum also fits
  const std::int64_t fixed = STEMTAP_TRY(rows.Number(kStaticShared, 0, kMaxShared, kNone));
  const std::int64_t dynamic = STEMTAP_TRY(rows.Number(kDynamicShared, 0, kMaxShared, kNone));
  if (fixed != kNone && dynamic != kNone) {
    record.shared_bytes = static_cast<std::uint32_t>(fixed + dynamic);
  }
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  record.correlation_id =
      static_cast<std::uint32_t>(STEMTAP_TRY(rows.Number(kCorrelation, 0, kAny, 0)));

  // 0 and an empty cell both mean a single launch. The upper half of a node id is the graph's id.
  const std::int64_t node = STEMTAP_TRY(rows.Number(kGraphNode, kNone, kAny, 0));
  record.graph_node = static_cast<std::uint32_t>(node);
  record.graph_id = static_cast<std::uint32_t>(STEMTAP_TRY(rows.Number(kGraph, 0, 0xFFFFFFFF, 0)));
  if (record.graph_id == 0 && node != 0) {
    const auto upper = static_cast<std::uint32_t>(static_cast<std::uint64_t>(node) >> 32);
    record.graph_id = std::max<std::uint32_t>(upper, 1);
  }

  launches_.SetProcess(
      static_cast<std::uint64_t>(STEMTAP_TRY(rows.Number(kProcess, kNone + 1, kAny, kNone))));
  launches_.Add(record, name);
  return Success{};
}

// Warns about graphs recorded as a whole, which hide the kernels in them.
Status KernelTable::WarnOfGraphs() {
  if (STEMTAP_TRY(database_.KindOf(kGraphTable)) != "table") return Success{};
  const Statement count =
      STEMTAP_TRY(database_.Prepare(fmt::format("SELECT count(*) FROM {}", kGraphTable)));
  STEMTAP_TRY(database_.Step(count));
  const std::int64_t graphs = sqlite3_column_int64(count.get(), 0);
  launches_.WarnOfCount(database_.name(), static_cast<std::uint64_t>(graphs),
                        "launch of a CUDA graph was", "launches of CUDA graphs were",
                        " recorded as a whole, without kernels; record with "
                        "--cuda-graph-trace=node to include them");
  return Success{};
}

Status KernelTable::Read() {
  STEMTAP_TRY(Check());
  TableRows rows =
      STEMTAP_TRY(TableRows::Select(database_, kKernelTable, kColumnNames, file_bytes_));
  STEMTAP_TRY(CheckColumns(rows));
  find_name_ = STEMTAP_TRY(
      database_.Prepare(fmt::format("SELECT value FROM {} WHERE id = ?1 LIMIT 1", kNameTable)));
  while (STEMTAP_TRY(rows.Next())) STEMTAP_TRY(AddRow(rows));
  times_.Warn(database_.name(), kKernelTable, launches_);
  return WarnOfGraphs();
}

}  // namespace

Status ReadNsysKernels(Database& database, std::int64_t file_bytes, Marks marks,
                       RecordedLaunches& launches) {
  STEMTAP_TRY(KernelTable(database, file_bytes, launches).Read());
  if (marks == Marks::kSkip) return Success{};
  return ReadNsysRanges(database, file_bytes, launches);
}

}  // namespace stemtap::formats
