// SPDX-License-Identifier: Apache-2.0
#include "importers/ncu_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "base/decimal.h"
#include "base/memory_source.h"
#include "base/text.h"
#include "importers/ncu_numbers.h"
#include "importers/recorded_launches.h"

namespace stemtap {
namespace {

constexpr std::size_t kMaxMetrics = 16384;

// How often ncu's own warnings are passed on.
constexpr std::uint64_t kMostNotes = 10;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The columns that identify a launch or its metric; in the raw page every other one is a metric.
enum Column : std::size_t {
  kId,
  kProcess,
  kKernel,
  kStream,
  kBlock,
  kGrid,
  kDevice,
  kSection,
  kMetric,
  kUnit,
  kValue,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kColumnNames = {
    "ID",     "Process ID",   "Kernel Name", "Stream",      "Block Size",  "Grid Size",
    "Device", "Section Name", "Metric Name", "Metric Unit", "Metric Value"};
constexpr std::array<std::string_view, 5> kOtherColumns = {"Process Name", "Host Name",
                                                           "Kernel Time", "Context", "CC"};

// Splits the line if it may be the header; whether it is.
bool IsHeader(CsvReader& lines) {
  // A program that does not end its last line has it glued before the header.
  std::size_t from = lines.text().find("\"ID\",\"");
  if (from == std::string_view::npos) {
    if (!lines.text().starts_with("ID,")) return false;
    from = 0;
  }
  return lines.SplitLine(from) && FindCell(lines.cells(), "Kernel Name");
}

// "(256, 1, 1)"; false where it is none.
bool ParseExtents(std::string_view text, std::uint64_t most, std::uint64_t (&extents)[3]) {
  if (!text.starts_with('(') || !text.ends_with(')')) return false;
  text = text.substr(1, text.size() - 2);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t comma = i < 2 ? text.find(',') : text.size();
    if (comma == std::string_view::npos) return false;
    const std::optional<std::uint64_t> extent = WholeNumber(text.substr(0, comma));
    if (!extent || *extent == 0 || *extent > most) return false;
    extents[i] = *extent;
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return true;
}

class NcuPage {
 public:
  NcuPage(std::unique_ptr<ByteSource> source, bool needs_duration)
      : lines_(std::move(source)), needs_duration_(needs_duration) {}

  Result<std::unique_ptr<ProfileReader>> Read();

 private:
  struct Metric {
    std::string name;
    std::optional<NcuUnit> unit;  // of the row before
    bool scaled = false;          // a value came in another unit than the base unit
    std::uint64_t numbers = 0;
    std::uint64_t texts = 0;
    std::uint64_t first_text = 0;  // line
  };
  struct Launch {
    wire::KernelRecord record;
    std::uint32_t name_id = 0;
    std::uint64_t line = 0;
  };
  struct Value {
    std::uint32_t launch = 0;
    std::uint32_t metric = 0;
    NcuReading reading;
  };

  Status StartTable();
  Status ReadLine();
  Status ReadRow();
  Status ReadUnits();
  Status StartLaunch();
  Status AddValue(std::size_t metric, std::string_view text);
  Status SetUnit(Metric& metric, std::string_view text);
  Result<std::size_t> MetricOf(std::string_view section, std::string_view name);
  Result<std::size_t> NewMetric(std::string name);
  Status Deliver();
  Status SetDurations(const std::vector<std::vector<double>>& columns);
  std::optional<std::size_t> DurationMetric() const;
  void NoteOther();
  void Report();

  std::string_view Cell(Column column) const {
    return columns_[column] ? lines_.cells()[*columns_[column]] : std::string_view();
  }
  Error Bad(Column column, std::string_view expected) const {
    return lines_.At(fmt::format("{} is '{}', expected {}", kColumnNames[column],
                                 ShownCell(Cell(column)), expected));
  }

