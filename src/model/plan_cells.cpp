// SPDX-License-Identifier: Apache-2.0
#include "model/plan_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/json_fields.h"
#include "model/json_text.h"
#include "model/json_walk.h"
#include "model/json_writer.h"
#include "stemtap/version.h"

namespace stemtap::model {
namespace {

struct Cell {
  std::uint64_t count = 0;
  double mean = 0.0;
  double m2 = 0.0;
};

struct CellsFile {
  std::vector<std::vector<Cell>> clusters;  // of all kernels
};

}  // namespace

template <>
inline constexpr auto kRow<Cell> = MakeRow("[count, mean, m2]", Optional<&Cell::count>(),
                                           Optional<&Cell::mean>(), Optional<&Cell::m2>())
                                       .Exact();

template <>
inline constexpr auto kTable<CellsFile> =
    std::tuple(Required<&CellsFile::clusters>("clusters").Items({"\n", ",\n", "\n", true}));

namespace {

constexpr std::string_view kSchema = "stemtap.cells/1";
constexpr const char* kExpected = "a cells.json";
// Relative tolerances for sums of cells in doubles, compared with the mean and the standard
// deviation of the cluster.
constexpr double kRounding = 1e-9;
constexpr double kSpreadRounding = 1e-6;

// Appends the shortest digits that parse to the same double.
void AppendShortest(double value, std::string& text) {
  fmt::format_to(std::back_inserter(text), "{}", value);
}

// Returns what is wrong with the moments `all` of a cluster's cells, or an empty string.
std::string CheckCells(const stats::Moments& all, const PlanCluster& cluster) {
  const std::uint64_t drawn = DrawnCount(cluster);
  if (all.count() != drawn) {
    return fmt::format(": has {} launches; expected {}, as plan.json has", all.count(), drawn);
  }
  // plan.json contains the mean of the drawn launches only indirectly, as a difference of sums
  // over the cluster, so the tolerance is relative to the larger mean.
  const double mean = DrawnMean(cluster);
  if (!(std::fabs(all.mean() - mean) <= kRounding * std::max(mean, cluster.mean_ns))) {
    return fmt::format(": has a mean of {} ns; expected {}, as plan.json has", all.mean(), mean);
  }
  // Rounding of the cell means matters if they are much larger than their differences.
  const double rounding =
      kSpreadRounding * (cluster.stddev_ns + kRounding * cluster.mean_ns) + kRounding;
  if (drawn == cluster.count) {
    if (std::fabs(all.stddev() - cluster.stddev_ns) <= rounding) return {};
    return fmt::format(": has a standard deviation of {} ns; expected {}, as plan.json has",
                       all.stddev(), cluster.stddev_ns);
  }
  // The squared deviations of a subset are at most the squared deviations of the cluster.
  const double share = static_cast<double>(drawn) / static_cast<double>(cluster.count);
  if (all.stddev() * std::sqrt(share) <= cluster.stddev_ns + rounding) return {};
  return fmt::format(": has a standard deviation of {} ns; expected at most {}", all.stddev(),
                     (cluster.stddev_ns + rounding) / std::sqrt(share));
}

// Sets the cells of a cluster, which may have none. Returns what is wrong with them, or an empty
// string.
std::string SetCells(const std::vector<Cell>& cells, PlanCluster& cluster) {
  cluster.cells.clear();
  const std::uint64_t drawn = DrawnCount(cluster);
  stats::Moments all;
  for (const Cell& cell : cells) {
    if (cell.count == 0 || !(cell.mean >= 0.0) || !(cell.m2 >= 0.0)) {
      return fmt::format(
          "[{}]: is [{}, {}, {}]; expected a count of at least 1 and numbers of at "
          "least 0",
          &cell - cells.data(), cell.count, JsonValue(cell.mean), JsonValue(cell.m2));
    }
    if (cell.count > drawn - all.count()) {
      return fmt::format(": has more launches than plan.json; expected {}", drawn);
    }
    cluster.cells.emplace_back(cell.count, cell.mean, cell.m2);
    all.Merge(cluster.cells.back());
  }
  if (!cells.empty()) return CheckCells(all, cluster);
  if (drawn == cluster.count || cluster.captured >= drawn) return {};
  return fmt::format(": is empty; expected cells of {} launches", drawn);
}

}  // namespace

std::string CellsToJson(const Plan& plan) {
  CellsFile file;
  for (const PlanKernel& kernel : plan.kernels) {
    for (const PlanCluster& cluster : kernel.clusters) {
      std::vector<Cell>& cells = file.clusters.emplace_back();
      for (const stats::Moments& cell : cluster.cells) {
        cells.push_back({cell.count(), cell.mean(), cell.m2()});
      }
    }
  }
  constexpr JsonStyle kStyle = {.append_real = AppendShortest};
  std::string text =
      fmt::format("{{\"schema\": \"{}\", \"tool\": \"stemtap {}\", ", kSchema, kVersion);
  JsonWriter(kStyle, text).Fields(file, kTable<CellsFile>);
  return text += "}\n";
}

Status LoadCells(const std::string& path, Plan& plan) {
  const std::string text = STEMTAP_TRY(ReadJsonFile(path, kMaxCellsBytes, kExpected));
  return ParseCells(text, NameOfSource(path), plan);
}

Status ParseCells(const std::string& text, const std::string& name, Plan& plan) {
  CellsFile file;
  STEMTAP_TRY(ReadJson(text, name, kSchema, kExpected, file));
  std::size_t clusters = 0;
  for (const PlanKernel& kernel : plan.kernels) clusters += kernel.clusters.size();
  if (file.clusters.size() != clusters) {
    return Error{fmt::format("{}: clusters: has {} items; expected {}, as plan.json has", name,
                             file.clusters.size(), clusters)};
  }
  std::size_t next = 0;
  for (PlanKernel& kernel : plan.kernels) {
    for (PlanCluster& cluster : kernel.clusters) {
      const std::string wrong = SetCells(file.clusters[next], cluster);
      if (!wrong.empty()) return Error{fmt::format("{}: clusters[{}]{}", name, next, wrong)};
      ++next;
    }
  }
  return Success{};
}

}  // namespace stemtap::model
