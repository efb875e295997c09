// SPDX-License-Identifier: Apache-2.0
//
// Reads the standard output of accel-sim.out. Per kernel, in this order:
//
//   Processing kernel <path>/kernel-7-ctx_0x1f.traceg.xz     the n-th such line is uid n
//   -kernel id = 7                                           the trace's id, 1-based
//   launching kernel name: <name> uid: <n> cuda_stream_id: <s>
//   kernel_name = <name>                                     begins the statistics
//   kernel_launch_uid = <n>
//   gpu_sim_cycle = <of this kernel>
//   gpu_tot_sim_cycle = <since the start>
//
// uid counts the simulated kernels and differs from the id of the trace. It restarts with each run,
// which identifies a log of several runs, one of which was killed.
// SOURCE: docs/formats/results.md.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/decimal.h"
#include "base/line_reader.h"
#include "base/text.h"
#include "formats/results/kernel_results.h"

namespace stemtap::formats {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Statistics that accumulate from the start of the run; a kernel's value is the difference to the
// previous kernel. (Between kernels, the simulator resets only gpu_sim_* and the occupancy:
// gpgpu_sim::init and update_stats in gpu-sim.cc of GPGPU-Sim 4.)
constexpr std::array<std::string_view, 6> kCumulative = {
    "L2_total_cache_accesses",  "L2_total_cache_misses", "gpgpu_n_mem_read_global",
    "gpgpu_n_mem_write_global", "gpgpu_n_load_insn",     "gpgpu_n_store_insn"};

struct Statistic {
  std::string_view name;
  std::string_view text;
};

// Parses "name = value" with a one-word name, the form of all lines that are read. Some names are
// padded: "gpgpu_n_load_insn  = 7".
std::optional<Statistic> StatisticOf(std::string_view line) {
  const std::size_t equals = line.find(" = ");
  if (equals == std::string_view::npos || equals == 0) return {};
  std::string_view name = line.substr(0, equals);
  while (name.ends_with(' ')) name.remove_suffix(1);
  if (name.find(' ') != std::string_view::npos) return {};
  std::string_view text = line.substr(equals + 3);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return Statistic{name, text};
}

// Returns the id in ".../kernel-7-ctx_0x1f.traceg.xz" or ".../kernel-7.traceg".
std::optional<std::uint64_t> IdInPath(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  constexpr std::string_view kPrefix = "kernel-";
  if (!path.starts_with(kPrefix)) return {};
  path.remove_prefix(kPrefix.size());
  return WholeNumber(path.substr(0, path.find_first_not_of("0123456789")));
}

class LogReader {
 public:
  LogReader(std::unique_ptr<ByteSource> source, bool allow_cut)
      : lines_(std::move(source)), allow_cut_(allow_cut) {
    results_.source = ResultsSource::kAccelsim;
    results_.ratios = {{"ipc", "gpu_sim_insn", "gpu_sim_cycle"},
                       {"l2_miss_rate", "L2_total_cache_misses", "L2_total_cache_accesses"}};
  }

  Result<KernelResults> Read();

 private:
  // What the log contains about a kernel before its statistics.
  struct Processed {
    std::optional<std::uint64_t> id;
    std::string where;
  };

  Status TakeLine();
  Status TakeProcessing(std::string_view path);
  Status TakeUid(std::string_view text);
  void TakeStatistic(const Statistic& statistic);
  void EndBlock();
  void EndRun();
  Status EndCutRun(const std::string& where, std::string_view what, bool half);
  Status TakeLaunch(std::string_view line);
  std::size_t ColumnOf(std::string_view name, MetricKind kind);
  std::string IdText(const KernelResult& row) const;

  LineReader lines_;
  bool allow_cut_;
  KernelResults results_;
  std::map<std::string, std::size_t, std::less<>> columns_;
  // What the warnings report.
  struct Counts {
    std::uint64_t no_number = 0;
    std::string first_no_number;
    std::uint64_t decreased = 0;
    std::string first_decreased;
  };
  Counts counts_;
  bool any_ = false;  // a line of a simulation was read

