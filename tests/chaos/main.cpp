// SPDX-License-Identifier: Apache-2.0
//
//   chaos_test [--seed S] [--rounds N] [--minutes M] [--round R] [--fault NAME] [--program SCRIPT]
//              [--keep]
//   chaos_test --storm LAUNCHES
//
// Injects faults into live runs on the simulated GPU and checks the result of each run (see
// docs/reliability.md). Round R of seed S is the same on every machine. Ends after N rounds or M
// minutes, whichever comes first. --round plays only that round and prints details; --fault plays
// only rounds with that fault. --program injects faults into a real program on the simulated GPU,
// which an executable script starts by exec and which prints the same each time. Prints a table of
// the drawn faults. Exits with 1 if there was a breach, or with 77 if it cannot run on this
// machine. --storm plays LAUNCHES launches at maximum speed without faults and checks that each
// launch is accounted for.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "chaos/draw.h"
#include "chaos/host.h"
#include "chaos/round.h"
#include "chaos/supervisor.h"
#include "support/paths.h"

namespace stemtap::chaos {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::uint64_t seed = 1;
  int rounds = 1'000'000;
  double minutes = 1;
  int only = -1;
  long storm = 0;
  std::string fault;
  std::string program;
  bool keep = false;
};

bool Parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--keep") {
      options.keep = true;
      continue;
    }
    if (i + 1 == argc) return false;
    if (name == "--fault" || name == "--program") {
      (name == "--fault" ? options.fault : options.program) = argv[++i];
      continue;
    }
    char* end = nullptr;
    const double number = std::strtod(argv[++i], &end);
    if (end == argv[i] || *end != 0 || number < 0) return false;
    if (name == "--seed") {
      options.seed = static_cast<std::uint64_t>(number);
    } else if (name == "--rounds") {
      options.rounds = static_cast<int>(number);
    } else if (name == "--minutes") {
      options.minutes = number;
    } else if (name == "--storm") {
      options.storm = static_cast<long>(number);
    } else if (name == "--round") {
      options.only = static_cast<int>(number);
    } else {
      return false;
    }
  }
  return true;
}

// Returns the path of the Python interpreter. `python3` may be a script that starts many processes.
std::string FindPython() {
  std::FILE* answer =
      ::popen("python3 -c 'import sys, ctypes; print(sys.executable)' 2>/dev/null", "r");
  if (answer == nullptr) return "";
  char line[4096] = {};
  const bool read = std::fgets(line, sizeof(line), answer) != nullptr;
  if (::pclose(answer) != 0 || !read) return "";
  line[std::strcspn(line, "\n")] = 0;
  return line;
}

struct Tally {
  int rounds = 0;
  int breached = 0;
  int refused = 0;
  int disabled = 0;
  std::uint64_t launches = 0, kept = 0, dropped = 0;
  std::map<std::string, int> drawn;
  std::map<FaultKind, int> faults;
  std::map<std::string, int> refused_calls;
};

void Count(const Round& round, const Verdict& verdict, Tally& tally) {
  ++tally.rounds;
  tally.breached += !verdict.breaches.empty();
  tally.refused += verdict.refused;
  tally.disabled += verdict.disabled;
  tally.launches += verdict.launches;
  tally.kept += verdict.kept;
  tally.dropped += verdict.dropped;
  ++tally.drawn[fmt::format("way: {}", NameOf(round.way))];
  ++tally.drawn[fmt::format("by: {}", NameOf(round.wrapper))];
  ++tally.drawn[fmt::format("end: {}", NameOf(round.ending))];
  if (round.ranks > 1) ++tally.drawn["ranks: 2 to 8"];
  if (round.threads > 1)
    ++tally.drawn[round.threads == 1000 ? "threads: 1000" : "threads: 2 to 64"];
  ++tally.drawn[fmt::format("work: {}", round.work)];
  if (round.devices > 1) ++tally.drawn["devices: 2 to 8"];
  ++tally.drawn[round.real_clock ? "clock: real" : "clock: virtual"];
  ++tally.drawn[fmt::format("faults: {}", round.faults.size())];
  for (const Fault& f : round.faults) ++tally.faults[f.kind];
  if (round.has(FaultKind::kAttached)) {
    ++tally.drawn["attach: " + (verdict.attach.empty() ? "too late" : verdict.attach)];
  }
  if (round.has(FaultKind::kWindows)) {
    ++tally.drawn[verdict.windows == 0   ? "windows: 1"
                  : verdict.windows < 10 ? "windows: 2 to 10"
                                         : "windows: more than 10"];
  }
  for (const auto& [call, times] : verdict.refused_calls) tally.refused_calls[call] += times;
}

