// SPDX-License-Identifier: Apache-2.0
#include "session/live_session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "base/unix_ms.h"
#include "session/child_process.h"
#include "session/launch_sequencer.h"
#include "session/overview_file.h"
#include "session/progress.h"
#include "session/ring_reader.h"
#include "session/shared_mapping.h"
#include "session/signal_relay.h"
#include "session/timeline.h"
#include "shm/profiling_tools.h"
#include "shm/session_env.h"
#include "stemtap/version.h"

namespace stemtap::session {
namespace {

constexpr const char* kInjectionPath = "CUDA_INJECTION64_PATH";

// Returns another tool's library that CUDA would load, or nullptr.
const char* OtherInjection(const LiveOptions& options) {
  const char* path = ::getenv(kInjectionPath);
  if (path == nullptr || *path == 0 || std::string_view(path) == "none") return nullptr;
  return options.injector != path ? path : nullptr;
}

// Returns why no program that this process starts can be recorded (a profiling tool started this
// process and claims CUPTI in every program below it), or an empty string.
std::string WhyNotRecorded() {
  const char* variable = nullptr;
  const shm::ProfilingTool* tool = shm::ToolInEnvironment(environ, variable);
  if (tool == nullptr) return {};
  const std::string_view text = variable;
  return fmt::format("{} is set, so {} profiles the program; run one of them at a time",
                     EscapeForTerminal(text.substr(0, text.find('='))), tool->name);
}

// Sleep time of the loop when all rings are empty, and so the maximum delay for new rings and
// records. 50 wake-ups per second have no measurable cost.
constexpr int kIdleMs = 20;
// Records taken from one ring before the next ring: 1 MiB.
constexpr std::size_t kDrainBatch = 16384;

// Maximum total name length of a session: 128 MiB. A name is stored and written about six times, so
// names may take 800 MiB. Two processes at the limit of RingReader fit, or 65,536 names of 2,000
// bytes; a lower limit would refuse names of real programs.
constexpr std::size_t kMaxNameBytes = std::size_t{128} << 20;

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The gate table, in the session directory, where traced processes read it, or in private memory.
class GateMemory {
 public:
  // The file gets its name once it is complete.
  static Result<GateMemory> InFolder(const Directory& folder, std::uint32_t gate_flags,
                                     std::uint64_t seed) {
    const std::string path = folder.PathOf(shm::kGateFileName);
    const std::string hidden = std::string(shm::kUnfinishedPrefix) + shm::kGateFileName;
    if (::faccessat(folder.descriptor(), shm::kGateFileName, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
      return Error{fmt::format("{}: cannot be made: {}", path, std::strerror(EEXIST))};
    }
    folder.Remove(hidden);  // left over by a collector that was killed
    const int fd = folder.Create(hidden);
    if (fd < 0) return Error{fmt::format("{}: cannot be made: {}", path, std::strerror(errno))};
    Result<GateMemory> memory = Fill(fd, path, gate_flags, seed);
    ::close(fd);
    if (memory.ok() && folder.Rename(hidden, shm::kGateFileName)) return memory;
    const int failure = errno;
    folder.Remove(hidden);
    if (!memory.ok()) return memory;
    return Error{fmt::format("{}: cannot be made: {}", path, std::strerror(failure))};
  }
  static Result<GateMemory> Own() { return Map(-1, 0, 0); }

  shm::GateTable& table() { return static_cast<shm::GateFile*>(mapping_.memory())->table; }
  // Returns whether the file was truncated, so that no process sees further decisions.
  bool lost() const { return mapping_.lost(); }

 private:
  explicit GateMemory(SharedMapping mapping) : mapping_(std::move(mapping)) {}
  static Result<GateMemory> Fill(int fd, const std::string& path, std::uint32_t gate_flags,
                                 std::uint64_t seed) {
    const int failure = ::posix_fallocate(fd, 0, sizeof(shm::GateFile));
    if (failure != 0) {
      return Error{fmt::format("{}: cannot be made: {}", path, std::strerror(failure))};
    }
    auto memory = Map(fd, gate_flags, seed);
    if (!memory.ok()) return Error{path + ": " + memory.error().message};
    return memory;
  }
  static Result<GateMemory> Map(int fd, std::uint32_t gate_flags, std::uint64_t seed) {
    std::optional<SharedMapping> mapping = SharedMapping::Map(fd, sizeof(shm::GateFile));
    if (!mapping) {
      return Error{fmt::format("gate table cannot be mapped: {}", std::strerror(errno))};
    }
    auto* file = new (mapping->memory()) shm::GateFile;
    file->flags = gate_flags;
    file->seed = seed;
    file->file_bytes = sizeof(shm::GateFile);
    return GateMemory(*std::move(mapping));
  }
  SharedMapping mapping_;
};

// Waits for the end of the program and does nothing else. Allocates no memory.
void AwaitEnd(ChildProcess& child, SignalRelay& signals) {
  while (!child.Poll()) {
    signals.Wait(kIdleMs);
    signals.Forward(child.pid());
  }
}

// At other levels than gate, the program has no gate and captures nothing.
Captures CapturesOf(const LiveOptions& options) {
  const bool slowed =
      options.level == "gate" && options.actuator != "log" && !options.native_captures;
  return slowed ? Captures::kForReal : Captures::kNoted;
}

// One traced process: its ring and the sequencer of its launches.
struct Source {
  std::string file;
  std::size_t number;  // index of its report
  RingReader ring;
  LaunchSequencer order;
  bool replaced = false;  // the process continued as another program (exec), with its own ring
  std::size_t said = 0;   // bytes of its remarks that were already printed
};

class LiveSession {
 public:
  LiveSession(const LiveOptions& options, SessionWriter& writer, shm::GateTable& gate,
              MaskWriter& mask)
      : options_(options),
        writer_(writer),
        pool_(options.threads),
        engine_(options.sampling, gate,
                options.level == "gate" ? GateAsked::kAtLaunch : GateAsked::kByEngine, 0, pool_,
                mask, CapturesOf(options)),
        progress_(options.quiet),
        timeline_([this] { return ElapsedS(); }),
        overview_(writer.directory(), [this](model::Overview& o) { Describe(o); }) {
    engine_.KeepTimeline(&timeline_);
  }

