// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "base/decimal.h"
#include "base/text.h"
#include "formats/importers/csv_table.h"
#include "formats/importers/importers.h"
#include "formats/importers/launch_fields.h"
#include "formats/importers/nsys_report.h"
#include "formats/importers/recorded_launches.h"
#include "formats/tally.h"

namespace stemtap::formats {
namespace {

using namespace nsys;

// A number that is not scaled yet.
struct Decimal {
  bool negative = false;
  std::string_view text;  // digits and a point, in the cell or in ReportReader::plain_
  int decimals = 0;       // digits after the decimal point
};

// Returns the power of ten that converts a time of the unit to ns.
std::optional<int> ExponentOf(std::string_view unit) {
  struct Unit {
    std::string_view name;
    int exponent;
  };
  // Units that other tools write.
  constexpr std::array kUnits = {Unit{"nsec", 0}, Unit{"nanoseconds", 0},  Unit{"μs", 3},
                                 Unit{"µs", 3},   Unit{"usec", 3},         Unit{"microseconds", 3},
                                 Unit{"msec", 6}, Unit{"milliseconds", 6}, Unit{"seconds", 9}};
  for (const Unit& known : kUnits) {
    if (unit == known.name) return known.exponent;
  }
  return TimeExponent(unit);
}

// Returns the bytes of a unit of memory, or 0 if the unit is unknown. Without the "i", nsys uses
// powers of 1000.
std::uint64_t BytesOf(std::string_view unit) {
  struct Unit {
    std::string_view name;
    std::uint64_t bytes;
  };
  constexpr std::array kUnits = {Unit{"B", 1},
                                 Unit{"byte", 1},
                                 Unit{"bytes", 1},
                                 Unit{"kB", 1000},
                                 Unit{"KB", 1000},
                                 Unit{"MB", 1'000'000},
                                 Unit{"GB", 1'000'000'000},
                                 Unit{"KiB", 1024},
                                 Unit{"MiB", 1024 * 1024},
                                 Unit{"GiB", 1024 * 1024 * 1024}};
  for (const Unit& known : kUnits) {
    if (unit == known.name) return known.bytes;
  }
  return 0;
}

class ReportReader {
 public:
  ReportReader(std::unique_ptr<ByteSource> source, HeaderPosition header,
               RecordedLaunches& launches)
      : table_(FromHeader(std::move(source), header), nullptr, header.separator),
        launches_(launches) {}

  Status Read();

 private:
  Status FindColumns();
  Status AddRow();
  Status CheckLaunched();
  Status LeaveRest();
  void Warn();

  std::optional<Decimal> Take(Column column);
  Result<std::int64_t> Time(Column column);
  // Returns a whole number, or `missing` if the cell is empty or the report lacks the column.
  Result<std::uint64_t> Number(Column column, std::uint64_t max, std::uint64_t missing);
  Status ReadExtents(Column first, std::uint32_t max, std::array<std::uint32_t, 3>& extents);
  Result<std::uint64_t> SharedBytes();
  std::uint16_t Device();
  std::uint32_t Stream();

  CsvTable table_;
  RecordedLaunches& launches_;
  const ReportKind* report_ = nullptr;
  // Of the columns.
  struct Units {
    std::array<int, kColumns> exponents = {};        // of time units
    std::array<std::uint64_t, kColumns> bytes = {};  // of memory units
  };
  Units units_;
  std::string plain_;  // the last number that contained commas
  StreamNumbers streams_;
  std::array<int, kColumns> decimals_ = {};                           // maximum seen, in times
  std::int64_t launched_ = std::numeric_limits<std::int64_t>::min();  // of the previous row
  bool several_devices_ = false;
  std::uint16_t last_device_ = shm::kUnknown16;
  // What the warnings report.
  struct Counts {
    std::uint64_t memory = 0;  // rows of copies and sets
    Tally no_grid;
    Tally no_device;
    Tally no_time;
    Tally rest;
  };
  Counts counts_;
  bool ended_ = true;  // a line end follows the previous row
};

Status ReportReader::FindColumns() {
  report_ = ReportOf(table_.cells());
  if (report_ == nullptr) return table_.At("expected the header of a report of 'nsys stats'");
  CsvTable::Columns columns(kColumns);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < table_.cells().size(); ++i) {
    const Heading heading = HeadingOf(table_.cells()[i]);
    names.emplace_back(heading.name);
    for (std::size_t column = 0; column < kColumns; ++column) {
      if (report_->columns[column].empty() || heading.name != report_->columns[column]) continue;
      if (columns[column]) {
        return table_.At(
            fmt::format("the column '{}' occurs twice; expected once", ShownCell(heading.name)));
      }
      columns[column] = i;
      const bool time = column == kStart || column == kDuration || column == kLaunched;
      const bool memory = column == kStaticShared || column == kDynamicShared;
      if (!time && !memory) continue;
      const std::optional<int> exponent = ExponentOf(heading.unit);
      units_.exponents[column] = exponent.value_or(0);
      units_.bytes[column] = BytesOf(heading.unit);
      if (time ? !exponent : units_.bytes[column] == 0) {
        return table_.At(
            fmt::format("the column '{}' has no known unit; expected one as in '{} ({})'",
                        ShownCell(table_.cells()[i]), heading.name, time ? "ns" : "MB"));
      }
    }
  }
  table_.SetHeader(std::move(columns), std::move(names));
  return Success{};
}

// Parses digits, with or without commas between groups of three, and a fraction.
std::optional<Decimal> ReportReader::Take(Column column) {
  std::string_view text = Trimmed(table_.Cell(column));
  Decimal number;
  number.negative = text.starts_with('-');
  if (number.negative) text.remove_prefix(1);
  if (text.starts_with('.') || text.find_first_not_of("0123456789.,") != std::string_view::npos) {
    return {};
  }
  if (!DropThousands(text, plain_)) return {};
  number.text = text;
  const std::size_t point = text.find('.');
  if (point != std::string_view::npos) number.decimals = static_cast<int>(text.size() - point) - 1;
  return number;
}

Result<std::int64_t> ReportReader::Time(Column column) {
  if (const std::optional<Decimal> number = Take(column)) {
    const std::optional<std::uint64_t> time = ScaledDecimal(number->text, units_.exponents[column]);
    if (time && *time < static_cast<std::uint64_t>(kStartOffset)) {
      decimals_[column] = std::max(decimals_[column], number->decimals);
      const auto whole = static_cast<std::int64_t>(*time);
      return number->negative ? -whole : whole;
    }
  }
  return table_.Bad(column, "a time of at most 2^62 ns");
}

Result<std::uint64_t> ReportReader::Number(Column column, std::uint64_t max,
                                           std::uint64_t missing) {
  if (Trimmed(table_.Cell(column)).empty()) return missing;
  const std::optional<Decimal> number = Take(column);
  const std::optional<std::uint64_t> value =
      number && !number->negative ? WholeNumber(number->text) : std::nullopt;
  if (!value || *value > max) {
    return table_.Bad(column, fmt::format("a whole number from 0 to {}", max));
  }
  return *value;
}

Status ReportReader::ReadExtents(Column first, std::uint32_t max,
                                 std::array<std::uint32_t, 3>& extents) {
  if (!report_->joined_extents) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      extents[axis] = static_cast<std::uint32_t>(
          STEMTAP_TRY(Number(static_cast<Column>(first + axis), max, shm::kUnknownExtent)));
    }
    return Success{};
  }
  std::string_view rest = Trimmed(table_.Cell(first));
  if (rest.empty()) return Success{};
  for (std::uint32_t& extent : extents) {
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
    const auto length = static_cast<std::size_t>(end - rest.data());
    const bool whole = length == rest.size() || rest[length] == ' ';
    if (code != std::errc{} || !whole || extent > max) {
      return table_.Bad(first, fmt::format("three whole numbers from 0 to {}", max));
    }
    rest = Trimmed(rest.substr(length));
  }
  if (!rest.empty()) return table_.Bad(first, fmt::format("three whole numbers from 0 to {}", max));
  return Success{};
}

