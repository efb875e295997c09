// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "base/decimal.h"
#include "base/memory_source.h"
#include "base/text.h"
#include "formats/importers/csv_table.h"
#include "formats/importers/importers.h"
#include "formats/importers/launch_fields.h"
#include "formats/importers/recorded_launches.h"

namespace stemtap::formats {
namespace {

// The columns that are read.
enum Column : std::size_t {
  kKind,
  kDomain,
  kAgent,
  kQueue,
  kStream,
  kProcess,
  kDispatch,
  kXcc,
  kKernelId,
  kKernelName,
  kCorrelation,
  kStart,
  kEnd,
  kShared,
  kWorkgroupX,
  kWorkgroupY,
  kWorkgroupZ,
  kWorkgroup,
  kGridX,
  kGridY,
  kGridZ,
  kGrid,
  kColumns
};

// Names of the columns in lower case, because tools and versions use different case.
constexpr std::array<std::string_view, kColumns> kColumnNames = {
    "kind",
    "domain",
    "agent_id|gpu_id|gpu-id",
    "queue_id|queue-id",
    "stream_id",
    "guid|process_id|pid",
    "dispatch_id|index",
    "xcc_index",
    "kernel_id",
    "kernel_name|kernelname",
    "correlation_id",
    "start_timestamp|beginns",
    "end_timestamp|stop_timestamp|endns",
    "lds_block_size|group_segment_size|lds_per_workgroup|lds",
    "workgroup_size_x",
    "workgroup_size_y",
    "workgroup_size_z",
    "workgroup_size|wgr",
    "grid_size_x",
    "grid_size_y",
    "grid_size_z",
    "grid_size|grd"};

constexpr std::uint64_t kMaxItems = std::uint64_t{1} << 48;  // of a grid

std::vector<std::string> LowerCaseCells(const std::vector<std::string_view>& cells) {
  std::vector<std::string> lower;
  lower.reserve(cells.size());
  for (const std::string_view cell : cells) lower.push_back(LowerCase(cell));
  return lower;
}

bool Contains(const std::vector<std::string>& header, std::string_view name) {
  return std::find(header.begin(), header.end(), name) != header.end();
}

CsvTable::Columns ColumnsOf(const std::vector<std::string>& header) {
  return FindColumns(kColumnNames, [&](std::string_view name) -> std::optional<std::size_t> {
    const auto at = std::find(header.begin(), header.end(), name);
    if (at == header.end()) return std::nullopt;
    return static_cast<std::size_t>(at - header.begin());
  });
}

RocprofRow RowOf(const std::vector<std::string>& header, const CsvTable::Columns& columns) {
  const bool timed = columns[kStart] && columns[kEnd];
  if (Contains(header, "counter_name")) return RocprofRow::kCounter;
  if (columns[kDomain] && Contains(header, "function")) return RocprofRow::kApiCall;
  if (columns[kKernelName] && timed) return RocprofRow::kLaunch;
  // rocprofv3 always writes times.
  if (columns[kKernelName] && columns[kAgent] && columns[kWorkgroup] && columns[kGrid]) {
    return RocprofRow::kLaunchWithoutTimes;
  }
  const bool summary = Contains(header, "calls") && Contains(header, "totaldurationns");
  return summary ? RocprofRow::kSummary : RocprofRow::kUnknown;
}

// The number or the name of a GPU. Agents are numbered together with CPUs ("Agent 4", or 4) or by
// type ("GPU 3").
struct Agent {
  bool is_name = false;
  std::uint64_t number = 0;
  std::string name;

  auto operator<=>(const Agent&) const = default;
  std::string Shown() const { return is_name ? ShownCell(name) : std::to_string(number); }
};

// Parses "Agent 4", "GPU 3", 4 or any name. `is_ordinal` is set if the number counts only GPUs.
Agent ParseAgent(std::string_view text, bool& is_ordinal) {
  std::string_view rest = text;
  is_ordinal = false;
  for (const std::string_view prefix : {"Agent ", "GPU ", "GPU-"}) {
    if (!text.starts_with(prefix)) continue;
    rest.remove_prefix(prefix.size());
    is_ordinal = prefix != "Agent ";
    break;
  }
  if (const std::optional<std::uint64_t> number = WholeNumber(rest)) return {false, *number, {}};
  return {true, 0, std::string(text)};
}

// The oldest rocprof shows a missing value as None.
std::string_view WithoutNone(std::string_view cell) {
  return cell == "None" ? std::string_view() : cell;
}

class RocprofTrace {
 public:
  explicit RocprofTrace(std::unique_ptr<ByteSource> source)
      : table_(std::move(source), WithoutNone) {}

  Result<std::unique_ptr<model::ProfileReader>> Read();

