// SPDX-License-Identifier: Apache-2.0
//
// Names and descriptions of the Prometheus metrics of a live session, in the order in which they
// are served. Counters, and only they, end in _total. docs/formats/prometheus.md describes them
// for users.
#pragma once

namespace stemtap::session {

// The content type of Prometheus' text format.
inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

struct MetricText {
  const char* name;
  const char* help;
};

inline constexpr MetricText kBuildInfo = {"stemtap_build_info",
                                          "Version of stemtap; the value is 1."};
inline constexpr MetricText kRecordingEnabled = {
    "stemtap_recording_enabled", "1 if launches are recorded now, 0 if recording is off."};
inline constexpr MetricText kProcessesRecording = {"stemtap_processes_recording",
                                                   "Processes that record now."};
inline constexpr MetricText kWindow = {
    "stemtap_window", "Number of the present window of --window, from 1; 0 without it."};
inline constexpr MetricText kLaunchesSeen = {
    "stemtap_launches_seen_total",
    "Records of kernel launches that the processes received, including dropped ones."};
inline constexpr MetricText kLaunchesObserved = {
    "stemtap_launches_observed_total",
    "Launches in the statistics, without launches of excluded kernels."};
inline constexpr MetricText kLaunchesExcluded = {"stemtap_launches_excluded_total",
                                                 "Launches of kernels that --exclude leaves out."};
inline constexpr MetricText kLaunchesUnobserved = {
    "stemtap_launches_unobserved_total",
    "Launches that were counted but not recorded, because recording was off or the program had "
    "paused it."};
inline constexpr MetricText kLaunchesDropped = {"stemtap_launches_dropped_total",
                                                "Records that were lost, by reason."};
inline constexpr MetricText kGaps = {"stemtap_gaps_total",
                                     "Times at which an unknown number of records was lost."};
inline constexpr MetricText kLimits = {
    "stemtap_limits_total", "Names, captures and ranges that were cut or refused, by reason."};
inline constexpr MetricText kGpuSeconds = {"stemtap_gpu_seconds_total",
                                           "Sum of the durations of observed launches."};
inline constexpr MetricText kGpuExcludedSeconds = {"stemtap_gpu_excluded_seconds_total",
                                                   "Sum of the durations of excluded launches."};
inline constexpr MetricText kGpuBusySeconds = {
    "stemtap_gpu_busy_seconds_total",
    "Time in which at least one kernel of the process ran on the device."};
inline constexpr MetricText kLaunchesCaptured = {"stemtap_launches_captured_total",
                                                 "Launches that were captured."};
inline constexpr MetricText kCapturedGpuSeconds = {"stemtap_captured_gpu_seconds_total",
                                                   "Sum of the durations of captured launches."};
inline constexpr MetricText kErrorBoundRatio = {
    "stemtap_error_bound_ratio",
    "Error bound of the captures of the present window; absent until it is known."};
inline constexpr MetricText kErrorBoundRequestedRatio = {"stemtap_error_bound_requested_ratio",
                                                         "Requested error bound."};
inline constexpr MetricText kKernels = {"stemtap_kernels", "Kernels in the present window."};
inline constexpr MetricText kClusters = {"stemtap_clusters",
                                         "Clusters in the present window, by state."};
inline constexpr MetricText kRecordingCostSeconds = {
    "stemtap_recording_cost_seconds_total",
    "Time that recording took in the traced processes: on the program's threads, and in the "
    "background."};
inline constexpr MetricText kCollectorCpuSeconds = {"stemtap_collector_cpu_seconds_total",
                                                    "CPU time of the collector."};
inline constexpr MetricText kKernelLaunches = {
    "stemtap_kernel_launches_total",
    "Observed launches of the kernels with the most time, and of all others."};
inline constexpr MetricText kKernelGpuSeconds = {
    "stemtap_kernel_gpu_seconds_total",
    "Sum of the durations of the kernels with the most time, and of all others."};

}  // namespace stemtap::session
