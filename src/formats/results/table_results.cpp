// SPDX-License-Identifier: Apache-2.0
//
// Reads results in tables: a CSV with an id column, and a CSV page of ncu
// (formats/importers/ncu_page.h) with one row per launch.
// SOURCE: docs/formats/results.md.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "base/csv.h"
#include "base/decimal.h"
#include "base/text.h"
#include "formats/importers/ncu_page.h"
#include "formats/results/kernel_results.h"
#include "formats/tally.h"

namespace stemtap::formats {
namespace {

constexpr std::size_t kMaxColumns = 4096;

struct Column {
  std::size_t cell;
  std::uint64_t numbers = 0;
  Tally texts = {};  // with the first one
};

}  // namespace

Result<KernelResults> ReadCsvResults(std::unique_ptr<ByteSource> source,
                                     const std::string& id_column) {
  CsvReader csv(std::move(source));
  if (!STEMTAP_TRY(csv.NextRow())) {
    return Error{fmt::format("{}: empty file; expected a CSV with an id column", csv.name())};
  }
  const std::vector<std::string> header(csv.cells().begin(), csv.cells().end());
  if (header.size() > kMaxColumns) {
    return csv.At(fmt::format("{} columns; expected at most {}", header.size(), kMaxColumns));
  }
  constexpr std::array<const char*, 4> kIds = {"index", "id", "kernel_id", "ID"};
  auto id = header.end();
  if (!id_column.empty()) {
    id = std::find(header.begin(), header.end(), id_column);
  } else {
    for (const char* name : kIds) {
      if (id == header.end()) id = std::find(header.begin(), header.end(), name);
    }
  }
  if (id == header.end()) {
    return csv.At(
        fmt::format("no column '{}'; expected the id of a kernel in each row (--id-column)",
                    id_column.empty() ? "index', 'id', 'kernel_id' or 'ID" : ShownCell(id_column)));
  }
  const auto id_cell = static_cast<std::size_t>(id - header.begin());

  KernelResults results;
  results.source = ResultsSource::kCsv;
  std::vector<Column> columns;
  std::size_t name_cell = header.size();
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (!seen.insert(header[i]).second) {
      return csv.At(
          fmt::format("the column '{}' occurs twice; expected once", ShownCell(header[i])));
    }
    if (header[i] == "name" || header[i] == "kernel_name" || header[i] == "Kernel Name") {
      if (name_cell == header.size()) name_cell = i;
      continue;
    }
    if (i != id_cell) columns.push_back({i});
  }
  bool ended = true;
  while (STEMTAP_TRY(csv.NextRow())) {
    ended = csv.ended();
    const std::vector<std::string_view>& cells = csv.cells();
    STEMTAP_TRY(csv.CheckWidth(header.size()));
    const std::optional<std::uint64_t> number = WholeNumber(Trimmed(cells[id_cell]));
    if (!number) {
      return csv.At(fmt::format("{} is '{}'; expected a whole number", ShownCell(header[id_cell]),
                                ShownCell(cells[id_cell])));
    }
    KernelResult row;
    row.id = *number;
    row.where = csv.Where();
    if (name_cell < cells.size()) row.name = cells[name_cell];
    for (Column& column : columns) {
      const std::optional<double> value = CellNumber(cells[column.cell]);
      if (!value) {
        column.texts.Add(csv.line(), cells[column.cell]);
      } else if (*value == *value) {
        ++column.numbers;
      }
      row.values.push_back(value.value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    results.rows.push_back(std::move(row));
  }
  if (!ended) {
    results.warnings.push_back(fmt::format("{}: the last row has no line end; it may be incomplete",
                                           results.rows.back().where));
  }
  const auto has_text = [](const Column& column) { return column.texts.count > 0; };
  const auto text = std::find_if(columns.begin(), columns.end(), has_text);
  if (text != columns.end() &&
      std::none_of(columns.begin(), columns.end(), [](const Column& c) { return c.numbers > 0; })) {
    return Error{fmt::format("{}:{}: {} is '{}'; expected a number", csv.name(), text->texts.first,
                             ShownCell(header[text->cell]), ShownCell(text->texts.what))};
  }
  // A column without any number is text. In a mixed column, cells that are not numbers are
  // reported.
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    const std::string shown = ShownCell(header[column.cell]);
    if (column.numbers == 0) {
      results.warnings.push_back(
          fmt::format("{}: the column '{}' contains no numbers and is ignored", csv.name(), shown));
      continue;
    }
    if (column.texts.count > 0) {
      results.warnings.push_back(fmt::format(
          "{}:{}: a cell of the column '{}' is not a number ({} such rows); treated as missing",
          csv.name(), column.texts.first, shown, column.texts.count));
    }
    kept.push_back(i);
    const std::string& name = header[column.cell];
    results.metrics.push_back({name, "", GuessKind(name, "")});
  }
  for (KernelResult& row : results.rows) {
    std::vector<double> values;
    for (const std::size_t i : kept) values.push_back(row.values[i]);
    row.values = std::move(values);
  }
  return results;
}

Result<KernelResults> ReadNcuResults(std::unique_ptr<ByteSource> source) {
  NcuPage page = STEMTAP_TRY(ReadNcuPage(std::move(source)));
  KernelResults results;
  results.source = ResultsSource::kNcu;
  results.warnings = std::move(page.warnings);
  for (const NcuMetric& metric : page.metrics) {
    // The full name contains the section, which would mislead: "GPU Speed Of Light Throughput:
    // Duration".
    results.metrics.push_back({metric.name, metric.unit, GuessKind(metric.label, metric.unit)});
  }
  for (std::size_t i = 0; i < page.launches.size(); ++i) {
    const NcuLaunch& launch = page.launches[i];
    KernelResult row;
    row.id = launch.id;
    row.name = page.names.name(launch.record.name_id);
    row.where = fmt::format("{}:{}", page.source, launch.line);
    std::copy_n(launch.record.grid, 3, row.config.grid);
    std::copy_n(launch.record.block, 3, row.config.block);
    for (const NcuMetric& metric : page.metrics) row.values.push_back(metric.values[i]);
    results.rows.push_back(std::move(row));
  }
  return results;
}

}  // namespace stemtap::formats
