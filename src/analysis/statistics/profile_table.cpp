// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "analysis/statistics/stats_table.h"
#include "base/text.h"
#include "model/kernel_groups.h"
#include "stats/log_sketch.h"

namespace stemtap::analysis {
namespace {

constexpr std::size_t kBatch = 16384;

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
    case StatsAxis::kRange:
      return "profiles have no ranges; expected a session recorded at level gate";
    case StatsAxis::kRank:
      return "is one rank; expected several profiles, or a merged session";
    case StatsAxis::kKernel:
    case StatsAxis::kShape:
    case StatsAxis::kDevice:
      break;
  }
  return nullptr;
}

// RowGroups maps launches to rows.
class RowGroups {
 public:
  RowGroups(StatsAxis by, model::KernelGroups groups) : by_(by), groups_(std::move(groups)) {}

  void Add(const shm::KernelRecord& record, const model::NameTable& names) {
    is_known_ = is_known_ || (by_ == StatsAxis::kDevice ? record.device != shm::kUnknown16
                                                        : record.grid[0] != shm::kUnknownExtent);
    if (by_ == StatsAxis::kDevice) {
      devices_[record.device].Add(record.duration_ns);
      return;
    }
    const std::uint32_t group = groups_.Of(record, names);
    if (group >= kernels_.size()) kernels_.resize(group + 1);
    kernels_[group].Add(record.duration_ns);
  }

  // Whether any launch has the property of the axis.
  bool is_known() const { return by_ == StatsAxis::kKernel || is_known_; }

  std::vector<StatsRow> Rows() const {
    std::vector<StatsRow> rows;
    for (const auto& [device, durations] : devices_) {
      rows.push_back({DeviceName(device)});
      SetDurations(durations, rows.back());
    }
    for (std::uint32_t i = 0; i < kernels_.size(); ++i) {
      const model::KernelGroups::Group& group = groups_.group(i);
      rows.push_back({group.name});
      rows.back().config = group.config;
      SetDurations(kernels_[i], rows.back());
    }
    return rows;
  }

 private:
  StatsAxis by_;
  model::KernelGroups groups_;
  bool is_known_ = false;
  std::vector<Durations> kernels_;
  std::map<std::uint16_t, Durations> devices_;
};

}  // namespace

Result<StatsTable> TableOfProfile(model::ProfileReader& reader, StatsAxis by,
                                  const std::string& source) {
  if (const char* const missing = MissingInProfiles(by)) return Lacks(source, missing);
  RowGroups groups(
      by, STEMTAP_TRY(model::KernelGroups::Create(
              by == StatsAxis::kShape ? model::GroupBy::kLaunch : model::GroupBy::kName, "")));
  StatsTable table{source, by};
  for (model::ProfileBatch batch;;) {
    const std::size_t read = STEMTAP_TRY(reader.Read(batch, kBatch));
    if (read == 0) break;
    for (const shm::KernelRecord& record : batch.records) {
      groups.Add(record, reader.names());
      table.duration_ns += record.duration_ns;
    }
    table.launches += read;
  }
  if (table.launches != 0 && !groups.is_known()) {
    return Lacks(source,
                 by == StatsAxis::kDevice
                     ? "no launch has a device number; expected a profile with device numbers"
                     : "no launch has a grid and block; expected a profile with launch "
                       "configurations");
  }
  table.kernels = reader.names().size();
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
    for (model::ProfileBatch batch;;) {
      const std::size_t read = STEMTAP_TRY(reader->Read(batch, kBatch));
      if (read == 0) break;
      for (const shm::KernelRecord& record : batch.records) durations.Add(record.duration_ns);
    }
    for (std::uint32_t id = 0; id < reader->names().size(); ++id) {
      names.Intern(reader->names().name(id));
    }
    table.rows.push_back({std::to_string(i), paths[i]});
    SetDurations(durations, table.rows.back());
    table.launches += table.rows.back().launches;
    table.duration_ns += table.rows.back().duration_ns;
  }
  table.kernels = names.size();
  SortRows(table);
  return table;
}

}  // namespace stemtap::analysis
