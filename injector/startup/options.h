// SPDX-License-Identifier: Apache-2.0
//
// Options are the settings that the injected library reads from the environment (table:
// shm/session_env.h), once at InitializeInjection. A value out of range is replaced by the default.
#pragma once

#include <cstdint>

#include "shm/launch_selection.h"

namespace stemtap::inject {

// What is recorded.
enum class Level : std::uint32_t {
  kKernels,  // every kernel
  kGraph,    // a graph launch as one record; every other kernel
  kGate,     // every kernel; the gate is consulted at each launch
};

struct Options {
  const char* session = nullptr;            // STEMTAP_SESSION; nullptr: start a collector
  Level level = Level::kKernels;            // STEMTAP_LEVEL
  const char* actuator = nullptr;           // STEMTAP_ACTUATOR, or its default if invalid
  bool profiler = false;                    // STEMTAP_ACTUATOR=profiler
  const char* actuator_library = nullptr;   // PATH of STEMTAP_ACTUATOR=library:PATH
  std::uint32_t captures_per_second = 0;    // STEMTAP_MAX_CAPTURES_PER_SECOND; 0: no limit
  std::uint32_t watchdog_ms = 0;            // STEMTAP_WATCHDOG_MS; 0: disabled
  std::uint32_t flush_ms = 0;               // STEMTAP_FLUSH_MS; 0: unset
  std::uint32_t max_overhead = 0;           // STEMTAP_MAX_OVERHEAD, in 1/1000 %; 0: no limit
  std::uint32_t buffer_bytes = 0;           // STEMTAP_BUFFER_KB
  const char* cupti = nullptr;              // STEMTAP_CUPTI
  const char* collector = nullptr;          // STEMTAP_COLLECTOR
  const char* collector_options = nullptr;  // STEMTAP_OPTIONS
  const char* chain = nullptr;              // STEMTAP_CHAIN
  bool by_range = false;                    // STEMTAP_RANGES
  const char* only_range = nullptr;         // STEMTAP_ONLY_RANGE
  shm::StepWindow steps;                    // STEMTAP_SKIP_STEPS, STEMTAP_STEPS
};

Options ReadOptions() noexcept;

// Lets lines of `text`, NAME=VALUE, replace variables for later calls of ReadOptions. Keeps a copy.
// Call on one thread, before ReadOptions.
void OverrideOptions(const char* text) noexcept;

// Returns whether STEMTAP_PAUSED is set to a value other than "0" or the empty string.
bool Paused() noexcept;

// Returns whether launches have ranges and steps: at level gate, and at level kernels if they are
// grouped or selected by them.
bool MarksLaunches() noexcept;

// Returns the STEMTAP_LEVEL value for `level`.
const char* LevelName(Level level) noexcept;

// Returns whether STEMTAP_DISABLE is set to a value other than "0" or the empty string.
bool Disabled() noexcept;

// Returns the name of a profiling tool (nsys, ncu, compute-sanitizer) that the environment injects
// into this process, or nullptr. A second CUPTI client would disturb that tool.
const char* ToolInProcess() noexcept;
// Returns the name of the profiling tool that this process is, judged by its program name, or
// nullptr.
const char* ToolOfProcess() noexcept;

}  // namespace stemtap::inject
