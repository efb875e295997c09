// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "base/memory_source.h"
#include "base/text.h"
#include "formats/importers/importers.h"
#include "formats/importers/recorded_launches.h"
#include "formats/tally.h"
#include "model/canonical_columns.h"

namespace stemtap::formats {
namespace {

constexpr std::size_t kMaxColumns = 4096;

// Number of bytes that are inspected to distinguish metrics from text columns.
constexpr std::size_t kSampleBytes = std::size_t{64} * 1024;

std::string ColumnList() {
  std::string list;
  for (const model::CanonicalColumnInfo& column : model::kCanonicalColumns) {
    if (!list.empty()) list += ',';
    list += column.name;
  }
  return list;
}

// Returns NaN for an empty cell and nullopt if the cell is not a finite number.
std::optional<double> ParseMetric(std::string_view cell) {
  if (cell.empty()) return std::numeric_limits<double>::quiet_NaN();
  double value = 0.0;
  const auto [rest, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (code != std::errc{} || rest != cell.data() + cell.size() || !std::isfinite(value)) return {};
  return value;
}

class CanonicalCsvReader : public model::ProfileReader {
 public:
  explicit CanonicalCsvReader(std::unique_ptr<ByteSource> source) : csv_(std::move(source)) {}

  // Reads the header. `sample` is the beginning of the file; `whole`: it is the complete file.
  Status Start(std::string_view sample, bool whole);

  Result<std::size_t> ReadSome(model::ProfileBatch& batch, std::size_t limit) override;

 private:
  struct Number {
    std::size_t cell;
    model::CanonicalColumn column;
  };
  struct Metric {
    std::size_t cell;
    std::size_t column;  // index into metric_names_
    Tally no_number;
  };

  Status FindColumns(const std::vector<std::string>& header, const std::vector<bool>& holds_text);
  // Remembers the column of a mark. Returns false for any other column.
  bool FindMark(std::string_view name, std::size_t cell);
  Status ParseRow(shm::KernelRecord& record);
  Result<std::string_view> ParseRange() const;
  Result<std::uint64_t> ParseStep() const;
  Error BadNumber(model::CanonicalColumn column, std::string_view cell) const;
  void WarnAtEnd();

  CsvReader csv_;
  std::size_t columns_ = 0;
  std::size_t name_cell_ = 0;
  std::optional<std::size_t> range_cell_;
  std::optional<std::size_t> step_cell_;
  std::vector<Number> numbers_;
  std::vector<Metric> metrics_;
  std::uint64_t rows_ = 0;
  std::uint64_t next_index_ = 0;  // minimum value that keeps the index increasing
  Tally index_back_;
  bool ended_ = false;
  std::uint64_t cut_line_ = 0;  // of the last row if it has no line end
};

// Returns for each column whether its first non-empty cell in the sample is not a number.
std::vector<bool> FindText(std::string_view sample, bool whole, std::size_t columns) {
  enum class Kind : std::uint8_t { kEmpty, kNumber, kText };
  std::vector<Kind> kinds(columns, Kind::kEmpty);
  std::vector<Kind> before = kinds;
  CsvReader csv(std::make_unique<MemorySource>("", sample));
  Result<bool> more = csv.NextRow();  // the header
  for (more = csv.NextRow(); more.ok() && more.value(); more = csv.NextRow()) {
    before = kinds;
    for (std::size_t i = 0; i < std::min(columns, csv.cells().size()); ++i) {
      if (kinds[i] != Kind::kEmpty || csv.cells()[i].empty()) continue;
      kinds[i] = ParseMetric(csv.cells()[i]) ? Kind::kNumber : Kind::kText;
    }
  }
  // The last row of a sample may be truncated inside a cell.
  const std::vector<Kind>& known = whole ? kinds : before;
  std::vector<bool> text(columns);
  for (std::size_t i = 0; i < columns; ++i) text[i] = known[i] == Kind::kText;
  return text;
}

Status CanonicalCsvReader::Start(std::string_view sample, bool whole) {
  if (!STEMTAP_TRY(csv_.NextRow())) {
    return Error{fmt::format("{}: empty file; expected the columns {}", csv_.name(), ColumnList())};
  }
  columns_ = csv_.cells().size();
  if (columns_ > kMaxColumns) {
    return csv_.At(fmt::format("{} columns; expected at most {}", columns_, kMaxColumns));
  }
  return FindColumns({csv_.cells().begin(), csv_.cells().end()}, FindText(sample, whole, columns_));
}

Status CanonicalCsvReader::FindColumns(const std::vector<std::string>& header,
                                       const std::vector<bool>& holds_text) {
  std::vector<bool> found(model::kCanonicalColumns.size());
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string& name = header[i];
    if (name.empty()) {
      warnings_.push_back(
          fmt::format("{}: column {} has no name and is ignored", csv_.name(), i + 1));
      continue;
    }
    if (std::find(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(i), name) !=
        header.begin() + static_cast<std::ptrdiff_t>(i)) {
      return csv_.At(fmt::format("the column '{}' occurs twice; expected once", ShownCell(name)));
    }
    const auto* const canonical =
        std::find_if(model::kCanonicalColumns.begin(), model::kCanonicalColumns.end(),
                     [&](const model::CanonicalColumnInfo& column) { return column.name == name; });
    if (canonical == model::kCanonicalColumns.end()) {
      if (FindMark(name, i)) continue;
      if (holds_text[i]) {
        warnings_.push_back(fmt::format("{}: the column '{}' contains no numbers and is ignored",
                                        csv_.name(), ShownCell(name)));
      } else {
        metrics_.push_back({i, metric_names_.size(), {}});
        metric_names_.push_back(name);
      }
      continue;
    }
    const auto position = static_cast<std::size_t>(canonical - model::kCanonicalColumns.begin());
    const auto column = static_cast<model::CanonicalColumn>(position);
    found[position] = true;
    if (column == model::CanonicalColumn::kName) {
      name_cell_ = i;
    } else {
      numbers_.push_back({i, column});
    }
  }
  for (std::size_t i = 0; i < model::kCanonicalColumns.size(); ++i) {
    if (model::kCanonicalColumns[i].required && !found[i]) {
      return csv_.At(fmt::format("no column '{}'; expected the columns {}",
                                 model::kCanonicalColumns[i].name, ColumnList()));
    }
  }
  return Success{};
}

bool CanonicalCsvReader::FindMark(std::string_view name, std::size_t cell) {
  if (name == model::kRangeColumn) {
    range_cell_ = cell;
    marks_.ranges = true;
  } else if (name == model::kStepColumn) {
    step_cell_ = cell;
    marks_.steps = true;
  } else {
    return false;
  }
  return true;
}

Error CanonicalCsvReader::BadNumber(model::CanonicalColumn column, std::string_view cell) const {
  const model::CanonicalColumnInfo& info = model::InfoOf(column);
  return csv_.At(fmt::format("{} is '{}'; expected a whole number from {} to {}{}", info.name,
                             ShownCell(cell), info.least, info.most,
                             info.required ? "" : ", or an empty cell"));
}

Status CanonicalCsvReader::ParseRow(shm::KernelRecord& record) {
  const std::vector<std::string_view>& cells = csv_.cells();
  STEMTAP_TRY(csv_.CheckWidth(columns_));
  record = RecordedLaunches::Unknown();
  record.correlation_id = static_cast<std::uint32_t>(rows_);
  for (const Number& number : numbers_) {
    const std::string_view cell = cells[number.cell];
    const model::CanonicalColumnInfo& info = model::InfoOf(number.column);
    std::uint64_t value = 0;
    if (cell.empty()) {
      if (info.required) return BadNumber(number.column, cell);
      continue;
    }
    const char* const end = cell.data() + cell.size();
    const auto [rest, code] = std::from_chars(cell.data(), end, value);
    if (code != std::errc{} || rest != end || value < info.least || value > info.most) {
      return BadNumber(number.column, cell);
    }
    if (number.column == model::CanonicalColumn::kIndex) {
      if (value < next_index_) index_back_.Add(csv_.line());
      next_index_ = value + 1;
    } else {
      model::SetCell(record, number.column, value);
    }
  }
  const std::string_view name = cells[name_cell_];
  if (name.empty()) return csv_.At("name is empty; expected the name of a kernel");
  if (name.size() > shm::kMaxNameBytes) {
    return csv_.At(
        fmt::format("a name of {} bytes; expected at most {}", name.size(), shm::kMaxNameBytes));
  }
  const std::string_view range = STEMTAP_TRY(ParseRange());
  record.name_id = names_.Intern(name, 0, range);
  return Success{};
}

Result<std::string_view> CanonicalCsvReader::ParseRange() const {
  if (!range_cell_) return std::string_view();
  const std::string_view range = csv_.cells()[*range_cell_];
  if (range.size() <= shm::kMaxRangeBytes) return range;
  return csv_.At(
      fmt::format("a range of {} bytes; expected at most {}", range.size(), shm::kMaxRangeBytes));
}

Result<std::uint64_t> CanonicalCsvReader::ParseStep() const {
  const std::string_view cell = csv_.cells()[*step_cell_];
  if (cell.empty()) return shm::kNoStep;
  std::uint64_t step = 0;
  const char* const end = cell.data() + cell.size();
  const auto [rest, code] = std::from_chars(cell.data(), end, step);
  if (code == std::errc{} && rest == end && step <= model::kMaxTime) return step;
  return csv_.At(fmt::format("{} is '{}'; expected a whole number from 0 to {}, or an empty cell",
                             model::kStepColumn, ShownCell(cell), model::kMaxTime));
}

Result<std::size_t> CanonicalCsvReader::ReadSome(model::ProfileBatch& batch, std::size_t limit) {
  batch.records.clear();
  batch.metrics.resize(metrics_.size());
  for (std::vector<double>& column : batch.metrics) column.clear();
  while (batch.records.size() < limit && !ended_) {
    if (!STEMTAP_TRY(csv_.NextRow())) {
      ended_ = true;
      WarnAtEnd();
      break;
    }
    cut_line_ = csv_.ended() ? 0 : csv_.line();
    shm::KernelRecord record;
    STEMTAP_TRY(ParseRow(record));
    for (Metric& metric : metrics_) {
      std::optional<double> value = ParseMetric(csv_.cells()[metric.cell]);
      if (!value) metric.no_number.Add(csv_.line());
      batch.metrics[metric.column].push_back(
          value.value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    if (step_cell_) batch.steps.push_back(STEMTAP_TRY(ParseStep()));
    batch.records.push_back(record);
    ++rows_;
  }
  return batch.records.size();
}

void CanonicalCsvReader::WarnAtEnd() {
  if (cut_line_ != 0) {
    warnings_.push_back(fmt::format("{}:{}: the last row has no line end; it may be incomplete",
                                    csv_.name(), cut_line_));
  }
  if (index_back_.count > 0) {
    warnings_.push_back(
        fmt::format("{}:{}: index does not increase ({} such rows); the order of the rows is used "
                    "as the launch order",
                    csv_.name(), index_back_.first, index_back_.count));
  }
  for (const Metric& metric : metrics_) {
    if (metric.no_number.count == 0) continue;
    warnings_.push_back(fmt::format(
        "{}:{}: a cell of the column '{}' is not a number ({} such rows); treated as empty",
        csv_.name(), metric.no_number.first, ShownCell(metric_names_[metric.column]),
        metric.no_number.count));
  }
}

}  // namespace

bool LooksLikeCanonicalCsv(std::string_view leading) {
  CsvReader csv(std::make_unique<MemorySource>("", leading));
  const Result<bool> header = csv.NextRow();
  if (!header.ok() || !header.value()) return false;
  return std::any_of(csv.cells().begin(), csv.cells().end(), [](std::string_view cell) {
    return std::any_of(
        model::kCanonicalColumns.begin(), model::kCanonicalColumns.end(),
        [&](const model::CanonicalColumnInfo& column) { return column.name == cell; });
  });
}

Result<std::unique_ptr<model::ProfileReader>> OpenCanonicalCsv(std::unique_ptr<ByteSource> source) {
  // A copy, because further reads invalidate the peeked bytes.
  const std::string sample(STEMTAP_TRY(source->Peek(kSampleBytes)));
  auto reader = std::make_unique<CanonicalCsvReader>(std::move(source));
  STEMTAP_TRY(reader->Start(sample, sample.size() < kSampleBytes));
  return std::unique_ptr<model::ProfileReader>(std::move(reader));
}

}  // namespace stemtap::formats