Result<std::uint64_t> ReportReader::SharedBytes() {
  std::uint64_t sum = 0;
  for (const Column column : {kStaticShared, kDynamicShared}) {
    if (Trimmed(table_.Cell(column)).empty()) return std::uint64_t{shm::kUnknown32};
    // In millionths of the unit; every allowed value is below 2^62 millionths.
    constexpr std::uint64_t kMax = 0x7FFFFFFE;
    const std::optional<Decimal> number = Take(column);
    const std::optional<std::uint64_t> millionths =
        number && !number->negative ? ScaledDecimal(number->text, 6) : std::nullopt;
    const std::uint64_t unit = units_.bytes[column];
    if (!millionths || *millionths / 1'000'000 > kMax / unit) {
      return table_.Bad(column, "an amount of shared memory below 2 GiB");
    }
    const std::uint64_t bytes = (*millionths * unit + 500'000) / 1'000'000;
    if (bytes > kMax) return table_.Bad(column, "an amount of shared memory below 2 GiB");
    sum += bytes;
  }
  return sum;
}

// Parses "NVIDIA H100 (3)" or "3" as 3.
std::uint16_t ReportReader::Device() {
  std::string_view text = Trimmed(table_.Cell(kDevice));
  if (text.ends_with(')') && text.rfind('(') != std::string_view::npos) {
    text = text.substr(text.rfind('(') + 1);
    text.remove_suffix(1);
  }
  std::uint16_t device = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, device);
  if (code == std::errc{} && rest == end && device != shm::kUnknown16) return device;
  if (table_.Has(kDevice)) counts_.no_device.Add(table_.line());
  return shm::kUnknown16;
}

