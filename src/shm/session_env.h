// SPDX-License-Identifier: Apache-2.0
//
// Environment variables that configure the injected library: all variables that
// libstemtap_inject.so reads, with their defaults. The table in docs/guide/options.md is generated
// from this table. Also defines the names of the files in a session directory.
//
// Used by the injected library: needs libc only.
#pragma once

namespace stemtap::shm {

struct EnvSpec {
  const char* name;
  const char* fallback;  // "" = unset
  const char* help;
};

inline constexpr EnvSpec kEnvSession = {
    "STEMTAP_SESSION", "", "session folder to record into; unset: start a collector of one's own"};
inline constexpr EnvSpec kEnvLevel = {"STEMTAP_LEVEL", "kernels",
                                      "graph: a graph launch is timed as one; kernels: every "
                                      "kernel is; gate: also decide at each launch"};
inline constexpr EnvSpec kEnvActuator = {"STEMTAP_ACTUATOR", "log",
                                         "log: only note captures; profiler: cuProfilerStart/Stop "
                                         "around captured launches; library:PATH: "
                                         "call a library of one's own"};
inline constexpr EnvSpec kEnvMaxCaptures = {
    "STEMTAP_MAX_CAPTURES_PER_SECOND", "",
    "most captures per second and process, 0: any number; unset: 100, log any number"};
inline constexpr EnvSpec kEnvWatchdogMs = {
    "STEMTAP_WATCHDOG_MS", "30000",
    "a capture that takes longer than this is the last one, 0: never, up to 3600000 ms"};
inline constexpr EnvSpec kEnvFlushMs = {
    "STEMTAP_FLUSH_MS", "200", "how often finished records are fetched from CUPTI, 10 to 10000 ms"};
inline constexpr EnvSpec kEnvMaxOverhead = {
    "STEMTAP_MAX_OVERHEAD", "",
    "percent of the program's time, 0.001 to 100, beyond which recording stops"};
inline constexpr EnvSpec kEnvBufferKb = {"STEMTAP_BUFFER_KB", "512",
                                         "size of one activity buffer, 16 to 16384 KiB"};
inline constexpr EnvSpec kEnvCupti = {
    "STEMTAP_CUPTI", "", "path of the libcupti to load when the program has none loaded"};
inline constexpr EnvSpec kEnvCollector = {
    "STEMTAP_COLLECTOR", "",
    "path of the stemtap program; unset: ../bin/stemtap beside the library"};
inline constexpr EnvSpec kEnvOptions = {"STEMTAP_OPTIONS", "",
                                        "options for a collector that the library starts, as for "
                                        "stemtap run; -o names the session directory"};
inline constexpr EnvSpec kEnvChain = {
    "STEMTAP_CHAIN", "", "path of another CUDA injection library, to be loaded after this one"};
inline constexpr EnvSpec kEnvDisable = {"STEMTAP_DISABLE", "", "1: do nothing at all"};

inline constexpr EnvSpec kEnvTable[] = {
    kEnvSession, kEnvLevel,       kEnvActuator, kEnvMaxCaptures, kEnvWatchdogMs,
    kEnvFlushMs, kEnvMaxOverhead, kEnvBufferKb, kEnvCupti,       kEnvCollector,
    kEnvOptions, kEnvChain,       kEnvDisable};

// STEMTAP_ACTUATOR is this prefix and a path if the actuator is a library.
inline constexpr char kLibraryActuator[] = "library:";
// Default of STEMTAP_MAX_CAPTURES_PER_SECOND for all actuators except log. The cheapest real
// capture, the counters of one pass, takes a few milliseconds, so 100 captures take a few tenths of
// a second. Without the limit, a program with hundreds of kernels seems to hang at its start.
inline constexpr unsigned kDefaultCapturesPerSecond = 100;
inline constexpr unsigned kMaxCapturesPerSecond = 1000000;

// Maximum bytes of the absolute path of a session directory. Leaves room for a file name within
// PATH_MAX (4,096 bytes).
inline constexpr unsigned kMaxSessionPathBytes = 4000;

// File names in a session directory.
// The mask is also the file with which the collector claims the directory.
inline constexpr const char* kMaskFileName = "mask.ndjson";
inline constexpr const char* kRingPrefix = "ring.";              // + pid
inline constexpr const char* kUnfinishedPrefix = "new.";         // + the final name
inline constexpr const char* kSessionFileName = "session.json";  // exists if the session has ended
inline constexpr const char* kGateFileName = "gate.table";

// Returns whether `name` is the name of a ring file: the prefix followed by digits.
inline bool IsRingName(const char* name) noexcept {
  for (const char* c = kRingPrefix; *c != 0; ++c, ++name) {
    if (*name != *c) return false;
  }
  if (*name == 0) return false;
  while (*name >= '0' && *name <= '9') ++name;
  return *name == 0;
}

}  // namespace stemtap::shm
