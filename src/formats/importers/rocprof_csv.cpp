// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/rocprof_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
#include "formats/importers/recorded_launches.h"
#include "formats/importers/rocprof_kernel.h"

namespace stemtap::formats {
namespace {

// The columns that are read, in lower case, because rocprofv3 and rocpd use different case.
enum Column : std::size_t {
  kKind,
  kAgent,
  kQueue,
  kStream,
  kKernelId,
  kKernelName,
  kCorrelation,
  kStart,
  kEnd,
  kLds,
  kGroupSegment,
  kWorkgroupX,
  kWorkgroupY,
  kWorkgroupZ,
  kGridX,
  kGridY,
  kGridZ,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kColumnNames = {"kind",
                                                                 "agent_id",
                                                                 "queue_id",
                                                                 "stream_id",
                                                                 "kernel_id",
                                                                 "kernel_name",
                                                                 "correlation_id",
                                                                 "start_timestamp",
                                                                 "end_timestamp",
                                                                 "lds_block_size",
                                                                 "group_segment_size",
                                                                 "workgroup_size_x",
                                                                 "workgroup_size_y",
                                                                 "workgroup_size_z",
                                                                 "grid_size_x",
                                                                 "grid_size_y",
                                                                 "grid_size_z"};

using Columns = std::array<std::optional<std::size_t>, kColumns>;

// Returns the columns of a kernel trace, or nullopt if the line is not the header of a kernel
// trace.
std::optional<Columns> FindColumns(const std::vector<std::string_view>& cells) {
  Columns columns;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto* const at = std::find(kColumnNames.begin(), kColumnNames.end(), LowerCase(cells[i]));
    if (at != kColumnNames.end()) columns[static_cast<std::size_t>(at - kColumnNames.begin())] = i;
  }
  // Counter files have the same format, with one row per counter of a launch.
  for (const std::string_view cell : cells) {
    if (LowerCase(cell) == "counter_name") return std::nullopt;
  }
  for (const Column needed : {kKernelName, kStart, kEnd}) {
    if (!columns[needed]) return std::nullopt;
  }
  return columns;
}

// Agents are numbered together with CPUs ("Agent 4", or 4) or by type ("GPU 3").
struct Agent {
  std::uint64_t number = 0;
  bool is_ordinal = false;  // the number counts only GPUs
};

std::optional<Agent> ParseAgent(std::string_view text) {
  Agent agent;
  for (const std::string_view prefix : {"Agent ", "GPU ", "GPU-"}) {
    if (!text.starts_with(prefix)) continue;
    text.remove_prefix(prefix.size());
    agent.is_ordinal = prefix != "Agent ";
    break;
  }
  const std::optional<std::uint64_t> number = WholeNumber(text);
  if (!number) return std::nullopt;
  agent.number = *number;
  return agent;
}

class RocprofTrace {
 public:
  explicit RocprofTrace(std::unique_ptr<ByteSource> source) : lines_(std::move(source)) {}

  Result<std::unique_ptr<model::ProfileReader>> Read();

 private:
  // A kernel name and the kernels that have it.
  struct Name {
    std::uint32_t id = 0;
    std::uint64_t kernel_id = 0;
    bool several = false;  // several kernels with different ids
  };

  Status ReadRow();
  std::string_view Cell(Column column) const {
    return columns_[column] ? lines_.cells()[*columns_[column]] : std::string_view();
  }
  Error Bad(Column column, std::string_view expected) const {
    return lines_.At(fmt::format("{} is '{}'; expected {}", ShownCell(header_[*columns_[column]]),
                                 ShownCell(Cell(column)), expected));
  }
  // Returns a whole number in [least, most], or `unknown` if the column is missing or the cell is
  // empty.
  Result<std::uint64_t> Number(Column column, std::uint64_t min, std::uint64_t max,
                               std::uint64_t unknown) const;
  Status SetExtents(shm::KernelRecord& record);
  Status SetPlace(shm::KernelRecord& record);
  // Maps agents to device ordinals once all agents are known.
  std::map<std::uint64_t, std::uint16_t> Devices();
  Name& NameOf(std::string_view name);
  void WarnOfNames();
  void Report();

