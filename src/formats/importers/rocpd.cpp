// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "formats/importers/database.h"
#include "formats/importers/importers.h"

namespace stemtap::formats {
namespace {

constexpr std::string_view kSymbolTable = "rocpd_info_kernel_symbol";
constexpr std::string_view kAgentTable = "rocpd_info_agent";

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kNone = RowTimes::kNone;

// The columns that are read, in the order of the query.
enum Column : int {
  kStart,
  kEnd,
  kKernel,
  kAgent,
  kQueue,
  kStream,
  kDispatch,
  kNode,
  kProcess,
  kGroupX,
  kGroupY,
  kGroupZ,
  kItemsX,
  kItemsY,
  kItemsZ,
  kShared,
  kGraph,
  kColumns
};
constexpr std::array<const char*, kColumns> kColumnNames = {"start",
                                                            "end",
                                                            "kernel_id",
                                                            "agent_id",
                                                            "queue_id",
                                                            "stream_id",
                                                            "dispatch_id",
                                                            "nid",
                                                            "pid",
                                                            "workgroup_size_x",
                                                            "workgroup_size_y",
                                                            "workgroup_size_z",
                                                            "grid_size_x",
                                                            "grid_size_y",
                                                            "grid_size_z",
                                                            "group_segment_size",
                                                            "graph_exec_id"};

// DispatchTable reads one recording: a table of dispatches and the tables that it refers to, which
// share the same suffix.
class DispatchTable {
 public:
  DispatchTable(Database& database, std::int64_t file_bytes, std::string suffix,
                StreamNumbers& streams, RecordedLaunches& launches)
      : database_(database),
        file_bytes_(file_bytes),
        suffix_(std::move(suffix)),
        streams_(streams),
        launches_(launches) {}

  // Assigns a unique number to each process of each recording.
  using Processes = std::map<std::tuple<std::string, std::int64_t, std::int64_t>, std::uint64_t>;

  Status Read(Processes& processes, std::set<std::int64_t>& nodes);

 private:
  std::string Name(std::string_view table) const { return std::string(table) + suffix_; }
  Status ReadAgents();
  Status AddRow(const TableRows& rows, Processes& processes, std::set<std::int64_t>& nodes);
  Result<std::uint32_t> NameId(const TableRows& rows);
  Status SetExtents(const TableRows& rows, shm::KernelRecord& record);
  Status SetPlace(const TableRows& rows, shm::KernelRecord& record);

