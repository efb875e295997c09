// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "analysis/statistics/stats_table.h"
#include "base/csv.h"
#include "base/text.h"
#include "base/wrap.h"
#include "model/brief_name.h"
#include "model/json_text.h"
#include "model/text_table.h"

namespace stemtap::analysis {
namespace {

using nlohmann::ordered_json;

template <typename Extent>
std::string Extents(const Extent (&of)[3]) {
  return fmt::format("{}x{}x{}", of[0], of[1], of[2]);
}

double ShareOf(const StatsTable& table, const StatsRow& row) {
  return table.duration_ns == 0
             ? 0.0
             : static_cast<double>(row.duration_ns) / static_cast<double>(table.duration_ns);
}

bool HasKernels(const StatsTable& table) {
  return table.by == StatsAxis::kKernel || table.by == StatsAxis::kCluster ||
         table.by == StatsAxis::kShape;
}

bool IsUnknownDevice(const StatsTable& table, const StatsRow& row) {
  return table.by == StatsAxis::kDevice && row.name.empty();
}

// Returns the names of all rows for people.
std::vector<std::string> BriefNames(const StatsTable& table) {
  std::vector<std::string_view> names;
  for (const StatsRow& row : table.rows) {
    names.push_back(IsUnknownDevice(table, row) ? "unknown" : std::string_view(row.name));
  }
  return HasKernels(table) ? model::BriefNames(names)
                           : std::vector<std::string>(names.begin(), names.end());
}

// Adds the name of the row, and what else identifies it.
void AddName(const StatsTable& table, const StatsRow& row, const std::string& name,
             model::TextNames& names) {
  const bool is_kernel = HasKernels(table);
  std::string before;
  if (row.process != 0 && is_kernel) before = fmt::format("{} ", row.process);
  if (row.has_config()) {
    before += fmt::format("{}/{} ", Extents(row.config.grid), Extents(row.config.block));
  }
  std::string behind;
  if (row.cluster) behind = fmt::format(" #{}", *row.cluster);
  if (row.process != 0 && !is_kernel) behind += fmt::format("  process {}", row.process);
  if (!row.detail.empty()) behind += "  " + EscapeForTerminal(row.detail);
  names.names.push_back(name);
  names.before.push_back(std::move(before));
  names.behind.push_back(std::move(behind));
}

// StatsColumn is a column of the table for people, with the rank of a model::TextColumn.
struct StatsColumn {
  const char* title;
  std::function<std::string(const StatsRow&)> cell;  // empty: not known
  int rank = 0;
};

std::vector<StatsColumn> StatsColumns(const StatsTable& table) {
  const auto micros = [](double StatsRow::*value) {
    return [value](const StatsRow& row) {
      return std::isnan(row.*value) ? std::string() : fmt::format("{:.2f}", 1e-3 * row.*value);
    };
  };
  const auto count = [](std::optional<std::uint64_t> StatsRow::*value) {
    return [value](const StatsRow& row) {
      return row.*value ? std::to_string(*(row.*value)) : std::string();
    };
  };
  const auto share = [&table](const StatsRow& row) {
    return fmt::format("{:.2f}", 100 * ShareOf(table, row));
  };
  const auto time = [](const StatsRow& row) {
    return fmt::format("{:.3f}", 1e-6 * static_cast<double>(row.duration_ns));
  };
  const auto launches = [](const StatsRow& row) { return std::to_string(row.launches); };
  const auto spread = [](const StatsRow& row) {
    return std::isnan(row.stddev_ns) || !(row.mean_ns > 0.0)
               ? std::string()
               : fmt::format("{:.1f}", 100 * row.stddev_ns / row.mean_ns);
  };
  const auto bound = [](const StatsRow& row) {
    return std::isnan(row.bound) ? std::string() : fmt::format("{:.2f}", 100 * row.bound);
  };
  return {{"time %", share},
          {"time ms", time, 6},
          {"launches", launches},
          {"mean us", micros(&StatsRow::mean_ns)},
          {"p50 us", micros(&StatsRow::p50_ns), 5},
          {"p95 us", micros(&StatsRow::p95_ns), 3},
          {table.has_exact_ends ? "min us" : "min us >=", micros(&StatsRow::min_ns), 7},
          {table.has_exact_ends ? "max us" : "max us <=", micros(&StatsRow::max_ns), 4},
          {"CoV %", spread, 2},
          {"clusters", count(&StatsRow::clusters), 5},
          {"samples", count(&StatsRow::samples), 2},
          {"bound %", bound, 1}};
}

// Returns the lines above the table.
std::string Heading(const StatsTable& table) {
  std::string text =
      fmt::format("{}: {} of {}, {:.3f} ms of GPU time", model::NameOfSource(table.source),
                  Plural(table.launches, "launch", "launches"), Plural(table.kernels, "kernel"),
                  1e-6 * static_cast<double>(table.duration_ns));
  if (!std::isnan(table.bound)) text += fmt::format(", error bound {:.2f} %", 100 * table.bound);
  text += '\n';
  if (table.is_estimated) {
    text += fmt::format("time and launches by {} are estimated from the samples\n",
                        kStatsAxisNames[static_cast<std::size_t>(table.by)]);
  }
  for (const std::string& note : table.notes) text += note + '\n';
  return text;
}

// The cells of the CSV and the fields of the JSON after the name.
ordered_json Fields(const StatsTable& table, const StatsRow& row) {
  const auto number = [](double value) {
    return std::isfinite(value) ? ordered_json(value) : ordered_json();
  };
  const auto count = [](const std::optional<std::uint64_t>& value) {
    return value ? ordered_json(*value) : ordered_json();
  };
  return {{"duration_ns", row.duration_ns},     {"fraction", ShareOf(table, row)},
          {"launches", row.launches},           {"mean_ns", number(row.mean_ns)},
          {"p50_ns", number(row.p50_ns)},       {"p95_ns", number(row.p95_ns)},
          {"min_ns", number(row.min_ns)},       {"max_ns", number(row.max_ns)},
          {"stddev_ns", number(row.stddev_ns)}, {"clusters", count(row.clusters)},
          {"samples", count(row.samples)},      {"weight", number(row.weight)},
          {"bound", number(row.bound)}};
}

}  // namespace

std::string DeviceName(std::uint16_t device) {
  return device == shm::kUnknown16 ? "" : std::to_string(device);
}

void SortRows(StatsTable& table) {
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const StatsRow& a, const StatsRow& b) {
    return a.duration_ns != b.duration_ns ? a.duration_ns > b.duration_ns : a.name < b.name;
  });
}

