// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/ncu_page.h"

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
#include "formats/importers/csv_table.h"
#include "formats/importers/recorded_launches.h"
#include "formats/tally.h"

namespace stemtap::formats {
namespace {

constexpr std::size_t kMaxMetrics = 16384;

// Maximum number of ncu warnings that are passed on.
constexpr std::uint64_t kMaxNotes = 10;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The columns that identify a launch or its metric; in the raw page, every other column is a
// metric.
enum Column : std::size_t {
  kId,
  kProcess,
  kKernel,
  kStream,
  kBlock,
  kGrid,
  kDevice,
  kSection,
  kItem,
  kMetric,
  kUnit,
  kValue,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kColumnNames = {
    "ID",     "Process ID",   "Kernel Name",     "Stream",      "Block Size",  "Grid Size",
    "Device", "Section Name", "Body Item Label", "Metric Name", "Metric Unit", "Metric Value"};
constexpr std::array<std::string_view, 5> kOtherColumns = {"Process Name", "Host Name",
                                                           "Kernel Time", "Context", "CC"};

// Splits the line if it may be the header and returns whether it is. `may_be_cut`: the content may
// end inside the header; the identifying columns come first.
bool IsHeader(CsvReader& lines, bool may_be_cut = false) {
  // If a program does not end its last line, its output directly precedes the header.
  std::size_t from = lines.text().find("\"ID\",\"");
  if (from == std::string_view::npos) {
    if (!lines.text().starts_with("ID,")) return false;
    from = 0;
  }
  const bool is_whole = lines.SplitLine(from);
  return (is_whole || (may_be_cut && !lines.ended())) && FindCell(lines.cells(), "Kernel Name");
}

// With --print-metric-instances, "4096 (1024; 3072)" is the value of the launch followed by the
// values of its instances. The launch may have no value.
std::string_view WithoutInstances(std::string_view text) {
  text = Trimmed(text);
  return text.ends_with(')') ? Trimmed(text.substr(0, text.find('('))) : text;
}

// Parses "(256, 1, 1)"; returns false for anything else.
template <typename T>
bool ParseExtents(std::string_view text, T (&extents)[3]) {
  if (!text.starts_with('(') || !text.ends_with(')')) return false;
  text = text.substr(1, text.size() - 2);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t comma = i < 2 ? text.find(',') : text.size();
    if (comma == std::string_view::npos) return false;
    const std::optional<std::uint64_t> extent = WholeNumber(text.substr(0, comma));
    if (!extent || *extent == 0 || *extent > std::numeric_limits<T>::max()) return false;
    extents[i] = static_cast<T>(*extent);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return true;
}

class PageReader {
 public:
  explicit PageReader(std::unique_ptr<ByteSource> source) : table_(std::move(source)) {
    page_.source = table_.name();
  }

  Result<NcuPage> Read();

 private:
  struct Metric {
    std::string name;
    std::string label;
    std::optional<NcuUnit> unit;  // of the previous row
    bool is_scaled = false;       // a value was printed in a unit other than the base unit
    std::uint64_t numbers = 0;
    Tally texts = {};
  };
  struct Value {
    std::uint32_t launch = 0;
    std::uint32_t metric = 0;
    NcuReading reading;
  };

  Status StartTable();
  Status AddMetricColumns();
  Status ReadLine();
  Status ReadRow();
  Status ReadUnits();
  Status StartLaunch();
  Status AddValue(std::size_t metric, std::string_view cell);
  Status SetUnit(Metric& metric, std::string_view text);
  Result<std::size_t> MetricOf(std::string_view label);
  Result<std::size_t> NewMetric(std::string name, std::string_view label);
  Status Deliver();
  void NoteOther();
  std::uint64_t Place(Column column, std::uint64_t unknown);
  void Warn(std::string warning) { page_.warnings.push_back(std::move(warning)); }
  void Report();

