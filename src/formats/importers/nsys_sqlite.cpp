// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/nsys_sqlite.h"

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

#include "formats/importers/row_times.h"

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
    const Result<std::string> kind = database_.KindOf(table);
    if (!kind.ok()) return kind.error();
    if (kind.value() == "table") continue;
    if (!kind.value().empty()) {
      return Error{fmt::format(
          "{}: {} is a view or a virtual table, expected a table as 'nsys export' writes it",
          database_.name(), table)};
    }
    if (table == kNameTable) {
      return Error{fmt::format("{}: no table {}, expected the names of the kernels in it",
                               database_.name(), table)};
    }
    const Result<std::string> graphs = database_.KindOf(kGraphTable);
    if (!graphs.ok()) return graphs.error();
    if (!graphs.value().empty()) {
      return Error{fmt::format(
          "{}: holds launches of CUDA graphs as a whole ({}) and no kernels, expected a "
          "capture by 'nsys profile --trace=cuda --cuda-graph-trace=node'",
          database_.name(), kGraphTable)};
    }
    return Error{
        fmt::format("{}: an Nsight Systems export without kernels (no table {}), expected a "
                    "capture by 'nsys profile --trace=cuda' of a program that runs kernels",
                    database_.name(), table)};
  }
  return Success{};
}

Status KernelTable::CheckColumns(const TableRows& rows) {
  const Result<std::vector<std::string>> names = database_.Columns(kNameTable);
  if (!names.ok()) return names.error();
  for (const Column column : {kStart, kEnd}) {
    if (rows.Has(column)) continue;
    return Error{fmt::format("{}: no column {} in {}, expected a table as 'nsys export' writes it",
                             database_.name(), kColumnNames[column], kKernelTable)};
  }
  if (rows.Has(kDemangledName) || rows.Has(kShortName) || rows.Has(kMangledName)) return Success{};
  return Error{
      fmt::format("{}: no column demangledName in {}, expected a table as 'nsys export' writes it",
                  database_.name(), kKernelTable)};
}

// Returns the id of the current row's name, with template arguments and parameters if available.
Result<std::uint32_t> KernelTable::NameId(const TableRows& rows) {
  constexpr std::int64_t kNone = -1;
  for (const Column column : {kDemangledName, kShortName, kMangledName}) {
    const Result<std::int64_t> id =
        rows.Number(column, 0, std::numeric_limits<std::int64_t>::max(), kNone);
    if (!id.ok()) return id.error();
    if (id.value() == kNone) continue;
    const auto [known, is_new] = name_ids_.try_emplace(id.value(), 0);
    if (!is_new) return known->second;
    const Result<std::optional<std::string_view>> name = database_.FindText(find_name_, id.value());
    if (!name.ok()) return name.error();
    if (!name.value()) {
      return rows.At(fmt::format("{} is {}, expected an id in {}", kColumnNames[column], id.value(),
                                 kNameTable));
    }
    if (name.value()->empty()) {
      return rows.At(fmt::format("{} is {}, which has no text in {}, expected the name of a kernel",
                                 kColumnNames[column], id.value(), kNameTable));
    }
    return known->second = launches_.Name(*name.value());
  }
  return rows.At("no name, expected demangledName to be an id in StringIds");
}