  CsvReader lines_;
  std::vector<std::string> header_;
  Columns columns_;
  struct Row {
    shm::KernelRecord record;
    std::uint32_t name_id;
    std::uint64_t agent;
  };
  std::vector<Row> rows_;
  static constexpr std::uint64_t kNoAgent = ~std::uint64_t{0};
  std::set<std::uint64_t> agents_;
  bool agents_are_ordinals_ = false;
  std::unordered_map<std::uint64_t, std::uint32_t> long_queues_;
  std::unordered_map<std::string, Name> names_;
  std::unique_ptr<RecordedLaunches> launches_ = std::make_unique<RecordedLaunches>();
  std::uint64_t other_kinds_ = 0;
  std::uint64_t uneven_ = 0;
};

Result<std::unique_ptr<model::ProfileReader>> RocprofTrace::Read() {
  Result<bool> more = lines_.NextLine();
  if (!more.ok()) return more.error();
  const std::optional<Columns> columns =
      more.value() && lines_.SplitLine() ? FindColumns(lines_.cells()) : std::nullopt;
  if (!columns) {
    return lines_.At("no header of a kernel trace; expected Kernel_Name, Start_Timestamp, ...");
  }
  columns_ = *columns;
  header_.assign(lines_.cells().begin(), lines_.cells().end());
  for (more = lines_.NextLine(); more.ok() && more.value(); more = lines_.NextLine()) {
    if (lines_.text().empty()) continue;
    STEMTAP_TRY(ReadRow());
  }
  if (!more.ok()) return more.error();
  Report();
  return std::unique_ptr<model::ProfileReader>(std::move(launches_));
}

Result<std::uint64_t> RocprofTrace::Number(Column column, std::uint64_t min, std::uint64_t max,
                                           std::uint64_t unknown) const {
  const std::string_view cell = Cell(column);
  if (cell.empty()) return unknown;
  const std::optional<std::uint64_t> value = WholeNumber(cell);
  if (!value || *value < min || *value > max) {
    return Bad(column, fmt::format("a whole number from {} to {}", min, max));
  }
  return *value;
}

// Converts the grid from work-items to work-groups, which the hardware dispatches. The last
// work-group is partly filled if the sizes do not divide evenly.
Status RocprofTrace::SetExtents(shm::KernelRecord& record) {
  bool uneven = false;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto group = STEMTAP_TRY(Number(static_cast<Column>(kWorkgroupX + i), 1, 0xFFFF, 0));
    const auto items =
        STEMTAP_TRY(Number(static_cast<Column>(kGridX + i), 1, std::uint64_t{1} << 48, 0));
    record.block[i] = static_cast<std::uint16_t>(group);
    if (group == 0 || items == 0) continue;
    const std::uint64_t groups = WorkGroups(items, group);
    if (groups > 0xFFFFFFFF) return Bad(static_cast<Column>(kGridX + i), "fewer work-groups");
    record.grid[i] = static_cast<std::uint32_t>(groups);
    uneven = uneven || items % group != 0;
  }
  uneven_ += uneven ? 1 : 0;
  return Success{};
}

Status RocprofTrace::SetPlace(shm::KernelRecord& record) {
  const Column column = columns_[kStream] ? kStream : kQueue;
  const auto stream = Number(column, 0, ~std::uint64_t{0}, shm::kUnknown32);
  if (!stream.ok()) return stream.error();
  if (stream.value() <= shm::kUnknown32) {
    record.stream = static_cast<std::uint32_t>(stream.value());
  } else {  // early versions write the address of the queue
    const auto next = static_cast<std::uint32_t>(long_queues_.size());
    record.stream = long_queues_.try_emplace(stream.value(), next).first->second;
  }
  const auto shared = STEMTAP_TRY(
      Number(columns_[kLds] ? kLds : kGroupSegment, 0, shm::kUnknown32 - 1, shm::kUnknown32));
  record.shared_bytes = static_cast<std::uint32_t>(shared);
  const auto correlation = STEMTAP_TRY(Number(kCorrelation, 0, ~std::uint64_t{0}, 0));
  record.correlation_id = static_cast<std::uint32_t>(correlation);
  return Success{};
}

RocprofTrace::Name& RocprofTrace::NameOf(std::string_view name) {
  name = RocprofKernelName(name);
  const auto [at, is_new] = names_.try_emplace(std::string(name));
  if (is_new) at->second.id = launches_->Name(name);
  return at->second;
}

Status RocprofTrace::ReadRow() {
  STEMTAP_TRY(lines_.SplitCells(header_.size()));
  if (columns_[kKind] && Cell(kKind) != "KERNEL_DISPATCH") {
    ++other_kinds_;
    return Success{};
  }
  Row row = {RecordedLaunches::Unknown(), 0, kNoAgent};
  const auto start = Number(kStart, 0, shm::kUnknownTime >> 1, shm::kUnknownTime);
  if (!start.ok()) return start.error();
  const auto end = STEMTAP_TRY(Number(kEnd, 0, shm::kUnknownTime >> 1, shm::kUnknownTime));
  if (start.value() == shm::kUnknownTime) return Bad(kStart, "a whole number of ns");
  if (end == shm::kUnknownTime) return Bad(kEnd, "a whole number of ns");
  if (end < start.value()) {
    return Bad(kEnd, fmt::format("at least the start, {}", start.value()));
  }
  row.record.start_ns = start.value();
  row.record.duration_ns = end - start.value();
  STEMTAP_TRY(SetExtents(row.record));
  STEMTAP_TRY(SetPlace(row.record));
  if (!Cell(kAgent).empty()) {
    const std::optional<Agent> agent = ParseAgent(Cell(kAgent));
    if (!agent || agent->number >= shm::kUnknown16) return Bad(kAgent, "'Agent 1', 'GPU 0' or 1");
    row.agent = agent->number;
    if (agents_.empty()) agents_are_ordinals_ = agent->is_ordinal;
    if (agents_are_ordinals_ != agent->is_ordinal) {
      return Bad(kAgent, "either 'Agent 1' or 'GPU 0' in the whole file");
    }
    agents_.insert(agent->number);
  }
  if (Cell(kKernelName).empty()) return Bad(kKernelName, "the name of a kernel");
  const auto kernel_id = Number(kKernelId, 0, ~std::uint64_t{0}, 0);
  if (!kernel_id.ok()) return kernel_id.error();
  Name& name = NameOf(Cell(kKernelName));
  if (name.kernel_id == 0) name.kernel_id = kernel_id.value();
  name.several = name.several || (kernel_id.value() != 0 && name.kernel_id != kernel_id.value());
  row.name_id = name.id;
  rows_.push_back(row);
  return Success{};
}

std::map<std::uint64_t, std::uint16_t> RocprofTrace::Devices() {
  std::map<std::uint64_t, std::uint16_t> devices;
  std::string taken;
  for (const std::uint64_t number : agents_) {
    const auto device = static_cast<std::uint16_t>(agents_are_ordinals_ ? number : devices.size());
    devices.emplace(number, device);
    taken += fmt::format("{}{} as {}", taken.empty() ? "" : ", ", number, device);
  }
  if (agents_.size() > 1 && !agents_are_ordinals_) {
    launches_->Warn(fmt::format("{}: agent numbers include CPUs, so devices are renumbered: {}",
                                lines_.name(), taken));
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
                  lines_.name(), merged.size(), ShownCell(*merged.begin())));
}