  CsvTable table_;
  NcuPage page_;  // names, launches and warnings; the rest is set at the end
  // How the rows of the table are read.
  struct Layout {
    std::size_t min_cells = 0;      // minimum per row
    std::size_t foreign_cells = 0;  // of a row of the preceding foreign table; 0 if there is none
    bool quoted = false;            // the header, and therefore every row, is quoted
    bool details = false;           // one row per metric
    bool units_next = false;        // the next row may contain the units
    std::vector<std::pair<std::size_t, std::size_t>> metric_cells;  // raw page: cell, metric
  };
  Layout layout_;
  std::vector<Metric> metrics_;
  std::unordered_map<std::string, std::size_t> known_;  // section, item and label, to metric
  std::map<std::string, std::size_t, std::less<>> names_;
  std::vector<Value> values_;
  // Launches of the table by process and id, and the key of the previous row.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> ids_;
  std::pair<std::uint64_t, std::uint64_t> last_ = {};
  bool has_last_ = false;
  NcuDecimalMark mark_;
  // What the warnings report.
  struct Counts {
    std::uint64_t bad_places = 0;  // cells of devices and streams without a number
    std::string first_bad_place;
    std::uint64_t others = 0;
    std::uint64_t notes = 0;
    std::uint64_t rules = 0;
    std::uint64_t ids_back = 0;
    std::uint64_t repeated = 0;  // values that differ from an earlier value of the launch
    std::string first_repeated;
  };
  Counts counts_;
};

void PageReader::NoteOther() {
  const std::string_view text = table_.text();
  if (text.starts_with("==ERROR==") || text.starts_with("==WARNING==")) {
    if (counts_.notes++ < kMaxNotes) {
      Warn(table_.At("ncu reports '" + EscapeForTerminal(text.substr(0, 200)) + "'").message);
    }
  } else if (!text.empty() && !text.starts_with("==")) {
    ++counts_.others;
    // Some sections contain a separate table with another header.
    if (text.starts_with('"') && table_.SplitLine()) layout_.foreign_cells = table_.cells().size();
  }
}

Result<std::size_t> PageReader::NewMetric(std::string name, std::string_view label) {
  if (metrics_.size() == kMaxMetrics) {
    return table_.At(fmt::format("more than {} metrics; expected a page of ncu", kMaxMetrics));
  }
  metrics_.push_back({name, std::string(label), {}});
  names_.emplace(std::move(name), metrics_.size() - 1);
  return metrics_.size() - 1;
}

// Labels of the details page are unique only within an item of a section. The first metric with a
// label uses the label as its name; later ones add the section and, if that is not unique, the
// item.
Result<std::size_t> PageReader::MetricOf(std::string_view label) {
  const std::string_view section = table_.Cell(kSection);
  const std::string_view item = table_.Cell(kItem);
  std::string key = fmt::format("{}\n{}\n{}", section, item, label);
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  std::string name(label);
  if (names_.contains(name)) name = fmt::format("{}: {}", section, label);
  if (names_.contains(name)) name = fmt::format("{}: {}: {}", section, item, label);
  if (names_.contains(name)) {
    return table_.At(fmt::format("{} names two metrics; expected one", ShownCell(name)));
  }
  const Result<std::size_t> metric = NewMetric(std::move(name), label);
  if (metric.ok()) known_.emplace(std::move(key), metric.value());
  return metric;
}

Status PageReader::StartTable() {
  layout_.units_next = true;
  ids_.clear();
  has_last_ = false;
  const std::vector<std::string_view>& cells = table_.cells();
  if (!table_.header().empty()) {
    if (std::equal(cells.begin(), cells.end(), table_.header().begin(), table_.header().end())) {
      return Success{};
    }
    return table_.At("a second table with other columns; expected the columns of the first");
  }
  layout_.quoted = table_.text().find("\"ID\"") != std::string_view::npos;
  CsvTable::Columns columns =
      FindColumns(kColumnNames, [&](std::string_view name) { return FindCell(cells, name); });
  // Metric rows of the details page end after the value; the rule columns, which come last, are
  // missing.
  const std::size_t last_column = **std::max_element(columns.begin(), columns.end());
  table_.SetHeader(std::move(columns));
  layout_.details = table_.Has(kMetric);
  layout_.min_cells = layout_.details ? last_column + 1 : table_.header().size();
  if (!layout_.details) return AddMetricColumns();
  if (!table_.Has(kValue)) return table_.At("no column 'Metric Value'; expected one");
  return Success{};
}

// Makes each column of the raw page that does not identify a launch a metric.
Status PageReader::AddMetricColumns() {
  for (std::size_t i = 0; i < table_.header().size(); ++i) {
    const std::string& name = table_.header()[i];
    const auto is = [&](std::string_view other) { return name == other; };
    // NVTX ranges have columns like "thread Domain:Push/Pop_Range:...".
    if (name.empty() || name.find("_Range:") != std::string::npos ||
        std::any_of(kColumnNames.begin(), kColumnNames.end(), is) ||
        std::any_of(kOtherColumns.begin(), kOtherColumns.end(), is)) {
      continue;
    }
    if (names_.contains(name)) {
      return table_.At(fmt::format("the column '{}' occurs twice; expected once", ShownCell(name)));
    }
    layout_.metric_cells.emplace_back(i, STEMTAP_TRY(NewMetric(name, name)));
  }
  return Success{};
}

Status PageReader::SetUnit(Metric& metric, std::string_view text) {
  NcuUnit unit = ParseNcuUnit(text);
  if (metric.unit && metric.unit->base != unit.base) {
    return table_.At(fmt::format("{} has the unit '{}'; expected '{}' as before",
                                 ShownCell(metric.name), ShownCell(text),
                                 ShownCell(metric.unit->base)));
  }
  metric.unit = std::move(unit);
  return Success{};
}

Status PageReader::ReadUnits() {
  for (const auto& [cell, metric] : layout_.metric_cells) {
    STEMTAP_TRY(SetUnit(metrics_[metric], table_.cells()[cell]));
  }
  return Success{};
}

Status PageReader::AddValue(std::size_t index, std::string_view cell) {
  Metric& metric = metrics_[index];
  const std::string_view text = WithoutInstances(cell);
  if (IsNcuMissing(text)) return Success{};
  const NcuReading reading = ReadNcuNumber(text);
  if (reading.IsText()) {
    metric.texts.Add(table_.line());
    return Success{};
  }
  const double factor = metric.unit ? metric.unit->factor : 1.0;
  const bool plain = metric.unit && factor == 1.0;
  const NcuValues values =
      NcuValuesOf(metric.name, plain ? std::string_view(metric.unit->base) : "");
  mark_.Note(reading, values, text, table_.line());
  ++metric.numbers;
  metric.is_scaled = metric.is_scaled || factor != 1.0;
  values_.push_back({static_cast<std::uint32_t>(page_.launches.size() - 1),
                     static_cast<std::uint32_t>(index),
                     {reading.point * factor, reading.comma * factor}});
  return Success{};
}

Status PageReader::StartLaunch() {
  std::string digits;  // an id may contain group separators, "1,024"
  for (const char c : table_.Cell(kId)) {
    if (c != ',' && c != '.') digits += c;
  }
  const std::optional<std::uint64_t> id = WholeNumber(digits);
  if (!id) return table_.Bad(kId, "the number of a launch");
  const std::uint64_t process = WholeNumber(table_.Cell(kProcess)).value_or(0);
  const std::pair key = {process, *id};
  if (layout_.details && has_last_ && key == last_) return Success{};
  const auto [at, is_new] = ids_.emplace(key, table_.line());
  if (!is_new) {
    if (layout_.details) {
      return table_.At(fmt::format("launch {} again (first in line {}); expected its rows together",
                                   *id, at->second));
    }
    ++counts_.ids_back;
  } else if (has_last_ && last_.first == process && *id < last_.second) {
    ++counts_.ids_back;
  }
  last_ = key;
  has_last_ = true;

  const std::string_view name = table_.Cell(kKernel);
  if (name.empty()) return table_.Bad(kKernel, "the name of a kernel");
  NcuLaunch launch = {*id, RecordedLaunches::Unknown(), table_.line()};
  launch.record.correlation_id = static_cast<std::uint32_t>(*id);
  launch.record.name_id = page_.names.Intern(name);
  const std::string_view block = table_.Cell(kBlock);
  if (!block.empty() && !ParseExtents(block, launch.record.block)) {
    return table_.Bad(kBlock, "'(256, 1, 1)'");
  }
  const std::string_view grid = table_.Cell(kGrid);
  if (!grid.empty() && !ParseExtents(grid, launch.record.grid)) {
    return table_.Bad(kGrid, "'(1024, 1, 1)'");
  }
  launch.record.device = static_cast<std::uint16_t>(Place(kDevice, shm::kUnknown16));
  launch.record.stream = static_cast<std::uint32_t>(Place(kStream, shm::kUnknown32));
  page_.launches.push_back(launch);
  return Success{};
}

// Returns the number of a device or stream; `unknown`, and counted unless the cell is empty, if it
// is not a whole number below `unknown`.
std::uint64_t PageReader::Place(Column column, std::uint64_t unknown) {
  const std::string_view cell = table_.Cell(column);
  const std::optional<std::uint64_t> number = WholeNumber(cell);
  if (number && *number < unknown) return *number;
  if (!cell.empty() && counts_.bad_places++ == 0) {
    counts_.first_bad_place =
        table_.At(fmt::format("{} is '{}'", kColumnNames[column], ShownCell(cell))).message;
  }
  return unknown;
}

Status PageReader::ReadRow() {
  STEMTAP_TRY(table_.SplitRow());
  const std::size_t cells = table_.cells().size();
  const std::size_t max_cells = table_.header().size();
  if (cells > max_cells || cells < layout_.min_cells) {
    if (cells == layout_.foreign_cells) {
      ++counts_.others;
      return Success{};
    }
    return table_.At(
        layout_.min_cells == max_cells
            ? fmt::format("{} cells; expected {}", cells, max_cells)
            : fmt::format("{} cells; expected {} to {}", cells, layout_.min_cells, max_cells));
  }
  layout_.foreign_cells = 0;
  // A row that is shorter than the header may also be truncated after a closing quote.
  if (table_.MayBeCut() || (cells < max_cells && !table_.ended())) {
    return table_.At("no line end after the last row; expected a complete file");
  }
  const bool units = layout_.units_next && !layout_.details && table_.Cell(kId).empty();
  layout_.units_next = false;
  if (units) return ReadUnits();
  STEMTAP_TRY(StartLaunch());
  if (!layout_.details) {
    for (const auto& [cell, metric] : layout_.metric_cells) {
      STEMTAP_TRY(AddValue(metric, table_.cells()[cell]));
    }
    return Success{};
  }
  if (table_.Cell(kMetric).empty()) {  // the row of a rule's advice
    ++counts_.rules;
    return Success{};
  }
  const std::size_t metric = STEMTAP_TRY(MetricOf(table_.Cell(kMetric)));
  if (IsNcuMissing(table_.Cell(kValue))) return Success{};  // the unit is missing too
  STEMTAP_TRY(SetUnit(metrics_[metric], table_.Cell(kUnit)));
  return AddValue(metric, table_.Cell(kValue));
}

Status PageReader::ReadLine() {
  if (IsHeader(table_)) return StartTable();
  const std::string_view text = table_.text();
  const char first = text.empty() ? '\0' : text[0];
  const char second = text.size() < 2 ? '\0' : text[1];
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  // The rest of a row that is truncated inside its first cell is not program output.
  const bool row = layout_.quoted
                       ? first == '"' && (digit(second) || second == '"' || second == '\0')
                       : digit(first) || first == ',';
  if (row) return ReadRow();
  NoteOther();
  return Success{};
}

void PageReader::Report() {
  const auto warn = [&](std::uint64_t count, const char* one, const char* many, const char* what) {
    if (count > 0) Warn(fmt::format("{}: {} {}", table_.name(), Plural(count, one, many), what));
  };
  warn(counts_.others, "line is", "lines are", "outside the table; skipped");
  warn(counts_.notes - std::min(counts_.notes, kMaxNotes), "more warning", "more warnings",
       "of ncu");
  warn(counts_.rules, "row has", "rows have", "no metric (advice); skipped");
  if (counts_.ids_back > 0) {
    Warn(
        fmt::format("{}: the ID does not increase ({} such rows); the order of the rows is used as "
                    "the launch order",
                    table_.name(), counts_.ids_back));
  }
  if (counts_.bad_places > 0) {
    Warn(fmt::format("{}, which is not a number ({}); treated as unknown", counts_.first_bad_place,
                     Plural(counts_.bad_places, "such cell")));
  }
  if (counts_.repeated > 0) {
    Warn(fmt::format("{} has another value in a later row; the first is kept ({} such values)",
                     counts_.first_repeated, counts_.repeated));
  }
  std::vector<std::string> texts;
  for (const Metric& metric : metrics_) {
    if (metric.numbers == 0) {
      texts.push_back(metric.name);
    } else if (metric.texts.count > 0) {
      Warn(fmt::format("{}:{}: {} is not a number ({} such cells); treated as empty", table_.name(),
                       metric.texts.first, ShownCell(metric.name), metric.texts.count));
    }
  }
  if (!texts.empty()) {
    Warn(fmt::format("{}: {} metrics contain no numbers and are ignored, such as '{}'",
                     table_.name(), texts.size(), ShownCell(texts.front())));
  }
}

Status PageReader::Deliver() {
  const bool is_comma = STEMTAP_TRY(mark_.IsComma(table_.name()));
  // The result is a full table. A table that is nearly empty is not an ncu page and could exceed
  // the available memory.
  const std::size_t cells = metrics_.size() * page_.launches.size();
  if (cells > 1'000'000 && cells / 200 > values_.size()) {
    return table_.At(
        fmt::format("{} launches of {} metrics with {} values in all; expected the same metrics "
                    "for every launch",
                    page_.launches.size(), metrics_.size(), values_.size()));
  }
  std::vector<std::vector<double>> columns(metrics_.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (metrics_[i].numbers > 0) columns[i].resize(page_.launches.size(), kNone);
  }
  for (const Value& value : values_) {
    double& held = columns[value.metric][value.launch];
    const double number = is_comma ? value.reading.comma : value.reading.point;
    if (std::isnan(held)) {
      held = number;
    } else if (held != number && counts_.repeated++ == 0) {
      counts_.first_repeated =
          fmt::format("{}: {} of launch {}", page_.source, ShownCell(metrics_[value.metric].name),
                      page_.launches[value.launch].id);
    }
  }
  Report();
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    Metric& metric = metrics_[i];
    if (metric.numbers == 0) continue;
    page_.metrics.push_back({std::move(metric.name), std::move(metric.label),
                             metric.unit ? std::move(metric.unit->base) : std::string(),
                             metric.is_scaled, std::move(columns[i])});
  }
  return Success{};
}

Result<NcuPage> PageReader::Read() {
  bool more = STEMTAP_TRY(table_.NextLine());
  while (more && !IsHeader(table_)) {
    NoteOther();
    more = STEMTAP_TRY(table_.NextLine());
  }
  if (!more) {
    return table_.At("no table; expected a line \"ID\",\"Process ID\",... (ncu --csv)");
  }
  STEMTAP_TRY(StartTable());
  while (STEMTAP_TRY(table_.NextLine())) STEMTAP_TRY(ReadLine());
  STEMTAP_TRY(Deliver());
  return std::move(page_);
}

}  // namespace

bool LooksLikeNcuCsv(std::string_view leading) {
  CsvReader lines(std::make_unique<MemorySource>("", leading));
  for (Result<bool> more = lines.NextLine(); more.ok() && more.value(); more = lines.NextLine()) {
    if (lines.text().starts_with("==PROF== ") || IsHeader(lines, true)) return true;
  }
  return false;
}

Result<NcuPage> ReadNcuPage(std::unique_ptr<ByteSource> source) {
  return PageReader(std::move(source)).Read();
}

}  // namespace stemtap::formats