  Database& database_;
  std::int64_t file_bytes_;
  std::string suffix_;
  StreamNumbers& streams_;
  RecordedLaunches& launches_;
  Statement find_name_;
  std::unordered_map<std::int64_t, std::uint32_t> name_ids_;  // by kernel_id
  std::unordered_map<std::int64_t, std::uint16_t> devices_;   // by agent_id
  RowTimes times_{kRocprofTimes};
  std::uint64_t uneven_ = 0;
  std::uint64_t no_device_ = 0;
};

// Reads the ordinals of the GPUs among the agents, which also include CPUs.
Status DispatchTable::ReadAgents() {
  if (STEMTAP_TRY(database_.KindOf(Name(kAgentTable).c_str())) != "table") return Success{};
  constexpr std::array<const char*, 2> kAgentColumns = {"id", "type_index"};
  TableRows rows =
      STEMTAP_TRY(TableRows::Select(database_, Name(kAgentTable), kAgentColumns, file_bytes_));
  while (STEMTAP_TRY(rows.Next())) {
    const std::int64_t id = STEMTAP_TRY(rows.Number(0, -kAny, kAny, kNone));
    const std::int64_t index = STEMTAP_TRY(rows.Number(1, -kAny, kAny, kNone));
    if (index < 0 || index >= shm::kUnknown16) continue;
    devices_.emplace(id, static_cast<std::uint16_t>(index));
  }
  return Success{};
}

Result<std::uint32_t> DispatchTable::NameId(const TableRows& rows) {
  const std::int64_t id = STEMTAP_TRY(rows.Number(kKernel, -kAny, kAny, kNone));
  if (const auto known = name_ids_.find(id); known != name_ids_.end()) return known->second;
  const std::optional<std::string_view> name = STEMTAP_TRY(database_.FindText(find_name_, id));
  if (!name || name->empty()) {
    return rows.At(fmt::format("kernel_id has no name in {}; expected display_name or kernel_name",
                               Name(kSymbolTable)));
  }
  const std::uint32_t name_id = launches_.Name(RocprofKernelName(*name));
  name_ids_.emplace(id, name_id);
  return name_id;
}

// The grid is stored in work-items.
Status DispatchTable::SetExtents(const TableRows& rows, shm::KernelRecord& record) {
  bool uneven = false;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t group = STEMTAP_TRY(rows.Number(kGroupX + axis, 0, 0xFFFF, 0));
    const std::int64_t items =
        STEMTAP_TRY(rows.Number(kItemsX + axis, 0, std::numeric_limits<std::uint32_t>::max(), 0));
    record.block[axis] = static_cast<std::uint16_t>(group);
    if (group == 0 || items == 0) continue;
    record.grid[axis] = static_cast<std::uint32_t>(
        WorkGroups(static_cast<std::uint64_t>(items), static_cast<std::uint64_t>(group)));
    uneven = uneven || items % group != 0;
  }
  uneven_ += uneven ? 1 : 0;
  return Success{};
}

Status DispatchTable::SetPlace(const TableRows& rows, shm::KernelRecord& record) {
  const std::int64_t agent = STEMTAP_TRY(rows.Number(kAgent, -kAny, kAny, kNone));
  const auto device = devices_.find(agent);
  if (device != devices_.end()) record.device = device->second;
  no_device_ += record.device == shm::kUnknown16 ? 1 : 0;
  const std::int64_t stream =
      STEMTAP_TRY(rows.Number(rows.Has(kStream) ? kStream : kQueue, kNone + 1, kAny, kNone));
  if (stream != kNone) record.stream = streams_.Of(stream);
  record.shared_bytes = static_cast<std::uint32_t>(
      STEMTAP_TRY(rows.Number(kShared, 0, shm::kUnknown32 - 1, shm::kUnknown32)));
  // A counter of the process's dispatches, including dispatches of HIP graphs.
  const std::int64_t dispatch = STEMTAP_TRY(rows.Number(kDispatch, 0, kAny, kNone));
  if (dispatch != kNone) {
    record.correlation_id = RocprofLaunchNumber(static_cast<std::uint64_t>(dispatch));
  }
  record.graph_id = static_cast<std::uint32_t>(STEMTAP_TRY(rows.Number(kGraph, 0, kAny, 0)));
  return Success{};
}

Status DispatchTable::AddRow(const TableRows& rows, Processes& processes,
                             std::set<std::int64_t>& nodes) {
  shm::KernelRecord record = RecordedLaunches::Unknown();
  if (!STEMTAP_TRY(rows.Times(kStart, kEnd, times_, record))) return Success{};
  const std::uint32_t name = STEMTAP_TRY(NameId(rows));
  STEMTAP_TRY(SetExtents(rows, record));
  STEMTAP_TRY(SetPlace(rows, record));
  const std::int64_t node = STEMTAP_TRY(rows.Number(kNode, -kAny, kAny, kNone));
  const std::int64_t process = STEMTAP_TRY(rows.Number(kProcess, -kAny, kAny, kNone));
  nodes.insert(node);
  const auto number = processes.try_emplace({suffix_, node, process}, processes.size());
  launches_.SetProcess(number.first->second);
  launches_.Add(record, name);
  return Success{};
}

Status DispatchTable::Read(Processes& processes, std::set<std::int64_t>& nodes) {
  TableRows rows = STEMTAP_TRY(
      TableRows::Select(database_, Name(kRocpdDispatchTable), kColumnNames, file_bytes_));
  for (const Column column : {kStart, kEnd, kKernel, kAgent, kDispatch}) {
    if (rows.Has(column)) continue;
    return Error{
        fmt::format("{}: no column {} in {}; expected a table as rocprofv3 of ROCm 7 writes it; "
                    "convert it with '{}'",
                    database_.name(), kColumnNames[column], Name(kRocpdDispatchTable),
                    AdviceFor(database_.name(), "rocpd convert --output-format csv -i FILE"))};
  }
  if (!rows.Has(kStream)) launches_.StreamsAreQueues();
  launches_.NameIds(kRocprofIdName, kRocprofIdOffset);
  if (STEMTAP_TRY(database_.KindOf(Name(kSymbolTable).c_str())) != "table") {
    return Error{fmt::format("{}: no table {}; expected the names of the kernels in it",
                             database_.name(), Name(kSymbolTable))};
  }
  STEMTAP_TRY(database_.Columns(Name(kSymbolTable)));
  find_name_ = STEMTAP_TRY(database_.Prepare(fmt::format(
      "SELECT coalesce(nullif(display_name, ''), kernel_name) FROM {} WHERE id = ?1 LIMIT 1",
      Name(kSymbolTable))));
  STEMTAP_TRY(ReadAgents());
  while (STEMTAP_TRY(rows.Next())) STEMTAP_TRY(AddRow(rows, processes, nodes));
  times_.Warn(database_.name(), rows.table(), launches_);
  launches_.WarnOfCount(database_.name(), uneven_, "launch has", "launches have",
                        " a grid that is not a multiple of the work-group; rounded up");
  launches_.WarnOfCount(database_.name(), no_device_, "launch has", "launches have",
                        fmt::format(" an agent without a type_index in {}; the device is unknown",
                                    Name(kAgentTable)));
  return Success{};
}

}  // namespace

Status ReadRocpdDispatches(Database& database, std::int64_t file_bytes, Marks /*marks*/,
                           RecordedLaunches& launches) {
  const std::vector<std::string> tables =
      STEMTAP_TRY(database.TablesWithPrefix(kRocpdDispatchTable));
  if (tables.empty()) {
    return Error{
        fmt::format("{}: {} is not a stored table; expected one as rocprofv3 of ROCm 7 writes it",
                    database.name(), kRocpdDispatchTable)};
  }
  DispatchTable::Processes processes;
  StreamNumbers streams;
  std::set<std::int64_t> nodes;
  for (const std::string& table : tables) {
    STEMTAP_TRY(DispatchTable(database, file_bytes, table.substr(kRocpdDispatchTable.size()),
                              streams, launches)
                    .Read(processes, nodes));
  }
  streams.Finish(database.name(), launches);
  if (nodes.size() > 1) {
    launches.Warn(
        fmt::format("{}: launches of {} machines are in order of start, but clocks of different "
                    "machines disagree; pass the database of each machine as a separate file",
                    database.name(), nodes.size()));
  }
  return Success{};
}

}  // namespace stemtap::formats
