// SPDX-License-Identifier: Apache-2.0
#include "chaos/round.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "chaos/host.h"
#include "chaos/supervisor.h"
#include "session/session_directory.h"
#include "shm/ring.h"
#include "shm/session_env.h"
#include "support/paths.h"

namespace stemtap::chaos {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr int kTickMs = 2;
// Maximum extra time of a program compared with its bare run, and maximum time for which the
// processes that it started may outlive it.
constexpr long kPatienceMs = 60'000;
constexpr long kLeaveMs = 30'000;
constexpr long kNominalMs = 400;

long MsSince(Clock::time_point begin) {
  return static_cast<long>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count());
}

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Run is one of the two runs of a round.
struct Run {
  fs::path folder;  // contains out, err, truth.*, pids/, and work/, the program's directory
  std::string mark;
  Start start;
  std::unique_ptr<Supervisor> supervisor;
  int status = 0;
  bool timed_out = false;
  long ms = 0;
  // Only for the run with stemtap.
  std::optional<int> program_status;  // if the collector was killed and the program is an orphan
  bool program_known = false;
  bool collector_killed = false;
  std::vector<pid_t> left;
  pid_t controller = 0;      // sends commands to the session
  pid_t second = 0;          // another `stemtap run`
  pid_t attacher = 0;        // `stemtap attach`
  Attempt attempt;           // its result
  std::string second_error;  // what the second run printed
  Breaches breaches;

  fs::path work() const { return folder / "work"; }
  std::string out() const { return Anywhere(ReadAll(folder / "out")); }
  std::string err() const { return Anywhere(ReadAll(folder / "err")); }
  // Replaces the run's directory in `text`, because the program's output may contain it.
  std::string Anywhere(std::string text) const {
    const std::string here = folder.string();
    for (std::size_t at = text.find(here); at != std::string::npos; at = text.find(here)) {
      text.replace(at, here.size(), "FOLDER");
    }
    return text;
  }
  bool program_ran() const { return !fs::is_empty(folder / "pids"); }
  std::vector<pid_t> programs() const {
    std::vector<pid_t> pids;
    for (const auto& entry : fs::directory_iterator(folder / "pids")) {
      pids.push_back(static_cast<pid_t>(std::stol(entry.path().filename().string())));
    }
    return pids;
  }
};

void WriteScript(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
  ::chmod(path.c_str(), 0700);
}

std::string Quoted(const std::string& word) {
  std::string result = "'";
  for (const char c : word) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + "'";
}

std::string Joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + Quoted(word);
  return line;
}

std::string VictimEnding(Ending ending) {
  switch (ending) {
    case Ending::kKilledQuiet:
    case Ending::kTermedFromAway:
      return "wait";
    case Ending::kKilledInStorm:
      return "storm";
    default:
      return NameOf(ending);
  }
}

