// SPDX-License-Identifier: Apache-2.0
//
// The CSV of ncu: `--page raw` has one row per kernel and a row of units below the header,
// `--page details` one row per metric. Lines before the header are the program's and ncu's own.
// SOURCE: docs/formats/results.md.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/csv.h"
#include "base/decimal.h"
#include "base/text.h"
#include "results/results_reader.h"

namespace stemtap {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMaxColumns = 65536;
constexpr std::size_t kNone = ~std::size_t{0};

// Columns that say which kernel a row is of, not how it did.
constexpr std::array<std::string_view, 18> kIdentity = {
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Kernel Time",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
    "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
    "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
    "Section Name",
    "Metric Name",
    "Metric Unit",
    "Metric Value"};

bool IsIdentity(std::string_view column) {
  for (const std::string_view name : kIdentity) {
    if (column == name) return true;
  }
  return column.starts_with("Rule ") || column.starts_with("Estimated Speedup");
}

// A unit without its decimal prefix, and the factor to it: "usecond" is 1e3 of "nsecond". ncu picks
// the prefix row by row, so that one metric stands in several.
std::pair<std::string, double> BaseUnit(std::string_view unit) {
  struct Prefixed {
    std::string_view unit, base;
    double factor;
  };
  constexpr std::array<Prefixed, 21> kUnits = {
      {{"nsecond", "nsecond", 1.0}, {"usecond", "nsecond", 1e3},
       {"msecond", "nsecond", 1e6}, {"second", "nsecond", 1e9},
       {"ns", "ns", 1.0},           {"us", "ns", 1e3},
       {"ms", "ns", 1e6},           {"s", "ns", 1e9},
       {"byte", "byte", 1.0},       {"Kbyte", "byte", 1e3},
       {"Mbyte", "byte", 1e6},      {"Gbyte", "byte", 1e9},
       {"Tbyte", "byte", 1e12},     {"hz", "hz", 1.0},
       {"Khz", "hz", 1e3},          {"Mhz", "hz", 1e6},
       {"Ghz", "hz", 1e9},          {"Hz", "hz", 1.0},
       {"KHz", "hz", 1e3},          {"MHz", "hz", 1e6},
       {"GHz", "hz", 1e9}}};
  const std::size_t slash = unit.find('/');
  if (slash != std::string_view::npos) {
    const auto [top, top_factor] = BaseUnit(unit.substr(0, slash));
    const auto [bottom, bottom_factor] = BaseUnit(unit.substr(slash + 1));
    return {top + "/" + bottom, top_factor / bottom_factor};
  }
  for (const Prefixed& known : kUnits) {
    if (unit == known.unit) return {std::string(known.base), known.factor};
  }
  return {std::string(unit), 1.0};
}

// "(64, 1, 1)"; leaves `extents` as they are where it is anything else.
template <typename T>
void ParseExtents(std::string_view text, T (&extents)[3]) {
  T read[3] = {};
  std::size_t count = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end && count < 3) {
    if (*at < '0' || *at > '9') {
      ++at;
      continue;
    }
    const auto [rest, code] = std::from_chars(at, end, read[count++]);
    if (code != std::errc{}) return;
    at = rest;
  }
  if (count == 3) std::copy(std::begin(read), std::end(read), std::begin(extents));
}

class NcuReader {
 public:
  explicit NcuReader(std::unique_ptr<ByteSource> source) : lines_(std::move(source)) {
    results_.source = ResultsSource::kNcu;
  }
  Result<KernelResults> Read();

 private:
  Result<bool> FindHeader();
  Status TakeRow(const std::string& where);
  Status SetValue(KernelResult& row, const std::string& metric, std::string_view unit,
                  std::string_view cell, const std::string& where);
  std::size_t Cell(std::string_view name) const;
  std::string_view Text(std::string_view name) const;  // of the present row
  KernelResult NewRow(const std::string& where, std::uint64_t id) const;