  CsvReader lines_;
  const bool needs_duration_;
  std::vector<std::string> header_;
  bool quoted_ = false;      // the header, and so every row, is in quotes
  bool details_ = false;     // a row for each metric
  bool units_next_ = false;  // the next row may be that of the units
  std::array<std::optional<std::size_t>, kColumns> columns_;
  std::vector<std::pair<std::size_t, std::size_t>> metric_cells_;  // raw page: cell, metric
  std::vector<Metric> metrics_;
  std::unordered_map<std::string, std::size_t> known_;  // section and name, to metric
  std::map<std::string, std::size_t, std::less<>> names_;
  std::vector<Launch> launches_;
  std::vector<Value> values_;
  // Launches of the table by process and id, and that of the row before.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> ids_;
  std::pair<std::uint64_t, std::uint64_t> last_ = {};
  bool has_last_ = false;
  NcuDecimalMark mark_;
  std::uint64_t others_ = 0;
  std::uint64_t notes_ = 0;
  std::uint64_t rules_ = 0;
  std::uint64_t ids_back_ = 0;
  std::unique_ptr<RecordedLaunches> result_ = std::make_unique<RecordedLaunches>();
};

void NcuPage::NoteOther() {
  const std::string_view text = lines_.text();
  if (text.starts_with("==ERROR==") || text.starts_with("==WARNING==")) {
    if (notes_++ < kMostNotes) {
      result_->Warn(lines_.At("ncu says '" + EscapeForTerminal(text.substr(0, 200)) + "'").message);
    }
  } else if (!text.empty() && !text.starts_with("==")) {
    ++others_;
  }
}

Result<std::size_t> NcuPage::NewMetric(std::string name) {
  if (metrics_.size() == kMaxMetrics) {
    return lines_.At(fmt::format("more than {} metrics, expected a page of ncu", kMaxMetrics));
  }
  metrics_.push_back({std::move(name), {}});
  return metrics_.size() - 1;
}

// Labels of the details page are unique in their section only: a later section's carries its name.
Result<std::size_t> NcuPage::MetricOf(std::string_view section, std::string_view name) {
  std::string key = fmt::format("{}\n{}", section, name);
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  std::string column(name);
  if (names_.contains(column)) column = fmt::format("{}: {}", section, name);
  const Result<std::size_t> metric = NewMetric(column);
  if (!metric.ok()) return metric;
  names_.emplace(std::move(column), metric.value());
  known_.emplace(std::move(key), metric.value());
  return metric;
}

Status NcuPage::StartTable() {
  const std::vector<std::string> header(lines_.cells().begin(), lines_.cells().end());
  units_next_ = true;
  ids_.clear();
  has_last_ = false;
  if (!header_.empty()) {
    if (header == header_) return Success{};
    return lines_.At("a second table with other columns, expected the columns of the first");
  }
  header_ = header;
  quoted_ = lines_.text().find("\"ID\"") != std::string_view::npos;
  for (std::size_t i = 0; i < kColumns; ++i)
    columns_[i] = FindCell(lines_.cells(), kColumnNames[i]);
  details_ = columns_[kMetric].has_value();
  if (details_ && !columns_[kValue]) return lines_.At("no column 'Metric Value', expected one");
  if (details_) return Success{};
  for (std::size_t i = 0; i < header_.size(); ++i) {
    const std::string& name = header_[i];
    const auto is = [&](std::string_view other) { return name == other; };
    // NVTX ranges have columns like "thread Domain:Push/Pop_Range:...".
    if (name.empty() || name.find("_Range:") != std::string::npos ||
        std::any_of(kColumnNames.begin(), kColumnNames.end(), is) ||
        std::any_of(kOtherColumns.begin(), kOtherColumns.end(), is)) {
      continue;
    }
    if (names_.contains(name)) {
      return lines_.At(fmt::format("the column '{}' stands twice, expected once", ShownCell(name)));
    }
    const Result<std::size_t> metric = NewMetric(name);
    if (!metric.ok()) return metric.error();
    names_.emplace(name, metric.value());
    metric_cells_.emplace_back(i, metric.value());
  }
  return Success{};
}

Status NcuPage::SetUnit(Metric& metric, std::string_view text) {
  NcuUnit unit = ParseNcuUnit(text);
  if (metric.unit && metric.unit->base != unit.base) {
    return lines_.At(fmt::format("{} has the unit '{}', expected '{}' as before",
                                 ShownCell(metric.name), ShownCell(text),
                                 ShownCell(metric.unit->base)));
  }
  metric.unit = std::move(unit);
  return Success{};
}

Status NcuPage::ReadUnits() {
  for (const auto& [cell, metric] : metric_cells_) {
    const Status set = SetUnit(metrics_[metric], lines_.cells()[cell]);
    if (!set.ok()) return set.error();
  }
  return Success{};
}

Status NcuPage::AddValue(std::size_t index, std::string_view text) {
  Metric& metric = metrics_[index];
  if (IsNcuMissing(text)) return Success{};
  const NcuReading reading = ReadNcuNumber(text);
  if (reading.IsText()) {
    if (metric.texts++ == 0) metric.first_text = lines_.line();
    return Success{};
  }
  const double factor = metric.unit ? metric.unit->factor : 1.0;
  const bool plain = metric.unit && factor == 1.0;
  const bool whole = IsNcuWhole(metric.name, plain ? std::string_view(metric.unit->base) : "");
  mark_.Note(reading, whole, text, lines_.line());
  ++metric.numbers;
  metric.scaled = metric.scaled || factor != 1.0;
  values_.push_back({static_cast<std::uint32_t>(launches_.size() - 1),
                     static_cast<std::uint32_t>(index),
                     {reading.point * factor, reading.comma * factor}});
  return Success{};
}

Status NcuPage::StartLaunch() {
  std::string digits;  // an id may come with groups, "1,024"
  for (const char c : Cell(kId)) {
    if (c != ',' && c != '.') digits += c;
  }
  const std::optional<std::uint64_t> id = WholeNumber(digits);
  if (!id) return Bad(kId, "the number of a launch");
  const std::uint64_t process = WholeNumber(Cell(kProcess)).value_or(0);
  const std::pair key = {process, *id};
  if (details_ && has_last_ && key == last_) return Success{};
  const auto [at, is_new] = ids_.emplace(key, lines_.line());
  if (!is_new) {
    if (details_) {
      return lines_.At(fmt::format("launch {} again (first in line {}), expected its rows together",
                                   *id, at->second));
    }
    ++ids_back_;
  } else if (has_last_ && last_.first == process && *id < last_.second) {
    ++ids_back_;
  }
  last_ = key;
  has_last_ = true;

  const std::string_view name = Cell(kKernel);
  if (name.empty()) return Bad(kKernel, "the name of a kernel");
  Launch launch = {RecordedLaunches::Unknown(), result_->Name(name), lines_.line()};
  launch.record.correlation_id = static_cast<std::uint32_t>(*id);
  std::uint64_t extents[3] = {};
  if (!Cell(kBlock).empty()) {
    if (!ParseExtents(Cell(kBlock), 0xFFFF, extents)) return Bad(kBlock, "'(256, 1, 1)'");
    for (std::size_t i = 0; i < 3; ++i) {
      launch.record.block[i] = static_cast<std::uint16_t>(extents[i]);
    }
  }
  if (!Cell(kGrid).empty()) {
    if (!ParseExtents(Cell(kGrid), 0xFFFFFFFF, extents)) return Bad(kGrid, "'(1024, 1, 1)'");
    for (std::size_t i = 0; i < 3; ++i) {
      launch.record.grid[i] = static_cast<std::uint32_t>(extents[i]);
    }
  }
  if (const auto device = WholeNumber(Cell(kDevice)); device && *device < wire::kUnknown16) {
    launch.record.device = static_cast<std::uint16_t>(*device);
  }
  if (const auto stream = WholeNumber(Cell(kStream)); stream && *stream < wire::kUnknown32) {
    launch.record.stream = static_cast<std::uint32_t>(*stream);
  }
  launches_.push_back(launch);
  return Success{};
}

Status NcuPage::ReadRow() {
  if (!lines_.SplitLine()) return lines_.At("a quote is not closed, expected '\"'");
  if (lines_.cells().size() != header_.size()) {
    return lines_.At(fmt::format("{} cells, expected {}", lines_.cells().size(), header_.size()));
  }
  if (lines_.MayBeCut()) return lines_.At("no line end behind the last row, expected a whole file");
  const bool units = units_next_ && !details_ && Cell(kId).empty();
  units_next_ = false;
  if (units) return ReadUnits();
  const Status started = StartLaunch();
  if (!started.ok()) return started.error();
  if (!details_) {
    for (const auto& [cell, metric] : metric_cells_) {
      const Status added = AddValue(metric, lines_.cells()[cell]);
      if (!added.ok()) return added.error();
    }
    return Success{};
  }
  if (Cell(kMetric).empty()) {  // the row of a rule's advice
    ++rules_;
    return Success{};
  }
  const Result<std::size_t> metric = MetricOf(Cell(kSection), Cell(kMetric));
  if (!metric.ok()) return metric.error();
  if (IsNcuMissing(Cell(kValue))) return Success{};  // and its unit with it
  const Status unit = SetUnit(metrics_[metric.value()], Cell(kUnit));
  if (!unit.ok()) return unit.error();
  return AddValue(metric.value(), Cell(kValue));
}

Status NcuPage::ReadLine() {
  if (IsHeader(lines_)) return StartTable();
  const std::string_view text = lines_.text();
  const char first = text.empty() ? '\0' : text[0];
  const char second = text.size() < 2 ? '\0' : text[1];
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  // The rest of a row that was cut inside its first cell is no line of the program's.
  const bool row = quoted_ ? first == '"' && (digit(second) || second == '"' || second == '\0')
                           : digit(first) || first == ',';
  if (row) return ReadRow();
  NoteOther();
  return Success{};
}

std::optional<std::size_t> NcuPage::DurationMetric() const {
  for (const char* name :
       {"gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max", "Duration"}) {
    const auto at = names_.find(name);
    if (at != names_.end() && metrics_[at->second].numbers > 0) return at->second;
  }
  return std::nullopt;
}

Status NcuPage::SetDurations(const std::vector<std::vector<double>>& columns) {
  const std::optional<std::size_t> metric = DurationMetric();
  if (!metric) {
    for (Launch& launch : launches_) launch.record.duration_ns = 0;
    if (!needs_duration_ || launches_.empty()) return Success{};
    return Error{
        fmt::format("{}: no durations, expected the metric gpu__time_duration.sum (or use "
                    "the file with --metrics beside a profile)",
                    lines_.name())};
  }
  const Metric& duration = metrics_[*metric];
  if (needs_duration_ && (!duration.unit || duration.unit->base != "ns")) {
    return Error{fmt::format("{}: {} has the unit '{}', expected a time", lines_.name(),
                             ShownCell(duration.name),
                             duration.unit ? ShownCell(duration.unit->base) : "")};
  }
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const double ns = columns[*metric][i];
    Launch& launch = launches_[i];
    launch.record.duration_ns = 0;
    if (ns >= 0.0 && ns < 0x1p63) {
      launch.record.duration_ns = static_cast<std::uint64_t>(std::llround(ns));
    } else if (needs_duration_) {
      return Error{fmt::format("{}:{}: launch {} has no {}, expected its duration", lines_.name(),
                               launch.line, launch.record.correlation_id,
                               ShownCell(duration.name))};
    }
  }
  if (needs_duration_ && duration.scaled) {
    result_->Warn(
        fmt::format("{}: durations are not printed in ns, so they are rounded (ncu "
                    "--print-units base gives every digit)",
                    lines_.name()));
  }
  return Success{};
}

void NcuPage::Report() {
  if (others_ > 0) {
    result_->Warn(
        fmt::format("{}: {} lines that are no part of the table left out", lines_.name(), others_));
  }
  if (notes_ > kMostNotes) {
    result_->Warn(fmt::format("{}: {} more warnings of ncu", lines_.name(), notes_ - kMostNotes));
  }
  if (rules_ > 0) {
    result_->Warn(
        fmt::format("{}: {} rows without a metric (advice) left out", lines_.name(), rules_));
  }
  if (ids_back_ > 0) {
    result_->Warn(
        fmt::format("{}: the ID does not increase ({} such rows), the order of the rows "
                    "is taken as the launch order",
                    lines_.name(), ids_back_));
  }
  std::vector<std::string> texts;
  for (const Metric& metric : metrics_) {
    if (metric.numbers == 0) {
      texts.push_back(metric.name);
    } else if (metric.texts > 0) {
      result_->Warn(fmt::format("{}:{}: {} is no number ({} such cells), taken as empty",
                                lines_.name(), metric.first_text, ShownCell(metric.name),
                                metric.texts));
    }
  }
  if (!texts.empty()) {
    result_->Warn(fmt::format("{}: {} metrics hold no numbers and are left out, such as '{}'",
                              lines_.name(), texts.size(), ShownCell(texts.front())));
  }
}

Status NcuPage::Deliver() {
  const Result<bool> comma = mark_.IsComma(lines_.name());
  if (!comma.ok()) return comma.error();
  // The result is a full table. One with next to nothing in it is no page of ncu, and could be
  // larger than any memory.
  const std::size_t cells = metrics_.size() * launches_.size();
  if (cells > 1'000'000 && cells / 200 > values_.size()) {
    return lines_.At(
        fmt::format("{} launches of {} metrics with {} values in all, expected the "
                    "same metrics of every launch",
                    launches_.size(), metrics_.size(), values_.size()));
  }
  std::vector<std::vector<double>> columns(metrics_.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (metrics_[i].numbers > 0) columns[i].resize(launches_.size(), kNone);
  }
  for (const Value& value : values_) {
    columns[value.metric][value.launch] = comma.value() ? value.reading.comma : value.reading.point;
  }
  values_ = {};
  const Status durations = SetDurations(columns);
  if (!durations.ok()) return durations.error();
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    if (metrics_[i].numbers == 0) continue;
    kept.push_back(i);
    result_->AddMetric(metrics_[i].name);
  }
  std::vector<double> row(kept.size());
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    for (std::size_t m = 0; m < kept.size(); ++m) row[m] = columns[kept[m]][i];
    result_->Add(launches_[i].record, launches_[i].name_id, row);
  }
  Report();
  result_->Finish(lines_.name());
  return Success{};
}

