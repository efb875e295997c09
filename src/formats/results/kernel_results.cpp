// SPDX-License-Identifier: Apache-2.0
#include "formats/results/kernel_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "formats/importers/importers.h"
#include "formats/importers/ncu_page.h"

namespace stemtap::formats {
namespace {

// Number of leading bytes to inspect: simulators print their configuration first, and programs may
// print anything.
constexpr std::size_t kLeadingBytes = std::size_t{4} * 1024 * 1024;

// Range of nonzero magnitudes of counters and statistics. Beyond it, sums of squares and quotients
// are not finite.
constexpr double kMinSize = 1e-30;
constexpr double kMaxSize = 1e30;

constexpr std::string_view kExpected =
    "an Accel-Sim or MacSim log, an ncu CSV, or a CSV with an id column";

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// Returns the words of a name in lower case, surrounded by blanks: " l1 hit rate " for
// "l1__hitRate".
std::string Words(std::string_view name) {
  std::string words = " ";
  char before = ' ';
  for (const char c : name) {
    const auto at = static_cast<unsigned char>(c);
    const bool hump =
        std::isupper(at) != 0 && std::islower(static_cast<unsigned char>(before)) != 0;
    if ((hump || !IsWordCharacter(c)) && words.back() != ' ') words += ' ';
    if (IsWordCharacter(c)) words += static_cast<char>(std::tolower(at));
    before = c;
  }
  if (words.back() != ' ') words += ' ';
  return words;
}

// Treats values with an implausible magnitude as missing.
void DropAbsurdSizes(const std::string& file, KernelResults& results) {
  std::uint64_t count = 0;
  std::string first;
  for (KernelResult& row : results.rows) {
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      double& value = row.values[i];
      const double size = std::abs(value);
      if (std::isnan(value) || size == 0.0 || (size >= kMinSize && size <= kMaxSize)) continue;
      if (count++ == 0) {
        first = fmt::format("{} of {} is {}", ShownCell(results.metrics[i].name), row.where, value);
      }
      value = std::numeric_limits<double>::quiet_NaN();
    }
  }
  if (count == 0) return;
  results.warnings.push_back(fmt::format(
      "{}: {}; expected 0 or a size from {:g} to {:g} ({} such values); treated as missing", file,
      first, kMinSize, kMaxSize, count));
}

Result<KernelResults> ReadSource(ResultsSource kind, std::unique_ptr<ByteSource> source,
                                 const ResultsOptions& options) {
  switch (kind) {
    case ResultsSource::kAccelsim:
      return ReadAccelsimLog(std::move(source), options.allow_cut);
    case ResultsSource::kMacsim:
      return ReadMacsimLog(std::move(source), options.allow_cut);
    case ResultsSource::kNcu:
      return ReadNcuResults(std::move(source));
    case ResultsSource::kCsv:
      break;
  }
  return ReadCsvResults(std::move(source), options.id_column);
}

// FileNumbers is the name of a file, split at numbers: "run.10.csv" is {"run.", ".csv"} and {10}.
struct FileNumbers {
  std::vector<std::string> texts;
  std::vector<std::string> numbers;  // without leading zeros, so that a longer one is larger

  explicit FileNumbers(std::string_view path) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    while (true) {
      const auto digit = std::find_if(path.begin(), path.end(), is_digit);
      texts.emplace_back(path.begin(), digit);
      if (digit == path.end()) return;
      const auto end = std::find_if_not(digit, path.end(), is_digit);
      const auto first = std::find_if(digit, end, [](char c) { return c != '0'; });
      numbers.emplace_back(first, end);
      path.remove_prefix(static_cast<std::size_t>(end - path.begin()));
    }
  }
  bool operator<(const FileNumbers& other) const {
    return std::lexicographical_compare(numbers.begin(), numbers.end(), other.numbers.begin(),
                                        other.numbers.end(), [](const auto& a, const auto& b) {
                                          return a.size() != b.size() ? a.size() < b.size() : a < b;
                                        });
  }
};

// Puts files whose names differ only in numbers into the order of the numbers. A shell expands
// run.*.csv to run.1.csv, run.10.csv, run.2.csv. Returns whether the order was changed.
bool SortByNumbers(std::vector<std::string>& paths) {
  const FileNumbers first(paths.front());
  for (const std::string& path : paths) {
    if (FileNumbers(path).texts != first.texts) return false;
  }
  const std::vector<std::string> given = paths;
  std::stable_sort(paths.begin(), paths.end(),
                   [](const auto& a, const auto& b) { return FileNumbers(a) < FileNumbers(b); });
  return paths != given;
}

// Returns whether the results at `path` are identified by their order. Errors are reported when the
// file is read. A stream can be opened only once, so its order is never changed.
bool IsInRunOrder(const std::string& path, const ResultsOptions& options) {
  std::error_code ignored;
  if (path == "-" || !std::filesystem::is_regular_file(path, ignored)) return false;
  if (options.source) return *options.source == ResultsSource::kNcu;
  const Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path);
  if (!source.ok()) return false;
  const Result<std::string_view> leading = source.value()->Peek(kLeadingBytes);
  return leading.ok() && DetectResults(leading.value()) == ResultsSource::kNcu;
}

}  // namespace

