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
#include "formats/importers/importers.h"
#include "formats/importers/recorded_launches.h"
#include "formats/importers/stream_numbers.h"

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
  explicit NvprofTable(std::unique_ptr<ByteSource> source) : lines_(std::move(source)) {}

  Result<std::unique_ptr<model::ProfileReader>> Read() {
    Result<bool> more = lines_.NextLine();
    for (; more.ok() && more.value() && !IsHeader(lines_); more = lines_.NextLine()) NoteOther();
    if (!more.ok()) return more.error();
    if (!more.value()) {
      return lines_.At("no line \"Start\",\"Duration\",...,\"Name\"; expected a GPU trace");
    }
    STEMTAP_TRY(ReadUnits());
    for (more = lines_.NextLine(); more.ok() && more.value(); more = lines_.NextLine()) {
      STEMTAP_TRY(ReadLine());
    }
    if (!more.ok()) return more.error();
    Report();
    return std::unique_ptr<model::ProfileReader>(std::move(launches_));
  }

 private:
  Status ReadUnits();
  Status ReadLine();
  Status AddKernel(std::string_view name);
  Error Bad(Column column, std::string_view expected) const {
    return lines_.At(fmt::format("{} is '{}'; expected {}", kColumnNames[column],
                                 ShownCell(Cell(column)), expected));
  }
  std::string_view Cell(Column column) const {
    return columns_[column] ? lines_.cells()[*columns_[column]] : std::string_view();
  }
  // Returns a whole number in [least, most], or `unknown` if the cell is empty or the column is
  // missing.
  Result<std::uint64_t> Number(Column column, std::uint64_t min, std::uint64_t max,
                               std::uint64_t unknown) const;
  Result<std::uint32_t> SharedBytes() const;
  // Handles lines outside the table: nvprof's warnings are passed on, other lines are program
  // output.
  void NoteOther() {
    const std::string_view text = lines_.text();
    if (text.starts_with("==") && text.find("Warning:") != std::string_view::npos) {
      launches_->Warn(
          lines_.At(fmt::format("nvprof reports '{}'", EscapeForTerminal(text.substr(0, 200))))
              .message);
    } else if (!text.empty() && !text.starts_with("==")) {
      ++others_;
    }
  }
  void Report();

  CsvReader lines_;
  std::array<std::optional<std::size_t>, kColumns> columns_;
  std::size_t width_ = 0;
  int start_exponent_ = 0;
  int duration_exponent_ = 0;
  std::array<double, 2> shared_unit_ = {1.0, 1.0};  // static, dynamic
  std::unique_ptr<RecordedLaunches> launches_ = std::make_unique<RecordedLaunches>();
  StreamNumbers streams_;
  std::uint64_t copies_ = 0;  // memcpy, memset, unified memory
  std::uint64_t others_ = 0;
  std::uint64_t no_suffix_ = 0;
  std::uint64_t no_time_ = 0;        // launches
  std::uint64_t first_no_time_ = 0;  // line
};

Status NvprofTable::ReadUnits() {
  for (std::size_t i = 0; i < kColumns; ++i)
    columns_[i] = FindCell(lines_.cells(), kColumnNames[i]);
  width_ = lines_.cells().size();
  const bool more = STEMTAP_TRY(lines_.NextLine());
  if (!more || !lines_.SplitLine() || lines_.cells().size() != width_ || lines_.MayBeCut()) {
    return lines_.At(fmt::format("expected the units of {} columns below the header", width_));
  }
  const std::optional<int> start = TimeExponent(Cell(kStart));
  const std::optional<int> duration = TimeExponent(Cell(kDuration));
  if (!start) return Bad(kStart, "its unit: s, ms, us or ns");
  if (!duration) return Bad(kDuration, "its unit: s, ms, us or ns");
  start_exponent_ = *start;
  duration_exponent_ = *duration;
  for (const Column column : {kStaticShared, kDynamicShared}) {
    if (Cell(column).empty()) continue;
    const std::optional<double> unit = BytesOfUnit(Cell(column));
    if (!unit) return Bad(column, "its unit: B, KB, MB or GB");
    shared_unit_[column - kStaticShared] = *unit;
  }
  return Success{};
}