std::vector<std::string> ProgramCommand(const Round& round, const fs::path& folder,
                                        const std::string& python) {
  std::vector<std::string> command;
  if (!round.program.empty()) {
    return {"/bin/sh", "-c", "mkdir -p \"$CHAOS_PIDS/$$\"; exec \"$0\"", round.program};
  }
  const std::string ending = VictimEnding(round.ending);
  if (round.python()) {
    std::string mode = NameOf(round.wrapper);
    mode = mode == "python" ? "ctypes" : mode.substr(7);
    return {python, (test::SourceDir() / "tests/chaos/victim.py").string(), mode,
            std::to_string(round.launches), ending};
  }
  command = {test::TestProgram("chaos_victim").string(),
             fmt::format("launches={}",
                         round.ending == Ending::kKilledInStorm ? 1'000'000'000 : round.launches),
             fmt::format("threads={}", round.threads),
             fmt::format("devices={}", round.devices),
             fmt::format("ranks={}", round.ranks),
             fmt::format("names={}", round.has(FaultKind::kHostileNames) ? "hostile" : "plain"),
             fmt::format("work={}", round.work),
             fmt::format("ranges={}", round.has(FaultKind::kWindows) ? 1 : 0),
             "end=" + ending};
  switch (round.wrapper) {
    case Wrapper::kShell:
      return {"/bin/sh", "-c", Joined(command) + "; exit $?"};
    case Wrapper::kEnv:
      command.insert(command.begin(), {"/usr/bin/env", "CHAOS_WRAPPED=1"});
      return command;
    case Wrapper::kNested:
      WriteScript(folder / "inner.sh", "#!/bin/sh\nexec " + Joined(command) + "\n");
      WriteScript(folder / "outer.sh", "#!/bin/sh\n" + Quoted((folder / "inner.sh").string()) +
                                           "\ncode=$?\nexit $code\n");
      return {(folder / "outer.sh").string()};
    default:
      return command;
  }
}

void Set(Variables& variables, const std::string& name, const std::string& value) {
  std::erase_if(variables, [&](const auto& v) { return v.first == name; });
  variables.emplace_back(name, value);
}

Variables BareVariables(const Round& round, const Run& run) {
  const char* path = ::getenv("PATH");
  Variables v = {{"PATH", path != nullptr ? path : "/usr/bin:/bin"},
                 {"HOME", run.folder.string()},
                 {"LANG", "C"},
                 {"PYTHONDONTWRITEBYTECODE", "1"},
                 {"LD_LIBRARY_PATH", test::FakeGpuDir().string()},
                 {"CHAOS_PIDS", (run.folder / "pids").string()},
                 {"FAKE_GPU_TRUTH", (run.folder / "truth.%p").string()},
                 // A traced launch is slow, and so are concurrent launches of other threads.
                 {"FAKE_GPU_CAPTURE_FACTOR", "20"},
                 {"FAKE_GPU_CLOCK", round.real_clock ? "real" : "virtual"}};
  if (round.has(FaultKind::kTmpdirReadOnly)) Set(v, "TMPDIR", (run.folder / "readonly").string());
  for (const Fault& f : round.faults) {
    if (f.of_stemtap) continue;
    for (const auto& [name, value] : f.env) Set(v, name, value);
  }
  const std::size_t equals = run.mark.find('=');
  Set(v, run.mark.substr(0, equals), run.mark.substr(equals + 1));
  return v;
}

// Configures how the library is loaded.
void AddStemtap(const Round& round, Variables& v, std::vector<std::string>& command) {
  const std::string library = test::InjectorLibrary().string();
  const auto preload = [&] {
    for (const auto& [name, value] : Variables(v)) {
      if (name == "LD_PRELOAD") return Set(v, name, library + ":" + value);
    }
    Set(v, "LD_PRELOAD", library);
  };
  if (round.run()) {
    std::vector<std::string> run = {test::StemtapProgram().string(), "run", "-o", "session"};
    if (round.quiet) run.push_back("-q");
    if (round.way == Way::kRunGate || round.way == Way::kRunProfiler) {
      run.insert(run.end(), {"--level", "gate"});
    }
    if (round.way == Way::kRunProfiler) run.insert(run.end(), {"--actuator", "profiler"});
    if (round.way == Way::kRunPreload) run.push_back("--preload");
    for (const Fault& f : round.faults) run.insert(run.end(), f.options.begin(), f.options.end());
    run.push_back("--");
    command.insert(command.begin(), run.begin(), run.end());
  } else {
    if (round.way == Way::kVariable) Set(v, "CUDA_INJECTION64_PATH", library);
    if (round.way == Way::kPreload) preload();
    if (round.gate_alone) Set(v, "STEMTAP_LEVEL", "gate");
    if (round.quiet) Set(v, "STEMTAP_OPTIONS", "-q");
  }
  for (const Fault& f : round.faults) {
    if (!f.of_stemtap) continue;
    for (const auto& [name, value] : f.env) Set(v, name, value);
  }
}

// Returns the signals that are sent to the program and to the collector. The program ignores them.
// Excludes SIGTERM, which ends programs, SIGABRT, SIGCHLD and fault signals.
std::vector<int> SignalsToSend() {
  std::vector<int> signals;
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    const bool left_out = signal == SIGKILL || signal == SIGSTOP || signal == SIGTERM ||
                          signal == SIGABRT || signal == SIGCHLD || signal == SIGSEGV ||
                          signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
                          signal == SIGTRAP || signal == SIGSYS ||
                          (signal > 31 && signal < SIGRTMIN);
    if (!left_out) signals.push_back(signal);
  }
  return signals;
}

// Makes the program ignore the signals; `stemtap run` does not ignore them.
void IgnoreSignals(std::vector<std::string>& command) {
  std::string trap = "trap ''";
  for (const int signal : SignalsToSend()) trap += " " + std::to_string(signal);
  command.insert(command.begin(), {"/bin/sh", "-c", trap + "; exec \"$0\" \"$@\""});
}

// Like ncu, the stand-in runs nothing if a CUDA injection library is set, unless it is the user's.
std::string WriteStandIn(const ToolStandIn& tool, const Round& round, const fs::path& folder) {
  std::string script = "#!/bin/sh\n";
  if (round.way != Way::kVariable) {
    script += "[ ! -f \"${CUDA_INJECTION64_PATH-}\" ] || exit 1\n";
  }
  for (const auto& [name, value] : tool.variables) {
    script += fmt::format("{}={}\nexport {}\n", name, Quoted(value), name);
  }
  WriteScript(folder / tool.name, script + "exec \"$@\"\n");
  return (folder / tool.name).string();
}

Run Prepare(const Round& round, const fs::path& folder, const std::string& python,
            bool with_stemtap) {
  Run run;
  run.folder = folder;
  run.mark = fmt::format("CHAOS_MARK={}.{}.{}.{}", ::getpid(), round.seed, round.number,
                         with_stemtap ? "stemtap" : "bare");
  fs::create_directories(run.folder / "pids");
  fs::create_directories(run.work());
  if (const Fault* f = round.Find(FaultKind::kDiskFull)) {
    if (!MountSmall(run.work(), f->size)) run.breaches.push_back("harness: tmpfs not mounted");
  }
  if (round.has(FaultKind::kTmpdirReadOnly)) {
    fs::create_directory(run.folder / "readonly");
    ::chmod((run.folder / "readonly").c_str(), 0500);
  }
  Start& start = run.start;
  start.argv = ProgramCommand(round, run.folder, python);
  if (round.has(FaultKind::kSignalsSent)) IgnoreSignals(start.argv);
  Variables variables = BareVariables(round, run);
  if (with_stemtap) AddStemtap(round, variables, start.argv);
  if (const Fault* f = round.Find(FaultKind::kToolAround)) {
    start.argv.insert(start.argv.begin(), WriteStandIn(StandInOf(*f), round, run.folder));
  }
  for (const auto& [name, value] : variables) start.environment.push_back(name + "=" + value);
  start.cwd = run.work();
  start.out = run.folder / "out";
  start.err = run.folder / "err";
  if (const Fault* f = round.Find(FaultKind::kFilesClosed)) start.closed = f->size;
  start.error_unread = round.has(FaultKind::kErrorUnread);
  if (const Fault* f = round.Find(FaultKind::kFileLimit)) start.file_limit = f->size;
  if (const Fault* f = round.Find(FaultKind::kFewFiles)) start.few_files = f->size;
  if (const Fault* f = round.Find(FaultKind::kLittleMemory)) start.memory_limit = f->size << 20;
  Refusals refusals;
  if (const Fault* f = round.Find(FaultKind::kCallsRefused)) refusals.families = f->size;
  if (const Fault* f = round.Find(FaultKind::kNoMoreThreads)) refusals.starts = f->size;
  if (refusals.families != 0 || refusals.starts) {
    run.supervisor = std::make_unique<Supervisor>(refusals);
    start.supervisor = run.supervisor.get();
  }
  return run;
}

