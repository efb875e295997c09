// SPDX-License-Identifier: Apache-2.0
#include "session/metrics.h"

#include <fmt/format.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cmath>
#include <string_view>

#include "base/text.h"
#include "model/brief_name.h"
#include "model/kernel_id.h"
#include "session/metric_texts.h"
#include "shm/record.h"
#include "stemtap/version.h"

namespace stemtap::session {
namespace {

using Label = prometheus::ClientMetric::Label;

double Seconds(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

std::uint64_t Less(std::uint64_t from, std::uint64_t less) {
  return from - std::min(from, less);
}

// Metrics collects the families in the order in which they are added.
class Metrics {
 public:
  // Begins a metric. Add adds its values.
  Metrics& Begin(const MetricText& metric) {
    const bool is_counter = std::string_view(metric.name).ends_with("_total");
    families_.push_back(
        {metric.name,
         metric.help,
         is_counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge,
         {}});
    return *this;
  }

  Metrics& Add(double value, std::vector<Label> labels = {}) {
    prometheus::MetricFamily& family = families_.back();
    prometheus::ClientMetric& metric = family.metric.emplace_back();
    metric.label = std::move(labels);
    (family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) =
        value;
    return *this;
  }
  Metrics& Add(std::uint64_t value, std::vector<Label> labels = {}) {
    return Add(static_cast<double>(value), std::move(labels));
  }

  std::string Text() const {
    return static_cast<const prometheus::Serializer&>(prometheus::TextSerializer())
        .Serialize(families_);
  }

 private:
  std::vector<prometheus::MetricFamily> families_;
};

std::string DeviceName(std::uint16_t device) {
  return device == shm::kUnknown16 ? "unknown" : std::to_string(device);
}

}  // namespace

KernelCounters::Known* KernelCounters::Find(const model::OverviewKernel& kernel) {
  const std::uint64_t key = model::KernelIdHash()(kernel);
  const auto found = known_.find(key);
  if (found != known_.end()) return &found->second;
  if (known_.size() >= kMaxKnown) return nullptr;
  Known& known = known_[key];
  // Its launches may be in the totals that were reported while the overview did not list it.
  if (is_partial_) known.as_other = {kernel.invocations, kernel.duration_ns};
  return &known;
}

// Different kernels may have the same brief name: it depends on the kernels that are known.
std::string KernelCounters::NewLabel(const model::KernelId& kernel, const std::string& brief_name) {
  model::KernelId brief = kernel;
  brief.name = brief_name;
  const std::string label = ShortText(model::KernelLabel(brief), kMaxLabelBytes);
  std::string unique = label;
  for (int number = 2; !labels_.insert(unique).second; ++number) {
    unique = fmt::format("{} ({})", label, number);
  }
  return unique;
}

void KernelCounters::Update(const model::Overview& overview, const Counts& total) {
  std::vector<std::string> brief_names;  // of all kernels, if one is listed
  for (std::size_t i = 0; i < overview.kernels.size(); ++i) {
    const model::OverviewKernel& kernel = overview.kernels[i];
    Known* known = Find(kernel);
    if (known == nullptr) continue;
    if (known->listed == kNone && i < kTopKernels && listed_.size() < kMaxListed) {
      if (brief_names.empty()) {
        std::vector<std::string_view> names;
        for (const model::OverviewKernel& k : overview.kernels) names.push_back(k.name);
        brief_names = model::BriefNames(names);
      }
      known->listed = listed_.size();
      listed_.push_back({NewLabel(kernel, brief_names[i]), {}});
    }
    known->launches.Set(kernel.invocations);
    known->duration_ns.Set(kernel.duration_ns);
    const Counts now = {known->launches.value(), known->duration_ns.value()};
    if (known->listed == kNone) {
      known->as_other = now;
      continue;
    }
    listed_[known->listed].counts = {Less(now.launches, known->as_other.launches),
                                     Less(now.duration_ns, known->as_other.duration_ns)};
  }
  Counts rest = total;
  for (const Listed& listed : listed_) {
    rest.launches = Less(rest.launches, listed.counts.launches);
    rest.duration_ns = Less(rest.duration_ns, listed.counts.duration_ns);
  }
  other_.launches = std::max(other_.launches, rest.launches);
  other_.duration_ns = std::max(other_.duration_ns, rest.duration_ns);
  is_partial_ = overview.kernels.size() >= model::Overview::kMaxKernels;
}

void KernelCounters::EndWindow() {
  for (auto& [key, known] : known_) {
    known.launches.EndWindow();
    known.duration_ns.EndWindow();
  }
}

void RunMetrics::UpdateDevices(const LiveFigures& figures) {
  std::map<DeviceKey, std::uint64_t> busy_ns;  // a process may have had several images (exec)
  for (const DeviceTotals& device : figures.devices) {
    const std::int32_t pid =
        device.process < figures.processes.size() ? figures.processes[device.process].pid : 0;
    busy_ns[{pid, device.device}] += device.busy_ns;
  }
  std::uint64_t others_ns = 0;
  for (const auto& [key, ns] : busy_ns) {
    if (devices_.size() < kMaxDevices || devices_.contains(key)) {
      devices_[key].Set(ns);
    } else {
      others_ns += ns;
    }
  }
  other_devices_.Set(others_ns);
}

void RunMetrics::UpdateProcesses(const std::vector<ProcessReport>& processes) {
  ProcessReport sum;
  sum.state = ProcessState::kDisabled;
  for (const ProcessReport& process : processes) AddProcess(process, sum);
  seen_.Set(sum.seen);
  malformed_.Set(sum.malformed);
  for (std::uint32_t i = 0; i < shm::kLossCount; ++i) losses_[i].Set(sum.losses[i]);
  paused_.Set(sum.paused);
  cost_program_ns_.Set(sum.cost_program_ns);
  cost_background_ns_.Set(sum.cost_background_ns);
}

void RunMetrics::Update(const LiveFigures& figures) {
  const model::Overview& overview = figures.overview;
  observed_.Set(overview.observed);
  duration_ns_.Set(overview.duration_ns);
  captured_.Set(overview.captured);
  captured_duration_ns_.Set(overview.captured_duration_ns);
  excluded_.Set(overview.excluded);
  excluded_duration_ns_.Set(overview.excluded_duration_ns);
  UpdateProcesses(figures.processes);
  UpdateDevices(figures);
  kernels_.Update(overview, {observed_.value(), duration_ns_.value()});
}

void RunMetrics::EndWindow() {
  for (RunCounter* counter : {&observed_, &duration_ns_, &captured_, &captured_duration_ns_,
                              &excluded_, &excluded_duration_ns_, &other_devices_}) {
    counter->EndWindow();
  }
  for (auto& [key, busy] : devices_) busy.EndWindow();
  kernels_.EndWindow();
}

std::string RunMetrics::Text(const LiveFigures& figures) const {
  const model::Overview& overview = figures.overview;
  Metrics out;
  out.Begin(kBuildInfo).Add(1.0, {{"version", kVersion}});
  out.Begin(kRecordingEnabled).Add(figures.is_recording ? 1.0 : 0.0);
  out.Begin(kProcessesRecording).Add(std::uint64_t{figures.recording_processes});
  out.Begin(kWindow).Add(std::uint64_t{figures.window});

  out.Begin(kLaunchesSeen).Add(seen_.value());
  out.Begin(kLaunchesObserved).Add(observed_.value());
  out.Begin(kLaunchesExcluded).Add(excluded_.value());
  out.Begin(kLaunchesUnobserved)
      .Add(figures.counted, {{"reason", "off"}})
      .Add(paused_.value(), {{"reason", "paused"}});
  out.Begin(kLaunchesDropped);
  for (std::uint32_t i = 0; i < shm::kRecordLossCount; ++i) {
    out.Add(losses_[i].value(), {{"reason", shm::kLossNames[i]}});
  }
  out.Add(malformed_.value(), {{"reason", "malformed"}});
  out.Begin(kGaps);
  for (std::uint32_t i = shm::kRecordLossCount; i < shm::kGapLossEnd; ++i) {
    out.Add(losses_[i].value(), {{"reason", shm::kLossNames[i]}});
  }
  out.Begin(kLimits);
  for (std::uint32_t i = shm::kGapLossEnd; i < shm::kLossCount; ++i) {
    out.Add(losses_[i].value(), {{"reason", shm::kLossNames[i]}});
  }

  out.Begin(kGpuSeconds).Add(Seconds(duration_ns_.value()));
  out.Begin(kGpuExcludedSeconds).Add(Seconds(excluded_duration_ns_.value()));
  out.Begin(kGpuBusySeconds);
  for (const auto& [key, busy] : devices_) {
    out.Add(Seconds(busy.value()),
            {{"pid", std::to_string(key.first)}, {"device", DeviceName(key.second)}});
  }
  if (other_devices_.value() != 0) {
    out.Add(Seconds(other_devices_.value()), {{"pid", "other"}, {"device", "other"}});
  }

  out.Begin(kLaunchesCaptured).Add(captured_.value());
  out.Begin(kCapturedGpuSeconds).Add(Seconds(captured_duration_ns_.value()));
  out.Begin(kErrorBoundRatio);
  if (std::isfinite(overview.bound) && overview.observed != 0) out.Add(overview.bound);
  out.Begin(kErrorBoundRequestedRatio).Add(overview.error_bound);
  out.Begin(kKernels).Add(overview.kernels_known);
  out.Begin(kClusters)
      .Add(overview.clusters_open, {{"state", "open"}})
      .Add(overview.clusters_closed, {{"state", "closed"}});

  out.Begin(kRecordingCostSeconds)
      .Add(Seconds(cost_program_ns_.value()), {{"threads", "program"}})
      .Add(Seconds(cost_background_ns_.value()), {{"threads", "background"}});
  out.Begin(kCollectorCpuSeconds).Add(figures.collector_cpu_s);

  out.Begin(kKernelLaunches);
  for (const KernelCounters::Listed& kernel : kernels_.listed()) {
    out.Add(kernel.counts.launches, {{"kernel", kernel.label}});
  }
  out.Add(kernels_.other().launches, {{"kernel", KernelCounters::kOther}});
  out.Begin(kKernelGpuSeconds);
  for (const KernelCounters::Listed& kernel : kernels_.listed()) {
    out.Add(Seconds(kernel.counts.duration_ns), {{"kernel", kernel.label}});
  }
  out.Add(Seconds(kernels_.other().duration_ns), {{"kernel", KernelCounters::kOther}});
  return out.Text();
}

}  // namespace stemtap::session