Status NvprofTable::ReadLine() {
  const std::string_view text = lines_.text();
  if (IsHeader(lines_)) {
    return lines_.At("a second table; expected the trace of one process (--log-file trace.%p.csv)");
  }
  // A row starts with its start time, a decimal number, and a comma. Lines of nvprof (==1234==) or
  // of the program may occur between rows. A line that ends inside the number may be a truncated
  // row.
  const std::size_t number = text.find_first_not_of("0123456789.e+-");
  const bool row = !text.empty() && text[0] >= '0' && text[0] <= '9' &&
                   (number == std::string_view::npos ? lines_.MayBeCut() : text[number] == ',');
  if (!row) {
    NoteOther();
    return Success{};
  }
  STEMTAP_TRY(lines_.SplitCells(width_));
  const std::string_view name = Cell(kName);
  if (name.empty()) return Bad(kName, "the name of a kernel");
  if (name.starts_with('[')) {
    ++copies_;
    return Success{};
  }
  return AddKernel(name);
}

Result<std::uint64_t> NvprofTable::Number(Column column, std::uint64_t min, std::uint64_t max,
                                          std::uint64_t unknown) const {
  const std::string_view cell = Cell(column);
  if (cell.empty()) return unknown;
  const std::optional<std::uint64_t> value = WholeNumber(cell);
  if (!value || *value < min || *value > max) {
    return Bad(column, fmt::format("a whole number from {} to {}", min, max));
  }
  return *value;
}

Result<std::uint32_t> NvprofTable::SharedBytes() const {
  double bytes = 0.0;
  bool known = false;
  for (const Column column : {kStaticShared, kDynamicShared}) {
    const std::string_view cell = Cell(column);
    if (cell.empty()) continue;
    const std::optional<std::uint64_t> millionths = ScaledDecimal(cell, 6);
    if (!millionths) return Bad(column, "a number from 0");
    known = true;
    bytes +=
        std::round(static_cast<double>(*millionths) * 1e-6 * shared_unit_[column - kStaticShared]);
    if (bytes >= static_cast<double>(shm::kUnknown32)) return Bad(column, "less than 4 GiB");
  }
  return known ? static_cast<std::uint32_t>(bytes) : shm::kUnknown32;
}

Status NvprofTable::AddKernel(std::string_view name) {
  shm::KernelRecord record = RecordedLaunches::Unknown();
  const auto start = ScaledDecimal(Cell(kStart), start_exponent_);
  if (!start) return Bad(kStart, "a decimal number from 0");
  const auto duration = ScaledDecimal(Cell(kDuration), duration_exponent_);
  if (!duration) return Bad(kDuration, "a decimal number from 0");
  record.start_ns = *start;
  record.duration_ns = *duration;
  if (*start == 0 && *duration == 0) {
    if (no_time_++ == 0) first_no_time_ = lines_.line();
    record.start_ns = shm::kUnknownTime;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const auto grid = Number(static_cast<Column>(kGridX + i), 1, 0xFFFFFFFF, shm::kUnknownExtent);
    if (!grid.ok()) return grid.error();
    record.grid[i] = static_cast<std::uint32_t>(grid.value());
    const auto block = Number(static_cast<Column>(kBlockX + i), 1, 0xFFFF, shm::kUnknownExtent);
    if (!block.ok()) return block.error();
    record.block[i] = static_cast<std::uint16_t>(block.value());
  }
  const std::string_view stream = Cell(kStream);
  if (!stream.empty()) {
    if (stream.find_first_of("0123456789") == std::string_view::npos) {
      return Bad(kStream, "the number of a stream");
    }
    record.stream = streams_.Of(stream);
  }
  const auto shared = STEMTAP_TRY(SharedBytes());
  record.shared_bytes = shared;
  if (!Cell(kDevice).empty()) {
    const std::optional<std::uint64_t> device = DeviceOrdinal(Cell(kDevice));
    if (!device || *device >= shm::kUnknown16) return Bad(kDevice, "'NAME (0)'");
    record.device = static_cast<std::uint16_t>(*device);
  }
  std::optional<std::uint64_t> correlation;
  if (columns_[kCorrelation]) {
    correlation = WholeNumber(Cell(kCorrelation));
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
  if (copies_ > 0) {
    launches_->Warn(fmt::format("{}: {}; skipped", lines_.name(),
                                Plural(copies_, "row is a copy, a set or unified memory",
                                       "rows are copies, sets and unified memory")));
  }
  if (others_ > 0) {
    launches_->Warn(fmt::format("{}: {} outside the trace; skipped", lines_.name(),
                                Plural(others_, "line is", "lines are")));
  }
  if (no_suffix_ > 0) {
    launches_->Warn(fmt::format("{}: {} no correlation id", lines_.name(),
                                Plural(no_suffix_, "launch has", "launches have")));
  }
  if (no_time_ > 0) {
    launches_->Warn(fmt::format(
        "{}:{}: a row has no time: start and duration are 0 ({} such rows); counted with 0 ns",
        lines_.name(), first_no_time_, no_time_));
  }
  streams_.Finish(lines_.name(), *launches_);
  launches_->Finish(lines_.name());
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