std::vector<fs::path> SessionFolders(const fs::path& work) {
  std::vector<fs::path> folders;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(work, gone)) {
    if (IsSessionFolder(entry.path())) folders.push_back(entry.path());
  }
  return folders;
}

// Tormentor applies the faults of a round to a run at the drawn times.
class Tormentor {
 public:
  Tormentor(const Round& round, Run& run, pid_t root, long span_ms, bool with_stemtap)
      : round_(round), run_(run), root_(root), span_ms_(span_ms), stemtap_(with_stemtap) {}

  // Called every few milliseconds until no process of the run is alive.
  void Act(long now_ms, bool root_ended) {
    if (round_.killed_from_away() && now_ms >= span_ms_ * round_.end_permille / 1000) {
      EndProgram(root_ended);
    }
    if (const Fault* f = Due(FaultKind::kProgramStopped, now_ms)) StopPrograms(*f, now_ms);
    if (program_until_ >= 0 && now_ms >= program_until_)
      Continue(stopped_programs_, program_until_);
    if (Due(FaultKind::kSignalsSent, now_ms) != nullptr) SendSignals();
    if (!stemtap_) return;
    if (const Fault* f = round_.Find(FaultKind::kTwoCollectors)) StartSecond(*f, now_ms);
    if (const Fault* f = Due(FaultKind::kFilesTruncated, now_ms)) TruncateFiles(*f, now_ms);
    if (const Fault* f = Due(FaultKind::kControlled, now_ms)) StartController(*f);
    if (const Fault* f = Due(FaultKind::kWindows, now_ms); f != nullptr && f->size != 0) {
      StartController(*f);
    }
    if (const Fault* f = Due(FaultKind::kAttached, now_ms)) StartAttacher(*f);
    const bool look = Due(FaultKind::kCollectorKilled, now_ms) != nullptr ||
                      Due(FaultKind::kCollectorKilledEarly, now_ms) != nullptr ||
                      Due(FaultKind::kCollectorStopped, now_ms) != nullptr ||
                      (Due(FaultKind::kSignalsSent, now_ms) != nullptr && !signaled_);
    const bool starve = Due(FaultKind::kCollectorStarved, now_ms) != nullptr;
    if (look || (starve && starved_.empty()) || now_ms - looked_ms_ >= 20) {
      looked_ms_ = now_ms;
      FindCollectors();
    }
    if (Due(FaultKind::kCollectorKilled, now_ms) != nullptr ||
        round_.has(FaultKind::kCollectorKilledEarly)) {
      KillCollectors();
    }
    if (starve) StarveCollectors();
    if (const Fault* f = Due(FaultKind::kCollectorStopped, now_ms)) StopCollectors(*f, now_ms);
    if (collector_until_ >= 0 && now_ms >= collector_until_) {
      Continue(stopped_collectors_, collector_until_);
    }
    if (Due(FaultKind::kFolderDeleted, now_ms) != nullptr && !deleted_) DeleteFolders();
    if (Due(FaultKind::kFolderReadOnly, now_ms) != nullptr && !made_read_only_) LockFolders();
  }

  const std::set<pid_t>& collectors() const { return collectors_; }
  const std::set<pid_t>& killed() const { return killed_; }
  // Needed if the collector ended before it saw the ring.
  void RemoveFakeRing() const {
    std::error_code gone;
    if (!fake_.empty()) fs::remove(fake_, gone);
    if (fake_fd_ >= 0) ::close(fake_fd_);
  }
  pid_t program() const { return program_; }

 private:
  const Fault* Due(FaultKind kind, long now_ms) const {
    const Fault* f = round_.Find(kind);
    return f != nullptr && now_ms >= span_ms_ * f->at_permille / 1000 ? f : nullptr;
  }

  void EndProgram(bool root_ended) {
    if (root_ended && !run_.collector_killed) return;
    if (round_.ending != Ending::kTermedFromAway) {
      for (const pid_t pid : run_.programs()) ::kill(pid, SIGKILL);
    } else if (!terminated_ && run_.program_ran()) {
      // A killed collector forwards no signals.
      if (!stemtap_ || !round_.run() || killed_.contains(root_)) {
        for (const pid_t pid : run_.programs()) ::kill(pid, SIGTERM);
      } else {
        ::kill(root_, SIGTERM);
      }
      terminated_ = !killed_.contains(root_) || !stemtap_;
    }
  }

  void StopPrograms(const Fault& f, long now_ms) {
    if (program_until_ != -1) return;
    for (const pid_t pid : run_.programs()) {
      if (::kill(pid, SIGSTOP) == 0) stopped_programs_.insert(pid);
    }
    if (!stopped_programs_.empty()) program_until_ = now_ms + static_cast<long>(f.size);
  }

  void StopCollectors(const Fault& f, long now_ms) {
    if (collector_until_ != -1) return;
    for (const pid_t pid : collectors_) {
      if (::kill(pid, SIGSTOP) == 0) stopped_collectors_.insert(pid);
    }
    if (!stopped_collectors_.empty()) collector_until_ = now_ms + static_cast<long>(f.size);
  }

