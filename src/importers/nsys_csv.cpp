// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys_csv.h"

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
#include "base/text.h"
#include "importers/nsys_report.h"
#include "importers/recorded_launches.h"

namespace stemtap {
namespace {

using namespace nsys;

// Starts may lie before the origin of the clock; this keeps their order in unsigned numbers.
// RecordedLaunches counts from the first.
constexpr std::int64_t kMostTime = (std::int64_t{1} << 62) - 1;
constexpr std::uint64_t kStartOffset = std::uint64_t{1} << 62;

// A decimal number: value / 10^decimals. No more than 9 decimals are kept, rounded down.
struct Decimal {
  bool negative = false;
  std::uint64_t value = 0;
  int decimals = 0;
};

constexpr int kMostDecimals = 9;

// Digits, with or without commas between groups of three, and a fraction.
std::optional<Decimal> ParseDecimal(std::string_view text) {
  constexpr std::uint64_t kMostValue = std::numeric_limits<std::uint64_t>::max() / 10 - 1;
  text = Trimmed(text);
  Decimal number;
  if (text.starts_with('-')) {
    number.negative = true;
    text.remove_prefix(1);
  }
  std::size_t digits = 0;
  std::size_t group = 0;  // digits since the last comma
  bool grouped = false;
  bool fraction = false;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      ++digits;
      ++group;
      if (fraction && number.decimals == kMostDecimals) continue;
      if (number.value > kMostValue) return {};
      number.value = 10 * number.value + static_cast<std::uint64_t>(c - '0');
      if (fraction) ++number.decimals;
    } else if (c == ',' && !fraction && group > 0 && group <= 3 && (!grouped || group == 3)) {
      grouped = true;
      group = 0;
    } else if (c == '.' && !fraction && digits > 0 && (!grouped || group == 3)) {
      fraction = true;
    } else {
      return {};
    }
  }
  if (digits == 0 || (grouped && !fraction && group != 3)) return {};
  return number;
}

// `number` units, rounded to whole ones; nothing where that is too large.
std::optional<std::int64_t> Scaled(const Decimal& number, std::uint64_t unit) {
  __extension__ using Wide = unsigned __int128;
  Wide value = Wide{number.value} * unit;
  std::uint64_t divisor = 1;
  for (int i = 0; i < number.decimals; ++i) divisor *= 10;
  value = (value + divisor / 2) / divisor;
  if (value > static_cast<std::uint64_t>(kMostTime)) return {};
  const auto whole = static_cast<std::int64_t>(value);
  return number.negative ? -whole : whole;
}

struct Unit {
  std::string_view name;
  std::uint64_t size;
};