  // State of the current simulation; a log may contain several, one after another.
  // State of the current simulation; a log may contain several, one after another.
  struct Simulation {
    std::vector<Processed> processed;
    std::map<std::string, double, std::less<>> before;  // cumulative statistics
    std::uint64_t launched = 0;
    std::uint64_t last_uid = 0;         // maximum uid launched
    std::size_t fresh = 0;              // entries of `processed` after all other lines of the run
    bool half_before = false;           // the last of `processed` occurred inside statistics
    std::optional<std::string> broken;  // where the run reached its limit
    std::vector<std::size_t> after_break;
    std::size_t first_row = 0;
    bool is_running = false;
  };
  Simulation run_;

  bool in_block_ = false;
  bool has_uid_ = false;
  KernelResult row_;
  std::map<std::string, double, std::less<>> cumulative_;
};

std::size_t LogReader::ColumnOf(std::string_view name, MetricKind kind) {
  const auto at = columns_.find(name);
  if (at != columns_.end()) return at->second;
  const std::size_t column = results_.metrics.size();
  results_.metrics.push_back({std::string(name), kind == MetricKind::kMean ? "%" : "", kind});
  columns_.emplace(name, column);
  return column;
}

Status LogReader::TakeProcessing(std::string_view path) {
  run_.half_before = in_block_ && has_uid_;
  EndBlock();
  run_.is_running = any_ = true;
  ++run_.fresh;
  run_.processed.push_back({IdInPath(path), lines_.Where()});
  return Success{};
}

Status LogReader::TakeUid(std::string_view text) {
  // At its limit, the simulator prints the statistics of an unfinished kernel without its name and
  // uid.
  if (text.empty()) return Success{};
  if (text.find(' ') != std::string_view::npos) {
    return lines_.At(
        fmt::format("statistics of several kernels at once (uids {}); simulate with "
                    "-gpgpu_concurrent_kernel_sm 0",
                    ShownCell(text)));
  }
  const std::optional<std::uint64_t> uid = WholeNumber(text);
  if (!uid || *uid == 0) {
    return lines_.At(
        fmt::format("kernel_launch_uid is '{}'; expected a whole number from 1", ShownCell(text)));
  }
  if (*uid > run_.processed.size()) {
    return lines_.At(
        fmt::format("statistics of uid {} after {} lines 'Processing kernel'; expected the log "
                    "from its beginning",
                    *uid, run_.processed.size()));
  }
  const Processed& kernel = run_.processed[*uid - 1];
  if (!kernel.id) {
    return Error{fmt::format(
        "{}: no kernel id; expected a trace named kernel-<id>... or a line '-kernel id = '",
        kernel.where)};
  }
  row_.id = *kernel.id;
  has_uid_ = true;
  return Success{};
}

void LogReader::TakeStatistic(const Statistic& statistic) {
  const bool direct = statistic.name.starts_with("gpu_sim_");
  const bool share = statistic.name == "gpu_occupancy";
  const bool cumulative =
      std::find(kCumulative.begin(), kCumulative.end(), statistic.name) != kCumulative.end();
  if (!direct && !share && !cumulative) return;
  std::string_view text = statistic.text;
  if (text.ends_with('%')) text.remove_suffix(1);
  const std::optional<double> value = CellNumber(text);
  // Some configurations have no occupancy: the simulator divides 0 by 0.
  if (share && value && std::isnan(*value)) return;
  if (!value || std::isnan(*value)) {
    if (counts_.no_number++ == 0) counts_.first_no_number = lines_.Where();
    return;
  }
  if (cumulative) {
    cumulative_[std::string(statistic.name)] = *value;
    return;
  }
  const std::size_t column = ColumnOf(statistic.name, share ? MetricKind::kMean : MetricKind::kSum);
  if (row_.values.size() <= column) row_.values.resize(column + 1, kNaN);
  row_.values[column] = *value;
}

void LogReader::EndBlock() {
  if (!in_block_) return;
  in_block_ = false;
  for (const auto& [name, value] : cumulative_) {
    const auto before = run_.before.find(name);
    const double base = before == run_.before.end() ? 0.0 : before->second;
    if (value < base) {
      if (counts_.decreased++ == 0)
        counts_.first_decreased = fmt::format("{}: {}", row_.where, name);
      continue;
    }
    const std::size_t column = ColumnOf(name, MetricKind::kSum);
    if (row_.values.size() <= column) row_.values.resize(column + 1, kNaN);
    row_.values[column] = value - base;
  }
  for (const auto& [name, value] : cumulative_) run_.before[name] = value;
  cumulative_.clear();
  if (!has_uid_) {
    results_.warnings.push_back(fmt::format(
        "{}: statistics without a kernel_launch_uid are skipped: no kernel finished", row_.where));
    return;
  }
  if (run_.broken) run_.after_break.push_back(results_.rows.size());
  results_.rows.push_back(std::move(row_));
}

std::string LogReader::IdText(const KernelResult& row) const {
  return fmt::format("kernel id {} ({})", row.id, row.where);
}

// Handles the end of a run that the log reports, or the end of the log.
void LogReader::EndRun() {
  EndBlock();
  if (run_.broken) {
    // Kernels that were running then are incomplete: all rows printed after the break, else the
    // last row.
    if (run_.after_break.empty() && results_.rows.size() > run_.first_row &&
        results_.rows.size() - run_.first_row >= run_.launched) {
      run_.after_break.push_back(results_.rows.size() - 1);
    }
    std::string dropped;
    for (const std::size_t row : run_.after_break) {
      if (!dropped.empty()) dropped += ", ";
      dropped += IdText(results_.rows[row]);
    }
    if (!run_.after_break.empty()) results_.rows.resize(run_.after_break.front());
    results_.warnings.push_back(fmt::format(
        "{}: the simulation stopped at its limit of cycles or instructions; {}", *run_.broken,
        dropped.empty() ? fmt::format("{} of the {} kernels launched had finished",
                                      results_.rows.size() - run_.first_row, run_.launched)
                        : "incomplete and skipped: " + dropped));
  }
  run_ = {};
  run_.first_row = results_.rows.size();
}

// Handles a run that ended without reporting it; `half`: while the last row was being printed.
Status LogReader::EndCutRun(const std::string& where, std::string_view what, bool half) {
  const bool stopped = run_.broken.has_value();
  if (!stopped && !allow_cut_) {
    return Error{
        fmt::format("{}: {}; expected 'GPGPU-Sim: *** exit detected ***' (--allow-cut accepts the "
                    "kernels before the last)",
                    where, what)};
  }
  EndRun();
  if (stopped) return Success{};
  std::string dropped = "all statistics are complete";
  if (half) {
    dropped = "possibly incomplete and skipped: " + IdText(results_.rows.back());
    results_.rows.pop_back();
    run_.first_row = results_.rows.size();
  }
  results_.warnings.push_back(
      fmt::format("{}: {}, without the simulator's last line; {}", where, what, dropped));
  return Success{};
}

Status LogReader::TakeLaunch(std::string_view line) {
  constexpr std::string_view kUid = " uid: ";
  const std::size_t at = line.rfind(kUid);
  const std::string_view rest =
      at == std::string_view::npos ? std::string_view() : line.substr(at + kUid.size());
  const std::uint64_t uid =
      WholeNumber(rest.substr(0, rest.find_first_not_of("0123456789"))).value_or(0);
  if (uid != 0 && uid <= run_.last_uid) {
    // Another run, whose first kernel was announced earlier.
    if ((run_.broken || allow_cut_) && run_.fresh != 1) {
      return lines_.At(
          fmt::format("another simulation begins after {} lines 'Processing kernel'; split the log "
                      "where it begins",
                      run_.fresh));
    }
    std::vector<Processed> newest(run_.processed.end() - static_cast<std::ptrdiff_t>(run_.fresh),
                                  run_.processed.end());
    STEMTAP_TRY(EndCutRun(
        lines_.Where(),
        fmt::format(
            "uid {} is launched again by another simulation, before the end of the one above", uid),
        run_.half_before));
    run_.processed = std::move(newest);
  }
  EndBlock();
  run_.is_running = any_ = true;
  run_.last_uid = std::max(run_.last_uid, uid);
  run_.fresh = 0;
  ++run_.launched;
  return Success{};
}

Status LogReader::TakeLine() {
  constexpr std::string_view kProcessing = "Processing kernel ";
  constexpr std::string_view kId = "-kernel id = ";
  constexpr std::string_view kLaunching = "launching kernel name: ";
  const std::string_view line = lines_.text();
  // The text may be anywhere in the line, because the previous line may be truncated.
  if (run_.is_running && line.find("Accel-Sim [build ") != std::string_view::npos) {
    return EndCutRun(lines_.Where(), "another simulation begins before the end of the one above",
                     in_block_ && has_uid_);
  }
  if (line.starts_with(kProcessing)) return TakeProcessing(line.substr(kProcessing.size()));
  if (line.starts_with(kId)) {
    const std::optional<std::uint64_t> id = WholeNumber(Trimmed(line.substr(kId.size())));
    if (!id) {
      return lines_.At(fmt::format("-kernel id is '{}'; expected a whole number",
                                   ShownCell(line.substr(kId.size()))));
    }
    if (run_.processed.empty()) return Success{};
    Processed& kernel = run_.processed.back();
    if (kernel.id && *kernel.id != *id) {
      return lines_.At(
          fmt::format("-kernel id is {}; expected {} as in the file name above", *id, *kernel.id));
    }
    kernel.id = *id;
    return Success{};
  }
  if (line.starts_with(kLaunching)) return TakeLaunch(line);
  if (line.find("GPGPU-Sim: ** break due to reaching the maximum cycles") !=
      std::string_view::npos) {
    EndBlock();
    run_.broken = lines_.Where();
    return Success{};
  }
  if (line.find("GPGPU-Sim: *** exit detected ***") != std::string_view::npos) {
    EndRun();
    return Success{};
  }
  const std::optional<Statistic> statistic = StatisticOf(line);
  if (!statistic) return Success{};
  if (statistic->name == "kernel_name") {
    EndBlock();
    run_.is_running = any_ = true;
    in_block_ = true;
    has_uid_ = false;
    run_.fresh = 0;
    row_ = {};
    row_.where = lines_.Where();
    row_.name = statistic->text;
    return Success{};
  }
  if (!in_block_) return Success{};
  if (statistic->name == "kernel_launch_uid") return TakeUid(statistic->text);
  TakeStatistic(*statistic);
  return Success{};
}

Result<KernelResults> LogReader::Read() {
  while (STEMTAP_TRY(lines_.Next())) STEMTAP_TRY(TakeLine());
  if (!any_) {
    return Error{fmt::format("{}: no kernel was simulated; expected lines 'Processing kernel ...'",
                             lines_.name())};
  }
  if (run_.is_running) {
    const std::string last = fmt::format("{}:{}", lines_.name(), lines_.number() - 1);
    STEMTAP_TRY(EndCutRun(last, "the log ends here", in_block_ && has_uid_));
  }
  if (counts_.no_number > 0) {
    results_.warnings.push_back(
        fmt::format("{}: a statistic is not a finite number ({} such lines); treated as missing",
                    counts_.first_no_number, counts_.no_number));
  }
  if (counts_.decreased > 0) {
    results_.warnings.push_back(
        fmt::format("{} is less than before, although it counts from the start ({} such "
                    "statistics); treated as missing",
                    counts_.first_decreased, counts_.decreased));
  }
  return std::move(results_);
}

}  // namespace

Result<KernelResults> ReadAccelsimLog(std::unique_ptr<ByteSource> source, bool allow_cut) {
  return LogReader(std::move(source), allow_cut).Read();
}

}  // namespace stemtap::formats
