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
#include "model/plan_cells.h"
#include "model/plan_summary.h"
#include "online/overview_parts.h"
#include "session/checkpoint.h"
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

model::SessionHost ThisHost() {
  utsname host{};
  uname(&host);
  return {host.nodename, fmt::format("{} {}", host.sysname, host.release), host.machine,
          std::thread::hardware_concurrency()};
}

}  // namespace

Session::Session(SessionMode mode, SessionOptions options, std::optional<Directory> directory)
    : mode_(mode),
      options_(std::move(options)),
      directory_(std::move(directory)),
      timeline_([this] { return elapsed_s(); }) {
  if (!directory_) return;
  overview_.emplace(*directory_, [this](model::Overview& overview) {
    engine_->Describe(overview);
    Describe(overview);
    if (end_) end_(overview);
  });
}

Result<std::unique_ptr<Session>> Session::Open(SessionMode mode, SessionOptions options) {
  STEMTAP_TRY(model::KernelGroups::Create(options.sampling.group_by, options.sampling.exclude));
  std::optional<Directory> directory;
  if (!options.folder.empty()) {
    directory = STEMTAP_TRY(ClaimSession(options.folder, options.place));
  }
  return std::unique_ptr<Session>(new Session(mode, std::move(options), std::move(directory)));
}

