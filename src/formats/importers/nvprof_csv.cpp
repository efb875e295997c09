// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
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
#include "formats/importers/launch_fields.h"
#include "formats/importers/recorded_launches.h"
#include "formats/tally.h"

namespace stemtap::formats {
namespace {

// The columns that are read, by their name in the header. Start, Duration and Name are required;
// the others may be missing.
enum Column : std::size_t {
  kStart,
  kDuration,
  kGridX,
  kGridY,
  kGridZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kStaticShared,
  kDynamicShared,
  kDevice,
  kStream,
  kCorrelation,
  kName,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kColumnNames = {
    "Start",   "Duration",    "Grid X",       "Grid Y", "Grid Z", "Block X",        "Block Y",
    "Block Z", "Static SMem", "Dynamic SMem", "Device", "Stream", "Correlation_ID", "Name"};

// Splits the line only if it may be a header.
bool IsHeader(CsvReader& lines) {
  const std::string_view text = lines.text();
  if (!text.starts_with("\"Start\"") && !text.starts_with("Start,")) return false;
  return lines.SplitLine() && FindCell(lines.cells(), "Start") &&
         FindCell(lines.cells(), "Duration") && FindCell(lines.cells(), "Name");
}

// Parses "GeForce GTX 1080 Ti (0)" as device 0.
std::optional<std::uint64_t> DeviceOrdinal(std::string_view text) {
  if (!text.ends_with(')')) return std::nullopt;
  const std::size_t open = text.rfind('(');
  if (open == std::string_view::npos) return std::nullopt;
  return WholeNumber(text.substr(open + 1, text.size() - open - 2));
}

// nvprof uses powers of 1024: 2.128906 KB are 2180 bytes.
std::optional<double> BytesOfUnit(std::string_view unit) {
  if (unit == "B") return 1.0;
  if (unit == "KB") return 0x1p10;
  if (unit == "MB") return 0x1p20;
  if (unit == "GB") return 0x1p30;
  return std::nullopt;
}

class NvprofTable {
 public:
  explicit NvprofTable(std::unique_ptr<ByteSource> source) : table_(std::move(source)) {}

  Result<std::unique_ptr<model::ProfileReader>> Read() {
    bool more = STEMTAP_TRY(table_.NextLine());
    while (more && !IsHeader(table_)) {
      NoteOther();
      more = STEMTAP_TRY(table_.NextLine());
    }
    if (!more) {
      return table_.At("no line \"Start\",\"Duration\",...,\"Name\"; expected a GPU trace");
    }
    STEMTAP_TRY(ReadUnits());
    while (STEMTAP_TRY(table_.NextLine())) STEMTAP_TRY(ReadLine());
    Report();
    return std::unique_ptr<model::ProfileReader>(std::move(launches_));
  }

 private:
  Status ReadUnits();
  Status ReadLine();
  Status AddKernel(std::string_view name);
  Result<std::uint32_t> SharedBytes() const;
  // Handles lines outside the table: nvprof's warnings are passed on, other lines are program
  // output.
  void NoteOther() {
    const std::string_view text = table_.text();
    if (text.starts_with("==") && text.find("Warning:") != std::string_view::npos) {
      launches_->Warn(
          table_.At(fmt::format("nvprof reports '{}'", EscapeForTerminal(text.substr(0, 200))))
              .message);
    } else if (!text.empty() && !text.starts_with("==")) {
      ++others_;
    }
  }
  void Report();