  void Continue(const std::set<pid_t>& stopped, long& until) {
    for (const pid_t pid : stopped) ::kill(pid, SIGCONT);
    until = -2;  // only once
  }

  void FindCollectors() {
    for (const pid_t pid : Marked(run_.mark)) {
      // A child of `stemtap run` also runs stemtap until it execs the program.
      if (round_.run() && pid != root_) continue;
      if (!collectors_.contains(pid) && ProgramOf(pid) == test::StemtapProgram()) {
        collectors_.insert(pid);
      }
    }
    // After its collector is killed, the program becomes a child of this process.
    if (program_ == 0 && round_.run() && collectors_.contains(root_)) {
      for (const pid_t child : ChildrenOf(root_)) program_ = child;
    }
  }

  void KillCollectors() {
    for (const pid_t pid : collectors_) {
      if (killed_.contains(pid)) continue;
      if (pid == root_) {
        ::kill(pid, SIGSTOP);  // no child may appear between the check and the kill
        for (const pid_t child : ChildrenOf(root_)) program_ = child;
      }
      if (::kill(pid, SIGKILL) == 0) {
        killed_.insert(pid);
        run_.collector_killed = true;
      }
    }
  }

  void StarveCollectors() {
    // The program would inherit the limit and could not start.
    if (round_.run() && (program_ == 0 || ProgramOf(program_) == test::StemtapProgram())) return;
    for (const pid_t pid : collectors_) {
      const rlimit nothing{1, 1};  // existing mappings remain
      // Before the collector has started, it could not even throw, so this would be a kill.
      if (starved_.contains(pid) || !HasOpen(pid, "mask.ndjson")) continue;
      starved_.insert(pid);
      ::prlimit(pid, RLIMIT_AS, &nothing, nullptr);
    }
  }

  void DeleteFolders() {
    for (const fs::path& folder : SessionFolders(run_.work())) {
      std::error_code busy;
      fs::remove_all(folder, busy);
      deleted_ = true;
    }
  }

  void LockFolders() {
    const auto folders = SessionFolders(run_.work());
    for (const fs::path& folder : folders) ::chmod(folder.c_str(), 0500);
    if (folders.empty() && !round_.run()) ::chmod(run_.work().c_str(), 0500);
    made_read_only_ = !folders.empty() || !round_.run();
  }

  // Sends signals once the program runs. Before that, the program would not ignore them and
  // `stemtap run` would not block them.
  void SendSignals() {
    if (signaled_ || !run_.program_ran()) return;
    if (stemtap_ && collectors_.empty()) FindCollectors();
    for (const int signal : SignalsToSend()) {
      for (const pid_t pid : run_.programs()) ::kill(pid, signal);
      for (const pid_t pid : collectors_) {
        // These signals end the session of a collector that the library started.
        const bool ends = signal == SIGHUP || signal == SIGINT || signal == SIGQUIT;
        if (round_.run() || !ends) ::kill(pid, signal);
      }
    }
    signaled_ = true;
  }

  // The second run has no mark, so it does not count as a collector of the program.
  void StartSecond(const Fault& f, long now_ms) {
    if (run_.second != 0) return;
    const auto folders = SessionFolders(run_.work());
    const bool at_once = f.size == 1 && round_.run();
    if (!at_once && (folders.empty() || Due(f.kind, now_ms) == nullptr)) return;
    Start start;
    start.argv = {test::StemtapProgram().string(),
                  "run",
                  "-q",
                  "-o",
                  at_once ? "session" : folders.front().string(),
                  "--",
                  test::TestProgram("chaos_victim").string(),
                  "launches=2000",
                  "end=return"};
    fs::create_directory(run_.folder / "second.pids");
    start.environment = {"PATH=/usr/bin:/bin", "LD_LIBRARY_PATH=" + test::FakeGpuDir().string(),
                         "CHAOS_PIDS=" + (run_.folder / "second.pids").string()};
    start.cwd = run_.work();
    start.out = run_.folder / "second.out";
    start.err = run_.folder / "second.err";
    run_.second = StartProcess(start);
  }

