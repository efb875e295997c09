// SPDX-License-Identifier: Apache-2.0
#include "model/plan_cells.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "model/json_text.h"
#include "stemtap/version.h"

namespace stemtap::model {
namespace {

constexpr const char* kExpected = "expected a cells.json";
// Relative tolerances for sums of cells in doubles, compared with the mean and the standard
// deviation of the cluster.
constexpr double kRounding = 1e-9;
constexpr double kSpreadRounding = 1e-6;

// Parses a cell [count, mean, m2]. Returns false if `value` is not a cell.
bool CellOf(simdjson::dom::element value, stats::Moments& cell) {
  simdjson::dom::array parts;
  std::uint64_t count = 0;
  double mean = 0.0;
  double m2 = 0.0;
  if (value.get(parts) != simdjson::SUCCESS || parts.size() != 3) return false;
  if (parts.at(0).get(count) != simdjson::SUCCESS || count == 0) return false;
  if (parts.at(1).get(mean) != simdjson::SUCCESS || !(mean >= 0.0)) return false;
  if (parts.at(2).get(m2) != simdjson::SUCCESS || !(m2 >= 0.0)) return false;
  cell = stats::Moments(count, mean, m2);
  return true;
}

// Returns what is wrong with the moments `all` of a cluster's cells, or an empty string.
std::string CheckCells(const stats::Moments& all, const PlanCluster& cluster) {
  const std::uint64_t drawn = cluster.count - cluster.joined;
  if (all.count() != drawn) {
    return fmt::format("holds {} launches, plan.json says {}", all.count(), drawn);
  }
  // plan.json contains the mean without joined launches only indirectly, as a difference of sums
  // over the cluster, so the tolerance is relative to the larger mean.
  const double mean = DrawnMean(cluster);
  if (!(std::fabs(all.mean() - mean) <= kRounding * std::max(mean, cluster.mean_ns))) {
    return "has another mean than plan.json says";
  }
  // Rounding of the cell means matters if they are much larger than their differences.
  const double rounding =
      kSpreadRounding * (cluster.stddev_ns + kRounding * cluster.mean_ns) + kRounding;
  if (cluster.joined == 0) {
    if (std::fabs(all.stddev() - cluster.stddev_ns) <= rounding) return {};
    return "has another standard deviation than plan.json says";
  }
  // The squared deviations of a subset are at most the squared deviations of the cluster.
  const double share = static_cast<double>(drawn) / static_cast<double>(cluster.count);
  if (all.stddev() * std::sqrt(share) <= cluster.stddev_ns + rounding) return {};
  return "has a larger standard deviation than plan.json allows";
}

// Reads the cells of a cluster, which may be empty. Returns what is wrong with them, or an empty
// string.
std::string ReadCluster(simdjson::dom::array cells, PlanCluster& cluster) {
  cluster.cells.clear();
  const std::uint64_t drawn = cluster.count - cluster.joined;
  stats::Moments all;
  for (const simdjson::dom::element value : cells) {
    stats::Moments cell;
    if (!CellOf(value, cell)) return "expected [count, mean, m2]";
    if (cell.count() > drawn - all.count()) return "holds more launches than plan.json says";
    all.Merge(cell);
    cluster.cells.push_back(cell);
  }
  if (!cluster.cells.empty()) return CheckCells(all, cluster);
  if (cluster.joined == 0 || cluster.captured >= drawn) return {};
  return fmt::format("is empty; expected cells of {} launches", drawn);
}

}  // namespace

std::string CellsToJson(const Plan& plan) {
  std::string json = fmt::format(
      "{{\"schema\": \"stemtap.cells/1\", \"tool\": \"stemtap {}\", \"clusters\": [", kVersion);
  const char* between = "\n";
  for (const PlanKernel& kernel : plan.kernels) {
    for (const PlanCluster& cluster : kernel.clusters) {
      json += std::exchange(between, ",\n");
      json += '[';
      for (const stats::Moments& cell : cluster.cells) {
        // {} prints the shortest digits that parse to the same double.
        fmt::format_to(std::back_inserter(json), "{}[{},{},{}]",
                       &cell == cluster.cells.data() ? "" : ",", cell.count(), cell.mean(),
                       cell.m2());
      }
      json += ']';
    }
  }
  return json + "\n]}\n";
}

Status LoadCells(const std::string& path, Plan& plan) {
  const std::string text = STEMTAP_TRY(ReadJsonFile(path, kMaxCellsBytes, "a cells.json"));
  return ParseCells(text, NameOfSource(path), plan);
}

Status ParseCells(const std::string& text, const std::string& name, Plan& plan) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  const simdjson::error_code error = parser.parse(text).get(document);
  if (error != simdjson::SUCCESS) {
    return Error{fmt::format("{}: {}, {}", name, EscapeForTerminal(simdjson::error_message(error)),
                             kExpected)};
  }
  simdjson::dom::object fields;
  if (document.get(fields) != simdjson::SUCCESS) {
    return Error{fmt::format("{}: is no object, {}", name, kExpected)};
  }
  std::set<std::string_view> keys;
  for (const simdjson::dom::key_value_pair field : fields) {
    if (keys.insert(field.key).second) continue;
    return Error{fmt::format("{}: {}: is there twice, {}", name, ShownCell(field.key), kExpected)};
  }
  std::string_view schema;
  if (document["schema"].get(schema) != simdjson::SUCCESS || schema != "stemtap.cells/1") {
    return Error{fmt::format("{}: schema: expected \"stemtap.cells/1\"", name)};
  }
  simdjson::dom::array clusters;
  if (document["clusters"].get(clusters) != simdjson::SUCCESS) {
    return Error{fmt::format("{}: clusters: expected an array", name)};
  }
  auto next = clusters.begin();
  std::size_t at = 0;
  for (PlanKernel& kernel : plan.kernels) {
    for (PlanCluster& cluster : kernel.clusters) {
      if (!(next != clusters.end())) {
        return Error{fmt::format("{}: has {} clusters, plan.json has more", name, at)};
      }
      simdjson::dom::array cells;
      if ((*next).get(cells) != simdjson::SUCCESS) {
        return Error{fmt::format("{}: clusters[{}]: expected an array", name, at)};
      }
      const std::string wrong = ReadCluster(cells, cluster);
      if (!wrong.empty()) return Error{fmt::format("{}: clusters[{}]: {}", name, at, wrong)};
      ++next;
      ++at;
    }
  }
  if (next != clusters.end()) {
    return Error{fmt::format("{}: has more clusters than the {} of plan.json", name, at)};
  }
  return Success{};
}

}  // namespace stemtap::model