  // Collects until the program, or every process that joined, has ended.
  void Watch(std::optional<ChildProcess>& child, SignalRelay& signals);
  LiveOutcome Finish(const std::optional<ChildProcess>& child);
  // Writes the last overview, from the result of Finish. Call before session.json is written.
  void ShowEnd(LiveOutcome& outcome);
  // Call after session.json is written, when no process joins any more.
  void RemoveLeftovers();

 private:
  bool FindRings();
  std::uint32_t AddKernel(std::string_view name, std::int32_t pid);
  bool DrainAll(bool final);
  void Close(Source& source);
  void SayRemarks();
  // Returns the current reports of all processes, in order of appearance.
  std::vector<ProcessReport> Reports() const;
  std::uint64_t Dropped() const;
  void ShowCourse();
  void Describe(model::Overview& overview) const;
  double ElapsedS() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  const LiveOptions& options_;
  SessionWriter& writer_;
  WorkerPool pool_;
  Engine engine_;
  ProgressLine progress_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const std::uint64_t started_unix_ms_ = UnixMs();
  Timeline timeline_;
  OverviewFile overview_;
  const LiveOutcome* ended_ = nullptr;            // null: the session has not ended
  std::vector<std::unique_ptr<Source>> sources_;  // processes that may still send records
  // All processes in order of appearance; final for closed sources.
  std::vector<ProcessReport> reports_;
  std::unordered_map<std::string, ino_t> known_files_;
  std::map<std::string, std::string> unread_;  // rings that could not be opened so far, and why
  std::uint32_t names_ = 0;
  std::size_t name_bytes_ = 0;  // total of all names
  std::vector<shm::KernelRecord> arrived_;
  std::vector<shm::KernelRecord> released_;
  std::vector<std::string> warnings_;
};

// Returns whether there were new rings.
bool LiveSession::FindRings() {
  bool any = false;
  std::vector<std::string> found;
  std::vector<std::string> replaced;
  writer_.directory().ForEach([&](const std::string& name, ino_t inode) {
    if (!shm::IsRingName(name.c_str())) return;
    const auto [known, is_new] = known_files_.try_emplace(name, inode);
    if (!is_new && known->second == inode) return;
    if (!is_new) replaced.push_back(name);
    known->second = inode;
    found.push_back(name);
  });
  for (const auto& source : sources_) {
    source->replaced |= std::find(replaced.begin(), replaced.end(), source->file) != replaced.end();
  }
  for (const std::string& name : found) {
    Result<RingReader> ring = RingReader::Open(writer_.directory(), name);
    if (!ring.ok()) {
      // Tried again later: descriptors or memory may become available when other processes end.
      unread_[name] = ring.error().message;
      known_files_.erase(name);
      continue;
    }
    unread_.erase(name);
    any = true;
    sources_.push_back(std::make_unique<Source>(
        Source{name, reports_.size(), std::move(ring).value(), LaunchSequencer()}));
    reports_.push_back(sources_.back()->ring.Report());
    const ProcessReport& report = reports_.back();
    spdlog::debug("{}: process {} ({}), CUPTI {}, driver {}", name, report.pid,
                  EscapeForTerminal(report.program), report.cupti_version, report.driver_version);
  }
  return any;
}

// Removes rings of processes that were killed while creating them or that joined while the session
// was being written, and overviews that could neither be written nor removed, for example on a full
// disk.
void LiveSession::RemoveLeftovers() {
  const std::string temporary = std::string(kOverviewFileName) + ".tmp.";
  std::vector<std::string> leftovers;
  writer_.directory().ForEach([&](const std::string& name, ino_t) {
    const bool late = shm::IsRingName(name.c_str()) && !unread_.contains(name);
    if (late) {
      // The process saw a session that had not ended, so it does not report this itself.
      std::fputs(fmt::format("stemtap: process {} began when the session was being written: not "
                             "recorded\n",
                             EscapeForTerminal(name.substr(std::strlen(shm::kRingPrefix))))
                     .c_str(),
                 stderr);
    }
    const bool unfinished = name.starts_with(shm::kUnfinishedPrefix) &&
                            shm::IsRingName(name.c_str() + std::strlen(shm::kUnfinishedPrefix));
    if (late || unfinished || name.starts_with(temporary)) leftovers.push_back(name);
  });
  for (const std::string& name : leftovers) writer_.directory().Remove(name);
}

// Takes the last report and removes the ring, because a session may have any number of processes.
void LiveSession::Close(Source& source) {
  ProcessReport& report = reports_[source.number];
  report = source.ring.FinalReport();
  report.late = source.order.late();
  spdlog::debug("{}: {}, {} of {} records kept, {} late", source.file, report.state, report.kept,
                report.seen, report.late);
  if (source.replaced) return;  // the file belongs to the new program
  // A later process may have the same pid. A ring that cannot be removed stays known, because
  // otherwise it would be treated as new.
  if (writer_.directory().Remove(source.file)) known_files_.erase(source.file);
}

// Returns the id of a kernel of process `pid`. Beyond the total name limit, no definition is
// accepted, not even of a known name.
std::uint32_t LiveSession::AddKernel(std::string_view name, std::int32_t pid) {
  if (name_bytes_ > kMaxNameBytes) return RingReader::kRefused;
  const std::uint32_t id = engine_.AddKernel(name, options_.share_captures ? 0 : pid);
  if (id < names_) return id;
  names_ = id + 1;
  name_bytes_ += name.size();
  return id;
}

// Returns whether any ring may contain more. If `final`, no record is held back for ordering.
bool LiveSession::DrainAll(bool final) {
  bool any = false;
  const std::int64_t now = NowMs();
  std::vector<bool> done;
  for (const auto& source : sources_) {
    // Checked before the ring is drained, so that records pushed before the process ended are still
    // found.
    const bool ended = source->replaced || source->ring.Ended();
    arrived_.clear();
    released_.clear();
    const std::size_t taken = source->ring.Drain(
        kDrainBatch, [&](std::string_view name) { return AddKernel(name, source->ring.pid()); },
        arrived_);
    const bool empty = taken < kDrainBatch;
    any |= !empty;
    source->order.Add(arrived_, now);
    source->order.Release(now, empty && (ended || final), released_);
    for (const shm::KernelRecord& record : released_) {
      if (!engine_.Push(record, static_cast<std::uint16_t>(source->number))) {
        source->ring.CountMalformed();
      }
    }
    if (ended && empty) Close(*source);
    done.push_back(ended && empty);
  }
  std::size_t at = 0;
  std::erase_if(sources_, [&](const auto&) { return done[at++]; });
  return any;
}

// Prints new remarks of processes at once, especially that recording has stopped.
void LiveSession::SayRemarks() {
  for (const auto& source : sources_) {
    const ProcessReport report = source->ring.Report();
    if (report.reason.size() <= source->said) continue;
    std::string_view remark = std::string_view(report.reason).substr(source->said);
    if (remark.starts_with("; ")) remark.remove_prefix(2);
    progress_.Say(fmt::format("process {} ({}): {}", report.pid, report.program, remark));
    source->said = report.reason.size();
  }
}

std::vector<ProcessReport> LiveSession::Reports() const {
  std::vector<ProcessReport> reports = reports_;
  for (const auto& source : sources_) reports[source->number] = source->ring.Report();
  return reports;
}

std::uint64_t LiveSession::Dropped() const {
  std::uint64_t sum = 0;
  for (const ProcessReport& report : Reports()) sum += report.dropped();
  return sum;
}

void LiveSession::ShowCourse() {
  if (timeline_.Due()) {
    timeline_.SetDropped(Dropped());
    timeline_.Add(engine_.status());
  }
  overview_.Update();
}

void LiveSession::Describe(model::Overview& o) const {
  o.mode = "live";
  o.pid = ::getpid();
  o.started_unix_ms = started_unix_ms_;
  o.command = options_.command;
  o.level = options_.level;
  o.actuator = options_.actuator;
  engine_.Describe(o);
  o.error_bound = options_.sampling.error_bound;
  o.confidence = options_.sampling.confidence;
  o.timeline = timeline_.points();
  const std::vector<ProcessReport> reports = Reports();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const ProcessReport& p = reports[i];
    o.processes.push_back(
        {p.pid, p.program, p.state, p.reason, p.seen, p.kept, p.dropped(), engine_.captured_of(i)});
  }
  if (ended_ != nullptr) return EndOverview(ended_->report, ended_->plan, o);
  o.elapsed_s = ElapsedS();
  SetCounts(CountProcesses(reports), o);
}

void LiveSession::Watch(std::optional<ChildProcess>& child, SignalRelay& signals) {
  for (;;) {
    FindRings();
    const bool program_ended = child && child->Poll();
    const bool busy = DrainAll(false);
    SayRemarks();
    ShowCourse();
    if (progress_.Due(NowMs())) {
      const SessionCounts counts = CountProcesses(Reports());
      progress_.Update(engine_.status(), counts.seen, counts.dropped, NowMs());
    }
    if (program_ended) break;
    const bool told_to_end = signals.Forward(child ? child->pid() : 0);
    if (!child) {
      if (told_to_end) break;
      const bool gone = ::kill(options_.attach_pid, 0) != 0 && errno == ESRCH;
      if (sources_.empty() && (!reports_.empty() || gone)) break;
    }
    if (!busy) signals.Wait(kIdleMs);
  }
  // Drains what the processes left in their rings. Rings of live processes (daemons) are read as
  // they are. A finished ring frees its descriptor for a ring that could not be opened so far.
  for (bool found = true; found;) {
    found = FindRings();
    while (DrainAll(true)) {
    }
  }
  progress_.Clear();
}

LiveOutcome LiveSession::Finish(const std::optional<ChildProcess>& child) {
  LiveOutcome outcome;
  SessionReport& report = outcome.report;
  report.command = options_.command;
  report.options = options_.listed;
  report.elapsed_s = ElapsedS();
  if (child) {
    report.exit_code = child->exit_code();
    report.signal = child->signal();
  }
  outcome.plan = engine_.Finish();
  outcome.plan.source = options_.command.empty()
                            ? fmt::format("pid {}", options_.attach_pid)
                            : fmt::format("{}", fmt::join(options_.command, " "));
  report.sampler = engine_.status();
  report.devices = engine_.devices();
  for (const auto& source : sources_) {
    const bool running = !source->ring.elsewhere() && !source->ring.Ended();
    Close(*source);
    if (!running) continue;
    const ProcessReport& last = reports_[source->number];
    warnings_.push_back(fmt::format("process {} ({}) was still running when the session ended",
                                    last.pid, last.program));
  }
  sources_.clear();
  report.processes = reports_;
  for (const auto& [name, why] : unread_) warnings_.push_back("not read: " + why);
  writer_.directory().Remove(shm::kGateFileName);
  if (reports_.empty() && unread_.empty()) {
    const std::string tool = WhyNotRecorded();
    const char* other = options_.chain ? nullptr : OtherInjection(options_);
    warnings_.push_back(
        !tool.empty() ? "nothing was recorded: " + tool
        : other == nullptr
            ? "no process initialised CUDA (cuInit), so there was nothing to record"
            : fmt::format("nothing was recorded: CUDA loads one library, and CUDA_INJECTION64_PATH "
                          "is set to '{}'; --chain loads both",
                          other));
    // In quiet mode no summary reports this.
    if (tool.empty() && other != nullptr && options_.quiet) outcome.failure = warnings_.back();
  }
  // In quiet mode no summary reports this either. If one process was recorded, there is a plan.
  if (options_.quiet && !reports_.empty()) {
    const auto stood_down = [](const ProcessReport& r) {
      return r.state == "stood_down" && r.read == 0;
    };
    if (std::all_of(reports_.begin(), reports_.end(), stood_down)) {
      outcome.failure =
          fmt::format("nothing was recorded: {}", EscapeForTerminal(reports_.front().reason));
    }
  }
  if (engine_.excluded_captured() != 0) {
    warnings_.push_back(
        fmt::format("{} launches of excluded kernels were captured before the gate knew of them",
                    engine_.excluded_captured()));
  }
  report.warnings = warnings_;
  return outcome;
}

void LiveSession::ShowEnd(LiveOutcome& outcome) {
  timeline_.SetDropped(Dropped());
  timeline_.End(engine_.status());
  ended_ = &outcome;
  overview_.Write();
  ended_ = nullptr;
  const std::string warning = overview_.Warning();
  if (!warning.empty()) outcome.report.warnings.push_back(warning);
}

// Removes the ring of the process that started this collector, if the session cannot begin: nothing
// else would read it, and it takes 16 MiB. Uses the path, because the directory may not be open.
// Does nothing if another collector has claimed the directory.
void RemoveWaitingRing(const LiveOptions& options) {
  if (::access((options.folder + "/" + shm::kMaskFileName).c_str(), F_OK) == 0) return;
  const std::string ring =
      fmt::format("{}/{}{}", options.folder, shm::kRingPrefix, options.attach_pid);
  ::unlink(ring.c_str());
  ::rmdir(options.folder.c_str());
}

// Returns the variables that the injected library needs in the program's environment.
std::vector<std::string> Environment(const LiveOptions& options, const std::string& folder) {
  std::vector<std::string> set = options.environment;
  const auto add = [&set](const char* name, const std::string& value) {
    set.push_back(std::string(name) + "=" + value);
  };
  add(shm::kEnvSession.name, folder);
  add(shm::kEnvLevel.name, options.level);
  add(shm::kEnvActuator.name, options.actuator);
  if (options.max_overhead > 0) {
    add(shm::kEnvMaxOverhead.name, fmt::format("{:.3f}", options.max_overhead));
  }
  // Programs that ncu starts end at once if the variable is set to a library.
  if (!WhyNotRecorded().empty()) return set;
  const char* other = OtherInjection(options);
  if (other != nullptr && options.chain) add(shm::kEnvChain.name, other);
  if (other == nullptr || options.chain) add(kInjectionPath, options.injector);
  if (options.preload) {
    const char* before = ::getenv("LD_PRELOAD");
    add("LD_PRELOAD",
        before != nullptr && *before != 0 ? options.injector + ":" + before : options.injector);
  }
  return set;
}

}  // namespace

Result<LiveOutcome> RunLive(const LiveOptions& options) {
  const Result<model::KernelGroups> groups =
      model::KernelGroups::Create(options.sampling.group_by, options.sampling.exclude);
  if (!groups.ok()) return groups.error();
  // A reader of our stderr that exits, or the file size limit, must not end the session and lose
  // the program's exit code. A SIGCHLD that our parent ignores would lose that code too.
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGPIPE, SIGXFSZ}) {
    if (::signal(signal, SIG_IGN) == SIG_DFL) sigaddset(&defaults, signal);
  }
  ::signal(SIGCHLD, SIG_DFL);

  SignalRelay signals;  // before the pool's threads start

  const bool attach = options.command.empty();
  Result<SessionWriter> writer =
      SessionWriter::Create(options.folder, attach                   ? SessionPlace::kExisting
                                            : options.default_folder ? SessionPlace::kDefault
                                                                     : SessionPlace::kNamed);
  if (!writer.ok()) {
    if (attach) RemoveWaitingRing(options);
    return writer.error();
  }
  char* absolute = ::realpath(writer.value().directory().path().c_str(), nullptr);
  const std::string folder = absolute != nullptr ? absolute : options.folder;
  ::free(absolute);

  Result<GateMemory> gate =
      options.level == "gate"
          ? GateMemory::InFolder(writer.value().directory(),
                                 options.share_captures ? 0 : shm::kGateByProcess,
                                 options.sampling.seed)
          : GateMemory::Own();
  Result<MaskWriter> mask = writer.value().OpenMask();
  if (!gate.ok() || !mask.ok()) {
    if (attach) {
      // The other files belong to the injected process.
      writer.value().directory().Remove(shm::kMaskFileName);
    } else {
      writer.value().Discard();
    }
    return gate.ok() ? mask.error() : gate.error();
  }

  std::optional<LiveSession> session;
  session.emplace(options, writer.value(), gate.value().table(), mask.value());
  std::optional<ChildProcess> child;
  if (!attach) {
    // Printed now, because the program may run long and quiet mode has no summary.
    const std::string why_not = WhyNotRecorded();
    if (!why_not.empty()) {
      std::fputs(fmt::format("stemtap: warning: nothing will be recorded: {}\n", why_not).c_str(),
                 stderr);
    }
    Result<ChildProcess> started = ChildProcess::Start(
        options.command, Environment(options, folder), signals.before(), defaults);
    if (!started.ok()) {
      writer.value().Discard();
      return started.error();
    }
    child = std::move(started).value();
  }
  LiveOutcome outcome;
  try {
    session->Watch(child, signals);
    outcome = session->Finish(child);
    outcome.folder = writer.value().directory().path();
    if (gate.value().lost()) {
      outcome.report.warnings.push_back(
          "gate.table was truncated by another process: no launch was captured afterwards");
    }
    const Status mask_closed = mask.value().Close();
    if (!mask_closed.ok()) outcome.report.warnings.push_back(mask_closed.error().message);
    session->ShowEnd(outcome);  // may reuse the mask's descriptor, if there are few
    const Status written = writer.value().Finish(outcome.report, outcome.plan);
    if (!written.ok()) outcome.failure = written.error().message;
    session->RemoveLeftovers();
  } catch (const std::exception& trouble) {
    session.reset();  // frees memory for the rest
    outcome = LiveOutcome{};
    outcome.gave_up = true;
    if (dynamic_cast<const std::bad_alloc*>(&trouble) != nullptr) {
      outcome.failure = "out of memory";  // short enough to be stored without allocation
    } else {
      outcome.failure = trouble.what();
    }
    if (child) AwaitEnd(*child, signals);
    if (child) outcome.report.exit_code = child->exit_code();
  }
  return outcome;
}

}  // namespace stemtap::session
