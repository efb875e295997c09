// SPDX-License-Identifier: Apache-2.0
#include "session/metrics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/prometheus_text.h"

namespace stemtap::session {
namespace {

using test::PrometheusText;
using test::ReadPrometheus;

constexpr std::uint64_t kSecond = 1'000'000'000;

// Adds a kernel to the overview and its launches to the totals. Kernels are listed by their time.
void AddKernel(const std::string& name, std::uint64_t launches, std::uint64_t duration_ns,
               model::Overview& overview, std::int32_t process = 0) {
  model::OverviewKernel kernel;
  kernel.name = name;
  kernel.process = process;
  kernel.invocations = launches;
  kernel.duration_ns = duration_ns;
  const auto at = std::ranges::find_if(overview.kernels, [&](const model::OverviewKernel& other) {
    return other.duration_ns < duration_ns;
  });
  overview.kernels.insert(at, std::move(kernel));
  overview.observed += launches;
  overview.duration_ns += duration_ns;
  overview.kernels_known = overview.kernels.size();
}

PrometheusText Updated(RunMetrics& metrics, const LiveFigures& figures) {
  metrics.Update(figures);
  return ReadPrometheus(metrics.Text(figures));
}
PrometheusText Updated(RunMetrics& metrics, const model::Overview& overview) {
  return Updated(metrics, LiveFigures{.overview = overview});
}

// Checks that no counter of `after` is smaller than in `before`, or missing.
void CheckMonotonic(const PrometheusText& before, const PrometheusText& after) {
  for (const auto& [series, value] : before.values) {
    const std::string name = series.substr(0, series.find('{'));
    if (after.types.at(name) != "counter") continue;
    CAPTURE(series);
    CHECK(after.Of(series) >= value);
  }
}

// Checks that the counters of the kernels are the totals.
void CheckSums(const PrometheusText& text) {
  CHECK(text.Sum("stemtap_kernel_launches_total") == text.Of("stemtap_launches_observed_total"));
  CHECK(text.Sum("stemtap_kernel_gpu_seconds_total") ==
        doctest::Approx(text.Of("stemtap_gpu_seconds_total")).epsilon(1e-12));
}

TEST_CASE("a session without a launch has metrics, each with a type and a description") {
  RunMetrics metrics;
  model::Overview overview;
  overview.bound = std::numeric_limits<double>::quiet_NaN();
  const PrometheusText text = Updated(metrics, overview);
  CHECK(text.Of("stemtap_launches_observed_total") == 0.0);
  CHECK(text.Of("stemtap_kernel_launches_total{kernel=\"other\"}") == 0.0);
  CHECK(text.Of("stemtap_launches_dropped_total{reason=\"ring_full\"}") == 0.0);
  CHECK_FALSE(text.Has("stemtap_error_bound_ratio"));  // not known
  for (const auto& [name, type] : text.types) {
    CAPTURE(name);
    CHECK(text.helps.contains(name));
    CHECK(name.starts_with("stemtap_"));
    CHECK((type == "counter") == name.ends_with("_total"));
  }
  CHECK(text.helps.size() == text.types.size());
}

TEST_CASE("metrics are the figures of the session") {
  RunMetrics metrics;
  model::Overview overview;
  AddKernel("a", 100, 3 * kSecond, overview);
  overview.captured = 7;
  overview.captured_duration_ns = kSecond / 2;
  overview.bound = 0.04;
  overview.error_bound = 0.05;
  overview.clusters_open = 2;
  overview.clusters_closed = 5;
  overview.excluded = 11;
  LiveFigures figures = {.overview = overview};
  ProcessReport process;
  process.pid = 42;
  process.seen = 114;
  process.malformed = 1;
  process.losses[0] = 2;
  process.losses[shm::kRecordLossCount] = 3;
  process.losses[shm::kGapLossEnd] = 4;
  process.paused = 5;
  process.cost_program_ns = kSecond;
  process.cost_background_ns = 2 * kSecond;
  figures.processes = {process, process};
  figures.devices.resize(2);
  figures.devices[0].busy_ns = kSecond;
  figures.devices[1].process = 1;  // another image of the process
  figures.devices[1].busy_ns = 2 * kSecond;
  figures.counted = 9;
  figures.is_recording = false;
  figures.recording_processes = 1;
  figures.window = 3;
  figures.collector_cpu_s = 1.5;
  const PrometheusText text = Updated(metrics, figures);
  for (const auto& [series, value] : std::vector<std::pair<std::string, double>>{
           {"stemtap_launches_seen_total", 228.0},
           {"stemtap_launches_observed_total", 100.0},
           {"stemtap_launches_excluded_total", 11.0},
           {"stemtap_launches_captured_total", 7.0},
           {"stemtap_launches_unobserved_total{reason=\"off\"}", 9.0},
           {"stemtap_launches_unobserved_total{reason=\"paused\"}", 10.0},
           {"stemtap_launches_dropped_total{reason=\"ring_full\"}", 4.0},
           {"stemtap_launches_dropped_total{reason=\"malformed\"}", 2.0},
           {"stemtap_gaps_total{reason=\"pool_exhausted\"}", 6.0},
           {"stemtap_limits_total{reason=\"names_cut\"}", 8.0},
           {"stemtap_gpu_seconds_total", 3.0},
           {"stemtap_captured_gpu_seconds_total", 0.5},
           {"stemtap_gpu_busy_seconds_total{pid=\"42\",device=\"0\"}", 3.0},
           {"stemtap_error_bound_ratio", 0.04},
           {"stemtap_error_bound_requested_ratio", 0.05},
           {"stemtap_kernels", 1.0},
           {"stemtap_clusters{state=\"open\"}", 2.0},
           {"stemtap_clusters{state=\"closed\"}", 5.0},
           {"stemtap_recording_enabled", 0.0},
           {"stemtap_processes_recording", 1.0},
           {"stemtap_window", 3.0},
           {"stemtap_recording_cost_seconds_total{threads=\"program\"}", 2.0},
           {"stemtap_recording_cost_seconds_total{threads=\"background\"}", 4.0},
           {"stemtap_collector_cpu_seconds_total", 1.5},
           {"stemtap_kernel_launches_total{kernel=\"a\"}", 100.0},
           {"stemtap_kernel_gpu_seconds_total{kernel=\"a\"}", 3.0}}) {
    CAPTURE(series);
    CHECK(text.Of(series) == value);
  }
}

TEST_CASE("every loss has a series") {
  RunMetrics metrics;
  const model::Overview overview;
  const PrometheusText text = Updated(metrics, overview);
  std::size_t series = 0;
  for (const char* name : shm::kLossNames) {
    CAPTURE(name);
    const std::string label = std::string("{reason=\"") + name + "\"}";
    const bool is_listed = text.Has("stemtap_launches_dropped_total" + label) ||
                           text.Has("stemtap_gaps_total" + label) ||
                           text.Has("stemtap_limits_total" + label);
    CHECK(is_listed);
    series += is_listed;
  }
  CHECK(series == shm::kLossCount);
}

TEST_CASE("counters of windows add up, and gauges are of the present window") {
  RunMetrics metrics;
  model::Overview first;
  AddKernel("a", 10, 10 * kSecond, first);
  AddKernel("b", 4, kSecond, first);
  first.captured = 3;
  first.captured_duration_ns = kSecond;
  LiveFigures figures = {.overview = first, .devices = std::vector<DeviceTotals>(1)};
  figures.devices[0].busy_ns = 5 * kSecond;
  const PrometheusText at_end = Updated(metrics, figures);
  metrics.EndWindow();

  const model::Overview none;
  const PrometheusText begun = Updated(metrics, none);
  CheckMonotonic(at_end, begun);
  CheckSums(begun);
  CHECK(begun.Of("stemtap_launches_observed_total") == 14.0);
  CHECK(begun.Of("stemtap_kernels") == 0.0);

  model::Overview second;
  AddKernel("a", 5, kSecond, second);  // fewer than in the first window
  AddKernel("c", 2, 2 * kSecond, second);
  second.captured = 1;
  LiveFigures later = {.overview = second, .devices = figures.devices};
  const PrometheusText text = Updated(metrics, later);
  CheckMonotonic(begun, text);
  CheckSums(text);
  CHECK(text.Of("stemtap_launches_observed_total") == 21.0);
  CHECK(text.Of("stemtap_gpu_seconds_total") == 14.0);
  CHECK(text.Of("stemtap_launches_captured_total") == 4.0);
  CHECK(text.Of("stemtap_kernel_launches_total{kernel=\"a\"}") == 15.0);
  CHECK(text.Of("stemtap_kernel_launches_total{kernel=\"b\"}") == 4.0);
  CHECK(text.Of("stemtap_kernel_launches_total{kernel=\"c\"}") == 2.0);
  CHECK(text.Of("stemtap_gpu_busy_seconds_total{pid=\"0\",device=\"0\"}") == 10.0);
  CHECK(text.Of("stemtap_kernels") == 2.0);
}

TEST_CASE("counters do not decrease if a figure does") {
  RunMetrics metrics;
  model::Overview overview;
  AddKernel("a", 10, 10 * kSecond, overview);
  LiveFigures figures = {.overview = overview, .processes = std::vector<ProcessReport>(1)};
  figures.processes[0].seen = 12;
  const PrometheusText before = Updated(metrics, figures);
  // Imputed durations became shorter, and the last report counts less.
  overview.duration_ns = overview.kernels[0].duration_ns = 9 * kSecond;
  figures.processes[0].seen = 11;
  const PrometheusText after = Updated(metrics, figures);
  CheckMonotonic(before, after);
  CheckSums(after);
}

std::string KernelName(std::size_t number) {
  return "kernel_" + std::to_string(number);
}
std::string LaunchesOf(std::size_t number) {
  return "stemtap_kernel_launches_total{kernel=\"" + KernelName(number) + "\"}";
}

TEST_CASE("the kernels with the most time are listed, and stay listed") {
  RunMetrics metrics;
  constexpr std::size_t kKernels = 120;
  // The ranking rotates: each step, other kernels have the most time.
  std::vector<std::uint64_t> launches(kKernels, 1);
  PrometheusText before;
  for (std::size_t step = 0; step < 30; ++step) {
    for (std::size_t i = 0; i < 20; ++i) launches[(step * 20 + i) % kKernels] += 100 * (step + 1);
    model::Overview overview;
    for (std::size_t i = 0; i < kKernels; ++i) {
      AddKernel(KernelName(i), launches[i], launches[i] * kSecond, overview);
    }
    const PrometheusText text = Updated(metrics, overview);
    CheckMonotonic(before, text);
    CheckSums(text);
    if (step == 0) {
      CHECK(text.Has(LaunchesOf(0)));
      CHECK_FALSE(text.Has(LaunchesOf(kKernels - 1)));
    }
    before = text;
  }
  CHECK(before.Has(LaunchesOf(kKernels - 1)));
  // A kernel that was listed at once has all of its launches.
  CHECK(before.Of(LaunchesOf(0)) == static_cast<double>(launches[0]));
  // The launches that were reported as part of the others stay there.
  CHECK(before.Of(LaunchesOf(kKernels - 1)) < static_cast<double>(launches[kKernels - 1]));
}

TEST_CASE("the number of listed kernels is bounded, and no launch is lost") {
  RunMetrics metrics;
  PrometheusText before;
  // Each window has other kernels.
  for (std::size_t window = 0; window < 10; ++window) {
    model::Overview overview;
    for (std::size_t i = 0; i < 60; ++i) {
      AddKernel(KernelName(window * 100 + i), 1 + i, (1 + i) * kSecond, overview);
    }
    const PrometheusText text = Updated(metrics, overview);
    metrics.EndWindow();
    CheckMonotonic(before, text);
    CheckSums(text);
    before = text;
  }
  std::size_t listed = 0;
  for (const auto& [series, value] : before.values) {
    listed += series.starts_with("stemtap_kernel_launches_total{");
  }
  CHECK(listed == KernelCounters::kMaxListed + 1);
}

TEST_CASE("counters do not decrease if the overview lists only a part of the kernels") {
  RunMetrics metrics;
  PrometheusText before;
  for (std::size_t step = 0; step < 4; ++step) {
    model::Overview overview;
    for (std::size_t i = 0; i < model::Overview::kMaxKernels; ++i) {
      model::OverviewKernel kernel;
      kernel.name = KernelName(step * 3000 + i);
      kernel.invocations = model::Overview::kMaxKernels - i;
      kernel.duration_ns = kernel.invocations * kSecond;
      overview.kernels.push_back(std::move(kernel));
    }
    overview.observed = (step + 1) * 20'000'000;
    overview.duration_ns = (step + 1) * 20'000'000 * kSecond;
    const PrometheusText text = Updated(metrics, overview);
    CheckMonotonic(before, text);
    CheckSums(text);
    before = text;
  }
}

TEST_CASE("labels of kernels are short, unique, stable, and valid for any name") {
  RunMetrics metrics;
  model::Overview overview;
  AddKernel("void ns::scale<4, ns::Add<float> >(float*)", 9, 9 * kSecond, overview);
  AddKernel("quote\"back\\slash\nline", 8, 8 * kSecond, overview);
  AddKernel("bad\xff\xfe_utf8", 7, 7 * kSecond, overview);
  AddKernel(std::string(5000, 'x') + "1", 6, 6 * kSecond, overview);
  AddKernel(std::string(5000, 'x') + "2", 5, 5 * kSecond, overview);
  AddKernel("other", 4, 4 * kSecond, overview);
  AddKernel("mine", 3, 3 * kSecond, overview, 17);
  AddKernel("mine", 2, 2 * kSecond, overview, 18);
  const PrometheusText before = Updated(metrics, overview);
  const auto has = [](const PrometheusText& text, const std::string& label, double launches) {
    CAPTURE(label);
    CHECK(text.Of("stemtap_kernel_launches_total{kernel=\"" + label + "\"}") == launches);
  };
  has(before, "scale<4, Add<float> >", 9);
  has(before, R"(quote\"back\\slash\\x0Aline)", 8);
  has(before, R"(bad\\xFF\\xFE_utf8)", 7);
  const std::string cut = std::string(KernelCounters::kMaxLabelBytes - 3, 'x') + "...";
  has(before, cut, 6);
  has(before, cut + " (2)", 5);
  has(before, "other (2)", 4);
  has(before, "other", 0);
  has(before, "mine process 17", 3);
  has(before, "mine process 18", 2);

  // A kernel whose brief name is the same must not change labels that are in use.
  AddKernel("void elsewhere::scale<4, elsewhere::Add<float> >(float*)", 1, kSecond, overview);
  const PrometheusText after = Updated(metrics, overview);
  CheckMonotonic(before, after);
  CheckSums(after);
  CHECK(after.values.size() == before.values.size() + 2);
}

TEST_CASE("the number of devices is bounded") {
  RunMetrics metrics;
  const model::Overview overview;
  LiveFigures figures = {.overview = overview,
                         .devices = std::vector<DeviceTotals>(100),
                         .processes = std::vector<ProcessReport>(100)};
  for (std::uint16_t i = 0; i < 100; ++i) {
    figures.processes[i].pid = 1000 + i;
    figures.devices[i].process = i;
    figures.devices[i].device = i == 0 ? shm::kUnknown16 : std::uint16_t{0};
    figures.devices[i].busy_ns = kSecond;
  }
  const PrometheusText text = Updated(metrics, figures);
  CHECK(text.Of("stemtap_gpu_busy_seconds_total{pid=\"1000\",device=\"unknown\"}") == 1.0);
  CHECK(text.Of("stemtap_gpu_busy_seconds_total{pid=\"other\",device=\"other\"}") == 36.0);
  CHECK(text.Sum("stemtap_gpu_busy_seconds_total") == 100.0);
}

}  // namespace
}  // namespace stemtap::session
