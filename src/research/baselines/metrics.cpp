// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "model/kernel_groups.h"

namespace stemtap::research {
namespace {

const MetricNames kNames[] = {
    {Metric::kGlobalLoadSectors,
     {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "gld_transactions"}},
    {Metric::kGlobalStoreSectors,
     {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "gst_transactions"}},
    {Metric::kLocalLoadSectors,
     {"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "local_load_transactions"}},
    {Metric::kGlobalLoads,
     {"smsp__inst_executed_op_global_ld.sum", "smsp__sass_inst_executed_op_global_ld.sum",
      "sass__inst_executed_global_loads", "inst_executed_global_loads"}},
    {Metric::kGlobalStores,
     {"smsp__inst_executed_op_global_st.sum", "smsp__sass_inst_executed_op_global_st.sum",
      "sass__inst_executed_global_stores", "inst_executed_global_stores"}},
    {Metric::kLocalLoads,
     {"smsp__inst_executed_op_local_ld.sum", "smsp__sass_inst_executed_op_local_ld.sum",
      "sass__inst_executed_local_loads", "inst_executed_local_loads"}},
    {Metric::kSharedLoads,
     {"smsp__inst_executed_op_shared_ld.sum", "smsp__sass_inst_executed_op_shared_ld.sum",
      "sass__inst_executed_shared_loads", "inst_executed_shared_loads"}},
    {Metric::kSharedStores,
     {"smsp__inst_executed_op_shared_st.sum", "smsp__sass_inst_executed_op_shared_st.sum",
      "sass__inst_executed_shared_stores", "inst_executed_shared_stores"}},
    {Metric::kGlobalAtomics,
     {"smsp__sass_inst_executed_op_global_atom.sum", "smsp__inst_executed_op_global_atom.sum",
      "inst_executed_global_atomics"}},
    {Metric::kInstructions,
     {"smsp__inst_executed.sum", "sm__inst_executed.sum", "Executed Instructions", "inst_executed",
      "instructions"}},
    {Metric::kDivergenceEfficiency,
     {"smsp__thread_inst_executed_per_inst_executed.ratio", "Avg. Active Threads Per Warp",
      "warp_execution_efficiency"}},
    {Metric::kBlocks, {"launch__grid_size", "Grid Size"}},
    {Metric::kThreadInstructions,
     {"smsp__thread_inst_executed.sum", "thread_inst_executed", "thread_instructions"}},
    {Metric::kBlockThreads, {"launch__block_size", "Block Size"}},
    {Metric::kBlockVariation, {"block_instructions_cov"}},
};

// Counters have 63 or 64 bits. Much larger numbers would overflow when squared.
constexpr double kCounterEnd = 0x1p63;

const MetricNames& NamesOf(Metric metric) {
  return kNames[static_cast<std::size_t>(metric)];
}

std::optional<std::span<const double>> FindColumn(const model::Profile& profile, Metric metric) {
  for (const char* name : NamesOf(metric).names) {
    if (name == nullptr) break;
    const auto at = std::find(profile.metric_names.begin(), profile.metric_names.end(), name);
    if (at != profile.metric_names.end()) {
      return std::span(
          profile.metrics[static_cast<std::size_t>(at - profile.metric_names.begin())]);
    }
  }
  return std::nullopt;
}

// Returns the product of three extents; NaN if they are unknown.
template <typename Extent>
double Volume(const Extent (&extent)[3]) {
  double volume = 1.0;
  for (const Extent e : extent) volume *= static_cast<double>(e);
  return volume > 0.0 ? volume : std::numeric_limits<double>::quiet_NaN();
}

// Returns values that can be derived without a column of that name; empty if that is impossible.
std::vector<double> Derive(const model::Profile& profile, Metric metric) {
  std::vector<double> values;
  if (metric == Metric::kBlocks || metric == Metric::kBlockThreads) {
    values.reserve(profile.records.size());
    for (const shm::KernelRecord& r : profile.records) {
      values.push_back(metric == Metric::kBlocks ? Volume(r.grid) : Volume(r.block));
    }
  } else if (metric == Metric::kThreadInstructions) {
    const auto instructions = FindColumn(profile, Metric::kInstructions);
    const auto threads = FindColumn(profile, Metric::kDivergenceEfficiency);
    if (!instructions || !threads) return values;
    values.reserve(instructions->size());
    for (std::size_t i = 0; i < instructions->size(); ++i) {
      values.push_back((*instructions)[i] * (*threads)[i]);
    }
  }
  return values;
}

}  // namespace

std::span<const MetricNames> AllMetricNames() {
  return kNames;
}

bool HasMetric(const model::Profile& profile, Metric metric) {
  return FindColumn(profile, metric).has_value();
}

Result<MetricColumns> LoadMetrics(const MethodInput& input, const char* method,
                                  std::span<const Metric> metrics) {
  MetricColumns result;
  std::vector<std::string> missing;
  for (const Metric metric : metrics) {
    if (const auto column = FindColumn(input.profile, metric)) {
      result.columns.push_back(*column);
    } else if (std::vector<double> derived = Derive(input.profile, metric);
               !derived.empty() || input.profile.records.empty()) {
      result.columns.push_back(result.derived.emplace_back(std::move(derived)));
    } else {
      missing.emplace_back(NamesOf(metric).names[0]);
    }
  }
  if (!missing.empty()) {
    return Error{fmt::format("{} needs metric columns that the profile lacks: {}", method,
                             fmt::join(missing, ", "))};
  }
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    for (std::size_t i = 0; i < input.groups.size(); ++i) {
      const double value = result.columns[m][i];
      if (input.groups[i] == model::kExcludedKernel || (value >= 0.0 && value < kCounterEnd))
        continue;
      return Error{
          fmt::format("{} needs {} of every launch; expected a number from 0 and below 2^63; "
                      "launch {} has {}",
                      method, NamesOf(metrics[m]).names[0], i,
                      std::isnan(value) ? "none" : fmt::format("{}", value))};
    }
  }
  return result;
}

}  // namespace stemtap::research