  CsvTable table_;
  int start_exponent_ = 0;
  int duration_exponent_ = 0;
  std::array<double, 2> shared_unit_ = {1.0, 1.0};  // static, dynamic
  std::unique_ptr<RecordedLaunches> launches_ = std::make_unique<RecordedLaunches>();
  StreamNumbers streams_;
  std::uint64_t copies_ = 0;  // memcpy, memset, unified memory
  std::uint64_t others_ = 0;
  std::uint64_t no_suffix_ = 0;
  Tally no_time_;  // launches
};

Status NvprofTable::ReadUnits() {
  table_.SetHeader(FindColumns(
      kColumnNames, [&](std::string_view name) { return FindCell(table_.cells(), name); }));
  const std::size_t width = table_.header().size();
  const bool more = STEMTAP_TRY(table_.NextLine());
  if (!more || !table_.SplitLine() || table_.cells().size() != width || table_.MayBeCut()) {
    return table_.At(fmt::format("expected the units of {} columns below the header", width));
  }
  const std::optional<int> start = TimeExponent(table_.Cell(kStart));
  const std::optional<int> duration = TimeExponent(table_.Cell(kDuration));
  if (!start) return table_.Bad(kStart, "its unit: s, ms, us or ns");
  if (!duration) return table_.Bad(kDuration, "its unit: s, ms, us or ns");
  start_exponent_ = *start;
  duration_exponent_ = *duration;
  for (const Column column : {kStaticShared, kDynamicShared}) {
    if (table_.Cell(column).empty()) continue;
    const std::optional<double> unit = BytesOfUnit(table_.Cell(column));
    if (!unit) return table_.Bad(column, "its unit: B, KB, MB or GB");
    shared_unit_[column - kStaticShared] = *unit;
  }
  return Success{};
}

Status NvprofTable::ReadLine() {
  const std::string_view text = table_.text();
  if (IsHeader(table_)) {
    return table_.At("a second table; expected the trace of one process (--log-file trace.%p.csv)");
  }
  // A row starts with its start time, a decimal number, and a comma. Lines of nvprof (==1234==) or
  // of the program may occur between rows. A line that ends inside the number may be a truncated
  // row.
  const std::size_t number = text.find_first_not_of("0123456789.e+-");
  const bool row = !text.empty() && text[0] >= '0' && text[0] <= '9' &&
                   (number == std::string_view::npos ? table_.MayBeCut() : text[number] == ',');
  if (!row) {
    NoteOther();
    return Success{};
  }
  STEMTAP_TRY(table_.SplitCells());
  const std::string_view name = table_.Cell(kName);
  if (name.empty()) return table_.Bad(kName, "the name of a kernel");
  if (name.starts_with('[')) {
    ++copies_;
    return Success{};
  }
  return AddKernel(name);
}

Result<std::uint32_t> NvprofTable::SharedBytes() const {
  double bytes = 0.0;
  bool known = false;
  for (const Column column : {kStaticShared, kDynamicShared}) {
    const std::string_view cell = table_.Cell(column);
    if (cell.empty()) continue;
    const std::optional<std::uint64_t> millionths = ScaledDecimal(cell, 6);
    if (!millionths) return table_.Bad(column, "a number from 0");
    known = true;
    bytes +=
        std::round(static_cast<double>(*millionths) * 1e-6 * shared_unit_[column - kStaticShared]);
    if (bytes >= static_cast<double>(shm::kUnknown32)) return table_.Bad(column, "less than 4 GiB");
  }
  return known ? static_cast<std::uint32_t>(bytes) : shm::kUnknown32;
}

Status NvprofTable::AddKernel(std::string_view name) {
  shm::KernelRecord record = RecordedLaunches::Unknown();
  const auto start = ScaledDecimal(table_.Cell(kStart), start_exponent_);
  if (!start) return table_.Bad(kStart, "a decimal number from 0");
  const auto duration = ScaledDecimal(table_.Cell(kDuration), duration_exponent_);
  if (!duration) return table_.Bad(kDuration, "a decimal number from 0");
  record.start_ns = *start;
  record.duration_ns = *duration;
  if (*start == 0 && *duration == 0) {
    no_time_.Add(table_.line());
    record.start_ns = shm::kUnknownTime;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    record.grid[i] = static_cast<std::uint32_t>(
        STEMTAP_TRY(table_.Number(kGridX + i, 1, 0xFFFFFFFF, shm::kUnknownExtent)));
    record.block[i] = static_cast<std::uint16_t>(
        STEMTAP_TRY(table_.Number(kBlockX + i, 1, 0xFFFF, shm::kUnknownExtent)));
  }
  const std::string_view stream = table_.Cell(kStream);
  if (!stream.empty()) {
    if (stream.find_first_of("0123456789") == std::string_view::npos) {
      return table_.Bad(kStream, "the number of a stream");
    }
    record.stream = streams_.Of(stream);
  }
  record.shared_bytes = STEMTAP_TRY(SharedBytes());
  if (!table_.Cell(kDevice).empty()) {
    const std::optional<std::uint64_t> device = DeviceOrdinal(table_.Cell(kDevice));
    if (!device || *device >= shm::kUnknown16) return table_.Bad(kDevice, "'NAME (0)'");
    record.device = static_cast<std::uint16_t>(*device);
  }
  std::optional<std::uint64_t> correlation;
  if (table_.Has(kCorrelation)) {
    correlation = WholeNumber(table_.Cell(kCorrelation));
  } else if (const std::size_t open = name.rfind(" [");
             name.ends_with(']') && open != std::string_view::npos && open > 0) {
    correlation = WholeNumber(name.substr(open + 2, name.size() - open - 3));
    if (correlation) name = name.substr(0, open);
  }
  if (correlation) {
    record.correlation_id = static_cast<std::uint32_t>(*correlation);
  } else {
    ++no_suffix_;
  }
  launches_->Add(record, name);
  return Success{};
}

void NvprofTable::Report() {
  const std::string& file = table_.name();
  launches_->WarnOfCount(file, copies_, "row is a copy, a set or unified memory",
                         "rows are copies, sets and unified memory", "; skipped");
  launches_->WarnOfCount(file, others_, "line is", "lines are", " outside the trace; skipped");
  launches_->WarnOfCount(file, no_suffix_, "launch has", "launches have", " no correlation id");
  launches_->WarnOfLine(file, no_time_,
                        fmt::format("a row has no time: start and duration are 0 ({} such rows); "
                                    "counted with 0 ns",
                                    no_time_.count));
  streams_.Finish(file, *launches_);
  launches_->Finish(file);
}

}  // namespace

bool LooksLikeNvprofCsv(std::string_view leading) {
  CsvReader lines(std::make_unique<MemorySource>("", leading));
  for (Result<bool> more = lines.NextLine(); more.ok() && more.value(); more = lines.NextLine()) {
    if (IsHeader(lines)) return true;
  }
  return false;
}

Result<std::unique_ptr<model::ProfileReader>> OpenNvprofCsv(std::unique_ptr<ByteSource> source) {
  return NvprofTable(std::move(source)).Read();
}

}  // namespace stemtap::formats
