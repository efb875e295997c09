// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys_sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "importers/recorded_launches.h"
#include "importers/untrusted_database.h"

namespace stemtap {
namespace {

constexpr const char* kKernelTable = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr const char* kGraphTable = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr const char* kNameTable = "StringIds";

// What a row needs at least in a page: its place, its sizes and the types of three columns.
constexpr std::int64_t kLeastRowBytes = 8;

// Starts may lie before the origin of the clock (nsys export --ts-shift); this keeps their order in
// unsigned numbers. RecordedLaunches counts from the first.
constexpr std::int64_t kStartOffset = std::int64_t{1} << 62;

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

// Number and place of the rows that are left out for one reason.
struct Tally {
  std::uint64_t count = 0;
  std::uint64_t first_row = 0;

  void Add(std::uint64_t row) {
    if (count++ == 0) first_row = row;
  }
};

class KernelTable {
 public:
  KernelTable(Database& database, std::int64_t file_bytes, RecordedLaunches& launches)
      : database_(database), file_bytes_(file_bytes), launches_(launches) {}

  Status Read();

 private:
  Status Check();
  Status Select();
  Status AddRow();
  // The number in a cell; `missing` where it is empty or the table lacks the column.
  Result<std::int64_t> Number(Column column, std::int64_t least, std::int64_t most,
                              std::int64_t missing) const;
  Result<std::uint32_t> NameId();
  Status WarnOfGraphs();
  void WarnOfRows();
  Error AtRow(const std::string& what) const {
    return Error{fmt::format("{}: row {} of {}: {}", database_.name(), row_, kKernelTable, what)};
  }

  Database& database_;
  std::int64_t file_bytes_;
  RecordedLaunches& launches_;
  Statement rows_;
  Statement find_name_;
  std::array<bool, kColumns> found_ = {};
  std::uint64_t row_ = 0;                                     // 1-based
  std::unordered_map<std::int64_t, std::uint32_t> name_ids_;  // by StringIds.id
  Tally no_times_;
  Tally ends_early_;
};

// Whether there is a table of kernels, and if not, what to do about it.
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
    for (const char* mark :
         {kNameTable, "META_DATA_CAPTURE", "META_DATA_EXPORT", "TARGET_INFO_SESSION_START_TIME"}) {
      const Result<std::string> marked = database_.KindOf(mark);
      if (!marked.ok()) return marked.error();
      if (marked.value().empty()) continue;
      return Error{
          fmt::format("{}: an Nsight Systems export without kernels (no table {}), expected a "
                      "capture by 'nsys profile --trace=cuda' of a program that runs kernels",
                      database_.name(), table)};
    }
    return Error{
        fmt::format("{}: an SQLite database but no Nsight Systems export (no table {}), "
                    "expected one made by 'nsys export --type sqlite report.nsys-rep'",
                    database_.name(), table)};
  }
  return Success{};
}

Status KernelTable::Select() {
  Result<std::vector<std::string>> names = database_.Columns(kKernelTable);
  if (!names.ok()) return names.error();
  for (const std::string& name : names.value()) {
    for (int column = 0; column < kColumns; ++column) {
      if (sqlite3_stricmp(name.c_str(), kColumnNames[column]) == 0) found_[column] = true;
    }
  }
  names = database_.Columns(kNameTable);
  if (!names.ok()) return names.error();
  for (const Column column : {kStart, kEnd}) {
    if (found_[column]) continue;
    return Error{fmt::format("{}: no column {} in {}, expected a table as 'nsys export' writes it",
                             database_.name(), kColumnNames[column], kKernelTable)};
  }
  if (!found_[kDemangledName] && !found_[kShortName] && !found_[kMangledName]) {
    return Error{fmt::format(
        "{}: no column demangledName in {}, expected a table as 'nsys export' writes it",
        database_.name(), kKernelTable)};
  }
  std::string columns;
  for (int column = 0; column < kColumns; ++column) {
    columns += column == 0 ? "" : ", ";
    columns += found_[column] ? fmt::format("\"{}\"", kColumnNames[column]) : "NULL";
  }
  Result<Statement> rows =
      database_.Prepare(fmt::format("SELECT {} FROM {}", columns, kKernelTable));
  if (!rows.ok()) return rows.error();
  rows_ = std::move(rows).value();
  Result<Statement> find_name =
      database_.Prepare(fmt::format("SELECT value FROM {} WHERE id = ?1 LIMIT 1", kNameTable));
  if (!find_name.ok()) return find_name.error();
  find_name_ = std::move(find_name).value();
  return Success{};
}