void RocprofTrace::Report() {
  if (other_kinds_ > 0) {
    launches_->Warn(
        fmt::format("{}: {}; skipped", lines_.name(),
                    Plural(other_kinds_, "row is not a kernel", "rows are not kernels")));
  }
  if (uneven_ > 0) {
    launches_->Warn(
        fmt::format("{}: {} a grid that is not a multiple of the work-group; rounded up",
                    lines_.name(), Plural(uneven_, "launch has", "launches have")));
  }
  if (!long_queues_.empty()) {
    launches_->Warn(fmt::format("{}: queues are addresses; they are numbered 0 to {}",
                                lines_.name(), long_queues_.size() - 1));
  }
  WarnOfNames();
  const std::map<std::uint64_t, std::uint16_t> devices = Devices();
  for (Row& row : rows_) {
    if (row.agent != kNoAgent) row.record.device = devices.at(row.agent);
    launches_->Add(row.record, row.name_id);
  }
  launches_->Finish(lines_.name());
}

}  // namespace

bool LooksLikeRocprofCsv(std::string_view leading) {
  CsvReader lines(std::make_unique<MemorySource>("", leading));
  const Result<bool> more = lines.NextLine();
  return more.ok() && more.value() && lines.SplitLine() && FindColumns(lines.cells());
}

Result<std::unique_ptr<model::ProfileReader>> OpenRocprofCsv(std::unique_ptr<ByteSource> source) {
  return RocprofTrace(std::move(source)).Read();
}

}  // namespace stemtap::formats
