// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "base/decimal.h"
#include "base/memory_source.h"
#include "base/text.h"
#include "formats/importers/importers.h"
#include "formats/importers/recorded_launches.h"

namespace stemtap::formats {
namespace {

enum Column : std::size_t { kName, kCore, kStart, kDuration, kDevice, kStream, kBlocks, kColumns };

// The names of a column in kernel_details.csv, in op_summary_*.csv and in other versions.
constexpr std::array<std::array<std::string_view, 3>, kColumns> kColumnNames = {{
    {"Name", "Op Name", ""},
    {"Accelerator Core", "Task Type", ""},
    {"Start Time(us)", "Task Start Time(us)", ""},
    {"Duration(us)", "Task Duration(us)", ""},
    {"Device_id", "Device Id", "Device ID"},
    {"Stream ID", "Stream Id", "Stream_id"},
    {"Block Dim", "Block Num", "Block Number"},
}};

using Columns = std::array<std::optional<std::size_t>, kColumns>;

// Returns the columns, or nullopt if the line is not the header of such a table.
std::optional<Columns> FindColumns(const std::vector<std::string_view>& cells) {
  Columns columns;
  for (std::size_t column = 0; column < kColumns; ++column) {
    for (const std::string_view name : kColumnNames[column]) {
      if (!columns[column] && !name.empty()) columns[column] = FindCell(cells, name);
    }
  }
  for (const Column needed : {kName, kCore, kStart, kDuration}) {
    if (!columns[needed]) return std::nullopt;
  }
  return columns;
}

class AscendTable {
 public:
  explicit AscendTable(std::unique_ptr<ByteSource> source) : lines_(std::move(source)) {}

  Result<std::unique_ptr<model::ProfileReader>> Read();

 private:
  Status ReadRow();
  // A cell without the tab that msprof appends to times, so that spreadsheets keep their digits.
  std::string_view Cell(Column column) const {
    return columns_[column] ? Trimmed(lines_.cells()[*columns_[column]]) : std::string_view();
  }
  bool IsMissing(Column column) const { return Cell(column).empty() || Cell(column) == "N/A"; }
  Error Bad(Column column, std::string_view expected) const {
    return lines_.At(fmt::format("{} is '{}'; expected {}", ShownCell(header_[*columns_[column]]),
                                 ShownCell(Cell(column)), expected));
  }
  // Converts microseconds to nanoseconds.
  Result<std::uint64_t> Time(Column column);
  // Returns a whole number of at most `max`, or `unknown` if there is none.
  Result<std::uint64_t> Number(Column column, std::uint64_t max, std::uint64_t unknown) const;
  void Report();

  CsvReader lines_;
  std::vector<std::string> header_;
  Columns columns_;
  std::unique_ptr<RecordedLaunches> launches_ = std::make_unique<RecordedLaunches>();
  std::uint64_t no_times_ = 0;
  std::uint64_t first_no_times_ = 0;  // line
};

Result<std::unique_ptr<model::ProfileReader>> AscendTable::Read() {
  Result<bool> more = lines_.NextLine();
  if (!more.ok()) return more.error();
  const std::optional<Columns> columns =
      more.value() && lines_.SplitLine() ? FindColumns(lines_.cells()) : std::nullopt;
  if (!columns) {
    return lines_.At("no header of kernel_details.csv or op_summary.csv; expected Name, ...");
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

Result<std::uint64_t> AscendTable::Time(Column column) {
  const std::optional<std::uint64_t> time = ScaledDecimal(Cell(column), 3);
  if (!time || *time > shm::kUnknownTime >> 2) return Bad(column, "a time in us from 0");
  return *time;
}

Result<std::uint64_t> AscendTable::Number(Column column, std::uint64_t max,
                                          std::uint64_t unknown) const {
  if (IsMissing(column)) return unknown;
  const std::optional<std::uint64_t> value = WholeNumber(Cell(column));
  if (!value || *value > max) {
    return Bad(column, fmt::format("a whole number from 0 to {}", max));
  }
  return *value;
}

Status AscendTable::ReadRow() {
  STEMTAP_TRY(lines_.SplitCells(header_.size()));
  if (IsMissing(kStart) || IsMissing(kDuration)) {
    if (no_times_++ == 0) first_no_times_ = lines_.line();
    return Success{};
  }
  shm::KernelRecord record = RecordedLaunches::Unknown();
  const std::uint64_t start = STEMTAP_TRY(Time(kStart));
  const std::uint64_t duration = STEMTAP_TRY(Time(kDuration));
  const std::uint64_t device = STEMTAP_TRY(Number(kDevice, shm::kUnknown16 - 1, shm::kUnknown16));
  const std::uint64_t stream = STEMTAP_TRY(Number(kStream, shm::kUnknown32 - 1, shm::kUnknown32));
  const std::uint64_t blocks = STEMTAP_TRY(Number(kBlocks, shm::kUnknown32, 0));
  if (Cell(kName).empty()) return Bad(kName, "the name of an operator");
  record.start_ns = start;
  record.duration_ns = duration;
  record.device = static_cast<std::uint16_t>(device);
  record.stream = static_cast<std::uint32_t>(stream);
  if (blocks > 0) {
    record.grid[0] = static_cast<std::uint32_t>(blocks);
    record.grid[1] = record.grid[2] = 1;
  }
  launches_->Add(record, Cell(kName));
  return Success{};
}

void AscendTable::Report() {
  if (no_times_ > 0) {
    launches_->Warn(fmt::format("{}:{}: a row has no start or no duration ({} such rows); skipped",
                                lines_.name(), first_no_times_, no_times_));
  }
  launches_->Finish(lines_.name());
}

}  // namespace

bool LooksLikeAscendCsv(std::string_view leading) {
  CsvReader lines(std::make_unique<MemorySource>("", leading));
  const Result<bool> more = lines.NextLine();
  return more.ok() && more.value() && lines.SplitLine() && FindColumns(lines.cells());
}

Result<std::unique_ptr<model::ProfileReader>> OpenAscendCsv(std::unique_ptr<ByteSource> source) {
  return AscendTable(std::move(source)).Read();
}

}  // namespace stemtap::formats