Result<std::int64_t> KernelTable::Number(Column column, std::int64_t least, std::int64_t most,
                                         std::int64_t missing) const {
  const int type = sqlite3_column_type(rows_.get(), column);
  if (type == SQLITE_NULL) return missing;
  const std::int64_t value = sqlite3_column_int64(rows_.get(), column);
  if (type == SQLITE_INTEGER && value >= least && value <= most) return value;
  constexpr std::array kTypes = {"", "", "a fraction", "text", "bytes"};
  return AtRow(fmt::format("{} is {}, expected a whole number from {} to {}", kColumnNames[column],
                           type == SQLITE_INTEGER ? std::to_string(value) : kTypes[type], least,
                           most));
}

// The id of the name of the row at hand: with template arguments and parameters where nsys has it.
Result<std::uint32_t> KernelTable::NameId() {
  constexpr std::int64_t kNone = -1;
  for (const Column column : {kDemangledName, kShortName, kMangledName}) {
    const Result<std::int64_t> id =
        Number(column, 0, std::numeric_limits<std::int64_t>::max(), kNone);
    if (!id.ok()) return id.error();
    if (id.value() == kNone) continue;
    const auto [known, is_new] = name_ids_.try_emplace(id.value(), 0);
    if (!is_new) return known->second;
    sqlite3_reset(find_name_.get());
    sqlite3_bind_int64(find_name_.get(), 1, id.value());
    const Result<bool> found = database_.Step(find_name_);
    if (!found.ok()) return found.error();
    if (!found.value()) {
      return AtRow(fmt::format("{} is {}, expected an id in {}", kColumnNames[column], id.value(),
                               kNameTable));
    }
    const int type = sqlite3_column_type(find_name_.get(), 0);
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(find_name_.get(), 0));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(find_name_.get(), 0));
    if (type != SQLITE_TEXT || text == nullptr || size == 0) {
      return AtRow(fmt::format("{} is {}, which has no text in {}, expected the name of a kernel",
                               kColumnNames[column], id.value(), kNameTable));
    }
    return known->second = launches_.Name({text, size});
  }
  return AtRow("no name, expected demangledName to be an id in StringIds");
}

