// SPDX-License-Identifier: Apache-2.0
//
// Options are what the environment tells the injected library (the table is wire/session_env.h),
// read once at InitializeInjection. A value out of range falls back to the default.
#pragma once

#include <cstdint>

namespace stemtap::inject {

// What is recorded.
enum class Level : std::uint32_t {
  kKernels,  // every kernel
  kGraph,    // a launch of a graph as one; every other kernel
  kGate,     // every kernel, and the gate is asked at each launch
};

struct Options {
  const char* session = nullptr;            // STEMTAP_SESSION; nullptr: start a collector
  Level level = Level::kKernels;            // STEMTAP_LEVEL
  const char* actuator = nullptr;           // STEMTAP_ACTUATOR, if it is one
  bool profiler = false;                    // STEMTAP_ACTUATOR=profiler
  const char* actuator_library = nullptr;   // the path of STEMTAP_ACTUATOR=library:PATH
  std::uint32_t captures_per_second = 0;    // STEMTAP_MAX_CAPTURES_PER_SECOND; 0: no limit
  std::uint32_t watchdog_ms = 0;            // STEMTAP_WATCHDOG_MS; 0: none
  std::uint32_t flush_ms = 0;               // STEMTAP_FLUSH_MS
  std::uint32_t max_overhead = 0;           // STEMTAP_MAX_OVERHEAD, in 1/1000 %; 0: no limit
  std::uint32_t buffer_bytes = 0;           // STEMTAP_BUFFER_KB
  const char* cupti = nullptr;              // STEMTAP_CUPTI
  const char* collector = nullptr;          // STEMTAP_COLLECTOR
  const char* collector_options = nullptr;  // STEMTAP_OPTIONS
  const char* chain = nullptr;              // STEMTAP_CHAIN
};

Options ReadOptions() noexcept;

// As STEMTAP_LEVEL has it.
const char* LevelName(Level level) noexcept;

// STEMTAP_DISABLE is set to something other than 0 or nothing.
bool Disabled() noexcept;

// The name of a profiling tool that has put itself into this process by its environment (nsys, ncu,
// compute-sanitizer), where a second CUPTI client would only do harm; nullptr if there is none.
const char* ToolInProcess() noexcept;
// The name of the profiling tool that this process itself is, by the name of its program; nullptr if
// it is none.
const char* ToolOfProcess() noexcept;

}  // namespace stemtap::inject
