// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
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
#include "model/canonical_columns.h"

namespace stemtap::formats {
namespace {

constexpr std::size_t kMaxColumns = 65536;

// Number of rows in which all cells must be durations before a table of numbers is accepted as this
// format: enough to reject a few numbers with a title.
constexpr std::size_t kMinRows = 4;

// Parses a duration in whole ns; tables with missing values contain numbers like 17056.0.
std::optional<std::uint64_t> Duration(std::string_view cell) {
  return ScaledDecimal(cell, 0);
}

// Returns whether a header cell can be a kernel name. Typical column names of other numeric tables
// are rejected, as are names that resemble a column of the canonical CSV.
bool CanBeKernel(std::string_view cell) {
  constexpr std::array<std::string_view, 34> kOthers = {
      "id",     "index",     "row",   "iteration", "iter",   "step",     "epoch",  "time",
      "times",  "timestamp", "start", "end",       "begin",  "duration", "kernel", "device",
      "stream", "grid",      "block", "cycle",     "cycles", "inst",     "insts",  "instructions",
      "count",  "counts",    "calls", "value",     "values", "weight",   "x",      "y",
      "z",      "latency"};
  const std::string lower = LowerCase(cell);
  if (!std::any_of(lower.begin(), lower.end(), [](char c) { return c >= 'a' && c <= 'z'; })) {
    return false;
  }
  if (std::find(kOthers.begin(), kOthers.end(), lower) != kOthers.end()) return false;
  for (const char* unit : {"_ns", "_us", "_ms", " (ns)", " (us)", " (ms)", " (s)", "(%)", "_id"}) {
    if (lower.ends_with(unit)) return false;
  }
  std::vector<std::string> canonical;
  for (const model::CanonicalColumnInfo& column : model::kCanonicalColumns)
    canonical.emplace_back(column.name);
  return NearestName(lower, canonical).empty();
}

bool IsHeader(const std::vector<std::string_view>& cells) {
  if (cells.size() < 2 || cells.size() > kMaxColumns) return false;
  std::vector<std::string_view> sorted = cells;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
         std::all_of(cells.begin(), cells.end(), CanBeKernel);
}

// StemColumns returns launches row by row, and within a row from left to right.
class StemColumns : public model::ProfileReader {
 public:
  explicit StemColumns(std::unique_ptr<ByteSource> source) : lines_(std::move(source)) {}

  Status Start();
  Result<std::size_t> ReadSome(model::ProfileBatch& batch, std::size_t limit) override;

 private:
  // Advances to the next row; returns false at the end.
  Result<bool> NextRow();

  CsvReader lines_;
  std::size_t columns_ = 0;
  std::size_t next_ = 0;         // next column to return
  std::vector<bool> ended_;      // the column had an empty cell
  std::uint64_t resumed_ = 0;    // non-empty cells after an empty cell
  std::uint64_t fractions_ = 0;  // durations that are not whole
  std::uint64_t invocations_ = 0;
  bool at_end_ = false;
};

Status StemColumns::Start() {
  const bool more = STEMTAP_TRY(lines_.NextLine());
  if (!more || !lines_.SplitLine() || !IsHeader(lines_.cells())) {
    return lines_.At("no header; expected the names of at least 2 kernels");
  }
  columns_ = lines_.cells().size();
  ended_.resize(columns_);
  next_ = columns_;
  for (const std::string_view name : lines_.cells()) {
    if (name.size() > shm::kMaxNameBytes) {
      return lines_.At(
          fmt::format("a name of {} bytes; expected at most {}", name.size(), shm::kMaxNameBytes));
    }
    names_.Intern(name);
  }
  warnings_.push_back(
      fmt::format("{}: read as durations in ns, one column for each of {} kernels; the file has no "
                  "launch order and no times, so kernels are launched in turn, row by row",
                  lines_.name(), columns_));
  return Success{};
}

Result<bool> StemColumns::NextRow() {
  do {
    if (!STEMTAP_TRY(lines_.NextLine())) return false;
  } while (lines_.text().empty());
  STEMTAP_TRY(lines_.SplitCells(columns_));
  next_ = 0;
  return true;
}

Result<std::size_t> StemColumns::ReadSome(model::ProfileBatch& batch, std::size_t limit) {
  batch.records.clear();
  batch.metrics.clear();
  while (batch.records.size() < limit && !at_end_) {
    if (next_ == columns_) {
      if (STEMTAP_TRY(NextRow())) continue;
      at_end_ = true;
      if (resumed_ > 0) {
        warnings_.push_back(
            fmt::format("{}: {} durations are below an empty cell of their column; read as the "
                        "kernel's next launch",
                        lines_.name(), resumed_));
      }
      if (fractions_ > 0) {
        warnings_.push_back(
            fmt::format("{}: {} durations rounded to whole ns", lines_.name(), fractions_));
      }
      break;
    }
    const std::size_t column = next_++;
    const std::string_view cell = lines_.cells()[column];
    if (cell.empty()) {
      ended_[column] = true;
      continue;
    }
    const std::optional<std::uint64_t> duration = Duration(cell);
    if (!duration) {
      return lines_.At(fmt::format("the duration of '{}' is '{}'; expected a number of ns from 0",
                                   ShownCell(names_.name(static_cast<std::uint32_t>(column))),
                                   ShownCell(cell)));
    }
    resumed_ += ended_[column] ? 1 : 0;
    const std::size_t point = cell.find('.');
    if (point != std::string_view::npos &&
        cell.find_first_not_of('0', point + 1) != std::string_view::npos) {
      ++fractions_;
    }
    shm::KernelRecord record = RecordedLaunches::Unknown();
    record.duration_ns = *duration;
    record.name_id = static_cast<std::uint32_t>(column);
    record.correlation_id = static_cast<std::uint32_t>(invocations_++);
    batch.records.push_back(record);
  }
  return batch.records.size();
}

}  // namespace

bool LooksLikeStemColumnsCsv(std::string_view leading) {
  CsvReader lines(std::make_unique<MemorySource>("", leading));
  Result<bool> more = lines.NextLine();
  if (!more.ok() || !more.value() || !lines.SplitLine() || !IsHeader(lines.cells())) return false;
  const std::size_t columns = lines.cells().size();
  std::size_t rows = 0;
  for (more = lines.NextLine(); more.ok() && more.value(); more = lines.NextLine()) {
    // The last visible line may be incomplete; reading decides.
    if (lines.MayBeCut()) break;
    if (lines.text().empty()) continue;
    if (!lines.SplitLine() || lines.cells().size() != columns) return false;
    const auto& cells = lines.cells();
    if (!std::all_of(cells.begin(), cells.end(),
                     [](std::string_view cell) { return cell.empty() || Duration(cell); })) {
      return false;
    }
    ++rows;
  }
  return rows >= kMinRows;
}

Result<std::unique_ptr<model::ProfileReader>> OpenStemColumnsCsv(
    std::unique_ptr<ByteSource> source) {
  auto reader = std::make_unique<StemColumns>(std::move(source));
  STEMTAP_TRY(reader->Start());
  return std::unique_ptr<model::ProfileReader>(std::move(reader));
}

}  // namespace stemtap::formats