std::uint32_t ReportReader::Stream() {
  const std::string_view text = Trimmed(table_.Cell(kStream));
  if (text.empty()) return shm::kUnknown32;
  const std::optional<Decimal> number = Take(kStream);  // without thousands separators
  return streams_.Of(number && !number->negative ? number->text : text);
}

// Rows must be in order of the launch calls, as nsys writes them, because the report has no other
// order.
Status ReportReader::CheckLaunched() {
  if (Trimmed(table_.Cell(kLaunched)).empty()) return Success{};
  const std::int64_t launched = STEMTAP_TRY(Time(kLaunched));
  if (launched < launched_) return table_.Bad(kLaunched, "an ascending value, as nsys writes it");
  launched_ = launched;
  return Success{};
}

Status ReportReader::AddRow() {
  STEMTAP_TRY(table_.CheckWidth(table_.header().size()));
  const std::string_view name = table_.Cell(kName);
  std::array<std::uint32_t, 3> grid = {};
  std::array<std::uint32_t, 3> block = {};
  STEMTAP_TRY(ReadExtents(kGridX, 0xFFFFFFFF, grid));
  STEMTAP_TRY(ReadExtents(kBlockX, 0xFFFF, block));
  if (report_ == &kGpuTrace && grid == std::array<std::uint32_t, 3>{}) {
    if (name.starts_with("[CUDA mem") || name.starts_with("[CUDA Unified Memory")) {
      ++counts_.memory;
    } else {
      counts_.no_grid.Add(table_.line());
    }
    return Success{};
  }
  shm::KernelRecord record = RecordedLaunches::Unknown();
  std::copy(grid.begin(), grid.end(), record.grid);
  std::transform(block.begin(), block.end(), record.block,
                 [](std::uint32_t extent) { return static_cast<std::uint16_t>(extent); });

  const std::int64_t start = STEMTAP_TRY(Time(kStart));
  record.start_ns = WithOffset(start);
  const std::int64_t duration = STEMTAP_TRY(Time(kDuration));
  if (duration < 0) return table_.Bad(kDuration, "a time of at least 0");
  record.duration_ns = static_cast<std::uint64_t>(duration);
  if (start == 0 && duration == 0) {
    counts_.no_time.Add(table_.line());
    record.start_ns = shm::kUnknownTime;
  }

  record.device = Device();
  record.stream = Stream();
  record.correlation_id = static_cast<std::uint32_t>(
      STEMTAP_TRY(Number(kCorrelation, std::numeric_limits<std::int64_t>::max(), 0)));
  if (report_->by_launch) {
    record.correlation_id = static_cast<std::uint32_t>(launches_.size() + 1);
    STEMTAP_TRY(CheckLaunched());
    launches_.SetProcess(
        STEMTAP_TRY(Number(kProcess, std::numeric_limits<std::int64_t>::max(), 0)));
  } else {
    // The report does not distinguish processes, and each process has its own counter. Different
    // devices may belong to different processes.
    launches_.SetProcess(record.device);
    several_devices_ = several_devices_ || (launches_.size() > 0 && record.device != last_device_);
    last_device_ = record.device;
  }
  record.shared_bytes = static_cast<std::uint32_t>(STEMTAP_TRY(SharedBytes()));

  if (name.empty()) return table_.Bad(kName, "the name of a kernel");
  launches_.Add(record, name);
  return Success{};
}

