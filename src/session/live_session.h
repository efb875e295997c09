// SPDX-License-Identifier: Apache-2.0
//
// RunLive is the main command: it starts a program with the injected library (or joins one that has
// it already), collects the records of its processes, samples online, and writes a session
// directory.
//
// One loop handles signals, the child process, rings, launch order, the engine and progress. It
// sleeps when there is nothing to read and never blocks the program: a full ring drops records, and
// the program continues without its collector.
//
// THREADS: called once, from the main thread, before any other thread starts (it blocks signals).
#pragma once

#include <spdlog/common.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/plan.h"
#include "online/director.h"
#include "sampling/sampling_options.h"
#include "session/engine.h"
#include "session/recording_schedule.h"
#include "session/session.h"
#include "session/session_directory.h"

namespace stemtap::session {

// What is timed, and where captures are decided (STEMTAP_LEVEL).
enum class TraceLevel : std::uint8_t {
  kGraph,    // every kernel, but a graph launch as one
  kKernels,  // every kernel
  kGate,     // every kernel; the process decides at each launch what to capture
};
inline constexpr const char* kTraceLevelNames[] = {"graph", "kernels", "gate"};
constexpr const char* NameOf(TraceLevel level) {
  return kTraceLevelNames[static_cast<std::size_t>(level)];
}

enum class BoundAction : std::uint8_t {
  kNothing,
  kStop,     // stop recording; the program continues
  kWindow,   // end the window and begin the next one
  kCommand,  // run a shell command once per window, whose first argument is the session directory
};

// The files are in a directory that exists if `command` is empty: the collector attaches.
struct LiveOptions : SessionOptions {
  // If attaching: the process whose library started this collector.
  std::int32_t attach_pid = 0;
  TraceLevel level = TraceLevel::kKernels;
  std::string actuator = "log";  // STEMTAP_ACTUATOR
  bool native_captures = false;  // the actuator's captures do not slow launches
  RecordingOptions recording;
  Extent window;           // the run is divided into windows of this length
  std::uint32_t keep = 0;  // the last windows that are kept; 0: all
  // What to do when the error bound is met and has stayed met (session/bound_watch.h).
  BoundAction at_bound = BoundAction::kNothing;
  std::string at_bound_command;  // of BoundAction::kCommand
  std::string metrics_address;   // HOST:PORT of Prometheus metrics; empty: none
  // Begins to decide instead of the sampler; empty: the sampler decides. What it returns must
  // outlive the session.
  std::function<online::Director&()> director = nullptr;
  double max_overhead = 0.0;  // STEMTAP_MAX_OVERHEAD in percent; 0: no limit
  // Kernels are shared by all processes; false: each process has its own.
  bool share_captures = true;
  std::string injector;  // path of libstemtap_inject.so
  bool preload = false;  // also set LD_PRELOAD
  bool chain = false;    // also load the library in CUDA_INJECTION64_PATH
  unsigned threads = 0;
  bool quiet = false;                                         // no progress line
  spdlog::level::level_enum log_level = spdlog::level::info;  // of stemtap.log
  std::vector<std::string> environment;  // additional NAME=value for the program
};

// Fails only if the session could not begin. If the program cannot be started, the error has exit
// code 127 or 126.
Result<SessionResult> RunLive(const LiveOptions& options);

// Returns whether the captures of a run with these options slow their launches.
Captures CapturesOf(const LiveOptions& options);

}  // namespace stemtap::session