MetricKind GuessKind(std::string_view name, std::string_view unit) {
  // Whole words only: "Duration" and "iterations" contain "ratio", "tripcount" contains "ipc".
  constexpr std::array<std::string_view, 17> kWords = {
      "pct",        "percent",    "ratio",       "rate",      "per",
      "ipc",        "cpi",        "throughput",  "frequency", "bandwidth",
      "occupancy",  "power",      "temperature", "registers", "device attribute",
      "block size", "block limit"};
  const std::string lower_unit = LowerCase(unit);
  if (unit.find('%') != std::string_view::npos || unit.find('/') != std::string_view::npos ||
      lower_unit == "ratio" || lower_unit.ends_with("hz")) {
    return MetricKind::kMean;
  }
  const std::string words = Words(name);
  const bool mean = name.find('%') != std::string_view::npos ||
                    words.find(" utiliz") != std::string::npos ||
                    std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
                      return words.find(fmt::format(" {} ", word)) != std::string::npos;
                    });
  return mean ? MetricKind::kMean : MetricKind::kSum;
}

std::optional<ResultsSource> DetectResults(std::string_view leading) {
  if (LooksLikeNcuCsv(leading)) return ResultsSource::kNcu;
  bool accelsim = false;
  bool macsim = false;
  std::optional<std::string_view> first;
  for (std::string_view rest = leading; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    accelsim = accelsim || line.starts_with("Processing kernel ") ||
               line.starts_with("gpu_sim_cycle = ") || line.starts_with("launching kernel name: ");
    macsim = macsim || line.find("setup_process:") != std::string_view::npos;
    if (!first && line.find_first_not_of(" \t\r") != std::string_view::npos) first = line;
  }
  if (accelsim) return ResultsSource::kAccelsim;
  if (macsim) return ResultsSource::kMacsim;
  if (first && first->find(',') != std::string_view::npos) return ResultsSource::kCsv;
  return {};
}

Result<KernelResults> ReadResults(std::unique_ptr<ByteSource> content,
                                  const ResultsOptions& options) {
  std::unique_ptr<ByteSource> source = LimitUnpacking(std::move(content));
  std::optional<ResultsSource> kind = options.source;
  const std::string name = EscapeForTerminal(source->name());
  if (!kind) {
    const std::string_view leading = STEMTAP_TRY(source->Peek(kLeadingBytes));
    if (leading.empty()) {
      return Error{fmt::format("{}: empty file; expected {}", name, kExpected)};
    }
    if (std::optional<Error> unread = RefuseUnread(name, leading)) return *unread;
    if (leading.find('\0') != std::string_view::npos) {
      return Error{
          fmt::format("{}: contains NUL bytes (UTF-16 or a binary file); expected {} in UTF-8",
                      name, kExpected)};
    }
    if (leading.find("CYC_COUNT_TOT") != std::string_view::npos &&
        leading.find("setup_process:") == std::string_view::npos) {
      return Error{
          fmt::format("{}: totals of a whole MacSim run; expected its standard output, which "
                      "distinguishes kernels",
                      name)};
    }
    kind = DetectResults(leading);
    if (!kind) return Error{fmt::format("{}: not recognized; expected {}", name, kExpected)};
  }
  KernelResults results = STEMTAP_TRY(ReadSource(*kind, std::move(source), options));
  if (results.rows.empty()) {
    return Error{
        fmt::format("{}: no results; expected at least one kernel with its metrics", name)};
  }
  DropAbsurdSizes(name, results);
  return results;
}

Result<KernelResults> LoadResults(std::vector<std::string> paths, const ResultsOptions& options) {
  KernelResults all;
  if (paths.size() > 1 && IsInRunOrder(paths.front(), options) && SortByNumbers(paths)) {
    all.warnings.push_back(fmt::format(
        "the results are read in the order of the numbers in their names, {}, {} to "
        "{}, not in the order given: ncu numbers the runs",
        EscapeForTerminal(paths[0]), EscapeForTerminal(paths[1]), EscapeForTerminal(paths.back())));
  }
  std::unordered_map<std::string, std::size_t> columns;  // index into all.metrics
  for (const std::string& path : paths) {
    std::unique_ptr<ByteSource> opened = STEMTAP_TRY(OpenStream(path));
    KernelResults one = STEMTAP_TRY(ReadResults(std::move(opened), options));
    if (&path != &paths.front() && one.source != all.source) {
      return Error{fmt::format("{}: {} results and {} results; expected one source",
                               EscapeForTerminal(path), NameOf(one.source), NameOf(all.source))};
    }
    all.source = one.source;
    all.ratios = one.ratios;
    std::vector<std::size_t> column_of;
    for (const ResultMetric& metric : one.metrics) {
      const auto [at, fresh] = columns.emplace(metric.name, all.metrics.size());
      if (fresh) {
        all.metrics.push_back(metric);
      } else if (all.metrics[at->second].unit != metric.unit) {
        return Error{fmt::format("{}: the unit of {} is '{}'; expected '{}' as in the file before",
                                 EscapeForTerminal(path), EscapeForTerminal(metric.name),
                                 EscapeForTerminal(metric.unit),
                                 EscapeForTerminal(all.metrics[at->second].unit))};
      }
      column_of.push_back(at->second);
    }
    for (KernelResult& row : one.rows) {
      std::vector<double> values(all.metrics.size(), std::numeric_limits<double>::quiet_NaN());
      for (std::size_t i = 0; i < row.values.size(); ++i) values[column_of[i]] = row.values[i];
      row.values = std::move(values);
      all.rows.push_back(std::move(row));
    }
    for (std::string& warning : one.warnings) all.warnings.push_back(std::move(warning));
  }
  return all;
}

}  // namespace stemtap::formats