  // Each command may fail, because the session ends; it must not crash, and what it writes must be
  // readable.
  void StartController(const Fault& f) {
    const auto folders = SessionFolders(run_.work());
    std::error_code gone;
    if (run_.controller != 0 || folders.empty() ||
        !fs::exists(folders.front() / session::kControlFileName, gone)) {
      return;
    }
    Start start;
    start.argv = {"/bin/sh",
                  "-c",
                  R"(
      i=0
      while [ -S "$2/control" ] && [ $i -lt 12 ]; do
        case $(( ($4 >> i) % 4 )) in
          0) "$1" stop "$2" -q ;;
          1) "$1" start "$2" -q ;;
          *) "$1" snapshot "$2" -q -o "$3/$i" && { "$1" stats "$3/$i" > /dev/null || echo BREACH; } ;;
        esac
        [ $? -lt 126 ] || echo BREACH
        sleep 0.0$(( ($4 >> i) % 10 ))
        i=$(( i + 1 ))
      done)",
                  "controller",
                  test::StemtapProgram().string(),
                  folders.front().string(),
                  (run_.folder / "snapshots").string(),
                  std::to_string(f.size)};
    fs::create_directory(run_.folder / "snapshots");
    start.environment = {"PATH=/usr/bin:/bin"};
    start.cwd = run_.folder;
    start.out = run_.folder / "controller.out";
    start.err = run_.folder / "controller.err";
    run_.controller = StartProcess(start);
  }

  // Without the mark, because it is not a collector.
  void StartAttacher(const Fault& f) {
    if (run_.attacher != 0) return;
    std::vector<pid_t> programs = run_.programs();
    std::erase_if(programs, [](pid_t pid) { return ::kill(pid, 0) != 0; });
    if (programs.empty()) return;
    std::sort(programs.begin(), programs.end());
    run_.attempt.pid = programs[(f.size >> 4) % programs.size()];
    Start start;
    start.argv = {test::StemtapProgram().string(), "attach", std::to_string(run_.attempt.pid)};
    if ((f.size & 1) != 0) start.argv.insert(start.argv.end(), {"-o", "session"});
    if ((f.size & 2) != 0) start.argv.push_back("-q");
    if (const auto level = f.size >> 2 & 3; level != 0) {
      start.argv.insert(start.argv.end(), {"--level", level == 1 ? "kernels" : "gate"});
    }
    start.environment = {"PATH=/usr/bin:/bin"};
    start.cwd = run_.work();
    start.out = run_.folder / "attach.out";
    start.err = run_.folder / "attach.err";
    run_.attacher = StartProcess(start);
  }

  void TruncateFiles(const Fault& f, long now_ms) {
    if (fake_fd_ >= 0 && now_ms >= fake_until_) {
      static_cast<void>(!::ftruncate(fake_fd_, 0));
      ::close(fake_fd_);
      fake_fd_ = -1;
    }
    const auto folders = SessionFolders(run_.work());
    if (truncated_ || folders.empty()) return;
    std::error_code gone;
    // Before a collector has claimed the directory, it refuses one that is not empty.
    const bool fake = (f.size & 4) != 0;
    if (fake && !fs::exists(folders.front() / shm::kMaskFileName, gone)) return;
    truncated_ = true;
    for (const auto& entry : fs::directory_iterator(folders.front(), gone)) {
      const std::string name = entry.path().filename().string();
      const bool ring = shm::IsRingName(name.c_str()) && (f.size & 1) != 0;
      const bool gate = name == shm::kGateFileName && (f.size & 2) != 0;
      if (ring || gate) static_cast<void>(!::truncate(entry.path().c_str(), 0));
    }
    if (fake) MakeFakeRing(folders.front(), now_ms);
  }

  // Creates a ring that the collector attributes to this process and keeps mapped.
  void MakeFakeRing(const fs::path& folder, long now_ms) {
    constexpr long kMappedMs = 100;  // five polls of the collector
    shm::RingHeader header;
    header.file_bytes = sizeof(shm::RingFile);
    header.pid = ::getpid();
    header.seen = header.kept = 5;
    header.state = static_cast<std::uint32_t>(shm::RingState::kRecording);
    fake_ = folder / fmt::format("{}{}", shm::kRingPrefix, ::getpid());
    const fs::path hidden = folder / (shm::kUnfinishedPrefix + fake_.filename().string());
    fake_fd_ = ::open(hidden.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fake_fd_ < 0) return;
    const bool made = ::ftruncate(fake_fd_, sizeof(shm::RingFile)) == 0 &&
                      ::pwrite(fake_fd_, &header, sizeof(header), 0) == sizeof(header) &&
                      ::rename(hidden.c_str(), fake_.c_str()) == 0;
    if (!made) ::unlink(hidden.c_str());
    fake_until_ = now_ms + kMappedMs;
  }

  const Round& round_;
  Run& run_;
  const pid_t root_;
  const long span_ms_;
  const bool stemtap_;
  std::set<pid_t> collectors_, killed_, starved_, stopped_collectors_, stopped_programs_;
  pid_t program_ = 0;
  long program_until_ = -1;  // -1: not stopped yet, -2: continued
  long collector_until_ = -1;
  long looked_ms_ = -1000;
  bool terminated_ = false, deleted_ = false, made_read_only_ = false;
  bool signaled_ = false, truncated_ = false;
  fs::path fake_;  // a ring of no process
  int fake_fd_ = -1;
  long fake_until_ = 0;
};

