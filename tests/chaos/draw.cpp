// SPDX-License-Identifier: Apache-2.0
#include "chaos/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/rng.h"
#include "chaos/supervisor.h"

namespace stemtap::chaos {
namespace {

constexpr const char* kEndings[] = {
    "return",  "exit",         "_exit",           "quick_exit",      "abort",     "sigterm",
    "sigsegv", "exec",         "thread_exit",     "fork_idle",       "fork_exec", "daemon",
    "storm",   "killed_quiet", "killed_in_storm", "termed_from_away"};
constexpr const char* kWays[] = {"run kernels",   "run gate",       "run gate profiler",
                                 "run --preload", "variable alone", "LD_PRELOAD alone",
                                 "attach"};
constexpr const char* kWrappers[] = {"direct", "sh -c",       "env",          "nested scripts",
                                     "python", "python fork", "python spawn", "python forkserver"};

struct FaultText {
  const char* name;
  const char* meaning;
};
constexpr FaultText kFaults[] = {
    {"collector_killed", "SIGKILL to the collector at a drawn moment"},
    {"collector_killed_early", "SIGKILL to the collector as soon as it runs"},
    {"collector_stopped", "SIGSTOP to the collector, SIGCONT 50 to 1,500 ms later"},
    {"collector_starved", "a running collector gets no more memory from a drawn moment on"},
    {"folder_deleted", "the session directory is removed during the run"},
    {"folder_read_only", "the session directory loses its write permission during the run"},
    {"disk_full", "the session is on a file system of 64 KiB to 40 MiB"},
    {"file_limit", "RLIMIT_FSIZE of 64 KiB to 32 MiB"},
    {"few_files", "RLIMIT_NOFILE of 4 to 24"},
    {"little_memory", "RLIMIT_AS of 64 MiB to 8 GiB"},
    {"tmpdir_read_only", "TMPDIR that cannot be written"},
    {"cupti_fail", "a CUPTI call returns an error, each time or once"},
    {"cupti_occupied", "another subscriber uses CUPTI"},
    {"zero_timestamps", "every Nth record has no timestamps"},
    {"cupti_drop", "CUPTI drops every Nth record and reports it"},
    {"cupti_late", "CUPTI delivers after the flush has returned"},
    {"cupti_ticks", "CUPTI's clock does not count nanoseconds"},
    {"correlation_wrap", "correlation ids start shortly before 2^32"},
    {"cupti_version", "a CUPTI version that is older, newer or unknown"},
    {"stale_names", "kernel names disappear with their module"},
    {"small_buffers", "activity buffers of 16 KiB; flushes every 10 ms or 10 s"},
    {"bad_options", "invalid values of stemtap's environment variables"},
    {"no_collector",
     "STEMTAP_COLLECTOR is missing, a directory, not a program, or a program that fails"},
    {"other_tool", "marks of another tool in the environment"},
    {"tool_around", "a script named like a profiler sets its variables and runs everything"},
    {"program_stopped", "SIGSTOP to the program, SIGCONT 50 to 800 ms later"},
    {"files_closed", "stdin, stdout, stderr or several of them closed"},
    {"error_unread", "stderr is a pipe without a reader"},
    {"hostile_names", "kernel names of up to 20 kB with escapes, quotes and newlines"},
    {"no_more_threads", "0 to 6 threads and processes can be started, then none (EAGAIN)"},
    {"calls_refused", "system calls that containers refuse answer EPERM or ENOSYS"},
    {"clock_stepped", "the realtime clock is set, by up to three days, while a kernel runs"},
    {"other_profiler",
     "another CUPTI client uses CUPTI temporarily, once or often, as Kineto does"},
    {"two_collectors", "a second `stemtap run` with the directory of the first"},
    {"files_truncated", "rings, the gate table or a ring without a process are truncated"},
    {"signals_sent", "every signal that can be forwarded, to the collector and the program"},
    {"controlled", "stop, start and snapshot commands, in a drawn order, from a drawn moment on"},
    {"windows", "--window, often with --keep, ranges, and commands as of controlled"},
    {"attached", "no stemtap until `stemtap attach`, at a drawn moment"},
};
static_assert(std::size(kEndings) == static_cast<std::size_t>(Ending::kCount));
static_assert(std::size(kWays) == static_cast<std::size_t>(Way::kCount));
static_assert(std::size(kWrappers) == static_cast<std::size_t>(Wrapper::kCount));
static_assert(std::size(kFaults) == static_cast<std::size_t>(FaultKind::kCount));

class Chance {
 public:
  explicit Chance(Rng& rng) : rng_(rng) {}
  bool OneIn(std::uint64_t n) { return rng_.Below(n) == 0; }
  std::uint64_t Between(std::uint64_t least, std::uint64_t most) {
    return least + rng_.Below(most - least + 1);
  }
  // Returns a log-uniform value, so every order of magnitude is equally likely.
  std::uint64_t Magnitude(std::uint64_t least, std::uint64_t most) {
    std::uint64_t doublings = 0;
    while ((least << (doublings + 1)) <= most) ++doublings;
    const std::uint64_t low = least << Between(0, doublings);
    return std::min(most, Between(low, 2 * low - 1));
  }
  template <typename T, std::size_t N>
  const T& Of(const T (&choices)[N]) {
    return choices[rng_.Below(N)];
  }
  int Permille() { return static_cast<int>(rng_.Below(1001)); }

