// SPDX-License-Identifier: Apache-2.0
//
// Environment variables that configure the injected library: all variables that
// libstemtap_inject.so reads, with their defaults and their descriptions for the manual page. Also
// defines the names of the files in a session directory.
//
// Used by the injected library: needs libc only.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

namespace stemtap::shm {

struct EnvSpec {
  const char* name;
  const char* fallback;  // "" = unset
  const char* help;
};

inline constexpr EnvSpec kEnvSession = {
    "STEMTAP_SESSION", "", "session directory to record into; unset: starts a separate collector"};
inline constexpr EnvSpec kEnvLevel = {"STEMTAP_LEVEL", "kernels",
                                      "graph: time each graph launch as one; kernels: time every "
                                      "kernel; gate: also decide at each launch"};
inline constexpr EnvSpec kEnvActuator = {
    "STEMTAP_ACTUATOR", "log",
    "log: list captures only; profiler: cuProfilerStart/Stop around captured launches; "
    "library:PATH: call your own library"};
inline constexpr EnvSpec kEnvMaxCaptures = {
    "STEMTAP_MAX_CAPTURES_PER_SECOND", "",
    "maximum captures per second and process (0 = unlimited); unset: 100, or unlimited with log"};
inline constexpr EnvSpec kEnvWatchdogMs = {
    "STEMTAP_WATCHDOG_MS", "30000",
    "captures stop after one that takes longer than this (0 = never), up to 3600000 ms"};
inline constexpr EnvSpec kEnvFlushMs = {"STEMTAP_FLUSH_MS", "",
                                        "interval at which records are fetched from CUPTI, 10 to "
                                        "10000 ms; unset: an eighth of the time "
                                        "since the first launch, 10 to 200 ms"};
inline constexpr EnvSpec kEnvMaxOverhead = {
    "STEMTAP_MAX_OVERHEAD", "",
    "maximum cost in percent of the program's time, 0.001 to 100; above it, recording stops"};
inline constexpr EnvSpec kEnvBufferKb = {"STEMTAP_BUFFER_KB", "512",
                                         "size of one activity buffer, 16 to 16384 KiB"};
inline constexpr EnvSpec kEnvCupti = {
    "STEMTAP_CUPTI", "", "path of the libcupti to load if the program has not loaded one"};
inline constexpr EnvSpec kEnvCollector = {
    "STEMTAP_COLLECTOR", "",
    "path of the stemtap program; unset: ../bin/stemtap relative to the library"};
inline constexpr EnvSpec kEnvOptions = {"STEMTAP_OPTIONS", "",
                                        "options of the collector that the library starts, as for "
                                        "stemtap run; -o sets the session directory"};
inline constexpr EnvSpec kEnvChain = {
    "STEMTAP_CHAIN", "", "path of another CUDA injection library to load after this one"};
inline constexpr EnvSpec kEnvStepRange = {
    "STEMTAP_STEP_RANGE", "",
    "name of the ranges that begin a step of the program; NAME also means NAME#1, NAME#2, ..."};
inline constexpr EnvSpec kEnvRanges = {
    "STEMTAP_RANGES", "", "1: launches in different ranges are different kernels (--ranges)"};
inline constexpr EnvSpec kEnvOnlyRange = {
    "STEMTAP_ONLY_RANGE", "", "names of the ranges whose launches are sampled (--only-range)"};
inline constexpr EnvSpec kEnvSkipSteps = {"STEMTAP_SKIP_STEPS", "0",
                                          "steps before the first sampled one (--skip-steps)"};
inline constexpr EnvSpec kEnvSteps = {"STEMTAP_STEPS", "0",
                                      "number of sampled steps, 0: all (--steps)"};
inline constexpr EnvSpec kEnvPaused = {
    "STEMTAP_PAUSED", "",
    "1: without STEMTAP_SESSION, the library waits for 'stemtap start PID' instead of recording"};
inline constexpr EnvSpec kEnvDisable = {"STEMTAP_DISABLE", "", "1: disables the library"};

inline constexpr EnvSpec kEnvTable[] = {
    kEnvSession,   kEnvLevel,       kEnvActuator, kEnvMaxCaptures, kEnvWatchdogMs,
    kEnvFlushMs,   kEnvMaxOverhead, kEnvBufferKb, kEnvCupti,       kEnvCollector,
    kEnvOptions,   kEnvChain,       kEnvPaused,   kEnvStepRange,   kEnvRanges,
    kEnvOnlyRange, kEnvSkipSteps,   kEnvSteps,    kEnvDisable};

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

// 'stemtap attach' loads the library by its path behind this, which names the same file. A library
// that was loaded so does not change the environment, which other threads may read.
inline constexpr const char* kAttachPrefix = "/proc/self/root";

// File names in a session directory.
// The mask is also the file with which the collector claims the directory.
inline constexpr const char* kMaskFileName = "mask.ndjson";
inline constexpr const char* kRingPrefix = "ring.";              // see WriteImageFileName
inline constexpr const char* kUnfinishedPrefix = "new.";         // + the final name
inline constexpr const char* kSessionFileName = "session.json";  // exists if the session has ended
inline constexpr const char* kGateFileName = "gate.table";
// Contains the name of a state of the recording (shm/ring.h), with which processes begin that join
// the session. Without the file, they begin to record at once.
inline constexpr const char* kRecordingFileName = "recording";

// ProcessImage identifies one program of a process. A process that continues as another program
// (exec) keeps its id and becomes another image.
struct ProcessImage {
  uint64_t pid = 0;
  uint64_t start_ns = 0;  // CLOCK_MONOTONIC when the image joined; increases from image to image
};

// The longest name of a file of an image, with its terminator.
inline constexpr size_t kImageFileNameBytes = 64;

// Writes the name of a file of `image`, `<prefix><pid>.<start_ns>`, to `name`. The name is unique,
// so no image replaces a file of an earlier one, which the collector may not have seen yet.
inline void WriteImageFileName(char (&name)[kImageFileNameBytes], const char* prefix,
                               const ProcessImage& image) noexcept {
  ::snprintf(name, sizeof(name), "%s%llu.%llu", prefix, static_cast<unsigned long long>(image.pid),
             static_cast<unsigned long long>(image.start_ns));
}

// Reads digits into `number` and moves `text` behind them. Returns false if there are none, or more
// than fit.
inline bool TakeNumber(const char*& text, uint64_t& number) noexcept {
  const char* const begin = text;
  number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    if (__builtin_mul_overflow(number, uint64_t{10}, &number) ||
        __builtin_add_overflow(number, static_cast<uint64_t>(*text - '0'), &number)) {
      return false;
    }
  }
  return text != begin;
}

// Returns whether `name` is `<prefix><pid>` or `<prefix><pid>.<start_ns>`, and stores the numbers
// in `image`.
inline bool ParseImageFileName(const char* name, const char* prefix, ProcessImage& image) noexcept {
  for (const char* c = prefix; *c != 0; ++c, ++name) {
    if (*name != *c) return false;
  }
  image = {};
  if (!TakeNumber(name, image.pid)) return false;
  return *name == 0 || (*name++ == '.' && TakeNumber(name, image.start_ns) && *name == 0);
}

// Returns whether `name` is the name of a ring file.
inline bool IsRingName(const char* name) noexcept {
  ProcessImage image;
  return ParseImageFileName(name, kRingPrefix, image);
}

}  // namespace stemtap::shm