constexpr std::array kTimeUnits = {Unit{"ns", 1},
                                   Unit{"nsec", 1},
                                   Unit{"nanoseconds", 1},
                                   Unit{"us", 1000},
                                   Unit{"μs", 1000},
                                   Unit{"µs", 1000},
                                   Unit{"usec", 1000},
                                   Unit{"microseconds", 1000},
                                   Unit{"ms", 1'000'000},
                                   Unit{"msec", 1'000'000},
                                   Unit{"milliseconds", 1'000'000},
                                   Unit{"s", 1'000'000'000},
                                   Unit{"sec", 1'000'000'000},
                                   Unit{"seconds", 1'000'000'000}};

// nsys counts in powers of 1000 where it does not write the i.
constexpr std::array kMemoryUnits = {Unit{"B", 1},
                                     Unit{"byte", 1},
                                     Unit{"bytes", 1},
                                     Unit{"kB", 1000},
                                     Unit{"KB", 1000},
                                     Unit{"MB", 1'000'000},
                                     Unit{"GB", 1'000'000'000},
                                     Unit{"KiB", 1024},
                                     Unit{"MiB", 1024 * 1024},
                                     Unit{"GiB", 1024 * 1024 * 1024}};

template <std::size_t kCount>
std::uint64_t SizeOf(const std::array<Unit, kCount>& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return unit.size;
  }
  return 0;
}

// Number and place of what is reported once.
struct Tally {
  std::uint64_t count = 0;
  std::uint64_t first_line = 0;

  void Add(std::uint64_t line) {
    if (count++ == 0) first_line = line;
  }
};

class ReportReader {
 public:
  ReportReader(std::unique_ptr<ByteSource> source, Place header, RecordedLaunches& launches)
      : csv_(FromHeader(std::move(source), header)), launches_(launches) {}

  Status Read();

 private:
  Status FindColumns();
  Status AddRow();
  Status CheckLaunched();
  Status LeaveRest();
  void Warn();

  std::string_view Cell(Column column) const {
    return cells_[column] < 0 ? std::string_view()
                              : csv_.cells()[static_cast<std::size_t>(cells_[column])];
  }
  Error Bad(Column column, std::string_view expected) const {
    return csv_.At(fmt::format("{} is '{}', expected {}", report_->columns[column],
                               ShownCell(Cell(column)), expected));
  }
  Result<std::int64_t> Time(Column column);
  // A whole number; `missing` where the cell is empty or the report lacks the column.
  Result<std::uint64_t> Number(Column column, std::uint64_t most, std::uint64_t missing) const;
  Status ReadExtents(Column first, std::uint32_t most, std::array<std::uint32_t, 3>& extents) const;
  Result<std::uint64_t> SharedBytes() const;
  std::uint16_t Device();

  CsvReader csv_;
  RecordedLaunches& launches_;
  const Report* report_ = nullptr;
  std::array<int, kColumns> cells_ = {};
  std::array<std::uint64_t, kColumns> units_ = {};
  std::size_t columns_ = 0;
  std::array<int, kColumns> decimals_ = {};  // most that were seen, in times
  std::int64_t launched_ = std::numeric_limits<std::int64_t>::min();  // of the row before
  bool several_devices_ = false;
  std::uint16_t last_device_ = wire::kUnknown16;
  Tally memory_;
  Tally no_grid_;
  Tally no_device_;
  Tally rest_;
  bool ended_ = true;  // a line end stands behind the row before
};

Status ReportReader::FindColumns() {
  report_ = ReportOf(csv_.cells());
  if (report_ == nullptr) return csv_.At("expected the header of a report of 'nsys stats'");
  columns_ = csv_.cells().size();
  cells_.fill(-1);
  for (std::size_t i = 0; i < columns_; ++i) {
    const Heading heading = HeadingOf(csv_.cells()[i]);
    for (int column = 0; column < kColumns; ++column) {
      if (report_->columns[column].empty() || heading.name != report_->columns[column]) continue;
      if (cells_[column] >= 0) {
        return csv_.At(
            fmt::format("the column '{}' stands twice, expected once", ShownCell(heading.name)));
      }
      cells_[column] = static_cast<int>(i);
      const bool time = column == kStart || column == kDuration || column == kLaunched;
      const bool memory = column == kStaticShared || column == kDynamicShared;
      if (!time && !memory) continue;
      units_[column] = time ? SizeOf(kTimeUnits, heading.unit) : SizeOf(kMemoryUnits, heading.unit);
      if (units_[column] == 0) {
        return csv_.At(
            fmt::format("the column '{}' has no known unit, expected one as in '{} ({})'",
                        ShownCell(csv_.cells()[i]), heading.name, time ? "ns" : "MB"));
      }
    }
  }
  return Success{};
}

Result<std::int64_t> ReportReader::Time(Column column) {
  const std::optional<Decimal> number = ParseDecimal(Cell(column));
  if (number) {
    decimals_[column] = std::max(decimals_[column], number->decimals);
    const std::optional<std::int64_t> time = Scaled(*number, units_[column]);
    if (time) return *time;
  }
  return Bad(column, "a time of at most 2^62 ns");
}

Result<std::uint64_t> ReportReader::Number(Column column, std::uint64_t most,
                                           std::uint64_t missing) const {
  if (Trimmed(Cell(column)).empty()) return missing;
  const std::optional<Decimal> number = ParseDecimal(Cell(column));
  if (!number || number->negative || number->decimals > 0 || number->value > most) {
    return Bad(column, fmt::format("a whole number from 0 to {}", most));
  }
  return number->value;
}

Status ReportReader::ReadExtents(Column first, std::uint32_t most,
                                 std::array<std::uint32_t, 3>& extents) const {
  if (!report_->joined_extents) {
    for (int axis = 0; axis < 3; ++axis) {
      const Result<std::uint64_t> extent =
          Number(static_cast<Column>(first + axis), most, wire::kUnknownExtent);
      if (!extent.ok()) return extent.error();
      extents[static_cast<std::size_t>(axis)] = static_cast<std::uint32_t>(extent.value());
    }
    return Success{};
  }
  std::string_view rest = Trimmed(Cell(first));
  if (rest.empty()) return Success{};
  for (std::uint32_t& extent : extents) {
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
    const auto length = static_cast<std::size_t>(end - rest.data());
    const bool whole = length == rest.size() || rest[length] == ' ';
    if (code != std::errc{} || !whole || extent > most) {
      return Bad(first, fmt::format("three whole numbers from 0 to {}", most));
    }
    rest = Trimmed(rest.substr(length));
  }
  if (!rest.empty()) return Bad(first, fmt::format("three whole numbers from 0 to {}", most));
  return Success{};
}

Result<std::uint64_t> ReportReader::SharedBytes() const {
  std::uint64_t sum = 0;
  for (const Column column : {kStaticShared, kDynamicShared}) {
    if (Trimmed(Cell(column)).empty()) return std::uint64_t{wire::kUnknown32};
    const std::optional<Decimal> number = ParseDecimal(Cell(column));
    const std::optional<std::int64_t> bytes =
        number ? Scaled(*number, units_[column]) : std::nullopt;
    if (!bytes || *bytes < 0 || *bytes > 0x7FFFFFFE) {
      return Bad(column, "an amount of shared memory below 2 GiB");
    }
    sum += static_cast<std::uint64_t>(*bytes);
  }
  return sum;
}

// "NVIDIA H100 (3)" or "3" is 3.
std::uint16_t ReportReader::Device() {
  std::string_view text = Trimmed(Cell(kDevice));
  if (text.ends_with(')') && text.rfind('(') != std::string_view::npos) {
    text = text.substr(text.rfind('(') + 1);
    text.remove_suffix(1);
  }
  std::uint16_t device = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, device);
  if (code == std::errc{} && rest == end && device != wire::kUnknown16) return device;
  if (cells_[kDevice] >= 0) no_device_.Add(csv_.line());
  return wire::kUnknown16;
}

// Rows must be in order of the launch calls, as nsys writes them: their order is all there is.
Status ReportReader::CheckLaunched() {
  if (Trimmed(Cell(kLaunched)).empty()) return Success{};
  const Result<std::int64_t> launched = Time(kLaunched);
  if (!launched.ok()) return launched.error();
  if (launched.value() < launched_)
    return Bad(kLaunched, "rows in order of it, as nsys writes them");
  launched_ = launched.value();
  return Success{};
}

Status ReportReader::AddRow() {
  if (csv_.cells().size() != columns_) {
    return csv_.At(fmt::format("{} cells, expected {}", csv_.cells().size(), columns_));
  }
  const std::string_view name = Cell(kName);
  std::array<std::uint32_t, 3> grid = {};
  std::array<std::uint32_t, 3> block = {};
  Status extents = ReadExtents(kGridX, 0xFFFFFFFF, grid);
  if (extents.ok()) extents = ReadExtents(kBlockX, 0xFFFF, block);
  if (!extents.ok()) return extents;
  if (report_ == &kGpuTrace && grid == std::array<std::uint32_t, 3>{}) {
    (name.starts_with("[CUDA mem") || name.starts_with("[CUDA Unified Memory") ? memory_ : no_grid_)
        .Add(csv_.line());
    return Success{};
  }
  wire::KernelRecord record = RecordedLaunches::Unknown();
  std::copy(grid.begin(), grid.end(), record.grid);
  std::transform(block.begin(), block.end(), record.block,
                 [](std::uint32_t extent) { return static_cast<std::uint16_t>(extent); });

  const Result<std::int64_t> start = Time(kStart);
  if (!start.ok()) return start.error();
  record.start_ns = static_cast<std::uint64_t>(start.value()) + kStartOffset;
  const Result<std::int64_t> duration = Time(kDuration);
  if (!duration.ok()) return duration.error();
  if (duration.value() < 0) return Bad(kDuration, "a time of at least 0");
  record.duration_ns = static_cast<std::uint64_t>(duration.value());

  record.device = Device();
  const Result<std::uint64_t> stream = Number(kStream, wire::kUnknown32 - 1, wire::kUnknown32);
  if (!stream.ok()) return stream.error();
  record.stream = static_cast<std::uint32_t>(stream.value());
  const Result<std::uint64_t> correlation =
      Number(kCorrelation, std::numeric_limits<std::int64_t>::max(), 0);
  if (!correlation.ok()) return correlation.error();
  record.correlation_id = static_cast<std::uint32_t>(correlation.value());
  if (report_->by_launch) {
    record.correlation_id = static_cast<std::uint32_t>(launches_.size() + 1);
    const Status in_order = CheckLaunched();
    if (!in_order.ok()) return in_order;
    const Result<std::uint64_t> process =
        Number(kProcess, std::numeric_limits<std::int64_t>::max(), 0);
    if (!process.ok()) return process.error();
    launches_.SetProcess(process.value());
  } else {
    // Processes are not told apart, and each has a counter of its own. On different devices there
    // may be different ones.
    launches_.SetProcess(record.device);
    several_devices_ = several_devices_ || (launches_.size() > 0 && record.device != last_device_);
    last_device_ = record.device;
  }
  const Result<std::uint64_t> shared = SharedBytes();
  if (!shared.ok()) return shared.error();
  record.shared_bytes = static_cast<std::uint32_t>(shared.value());

  if (name.empty()) return Bad(kName, "the name of a kernel");
  launches_.Add(record, name);
  return Success{};
}

// `nsys stats` prints one report behind the other.
Status ReportReader::LeaveRest() {
  rest_.Add(csv_.line());
  for (;;) {
    const Result<bool> more = csv_.NextRow();
    if (!more.ok()) return more.error();
    if (!more.value()) return Success{};
    ended_ = csv_.ended();
    rest_.Add(csv_.line());
  }
}

void ReportReader::Warn() {
  const std::string& file = csv_.name();
  if (report_ == &kKernExecTrace) {
    launches_.Warn(fmt::format(
        "{}: the report {} leaves out every kernel whose launch call was not recorded, and has no "
        "streams and no shared memory; cuda_gpu_trace or the SQLite export have all of it",
        file, report_->name));
  }
  if (memory_.count > 0) {
    launches_.Warn(
        fmt::format("{}: {} rows are memory copies and sets, left out", file, memory_.count));
  }
  if (no_grid_.count > 0) {
    launches_.Warn(fmt::format("{}:{}: a row without a grid is no kernel ({} such rows), left out",
                               file, no_grid_.first_line, no_grid_.count));
  }
  if (no_device_.count > 0) {
    launches_.Warn(
        fmt::format("{}:{}: a cell of the column {} names no device number ({} such "
                    "rows), taken as unknown",
                    file, no_device_.first_line, report_->columns[kDevice], no_device_.count));
  }
  if (units_[kStaticShared] > 1 || units_[kDynamicShared] > 1) {
    launches_.Warn(
        fmt::format("{}: shared memory is rounded, to 1000 bytes where it is in MB; the "
                    "SQLite export has the bytes",
                    file));
  }
  for (const Column column : {kStart, kDuration}) {
    std::uint64_t step = units_[column];
    for (int i = 0; i < decimals_[column]; ++i) step /= 10;
    if (step <= 1) continue;
    launches_.Warn(
        fmt::format("{}: the column {} is rounded to {} ns, expected 'nsys stats "
                    "--timeunit nsec'",
                    file, report_->columns[column], step));
  }
  if (rest_.count > 0) {
    launches_.Warn(
        fmt::format("{}:{}: another report begins, it and what follows are left out ({} "
                    "lines)",
                    file, rest_.first_line, rest_.count));
  }
  if (several_devices_) {
    launches_.Warn(
        fmt::format("{}: the report {} does not tell processes apart: launches of different "
                    "devices are ordered "
                    "by start; the SQLite export has the processes",
                    file, report_->name));
  }
}

Status ReportReader::Read() {
  Result<bool> more = csv_.NextRow();
  if (!more.ok()) return more.error();
  if (!more.value()) return Error{csv_.name() + ": empty file, expected a report of 'nsys stats'"};
  const Status found = FindColumns();
  if (!found.ok()) return found;
  ended_ = csv_.ended();
  for (;;) {
    more = csv_.NextRow();
    if (!more.ok()) return more.error();
    if (!more.value()) break;
    ended_ = csv_.ended();
    // No row of a report begins so; the path may hold commas.
    const bool said = csv_.cells()[0].starts_with("Processing [");
    const Status read = said ? LeaveRest() : AddRow();
    if (!read.ok()) return read;
  }
  if (!ended_) {
    return Error{csv_.name() +
                 ": the last line has no end and may be cut, expected a complete file"};
  }
  Warn();
  return Success{};
}

}  // namespace

bool LooksLikeNsysCsv(std::string_view leading) {
  return FindHeader(leading).has_value();
}

Result<std::unique_ptr<ProfileReader>> OpenNsysCsv(std::unique_ptr<ByteSource> source) {
  const Result<std::string_view> leading = source->Peek(kHeaderWithin);
  if (!leading.ok()) return leading.error();
  const std::optional<Place> header = FindHeader(leading.value());
  if (!header) {
    return Error{
        fmt::format("{}: no header of cuda_gpu_trace or cuda_kern_exec_trace within {} "
                    "bytes, expected a report of 'nsys stats --format csv'",
                    source->name(), kHeaderWithin)};
  }
  const std::string name = source->name();
  auto launches = std::make_unique<RecordedLaunches>();
  const Status read = ReportReader(std::move(source), *header, *launches).Read();
  if (!read.ok()) return read.error();
  launches->Finish(name);
  return std::unique_ptr<ProfileReader>(std::move(launches));
}

}  // namespace stemtap