  CsvReader lines_;
  KernelResults results_;
  std::vector<std::string> header_;
  std::vector<std::string> units_;  // of the raw page, by column
  std::unordered_map<std::string, std::size_t> columns_;
  std::unordered_map<std::string, std::size_t> kernels_;  // "process/id" -> row
  std::uint64_t no_number_ = 0;
  std::string first_no_number_;
  std::set<std::string> text_metrics_;
  std::uint64_t repeated_ = 0;
  std::string first_repeated_;
  std::string first_error_;
  std::uint64_t errors_ = 0;
};

std::size_t NcuReader::Cell(std::string_view name) const {
  for (std::size_t i = 0; i < header_.size(); ++i) {
    if (header_[i] == name) return i;
  }
  return kNone;
}

std::string_view NcuReader::Text(std::string_view name) const {
  const std::size_t cell = Cell(name);
  return cell == kNone ? std::string_view() : lines_.cells()[cell];
}

Result<bool> NcuReader::FindHeader() {
  for (;;) {
    const Result<bool> more = lines_.NextLine();
    if (!more.ok()) return more.error();
    if (!more.value()) return false;
    if (lines_.text().starts_with("==ERROR==")) {
      if (errors_++ == 0) {
        first_error_ = fmt::format("{}: {}", lines_.Where(), ShownCell(lines_.text()));
      }
    }
    if (!IsNcuHeader(lines_.text())) continue;
    const Status split = lines_.SplitRow();
    if (!split.ok()) return split.error();
    header_.assign(lines_.cells().begin(), lines_.cells().end());
    if (header_.size() > kMaxColumns) {
      return lines_.At(fmt::format("{} columns, expected at most {}", header_.size(), kMaxColumns));
    }
    return true;
  }
}

KernelResult NcuReader::NewRow(const std::string& where, std::uint64_t id) const {
  KernelResult row;
  row.id = id;
  row.where = where;
  row.name = Text("Kernel Name");
  ParseExtents(Text("Grid Size"), row.config.grid);
  ParseExtents(Text("Block Size"), row.config.block);
  return row;
}

Status NcuReader::SetValue(KernelResult& row, const std::string& metric, std::string_view unit,
                           std::string_view cell, const std::string& where) {
  const std::optional<double> value = CellNumber(cell);
  if (!value) {
    if (!columns_.contains(metric)) {
      text_metrics_.insert(metric);
    } else if (no_number_++ == 0) {
      first_no_number_ = fmt::format("{}: {} is '{}'", where, ShownCell(metric), ShownCell(cell));
    }
    return Success{};
  }
  if (*value != *value) return Success{};
  auto [base, factor] = BaseUnit(unit);
  // Sections use one name for several metrics: Memory Throughput is a share here, bytes per second
  // there. The first keeps the name.
  std::string name = metric;
  const auto known = columns_.find(name);
  if (known != columns_.end() && results_.metrics[known->second].unit != base) {
    name += fmt::format(" [{}]", base);
  }
  const auto [at, fresh] = columns_.emplace(name, results_.metrics.size());
  if (fresh) results_.metrics.push_back({name, base, GuessKind(name, base)});
  if (row.values.size() <= at->second) row.values.resize(at->second + 1, kNaN);
  double& held = row.values[at->second];
  if (std::isnan(held)) {
    held = *value * factor;
  } else if (held != *value * factor && repeated_++ == 0) {
    first_repeated_ = fmt::format("{}: {}", where, ShownCell(name));
  }
  return Success{};
}

