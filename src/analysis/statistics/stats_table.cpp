// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/stats_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <variant>

#include "base/text.h"
#include "model/kernel_groups.h"
#include "model/kernel_id.h"
#include "sampling/plan_builder.h"
#include "stats/log_sketch.h"
#include "stats/moments.h"

namespace stemtap::analysis {
namespace {

// Name of the row of launches outside of all ranges or operators.
const std::string kOutsideOfRanges = "(none)";

// Durations summarizes the durations of a row.
struct Durations {
  stats::LogSketch sketch;
  std::uint64_t shortest = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t longest = 0;

  void Add(std::uint64_t duration_ns) {
    sketch.Add(duration_ns);
    shortest = std::min(shortest, duration_ns);
    longest = std::max(longest, duration_ns);
  }
};

// Returns a duration such that about `fraction` of the launches are not longer. Launches of one bin
// are assumed to be evenly spread over it.
double Quantile(const Durations& durations, double fraction) {
  const stats::LogSketch& sketch = durations.sketch;
  const double rank = fraction * static_cast<double>(sketch.count());
  double before = 0.0;
  std::uint32_t bin = sketch.first_bin();
  for (const stats::LogSketch::Bin& content : sketch.bins()) {
    const auto count = static_cast<double>(content.count);
    if (count > 0.0 && before + count >= rank) {
      const auto lower = static_cast<double>(stats::LogSketch::LowerEdge(bin));
      const double width = static_cast<double>(stats::LogSketch::LowerEdge(bin + 1)) - lower;
      // The durations of a bin are the whole numbers from `lower` to `lower + width - 1`.
      const double value = lower + (width - 1.0) * std::max(rank - before, 0.0) / count;
      return std::clamp(value, static_cast<double>(durations.shortest),
                        static_cast<double>(durations.longest));
    }
    before += count;
    ++bin;
  }
  return static_cast<double>(durations.longest);
}

void SetDurations(const Durations& durations, StatsRow& row) {
  const stats::Moments moments = durations.sketch.All();
  row.launches = moments.count();
  row.duration_ns = static_cast<std::uint64_t>(durations.sketch.total_duration());
  if (row.launches == 0) return;
  row.mean_ns = moments.mean();
  row.stddev_ns = moments.stddev();
  row.p50_ns = Quantile(durations, 0.50);
  row.p95_ns = Quantile(durations, 0.95);
  row.min_ns = static_cast<double>(durations.shortest);
  row.max_ns = static_cast<double>(durations.longest);
}

Error Lacks(const std::string& source, const char* what) {
  return {fmt::format("{}: {}", EscapeForTerminal(source), what), 2};
}

// Returns what a profile lacks for `by`; nullptr if it may have it.
const char* MissingInProfiles(StatsAxis by) {
  switch (by) {
    case StatsAxis::kCluster:
      return "profiles have no clusters; expected a plan or session ('stemtap plan')";
    case StatsAxis::kProcess:
      return "profiles have no process ids; expected a live session";
    case StatsAxis::kRank:
      return "is one rank; expected several profiles, or a merged session";
    case StatsAxis::kKernel:
    case StatsAxis::kShape:
    case StatsAxis::kDevice:
    case StatsAxis::kRange:
    case StatsAxis::kOperator:
      break;
  }
  return nullptr;
}

// Returns what a profile has if no launch has the property of `by`.
const char* MissingInLaunches(StatsAxis by) {
  switch (by) {
    case StatsAxis::kDevice:
      return "no launch has a device number; expected a profile with device numbers";
    case StatsAxis::kRange:
      return "no launch has a range; expected a profile with ranges";
    case StatsAxis::kOperator:
      return "no launch has an operator; expected a trace with ProfilerActivity.CPU";
    default:
      return "no launch has a grid and block; expected a profile with launch configurations";
  }
}

// RowGroups maps launches to rows.
class RowGroups {
 public:
  RowGroups(StatsAxis by, model::KernelGroups groups) : by_(by), groups_(std::move(groups)) {}

  void Add(const shm::KernelRecord& record, const model::NameTable& names) {
    if (by_ == StatsAxis::kDevice) {
      is_known_ = is_known_ || record.device != shm::kUnknown16;
      devices_[record.device].Add(record.duration_ns);
      return;
    }
    if (by_ == StatsAxis::kRange || by_ == StatsAxis::kOperator) {
      RangeOf(record.name_id, names).Add(record.duration_ns);
      return;
    }
    is_known_ = is_known_ || record.grid[0] != shm::kUnknownExtent;
    const std::uint32_t group = groups_.Of(record, names);
    if (group >= kernels_.size()) kernels_.resize(group + 1);
    kernels_[group].Add(record.duration_ns);
  }

