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
#include "formats/importers/csv_table.h"
#include "formats/importers/importers.h"
#include "formats/importers/recorded_launches.h"
#include "formats/tally.h"

namespace stemtap::formats {
namespace {

enum Column : std::size_t { kName, kCore, kStart, kDuration, kDevice, kStream, kBlocks, kColumns };

// The names of a column in kernel_details.csv, in op_summary_*.csv and in other versions.
constexpr std::array<std::string_view, kColumns> kColumnNames = {
    "Name|Op Name",
    "Accelerator Core|Task Type",
    "Start Time(us)|Task Start Time(us)",
    "Duration(us)|Task Duration(us)",
    "Device_id|Device Id|Device ID",
    "Stream ID|Stream Id|Stream_id",
    "Block Dim|Block Num|Block Number"};

// Returns the columns, or nullopt if the line is not the header of such a table.
std::optional<CsvTable::Columns> ColumnsOf(const std::vector<std::string_view>& cells) {
  CsvTable::Columns columns =
      FindColumns(kColumnNames, [&](std::string_view name) { return FindCell(cells, name); });
  for (const Column needed : {kName, kCore, kStart, kDuration}) {
    if (!columns[needed]) return std::nullopt;
  }
  return columns;
}

class AscendTable {
 public:
  // msprof appends a tab to times, so that spreadsheets keep their digits.
  explicit AscendTable(std::unique_ptr<ByteSource> source) : table_(std::move(source), Trimmed) {}

  Result<std::unique_ptr<model::ProfileReader>> Read();

 private:
  Status ReadRow();
  bool IsMissing(Column column) const {
    return table_.Cell(column).empty() || table_.Cell(column) == "N/A";
  }
  // Converts microseconds to nanoseconds.
  Result<std::uint64_t> Time(Column column) const;
  // Returns a whole number of at most `max`, or `unknown` if there is none.
  Result<std::uint64_t> Number(Column column, std::uint64_t max, std::uint64_t unknown) const {
    if (IsMissing(column)) return unknown;
    return table_.Number(column, 0, max, unknown);
  }
  void Report();

  CsvTable table_;
  std::unique_ptr<RecordedLaunches> launches_ = std::make_unique<RecordedLaunches>();
  Tally no_times_;
};

Result<std::unique_ptr<model::ProfileReader>> AscendTable::Read() {
  const bool any = STEMTAP_TRY(table_.NextLine());
  std::optional<CsvTable::Columns> columns =
      any && table_.SplitLine() ? ColumnsOf(table_.cells()) : std::nullopt;
  if (!columns) {
    return table_.At("no header of kernel_details.csv or op_summary.csv; expected Name, ...");
  }
  table_.SetHeader(*std::move(columns));
  while (STEMTAP_TRY(table_.NextLine())) {
    if (!table_.text().empty()) STEMTAP_TRY(ReadRow());
  }
  Report();
  return std::unique_ptr<model::ProfileReader>(std::move(launches_));
}

Result<std::uint64_t> AscendTable::Time(Column column) const {
  const std::optional<std::uint64_t> time = ScaledDecimal(table_.Cell(column), 3);
  if (!time || *time > shm::kUnknownTime >> 2) return table_.Bad(column, "a time in us from 0");
  return *time;
}

Status AscendTable::ReadRow() {
  STEMTAP_TRY(table_.SplitCells());
  if (IsMissing(kStart) || IsMissing(kDuration)) {
    no_times_.Add(table_.line());
    return Success{};
  }
  shm::KernelRecord record = RecordedLaunches::Unknown();
  record.start_ns = STEMTAP_TRY(Time(kStart));
  record.duration_ns = STEMTAP_TRY(Time(kDuration));
  record.device = static_cast<std::uint16_t>(
      STEMTAP_TRY(Number(kDevice, shm::kUnknown16 - 1, shm::kUnknown16)));
  record.stream = static_cast<std::uint32_t>(
      STEMTAP_TRY(Number(kStream, shm::kUnknown32 - 1, shm::kUnknown32)));
  const std::uint64_t blocks = STEMTAP_TRY(Number(kBlocks, shm::kUnknown32, 0));
  if (table_.Cell(kName).empty()) return table_.Bad(kName, "the name of an operator");
  if (blocks > 0) {
    record.grid[0] = static_cast<std::uint32_t>(blocks);
    record.grid[1] = record.grid[2] = 1;
  }
  launches_->Add(record, table_.Cell(kName));
  return Success{};
}

void AscendTable::Report() {
  launches_->WarnOfLine(
      table_.name(), no_times_,
      fmt::format("a row has no start or no duration ({} such rows); skipped", no_times_.count));
  launches_->Finish(table_.name());
}

}  // namespace

bool LooksLikeAscendCsv(std::string_view leading) {
  CsvReader lines(std::make_unique<MemorySource>("", leading));
  const Result<bool> more = lines.NextLine();
  return more.ok() && more.value() && lines.SplitLine() && ColumnsOf(lines.cells());
}

Result<std::unique_ptr<model::ProfileReader>> OpenAscendCsv(std::unique_ptr<ByteSource> source) {
  return AscendTable(std::move(source)).Read();
}

}  // namespace stemtap::formats
