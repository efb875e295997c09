// SPDX-License-Identifier: Apache-2.0
//
// RunLive is the main job: starts a program with the injected library (or joins one that has it
// already), collects what its processes record, samples online, and leaves a session folder.
//
// One loop does it all: signals and child, rings, launch order, engine, progress. It sleeps when
// there is nothing to read, and never holds up the program: a full ring drops, a dead collector is
// not missed.
//
// THREADS: called once, from the main thread, before any other thread is started (it blocks
// signals).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/plan.h"
#include "sampling/sampling_options.h"
#include "session/session_writer.h"

namespace stemtap {

struct LiveOptions {
  SamplingOptions sampling;
  OptionList listed;                 // every option in force, for the files
  std::vector<std::string> command;  // empty: attach
  std::int32_t attach_pid = 0;       // with no command: the process whose library started us
  std::string folder;
  bool default_folder = false;    // of a name that the user did not give: if it is taken, another
  std::string level = "kernels";  // STEMTAP_LEVEL
  std::string actuator = "log";   // STEMTAP_ACTUATOR
  bool native_captures = false;   // what the actuator captures runs as fast as ever
  double max_overhead = 0.0;      // STEMTAP_MAX_OVERHEAD, percent; 0: no limit
  bool share_captures = true;     // a kernel is one for all processes; false: one in each
  std::string injector;           // path of libstemtap_inject.so
  bool preload = false;           // also set LD_PRELOAD
  bool chain = false;             // load what CUDA_INJECTION64_PATH names as well
  unsigned threads = 0;
  bool quiet = false;                    // no progress line
  std::vector<std::string> environment;  // further NAME=value for the program
};

struct LiveOutcome {
  Plan plan;
  SessionReport report;
  std::string folder;    // of the session
  std::string failure;   // the session's files could not be written, and why; empty: they were
  bool gave_up = false;  // nothing is known but the program's exit code and the failure
};

// Fails (without an outcome) only when the session could not begin; a program that cannot be
// started is an error with exit code 127 or 126.
Result<LiveOutcome> RunLive(const LiveOptions& options);

}  // namespace stemtap