// Runs until the last process has ended.
void Execute(const Round& round, Run& run, long bare_ms, bool with_stemtap) {
  Reaper reaper;
  const auto begin = Clock::now();
  const pid_t root = StartProcess(run.start);
  // Scales drawn times to the run. A program that runs until it is killed has no duration.
  const long span_ms = round.killed_from_away() || !with_stemtap ? kNominalMs : bare_ms + 100;
  Tormentor tormentor(round, run, root, span_ms, with_stemtap);
  std::optional<int> status;
  for (;;) {
    const bool alive = reaper.Collect();
    const long now = MsSince(begin);
    if (!status) {
      status = reaper.StatusOf(root);
      if (status) run.ms = now;
    }
    tormentor.Act(now, status.has_value());
    if (status) {
      // An orphaned program may run as long as the bare run.
      if (!alive || now > run.ms + kLeaveMs + bare_ms) {
        run.left = Marked(run.mark);
        break;
      }
    } else if (now > bare_ms + kPatienceMs) {
      run.timed_out = true;
      run.left = Marked(run.mark);
      break;
    }
    ::poll(nullptr, 0, kTickMs);
  }
  for (const pid_t pid : run.left) ::kill(pid, SIGKILL);
  if (run.timed_out) ::kill(root, SIGKILL);
  while (!Marked(run.mark).empty()) ::poll(nullptr, 0, kTickMs);
  reaper.Collect();
  if (run.supervisor) run.supervisor->End();
  tormentor.RemoveFakeRing();
  if (run.controller != 0) {
    const auto ended = Clock::now();
    while (!reaper.StatusOf(run.controller) && MsSince(ended) < kLeaveMs) {
      reaper.Collect();
      ::poll(nullptr, 0, kTickMs);
    }
    const std::optional<int> end = reaper.StatusOf(run.controller);
    const std::string said = ReadAll(run.folder / "controller.out");
    if (!end || said.find("BREACH") != std::string::npos) {
      run.breaches.push_back(fmt::format("controller: {}, '{:.200}'",
                                         end ? StatusText(*end) : "still runs",
                                         said + ReadAll(run.folder / "controller.err")));
      ::kill(run.controller, SIGKILL);
    }
  }
  if (run.attacher != 0) {
    const auto ended = Clock::now();
    while (!reaper.StatusOf(run.attacher) && MsSince(ended) < kLeaveMs) {
      reaper.Collect();
      ::poll(nullptr, 0, kTickMs);
    }
    run.attempt.status = reaper.StatusOf(run.attacher);
    run.attempt.errors = ReadAll(run.folder / "attach.err");
    if (!run.attempt.status) ::kill(run.attacher, SIGKILL);
  }
  if (run.second != 0) {
    const auto ended = Clock::now();
    while (!reaper.StatusOf(run.second) && MsSince(ended) < kLeaveMs) {
      reaper.Collect();
      ::poll(nullptr, 0, kTickMs);
    }
    run.second_error = ReadAll(run.folder / "second.err");
    const std::optional<int> end = reaper.StatusOf(run.second);
    const bool won = end && WIFEXITED(*end) && WEXITSTATUS(*end) == 0;
    const bool refused = end && WIFEXITED(*end) && WEXITSTATUS(*end) == 1 &&
                         run.second_error.starts_with("stemtap: ");
    if (!won && !refused) {
      run.breaches.push_back(fmt::format("second collector: {}, '{:.100}'",
                                         end ? StatusText(*end) : "still runs", run.second_error));
      ::kill(run.second, SIGKILL);
    }
  }
  if (status) run.status = *status;
  if (run.collector_killed && tormentor.program() != 0) {
    run.program_known = true;
    run.program_status = reaper.StatusOf(tormentor.program());
  }
  for (const pid_t pid : tormentor.collectors()) {
    const std::optional<int> end = reaper.StatusOf(pid);
    if (!end || !WIFSIGNALED(*end) || tormentor.killed().contains(pid)) continue;
    // SIGTERM may reach `stemtap run` before it installs its handler.
    if (round.ending == Ending::kTermedFromAway && WTERMSIG(*end) == SIGTERM) continue;
    // The loader reports a preloaded library that does not exist, before main.
    const Fault* tool = round.Find(FaultKind::kOtherTool);
    if (round.has(FaultKind::kErrorUnread) && tool != nullptr &&
        tool->env[0].first == "LD_PRELOAD" && WTERMSIG(*end) == SIGPIPE) {
      continue;
    }
    run.breaches.push_back(fmt::format("collector: ended by {}", StatusText(*end)));
  }
}

void Unlock(const Run& run) {
  ::chmod(run.work().c_str(), 0700);
  for (const fs::path& folder : SessionFolders(run.work())) ::chmod(folder.c_str(), 0700);
}

bool IsShort(const Round& round) {
  for (const FaultKind kind :
       {FaultKind::kDiskFull, FaultKind::kFileLimit, FaultKind::kFewFiles, FaultKind::kLittleMemory,
        FaultKind::kFilesClosed, FaultKind::kNoMoreThreads}) {
    if (round.has(kind)) return true;
  }
  return false;
}

// Returns whether the library is disabled by the user or by another tool's environment.
bool StaysOut(const Round& round) {
  if (round.has(FaultKind::kToolAround)) return true;
  if (const Fault* f = round.Find(FaultKind::kOtherTool)) {
    if (!round.run() || f->env[0].first != "LD_PRELOAD")
      return true;  // LD_PRELOAD does not identify a tool
  }
  if (const Fault* f = round.Find(FaultKind::kBadOptions); f != nullptr && !round.run()) {
    for (const auto& [name, value] : f->env) {
      if (name == "CUDA_INJECTION64_PATH" || name == "STEMTAP_SESSION") return true;
    }
  }
  return false;
}

// Checks that stemtap can read the plan that it wrote.
Breaches CheckPlanIsRead(const Session& session, const Run& like) {
  const fs::path plan = session.folder / "plan.json";
  if (session.samples == 0) return {};  // no tool accepts an empty plan
  Start start;
  start.argv = {test::StemtapProgram().string(),
                "export",
                "--plan",
                plan.string(),
                "--to",
                "csv",
                "-o",
                (like.folder / "exported.csv").string()};
  start.environment = {like.mark};
  start.cwd = like.folder;
  start.out = like.folder / "export.out";
  start.err = like.folder / "export.err";
  const pid_t pid = StartProcess(start);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return {fmt::format("unreadable: {}: {:.200}", plan.string(), ReadAll(start.err))};
}

// Checks that stemtap's commands read the first and the last windows.
Breaches CheckPartsAreRead(const std::map<std::uint64_t, Session>& parts, const Run& like) {
  constexpr std::size_t kEach = 2;
  Breaches breaches;
  std::size_t index = 0;
  for (const auto& [number, part] : parts) {
    const std::size_t at = index++;
    if (!part.finished || (at >= kEach && at + kEach < parts.size())) continue;
    const Breaches unread = CheckPlanIsRead(part, like);
    breaches.insert(breaches.end(), unread.begin(), unread.end());
  }
  return breaches;
}