Status KernelTable::AddRow(const TableRows& rows) {
  constexpr std::int64_t kNone = RowTimes::kNone;
  shm::KernelRecord record = RecordedLaunches::Unknown();
  const Result<bool> timed = times_.Read(rows, kStart, kEnd, record);
  if (!timed.ok()) return timed.error();
  if (!timed.value()) return Success{};

  const Result<std::uint32_t> name = NameId(rows);
  if (!name.ok()) return name.error();
  const Result<std::int64_t> device = rows.Number(kDevice, 0, shm::kUnknown16 - 1, shm::kUnknown16);
  if (!device.ok()) return device.error();
  record.device = static_cast<std::uint16_t>(device.value());
  const Result<std::int64_t> stream = rows.Number(kStream, 0, shm::kUnknown32 - 1, shm::kUnknown32);
  if (!stream.ok()) return stream.error();
  record.stream = static_cast<std::uint32_t>(stream.value());
  for (int axis = 0; axis < 3; ++axis) {
    const Result<std::int64_t> grid =
        rows.Number(static_cast<Column>(kGridX + axis), 0, 0xFFFFFFFF, shm::kUnknownExtent);
    if (!grid.ok()) return grid.error();
    record.grid[axis] = static_cast<std::uint32_t>(grid.value());
    const Result<std::int64_t> block =
        rows.Number(static_cast<Column>(kBlockX + axis), 0, 0xFFFF, shm::kUnknownExtent);
    if (!block.ok()) return block.error();
    record.block[axis] = static_cast<std::uint16_t>(block.value());
  }
  constexpr std::int64_t kMaxShared = 0x7FFFFFFE;  // of each kind, so the sum also fits
  const Result<std::int64_t> fixed = rows.Number(kStaticShared, 0, kMaxShared, kNone);
  if (!fixed.ok()) return fixed.error();
  const Result<std::int64_t> dynamic = rows.Number(kDynamicShared, 0, kMaxShared, kNone);
  if (!dynamic.ok()) return dynamic.error();
  if (fixed.value() != kNone && dynamic.value() != kNone) {
    record.shared_bytes = static_cast<std::uint32_t>(fixed.value() + dynamic.value());
  }
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  const Result<std::int64_t> correlation = rows.Number(kCorrelation, 0, kAny, 0);
  if (!correlation.ok()) return correlation.error();
  record.correlation_id = static_cast<std::uint32_t>(correlation.value());

  // 0 and an empty cell both mean a single launch. The upper half of a node id is the graph's id.
  const Result<std::int64_t> node = rows.Number(kGraphNode, kNone, kAny, 0);
  if (!node.ok()) return node.error();
  const Result<std::int64_t> graph = rows.Number(kGraph, 0, 0xFFFFFFFF, 0);
  if (!graph.ok()) return graph.error();
  record.graph_node = static_cast<std::uint32_t>(node.value());
  record.graph_id = static_cast<std::uint32_t>(graph.value());
  if (record.graph_id == 0 && node.value() != 0) {
    const auto upper = static_cast<std::uint32_t>(static_cast<std::uint64_t>(node.value()) >> 32);
    record.graph_id = std::max<std::uint32_t>(upper, 1);
  }

  const Result<std::int64_t> process = rows.Number(kProcess, kNone + 1, kAny, kNone);
  if (!process.ok()) return process.error();
  launches_.SetProcess(static_cast<std::uint64_t>(process.value()));
  launches_.Add(record, name.value());
  return Success{};
}

// Warns about graphs recorded as a whole, which hide the kernels in them.
Status KernelTable::WarnOfGraphs() {
  const Result<std::string> kind = database_.KindOf(kGraphTable);
  if (!kind.ok()) return kind.error();
  if (kind.value() != "table") return Success{};
  const Result<Statement> count =
      database_.Prepare(fmt::format("SELECT count(*) FROM {}", kGraphTable));
  if (!count.ok()) return count.error();
  const Result<bool> row = database_.Step(count.value());
  if (!row.ok()) return row.error();
  const std::int64_t graphs = sqlite3_column_int64(count.value().get(), 0);
  if (graphs > 0) {
    launches_.Warn(fmt::format(
        "{}: {} launches of CUDA graphs were recorded as a whole and the kernels in them "
        "are missing; record with --cuda-graph-trace=node to have them",
        database_.name(), graphs));
  }
  return Success{};
}

Status KernelTable::Read() {
  const Status checked = Check();
  if (!checked.ok()) return checked;
  Result<TableRows> rows = TableRows::Select(database_, kKernelTable, kColumnNames, file_bytes_);
  if (!rows.ok()) return rows.error();
  const Status columns = CheckColumns(rows.value());
  if (!columns.ok()) return columns;
  Result<Statement> find_name =
      database_.Prepare(fmt::format("SELECT value FROM {} WHERE id = ?1 LIMIT 1", kNameTable));
  if (!find_name.ok()) return find_name.error();
  find_name_ = std::move(find_name).value();
  for (;;) {
    const Result<bool> more = rows.value().Next();
    if (!more.ok()) return more.error();
    if (!more.value()) break;
    const Status added = AddRow(rows.value());
    if (!added.ok()) return added;
  }
  times_.Warn(database_.name(), kKernelTable, launches_);
  return WarnOfGraphs();
}

}  // namespace

Status ReadNsysKernels(Database& database, std::int64_t file_bytes, RecordedLaunches& launches) {
  return KernelTable(database, file_bytes, launches).Read();
}

}  // namespace stemtap::formats
