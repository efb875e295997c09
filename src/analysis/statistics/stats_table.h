// SPDX-License-Identifier: Apache-2.0
//
// StatsTable is the result of `stemtap stats`: time, launches and durations of a run, by kernel or
// by another property of the launches. See docs/formats/stats.md.
//
// Figures are exact, with two exceptions. Quantiles of a profile are read from a log sketch, whose
// bins are 0.8 to 1.6 % wide. If only the samples of a plan carry a property, `is_estimated` is
// set, and time and launches are sums over the samples, multiplied by their weights.
//
// UNITS: ns; NaN: not known.  THREADS: none.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/finished_session.h"
#include "model/profile.h"
#include "model/row_view.h"
#include "shm/context_key.h"

namespace stemtap::analysis {

enum class StatsAxis { kKernel, kCluster, kShape, kDevice, kRank, kProcess, kRange, kOperator };
inline constexpr const char* kStatsAxisNames[] = {"kernel", "cluster", "shape", "device",
                                                  "rank",   "process", "range", "operator"};

// A row that is not of a kernel has the name of its device, rank, pid, range or operator; an empty
// name is an unknown device.
struct StatsRow : model::KernelId {
  std::string detail = {};  // of a rank: its file or host; of a process: its program
  std::optional<std::uint64_t> cluster = {};  // number of the cluster in its kernel, from 0
  std::uint64_t launches = 0;
  std::uint64_t duration_ns = 0;
  double mean_ns = NAN;
  double p50_ns = NAN;
  double p95_ns = NAN;
  double min_ns = NAN;
  double max_ns = NAN;
  double stddev_ns = NAN;  // population standard deviation
  std::optional<std::uint64_t> clusters = {};
  std::optional<std::uint64_t> samples = {};
  double weight = NAN;  // sum of the weights of the samples
  double bound = NAN;   // relative error bound of the time that the samples estimate
};

struct StatsTable {
  std::string source;
  StatsAxis by = StatsAxis::kKernel;
  bool is_estimated = false;
  bool has_exact_ends = true;  // min_ns and max_ns; otherwise they are ends of clusters
  std::uint64_t launches = 0;  // of the run
  std::uint64_t duration_ns = 0;
  std::uint64_t kernels = 0;
  double bound = NAN;               // of the run; NaN for a profile
  std::vector<StatsRow> rows = {};  // by time, descending
  std::vector<std::string> notes = {};
};

// Reads `reader` to its end. Memory: O(rows). Axes: kernel, shape, device, range and
// operator (the ranges of a reader of operators). Fails with exit code 2 if the profile lacks the
// property. `source` names the run.
Result<StatsTable> TableOfProfile(model::ProfileReader& reader, StatsAxis by,
                                  const std::string& source);

// Returns one row per rank. `rank(i)` opens the i-th of `paths`.
using OpenRank = std::function<Result<std::unique_ptr<model::ProfileReader>>(const std::string&)>;
Result<StatsTable> TableOfRanks(std::span<const std::string> paths, const OpenRank& open,
                                const std::string& source);

// Fails with exit code 2 if the property is not known. `source` names the plan or session.
Result<StatsTable> TableOfPlan(const model::FinishedSession& run, StatsAxis by,
                               const std::string& source);

// Returns the name of a device's row.
std::string DeviceName(std::uint16_t device);

// Sorts the rows by time, then by name.
void SortRows(StatsTable& table);

// What rows can be sorted by. The first is the order of the table; names sort A first, numbers the
// largest first.
struct StatsSortKey {
  const char* name;
  double (*value)(const StatsRow& row);  // null: the name
};
std::span<const StatsSortKey> StatsSortKeys();

// Returns the rows to print.
model::RowView ChooseStatsRows(const StatsTable& table, const model::RowChoice& choice);

// Returns the table in lines of at most `width` columns (model/text_table.h); columns without a
// value are left out. Names are escaped for the terminal, without namespaces and parameters.
std::string StatsText(const StatsTable& table, const model::RowView& view, std::size_t width);

// Returns the rows as CSV. Values that are not known are empty cells.
std::string StatsCsv(const StatsTable& table, const model::RowView& view);

// Returns one JSON object and a newline. Values that are not known are null.
std::string StatsJson(const StatsTable& table, const model::RowView& view);

}  // namespace stemtap::analysis
