// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/text.h"
#include "model/completeness.h"
#include "model/graph_launches.h"
#include "model/kernel_groups.h"
#include "model/plan_summary.h"
#include "online/overview_parts.h"
#include "shm/session_env.h"
#include "stemtap/version.h"

namespace stemtap::session {

namespace {

// Removes overviews that could neither be written nor removed, for example on a full disk.
void RemoveUnfinishedOverviews(const Directory& directory) {
  const std::string temporary = std::string(kOverviewFileName) + ".tmp.";
  std::vector<std::string> leftovers;
  directory.ForEach([&](const std::string& name, ino_t) {
    if (name.starts_with(temporary)) leftovers.push_back(name);
  });
  for (const std::string& name : leftovers) directory.Remove(name);
}

}  // namespace

SessionBuilder::SessionBuilder(SessionSetup setup, std::optional<Directory> directory)
    : setup_(std::move(setup)),
      directory_(std::move(directory)),
      timeline_([this] { return elapsed_s(); }) {
  if (directory_) overview_.emplace(*directory_, [this](model::Overview& o) { Describe(o); });
}

Result<std::unique_ptr<SessionBuilder>> SessionBuilder::Open(SessionSetup setup) {
  const Result<model::KernelGroups> groups =
      model::KernelGroups::Create(setup.sampling.group_by, setup.sampling.exclude);
  if (!groups.ok()) return groups.error();
  std::optional<Directory> directory;
  if (!setup.directory.empty()) {
    Result<Directory> claimed = ClaimSession(setup.directory, setup.place);
    if (!claimed.ok()) return claimed.error();
    directory = std::move(claimed).value();
  }
  return std::unique_ptr<SessionBuilder>(
      new SessionBuilder(std::move(setup), std::move(directory)));
}

Status SessionBuilder::Begin(Engine& engine, std::function<void(model::Overview&)> details) {
  engine_ = &engine;
  engine.AddObserver(mask_);
  engine.AddObserver(timeline_);
  details_ = std::move(details);
  if (!directory_) return Success{};
  Result<MaskWriter> mask = MaskWriter::Open(directory_->OpenForWriting(shm::kMaskFileName),
                                             directory_->PathOf(shm::kMaskFileName));
  if (!mask.ok()) {
    Discard();
    return mask.error();
  }
  mask_ = std::move(mask).value();
  return Success{};
}

void SessionBuilder::Describe(model::Overview& overview) const {
  overview.mode = NameOf(setup_.mode);
  // A replay is not a process that `stemtap top` can check.
  if (setup_.mode != SessionMode::kReplay) overview.pid = ::getpid();
  overview.started_unix_ms = started_unix_ms_;
  overview.elapsed_s = elapsed_s();
  overview.command = setup_.command;
  overview.error_bound = setup_.sampling.error_bound;
  overview.confidence = setup_.sampling.confidence;
  overview.timeline = timeline_.points();
  engine_->Describe(overview);
  if (details_) details_(overview);
  if (end_) end_(overview);
}

SessionReport SessionBuilder::Report() const {
  SessionReport report;
  report.mode = setup_.mode;
  report.command = setup_.command;
  report.options = setup_.listed;
  report.elapsed_s = elapsed_s();
  report.sampler = engine_->status();
  return report;
}

Status SessionBuilder::Finish(SessionReport& report, model::Plan& plan) {
  plan.options = setup_.listed;
  AddLosses(report, plan);
  if (!directory_) return Success{};
  // The last overview may reuse the mask's descriptor, if there are few.
  if (const Status mask = mask_.Close(); !mask.ok()) {
    report.incomplete.push_back(mask.error().message);
  }
  report.mask_events_missing = mask_.missing();
  timeline_.SetDropped(plan.totals.dropped);
  timeline_.End(engine_->status());
  end_ = [&](model::Overview& overview) { EndOverview(report, plan, overview); };
  overview_->Write();
  end_ = nullptr;
  if (const std::string warning = overview_->Warning(); !warning.empty()) {
    (overview_->is_current() ? report.warnings : report.incomplete).push_back(warning);
  }
  report.warnings.insert(report.warnings.end(), report.incomplete.begin(), report.incomplete.end());
  const Status written =
      WriteResults(*directory_, plan, SessionToJson(report, plan), SessionSummary(report, plan));
  RemoveUnfinishedOverviews(*directory_);
  return written;
}

void SessionBuilder::Discard() {
  if (!directory_) return;
  directory_->Remove(shm::kMaskFileName);
  if (setup_.place == SessionPlace::kExisting) return;
  directory_->Remove(shm::kGateFileName);
  directory_->RemoveSelf();
}

namespace {

// Returns the counts that session.json and the last overview share.
SessionCounts CountSession(const SessionReport& report, const model::Plan& plan) {
  SessionCounts counts = CountProcesses(report.processes);
  counts.kept = report.sampler.observed + plan.totals.excluded_invocations;
  counts.dropped = plan.totals.dropped;
  if (report.processes.empty()) counts.seen = counts.kept + counts.dropped;
  return counts;
}

model::SessionHost ThisHost() {
  utsname host{};
  uname(&host);
  return {host.nodename, fmt::format("{} {}", host.sysname, host.release), host.machine,
          std::thread::hardware_concurrency()};
}

model::SessionCounters Counters(const SessionReport& report, const model::Plan& plan) {
  const online::SamplerStatus& s = report.sampler;
  model::SessionCounters counters = {CountSession(report, plan)};
  counters.gaps = plan.totals.gaps;
  counters.captured = s.captured;
  counters.captured_duration_ns = s.captured_duration_ns;
  counters.zero_duration = s.zero_duration;
  counters.slowed = s.perturbed;
  counters.slowed_beside = s.perturbed_uncaptured;
  counters.native_unknown = plan.totals.native_unknown;
  counters.contexts_refused = s.contexts_refused;
  counters.slots_refused = s.slots_refused;
  counters.mask_events_missing = report.mask_events_missing;
  return counters;
}

}  // namespace

void AddProcess(const ProcessReport& process, ProcessReport& sum) {
  using P = ProcessReport;
  for (const auto count :
       {&P::seen, &P::kept, &P::skipped, &P::read, &P::late, &P::malformed, &P::launches_gated,
        &P::launches_captured, &P::launches_failed, &P::launches_added, &P::graph_records,
        &P::paused, &P::buffers, &P::cost_program_ns, &P::cost_background_ns, &P::cost_cupti_ns}) {
    sum.*count += process.*count;
  }
  for (std::uint32_t i = 0; i < shm::kLossCount; ++i) sum.losses[i] += process.losses[i];
  if (process.state == ProcessState::kRecording || sum.state == ProcessState::kDisabled) {
    sum.state = process.state;
    sum.reason = process.state == ProcessState::kDisabled ? process.reason : "";
  }
}

SessionCounts CountProcesses(std::span<const ProcessReport> processes) {
  SessionCounts counts;
  for (const ProcessReport& p : processes) {
    counts.seen += p.seen;
    counts.kept += p.kept - std::min(p.kept, p.malformed);
    counts.dropped += p.dropped();
    counts.gaps += p.gaps();
    counts.paused += p.paused;
    for (std::uint32_t i = 0; i < shm::kLossCount; ++i) counts.losses[i] += p.losses[i];
  }
  return counts;
}

void AddLosses(const SessionReport& report, model::Plan& plan) {
  for (const ProcessReport& p : report.processes) {
    plan.totals.dropped += p.dropped();
    plan.totals.gaps += p.gaps();
  }
}

void SetCounts(const SessionCounts& counts, model::Overview& overview) {
  overview.tool = fmt::format("stemtap {}", kVersion);
  overview.seen = counts.seen;
  overview.kept = counts.kept;
  overview.dropped = counts.dropped;
  overview.gaps = counts.gaps;
  overview.losses.clear();
  for (std::uint32_t i = 0; i < shm::kLossCount; ++i) {
    if (counts.losses[i] != 0) overview.losses.emplace_back(shm::kLossNames[i], counts.losses[i]);
  }
}

void EndOverview(const SessionReport& report, const model::Plan& plan, model::Overview& overview) {
  SetCounts(CountSession(report, plan), overview);
  overview.ended = true;
  overview.elapsed_s = report.elapsed_s;
  online::TakeClusters(plan, overview);
}

std::string SessionToJson(const SessionReport& report, const model::Plan& plan) {
  model::RecordedSession session;
  session.tool = fmt::format("stemtap {}", kVersion);
  session.mode = NameOf(report.mode);
  session.command = report.command;
  session.options = report.options;
  session.host = ThisHost();
  session.elapsed_s = report.elapsed_s;
  session.exit_code = report.exit_code;
  session.signal = report.signal;
  session.counters = Counters(report, plan);
  session.completeness = model::CompletenessLine(report.processes);
  session.processes = report.processes;
  session.devices = report.devices;
  for (DeviceTotals& device : session.devices) {
    if (device.process < report.processes.size()) device.pid = report.processes[device.process].pid;
  }
  session.warnings = report.warnings;
  return model::SessionToJson(session);
}

namespace {

// Maximum devices with a line in the summary; session.json contains all.
constexpr std::size_t kMaxDevices = 16;

// "device 0: busy 91.20 % of 12.345 s, 3 streams, 1.42 concurrent kernels on average"
std::string DeviceLine(const DeviceTotals& d, const SessionReport& report) {
  std::string line =
      d.device == shm::kUnknown16 ? "unknown device" : fmt::format("device {}", d.device);
  if (report.processes.size() > 1 && d.process < report.processes.size()) {
    line += fmt::format(" of process {}", report.processes[d.process].pid);
  }
  const auto busy = static_cast<double>(d.busy_ns);
  line += fmt::format(": busy {:.2f} % of {:.3f} s", 100.0 * busy / static_cast<double>(d.span_ns),
                      static_cast<double>(d.span_ns) * 1e-9);
  if (d.streams.size() > 1 && d.busy_ns > 0) {
    line += fmt::format(", {} streams, {:.2f} concurrent kernels on average", d.streams.size(),
                        static_cast<double>(d.duration_ns) / busy);
  }
  return line + "\n";
}

// "recording cost 0.120 ms on the program's threads and 41.000 ms on its own, in 3.210 s". Other
// slowdown, especially by CUPTI inside the driver, cannot be measured from inside the process.
std::string CostLine(const SessionReport& report) {
  double program_ns = 0;
  double background_ns = 0;
  double cupti_ns = 0;
  for (const ProcessReport& p : report.processes) {
    program_ns += static_cast<double>(p.cost_program_ns);
    background_ns += static_cast<double>(p.cost_background_ns);
    cupti_ns += static_cast<double>(p.cost_cupti_ns);
  }
  if (program_ns + background_ns == 0) return "";
  std::string line = fmt::format(
      "recording cost {:.3f} ms on the program's threads and {:.3f} ms on its own, in {:.3f} s",
      program_ns * 1e-6, background_ns * 1e-6, report.elapsed_s);
  if (cupti_ns != 0) line += fmt::format("; CUPTI reports {:.3f} ms of overhead", cupti_ns * 1e-6);
  return line + "\n";
}

std::string DeviceLines(const SessionReport& report) {
  std::string text;
  for (std::size_t i = 0; i < report.devices.size() && i < kMaxDevices; ++i) {
    if (report.devices[i].span_ns != 0) text += DeviceLine(report.devices[i], report);
  }
  if (report.devices.size() > kMaxDevices) {
    text += fmt::format("... and {} more devices\n", report.devices.size() - kMaxDevices);
  }
  return text;
}

// "37 launches were not recorded: the program had paused recording"
std::string PauseLine(const SessionReport& report) {
  const std::uint64_t paused = CountProcesses(report.processes).paused;
  if (paused == 0) return "";
  return fmt::format("{} launches were not recorded: the program had paused recording\n", paused);
}

// Returns what a process reported and whether its launches may be missing.
std::string ProcessLines(const ProcessReport& p) {
  const std::string who = p.combined != 0
                              ? Plural(p.combined, "other process", "other processes")
                              : fmt::format("process {} ({})", p.pid, EscapeForTerminal(p.program));
  std::string text;
  if (p.state == ProcessState::kDisabled) {
    text += fmt::format("{}: nothing was recorded: {}\n", who, EscapeForTerminal(p.reason));
  } else if (!p.reason.empty()) {
    text += fmt::format("{}: {}\n", who, EscapeForTerminal(p.reason));
  }
  if (p.state == ProcessState::kRecording) {
    text += fmt::format(
        "{}: did not shut down cleanly (killed, _exit, exec, or still running); launches after its "
        "last flush may be missing\n",
        who);
  }
  for (std::uint32_t i = 0; i < shm::kLossCount; ++i) {
    if (p.losses[i] != 0) {
      text += fmt::format("{}: {} {}\n", who, p.losses[i], shm::kLossNames[i]);
    }
  }
  if (p.late != 0) {
    text += fmt::format("{}: {} records arrived too late to be sorted into launch order\n", who,
                        p.late);
  }
  if (p.malformed != 0) {
    text += fmt::format("{}: {} malformed records were discarded\n", who, p.malformed);
  }
  return text;
}

}  // namespace

std::string SessionSummary(const SessionReport& report, const model::Plan& plan) {
  std::string text =
      plan.totals.invocations == 0 ? "no kernel was recorded\n" : model::PlanSummary(plan);
  if (std::string line = model::CompletenessLine(report.processes); !line.empty()) {
    text += line + "\n";
  }
  if (std::string line = model::GraphLaunchesLine(report.processes, report.devices);
      !line.empty()) {
    text += line + "\n";
  }
  text += DeviceLines(report);
  text += CostLine(report);
  text += PauseLine(report);
  for (const ProcessReport& p : report.processes) text += ProcessLines(p);
  for (const std::string& warning : report.warnings) {
    text += "warning: " + EscapeForTerminal(warning) + "\n";
  }
  return text;
}

}  // namespace stemtap::session
