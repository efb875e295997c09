// SPDX-License-Identifier: Apache-2.0
//
// Round contains all random choices of one run: the program, how it ends, how the library is
// loaded, and which faults occur. It depends only on the seed and the round number. Times are drawn
// as fractions of the duration of the bare run, so they are within the run on any machine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stemtap::chaos {

enum class Ending {
  kReturn,
  kExit,
  kUnderscoreExit,
  kQuickExit,
  kAbort,
  kSigterm,
  kSigsegv,
  kExec,
  kThreadExit,
  kForkIdle,
  kForkExec,
  kDaemon,          // a child uses CUDA after the program has ended
  kStorm,           // exit() while threads launch, with launches in an atexit handler
  kKilledQuiet,     // SIGKILL from outside at a random time
  kKilledInStorm,   // the same while threads launch continuously
  kTermedFromAway,  // SIGTERM from outside, to `stemtap run` if there is one
  kCount
};

enum class Way {
  kRunKernels,
  kRunGate,
  kRunProfiler,
  kRunPreload,
  kVariable,
  kPreload,
  kAttach,  // without stemtap, until `stemtap attach`; drawn with FaultKind::kAttached
  kCount
};

enum class Wrapper {
  kNone,
  kShell,
  kEnv,
  kNested,
  kPython,
  kPythonFork,
  kPythonSpawn,
  kPythonForkserver,
  kCount
};

enum class FaultKind {
  kCollectorKilled,
  kCollectorKilledEarly,
  kCollectorStopped,
  kCollectorStarved,
  kFolderDeleted,
  kFolderReadOnly,
  kDiskFull,
  kFileLimit,
  kFewFiles,
  kLittleMemory,
  kTmpdirReadOnly,
  kCuptiFail,
  kCuptiOccupied,
  kZeroTimestamps,
  kCuptiDrop,
  kCuptiLate,
  kCuptiTicks,
  kCorrelationWrap,
  kCuptiVersion,
  kStaleNames,
  kSmallBuffers,
  kBadOptions,
  kNoCollector,
  kOtherTool,
  kToolAround,
  kProgramStopped,
  kFilesClosed,
  kErrorUnread,
  kHostileNames,
  kNoMoreThreads,
  kCallsRefused,
  kClockStepped,
  kOtherProfiler,
  kTwoCollectors,
  kFilesTruncated,
  kSignalsSent,
  kControlled,
  kWindows,
  kAttached,
  kCount
};

const char* NameOf(Ending ending);
const char* NameOf(Way way);
const char* NameOf(Wrapper wrapper);
const char* NameOf(FaultKind kind);
// Returns a description of the fault for the report.
const char* Explain(FaultKind kind);

using Variables = std::vector<std::pair<std::string, std::string>>;

struct Fault {
  FaultKind kind;
  int at_permille = 0;      // of the bare run's duration plus 100 ms
  std::uint64_t size = 0;   // ms, bytes, KiB, files, a mask, a tool: see draw.cpp
  Variables env;            // variables to set, also in the bare run unless of_stemtap
  bool of_stemtap = false;  // the bare program ignores its variables; set only with stemtap
  std::vector<std::string> options;  // of `stemtap run`
};

struct Round {
  std::uint64_t seed = 0;
  int number = 0;
  Ending ending = Ending::kReturn;
  Way way = Way::kRunKernels;
  Wrapper wrapper = Wrapper::kNone;
  bool quiet = true;        // -q of stemtap run
  bool gate_alone = false;  // STEMTAP_LEVEL=gate when the library is used without `stemtap run`
  long launches = 1000;
  int threads = 1;
  int devices = 1;
  int ranks = 1;
  const char* work = "plain";  // reload: loads and unloads modules; graph: launches of ten kernels
  bool real_clock = false;
  int end_permille = 0;  // when the outside signal is sent
  std::string program;   // script that runs a real program, which ends by itself; or empty
  std::vector<Fault> faults;

  bool run() const { return way <= Way::kRunPreload; }
  bool python() const { return wrapper >= Wrapper::kPython; }
  bool killed_from_away() const { return ending >= Ending::kKilledQuiet; }
  const Fault* Find(FaultKind kind) const;
  bool has(FaultKind kind) const { return Find(kind) != nullptr; }
  // Returns the value of an option of `stemtap run`, or an empty string.
  std::string OptionOf(const std::string& name) const;
};

// Machine describes what this machine supports. Unsupported faults are not drawn.
struct Machine {
  bool python = false;
  bool mounts = false;       // private tmpfs mounts
  bool filters = false;      // system calls can be intercepted (see supervisor.h)
  bool drops_rights = true;  // directories can be made unwritable (see host.h)
  std::string program;       // the program of every round; empty: programs of this test
};

// ToolStandIn replaces a profiler: a script of this name that sets these variables and runs its
// arguments.
struct ToolStandIn {
  const char* name;
  Variables variables;
};
const ToolStandIn& StandInOf(const Fault& tool_around);

Round Draw(std::uint64_t seed, int number, const Machine& machine);

// Returns a complete one-line description.
std::string Describe(const Round& round);

}  // namespace stemtap::chaos
