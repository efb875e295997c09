// SPDX-License-Identifier: Apache-2.0
//
// RunMetrics turns the state of a live session into Prometheus metrics. See
// docs/formats/prometheus.md for the metrics, and docs/design/metrics.md for the reasons.
//
// Counters never decrease while the collector runs, although the figures that they come from may:
// a window begins at 0, imputed durations change, and the last report of a process may be smaller
// than the one before. Metrics and labels are bounded, whatever the program does.
//
// UNITS: Prometheus uses seconds and ratios; figures are in ns if their name ends in _ns.
// THREADS: one caller.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/overview.h"
#include "session/session.h"
#include "shm/loss.h"

namespace stemtap::session {

// RunCounter is a total of the run, computed from totals of its windows. It never decreases.
class RunCounter {
 public:
  // Takes the total since the present window began.
  void Set(std::uint64_t in_window) { value_ = std::max(value_, ended_ + in_window); }
  // The next window counts from 0.
  void EndWindow() { ended_ = value_; }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t ended_ = 0;  // of the windows that have ended
  std::uint64_t value_ = 0;
};

// LiveFigures is the state of a live session at one time.
struct LiveFigures {
  // Of the present window.
  const model::Overview& overview;
  std::vector<DeviceTotals> devices = {};  // `process` is an index of `processes`
  // Of the whole run.
  std::vector<ProcessReport> processes = {};
  std::uint64_t counted = 0;  // launches that were counted while recording was off
  // At this time.
  bool is_recording = true;
  std::size_t recording_processes = 0;
  std::uint32_t window = 0;  // from 1; 0: the run is not divided
  double collector_cpu_s = 0.0;
};

// KernelCounters chooses the kernels that have metrics of their own, and counts the others
// together.
//
// The kernels with the most time are listed: a kernel that is among the first kTopKernels is listed
// from then on, until kMaxListed are. The launches of a kernel that were reported as part of the
// others before it was listed stay there, so the counters of the others do not decrease either, and
// all counters together are the total. (If a window has more than Overview::kMaxKernels kernels,
// launches of a kernel that an overview did not list may count twice when it is listed.)
class KernelCounters {
 public:
  static constexpr std::size_t kTopKernels = 50;
  // Two counters each. 200 kernels with long names take 100 KB of text; a server of Prometheus
  // accepts thousands of series from a program, but stores each of them.
  static constexpr std::size_t kMaxListed = 200;
  // Kernels whose reported launches are remembered: 8 MB. Further kernels are never listed.
  static constexpr std::size_t kMaxKnown = std::size_t{1} << 16;
  // Longest label in bytes, without the number that makes it unique.
  static constexpr std::size_t kMaxLabelBytes = 160;
  static constexpr const char* kOther = "other";

  struct Counts {
    std::uint64_t launches = 0;
    std::uint64_t duration_ns = 0;
  };
  struct Listed {
    std::string label;  // unique, valid UTF-8, without invisible characters
    Counts counts;
  };

  // `total`: the counters of all kernels, including those that the overview does not list.
  void Update(const model::Overview& overview, const Counts& total);
  void EndWindow();
  // In the order in which they were listed.
  const std::vector<Listed>& listed() const { return listed_; }
  const Counts& other() const { return other_; }

 private:
  struct Known {
    RunCounter launches;
    RunCounter duration_ns;
    Counts as_other;  // reported as part of the others
    std::size_t listed = kNone;
  };
  static constexpr std::size_t kNone = ~std::size_t{0};

  Known* Find(const model::OverviewKernel& kernel);
  std::string NewLabel(const model::KernelId& kernel, const std::string& brief_name);

  std::unordered_map<std::uint64_t, Known> known_;  // by KernelIdHash
  std::vector<Listed> listed_;
  std::unordered_set<std::string> labels_ = {kOther};
  Counts other_;
  bool is_partial_ = false;  // the last overview did not list all kernels
};

// MEMBERS: one counter for each metric.
class RunMetrics {
 public:
  // Devices of processes with a counter of their own: eight processes with eight GPUs each. Further
  // devices are counted together.
  static constexpr std::size_t kMaxDevices = 64;

  void Update(const LiveFigures& figures);
  // The figures of the next window begin at 0. Call after the last Update of a window.
  void EndWindow();
  // Returns the metrics in Prometheus' text format.
  std::string Text(const LiveFigures& figures) const;

 private:
  using DeviceKey = std::pair<std::int32_t, std::uint16_t>;  // pid, ordinal

  void UpdateDevices(const LiveFigures& figures);
  void UpdateProcesses(const std::vector<ProcessReport>& processes);

  RunCounter observed_;
  RunCounter duration_ns_;
  RunCounter captured_;
  RunCounter captured_duration_ns_;
  RunCounter excluded_;
  RunCounter excluded_duration_ns_;
  RunCounter seen_;
  RunCounter malformed_;
  RunCounter losses_[shm::kLossCount];
  RunCounter paused_;
  RunCounter cost_program_ns_;
  RunCounter cost_background_ns_;
  std::map<DeviceKey, RunCounter> devices_;  // busy time
  RunCounter other_devices_;
  KernelCounters kernels_;
};

}  // namespace stemtap::session
