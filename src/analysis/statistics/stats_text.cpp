// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "analysis/statistics/stats_table.h"
#include "base/csv.h"
#include "base/text.h"
#include "model/cut_names.h"
#include "model/json_text.h"

namespace stemtap::analysis {
namespace {

using nlohmann::ordered_json;

bool HasConfig(const StatsRow& row) {
  return row.config.grid[0] != shm::kUnknownExtent;
}

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

// Returns the names in the table for people, of at most `max_columns`.
std::vector<std::string> Names(const StatsTable& table, std::size_t max_columns) {
  std::vector<std::string_view> names;
  for (const StatsRow& row : table.rows) {
    names.push_back(IsUnknownDevice(table, row) ? "unknown" : std::string_view(row.name));
  }
  return model::NamesForTerminal(HasKernels(table)
                                     ? model::BriefNames(names)
                                     : std::vector<std::string>(names.begin(), names.end()),
                                 max_columns);
}

// Adds what else identifies the row to its name.
std::string RowName(const StatsTable& table, const StatsRow& row, std::string name) {
  const bool is_kernel = HasKernels(table);
  if (HasConfig(row)) {
    name = fmt::format("{}/{} {}", Extents(row.config.grid), Extents(row.config.block), name);
  }
  if (row.cluster) name += fmt::format(" #{}", *row.cluster);
  if (row.process != 0 && is_kernel) name = fmt::format("{} {}", row.process, name);
  if (row.process != 0 && !is_kernel) name += fmt::format("  process {}", row.process);
  if (!row.detail.empty()) name += "  " + EscapeForTerminal(row.detail);
  return name;
}

// TextColumn is a column of the table for people, right-aligned.
struct TextColumn {
  const char* title;
  std::function<std::string(const StatsRow&)> cell;  // empty: not known
};

std::vector<TextColumn> TextColumns(const StatsTable& table) {
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
          {"time ms", time},
          {"launches", launches},
          {"mean us", micros(&StatsRow::mean_ns)},
          {"p50 us", micros(&StatsRow::p50_ns)},
          {"p95 us", micros(&StatsRow::p95_ns)},
          {table.has_exact_ends ? "min us" : "min us >=", micros(&StatsRow::min_ns)},
          {table.has_exact_ends ? "max us" : "max us <=", micros(&StatsRow::max_ns)},
          {"CoV %", spread},
          {"clusters", count(&StatsRow::clusters)},
          {"samples", count(&StatsRow::samples)},
          {"bound %", bound}};
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

std::string StatsText(const StatsTable& table, std::size_t max_name_columns) {
  std::string text = Heading(table);
  std::vector<std::string> lines(table.rows.size() + 1);
  for (const TextColumn& column : TextColumns(table)) {
    std::vector<std::string> cells = {column.title};
    for (const StatsRow& row : table.rows) cells.push_back(column.cell(row));
    if (std::all_of(cells.begin() + 1, cells.end(), [](const auto& c) { return c.empty(); })) {
      continue;
    }
    std::size_t width = 0;
    for (const std::string& cell : cells) width = std::max(width, cell.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i] += fmt::format("{:>{}}  ", cells[i], width);
    }
  }
  lines[0] += kStatsAxisNames[static_cast<std::size_t>(table.by)];
  const std::vector<std::string> names = Names(table, max_name_columns);
  for (std::size_t i = 0; i < names.size(); ++i) {
    lines[i + 1] += RowName(table, table.rows[i], names[i]);
  }
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

std::string StatsCsv(const StatsTable& table) {
  std::string text = "name,detail,process,grid,block,cluster";
  const ordered_json header = Fields(table, {});
  for (const auto& [name, value] : header.items()) text += "," + name;
  text += ",estimated\n";
  for (const StatsRow& row : table.rows) {
    const std::string grid = HasConfig(row) ? Extents(row.config.grid) : "";
    const std::string block = HasConfig(row) ? Extents(row.config.block) : "";
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

std::string StatsJson(const StatsTable& table) {
  ordered_json rows = ordered_json::array();
  for (const StatsRow& row : table.rows) {
    ordered_json json = {
        {"name", IsUnknownDevice(table, row) ? ordered_json() : ordered_json(row.name)}};
    if (!row.detail.empty()) json["detail"] = row.detail;
    json["process"] = row.process == 0 ? ordered_json() : ordered_json(row.process);
    json["grid"] = HasConfig(row) ? ordered_json(row.config.grid) : ordered_json();
    json["block"] = HasConfig(row) ? ordered_json(row.config.block) : ordered_json();
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
      {"rows", std::move(rows)}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace stemtap::analysis