 private:
  Rng& rng_;
};

std::string RandomError(Chance& chance) {
  static const char* const kCalls[] = {"cuptiGetVersion",
                                       "cuptiSubscribe",
                                       "cuptiSubscribe_v2",
                                       "cuptiUnsubscribe",
                                       "cuptiEnableCallback",
                                       "cuptiEnableDomain",
                                       "cuptiActivityEnable",
                                       "cuptiActivityRegisterCallbacks",
                                       "cuptiActivityFlushAll",
                                       "cuptiActivityGetNextRecord",
                                       "cuptiActivityGetNumDroppedRecords",
                                       "cuptiActivitySetAttribute",
                                       "cuptiGetTimestamp",
                                       "cuptiGetResultString"};
  static const int kCodes[] = {1, 2, 7, 8, 15, 21, 27, 35, 39, 999};
  const std::string call = chance.Of(kCalls);
  const std::string which = chance.OneIn(2) ? "" : fmt::format("@{}", chance.Magnitude(1, 512));
  return fmt::format("{}{}={}", call, which, chance.Of(kCodes));
}

std::pair<std::string, std::string> RandomNonsense(Chance& chance) {
  static const std::pair<const char*, const char*> kNonsense[] = {
      {"STEMTAP_LEVEL", "everything"},
      {"STEMTAP_ACTUATOR", "\x1b[31m"},
      {"STEMTAP_FLUSH_MS", "-1"},
      {"STEMTAP_FLUSH_MS", "99999999999999999999"},
      {"STEMTAP_BUFFER_KB", "0"},
      {"STEMTAP_BUFFER_KB", "lots"},
      {"STEMTAP_CUPTI", "/dev/null"},
      {"STEMTAP_CUPTI", "/nonexistent/libcupti.so.13"},
      {"STEMTAP_OPTIONS", "--no-such-option"},
      {"STEMTAP_OPTIONS", "--threads 0 --error-bound nan"},
      {"STEMTAP_OPTIONS", "-o"},
      {"STEMTAP_SESSION", "/nonexistent/folder"},
      {"STEMTAP_SESSION", "/dev/null"},
      {"CUDA_INJECTION64_PATH", "/nonexistent/tool.so"},
      {"CUDA_INJECTION64_PATH", "none"},
      {"HOME", ""}};
  return chance.Of(kNonsense);
}

const ToolStandIn kToolStandIns[] = {
    {"ncu", {{"NV_NSIGHT_INJECTION_PORT_BASE", "49152"}, {"NV_CUDA_START_SUSPENDED", "1"}}},
    {"nsys",
     {{"NSYS_PROFILING_SESSION_ID", "1"},
      {"QUADD_INJECTION_PROXY", "NVTX"},
      {"CUDA_INJECTION64_PATH", "/nonexistent/libToolsInjection64.so"}}},
    {"compute-sanitizer", {{"NV_SANITIZER_INJECTION_PORT_BASE", "49152"}}}};

// Returns options of `stemtap run`.
std::vector<std::string> RandomWindows(Chance& chance) {
  std::vector<std::string> options = {"--window"};
  options.push_back(chance.OneIn(2) ? fmt::format("{}launches", chance.Magnitude(1, 50'000))
                                    : fmt::format("{}ms", chance.Magnitude(5, 400)));
  if (chance.OneIn(2)) {
    options.insert(options.end(), {"--keep", std::to_string(chance.Between(1, 4))});
  }
  if (chance.OneIn(3)) options.insert(options.end(), {"--only-range", "decode"});
  if (chance.OneIn(3)) {
    options.push_back("--ranges");
    if (chance.OneIn(2)) options.insert(options.end(), {"--bound", "range"});
  }
  return options;
}

Fault DrawFault(FaultKind kind, Chance& chance) {
  Fault f{kind};
  f.at_permille = chance.Permille();
  const auto number = [](std::uint64_t n) { return std::to_string(n); };
  switch (kind) {
    case FaultKind::kCollectorStopped:
      f.size = chance.Magnitude(50, 1500);  // ms
      break;
    case FaultKind::kControlled:
      f.size = chance.Between(1, (1 << 24) - 1);  // the commands
      break;
    case FaultKind::kWindows:
      f.options = RandomWindows(chance);
      f.size = chance.OneIn(3) ? 0 : chance.Between(1, (1 << 24) - 1);  // the commands; 0: none
      break;
    case FaultKind::kAttached:
      // Bit 0: -o; bit 1: -q; bits 2 and 3: the level; the others: which process.
      f.size = chance.Between(0, (1 << 12) - 1);
      break;
    case FaultKind::kProgramStopped:
      f.size = chance.Magnitude(50, 800);
      break;
    case FaultKind::kDiskFull:
      f.size = chance.Magnitude(64, 40 * 1024);  // KiB
      break;
    case FaultKind::kFileLimit:
      f.size = chance.Magnitude(64 * 1024, 32 << 20);  // bytes
      break;
    case FaultKind::kFewFiles:
      f.size = chance.Between(4, 24);
      break;
    case FaultKind::kLittleMemory:
      f.size = chance.Magnitude(64, 8192);  // MiB
      // Otherwise, malloc reserves an arena for every thread, and even without stemtap, it depends
      // on chance whether the last thread fits.
      f.env = {{"MALLOC_ARENA_MAX", "1"}};
      break;
    case FaultKind::kCuptiFail:
      f.env = {{"FAKE_CUPTI_FAIL", RandomError(chance)}};
      if (chance.OneIn(4)) f.env[0].second += "," + RandomError(chance);
      break;
    case FaultKind::kCuptiOccupied:
      f.env = {{"FAKE_CUPTI_OCCUPIED", chance.OneIn(2) ? "Nsight Systems" : "\x1b[31mevil\n"}};
      break;
    case FaultKind::kZeroTimestamps:
      f.env = {{"FAKE_CUPTI_ZERO_TIMESTAMPS", number(chance.Magnitude(1, 1000))}};
      break;
    case FaultKind::kCuptiDrop:
      f.env = {{"FAKE_CUPTI_DROP", number(chance.Magnitude(1, 1000))}};
      break;
    case FaultKind::kCuptiLate:
      f.env = {{"FAKE_CUPTI_LATE", "1"}};
      break;
    case FaultKind::kCuptiTicks: {
      static const char* const kTicks[] = {"0.001", "0.5", "1.02", "2.4", "1000"};
      f.env = {{"FAKE_CUPTI_TICKS", chance.Of(kTicks)}};
      break;
    }
    case FaultKind::kCorrelationWrap:
      f.env = {{"FAKE_CUPTI_FIRST_CORRELATION", number(0xFFFFFFFFu - chance.Between(0, 4000))}};
      break;
    case FaultKind::kCuptiVersion: {
      static const char* const kVersions[] = {"0",      "11",     "12",        "18",     "24",
                                              "26",     "27",     "28",        "130000", "130001",
                                              "140000", "999999", "4294967295"};
      f.env = {{"FAKE_CUPTI_VERSION", chance.Of(kVersions)}};
      break;
    }
    case FaultKind::kStaleNames:
      f.env = {{"FAKE_GPU_STALE_NAMES", "1"}};
      break;
    case FaultKind::kSmallBuffers: {
      static const char* const kPeriods[] = {"10", "50", "10000"};
      f.env = {{"STEMTAP_BUFFER_KB", "16"}, {"STEMTAP_FLUSH_MS", chance.Of(kPeriods)}};
      f.of_stemtap = true;
      break;
    }
    case FaultKind::kBadOptions:
      for (std::uint64_t left = chance.Between(1, 3); left != 0; --left) {
        f.env.push_back(RandomNonsense(chance));
      }
      f.of_stemtap = true;
      break;
    case FaultKind::kNoCollector: {
      static const char* const kNoPrograms[] = {"/nonexistent/stemtap", "/tmp", "/dev/null",
                                                "/bin/false", "/etc/hostname"};
      f.env = {{"STEMTAP_COLLECTOR", chance.Of(kNoPrograms)}};
      f.of_stemtap = true;
      break;
    }
    case FaultKind::kOtherTool: {
      static const std::pair<const char*, const char*> kTools[] = {
          {"NSYS_PROFILING_SESSION_ID", "1"},
          {"NV_NSIGHT_INJECTION_PORT_BASE", "49152"},
          {"NV_SANITIZER_INJECTION_PORT", "1"},
          {"QUADD_INJECTION_PROXY", "LD_PRELOAD"},
          {"LD_PRELOAD", "/nonexistent/other_tool.so"}};
      f.env = {chance.Of(kTools)};
      break;
    }
    case FaultKind::kToolAround:
      f.size = chance.Between(0, std::size(kToolStandIns) - 1);
      break;
    case FaultKind::kFilesClosed:
      f.size = chance.Between(1, 7);  // bit n: descriptor n
      break;
    case FaultKind::kNoMoreThreads:
      f.size = chance.Between(0, 6);
      break;
    case FaultKind::kClockStepped: {
      const auto ns = static_cast<std::int64_t>(chance.Magnitude(1'000, 259'200'000'000'000));
      f.env = {{"FAKE_GPU_CLOCK_STEP_AT", number(chance.Magnitude(1, 20'000))},
               {"FAKE_GPU_CLOCK_STEP_NS", std::to_string(chance.OneIn(2) ? ns : -ns)}};
      break;
    }
    case FaultKind::kOtherProfiler: {
      const auto one_or_none = [&chance] { return chance.OneIn(2) ? "1" : "0"; };
      f.env = {{"LD_PRELOAD", STEMTAP_TEST_FAKE_KINETO},
               {"FAKE_KINETO_SUBSCRIBE", one_or_none()},
               {"FAKE_KINETO_TEARDOWN", one_or_none()},
               {"FAKE_KINETO_TSC", one_or_none()},
               {"FAKE_KINETO_ROUNDS", number(chance.Magnitude(1, 16))}};
      // The profiler starts and stops by launches, or by time for programs with few launches.
      const std::uint64_t start = chance.Magnitude(1, 20'000);
      const bool by_launches = chance.OneIn(2);
      f.env.emplace_back(by_launches ? "FAKE_KINETO_START" : "FAKE_KINETO_START_MS",
                         number(by_launches ? start : start / 100));
      if (!chance.OneIn(4)) {
        const std::uint64_t stop = start + chance.Magnitude(1, 20'000);
        f.env.emplace_back(by_launches ? "FAKE_KINETO_STOP" : "FAKE_KINETO_STOP_MS",
                           number(by_launches ? stop : stop / 100 + 1));
      }
      break;
    }
    case FaultKind::kTwoCollectors:
      f.size = chance.OneIn(2);  // 1: starts at once, so it may be first
      break;
    case FaultKind::kFilesTruncated:
      // 1: rings; 2: the gate table; 4: a ring without a process, whose truncation does not end the
      // program
      f.size = chance.OneIn(2) ? 4 : chance.Between(1, 7);
      break;
    case FaultKind::kCallsRefused:
      // One family, or a random subset of families.
      f.size = chance.OneIn(2) ? std::uint64_t{1} << chance.Between(0, Supervisor::kFamilies - 1)
                               : chance.Between(1, (1u << Supervisor::kFamilies) - 1);
      break;
    default:
      break;
  }
  return f;
}

bool StartsNothing(Ending ending) {
  switch (ending) {
    case Ending::kReturn:
    case Ending::kExit:
    case Ending::kUnderscoreExit:
    case Ending::kQuickExit:
    case Ending::kAbort:
    case Ending::kSigterm:
    case Ending::kSigsegv:
    case Ending::kExec:
    case Ending::kKilledQuiet:
    case Ending::kTermedFromAway:
      return true;
    default:
      return false;
  }
}

// Returns whether the program must be one of this test: it prepares for the fault, or does not
// depend on resources that are taken away.
bool NeedsOwnProgram(FaultKind kind) {
  switch (kind) {
    case FaultKind::kFewFiles:
    case FaultKind::kLittleMemory:
    case FaultKind::kNoMoreThreads:
    case FaultKind::kCallsRefused:
    case FaultKind::kFilesClosed:
    case FaultKind::kHostileNames:
    case FaultKind::kSignalsSent:
    case FaultKind::kOtherProfiler:
      return true;
    default:
      return false;
  }
}

bool Fits(const Round& round, FaultKind kind, const Machine& machine) {
  if (!round.program.empty() && NeedsOwnProgram(kind)) return false;
  switch (kind) {
    case FaultKind::kNoCollector:
      return !round.run();  // the collector is not requested
    case FaultKind::kDiskFull:
      return machine.mounts;
    case FaultKind::kFolderReadOnly:
    case FaultKind::kTmpdirReadOnly:
      return machine.drops_rights;
    case FaultKind::kHostileNames:
      return !round.python();
    case FaultKind::kNoMoreThreads:  // another CUPTI client starts CUPTI's thread itself
      return machine.filters && !round.python() && !round.has(FaultKind::kOtherProfiler) &&
             !round.has(FaultKind::kAttached);
    case FaultKind::kCallsRefused:
      return machine.filters;
    case FaultKind::kErrorUnread:
      return !round.has(FaultKind::kFilesClosed);
    case FaultKind::kFilesClosed:
      return !round.has(FaultKind::kErrorUnread) && !round.python();
    case FaultKind::kOtherTool:  // this fault may also preload it
      return !round.has(FaultKind::kOtherProfiler);
    case FaultKind::kOtherProfiler:
      return !round.has(FaultKind::kOtherTool) && !round.has(FaultKind::kNoMoreThreads);
    case FaultKind::kTwoCollectors:
      // The second collector recreates the directory.
      return !round.has(FaultKind::kFolderDeleted) && !round.has(FaultKind::kControlled) &&
             !round.has(FaultKind::kWindows) && !round.has(FaultKind::kAttached);
    case FaultKind::kFolderDeleted:
      return !round.has(FaultKind::kTwoCollectors);
    case FaultKind::kControlled:  // the commands belong to one session
      return !round.has(FaultKind::kTwoCollectors);
    case FaultKind::kWindows:
      return round.run() && !round.has(FaultKind::kTwoCollectors);
    case FaultKind::kAttached:
      // The first thread that the program starts would be stemtap's instead of CUPTI's.
      return !round.has(FaultKind::kTwoCollectors) && !round.has(FaultKind::kWindows) &&
             !round.has(FaultKind::kNoMoreThreads);
    case FaultKind::kFilesTruncated:  // a collector without memory cannot replace the pages
      return !round.has(FaultKind::kCollectorStarved) && !round.has(FaultKind::kLittleMemory);
    case FaultKind::kCollectorStarved:
    case FaultKind::kLittleMemory:
      return !round.has(FaultKind::kFilesTruncated);
    case FaultKind::kCollectorKilledEarly:
      return !round.has(FaultKind::kCollectorKilled);
    case FaultKind::kCollectorKilled:
      return !round.has(FaultKind::kCollectorKilledEarly);
    default:
      return true;
  }
}

void DrawWorkload(Round& round, Chance& chance) {
  round.launches = static_cast<long>(chance.Magnitude(1, 200'000));
  round.real_clock = chance.OneIn(3);
  if (round.real_clock) round.launches = std::min(round.launches, 20'000l);
  if (chance.OneIn(2)) round.threads = static_cast<int>(chance.Magnitude(2, 64));
  if (chance.OneIn(60)) round.threads = 1000;
  if (chance.OneIn(4)) round.devices = static_cast<int>(chance.Between(2, 8));
  if (chance.OneIn(4)) {
    round.work = chance.OneIn(2) ? "reload" : "graph";
    round.threads = 1;
  }
  if (chance.OneIn(5)) {
    round.ranks = static_cast<int>(chance.Between(2, 8));
    round.launches = std::min(round.launches, 30'000l);
    round.threads = std::min(round.threads, 16);
  }
}

// Limits the number of windows, because each is a directory with eight files.
void LimitWindows(const Round& round, std::vector<std::string>& options) {
  constexpr long kMaxWindows = 100;
  if (!options[1].ends_with("launches")) return;
  const bool is_endless = round.ending == Ending::kStorm ||
                          round.ending == Ending::kKilledInStorm ||
                          round.ending == Ending::kThreadExit || !round.program.empty();
  const long least = is_endless ? 20'000 : round.launches * round.ranks / kMaxWindows;
  options[1] = fmt::format("{}launches", std::max(std::stol(options[1]), least));
}

}  // namespace

const char* NameOf(Ending ending) {
  return kEndings[static_cast<int>(ending)];
}
const char* NameOf(Way way) {
  return kWays[static_cast<int>(way)];
}
const char* NameOf(Wrapper wrapper) {
  return kWrappers[static_cast<int>(wrapper)];
}
const char* NameOf(FaultKind kind) {
  return kFaults[static_cast<int>(kind)].name;
}
const char* Explain(FaultKind kind) {
  return kFaults[static_cast<int>(kind)].meaning;
}

const ToolStandIn& StandInOf(const Fault& tool_around) {
  return kToolStandIns[tool_around.size];
}

const Fault* Round::Find(FaultKind kind) const {
  for (const Fault& f : faults) {
    if (f.kind == kind) return &f;
  }
  return nullptr;
}

std::string Round::OptionOf(const std::string& name) const {
  for (const Fault& f : faults) {
    for (std::size_t i = 0; i + 1 < f.options.size(); ++i) {
      if (f.options[i] == name) return f.options[i + 1];
    }
  }
  return "";
}

Round Draw(std::uint64_t seed, int number, const Machine& machine) {
  Rng rng(seed * 1'000'003 + static_cast<std::uint64_t>(number));
  Chance chance(rng);
  Round round;
  round.seed = seed;
  round.number = number;
  round.way = static_cast<Way>(chance.Between(0, static_cast<int>(Way::kPreload)));
  round.ending = static_cast<Ending>(chance.Between(0, static_cast<int>(Ending::kCount) - 1));
  round.quiet = chance.OneIn(2);
  round.gate_alone = chance.OneIn(3);
  round.end_permille = chance.Permille();
  DrawWorkload(round, chance);
  if (chance.OneIn(2)) {
    // Python starts slowly, so only one round in eight uses it.
    const bool python = chance.OneIn(4) && machine.python;
    round.wrapper = python ? static_cast<Wrapper>(chance.Between(4, 7))
                           : static_cast<Wrapper>(chance.Between(1, 3));
  }
  if (round.python()) {
    static const Ending kPythonEndings[] = {Ending::kReturn,         Ending::kExit,
                                            Ending::kUnderscoreExit, Ending::kAbort,
                                            Ending::kSigterm,        Ending::kKilledQuiet};
    round.ending = chance.Of(kPythonEndings);
    round.launches = std::min(round.launches, 3000l);
    round.ranks = round.threads = round.devices = 1;
    round.work = "plain";
  }
  if (round.ending == Ending::kStorm || round.ending == Ending::kKilledInStorm ||
      round.ending == Ending::kThreadExit) {
    round.launches = std::min(round.launches, 50'000l);
    round.work = "plain";
  }
  // The signal must reach `stemtap run` or the program directly, without a wrapper in between.
  if (round.ending == Ending::kTermedFromAway) {
    round.wrapper = Wrapper::kNone;
    round.ranks = 1;
  }
  if (!machine.program.empty()) {
    round.program = machine.program;
    round.ending = Ending::kReturn;
    round.wrapper = Wrapper::kNone;
    round.launches = 0;  // unknown
    round.ranks = round.threads = round.devices = 1;
    round.work = "plain";
  }
  const std::uint64_t wanted = chance.Between(0, 3);
  while (round.faults.size() < wanted) {
    const auto kind =
        static_cast<FaultKind>(chance.Between(0, static_cast<int>(FaultKind::kCount) - 1));
    Fault fault = DrawFault(kind, chance);
    if (round.has(kind) || !Fits(round, kind, machine)) continue;
    round.faults.push_back(std::move(fault));
    if (kind == FaultKind::kAttached) round.way = Way::kAttach;
  }
  for (Fault& fault : round.faults) {
    if (fault.kind != FaultKind::kOtherProfiler || round.threads == 1) continue;
    // The profiler tears CUPTI down during a launch. With several threads, that fails even without
    // stemtap.
    for (auto& [name, value] : fault.env) {
      if (name == "FAKE_KINETO_TEARDOWN") value = "0";
    }
  }
  for (Fault& fault : round.faults) {
    if (fault.kind == FaultKind::kWindows) LimitWindows(round, fault.options);
    // With fewer files, Python ends by itself, before or after it is killed.
    if (fault.kind == FaultKind::kFewFiles && round.python() && round.killed_from_away()) {
      fault.size = 64;
    }
    // A program that maps a truncated file ends, and a pool of multiprocessing waits for its
    // workers for ever.
    if (fault.kind == FaultKind::kFilesTruncated && round.python()) fault.size = 4;
  }
  if (round.way == Way::kAttach && !round.python() && !chance.OneIn(4)) {
    // Most programs run long enough to be attached to.
    round.real_clock = true;
    round.launches = std::clamp(round.launches, 5'000l, 20'000l);
  }
  if (round.has(FaultKind::kNoMoreThreads)) {
    // A program that starts threads or processes would also fail without stemtap.
    round.threads = round.ranks = 1;
    round.wrapper = Wrapper::kNone;
    if (!StartsNothing(round.ending)) round.ending = Ending::kReturn;
  }
  return round;
}

std::string Describe(const Round& r) {
  const std::string program =
      r.program.empty() ? fmt::format("{} launches", r.launches) : r.program;
  std::string text = fmt::format("{}, {}, ends by {}: {}", NameOf(r.way), NameOf(r.wrapper),
                                 NameOf(r.ending), program);
  if (r.threads != 1) text += fmt::format(", {} threads", r.threads);
  if (r.devices != 1) text += fmt::format(", {} devices", r.devices);
  if (r.ranks != 1) text += fmt::format(", {} ranks", r.ranks);
  if (r.work != std::string_view("plain")) text += fmt::format(", {}", r.work);
  if (r.real_clock) text += ", real clock";
  for (const Fault& f : r.faults) {
    text += fmt::format("; {} (at {}, size {})", NameOf(f.kind), f.at_permille, f.size);
    for (const std::string& option : f.options) text += " " + option;
  }
  return text;
}

}  // namespace stemtap::chaos