 private:
  // A kernel name and the kernels that have it.
  struct Name {
    std::uint32_t id = 0;
    std::uint64_t kernel_id = 0;
    bool several = false;  // several kernels with different ids
  };
  struct Row {
    shm::KernelRecord record;
    std::uint32_t name_id = 0;
    std::uint32_t agent = kNoAgent;  // index into agents_
    std::uint32_t process = 0;
  };
  static constexpr std::uint32_t kNoAgent = ~std::uint32_t{0};

  Status ReadHeader();
  Status ReadRow();
  Result<std::int64_t> Time(Column column);
  Result<bool> IsKernel();
  Status SetExtents(shm::KernelRecord& record);
  Status SetAxis(shm::KernelRecord& record, std::size_t axis, std::size_t group_column,
                 std::size_t items_column);
  Status SetPlace(shm::KernelRecord& record);
  Status SetAgent(Row& row);
  Status SetName(Row& row);
  // Maps agents to devices once all agents are known.
  std::vector<std::uint16_t> Devices();
  std::uint32_t ProcessNumber();
  void WarnOfNames();
  void Report();

  CsvTable table_;
  std::vector<Row> rows_;
  std::map<Agent, std::uint32_t> agents_;  // to the order of appearance
  bool agents_are_ordinals_ = false;
  // Of the last row that has an agent and a process: rows of either are often together.
  struct Last {
    std::string agent_text;
    std::uint32_t agent = kNoAgent;  // index
    std::string process_text;
    std::uint32_t process = 0;  // number
  };
  Last last_;
  StreamNumbers streams_;
  std::unordered_map<std::string, Name> names_;
  std::unordered_map<std::string, std::uint32_t> processes_;
  RowTimes times_{kRocprofTimes};
  std::unique_ptr<RecordedLaunches> launches_ = std::make_unique<RecordedLaunches>();
  // What the warnings report.
  struct Counts {
    std::uint64_t other_kinds = 0;
    std::uint64_t other_xccs = 0;
    std::uint64_t rounded_times = 0;
    std::uint64_t uneven = 0;
    std::uint64_t flat = 0;  // launches whose extents are totals of three dimensions
  };
  Counts counts_;
  bool uneven_row_ = false;  // of the current row
};

Status RocprofTrace::ReadHeader() {
  const bool any = STEMTAP_TRY(table_.NextLine());
  if (any && table_.SplitLine()) {
    const std::vector<std::string> header = LowerCaseCells(table_.cells());
    CsvTable::Columns columns = ColumnsOf(header);
    if (RowOf(header, columns) == RocprofRow::kLaunch) {
      table_.SetHeader(std::move(columns));
      return Success{};
    }
  }
  return table_.At("no header of a kernel trace; expected Kernel_Name, Start_Timestamp, ...");
}

Result<std::unique_ptr<model::ProfileReader>> RocprofTrace::Read() {
  STEMTAP_TRY(ReadHeader());
  if (!table_.Has(kStream)) launches_->StreamsAreQueues();
  if (table_.Has(kDispatch)) launches_->NameIds(kRocprofIdName, kRocprofIdOffset);
  while (STEMTAP_TRY(table_.NextLine())) {
    if (!table_.text().empty()) STEMTAP_TRY(ReadRow());
  }
  Report();
  return std::unique_ptr<model::ProfileReader>(std::move(launches_));
}

// Returns a time in ns, or kNone if it is missing. Omniperf writes means of several runs, which
// have decimals.
Result<std::int64_t> RocprofTrace::Time(Column column) {
  const std::string_view cell = table_.Cell(column);
  if (cell.empty()) return RowTimes::kNone;
  std::optional<std::uint64_t> time = WholeNumber(cell);
  if (!time) {
    const std::optional<JsonDecimal> decimal = ParseDecimal(cell, 0);
    if (decimal && (!decimal->negative || decimal->magnitude == 0)) {
      time = decimal->magnitude;
      counts_.rounded_times += decimal->exact ? 0 : 1;
    }
  }
  if (!time || *time >= static_cast<std::uint64_t>(kStartOffset)) {
    return table_.Bad(column, "a whole number of ns, at most 2^62");
  }
  return static_cast<std::int64_t>(*time);
}

// Sets one dimension. The grid is converted from work-items to work-groups, which the hardware
// dispatches. The last work-group is partly filled if the sizes do not divide evenly.
Status RocprofTrace::SetAxis(shm::KernelRecord& record, std::size_t axis, std::size_t group_column,
                             std::size_t items_column) {
  const auto group = STEMTAP_TRY(table_.Number(group_column, 1, 0xFFFF, 0));
  const auto items = STEMTAP_TRY(table_.Number(items_column, 1, kMaxItems, 0));
  record.block[axis] = static_cast<std::uint16_t>(group);
  if (group == 0 || items == 0) return Success{};
  const std::uint64_t groups = WorkGroups(items, group);
  if (groups > 0xFFFFFFFF) return table_.Bad(items_column, "fewer work-groups");
  record.grid[axis] = static_cast<std::uint32_t>(groups);
  uneven_row_ = uneven_row_ || items % group != 0;
  return Success{};
}

Status RocprofTrace::SetExtents(shm::KernelRecord& record) {
  uneven_row_ = false;
  if (table_.Has(kWorkgroupX) || table_.Has(kGridX)) {
    for (std::size_t i = 0; i < 3; ++i) {
      STEMTAP_TRY(SetAxis(record, i, kWorkgroupX + i, kGridX + i));
    }
  } else if (table_.Has(kWorkgroup) && table_.Has(kGrid)) {
    STEMTAP_TRY(SetAxis(record, 0, kWorkgroup, kGrid));
    if (record.grid[0] != 0) {
      std::fill(record.grid + 1, record.grid + 3, 1);
      std::fill(record.block + 1, record.block + 3, 1);
      ++counts_.flat;
    }
  }
  counts_.uneven += uneven_row_ ? 1 : 0;
  return Success{};
}

Status RocprofTrace::SetPlace(shm::KernelRecord& record) {
  const std::string_view stream = table_.Cell(table_.Has(kStream) ? kStream : kQueue);
  if (!stream.empty()) record.stream = streams_.Of(stream);
  record.shared_bytes = static_cast<std::uint32_t>(
      STEMTAP_TRY(table_.Number(kShared, 0, shm::kUnknown32 - 1, shm::kUnknown32)));
  const Column order = table_.Has(kDispatch) ? kDispatch : kCorrelation;
  if (table_.Cell(order).empty()) return Success{};
  const auto id = STEMTAP_TRY(table_.Number(order, 0, ~std::uint64_t{0}, 0));
  record.correlation_id =
      order == kDispatch ? RocprofLaunchNumber(id) : static_cast<std::uint32_t>(id);
  return Success{};
}

Status RocprofTrace::SetAgent(Row& row) {
  const std::string_view text = table_.Cell(kAgent);
  if (text.empty()) return Success{};
  if (text == last_.agent_text) {
    row.agent = last_.agent;
    return Success{};
  }
  bool is_ordinal = false;
  const Agent agent = ParseAgent(text, is_ordinal);
  if (agents_.empty()) agents_are_ordinals_ = is_ordinal;
  if (agents_are_ordinals_ != is_ordinal) {
    return table_.Bad(kAgent, "either 'Agent 1' or 'GPU 0' in the whole file");
  }
  const auto next = static_cast<std::uint32_t>(agents_.size());
  last_.agent = agents_.try_emplace(agent, next).first->second;
  last_.agent_text = text;
  row.agent = last_.agent;
  return Success{};
}

Status RocprofTrace::SetName(Row& row) {
  const std::string_view symbol = table_.Cell(kKernelName);
  if (symbol.empty()) return table_.Bad(kKernelName, "the name of a kernel");
  const auto kernel_id = STEMTAP_TRY(table_.Number(kKernelId, 0, ~std::uint64_t{0}, 0));
  const std::string_view text = RocprofKernelName(symbol);
  const auto [at, is_new] = names_.try_emplace(std::string(text));
  Name& name = at->second;
  if (is_new) name.id = launches_->Name(text);
  if (name.kernel_id == 0) name.kernel_id = kernel_id;
  name.several = name.several || (kernel_id != 0 && name.kernel_id != kernel_id);
  row.name_id = name.id;
  return Success{};
}

// Returns the number of the row's process, by order of appearance.
std::uint32_t RocprofTrace::ProcessNumber() {
  if (!table_.Has(kProcess)) return 0;
  const std::string_view id = table_.Cell(kProcess);
  if (!processes_.empty() && id == last_.process_text) return last_.process;
  last_.process_text = id;
  const auto next = static_cast<std::uint32_t>(processes_.size());
  last_.process = processes_.try_emplace(last_.process_text, next).first->second;
  return last_.process;
}

// Returns whether the row is a kernel, and counts it otherwise.
Result<bool> RocprofTrace::IsKernel() {
  const bool other = (table_.Has(kKind) && table_.Cell(kKind) != "KERNEL_DISPATCH") ||
                     (table_.Has(kDomain) && table_.Cell(kKernelName).empty());
  if (other) {
    ++counts_.other_kinds;
    return false;
  }
  const auto xcc = STEMTAP_TRY(table_.Number(kXcc, 0, ~std::uint64_t{0}, 0));
  counts_.other_xccs += xcc != 0 ? 1 : 0;
  return xcc == 0;
}

Status RocprofTrace::ReadRow() {
  STEMTAP_TRY(table_.SplitCells());
  if (!STEMTAP_TRY(IsKernel())) return Success{};
  Row row;
  row.record = RecordedLaunches::Unknown();
  const std::int64_t start = STEMTAP_TRY(Time(kStart));
  const std::int64_t end = STEMTAP_TRY(Time(kEnd));
  if (!times_.Set(start, end, table_.line(), row.record)) return Success{};
  STEMTAP_TRY(SetExtents(row.record));
  STEMTAP_TRY(SetPlace(row.record));
  STEMTAP_TRY(SetAgent(row));
  STEMTAP_TRY(SetName(row));
  row.process = ProcessNumber();
  rows_.push_back(row);
  return Success{};
}

std::vector<std::uint16_t> RocprofTrace::Devices() {
  constexpr std::size_t kMaxShown = 16;
  bool renumbered = !agents_are_ordinals_;
  bool odd = false;
  for (const auto& [agent, index] : agents_) {
    odd = odd || agent.is_name || agent.number >= shm::kUnknown16;
  }
  renumbered = renumbered || odd;
  std::vector<std::uint16_t> devices(agents_.size());
  std::string taken;
  std::size_t next = 0;
  for (const auto& [agent, index] : agents_) {  // in ascending order, names last
    const std::uint64_t device = renumbered ? next : agent.number;
    devices[index] = static_cast<std::uint16_t>(std::min<std::uint64_t>(device, shm::kUnknown16));
    if (next < kMaxShown) {
      taken += fmt::format("{}{} as {}", next == 0 ? "" : ", ", agent.Shown(), device);
    }
    ++next;
  }
  if (next > kMaxShown) taken += ", ...";
  if (odd) {
    launches_->Warn(fmt::format("{}: agents are not device numbers, so devices are renumbered: {}",
                                table_.name(), taken));
  } else if (agents_.size() > 1 && renumbered) {
    launches_->Warn(fmt::format("{}: agent numbers include CPUs, so devices are renumbered: {}",
                                table_.name(), taken));
  }
  return devices;
}

// If several kernels share a name without parameters, the name does not identify the launched
// kernel.
void RocprofTrace::WarnOfNames() {
  if (agents_.size() > 1) return;  // each device loads its own copy of a kernel, with its own id
  std::set<std::string> merged;
  for (const auto& [name, of] : names_) {
    if (of.several && name.find('(') == std::string::npos && !name.starts_with("_Z")) {
      merged.insert(name);
    }
  }
  if (merged.empty()) return;
  launches_->Warn(
      fmt::format("{}: {} names look truncated and each may cover several kernels, such as '{}'; "
                  "record without --truncate-kernels",
                  table_.name(), merged.size(), ShownCell(*merged.begin())));
}

void RocprofTrace::Report() {
  const std::string& file = table_.name();
  launches_->WarnOfCount(file, counts_.other_kinds, "row is not a kernel", "rows are not kernels",
                         "; skipped");
  launches_->WarnOfCount(file, counts_.other_xccs, "row repeats", "rows repeat",
                         " a launch for another XCC; skipped");
  times_.WarnOfLines(file, *launches_);
  launches_->WarnOfCount(file, counts_.rounded_times, "time is", "times are",
                         " finer than 1 ns; rounded");
  launches_->WarnOfCount(file, counts_.uneven, "launch has", "launches have",
                         " a grid that is not a multiple of the work-group; rounded up");
  launches_->WarnOfCount(
      file, counts_.flat, "launch has", "launches have",
      " only total sizes of the grid and the work-group; they are in grid_x and block_x");
  WarnOfNames();
  const std::vector<std::uint16_t> devices = Devices();
  for (Row& row : rows_) {
    if (row.agent != kNoAgent) row.record.device = devices[row.agent];
    if (table_.Has(kProcess)) launches_->SetProcess(row.process);
    launches_->Add(row.record, row.name_id);
  }
  streams_.Finish(file, *launches_);
  launches_->Finish(file);
}

}  // namespace

RocprofRow RocprofRowOf(std::string_view leading) {
  CsvReader lines(std::make_unique<MemorySource>("", leading));
  const Result<bool> more = lines.NextLine();
  if (!more.ok() || !more.value() || !lines.SplitLine()) return RocprofRow::kUnknown;
  const std::vector<std::string> header = LowerCaseCells(lines.cells());
  return RowOf(header, ColumnsOf(header));
}

bool LooksLikeRocprofCsv(std::string_view leading) {
  return RocprofRowOf(leading) == RocprofRow::kLaunch;
}

Result<std::unique_ptr<model::ProfileReader>> OpenRocprofCsv(std::unique_ptr<ByteSource> source) {
  return RocprofTrace(std::move(source)).Read();
}

}  // namespace stemtap::formats