Status NcuReader::TakeRow(const std::string& where) {
  const std::vector<std::string_view>& cells = lines_.cells();
  const std::optional<std::uint64_t> id = WholeNumber(Trimmed(Text("ID")));
  if (!id) {
    return Error{
        fmt::format("{}: ID is '{}', expected a whole number", where, ShownCell(Text("ID")))};
  }
  const std::size_t metric = Cell("Metric Name");
  if (metric == kNone) {
    KernelResult row = NewRow(where, *id);
    for (std::size_t i = 0; i < header_.size(); ++i) {
      if (IsIdentity(header_[i]) || header_[i].empty()) continue;
      const Status set = SetValue(row, header_[i], units_.empty() ? std::string_view() : units_[i],
                                  cells[i], where);
      if (!set.ok()) return set;
    }
    results_.rows.push_back(std::move(row));
    return Success{};
  }
  const std::string key = fmt::format("{}/{}", Text("Process ID"), *id);
  const auto [at, fresh] = kernels_.emplace(key, results_.rows.size());
  if (fresh) results_.rows.push_back(NewRow(where, *id));
  // The rows of rules have no metric.
  if (cells[metric].empty()) return Success{};
  return SetValue(results_.rows[at->second], std::string(cells[metric]), Text("Metric Unit"),
                  Text("Metric Value"), where);
}

Result<KernelResults> NcuReader::Read() {
  const Result<bool> found = FindHeader();
  if (!found.ok()) return found.error();
  if (!found.value()) {
    return Error{fmt::format("{}: no table of ncu{}, expected a header with ID and Kernel Name",
                             lines_.name(), errors_ > 0 ? " (" + first_error_ + ")" : "")};
  }
  const bool raw = Cell("Metric Name") == kNone;
  if (!raw && Cell("Metric Value") == kNone) {
    return lines_.At("no column 'Metric Value', expected one beside 'Metric Name'");
  }
  for (bool first = true;;) {
    const Result<bool> more = lines_.NextLine();
    if (!more.ok()) return more.error();
    if (!more.value()) break;
    if (lines_.text().empty()) continue;
    if (lines_.text().starts_with("==")) {
      if (lines_.text().starts_with("==ERROR==") && errors_++ == 0) {
        first_error_ = fmt::format("{}: {}", lines_.Where(), ShownCell(lines_.text()));
      }
      continue;
    }
    const std::string where = lines_.Where();
    const Status split = lines_.SplitRow();
    if (!split.ok()) return split.error();
    if (lines_.MayBeCut())
      return lines_.At("no line end behind the last row, expected a whole file");
    if (lines_.cells().size() != header_.size()) {
      return lines_.At(fmt::format("{} cells, expected {}", lines_.cells().size(), header_.size()));
    }
    if (raw && first && Text("ID").empty()) {
      units_.assign(lines_.cells().begin(), lines_.cells().end());
      first = false;
      continue;
    }
    first = false;
    const Status taken = TakeRow(where);
    if (!taken.ok()) return taken.error();
  }
  for (const auto& [metric, column] : columns_) text_metrics_.erase(metric);
  if (!text_metrics_.empty()) {
    results_.warnings.push_back(
        fmt::format("{}: {} metrics hold no numbers and are left out, first "
                    "'{}'",
                    lines_.name(), text_metrics_.size(), ShownCell(*text_metrics_.begin())));
  }
  if (no_number_ > 0) {
    results_.warnings.push_back(fmt::format("{}, no number ({} such cells), taken as missing",
                                            first_no_number_, no_number_));
  }
  if (repeated_ > 0) {
    results_.warnings.push_back(
        fmt::format("{} has another value in an earlier row of the kernel, which is kept ({} such "
                    "rows)",
                    first_repeated_, repeated_));
  }
  if (errors_ > 0) {
    results_.warnings.push_back(fmt::format("{} ({} such lines of ncu)", first_error_, errors_));
  }
  return std::move(results_);
}

}  // namespace

bool IsNcuHeader(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return (line.starts_with("\"ID\",") || line.starts_with("ID,") ||
          line.starts_with("\xEF\xBB\xBF\"ID\",")) &&
         line.find("Kernel Name") != std::string_view::npos;
}

Result<KernelResults> ReadNcuResults(std::unique_ptr<ByteSource> source) {
  return NcuReader(std::move(source)).Read();
}

}  // namespace stemtap