  // Whether any launch has the property of the axis.
  bool is_known() const { return by_ == StatsAxis::kKernel || is_known_; }

  std::vector<StatsRow> Rows() const {
    std::vector<StatsRow> rows;
    for (const auto& [device, durations] : devices_) {
      rows.push_back({{DeviceName(device)}});
      SetDurations(durations, rows.back());
    }
    for (const auto& [range, durations] : ranges_) {
      rows.push_back({{range.empty() ? kOutsideOfRanges : range}});
      SetDurations(durations, rows.back());
    }
    for (std::uint32_t i = 0; i < kernels_.size(); ++i) {
      rows.push_back({groups_.group(i)});
      SetDurations(kernels_[i], rows.back());
    }
    return rows;
  }

 private:
  Durations& RangeOf(std::uint32_t name_id, const model::NameTable& names) {
    for (auto id = static_cast<std::uint32_t>(range_of_.size()); id <= name_id; ++id) {
      is_known_ = is_known_ || !names.range(id).empty();
      range_of_.push_back(&ranges_[std::string(names.range(id))]);
    }
    return *range_of_[name_id];
  }

  StatsAxis by_;
  model::KernelGroups groups_;
  bool is_known_ = false;
  std::map<std::string, Durations> ranges_;
  std::vector<Durations*> range_of_;  // by name id
  std::vector<Durations> kernels_;
  std::map<std::uint16_t, Durations> devices_;
};

double Confidence(const model::Plan& plan) {
  for (const auto& [name, value] : plan.options) {
    const double* confidence = std::get_if<double>(&value);
    if (name == "confidence" && confidence != nullptr) return *confidence;
  }
  return NAN;
}

// Adds the samples of `cluster` to a row of exact figures.
void AddSamples(const model::PlanCluster& cluster, StatsRow& row) {
  row.samples = row.samples.value_or(0) + cluster.samples.size();
  for (const model::PlanSample& sample : cluster.samples) {
    row.weight = (std::isnan(row.weight) ? 0.0 : row.weight) + sample.weight;
  }
}

// Returns whether the spread of the launches that the samples of `cluster` were drawn from is not
// known: samples represent other launches too, and the plan's cells were not read.
bool LacksSpread(const model::PlanCluster& cluster) {
  const std::uint64_t drawn = model::DrawnCount(cluster);
  return drawn < cluster.count && cluster.cells.empty() && cluster.samples.size() < drawn;
}

// Returns the bound of the time of `kernel`. NaN if the plan states no bound. In a merged plan, the
// bound of a kernel would assume that the sessions err independently, so none is stated.
double BoundOf(const model::Plan& plan, const model::PlanKernel& kernel, double confidence) {
  const auto& clusters = kernel.clusters;
  if (std::isnan(plan.totals.bound) || std::isnan(confidence) || !plan.sessions.empty() ||
      std::any_of(clusters.begin(), clusters.end(), LacksSpread)) {
    return NAN;
  }
  sampling::ErrorSources errors;
  model::PlanTotals totals;
  totals.duration_ns = kernel.duration_ns;
  for (const model::PlanCluster& cluster : clusters) {
    errors.Add(cluster);
    for (const model::PlanSample& sample : cluster.samples) {
      totals.plain_estimate_ns += static_cast<double>(sample.record.duration_ns) *
                                  static_cast<double>(cluster.count) /
                                  static_cast<double>(cluster.samples.size());
    }
  }
  if (plan.totals.imputed != 0) totals.plain_estimate_ns = NAN;
  errors.Describe(confidence, totals);
  return totals.bound;
}

StatsRow ClusterRow(const model::PlanKernel& kernel, std::size_t number) {
  const model::PlanCluster& cluster = kernel.clusters[number];
  StatsRow row{kernel, {}, number};
  row.launches = cluster.count;
  row.mean_ns = cluster.mean_ns;
  row.duration_ns = static_cast<std::uint64_t>(
      std::llround(cluster.mean_ns * static_cast<double>(cluster.count)));
  row.stddev_ns = cluster.stddev_ns;
  row.min_ns = static_cast<double>(cluster.lower_ns);
  row.max_ns = static_cast<double>(cluster.upper_ns);
  row.samples = 0;
  AddSamples(cluster, row);
  return row;
}

StatsRow KernelRow(const model::Plan& plan, const model::PlanKernel& kernel, double confidence) {
  StatsRow row{kernel};
  row.launches = kernel.invocations;
  row.duration_ns = kernel.duration_ns;
  row.clusters = kernel.clusters.size();
  row.samples = 0;
  stats::Moments moments;
  for (const model::PlanCluster& cluster : kernel.clusters) {
    const auto count = static_cast<double>(cluster.count);
    moments.Merge({cluster.count, cluster.mean_ns, cluster.stddev_ns * cluster.stddev_ns * count});
    row.min_ns = std::fmin(row.min_ns, static_cast<double>(cluster.lower_ns));
    row.max_ns = std::fmax(row.max_ns, static_cast<double>(cluster.upper_ns));
    AddSamples(cluster, row);
  }
  if (row.launches != 0) {
    row.mean_ns = static_cast<double>(row.duration_ns) / static_cast<double>(row.launches);
    row.stddev_ns = moments.stddev();
  }
  row.bound = BoundOf(plan, kernel, confidence);
  return row;
}

// Returns the rows of processes, or of the devices of each process, that session.json contains.
std::vector<StatsRow> DeviceRows(const model::RecordedSession& session, StatsAxis by) {
  std::vector<StatsRow> rows;
  std::map<std::pair<std::uint64_t, std::int32_t>, std::size_t> row_of;  // by session and pid
  for (const model::DeviceTotals& device : session.devices) {
    const auto [at, added] = row_of.emplace(std::pair(device.session, device.pid), rows.size());
    if (added || by == StatsAxis::kDevice) {
      StatsRow row{by == StatsAxis::kProcess ? std::to_string(device.pid)
                                             : DeviceName(device.device)};
      row.process = by == StatsAxis::kDevice ? device.pid : 0;
      for (const model::ProcessReport& process : session.processes) {
        if (process.pid == device.pid && process.session == device.session) {
          row.detail = process.program;
        }
      }
      if (device.session != model::kNoSession) {
        row.detail += fmt::format("{}session {}", row.detail.empty() ? "" : ", ", device.session);
      }
      at->second = rows.size();
      rows.push_back(std::move(row));
    }
    StatsRow& row = rows[at->second];
    row.launches += device.launches;
    row.duration_ns += device.duration_ns;
  }
  for (StatsRow& row : rows) {
    if (row.launches == 0) continue;
    row.mean_ns = static_cast<double>(row.duration_ns) / static_cast<double>(row.launches);
  }
  return rows;
}

// Returns one row for each session of a merged plan.
std::vector<StatsRow> SessionRows(const model::Plan& plan) {
  std::vector<StatsRow> rows;
  for (const model::PlanSession& session : plan.sessions) {
    StatsRow row{{std::to_string(rows.size())},
                 session.host.empty() ? session.folder : session.host + ", " + session.folder};
    row.launches = session.launches;
    row.duration_ns = session.duration_ns;
    if (row.launches != 0) {
      row.mean_ns = static_cast<double>(row.duration_ns) / static_cast<double>(row.launches);
    }
    row.bound = session.bound;
    row.samples = 0;
    for (const model::PlanKernel& kernel : plan.kernels) {
      for (const model::PlanCluster& cluster : kernel.clusters) {
        for (const model::PlanSample& sample : cluster.samples) {
          if (sample.index - session.first_index >= session.launches) continue;
          row.samples = *row.samples + 1;
          row.weight = (std::isnan(row.weight) ? 0.0 : row.weight) + sample.weight;
        }
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// Returns one row for each range of a plan that groups launches by range.
std::vector<StatsRow> RangeRows(const model::Plan& plan) {
  std::vector<StatsRow> rows;
  for (const model::PlanRange& range : plan.ranges) {
    StatsRow row{{range.range.empty() ? kOutsideOfRanges : range.range}};
    row.launches = range.invocations;
    row.duration_ns = range.duration_ns;
    if (row.launches != 0) {
      row.mean_ns = static_cast<double>(row.duration_ns) / static_cast<double>(row.launches);
    }
    row.samples = range.samples;
    row.bound = range.bound;
    rows.push_back(std::move(row));
  }
  return rows;
}

// SampleRow is a row that is estimated from samples.
struct SampleRow {
  StatsRow row;
  double launches = 0.0;
  double time_ns = 0.0;
};

// Adds `sample` to the row with its device, shape or range. Returns whether the property is known.
bool AddSample(const model::PlanKernel& kernel, const model::PlanCluster& cluster,
               const model::PlanSample& sample, StatsAxis by,
               std::map<model::KernelId, SampleRow>& rows) {
  const shm::KernelRecord& record = sample.record;
  StatsRow row;
  bool is_known = true;
  if (by == StatsAxis::kDevice) {
    is_known = record.device != shm::kUnknown16;
    row.name = DeviceName(record.device);
  } else if (by == StatsAxis::kRange) {
    is_known = !sample.range.empty();
    row.name = is_known ? sample.range : kOutsideOfRanges;
  } else {
    is_known = record.grid[0] != shm::kUnknownExtent;
    row.name = model::KernelNameOf(kernel, sample);
    row.process = kernel.process;
    row.config = {{record.grid[0], record.grid[1], record.grid[2]},
                  {record.block[0], record.block[1], record.block[2]}};
  }
  SampleRow& sum = rows.emplace(row, SampleRow{row}).first->second;
  const auto duration = static_cast<double>(record.duration_ns);
  sum.row.samples = sum.row.samples.value_or(0) + 1;
  sum.row.weight = (std::isnan(sum.row.weight) ? 0.0 : sum.row.weight) + sample.weight;
  // Plain weights: calibrated weights reproduce the time, not the number of launches.
  sum.launches += static_cast<double>(cluster.count) / static_cast<double>(cluster.samples.size());
  sum.time_ns += sample.weight * duration;
  return is_known;
}

// Sets the rows that only the samples carry. Returns whether any sample has the property.
bool EstimateRows(const model::Plan& plan, StatsAxis by, StatsTable& table) {
  std::map<model::KernelId, SampleRow> rows;
  bool is_known = false;
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      for (const model::PlanSample& sample : cluster.samples) {
        is_known = AddSample(kernel, cluster, sample, by, rows) || is_known;
      }
    }
  }
  for (auto& [id, sum] : rows) {
    sum.row.launches = static_cast<std::uint64_t>(std::llround(sum.launches));
    sum.row.duration_ns = static_cast<std::uint64_t>(std::llround(sum.time_ns));
    if (sum.launches > 0.0) sum.row.mean_ns = sum.time_ns / sum.launches;
    table.rows.push_back(std::move(sum.row));
  }
  table.is_estimated = true;
  if (plan.totals.uncovered_fraction > 0.0) {
    table.notes.push_back(
        fmt::format("clusters without a sample have {:.2f} % of the time, which no row includes",
                    100 * plan.totals.uncovered_fraction));
  }
  return is_known;
}

Status Missing(const std::string& source, const char* what) {
  return Error{fmt::format("{}: {}", EscapeForTerminal(source), what), 2};
}

void SetKernelRows(const model::FinishedSession& run, StatsTable& table) {
  const double confidence = Confidence(run.plan);
  for (const model::PlanKernel& kernel : run.plan.kernels) {
    table.rows.push_back(KernelRow(run.plan, kernel, confidence));
  }
  if (!run.has_cells && std::any_of(table.rows.begin(), table.rows.end(),
                                    [](const StatsRow& row) { return !std::isnan(row.bound); })) {
    table.notes.emplace_back(
        run.session ? "the bounds of kernels assume normal durations in each cluster: the session "
                      "has no cells.json, which contains the distributions"
                    : "the bounds of kernels assume normal durations in each cluster: a plan.json "
                      "lacks the distributions that a session has");
  }
}

// Adds what the merge of a job has found about its ranks: which are slow, and which are missing.
// These warnings of the session begin with "rank " (src/ui/cli/job_merge.cpp).
void AddRankWarnings(std::span<const std::string> warnings, StatsTable& table) {
  for (const std::string& warning : warnings) {
    if (warning.starts_with("rank ")) table.notes.push_back(EscapeForTerminal(warning));
  }
}

// Sets the rows of an axis that a plan or session may lack.
Status SetOtherRows(const model::FinishedSession& run, StatsTable& table) {
  const model::Plan& plan = run.plan;
  const bool has_devices = run.session && !run.session->devices.empty();
  const bool has_processes =
      has_devices && std::any_of(run.session->devices.begin(), run.session->devices.end(),
                                 [](const model::DeviceTotals& device) { return device.pid != 0; });
  const char* missing = nullptr;
  switch (table.by) {
    case StatsAxis::kProcess:
      if (!has_processes)
        return Missing(table.source, "has no process totals; expected a live session");
      table.rows = DeviceRows(*run.session, table.by);
      return Success{};
    case StatsAxis::kRank:
      if (plan.sessions.empty()) {
        return Missing(table.source,
                       has_processes
                           ? "is not merged; expected a merged session or several profiles ('--by "
                             "process' shows the processes of this session)"
                           : "is not merged; expected a merged session or several profiles");
      }
      table.rows = SessionRows(plan);
      if (run.session) AddRankWarnings(run.session->warnings, table);
      return Success{};
    case StatsAxis::kDevice:
      if (has_devices) {
        table.rows = DeviceRows(*run.session, table.by);
        return Success{};
      }
      missing = "has no sample with a device number; expected a run with device numbers";
      break;
    case StatsAxis::kShape:
      if (std::any_of(plan.kernels.begin(), plan.kernels.end(),
                      std::mem_fn(&model::KernelId::has_config))) {
        SetKernelRows(run, table);
        return Success{};
      }
      missing =
          "has no sample with a launch configuration; expected a run with launch configurations";
      break;
    case StatsAxis::kRange:
      if (!plan.ranges.empty()) {
        table.rows = RangeRows(plan);
        return Success{};
      }
      missing = model::kNoRanges;
      break;
    case StatsAxis::kOperator:
      return Missing(table.source, "has no operators; expected a trace of torch.profiler");
    case StatsAxis::kKernel:
    case StatsAxis::kCluster:
      break;
  }
  return EstimateRows(plan, table.by, table) ? Status(Success{}) : Missing(table.source, missing);
}

}  // namespace

Result<StatsTable> TableOfProfile(model::ProfileReader& reader, StatsAxis by,
                                  const std::string& source) {
  if (const char* const missing = MissingInProfiles(by)) return Lacks(source, missing);
  RowGroups groups(
      by, STEMTAP_TRY(model::KernelGroups::Create(
              by == StatsAxis::kShape ? model::GroupBy::kLaunch : model::GroupBy::kName, "")));
  StatsTable table{source, by};
  table.launches = STEMTAP_TRY(model::ForEachLaunch(reader, [&](const shm::KernelRecord& record) {
    groups.Add(record, reader.names());
    table.duration_ns += record.duration_ns;
  }));
  if (table.launches != 0 && !groups.is_known()) {
    return Lacks(source, MissingInLaunches(by));
  }
  table.kernels = reader.names().CountWithoutRanges();
  table.rows = groups.Rows();
  SortRows(table);
  return table;
}

Result<StatsTable> TableOfRanks(std::span<const std::string> paths, const OpenRank& open,
                                const std::string& source) {
  StatsTable table{source, StatsAxis::kRank};
  model::NameTable names;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::unique_ptr<model::ProfileReader> reader = STEMTAP_TRY(open(paths[i]));
    Durations durations;
    STEMTAP_TRY(model::ForEachLaunch(
        *reader, [&](const shm::KernelRecord& record) { durations.Add(record.duration_ns); }));
    for (std::uint32_t id = 0; id < reader->names().size(); ++id) {
      names.Intern(reader->names().name(id));
    }
    table.rows.push_back({{std::to_string(i)}, paths[i]});
    SetDurations(durations, table.rows.back());
    table.launches += table.rows.back().launches;
    table.duration_ns += table.rows.back().duration_ns;
  }
  table.kernels = names.size();
  SortRows(table);
  return table;
}

Result<StatsTable> TableOfPlan(const model::FinishedSession& run, StatsAxis by,
                               const std::string& source) {
  const model::PlanTotals& totals = run.plan.totals;
  StatsTable table{source,        by, false, false, totals.invocations, totals.duration_ns,
                   totals.kernels};
  table.bound = totals.bound;
  if (by == StatsAxis::kKernel) {
    SetKernelRows(run, table);
  } else if (by == StatsAxis::kCluster) {
    for (const model::PlanKernel& kernel : run.plan.kernels) {
      for (std::size_t i = 0; i < kernel.clusters.size(); ++i) {
        table.rows.push_back(ClusterRow(kernel, i));
      }
    }
  } else {
    STEMTAP_TRY(SetOtherRows(run, table));
  }
  if (totals.dropped != 0) {
    table.notes.push_back(fmt::format(
        "{} records were dropped; the figures are based on incomplete data", totals.dropped));
  }
  SortRows(table);
  return table;
}

}  // namespace stemtap::analysis