// Skips the remaining input: `nsys stats` prints several reports one after another.
Status ReportReader::LeaveRest() {
  counts_.rest.Add(table_.line());
  while (STEMTAP_TRY(table_.NextRow())) {
    ended_ = table_.ended();
    counts_.rest.Add(table_.line());
  }
  return Success{};
}

void ReportReader::Warn() {
  const std::string& file = table_.name();
  streams_.Finish(file, launches_);
  if (report_ == &kKernExecTrace) {
    launches_.Warn(
        fmt::format("{}: the report {} omits streams, shared memory, and kernels whose launch call "
                    "was not recorded; use cuda_gpu_trace or the SQLite export",
                    file, report_->name));
  }
  launches_.WarnOfCount(file, counts_.memory, "row is a memory copy or set",
                        "rows are memory copies and sets", "; skipped");
  launches_.WarnOfLine(file, counts_.no_grid,
                       fmt::format("a row without a grid is not a kernel ({} such rows); skipped",
                                   counts_.no_grid.count));
  launches_.WarnOfLine(file, counts_.no_time,
                       fmt::format("a row has no time: start and duration are 0 ({} such rows); "
                                   "counted with 0 ns",
                                   counts_.no_time.count));
  launches_.WarnOfLine(
      file, counts_.no_device,
      fmt::format("a cell of the column {} contains no device number ({} such rows); treated as "
                  "unknown",
                  report_->columns[kDevice], counts_.no_device.count));
  if (units_.bytes[kStaticShared] > 1 || units_.bytes[kDynamicShared] > 1) {
    launches_.Warn(fmt::format(
        "{}: shared memory is rounded (to 1000 bytes if it is in MB); the SQLite export is exact",
        file));
  }
  for (const Column column : {kStart, kDuration}) {
    std::uint64_t step = 1;
    for (int i = decimals_[column]; i < units_.exponents[column]; ++i) step *= 10;
    if (step == 1) continue;
    launches_.Warn(
        fmt::format("{}: the column {} is rounded to {} ns; expected 'nsys stats --timeunit nsec'",
                    file, report_->columns[column], step));
  }
  launches_.WarnOfLine(file, counts_.rest,
                       fmt::format("another report begins; it and later ones are skipped ({})",
                                   Plural(counts_.rest.count, "line")));
  if (several_devices_) {
    launches_.Warn(
        fmt::format("{}: the report {} does not distinguish processes, so launches of different "
                    "devices are ordered by start; the SQLite export distinguishes them",
                    file, report_->name));
  }
}

Status ReportReader::Read() {
  if (!STEMTAP_TRY(table_.NextRow())) {
    return Error{table_.name() + ": empty file; expected a report of 'nsys stats'"};
  }
  STEMTAP_TRY(FindColumns());
  ended_ = table_.ended();
  while (STEMTAP_TRY(table_.NextRow())) {
    ended_ = table_.ended();
    // Report rows never start like this; the path may contain commas.
    const bool said = table_.cells()[0].starts_with("Processing [");
    STEMTAP_TRY(said ? LeaveRest() : AddRow());
  }
  if (!ended_) {
    return Error{table_.name() +
                 ": the last line has no end and may be cut; expected a complete file"};
  }
  Warn();
  return Success{};
}

}  // namespace

bool LooksLikeNsysCsv(std::string_view leading) {
  return FindHeader(leading).has_value() || nsys::LooksLikeJson(leading);
}

Result<std::unique_ptr<model::ProfileReader>> OpenNsysCsv(std::unique_ptr<ByteSource> source) {
  const std::string_view first = STEMTAP_TRY(source->Peek(kHeaderWithin));
  if (nsys::LooksLikeJson(first)) source = nsys::TableOfJson(std::move(source));
  const std::string_view leading = STEMTAP_TRY(source->Peek(kHeaderWithin));
  const std::optional<HeaderPosition> header = FindHeader(leading);
  if (!header) {
    return Error{
        fmt::format("{}: no header of cuda_gpu_trace or cuda_kern_exec_trace within {} bytes; "
                    "expected a report of 'nsys stats --format csv'",
                    source->name(), kHeaderWithin)};
  }
  const std::string name = source->name();
  auto launches = std::make_unique<RecordedLaunches>();
  STEMTAP_TRY(ReportReader(std::move(source), *header, *launches).Read());
  launches->Finish(name);
  return std::unique_ptr<model::ProfileReader>(std::move(launches));
}

}  // namespace stemtap::formats