std::span<const StatsSortKey> StatsSortKeys() {
  static constexpr StatsSortKey kKeys[] = {
      {"time", [](const StatsRow& row) { return static_cast<double>(row.duration_ns); }},
      {"launches", [](const StatsRow& row) { return static_cast<double>(row.launches); }},
      {"mean", [](const StatsRow& row) { return row.mean_ns; }},
      {"max", [](const StatsRow& row) { return row.max_ns; }},
      {"cov", [](const StatsRow& row) { return row.stddev_ns / row.mean_ns; }},
      {"samples",
       [](const StatsRow& row) { return row.samples ? static_cast<double>(*row.samples) : NAN; }},
      {"bound", [](const StatsRow& row) { return row.bound; }},
      {"name", nullptr}};
  return kKeys;
}

model::RowView ChooseStatsRows(const StatsTable& table, const model::RowChoice& choice) {
  std::vector<std::string_view> names;
  for (const StatsRow& row : table.rows) names.push_back(row.name);
  const std::vector<std::string> brief = BriefNames(table);
  const StatsSortKey* key = &StatsSortKeys().front();
  for (const StatsSortKey& other : StatsSortKeys()) {
    if (choice.sort == other.name) key = &other;
  }
  if (key->value == nullptr) return model::ChooseRowsByName(choice, names, brief);
  return model::ChooseRows(choice, names, brief,
                           [&](std::size_t i) { return key->value(table.rows[i]); });
}

std::string StatsText(const StatsTable& table, const model::RowView& view, std::size_t width) {
  std::vector<model::TextColumn> columns;
  for (const StatsColumn& column : StatsColumns(table)) {
    model::TextColumn& added = columns.emplace_back();
    added.title = column.title;
    added.rank = column.rank;
    for (const std::size_t i : view.rows) added.cells.push_back(column.cell(table.rows[i]));
  }
  const char* const row_name = kStatsAxisNames[static_cast<std::size_t>(table.by)];
  const std::vector<std::string> brief = BriefNames(table);
  model::TextNames names = {row_name};
  for (const std::size_t i : view.rows) AddName(table, table.rows[i], brief[i], names);
  return WrappedLines(Heading(table), width) +
         model::TableText(std::move(columns), std::move(names), width) +
         model::LeftOutLine(view, row_name);
}

std::string StatsCsv(const StatsTable& table, const model::RowView& view) {
  std::string text = "name,detail,process,grid,block,cluster";
  const ordered_json header = Fields(table, {});
  for (const auto& [name, value] : header.items()) text += "," + name;
  text += ",estimated\n";
  for (const std::size_t i : view.rows) {
    const StatsRow& row = table.rows[i];
    const std::string grid = row.has_config() ? Extents(row.config.grid) : "";
    const std::string block = row.has_config() ? Extents(row.config.block) : "";
    text += fmt::format("{},{},{},{},{},{}", CsvCell(row.name), CsvCell(row.detail),
                        row.process == 0 ? "" : std::to_string(row.process), grid, block,
                        row.cluster ? std::to_string(*row.cluster) : "");
    const ordered_json fields = Fields(table, row);
    for (const auto& [name, value] : fields.items()) {
      text += "," + (value.is_null() ? std::string() : value.dump());
    }
    text += table.is_estimated ? ",1\n" : ",0\n";
  }
  return text;
}

std::string StatsJson(const StatsTable& table, const model::RowView& view) {
  ordered_json rows = ordered_json::array();
  for (const std::size_t i : view.rows) {
    const StatsRow& row = table.rows[i];
    ordered_json json = {
        {"name", IsUnknownDevice(table, row) ? ordered_json() : ordered_json(row.name)}};
    if (!row.detail.empty()) json["detail"] = row.detail;
    json["process"] = row.process == 0 ? ordered_json() : ordered_json(row.process);
    json["grid"] = row.has_config() ? ordered_json(row.config.grid) : ordered_json();
    json["block"] = row.has_config() ? ordered_json(row.config.block) : ordered_json();
    json["cluster"] = row.cluster ? ordered_json(*row.cluster) : ordered_json();
    json.update(Fields(table, row));
    rows.push_back(std::move(json));
  }
  const ordered_json json = {
      {"schema", "stemtap.stats/1"},
      {"source", table.source},
      {"by", kStatsAxisNames[static_cast<std::size_t>(table.by)]},
      {"estimated", table.is_estimated},
      {"launches", table.launches},
      {"duration_ns", table.duration_ns},
      {"kernels", table.kernels},
      {"bound", std::isnan(table.bound) ? ordered_json() : ordered_json(table.bound)},
      {"notes", table.notes},
      {"rows_filtered", view.filtered},
      {"rows_below_top", view.below_top},
      {"rows", std::move(rows)}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace stemtap::analysis
