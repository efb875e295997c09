// SPDX-License-Identifier: Apache-2.0
#include "session/traced_processes.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "base/unix_ms.h"
#include "session/launch_sequencer.h"
#include "session/ring_reader.h"
#include "session/session.h"
#include "shm/ring.h"
#include "shm/session_env.h"

namespace stemtap::session {

namespace {

// Records taken from one ring before the next ring: 1 MiB.
constexpr std::size_t kDrainBatch = 16384;

// Maximum kernel names of a session: 64 processes with 2,048 different kernels, or two with as
// many as a ring can define. A kernel takes 2 to 20 KiB of memory.
constexpr std::uint32_t kMaxNames = 1u << 17;

// Maximum total name length of a session: 128 MiB. A name is stored and written about six times, so
// names may take 800 MiB. Two processes at the limit of RingReader fit, or 65,536 names of 2,000
// bytes; a lower limit would refuse names of real programs.
constexpr std::size_t kMaxNameBytes = std::size_t{128} << 20;

static_assert(model::kMaxListedProcesses <= 0xFFFF);  // the engine numbers them with 16 bits

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

// One traced process: its ring and the sequencer of its launches.
struct TracedProcesses::Source {
  std::string file;
  std::uint64_t start_ns;  // when the image joined
  std::size_t number;      // index of its report
  RingReader ring;
  LaunchSequencer order;
  std::uint64_t last_flush = 0;  // the last flush that `order` knows
  bool replaced = false;         // a later image of the process has joined (exec)
  std::size_t remarked = 0;      // bytes of its remarks that NewRemarks has returned
  std::uint64_t switches = 0;    // that FollowSwitches has seen
  std::uint64_t pushed = 0;      // launches passed to the engine
  bool is_read = false;          // the process has ended, and its ring is empty
};

TracedProcesses::TracedProcesses(const Directory& directory, Engine& engine,
                                 RecordingSchedule& schedule, bool share_kernels,
                                 std::size_t max_listed)
    : directory_(directory),
      engine_(engine),
      schedule_(schedule),
      share_kernels_(share_kernels),
      max_listed_(max_listed) {
  WriteRecordingFile();
}
TracedProcesses::~TracedProcesses() = default;

bool TracedProcesses::FindRings() {
  bool any = false;
  std::vector<std::pair<std::uint64_t, std::string>> found;  // in the order of their start
  directory_.ForEach([&](const std::string& name, ino_t) {
    shm::ProcessImage image;
    if (!shm::ParseImageFileName(name.c_str(), shm::kRingPrefix, image)) return;
    if (known_files_.insert(name).second) found.emplace_back(image.start_ns, name);
  });
  std::sort(found.begin(), found.end());
  for (const auto& [start_ns, name] : found) {
    Result<RingReader> ring = RingReader::Open(directory_, name);
    if (!ring.ok()) {
      // Tried again later: descriptors or memory may become available when other processes end.
      known_files_.erase(name);
      if (unread_.size() >= kMaxUnread && !unread_.contains(name)) continue;
      const auto [at, is_new] = unread_.insert_or_assign(name, ring.error().message);
      if (is_new) spdlog::debug("{}", EscapeForTerminal(at->second));
      continue;
    }
    unread_.erase(name);
    any = true;
    Open(name, start_ns, std::move(ring).value());
  }
  return any;
}

// Adds the ring of a process image. Of several images of one process, only the latest can still
// run.
void TracedProcesses::Open(const std::string& name, std::uint64_t start_ns, RingReader ring) {
  auto opened = std::make_unique<Source>(Source{
      name, start_ns, std::min(reports_.size(), max_listed_), std::move(ring), LaunchSequencer()});
  for (const auto& other : open_) {
    const std::uint32_t pid_namespace = opened->ring.pid_namespace();
    if (pid_namespace == 0 || other->ring.pid_namespace() != pid_namespace) continue;
    if (other->ring.pid() != opened->ring.pid()) continue;
    other->replaced |= other->start_ns < start_ns;
    opened->replaced |= other->start_ns > start_ns;
  }
  const ProcessReport report = opened->ring.Report();
  if (opened->number == reports_.size()) {
    reports_.emplace_back().state = ProcessState::kDisabled;
  }
  if (opened->number < max_listed_) {
    reports_.back() = report;
  } else {
    reports_.back().program = "(other processes)";
    ++reports_.back().combined;
  }
  // The request that the process found in the directory may be outdated.
  if (opened->ring.requested() != shm::Recording::kStarted) opened->ring.Request(wanted_);
  open_.push_back(std::move(opened));
  spdlog::info("{}: process {} ({}), CUPTI {}, driver {}", name, report.pid,
               EscapeForTerminal(report.program), report.cupti_version, report.driver_version);
}

// Returns the id of a kernel of process `pid`. Beyond the limits of names, no definition is
// accepted, not even of a known name.
std::uint32_t TracedProcesses::AddKernel(std::string_view name, std::string_view range,
                                         std::int32_t pid) {
  if (name_bytes_ > kMaxNameBytes || names_ >= kMaxNames) return RingReader::kRefused;
  const std::uint32_t id = engine_.AddKernel(name, share_kernels_ ? 0 : pid, range);
  if (id < names_) return id;
  names_ = id + 1;
  name_bytes_ += name.size() + range.size();
  return id;
}

bool TracedProcesses::Drain(bool final) {
  const std::int64_t now_ms = NowMs();
  bool any = false;
  for (const auto& source : open_) {
    // Checked before the ring is drained, so that records pushed before the process ended are still
    // found.
    const bool ended = source->replaced || source->ring.Ended();
    const bool more = DrainOne(*source, ended || final, now_ms);
    any |= more;
    source->is_read = ended && !more;
  }
  // Not in the same pass: a window that ends in DrainOne reads the reports of all open rings.
  std::erase_if(open_, [&](const auto& source) {
    if (source->is_read) Close(*source);
    return source->is_read;
  });
  return any;
}

void TracedProcesses::DrainRest() {
  constexpr std::size_t kBatches = shm::kRingCapacity / kDrainBatch + 1;
  for (std::size_t i = 0; i < kBatches && Drain(true); ++i) {
  }
}

// Returns whether the ring may contain more. If `final`, no record of an empty ring is held back.
bool TracedProcesses::DrainOne(Source& source, bool final, std::int64_t now_ms) {
  arrived_.clear();
  released_.clear();
  const std::uint64_t last_flush = source.ring.last_flush();  // before its records are read
  FollowSwitches(source);
  const std::size_t taken = source.ring.Drain(
      kDrainBatch,
      [&](std::string_view name, std::string_view range) {
        return AddKernel(name, range, source.ring.pid());
      },
      arrived_);
  const bool more = taken == kDrainBatch;
  source.order.Add(arrived_, now_ms);
  if (!more && last_flush != std::exchange(source.last_flush, last_flush)) {
    source.order.Flushed(now_ms);
  }
  source.order.Release(now_ms, !more && final, released_);
  std::size_t at_hand = released_.size();
  for (shm::KernelRecord& record : released_) {
    engine_.SetAtHand(--at_hand);
    Push(source, record);
  }
  return more;
}

void TracedProcesses::Push(Source& source, shm::KernelRecord& record) {
  Observe(source, record);
  ++source.pushed;
  if (window_left_ == 0 || --window_left_ != 0) return;
  window_left_ = window_;
  end_window_();
}

void TracedProcesses::Observe(Source& source, shm::KernelRecord& record) {
  const auto process = static_cast<std::uint16_t>(source.number);
  const bool captured = (record.flags & shm::kFlagCaptured) != 0;
  const NamedMark mark = captured ? source.ring.TakeMark(record.correlation_id) : NamedMark();
  if (captured && engine_.has_live_gate() &&
      !claims_.Accept(record, process, engine_.MostGranted(record.credit_slot))) {
    record.flags &= static_cast<std::uint8_t>(~(shm::kFlagCaptured | shm::kFlagExploratory));
  }
  // A captured launch is observed in any case: it was captured before its process knew better.
  if (!schedule_.Observes() && (record.flags & shm::kFlagCaptured) == 0) {
    unobserved_.Count(record.start_ns);
    engine_.CountOnly(record, process);
    return;
  }
  unobserved_.Observe();
  if (engine_.Push(record, process, mark)) {
    devices_.Add(record, process);
  } else {
    source.ring.CountMalformed();
  }
}

// Adds the times in which the recording of the process was off since the last call.
void TracedProcesses::FollowSwitches(Source& source) {
  const auto process = static_cast<std::uint16_t>(source.number);
  for (const std::uint64_t count = source.ring.switches(); source.switches < count;
       ++source.switches) {
    const std::uint64_t time_ns = source.ring.SwitchTime(source.switches);
    if (source.switches % 2 == 0) {
      unobserved_.SwitchOff(&source, source.ring.pid(), time_ns);
      devices_.BeginUnobserved(process, time_ns);
    } else {
      unobserved_.SwitchOn(&source, time_ns);
      devices_.EndUnobserved(process, time_ns);
    }
  }
}

void TracedProcesses::FollowSchedule() {
  if (wanted_ == shm::Recording::kCounting) {
    const auto is_started = [](const auto& source) {
      return source->ring.requested() == shm::Recording::kStarted;
    };
    if (std::ranges::any_of(open_, is_started)) schedule_.Start();
  }
  if (schedule_.wanted() == wanted_) return;
  wanted_ = schedule_.wanted();
  WriteRecordingFile();
  for (const auto& source : open_) source->ring.Request(wanted_);
  spdlog::info("recording: {}", NameOf(wanted_));
}

bool TracedProcesses::Request(std::int32_t pid, shm::Recording recording) {
  bool found = false;
  for (const auto& source : open_) {
    if (source->ring.pid() != pid || source->replaced) continue;
    source->ring.Request(recording);
    found = true;
  }
  return found;
}

TracedProcesses::RecordingCounts TracedProcesses::CountRecording() const {
  RecordingCounts counts;
  for (const auto& source : open_) {
    if (source->replaced || source->ring.Ended()) continue;
    const bool is_off = source->ring.is_off();
    if (is_off != (source->ring.requested() == shm::Recording::kOff)) {
      ++counts.changing;
    } else {
      ++(is_off ? counts.off : counts.on);
    }
  }
  return counts;
}

// Lets processes that join begin as the others are now.
void TracedProcesses::WriteRecordingFile() const {
  if (wanted_ == shm::Recording::kOn) {
    directory_.Remove(shm::kRecordingFileName);
    return;
  }
  // If it fails, processes that join record for a moment.
  static_cast<void>(directory_.Replace(shm::kRecordingFileName, NameOf(wanted_)));
}

// Stores the report of a process, or adds it to the shared report of those beyond max_listed_.
void TracedProcesses::Store(const Source& source, const ProcessReport& report,
                            std::vector<ProcessReport>& reports) const {
  if (source.number < max_listed_) {
    reports[source.number] = report;
  } else {
    AddProcess(report, reports[source.number]);
  }
}

// Takes the last report and removes the ring.
void TracedProcesses::Close(Source& source) {
  FollowSwitches(source);
  unobserved_.SwitchOn(&source, 1'000'000 * UnixMs());
  ProcessReport report = source.ring.FinalReport();
  report.late = source.order.late();
  spdlog::info("{}: {}, {} of {} records kept, {} late", source.file, NameOf(report.state),
               report.kept, report.seen, report.late);
  Store(source, report, reports_);
  // A ring that cannot be removed stays known, because otherwise it would be treated as new.
  if (directory_.Remove(source.file)) known_files_.erase(source.file);
}

std::vector<std::string> TracedProcesses::CloseAll() {
  std::vector<std::string> warnings;
  for (const auto& source : open_) {
    const bool running = !source->ring.elsewhere() && !source->ring.Ended();
    const ProcessReport last = source->ring.Report();
    Close(*source);
    if (!running) continue;
    warnings.push_back(fmt::format("process {} ({}) was still running when the session ended",
                                   last.pid, last.program));
  }
  open_.clear();
  for (const auto& [name, why] : unread_) warnings.push_back("not read: " + why);
  if (const std::size_t unread = CountUnread(); unread > unread_.size()) {
    warnings.push_back(fmt::format("{} files named like rings were not read; {} of them are listed",
                                   unread, unread_.size()));
  }
  if (reports_.size() > max_listed_) {
    warnings.push_back(fmt::format("{} beyond the first {} are counted together",
                                   Plural(reports_.back().combined, "process", "processes"),
                                   max_listed_));
  }
  return warnings;
}

std::size_t TracedProcesses::CountUnread() const {
  std::size_t unread = unread_.size();
  if (unread < kMaxUnread) return unread;
  directory_.ForEach([&](const std::string& name, ino_t) {
    unread +=
        shm::IsRingName(name.c_str()) && !known_files_.contains(name) && !unread_.contains(name);
  });
  return unread;
}

std::string TracedProcesses::WhyUnread() const {
  if (unread_.empty()) return {};
  return fmt::format("{} not recorded: {}", Plural(CountUnread(), "process was", "processes were"),
                     unread_.begin()->second);
}

void TracedProcesses::RemoveLeftovers() {
  std::vector<std::string> leftovers;
  directory_.ForEach([&](const std::string& name, ino_t) {
    shm::ProcessImage image;
    const bool late = shm::ParseImageFileName(name.c_str(), shm::kRingPrefix, image) &&
                      !unread_.contains(name) && unread_.size() < kMaxUnread;
    if (late) {
      // The process saw a session that had not ended, so it does not report this itself.
      std::fputs(fmt::format("stemtap: process {} started while the session was being "
                             "written and is not recorded\n",
                             image.pid)
                     .c_str(),
                 stderr);
    }
    const bool unfinished = name.starts_with(shm::kUnfinishedPrefix) &&
                            shm::IsRingName(name.c_str() + std::strlen(shm::kUnfinishedPrefix));
    if (late || unfinished) leftovers.push_back(name);
  });
  for (const std::string& name : leftovers) directory_.Remove(name);
}

std::vector<std::string> TracedProcesses::NewRemarks() {
  std::vector<std::string> remarks;
  for (const auto& source : open_) {
    const ProcessReport report = source->ring.Report();
    if (report.reason.size() <= source->remarked) continue;
    std::string_view remark = std::string_view(report.reason).substr(source->remarked);
    if (remark.starts_with("; ")) remark.remove_prefix(2);
    remarks.push_back(fmt::format("process {} ({}): {}", report.pid, report.program, remark));
    source->remarked = report.reason.size();
  }
  return remarks;
}

std::vector<ProcessReport> TracedProcesses::WholeReports() const {
  std::vector<ProcessReport> reports = reports_;
  for (const auto& source : open_) Store(*source, source->ring.Report(), reports);
  return reports;
}

void TracedProcesses::Describe(model::Overview& overview) const {
  const std::vector<ProcessReport> reports = Reports();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const ProcessReport& p = reports[i];
    if (p.is_past) continue;
    overview.processes.push_back({p.pid, p.program, NameOf(p.state), p.reason, p.seen, p.kept,
                                  p.dropped(), engine_.captured_of(i)});
  }
  SetCounts(CountProcesses(reports), overview);
  overview.activity = devices_.Activity();
}

std::vector<TracedProcesses::RingProgress> TracedProcesses::Progress() const {
  std::vector<RingProgress> all;
  for (const auto& source : open_) {
    all.push_back({source->file, source->pushed + source->ring.Report().dropped()});
  }
  return all;
}

std::vector<ProcessReport> TracedProcesses::InWindow(std::vector<ProcessReport> reports) const {
  for (std::size_t i = 0; i < before_.size(); ++i) {
    SubtractProcess(before_[i], reports[i]);
    reports[i].is_past = before_[i].is_past;
  }
  return reports;
}

void TracedProcesses::StartOver(std::vector<ProcessReport> whole) {
  const std::uint64_t now_ns = 1'000'000 * UnixMs();
  before_ = std::move(whole);
  for (ProcessReport& report : before_) report.is_past = true;
  devices_ = DeviceUse();
  for (const auto& source : open_) {
    before_[source->number].is_past = false;
    if (!source->ring.is_off()) continue;
    devices_.BeginUnobserved(static_cast<std::uint16_t>(source->number), now_ns);
  }
  // Further processes of the shared report may join.
  if (before_.size() > max_listed_) before_.back().is_past = false;
  unobserved_.Restart(now_ns);
}

}  // namespace stemtap::session