// Returns `out` with one open file less in the first line that differs from `bare`, if that line
// has one more.
std::string WithoutSocket(const std::string& out, const std::string& bare) {
  constexpr std::string_view kFiles = "\nfiles ";
  for (std::size_t at = bare.find(kFiles); at != std::string::npos;
       at = bare.find(kFiles, at + 1)) {
    const std::size_t digits = at + kFiles.size();
    if (out.compare(0, digits, bare, 0, digits) != 0) break;
    const int files = std::atoi(out.c_str() + digits);
    if (files != std::atoi(bare.c_str() + digits) + 1) continue;
    return fmt::format("{}{}{}", out.substr(0, digits), files - 1,
                       out.substr(out.find(' ', digits)));
  }
  return out;
}

// Returns `out` without the SIGCHLD of a child that started the collector while the program
// continued as another program.
std::string WithoutStarter(std::string out) {
  constexpr std::string_view kSignal = "sigchld 1 ";
  const std::size_t at = out.rfind(kSignal);
  if (at != std::string::npos) out.replace(at, kSignal.size(), "sigchld 0 ");
  return out;
}

// Returns why an attempt was refused, without what differs between processes.
std::string Reason(const Attempt& attempt) {
  std::string line = attempt.errors.substr(0, attempt.errors.find_last_not_of('\n') + 1);
  line = line.substr(line.rfind('\n') + 1);
  std::erase_if(line, [](char c) { return c >= '0' && c <= '9'; });
  return line.substr(0, 100);
}

// Checks that a session whose collector was killed can be recovered, and read then.
Breaches CheckRecovers(const Session& session, const Run& like) {
  for (const char* command : {"recover", "stats"}) {
    Start start;
    start.argv = {test::StemtapProgram().string(), command, session.folder.string()};
    start.environment = {like.mark};
    start.cwd = like.folder;
    start.out = like.folder / "recover.out";
    start.err = like.folder / "recover.err";
    const pid_t pid = StartProcess(start);
    int status = 0;
    ::waitpid(pid, &status, 0);
    const std::string said = ReadAll(start.err);
    // A directory that its collector had not claimed yet contains no session, and a collector that
    // was killed before it had a socket could be running.
    if (said.find("contains no session") != std::string::npos ||
        said.find("its session may be running") != std::string::npos) {
      return {};
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      return {fmt::format("unreadable: {} {}: {:.200}", command, session.folder.string(), said)};
    }
  }
  return {};
}

}  // namespace