void PrintTable(const Tally& tally) {
  fmt::print("| fault | what it is | rounds |\n|---|---|---|\n");
  for (const auto& [kind, rounds] : tally.faults) {
    fmt::print("| `{}` | {} | {} |\n", NameOf(kind), Explain(kind), rounds);
  }
  fmt::print("\n| drawn | rounds |\n|---|---|\n");
  for (const auto& [what, rounds] : tally.drawn) fmt::print("| {} | {} |\n", what, rounds);
  if (!tally.refused_calls.empty()) fmt::print("\n| refused | times |\n|---|---|\n");
  for (const auto& [call, times] : tally.refused_calls) fmt::print("| {} | {} |\n", call, times);
  fmt::print(
      "\n{} rounds, {} with a breach; {} in which stemtap could not begin and said so; in {} a "
      "process was disabled.\n{} launches known to the fake driver; {} kept and {} dropped in "
      "sessions.\n",
      tally.rounds, tally.breached, tally.refused, tally.disabled, tally.launches, tally.kept,
      tally.dropped);
}

// Returns 0 if no launch is missing.
int PlayStorm(const Options& options, const fs::path& base) {
  Round round;
  round.way = Way::kRunGate;
  round.launches = options.storm;
  round.threads = 8;
  const Verdict verdict = Play(round, base / "storm", "", false);
  const auto launches = static_cast<std::uint64_t>(options.storm);
  fmt::print(
      "storm: {} launches of 8 threads in gate level, {} kept, {} dropped and counted; {:.1f} s\n",
      verdict.launches, verdict.kept, verdict.dropped, verdict.seconds);
  Breaches breaches = verdict.breaches;
  if (verdict.launches != launches || verdict.kept + verdict.dropped != launches) {
    breaches.push_back(fmt::format("storm: {} launches were asked for", launches));
  }
  for (const std::string& breach : breaches) fmt::print("BREACH {}\n", breach);
  std::error_code busy;
  if (!options.keep) fs::remove_all(base, busy);
  return breaches.empty() ? 0 : 1;
}

int Main(const Options& options) {
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  AdoptOrphans();
  Machine machine;
  machine.mounts = OwnMounts();
  machine.filters = Supervisor::Works();
  const std::string python = FindPython();
  machine.python = !python.empty();
  machine.program = options.program;
  std::string pattern = (fs::temp_directory_path() / "stemtap-chaos-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    fmt::print("SKIPPED: {}: cannot be created\n", pattern);
    return 77;
  }
  const fs::path base = pattern;
  fmt::print("seed {}, {} cores, {}, {}, {}; {}\n", options.seed,
             std::thread::hardware_concurrency(), machine.python ? "python" : "no python",
             machine.mounts ? "own mounts" : "no mounts",
             machine.filters ? "filters" : "no filters", base.string());
  if (options.storm != 0) return PlayStorm(options, base);
  Tally tally;
  const auto begin = std::chrono::steady_clock::now();
  const int first = options.only >= 0 ? options.only : 0;
  const int past = options.only >= 0 ? options.only + 1 : options.rounds;
  for (int number = first; number < past; ++number) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (options.only < 0 && spent.count() > options.minutes * 60) break;
    const Round round = Draw(options.seed, number, machine);
    const auto wanted = [&](const Fault& f) { return options.fault == NameOf(f.kind); };
    if (!options.fault.empty() && std::none_of(round.faults.begin(), round.faults.end(), wanted)) {
      continue;
    }
    const bool verbose = options.only >= 0;
    if (verbose) fmt::print("{}\n", Describe(round));
    const fs::path folder = base / fmt::format("{}", number);
    const Verdict verdict = Play(round, folder, python, verbose);
    Count(round, verdict, tally);
    for (const std::string& breach : verdict.breaches) {
      fmt::print("BREACH seed {} round {}: {}\n", options.seed, number, breach);
    }
    if (!verdict.breaches.empty()) {
      fmt::print("  {}\n  repeat: --seed {} --round {} --keep\n  by hand: {}\n", Describe(round),
                 options.seed, number, verdict.by_hand);
    }
    if (verbose || verdict.seconds > 20) {
      fmt::print("round {}: {:.1f} s\n", number, verdict.seconds);
    }
    std::error_code busy;
    if (!options.keep) fs::remove_all(folder, busy);
  }
  PrintTable(tally);
  std::error_code busy;
  if (!options.keep) fs::remove_all(base, busy);
  return tally.breached != 0 ? 1 : 0;
}

}  // namespace
}  // namespace stemtap::chaos

int main(int argc, char** argv) {
  stemtap::chaos::Options options;
  if (!stemtap::chaos::Parse(argc, argv, options)) {
    std::fputs(
        "usage: chaos_test [--seed S] [--rounds N] [--minutes M] [--round R]"
        " [--fault NAME] [--program SCRIPT] [--keep]\n"
        "       chaos_test --storm LAUNCHES [--keep]\n",
        stderr);
    return 2;
  }
  return stemtap::chaos::Main(options);
}