Status KernelTable::AddRow() {
  constexpr std::int64_t kMost = kStartOffset - 1;
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
  const Result<std::int64_t> start = Number(kStart, -kMost, kMost, kNone);
  if (!start.ok()) return start.error();
  const Result<std::int64_t> end = Number(kEnd, -kMost, kMost, kNone);
  if (!end.ok()) return end.error();
  if (start.value() == kNone || end.value() == kNone || (start.value() == 0 && end.value() == 0)) {
    no_times_.Add(row_);
    return Success{};
  }
  if (end.value() < start.value()) {
    ends_early_.Add(row_);
    return Success{};
  }
  wire::KernelRecord record = RecordedLaunches::Unknown();
  record.start_ns = static_cast<std::uint64_t>(start.value() + kStartOffset);
  record.duration_ns = static_cast<std::uint64_t>(end.value() - start.value());

  const Result<std::uint32_t> name = NameId();
  if (!name.ok()) return name.error();
  const Result<std::int64_t> device = Number(kDevice, 0, wire::kUnknown16 - 1, wire::kUnknown16);
  if (!device.ok()) return device.error();
  record.device = static_cast<std::uint16_t>(device.value());
  const Result<std::int64_t> stream = Number(kStream, 0, wire::kUnknown32 - 1, wire::kUnknown32);
  if (!stream.ok()) return stream.error();
  record.stream = static_cast<std::uint32_t>(stream.value());
  for (int axis = 0; axis < 3; ++axis) {
    const Result<std::int64_t> grid =
        Number(static_cast<Column>(kGridX + axis), 0, 0xFFFFFFFF, wire::kUnknownExtent);
    if (!grid.ok()) return grid.error();
    record.grid[axis] = static_cast<std::uint32_t>(grid.value());
    const Result<std::int64_t> block =
        Number(static_cast<Column>(kBlockX + axis), 0, 0xFFFF, wire::kUnknownExtent);
    if (!block.ok()) return block.error();
    record.block[axis] = static_cast<std::uint16_t>(block.value());
  }
  constexpr std::int64_t kMostShared = 0x7FFFFFFE;  // of each kind: the sum is known then
  const Result<std::int64_t> fixed = Number(kStaticShared, 0, kMostShared, kNone);
  if (!fixed.ok()) return fixed.error();
  const Result<std::int64_t> dynamic = Number(kDynamicShared, 0, kMostShared, kNone);
  if (!dynamic.ok()) return dynamic.error();
  if (fixed.value() != kNone && dynamic.value() != kNone) {
    record.shared_bytes = static_cast<std::uint32_t>(fixed.value() + dynamic.value());
  }
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  const Result<std::int64_t> correlation = Number(kCorrelation, 0, kAny, 0);
  if (!correlation.ok()) return correlation.error();
  record.correlation_id = static_cast<std::uint32_t>(correlation.value());

  // 0 and an empty cell both mean: launched alone. The upper half of a node's id is its graph's.
  const Result<std::int64_t> node = Number(kGraphNode, kNone, kAny, 0);
  if (!node.ok()) return node.error();
  const Result<std::int64_t> graph = Number(kGraph, 0, 0xFFFFFFFF, 0);
  if (!graph.ok()) return graph.error();
  record.graph_node = static_cast<std::uint32_t>(node.value());
  record.graph_id = static_cast<std::uint32_t>(graph.value());
  if (record.graph_id == 0 && node.value() != 0) {
    const auto upper = static_cast<std::uint32_t>(static_cast<std::uint64_t>(node.value()) >> 32);
    record.graph_id = std::max<std::uint32_t>(upper, 1);
  }

  const Result<std::int64_t> process = Number(kProcess, kNone + 1, kAny, kNone);
  if (!process.ok()) return process.error();
  launches_.SetProcess(static_cast<std::uint64_t>(process.value()));
  launches_.Add(record, name.value());
  return Success{};
}

// Graphs that were recorded as a whole hide the kernels in them.
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

void KernelTable::WarnOfRows() {
  if (no_times_.count > 0) {
    launches_.Warn(fmt::format("{}: row {} of {} has no start or no end ({} such rows), left out",
                               database_.name(), no_times_.first_row, kKernelTable,
                               no_times_.count));
  }
  if (ends_early_.count > 0) {
    launches_.Warn(fmt::format("{}: row {} of {} ends before it starts ({} such rows), left out",
                               database_.name(), ends_early_.first_row, kKernelTable,
                               ends_early_.count));
  }
}

Status KernelTable::Read() {
  const Status checked = Check();
  if (!checked.ok()) return checked;
  const Status selected = Select();
  if (!selected.ok()) return selected;
  const auto most_rows = static_cast<std::uint64_t>(file_bytes_ / kLeastRowBytes);
  for (;;) {
    const Result<bool> more = database_.Step(rows_);
    if (!more.ok()) return more.error();
    if (!more.value()) break;
    ++row_;
    // Pages that are damaged, or made so, can name one another any number of times.
    if (row_ > most_rows) return AtRow("more rows than the file has room for, expected no damage");
    const Status added = AddRow();
    if (!added.ok()) return added;
  }
  WarnOfRows();
  return WarnOfGraphs();
}

}  // namespace

bool LooksLikeNsysSqlite(std::string_view leading) {
  return leading.starts_with(kDatabaseMagic);
}

Result<std::unique_ptr<ProfileReader>> OpenNsysSqlite(std::unique_ptr<ByteSource> source) {
  const std::string name = source->name();
  auto launches = std::make_unique<RecordedLaunches>();
  const Status read =
      UseDatabase(std::move(source), [&](Database& database, std::int64_t bytes) -> Status {
        return KernelTable(database, bytes, *launches).Read();
      });
  if (!read.ok()) return read.error();
  launches->Finish(name);
  return std::unique_ptr<ProfileReader>(std::move(launches));
}

}  // namespace stemtap