Verdict Play(const Round& round, const fs::path& folder, const std::string& python, bool verbose) {
  const auto begin = Clock::now();
  Verdict verdict;
  const auto add = [&verdict](const Breaches& more) {
    verdict.breaches.insert(verdict.breaches.end(), more.begin(), more.end());
  };
  std::set<std::string> memory = SharedMemory();

  Run bare = Prepare(round, folder / "bare", python, false);
  Execute(round, bare, 30'000, false);
  if (bare.timed_out || !bare.left.empty()) {
    verdict.breaches = {"harness: the bare program does not end"};
    return verdict;
  }
  // Even without stemtap, Python cannot always remove its semaphores. Their names are random.
  const bool leaves_memory = SharedMemory() != memory;
  memory = SharedMemory();
  Run run = Prepare(round, folder / "stemtap", python, true);
  verdict.by_hand = fmt::format("cd {} && env -i", Quoted(run.work().string()));
  for (const std::string& v : run.start.environment) verdict.by_hand += " " + Quoted(v);
  verdict.by_hand += " " + Joined(run.start.argv);
  Execute(round, run, bare.ms, true);
  Unlock(run);
  if (verbose) {
    fmt::print("bare: {} after {} ms\n{}{}with stemtap: {} after {} ms\n{}{}",
               StatusText(bare.status), bare.ms, bare.out(), bare.err(), StatusText(run.status),
               run.ms, run.out(), run.err());
  }

  Circumstances about;
  const Fault* none = round.Find(FaultKind::kNoCollector);
  // A collector that fails as soon as it starts is equivalent to a killed one.
  bool fails = none != nullptr && none->env[0].second == "/bin/false";
  if (const Fault* f = round.Find(FaultKind::kBadOptions); f != nullptr && !round.run()) {
    for (const auto& [name, value] : f->env) fails |= name == "STEMTAP_OPTIONS";
  }
  about.collector_killed = run.collector_killed || fails;
  about.folder_touched = round.has(FaultKind::kFolderDeleted) ||
                         round.has(FaultKind::kFolderReadOnly) || round.has(FaultKind::kDiskFull) ||
                         round.has(FaultKind::kFileLimit) ||
                         round.has(FaultKind::kCollectorStarved);
  const Fault* truncated = round.Find(FaultKind::kFilesTruncated);
  about.files_truncated = truncated != nullptr;
  // A program that maps a truncated file ends with SIGBUS.
  const bool may_die = truncated != nullptr && (truncated->size & 3) != 0;
  about.folder_deleted = round.has(FaultKind::kFolderDeleted);
  about.nothing_is_removed = run.collector_killed || round.has(FaultKind::kFolderReadOnly);
  // A program that is attached to may also end while another thread starts the recording.
  about.may_die_unborn =
      (!round.run() && round.killed_from_away()) || (run.attacher != 0 && !run.attempt.accepted());
  about.unheard_launches = round.ending == Ending::kStorm || round.ending == Ending::kThreadExit ||
                           round.has(FaultKind::kOtherProfiler);
  // The kernel during which the clock is set has a different duration. Times of a clock that does
  // not count nanoseconds are converted, and rounded.
  about.names_exact = !round.has(FaultKind::kHostileNames) && !round.has(FaultKind::kStaleNames) &&
                      !round.has(FaultKind::kClockStepped) && !round.has(FaultKind::kCuptiTicks);
  const Fault* closed = round.Find(FaultKind::kFilesClosed);
  about.error_visible =
      !round.has(FaultKind::kErrorUnread) && (closed == nullptr || (closed->size & 4) == 0);
  about.stays_out = StaysOut(round);
  const Fault* windows = round.Find(FaultKind::kWindows);
  const Fault* attached = round.Find(FaultKind::kAttached);
  about.attached = attached != nullptr;
  about.controlled = round.has(FaultKind::kControlled) || about.attached ||
                     (windows != nullptr && windows->size != 0);
  about.windows = windows != nullptr;
  const std::string keep = round.OptionOf("--keep");
  if (!keep.empty()) about.keep = std::stoull(keep);
  about.execs = round.ending == Ending::kExec;
  about.quiet = round.quiet;
  // The options of `stemtap attach -o` replace the program's.
  if (attached != nullptr && (attached->size & 1) != 0) about.quiet = false;
  if (const Fault* f = round.Find(FaultKind::kBadOptions); f != nullptr && !round.run()) {
    for (const auto& [name, value] : f->env) about.quiet &= name != "STEMTAP_OPTIONS";
  }

  if (run.supervisor) verdict.refused_calls = run.supervisor->refused();

  add(bare.breaches);
  add(run.breaches);
  add(CheckProcesses(run.left));
  // Python leaves semaphores if it is killed before it can remove them.
  const bool may_leave_memory = leaves_memory || (round.python() && round.killed_from_away());
  if (!may_leave_memory) add(CheckSharedMemory(memory, SharedMemory()));
  if (run.timed_out) verdict.breaches.push_back("hang: the program ends 60 s later than alone");
  const std::string errors = run.err();
  // If stemtap lacks resources, it may refuse to start, and then the program does not run.
  const bool may_refuse = round.run() && (IsShort(round) || round.has(FaultKind::kFolderReadOnly) ||
                                          round.has(FaultKind::kFolderDeleted) ||
                                          round.has(FaultKind::kCollectorStarved) ||
                                          round.has(FaultKind::kTwoCollectors));
  verdict.refused = may_refuse && !run.program_ran() && WIFEXITED(run.status) &&
                    WEXITSTATUS(run.status) != 0 &&
                    (bare.program_ran() ? !errors.empty() || !about.error_visible
                                        : errors.starts_with("stemtap: "));
  const bool never_began = run.collector_killed && round.run() && !run.program_ran();
  if (!verdict.refused && !never_began && !run.timed_out && !may_die) {
    if (!run.collector_killed || !round.run()) {
      const bool before_it_listens = round.ending == Ending::kTermedFromAway &&
                                     WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGTERM;
      if (!before_it_listens) add(CheckStatus(bare.status, run.status, round.run()));
    } else if (run.program_known && run.program_status) {
      add(CheckStatus(bare.status, *run.program_status, false));
    }
    // A process that could not record waits for 'stemtap start', at one socket.
    const bool may_wait = run.attacher != 0 && !run.attempt.accepted();
    std::string out = may_wait ? WithoutSocket(run.out(), bare.out()) : run.out();
    if (run.attacher != 0 && about.execs) out = WithoutStarter(std::move(out));
    add(CheckOutput(bare.out(), out));
    if (about.error_visible) {
      // The messages that Python's processes print when another one ends depend on timing.
      const bool comparable = !round.python() || !round.killed_from_away();
      const bool exact = comparable && about.quiet && !about.collector_killed;
      add(CheckErrors(comparable ? bare.err() : "", errors, exact));
    }
  }

  std::vector<Session> sessions;
  for (const fs::path& session : SessionFolders(run.work())) {
    const Session last = ReadSession(session, about, verdict.breaches);
    add(CheckPlanIsRead(last, run));
    std::map<std::uint64_t, Session> parts;
    if (about.windows) {
      for (const auto& [number, part] : WindowFolders(session)) {
        parts[number] = ReadSession(part, about, verdict.breaches);
      }
      verdict.windows += parts.size();
      add(CheckWindows(last, parts, about));
      add(CheckPartsAreRead(parts, run));
    }
    sessions.push_back(Joined(parts, last, about));
  }
  if (run.attacher != 0) {
    add(CheckAttempt(run.attempt, sessions, about));
    verdict.attach = run.attempt.accepted() ? "accepted" : Reason(run.attempt);
  }
  // A killed collector leaves a session that can be recovered.
  if (run.collector_killed && !about.folder_touched && !about.files_truncated) {
    for (const Session& session : sessions) {
      if (!session.finished && !session.unborn) add(CheckRecovers(session, run));
    }
  }
  const Truths truths = ReadTruths(run.folder, about.names_exact);
  if (!verdict.refused) add(CheckAccounts(sessions, truths, errors, about));
  add(CheckNothingElse(run.work()));
  for (const auto& [pid, truth] : truths) verdict.launches += truth.launches;
  for (const Session& s : sessions) {
    verdict.kept += s.kept;
    verdict.dropped += s.dropped;
    for (const Account& p : s.processes) verdict.disabled |= p.state == "disabled";
  }
  if (round.has(FaultKind::kDiskFull)) {
    Unmount(bare.work());
    Unmount(run.work());
  }
  verdict.seconds = static_cast<double>(MsSince(begin)) / 1000;
  return verdict;
}

}  // namespace stemtap::chaos