Result<std::unique_ptr<ProfileReader>> NcuPage::Read() {
  Result<bool> more = lines_.NextLine();
  for (; more.ok() && more.value() && !IsHeader(lines_); more = lines_.NextLine()) NoteOther();
  if (!more.ok()) return more.error();
  if (!more.value()) {
    return lines_.At("no table, expected a line \"ID\",\"Process ID\",... (ncu --csv)");
  }
  const Status table = StartTable();
  if (!table.ok()) return table.error();
  for (more = lines_.NextLine(); more.ok() && more.value(); more = lines_.NextLine()) {
    const Status line = ReadLine();
    if (!line.ok()) return line.error();
  }
  if (!more.ok()) return more.error();
  const Status delivered = Deliver();
  if (!delivered.ok()) return delivered.error();
  return std::unique_ptr<ProfileReader>(std::move(result_));
}

}  // namespace

bool LooksLikeNcuCsv(std::string_view leading) {
  CsvReader lines(std::make_unique<MemorySource>("", leading));
  for (Result<bool> more = lines.NextLine(); more.ok() && more.value(); more = lines.NextLine()) {
    if (lines.text().starts_with("==PROF== ") || IsHeader(lines)) return true;
  }
  return false;
}

Result<std::unique_ptr<ProfileReader>> OpenNcuCsv(std::unique_ptr<ByteSource> source) {
  return NcuPage(std::move(source), true).Read();
}

Result<std::unique_ptr<ProfileReader>> OpenNcuMetrics(std::unique_ptr<ByteSource> source) {
  return NcuPage(std::move(source), false).Read();
}

}  // namespace stemtap