Status Session::Begin(Engine& engine, std::function<void(model::Overview&)> details) {
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

void Session::Describe(model::Overview& overview) const {
  overview.mode = NameOf(mode_);
  // A replay is not a process that `stemtap top` can check.
  if (mode_ != SessionMode::kReplay) overview.pid = ::getpid();
  overview.started_unix_ms = started_unix_ms_;
  overview.elapsed_s = elapsed_s();
  overview.command = options_.command;
  overview.error_bound = options_.sampling.error_bound;
  overview.confidence = options_.sampling.confidence;
  overview.timeline = timeline_.points();
  if (details_) details_(overview);
}

SessionResult Session::Draft(model::Plan plan, const online::SamplerStatus& status) const {
  SessionResult result;
  result.plan = std::move(plan);
  result.folder = path();
  result.sampler = status;
  model::RecordedSession& session = result.session;
  session.tool = fmt::format("stemtap {}", kVersion);
  session.mode = NameOf(mode_);
  session.command = options_.command;
  session.options = options_.listed;
  session.host = ThisHost();
  session.elapsed_s = elapsed_s();
  return result;
}

Status Session::Finish(SessionResult& result) {
  model::RecordedSession& session = result.session;
  result.plan.options = session.options;
  Complete(result);
  if (!directory_) return Success{};
  // The last overview may reuse the mask's descriptor, if there are few.
  if (const Status mask = mask_.Close(); !mask.ok()) {
    result.incomplete.push_back(mask.error().message);
  }
  session.counters.mask_events_missing = mask_.missing();
  timeline_.SetDropped(result.plan.totals.dropped);
  timeline_.End(engine_->status());
  end_ = [&](model::Overview& overview) { EndOverview(result, overview); };
  overview_->Write();
  end_ = nullptr;
  if (const std::string warning = overview_->Warning(); !warning.empty()) {
    (overview_->is_current() ? session.warnings : result.incomplete).push_back(warning);
  }
  session.warnings.insert(session.warnings.end(), result.incomplete.begin(),
                          result.incomplete.end());
  const Status written = WriteResults(*directory_, result.plan, model::SessionToJson(session),
                                      SessionSummary(session, result.plan));
  RemoveUnfinishedOverviews(*directory_);
  if (written.ok()) directory_->Remove(kCheckpointFileName);
  return written;
}

Result<SessionResult> Session::WriteSnapshot(const Directory& to,
                                             const std::function<void(SessionResult&)>& add) const {
  MaskWriter mask = STEMTAP_TRY(mask_.CopyTo(*directory_, to));
  Engine::Ended ended = engine_->EndNow(mask);
  STEMTAP_TRY(mask.Close());
  SessionResult result = Draft(std::move(ended.plan), ended.sampler.status());
  result.session.is_snapshot = true;
  STEMTAP_TRY(WriteWhole(to, add, ended.sampler, result));
  return result;
}

Status Session::WriteWhole(const Directory& to, const std::function<void(SessionResult&)>& add,
                           const online::OnlineSampler& sampler, SessionResult& result) const {
  result.folder = to.path();
  const model::Overview overview = Conclude(add, sampler, result);
  STEMTAP_TRY(to.Replace(kOverviewFileName, model::OverviewToJson(overview)));
  return WriteResults(to, result.plan, model::SessionToJson(result.session),
                      SessionSummary(result.session, result.plan));
}

model::Overview Session::Conclude(const std::function<void(SessionResult&)>& add,
                                  const online::OnlineSampler& sampler,
                                  SessionResult& result) const {
  add(result);
  result.plan.options = result.session.options;
  Complete(result);
  model::Overview overview;
  engine_->Describe(sampler, overview);
  Describe(overview);
  Timeline timeline = timeline_;
  timeline.SetDropped(result.plan.totals.dropped);
  timeline.End(result.sampler);
  overview.timeline = timeline.points();
  EndOverview(result, overview);
  return overview;
}

Status Session::WriteCheckpoint(const std::function<void(SessionResult&)>& add,
                                const std::string& rings) const {
  MaskWriter none;
  Engine::Ended ended = engine_->EndNow(none);
  SessionResult result = Draft(std::move(ended.plan), ended.sampler.status());
  result.session.is_snapshot = true;
  const model::Overview overview = Conclude(add, ended.sampler, result);
  return directory_->Replace(
      kCheckpointFileName,
      PackFiles({{kRingsName, rings},
                 {kOverviewFileName, model::OverviewToJson(overview)},
                 {"plan.json", model::PlanToJson(result.plan)},
                 {shm::kSessionFileName, model::SessionToJson(result.session)},
                 {model::kCellsFileName, model::CellsToJson(result.plan)},
                 {"summary.txt", SessionSummary(result.session, result.plan)}}));
}

Result<SessionResult> Session::EndWindow(const Result<Directory>& to,
                                         const std::function<void(SessionResult&)>& add) {
  model::Plan plan = engine_->Finish();
  SessionResult result = Draft(std::move(plan), engine_->status());
  Status written = to.ok() ? Success{} : Status(to.error());
  if (to.ok()) {
    const Result<MaskWriter> mask = mask_.CopyTo(*directory_, to.value());
    written = WriteWhole(to.value(), add, engine_->sampler(), result);
    if (written.ok() && !mask.ok()) written = mask.error();
  }
  // The next window begins, whatever could not be written.
  directory_->Remove(kCheckpointFileName);
  engine_->StartOver();
  mask_.Clear();
  start_ = std::chrono::steady_clock::now();
  started_unix_ms_ = UnixMs();
  timeline_ = Timeline([this] { return elapsed_s(); });
  STEMTAP_TRY(written);
  return result;
}

void Session::Discard() {
  if (!directory_) return;
  directory_->Remove(shm::kMaskFileName);
  directory_->Remove(kControlFileName);
  directory_->Remove(kCheckpointFileName);
  directory_->Remove(shm::kRecordingFileName);
  if (options_.place == SessionPlace::kExisting) return;
  directory_->Remove(shm::kGateFileName);
  directory_->RemoveSelf();
}

namespace {

using P = ProcessReport;
constexpr std::uint64_t P::*kProcessCounts[] = {&P::seen,
                                                &P::kept,
                                                &P::skipped,
                                                &P::read,
                                                &P::late,
                                                &P::malformed,
                                                &P::launches_gated,
                                                &P::launches_captured,
                                                &P::launches_failed,
                                                &P::launches_added,
                                                &P::graph_records,
                                                &P::paused,
                                                &P::buffers,
                                                &P::cost_program_ns,
                                                &P::cost_background_ns,
                                                &P::cost_cupti_ns};

}  // namespace

void SubtractProcess(const ProcessReport& before, ProcessReport& report) {
  // A final report counts records as they were read, and may be smaller.
  const auto subtract = [](std::uint64_t less, std::uint64_t& from) {
    from -= std::min(less, from);
  };
  for (const auto count : kProcessCounts) subtract(before.*count, report.*count);
  for (std::uint32_t i = 0; i < shm::kLossCount; ++i) subtract(before.losses[i], report.losses[i]);
}

void AddProcess(const ProcessReport& process, ProcessReport& sum) {
  for (const auto count : kProcessCounts) sum.*count += process.*count;
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

void Complete(SessionResult& result) {
  model::PlanTotals& totals = result.plan.totals;
  model::RecordedSession& session = result.session;
  for (const ProcessReport& p : session.processes) {
    totals.dropped += p.dropped();
    totals.gaps += p.gaps();
  }
  for (const model::UnobservedInterval& interval : session.unobserved) {
    totals.unobserved_intervals += interval.launches == model::UnobservedInterval::kUncounted;
  }
  const online::SamplerStatus& s = result.sampler;
  model::SessionCounters& counters = session.counters;
  static_cast<SessionCounts&>(counters) = CountProcesses(session.processes);
  counters.kept = s.observed + totals.excluded_invocations;
  counters.dropped = totals.dropped;
  // Records on their way when a window begins or ends belong to the window that observes them.
  if (session.processes.empty() || session.window != 0) {
    counters.seen = counters.kept + counters.dropped;
  }
  counters.gaps = totals.gaps;
  counters.captured = s.captured;
  counters.captured_duration_ns = s.captured_duration_ns;
  counters.zero_duration = s.zero_duration;
  counters.slowed = s.perturbed;
  counters.slowed_beside = s.perturbed_concurrent;
  counters.native_unknown = totals.native_unknown;
  counters.contexts_refused = s.contexts_refused;
  counters.slots_refused = s.slots_refused;
  if (!session.is_snapshot && session.window == 0) {
    session.completeness = model::CompletenessLine(session.processes);
  }
  for (DeviceTotals& device : session.devices) {
    if (device.process < session.processes.size()) {
      device.pid = session.processes[device.process].pid;
    }
  }
  std::erase_if(session.processes, [](const ProcessReport& p) { return p.is_past; });
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

void EndOverview(const SessionResult& result, model::Overview& overview) {
  SetCounts(result.session.counters, overview);
  overview.ended = true;
  overview.elapsed_s = result.session.elapsed_s;
  online::TakeClusters(result.plan, overview);
}

namespace {

// Maximum devices with a line in the summary; session.json contains all.
constexpr std::size_t kMaxDevices = 16;

// "device 0: busy 91.20 % of 12.345 s, 3 streams, 1.42 concurrent kernels on average"
std::string DeviceLine(const DeviceTotals& d, const model::RecordedSession& session) {
  std::string line =
      d.device == shm::kUnknown16 ? "unknown device" : fmt::format("device {}", d.device);
  if (session.processes.size() > 1 && d.process < session.processes.size()) {
    line += fmt::format(" of process {}", session.processes[d.process].pid);
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
std::string CostLine(const model::RecordedSession& session) {
  double program_ns = 0;
  double background_ns = 0;
  double cupti_ns = 0;
  for (const ProcessReport& p : session.processes) {
    program_ns += static_cast<double>(p.cost_program_ns);
    background_ns += static_cast<double>(p.cost_background_ns);
    cupti_ns += static_cast<double>(p.cost_cupti_ns);
  }
  if (program_ns + background_ns == 0) return "";
  std::string line = fmt::format(
      "recording cost {:.3f} ms on the program's threads and {:.3f} ms on its own, in {:.3f} s",
      program_ns * 1e-6, background_ns * 1e-6, session.elapsed_s);
  if (cupti_ns != 0) line += fmt::format("; CUPTI reports {:.3f} ms of overhead", cupti_ns * 1e-6);
  return line + "\n";
}

std::string DeviceLines(const model::RecordedSession& session) {
  std::string text;
  for (std::size_t i = 0; i < session.devices.size() && i < kMaxDevices; ++i) {
    if (session.devices[i].span_ns != 0) text += DeviceLine(session.devices[i], session);
  }
  if (session.devices.size() > kMaxDevices) {
    text += fmt::format("... and {} more devices\n", session.devices.size() - kMaxDevices);
  }
  return text;
}

// "37 launches were not recorded: the program had paused recording"
std::string PauseLine(const model::RecordedSession& session) {
  const std::uint64_t paused = CountProcesses(session.processes).paused;
  if (paused == 0) return "";
  return fmt::format("{} launches were not recorded: the program had paused recording\n", paused);
}

// Returns what a process reported and whether its launches may be missing.
std::string ProcessLines(const ProcessReport& p, bool is_snapshot) {
  const std::string who = p.combined != 0
                              ? Plural(p.combined, "other process", "other processes")
                              : fmt::format("process {} ({})", p.pid, EscapeForTerminal(p.program));
  std::string text;
  if (p.state == ProcessState::kDisabled) {
    text += fmt::format("{}: nothing was recorded: {}\n", who, EscapeForTerminal(p.reason));
  } else if (!p.reason.empty()) {
    text += fmt::format("{}: {}\n", who, EscapeForTerminal(p.reason));
  }
  if (p.state == ProcessState::kRecording && is_snapshot) {
    text += fmt::format("{}: still runs\n", who);
  } else if (p.state == ProcessState::kRecording) {
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

std::string SessionSummary(const model::RecordedSession& session, const model::Plan& plan) {
  std::string text =
      plan.totals.invocations == 0 ? "no kernel was recorded\n" : model::PlanSummary(plan);
  if (!session.completeness.empty()) text += session.completeness + "\n";
  if (std::string line = model::GraphLaunchesLine(session.processes, session.devices);
      !line.empty()) {
    text += line + "\n";
  }
  text += DeviceLines(session);
  text += CostLine(session);
  text += PauseLine(session);
  for (const ProcessReport& p : session.processes) {
    text += ProcessLines(p, session.is_snapshot);
  }
  for (const std::string& warning : session.warnings) {
    text += "warning: " + EscapeForTerminal(warning) + "\n";
  }
  return text;
}

}  // namespace stemtap::session
