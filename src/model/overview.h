// SPDX-License-Identifier: Apache-2.0
//
// Overview is a summary of a session whose size does not depend on the length of the session.
// `stemtap top` and `stemtap report` display it. overview.json is its file format; all fields are
// described in docs/formats/overview.md.
//
// UNITS: durations and times are in ns if the name ends in _ns; fractions and bounds are ratios.
// THREADS: none.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "model/kernel_id.h"
#include "shm/context_key.h"

namespace stemtap::model {

enum class ClusterState : std::uint8_t { kOpen, kClosed, kUnreachable };

struct OverviewCluster {
  std::uint64_t lower_ns = 0;  // durations in [lower_ns, upper_ns]
  std::uint64_t upper_ns = 0;
  std::uint64_t count = 0;
  double mean_ns = 0.0;
  double stddev_ns = 0.0;  // population standard deviation
  std::uint64_t captured = 0;
  std::uint64_t target = 0;
  ClusterState state = ClusterState::kOpen;
};

struct HistogramBin {
  std::uint64_t lower_ns = 0;  // durations in [lower_ns, upper_ns)
  std::uint64_t upper_ns = 0;
  std::uint64_t count = 0;
};

// KernelSlice counts the launches of a kernel in one time slice of the session.
struct KernelSlice {
  std::uint32_t slice = 0;
  std::uint64_t invocations = 0;
  std::uint64_t duration_ns = 0;
};

struct OverviewKernel : KernelId {
  // Of all launches; grid 0 if they differ, or if a launch has none.
  shm::LaunchConfig launched_config = {};
  std::uint64_t invocations = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t captured = 0;
  std::uint64_t imputed = 0;
  std::vector<OverviewCluster> clusters;  // ascending
  std::vector<HistogramBin> histogram;    // ascending, no empty bins, at most kMaxBins
  std::vector<KernelSlice> slices;        // ascending
};

// ActivitySlice is what all devices did in one slice of time. Kernels that span several slices
// count in each with the part of their time there.
struct ActivitySlice {
  std::uint32_t slice = 0;
  std::uint64_t launches = 0;     // that began in the slice
  std::uint64_t duration_ns = 0;  // of kernels; concurrent kernels each count in full
  std::uint64_t busy_ns = 0;      // sum over devices of the time in which a kernel ran
};

struct BusySlice {
  std::uint32_t slice = 0;
  std::uint64_t busy_ns = 0;
};

// DeviceActivity is when one device of one process was busy.
struct DeviceActivity {
  std::uint32_t process = 0;      // position in Overview::processes; 0 in a replay
  std::uint16_t device = 0;       // ordinal inside the process, or shm::kUnknown16
  std::vector<BusySlice> slices;  // ascending, without idle slices
};

// Activity is when the devices of a session were busy.
struct Activity {
  static constexpr std::uint32_t kMaxSlices = 256;
  // More devices would not be read one by one. 16 take at most 70 KB of the file.
  static constexpr std::size_t kMaxDevices = 16;

  std::uint32_t devices = 0;  // with kernels whose start is known
  std::uint64_t start_ns = 0;
  std::uint64_t width_ns = 0;
  std::uint32_t count = 0;                     // slices, including empty ones
  std::vector<ActivitySlice> slices;           // ascending, without empty slices
  std::vector<DeviceActivity> by_device = {};  // if there are several devices, at most kMaxDevices

  bool empty() const { return slices.empty(); }
};

struct OverviewProcess {
  std::int32_t pid = 0;
  std::string program;
  std::string state;  // as in ProcessReport
  std::string reason;
  std::uint64_t seen = 0;
  std::uint64_t kept = 0;
  std::uint64_t dropped = 0;
  std::uint64_t captured = 0;
};

struct TimelinePoint {
  double elapsed_s = 0.0;
  std::uint64_t observed = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t captured = 0;
  std::uint64_t captured_duration_ns = 0;
  std::uint64_t clusters_open = 0;
  double bound = 0.0;  // NaN if not yet known
  std::uint64_t dropped = 0;
};

// OverviewTotals describes the session as a whole.
struct OverviewTotals {
  static constexpr std::size_t kMaxPoints = 512;

  std::string tool;
  std::string mode;  // live, replay, gate or merged
  bool ended = false;
  std::int32_t pid = 0;  // pid of the collector, or 0
  std::uint64_t started_unix_ms = 0;
  double elapsed_s = 0.0;
  std::uint32_t period_ms = 0;  // time until the next overview is written
  std::vector<std::string> command;
  double error_bound = 0.0;
  double confidence = 0.0;
  std::string level;
  std::string actuator;

  std::uint64_t seen = 0;
  std::uint64_t kept = 0;
  std::uint64_t dropped = 0;
  std::uint64_t gaps = 0;
  std::vector<std::pair<std::string, std::uint64_t>> losses;  // without zeros
  std::string recording;                                      // off or counting; empty: on
  std::uint32_t window = 0;       // number of the present window; 0: the run has none
  bool has_stayed_bound = false;  // the bound is met and has stayed met

  std::uint64_t observed = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t captured = 0;
  std::uint64_t captured_duration_ns = 0;
  std::uint64_t kernels_known = 0;
  std::uint64_t clusters_open = 0;
  std::uint64_t clusters_closed = 0;
  double bound = 0.0;  // NaN if not yet known
  // The certified bound, if the session has ended and its bound is the observed error. Otherwise
  // NaN.
  double certified_bound = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t slowed = 0;
  std::uint64_t zero_duration = 0;
  std::uint64_t excluded = 0;
  std::uint64_t excluded_duration_ns = 0;
  std::vector<TimelinePoint> timeline;  // ascending, at most kMaxPoints
  Activity activity;
};

struct Overview : OverviewTotals {
  static constexpr std::size_t kMaxKernels = 4096;
  static constexpr std::size_t kMaxBins = 64;
  static constexpr std::size_t kMaxSlices = 64;
  static constexpr std::size_t kMaxSlicedKernels = 256;

  std::vector<OverviewProcess> processes;
  std::uint64_t slices_start_ns = 0;
  std::uint64_t slices_width_ns = 0;  // 0 if there are no slices
  std::uint32_t slices = 0;
  std::vector<OverviewKernel> kernels;  // by duration, descending, at most kMaxKernels
};

// Adds all counters of `more` to `sum`. Sums that exceed 64 bits stay at the maximum.
void AddCounters(const OverviewTotals& more, OverviewTotals& sum);
void AddCounters(const TimelinePoint& more, TimelinePoint& sum);

struct PlanTotals;

// Copies the bounds of the plan to the overview of a session that has ended. The bounds are NaN if
// nothing was recorded.
void TakeBounds(const PlanTotals& totals, OverviewTotals& overview);

// Returns the content of overview.json, which ends in a newline.
std::string OverviewToJson(const Overview& overview);

}  // namespace stemtap::model
